//! Functions, their parameters and local variables, and who calls whom.

mod call;
mod variable;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::methods::data_type::reference::{DataTypeReference, Signature};
use crate::shapes::{
    Change, Create, Delete, Deleted, EntrySelector, Get, Patch, Reply, Scan, ScanPage,
};
use variable::{LocalVariableRow, ParameterRow, VariableStorage};

pub(super) fn methods() -> Vec<Method> {
    let mut rows = vec![
        Method::pending_read::<Get<EntrySelector>, Function>("function.get", "Describe the function at an entry point.")
            .cost("Small; local variables come from a decompilation, done on first use, unless the projection leaves them out."),
        Method::pending_read::<Scan<FunctionFilter>, ScanPage<Function>>(
            "function.list",
            "Walk functions in the order of their entry points.",
        )
        .cost("Grows with the functions walked over, matching or not."),
        Method::pending_write::<Create<FunctionDefinition>, Function>(
            "function.create",
            "Make a function at an address; its body is found by flow unless given.",
        ),
        Method::pending_write::<Patch<EntrySelector, FunctionPatch>, Function>(
            "function.patch",
            "Change a function's name, prototype, comment, conventions or flags.",
        )
        .destructive()
        .idempotent(),
        Method::pending_write::<Delete<EntrySelector>, Deleted>(
            "function.delete",
            "Remove a function; its instructions, references and comments stay.",
        )
        .destructive()
        .idempotent(),
    ];
    rows.extend(variable::methods());
    rows.extend(call::methods());
    rows
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

/// Which functions to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct FunctionFilter {
    /// Part of the name, in any case.
    name: Option<String>,
    /// Only the function at this entry point.
    entry: Option<String>,
    /// Only functions whose body holds this address.
    contains: Option<String>,
    /// In another file or not.
    external: Option<bool>,
    /// Thunks, or everything else.
    thunk: Option<bool>,
}

/// A function to make.
#[derive(Debug, Deserialize, JsonSchema)]
struct FunctionDefinition {
    /// Its entry point.
    #[schemars(length(min = 1))]
    entry: String,
    /// Its name; a default name when absent.
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// What belongs to it; found by flow when absent.
    body: Option<BodyRange>,
}

/// The bounds of a body, both inclusive.
#[derive(Debug, Deserialize, JsonSchema)]
struct BodyRange {
    /// First address.
    #[schemars(length(min = 1))]
    start: String,
    /// Last address.
    #[schemars(length(min = 1))]
    end: String,
}

/// A change of a function.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
struct FunctionPatch {
    /// The new name.
    #[schemars(length(min = 1))]
    name: Option<String>,
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
    /// One C declaration that sets name, return, parameters and varargs in one step.
    #[schemars(length(min = 1))]
    prototype: Option<String>,
}
