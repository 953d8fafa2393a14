//! From a program in Ghidra's own database to ours: each module reads the tables of one kind of
//! fact. What is stored is taken as it is; nothing is analysed.
//!
//! The crate stands beside `analysis`: it needs decoding, which `loader` does not know, and the
//! columns of Ghidra's tables, which nobody else has to know.

mod addresses;
mod builtin;
mod error;
mod facts;
mod functions;
mod import;
mod info;
mod listing;
mod memory;
mod references;
mod rows;
mod storage;
mod symbols;
mod types;
mod versions;

pub use error::ImportError;
pub use import::{Imported, import};
