//! Who calls a function, and whom it calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::shapes::{ListOf, Page, Reply};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<ListOf<CallFilter>, Page<FunctionCall>>(
            "function_call.list",
            "List the functions that a function calls, or that call it.",
        )
        .cost("Grows with the function's references."),
    ]
}

/// Which calls to list.
#[derive(Debug, Deserialize, JsonSchema)]
struct CallFilter {
    /// The function's entry point.
    #[schemars(length(min = 1))]
    entry: String,
    /// Whom it calls, or who calls it; `callees` when absent.
    direction: Option<Direction>,
}

/// Which end of the calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Direction {
    #[default]
    Callees,
    Callers,
}

/// A function at the other end of a call.
#[derive(Debug, Serialize, JsonSchema)]
struct FunctionCall {
    /// Its entry point.
    entry: String,
    /// Its name.
    name: String,
    /// The first place of the call.
    call_site: Option<String>,
    /// `callees` or `callers`, as asked.
    direction: &'static str,
}

impl Reply for FunctionCall {
    const IDENTITY: &'static [&'static str] = &["entry"];
}
