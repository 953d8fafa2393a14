//! Renaming and retyping of local variables: those that the program keeps, and those that only
//! the decompiler knows so far.

use std::sync::Arc;

use engine::bytes_type;
use engine::decompiler::{Decompilation, Variable};
use program::{Address, Function, LocalVariable, Program, SourceType, SpaceId, Storage, TypeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::storage::VariableStorage;
use super::variable::value_type;
use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::methods::data_type::reference::DataTypeReference;
use crate::methods::name;
use crate::schema::check::nearest;
use crate::shapes::{Patch, Reply};
use crate::view::{Edit, function_at};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::write(
            "function_local_variable.patch",
            "Rename or retype one local variable, chosen by id or by its current name.",
            patch,
        )
        .brief(&["id", "data_type"])
        .cost("One decompilation, when the variable was not kept before.")
        .destructive()
        .idempotent(),
    ]
}

fn patch(
    edit: &mut Edit<'_>,
    request: Patch<LocalVariableSelector, LocalVariablePatch>,
) -> Answer<LocalVariableAnswer> {
    let entry = &request.selector.entry;
    let function = Arc::clone(function_at(edit.program, entry, "/selector/entry")?);
    let wanted = request.selector.wanted()?;
    let Chosen { local: before, found } = choose(edit, &function, &wanted)?;
    let mut local = before.clone();
    if let Some(new) = &request.patch.name {
        let new = name::checked(new, "/patch/name")?;
        if new != &*local.name {
            refuse_taken(edit.program, &function, found.as_ref(), &local, new)?;
            local.name = new.into();
        }
    }
    if let Some(data_type) = &request.patch.data_type {
        let id = value_type(edit.program, data_type, "/patch/data_type")?;
        retype(edit.program, &function, &mut local, id)?;
    }
    if local != before {
        local.source = SourceType::UserDefined;
        store(edit, function.entry, local.clone())?;
    }
    Ok(LocalVariableAnswer::of(edit.program, &local))
}

/// The variable meant, and what the decompiler said if it was asked.
struct Chosen {
    local: LocalVariable,
    found: Option<Decompilation>,
}

enum Wanted<'a> {
    Name(&'a str),
    Id(u32),
}

fn choose(edit: &mut Edit<'_>, function: &Function, wanted: &Wanted<'_>) -> Answer<Chosen> {
    let is = |local: &&LocalVariable| match wanted {
        Wanted::Name(name) => &*local.name == *name,
        Wanted::Id(id) => local.id == *id,
    };
    if let Some(local) = function.locals.iter().find(is) {
        return Ok(Chosen { local: local.clone(), found: None });
    }
    let found = edit.session.decompile_now(edit.program, function.entry);
    let is = |variable: &&Variable| match wanted {
        Wanted::Name(name) => variable.name == *name,
        Wanted::Id(id) => variable.local_id(function) == *id,
    };
    let Some(variable) = found.locals.iter().find(is) else {
        return Err(no_variable(edit.program, function, wanted, &found));
    };
    if !variable.is_findable() {
        let message =
            format!("{} has no place of its own, so nothing can be kept of it", variable.name);
        let at = wanted.pointer();
        return Err(BridgeError::new(ErrorCode::InvalidRequest, message).at(at));
    }
    let kept = function.locals.iter().find(|local| variable.is(local, function.entry));
    let local = match kept {
        // Kept, but shown under another name.
        Some(local) => LocalVariable { name: variable.name.as_str().into(), ..local.clone() },
        None => LocalVariable {
            name: variable.name.as_str().into(),
            data_type: bytes_type(edit.program, variable.size),
            storage: variable.storage.clone(),
            first_use: variable.first_use_offset(function.entry),
            hash: variable.hash,
            source: SourceType::Default,
            type_locked: false,
            id: variable.local_id(function),
        },
    };
    Ok(Chosen { local, found: Some(found) })
}

impl Wanted<'_> {
    fn pointer(&self) -> &'static str {
        match self {
            Wanted::Name(_) => "/selector/name",
            Wanted::Id(_) => "/selector/id",
        }
    }
}

fn no_variable(
    program: &Program,
    function: &Function,
    wanted: &Wanted<'_>,
    found: &Decompilation,
) -> BridgeError {
    let shown = program.function_name(function.entry);
    let names = function.locals.iter().map(|local| &*local.name);
    let names: Vec<&str> = names.chain(found.locals.iter().map(|v| v.name.as_str())).collect();
    let message = match wanted {
        Wanted::Id(id) => format!("no local variable of {shown} has the id {id}"),
        Wanted::Name(name) => {
            let parameter = found.parameters.iter().position(|v| v.name == *name);
            let name: String = name.chars().take(64).collect();
            match (parameter, nearest(&name, names.into_iter())) {
                (Some(ordinal), _) => format!(
                    "{name} is a parameter of {shown}; function_parameter.patch changes it, with \
                     ordinal {ordinal}"
                ),
                (None, Some(near)) => {
                    format!("{shown} has no local variable {name}; did you mean {near}?")
                }
                (None, None) => format!("{shown} has no local variable {name}"),
            }
        }
    };
    let message = match found.warnings.first().filter(|_| !found.completed) {
        Some(warning) => format!("{message} ({warning})"),
        None => message,
    };
    BridgeError::not_found("local_variable", message).at(wanted.pointer())
}

/// Refuses a name that another variable of the function bears.
fn refuse_taken(
    program: &Program,
    function: &Arc<Function>,
    found: Option<&Decompilation>,
    local: &LocalVariable,
    new: &str,
) -> Answer<()> {
    let others = function.locals.iter().filter(|other| other.id != local.id);
    let kept = others.map(|other| &*other.name);
    let callee = program.calling_function(function);
    let parameters = callee.signature.parameters.iter().map(|parameter| &*parameter.name);
    let shown = found.into_iter().flat_map(|found| found.locals.iter().chain(&found.parameters));
    let shown = shown.filter(|v| !v.is(local, function.entry)).map(|v| v.name.as_str());
    if kept.chain(parameters).chain(shown).any(|name| name == new) {
        let message = format!("another variable of this function is called {new}");
        return Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/patch/name"));
    }
    Ok(())
}

/// Gives a variable another type. Variables of the stack frame grow and shrink with their type;
/// what lives in registers keeps its size.
fn retype(
    program: &Program,
    function: &Function,
    local: &mut LocalVariable,
    data_type: TypeId,
) -> Answer<()> {
    let refused = |message: String| {
        BridgeError::new(ErrorCode::InvalidRequest, message).at("/patch/data_type")
    };
    let length = program.types.length(data_type).unwrap_or(0);
    let stack = match &mut local.storage {
        Storage::Pieces(pieces) if local.hash == 0 => {
            pieces.first_mut().filter(|piece| piece.address.space == SpaceId::STACK)
        }
        _ => None,
    };
    if let Some(piece) = stack {
        let start = piece.address.offset as i64;
        let end = start.saturating_add(i64::from(length));
        if start < 0 && end > 0 {
            let message = format!(
                "{} takes {length} bytes and would reach over the frame's end; at most {} fit",
                program.types.name(data_type),
                -start
            );
            return Err(refused(message));
        }
        piece.size = length;
    } else {
        let size = match local.storage.pieces() {
            [] => program.types.length(local.data_type).unwrap_or(0),
            pieces => pieces.iter().fold(0, |sum: u32, piece| sum.saturating_add(piece.size)),
        };
        if size != length {
            let message = format!(
                "{} takes {length} bytes, but {} of {} has {size}",
                program.types.name(data_type),
                local.name,
                program.function_name(function.entry)
            );
            return Err(refused(message));
        }
    }
    local.data_type = data_type;
    local.type_locked = !program.types.is_undefined(data_type);
    Ok(())
}

fn store(edit: &mut Edit<'_>, entry: Address, local: LocalVariable) -> Answer<()> {
    edit.program.put_local(entry, local).map_err(|taken| {
        let taken = taken.map_or_else(String::new, |taken| taken.name.to_string());
        let message = format!("with this type it would cover the variable {taken}");
        BridgeError::new(ErrorCode::InvalidRequest, message)
            .at("/patch/data_type")
            .with("conflict", taken)
    })
}

/// One local variable.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LocalVariable")]
struct LocalVariableAnswer {
    /// Its name.
    name: String,
    /// Its type.
    data_type: DataTypeReference,
    /// Where it is kept.
    storage: VariableStorage,
    /// Its id, the same after renames and new decompilations.
    id: Option<String>,
}

impl LocalVariableAnswer {
    fn of(program: &Program, local: &LocalVariable) -> LocalVariableAnswer {
        LocalVariableAnswer {
            name: local.name.to_string(),
            data_type: DataTypeReference::of(program, local.data_type),
            storage: VariableStorage::of(program, &local.storage),
            id: Some(local.id.to_string()),
        }
    }
}

impl Reply for LocalVariableAnswer {
    const IDENTITY: &'static [&'static str] = &["name"];
}

/// Chooses a local variable: by `name` or by `id`, one of them.
#[derive(Debug, Deserialize, JsonSchema)]
struct LocalVariableSelector {
    /// The function's entry point.
    #[schemars(length(min = 1))]
    entry: String,
    /// The variable's current name.
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// The variable's id.
    #[schemars(length(min = 1))]
    id: Option<String>,
}

impl LocalVariableSelector {
    fn wanted(&self) -> Answer<Wanted<'_>> {
        match (&self.name, &self.id) {
            (Some(name), None) => Ok(Wanted::Name(name)),
            (None, Some(id)) => id.parse().map(Wanted::Id).map_err(|_| {
                let message = "the id must be a decimal number, as function.get shows it";
                BridgeError::new(ErrorCode::InvalidId, message).at("/selector/id")
            }),
            (None, None) => {
                let message = "say which variable: give its name or its id";
                Err(BridgeError::new(ErrorCode::MissingField, message).at("/selector/name"))
            }
            (Some(_), Some(_)) => {
                let message = "give the name or the id of the variable, not both";
                Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/selector"))
            }
        }
    }
}

/// A change of a local variable.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
struct LocalVariablePatch {
    /// The new name.
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// The new type.
    data_type: Option<DataTypeReference>,
}
