//! The same facts as texts from both sides: out of Ghidra's dump, and out of our program.

mod found;
mod stated;

use std::collections::BTreeMap;

pub use found::found;
pub use stated::stated;

/// Facts by their kinds.
pub type Items = BTreeMap<&'static str, Vec<String>>;
