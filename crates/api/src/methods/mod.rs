//! The methods, one file per domain; a large domain is a folder split by noun.

// The types of pending methods are described and checked, but nothing reads them yet.
#![allow(dead_code)]

mod address;
mod analysis;
mod batch;
mod bridge;
mod comment;
mod data_type;
mod decompilation;
mod function;
mod global_variable;
mod listing;
mod memory;
mod name;
mod program;
mod reference;
mod symbol;

use crate::method::Method;

/// Name and purpose of each domain, in published order.
pub(crate) const DOMAINS: &[(&str, &str)] = &[
    ("bridge", "The session: who serves which program, and how to end it."),
    ("program", "The open program as a whole: identity, format, bounds, language, saving."),
    ("address", "Address spaces, and what lies at an address."),
    ("memory", "Memory blocks and bytes: describe, read, search, write."),
    (
        "listing",
        "Code units in address order: instructions, data, undefined bytes, flow overrides.",
    ),
    ("global_variable", "Named, typed data in memory."),
    ("function", "Functions: find, describe, create, change; parameters, local variables, calls."),
    ("analysis", "Automatic analysis: its state, and starting it."),
    ("decompilation", "C text of a function, or its tokens."),
    ("symbol", "Names of places: find, describe, rename."),
    ("reference", "Which place refers to which, and how."),
    ("comment", "Comments on addresses."),
    ("data_type", "Data types and their categories: find, describe, define, change."),
    (
        "batch",
        "Several calls in one, separately or all or none. A method is TOOL.OPERATION: function.get.",
    ),
];

type Rows = fn() -> Vec<Method>;

/// The domain of each group of rows, in published order; the listing comes in two groups
/// because global variables stand between its nouns.
pub(crate) const GROUPS: &[(&str, Rows)] = &[
    ("bridge", bridge::methods),
    ("program", program::methods),
    ("address", address::methods),
    ("memory", memory::methods),
    ("listing", listing::unit::methods),
    ("global_variable", global_variable::methods),
    ("listing", listing::instruction::methods),
    ("listing", listing::flow::methods),
    ("function", function::methods),
    ("analysis", analysis::methods),
    ("decompilation", decompilation::methods),
    ("symbol", symbol::methods),
    ("reference", reference::methods),
    ("comment", comment::methods),
    ("data_type", data_type::methods),
    ("batch", batch::methods),
];

/// Completes the rows whose schemas speak of the other rows.
pub(crate) fn finish(methods: &mut Vec<Method>) {
    batch::describe(methods);
}
