//! Who calls a function, and whom it calls.

use std::collections::BTreeMap;

use program::{Address, Function, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::{Answer, Method};
use crate::shapes::{ListOf, Page, Reply};
use crate::view::View;
use crate::walk::{paginate, position};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "function_call.list",
            "List the functions that a function calls, or that call it.",
            list,
        )
        .brief(&["name", "call_site"])
        .cost("Grows with the function's references."),
    ]
}

fn list(view: &View<'_>, request: ListOf<CallFilter>) -> Answer<Page<FunctionCall>> {
    let function = view.function(&request.filter.entry, "/filter/entry")?;
    let direction = request.filter.direction.unwrap_or_default();
    let (calls, word) = match direction {
        Direction::Callees => (callees(&view.program, function), "callees"),
        Direction::Callers => (callers(&view.program, function), "callers"),
    };
    let rows = calls.into_iter().map(|(entry, site)| (position(entry, 0), (entry, site))).collect();
    paginate(view, request.page.as_ref(), rows, |(entry, site)| FunctionCall {
        entry: view.print(entry),
        name: view.program.function_name(entry),
        call_site: Some(view.print(site)),
        direction: word,
    })
}

/// The functions whose entries the body calls, each with the first place of a call.
fn callees(program: &Program, function: &Function) -> BTreeMap<Address, Address> {
    let ranges = function.body.ranges().iter();
    let references = ranges.flat_map(|range| program.references.between(range.start, range.end));
    let calls = references.filter(|r| r.info.kind.is_call());
    let mut found = BTreeMap::new();
    for call in calls.filter(|call| program.functions.at(call.to).is_some()) {
        found.entry(call.to).or_insert(call.from);
    }
    found
}

/// The functions that call the entry, each with the first place of a call.
fn callers(program: &Program, function: &Function) -> BTreeMap<Address, Address> {
    let calls = program.references.to(function.entry).filter(|r| r.info.kind.is_call());
    let mut found = BTreeMap::new();
    for call in calls {
        if let Some(caller) = program.functions.containing(call.from) {
            found.entry(caller.entry).or_insert(call.from);
        }
    }
    found
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
