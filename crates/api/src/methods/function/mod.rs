//! Functions, their parameters and local variables, and who calls whom.

mod call;
mod create;
mod local_variable;
mod parameter;
mod patch;
mod storage;
pub(super) mod variable;

use std::sync::Arc;

use program::{CommentKind, Program, SpaceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::{Answer, Method};
use crate::methods::data_type::reference::{DataTypeReference, Signature};
use crate::methods::name;
use crate::shapes::{Delete, Deleted, EntrySelector, Get, MAX_NESTED, Reply, Scan, ScanPage, cut};
use crate::view::{Edit, View, function_at};
use crate::walk::{OpenEnd, Walk, position};
use storage::VariableStorage;
use variable::{LocalVariableRow, ParameterRow};

/// What a write answers of the function that it made or changed.
const ECHO: &[&str] = &["name", "signature"];
/// What one function is described by, without its variables and its rarer flags.
const GET: &[&str] = &[
    "name",
    "namespace",
    "body",
    "signature",
    "comment",
    "has_no_return",
    "external",
    "thunk",
    "tags",
];

pub(super) fn methods() -> Vec<Method> {
    let mut rows = vec![
        Method::read("function.get", "Describe the function at an entry point.", get)
            .growing()
            .brief(GET)
            .cost("Small."),
        Method::read("function.list", "Walk functions in the order of their entry points.", list)
            .brief(&["name", "body.num_addresses"])
            .cost("Grows with the functions walked over, matching or not."),
        Method::write(
            "function.create",
            "Make a function at an address; its body is found by flow unless given.",
            create::create,
        )
        .brief(ECHO)
        .cost("Grows with the new code and with the number of functions."),
        Method::write(
            "function.patch",
            "Change a function's name, prototype, comment, conventions or flags.",
            patch::patch,
        )
        .brief(ECHO)
        .destructive()
        .idempotent(),
        Method::write(
            "function.delete",
            "Remove a function; its instructions, references and comments stay.",
            delete,
        )
        .destructive()
        .idempotent(),
    ];
    rows.extend(parameter::methods());
    rows.extend(local_variable::methods());
    rows.extend(call::methods());
    rows
}

fn get(view: &View<'_>, request: Get<EntrySelector>) -> Answer<Function> {
    let function = view.function(&request.selector.entry, "/selector/entry")?;
    Ok(Function::of(&view.program, function, |member| view.wants(member)))
}

fn list(view: &View<'_>, request: Scan<FunctionFilter>) -> Answer<ScanPage<Function>> {
    let filter = request.filter.unwrap_or_default();
    let contains = filter.contains.as_deref();
    let contains = contains.map(|text| view.address(text, "/filter/contains")).transpose()?;
    let entry = filter.entry.as_deref();
    let entry = entry.map(|text| Ok(view.function(text, "/filter/entry")?.entry)).transpose()?;
    let mut walk = Walk::new(view, request.page.as_ref(), request.scan.as_ref(), OpenEnd::Never)?;
    if let (Some(entry), None) = (entry, contains) {
        walk.narrow(request.scan.as_ref(), entry, entry);
    } else if filter.external == Some(true) {
        let (first, last) = view.external_space();
        walk.narrow(request.scan.as_ref(), first, last);
    }
    // Functions of other files are listed where they are asked for.
    let asks_for_external =
        filter.external == Some(true) || walk.first().space == SpaceId::EXTERNAL;
    let functions = view.program.functions.range(walk.addresses());
    let candidates = functions
        .filter(|function| asks_for_external || !function.is_external())
        .map(|function| (position(function.entry, 0), function));
    let part = name::Part::new(filter.name.as_deref(), false);
    walk.run(view, candidates, |function| {
        let fits = match contains {
            Some(address) => function.body.contains(address),
            None => entry.is_none_or(|entry| function.entry == entry),
        };
        let fits = fits
            && filter.external.is_none_or(|external| external == function.is_external())
            && filter.thunk.is_none_or(|thunk| thunk == function.thunk_of.is_some())
            && (part.is_empty() || part.is_in(&view.program.function_name(function.entry)));
        let wants = |member: &str| view.wants(member);
        Ok(fits.then(|| Function::of(&view.program, function, wants)))
    })
}

fn delete(edit: &mut Edit<'_>, request: Delete<EntrySelector>) -> Answer<Deleted> {
    let entry = function_at(edit.program, &request.selector.entry, "/selector/entry")?.entry;
    edit.program.remove_function(entry);
    Ok(Deleted { deleted: true })
}

/// One function.
#[derive(Debug, Serialize, JsonSchema)]
struct Function {
    /// Its entry point.
    entry: String,
    /// Its name.
    name: String,
    /// The namespace it is in.
    namespace: String,
    /// What belongs to it.
    body: Option<FunctionBody>,
    /// Its prototype as text.
    signature: Option<Signature>,
    /// What it returns.
    return_type: DataTypeReference,
    /// Where the returned value is.
    return_storage: Option<VariableStorage>,
    /// How many parameters it has.
    parameter_count: u64,
    /// How it is called.
    calling_convention: String,
    /// Its parameters.
    #[schemars(length(max = 1000))]
    parameters: Option<Vec<ParameterRow>>,
    /// Its local variables.
    #[schemars(length(max = 1000))]
    local_variables: Option<Vec<LocalVariableRow>>,
    /// The comment above it.
    comment: Option<String>,
    /// True when calls of it are shown as its body.
    is_inline: bool,
    /// True when it does not come back.
    has_no_return: bool,
    /// True when it takes more arguments than it names.
    has_var_args: bool,
    /// True when a user placed its parameters.
    has_custom_variable_storage: bool,
    /// Bytes it takes off the stack; absent when unknown.
    stack_purge_size: Option<u64>,
    /// True when it lies in another file.
    external: bool,
    /// True when it only passes control to another function.
    thunk: bool,
    /// The comment shown wherever it is referred to.
    repeatable_comment: Option<String>,
    /// Its tags.
    tags: Vec<String>,
    /// True when a nested list was cut at 1000 rows.
    truncated: Option<bool>,
}

impl Function {
    fn of(
        program: &Program,
        function: &Arc<program::Function>,
        wants: impl Fn(&str) -> bool,
    ) -> Function {
        let callee = program.calling_function(function);
        let signature = &callee.signature;
        let comment =
            |kind| program.comments.get(&(function.entry, kind)).map(|text| text.to_string());
        let wants_parameters = wants("parameters");
        let wants_locals = wants("local_variables");
        let truncated = cut([
            wants_parameters.then_some(signature.parameters.len()),
            wants_locals.then_some(function.locals.len()),
        ]);
        Function {
            entry: program.spaces.print(function.entry).to_string(),
            name: program.function_name(function.entry),
            namespace: program.function_namespace_text(function.entry),
            body: FunctionBody::of(program, function),
            signature: wants("signature")
                .then(|| Signature::Text(program.signature_text(function))),
            return_type: DataTypeReference::of(program, signature.return_type),
            return_storage: Some(VariableStorage::of(program, &signature.return_storage)),
            parameter_count: signature.parameters.len() as u64,
            calling_convention: match &signature.convention {
                Some(convention) => convention.to_string(),
                None => "unknown".to_owned(),
            },
            parameters: wants_parameters.then(|| {
                let all = &signature.parameters;
                let places = 0..all.len().min(MAX_NESTED);
                places.map(|at| ParameterRow::of(program, all, at)).collect()
            }),
            local_variables: wants_locals.then(|| {
                let locals = function.locals.iter().take(MAX_NESTED);
                locals.map(|local| LocalVariableRow::of(program, local)).collect()
            }),
            comment: comment(CommentKind::Plate),
            is_inline: callee.inline,
            has_no_return: callee.no_return,
            has_var_args: signature.varargs,
            has_custom_variable_storage: signature.custom_storage,
            stack_purge_size: callee.stack_purge.and_then(|size| u64::try_from(size).ok()),
            external: function.is_external(),
            thunk: function.thunk_of.is_some(),
            repeatable_comment: comment(CommentKind::Repeatable),
            tags: function.tags.iter().map(|tag| tag.to_string()).collect(),
            truncated,
        }
    }
}

impl Reply for Function {
    const IDENTITY: &'static [&'static str] = &["entry"];
    const NESTED: &'static [&'static str] = &[
        "body.end",
        "body.num_addresses",
        "body.start",
        "local_variables.data_type",
        "local_variables.id",
        "local_variables.name",
        "local_variables.storage",
        "parameters.data_type",
        "parameters.id",
        "parameters.name",
        "parameters.ordinal",
        "parameters.storage",
    ];
}

/// What belongs to a function.
#[derive(Debug, Serialize, JsonSchema)]
struct FunctionBody {
    /// Lowest address.
    start: String,
    /// Highest address.
    end: String,
    /// How many addresses, without the gaps between.
    num_addresses: u64,
}

impl FunctionBody {
    fn of(program: &Program, function: &program::Function) -> Option<FunctionBody> {
        let print = |address| program.spaces.print(address).to_string();
        Some(FunctionBody {
            start: print(function.body.min()?),
            end: print(function.body.max()?),
            num_addresses: function.body.len().min(i64::MAX as u64),
        })
    }
}

/// Which functions to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct FunctionFilter {
    /// Part of the name, in any case.
    name: Option<String>,
    /// Only the function at this entry point.
    entry: Option<String>,
    /// Only functions whose body holds this address.
    contains: Option<String>,
    /// True for imports: functions of other files, in the space `EXTERNAL`. They are left out
    /// otherwise, unless the range or entry lies in that space.
    external: Option<bool>,
    /// Thunks, or everything else.
    thunk: Option<bool>,
}
