//! The verbs, one file each.

pub mod call;
pub mod decompile;
pub mod disasm;
pub mod functions;
pub mod graph;
pub mod grep;
pub mod info;
pub mod linkage;
pub mod map;
pub mod strings;
pub mod symbols;
pub mod types;
pub mod xrefs;
