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
mod emulation;
mod function;
mod global_variable;
mod graph;
mod insight;
mod linkage;
mod listing;
mod memory;
mod name;
mod number;
mod pcode;
mod program;
mod reference;
mod search;
mod string;
mod symbol;

use crate::method::Method;
use crate::registry::Surface;

/// Name and purpose of each domain of the document, in published order.
const DOMAINS: &[(&str, &str)] = &[
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
const GROUPS: &[(&str, Rows)] = &[
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

/// A domain beyond the document: its name, its purpose, the first surface that shows it, and its
/// rows, each of which says since when it is there.
type Extension = (&'static str, &'static str, Surface, Rows);

/// The domains beyond the document, in published order.
const EXTENSIONS: &[Extension] = &[
    ("string", "Strings with who refers to them.", Surface::Extensions, string::methods),
    (
        "linkage",
        "What the program takes from other files and offers to them.",
        Surface::Extensions,
        linkage::methods,
    ),
    (
        "graph",
        "Flow inside of a function, and calls around it, as a graph.",
        Surface::Extensions,
        graph::methods,
    ),
    (
        "insight",
        "Reports: a function, or a whole program, in one answer.",
        Surface::Extensions,
        insight::methods,
    ),
    (
        "search",
        "Code by what it does: instructions, calls with their arguments, C text.",
        Surface::Extensions,
        search::methods,
    ),
    (
        "pcode",
        "The processor-neutral operations that instructions stand for.",
        Surface::Extensions,
        pcode::methods,
    ),
    (
        "number",
        "Numbers in all their forms, without a calculator.",
        Surface::Extensions,
        number::methods,
    ),
    (
        "emulation",
        "The program's own code run over a copy of its memory: decode texts, compute hashes, try inputs.",
        Surface::Extensions,
        emulation::methods,
    ),
];

fn extensions(surface: Surface) -> impl Iterator<Item = &'static Extension> {
    EXTENSIONS.iter().filter(move |(_, _, first, _)| *first <= surface)
}

/// The groups of rows that a surface shows, in published order.
pub(crate) fn groups(surface: Surface) -> impl Iterator<Item = (&'static str, Rows)> {
    let extended = extensions(surface).map(|&(domain, _, _, rows)| (domain, rows));
    GROUPS.iter().copied().chain(extended)
}

/// Name and purpose of the domains that a surface shows, in published order.
pub(crate) fn domains(surface: Surface) -> impl Iterator<Item = (&'static str, &'static str)> {
    DOMAINS.iter().copied().chain(extensions(surface).map(|&(name, text, ..)| (name, text)))
}

/// Completes the rows whose schemas speak of the other rows.
pub(crate) fn finish(surface: Surface, methods: &mut Vec<Method>) {
    batch::describe(methods);
    bridge::describe(surface, methods);
}
