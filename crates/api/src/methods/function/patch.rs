//! Changing a function: its name, comment, prototype, conventions and flags.

use std::sync::Arc;

use engine::declarations::{self, Prototype};
use program::{
    Address, CommentKind, Parameter, Program, SourceType, Storage, TypeId, parameter_name,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Function;
use super::parameter::{callee_entry, parameters, place_the_rest, said, settle};
use super::storage::VariableStorage;
use crate::error::{BridgeError, ErrorCode};
use crate::method::Answer;
use crate::methods::data_type::reference::DataTypeReference;
use crate::methods::data_type::resolve::c_error;
use crate::methods::name;
use crate::shapes::{Change, EntrySelector, Patch};
use crate::view::{Edit, function_at};

/// What Ghidra answers for a purge that is not known.
const UNKNOWN_PURGE: u32 = i32::MAX as u32;
/// What a prototype calls a function that it gives no name.
const NO_NAME: &str = "_";

pub(super) fn patch(
    edit: &mut Edit<'_>,
    request: Patch<EntrySelector, FunctionPatch>,
) -> Answer<Function> {
    let entry = function_at(edit.program, &request.selector.entry, "/selector/entry")?.entry;
    let callee = callee_entry(edit.program, &request.selector.entry)?;
    let patch = &request.patch;
    if let Some(text) = &patch.prototype {
        declare(edit, entry, callee, text)?;
    }
    if let Some(name) = patch.name.as_deref().filter(|name| !name.trim().is_empty()) {
        let name = name::of_place(edit.program, name, entry, "/patch/name")?;
        edit.program.rename_function(entry, name);
    }
    comment(edit.program, entry, &patch.comment);
    prototype(edit, callee, patch)?;
    flags(edit, callee, patch)?;
    let function = edit.program.functions.at(entry).map(Arc::clone);
    let function = function.ok_or_else(BridgeError::internal)?;
    Ok(Function::of(edit.program, &function, |_| true))
}

fn comment(program: &mut Program, entry: Address, change: &Change<String>) {
    let key = (entry, CommentKind::Plate);
    match change {
        Change::Keep => {}
        Change::Clear => {
            program.comments.remove(&key);
        }
        Change::Set(text) => {
            let text = text.replace('\0', "");
            if text.is_empty() {
                program.comments.remove(&key);
            } else {
                program.comments.insert(key, text.into());
            }
        }
    }
}

/// Return, convention and whether values are placed by hand, in one step.
fn prototype(edit: &mut Edit<'_>, callee: Address, patch: &FunctionPatch) -> Answer<()> {
    let refused = |pointer: &str, message: String| {
        BridgeError::new(ErrorCode::InvalidRequest, message).at(pointer)
    };
    if patch.return_storage.is_some() && patch.has_custom_variable_storage == Some(false) {
        let message = "storage for the result means storage by hand; leave one of both out";
        return Err(refused("/patch/has_custom_variable_storage", message.to_owned()));
    }
    let returned = match &patch.return_type {
        Some(reference) => {
            let id = reference.resolve(&mut edit.program.types, "/patch/return_type")?;
            returnable(edit.program, id)?;
            edit.program.types.mark_used(id);
            edit.program.functions.edit(callee, |f| f.signature.return_type = id);
            id
        }
        None => match edit.program.functions.at(callee) {
            Some(function) => function.signature.return_type,
            None => return Ok(()),
        },
    };
    let convention = patch.calling_convention.as_deref().map(str::trim);
    if let Some(convention) = convention.filter(|name| !name.is_empty()) {
        set_convention(edit, callee, convention, "/patch/calling_convention")?;
    }
    if patch.has_custom_variable_storage == Some(false) {
        edit.program.functions.edit(callee, |f| f.signature.custom_storage = false);
    }
    if patch.has_custom_variable_storage == Some(true) || patch.return_storage.is_some() {
        place_the_rest(edit, callee, true)?;
    }
    if let Some(storage) = &patch.return_storage {
        let storage =
            storage.resolve(edit.program, edit.session, returned, "/patch/return_storage")?;
        edit.program.functions.edit(callee, |f| f.signature.return_storage = storage);
    } else if patch.return_type.is_some() {
        keep_custom_result(edit.program, callee, returned)?;
    }
    let changed = patch.return_type.is_some()
        || convention.is_some()
        || patch.has_custom_variable_storage == Some(false);
    if changed { settle(edit, callee, "/patch/return_type") } else { Ok(()) }
}

/// With values placed by hand, a new result must fit where the old one was.
fn keep_custom_result(program: &mut Program, callee: Address, returned: TypeId) -> Answer<()> {
    let Some(function) = program.functions.at(callee).map(Arc::clone) else { return Ok(()) };
    if !function.signature.custom_storage {
        return Ok(());
    }
    if program.types.length(returned) == Some(0) {
        program.functions.edit(callee, |f| f.signature.return_storage = Storage::Void);
        return Ok(());
    }
    super::storage::fits(program, &function.signature.return_storage, returned).map_err(|reason| {
        let message = format!("{reason}; give return_storage with the type");
        BridgeError::new(ErrorCode::InvalidRequest, message).at("/patch/return_type")
    })
}

/// `void`, or anything with a length.
fn returnable(program: &Program, id: TypeId) -> Answer<()> {
    use program::data_type::Builtin;
    let is_void = program.types.as_builtin(id) == Some(Builtin::Void);
    if is_void || program.types.length(id).unwrap_or(0) > 0 {
        return Ok(());
    }
    let message = format!("a function cannot return a {}", program.types.name(id));
    Err(BridgeError::new(ErrorCode::InvalidDataType, message).at("/patch/return_type"))
}

fn set_convention(edit: &mut Edit<'_>, callee: Address, name: &str, at: &str) -> Answer<()> {
    let known = edit.session.language().calling_conventions();
    let convention: Option<Arc<str>> = match name {
        "unknown" => None,
        "default" => Some(name.into()),
        name if known.iter().any(|known| known == name) => Some(name.into()),
        name => {
            let shown: String = name.chars().take(64).collect();
            let mut names: Vec<&str> = known.iter().map(String::as_str).collect();
            names.extend(["default", "unknown"]);
            let message = format!(
                "this compiler has no calling convention {shown}; it has {}",
                names.join(", ")
            );
            let error = BridgeError::new(ErrorCode::InvalidRequest, message).at(at);
            return Err(error.with("candidates", names));
        }
    };
    edit.program.functions.edit(callee, |f| f.signature.convention = convention);
    Ok(())
}

fn flags(edit: &mut Edit<'_>, callee: Address, patch: &FunctionPatch) -> Answer<()> {
    if let Some(inline) = patch.is_inline {
        edit.program.functions.edit(callee, |f| f.inline = inline);
    }
    if let Some(no_return) = patch.has_no_return {
        edit.program.set_no_return(callee, no_return);
    }
    if let Some(varargs) = patch.has_var_args {
        edit.program.functions.edit(callee, |f| f.signature.varargs = varargs);
        settle(edit, callee, "/patch/has_var_args")?;
    }
    if let Some(purge) = patch.stack_purge_size {
        let purge = i32::try_from(purge).ok().filter(|_| purge != UNKNOWN_PURGE);
        edit.program.functions.edit(callee, |f| f.stack_purge = purge);
    }
    Ok(())
}

/// Takes over a prototype written in C.
fn declare(edit: &mut Edit<'_>, entry: Address, callee: Address, text: &str) -> Answer<()> {
    const AT: &str = "/patch/prototype";
    let prototype = declarations::parse_prototype(text, &mut edit.program.types)
        .map_err(|fault| c_error(&fault, ErrorCode::ValidationFailed).at(AT))?;
    let refused = |message: String| BridgeError::new(ErrorCode::ValidationFailed, message).at(AT);
    returnable(edit.program, prototype.function.return_type)
        .map_err(|fault| refused(fault.message))?;
    check_parameters(edit.program, &prototype).map_err(refused)?;
    if let Some(convention) = &prototype.function.convention {
        set_convention(edit, callee, convention, AT)?;
    }
    let before = parameters(edit.program, callee);
    edit.program.types.mark_used(prototype.function.return_type);
    let mut written: Vec<Parameter> = Vec::new();
    for (ordinal, parameter) in prototype.function.parameters.iter().enumerate() {
        edit.program.types.mark_used(parameter.data_type);
        written.push(Parameter {
            name: parameter.name.clone(),
            data_type: parameter.data_type,
            storage: Storage::Unassigned,
            source: SourceType::UserDefined,
            automatic: false,
            id: identity(&before, &prototype, ordinal).unwrap_or(0),
        });
    }
    edit.program.functions.edit(callee, |function| {
        for parameter in written.iter_mut().filter(|parameter| parameter.id == 0) {
            parameter.id = function.new_variable_id();
        }
        let signature = &mut function.signature;
        signature.return_type = prototype.function.return_type;
        signature.parameters = written;
        signature.varargs = prototype.function.varargs;
        signature.custom_storage = false;
        signature.source = SourceType::UserDefined;
        said(signature);
    });
    if prototype.function.no_return {
        edit.program.set_no_return(callee, true);
    }
    settle(edit, callee, AT)?;
    rename(edit, entry, &prototype.name)
}

/// A prototype's name counts unless it says only that there is none.
fn rename(edit: &mut Edit<'_>, entry: Address, name: &str) -> Answer<()> {
    let current = edit.program.function_name(entry);
    let default = edit.program.default_function_name(entry);
    if name.is_empty() || name == NO_NAME || name == current || name == default {
        return Ok(());
    }
    let name = name::of_place(edit.program, name, entry, "/patch/prototype")?;
    edit.program.rename_function(entry, name);
    Ok(())
}

fn check_parameters(program: &Program, prototype: &Prototype) -> Result<(), String> {
    let parameters = &prototype.function.parameters;
    for (ordinal, parameter) in parameters.iter().enumerate() {
        let length = program.types.length(parameter.data_type).unwrap_or(0);
        if length == 0 {
            let name = program.types.name(parameter.data_type);
            return Err(format!("parameter {ordinal} is of type {name}, which has no length"));
        }
        let twice = parameters[..ordinal].iter().any(|other| other.name == parameter.name);
        if twice && !parameter.name.is_empty() {
            return Err(format!("two parameters are called {}", parameter.name));
        }
    }
    Ok(())
}

/// The id of the parameter that a written one stands for: the one of its name, else the one at
/// its place, unless that is written elsewhere.
fn identity(before: &[Parameter], prototype: &Prototype, ordinal: usize) -> Option<u32> {
    let written = &prototype.function.parameters;
    let before: Vec<(String, u32)> = before
        .iter()
        .enumerate()
        .filter(|(_, parameter)| !parameter.automatic)
        .map(|(at, parameter)| (parameter_name(before, at), parameter.id))
        .collect();
    let name = &written.get(ordinal)?.name;
    if let Some((_, id)) = before.iter().find(|(known, _)| !name.is_empty() && **known == **name) {
        return Some(*id);
    }
    let (known, id) = before.get(ordinal)?;
    let elsewhere = written.iter().any(|parameter| *parameter.name == **known);
    (!elsewhere).then_some(*id)
}

/// A change of a function.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub(super) struct FunctionPatch {
    /// The new name.
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// One C declaration that sets name, return, parameters and varargs in one step.
    #[schemars(length(min = 1))]
    prototype: Option<String>,
    /// The new comment; null removes it.
    #[serde(default)]
    comment: Change<String>,
    /// What it returns.
    return_type: Option<DataTypeReference>,
    /// Where the returned value is.
    return_storage: Option<VariableStorage>,
    /// How it is called.
    calling_convention: Option<String>,
    /// Whether calls of it are shown as its body.
    is_inline: Option<bool>,
    /// Whether it does not come back.
    has_no_return: Option<bool>,
    /// Whether it takes more arguments than it names.
    has_var_args: Option<bool>,
    /// Whether its parameters are placed by hand.
    has_custom_variable_storage: Option<bool>,
    /// Bytes it takes off the stack.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    stack_purge_size: Option<u32>,
}
