//! Address spaces, and what lies at an address.

use schemars::JsonSchema;
use serde::Serialize;

use crate::method::Method;
use crate::shapes::{AddressSelector, Get, List, NoFilter, Page, Reply};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<List<NoFilter>, Page<AddressSpace>>(
            "address_space.list",
            "List the address spaces that hold memory, by name.",
        ),
        Method::pending_read::<Get<AddressSelector>, ResolvedAddress>(
            "address.resolve",
            "Read an address expression and tell what lies there: block, function, symbol.",
        ),
    ]
}

/// One address space.
#[derive(Debug, Serialize, JsonSchema)]
struct AddressSpace {
    /// Its name, as printed before the colon.
    name: String,
    /// `ram`, `non_loaded` and so on.
    kind: &'static str,
    /// Width of its addresses in bits.
    size: u64,
    /// Its lowest address.
    min_address: String,
    /// Its highest address.
    max_address: String,
    /// True for the space that an address without a space name means.
    default: bool,
}

impl Reply for AddressSpace {
    const IDENTITY: &'static [&'static str] = &["name"];
}

/// What lies at an address.
#[derive(Debug, Serialize, JsonSchema)]
struct ResolvedAddress {
    /// The address in its one spelling.
    address: String,
    /// Always true; what cannot be read is an error.
    valid: bool,
    /// True when a memory block covers it.
    in_memory: bool,
    /// The block that covers it.
    memory_block: Option<MemoryBlockSummary>,
    /// The function whose body holds it.
    function: Option<FunctionSummary>,
    /// The primary symbol exactly there.
    symbol: Option<SymbolSummary>,
}

impl Reply for ResolvedAddress {
    const IDENTITY: &'static [&'static str] = &["address"];
}

/// A memory block in brief.
#[derive(Debug, Serialize, JsonSchema)]
struct MemoryBlockSummary {
    /// Its name.
    name: String,
    /// Its first address.
    start: Option<String>,
    /// Its last address.
    end: Option<String>,
    /// Its length in bytes.
    length: Option<u64>,
    /// Readable.
    read: Option<bool>,
    /// Writable.
    write: Option<bool>,
    /// Executable.
    execute: Option<bool>,
}

/// A function in brief.
#[derive(Debug, Serialize, JsonSchema)]
struct FunctionSummary {
    /// Its entry point.
    entry: String,
    /// Its name.
    name: String,
}

/// A symbol in brief.
#[derive(Debug, Serialize, JsonSchema)]
struct SymbolSummary {
    /// Its id.
    id: String,
    /// Its name.
    name: String,
    /// What it names.
    r#type: &'static str,
}
