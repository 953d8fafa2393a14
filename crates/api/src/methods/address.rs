//! Address spaces, and what lies at an address.

use std::sync::Arc;

use program::{Address, Function, Program, SpaceId, SpaceKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::method::{Answer, Method};
use crate::methods::symbol::id_at;
use crate::shapes::{AddressSelector, Get, List, NoFilter, Page, Reply};
use crate::view::{Place, View};
use crate::walk::paginate;

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "address_space.list",
            "List the address spaces that hold memory or imports, by name.",
            space_list,
        ),
        Method::read(
            "address.resolve",
            "Read an address expression and tell what lies there: block, function, symbol.",
            resolve,
        )
        .growing(),
    ]
}

fn space_list(view: &View<'_>, request: List<NoFilter>) -> Answer<Page<AddressSpace>> {
    let is_shown =
        |kind| matches!(kind, SpaceKind::Ram | SpaceKind::NonLoaded | SpaceKind::External);
    let spaces = view.program.spaces.iter().filter(|space| is_shown(space.kind));
    let rows = spaces.map(|space| ((space.name.to_string(), space.id.0), space)).collect();
    paginate(view, request.page.as_ref(), rows, |space| AddressSpace {
        name: space.name.to_string(),
        kind: match space.kind {
            SpaceKind::Ram => "ram",
            SpaceKind::External => "external",
            _ => "non_loaded",
        },
        size: u64::from(space.bits),
        min_address: view.print(program::Address::new(space.id, 0)),
        max_address: view.print(program::Address::new(space.id, space.max_offset())),
        default: space.id == SpaceId::RAM,
    })
}

fn resolve(view: &View<'_>, request: Get<AddressSelector>) -> Answer<ResolvedAddress> {
    let address = view.code_address(&request.selector.address, "/selector/address")?;
    let program = &view.program;
    let block = program.memory.block_at(address);
    Ok(ResolvedAddress {
        address: view.print(address),
        valid: true,
        in_memory: block.is_some(),
        memory_block: block.map(|block| MemoryBlockSummary {
            name: block.name.to_string(),
            start: Some(view.print(block.start)),
            end: Some(view.print(block.end())),
            length: Some(block.length),
            read: Some(block.permissions.read),
            write: Some(block.permissions.write),
            execute: Some(block.permissions.execute),
        }),
        function: function_holding(program, address)
            .map(|function| FunctionSummary::of(program, function)),
        symbol: id_at(program, address).map(|(id, kind)| SymbolSummary {
            id: id.0.to_string(),
            name: program.label_at(address).unwrap_or_default(),
            r#type: kind,
        }),
        namesake: program.namesake(&request.selector.address).map(|other| view.place(other)),
    })
}

/// The function whose body holds an address; one of another file has no body, only an entry.
pub(super) fn function_holding(program: &Program, address: Address) -> Option<&Arc<Function>> {
    program.functions.containing(address).or_else(|| program.functions.at(address))
}

/// One address space.
#[derive(Debug, Serialize, JsonSchema)]
struct AddressSpace {
    /// Its name, as printed before the colon.
    name: String,
    /// `ram`, `non_loaded`, or `external` for the places of other files (imports).
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
    /// Where a symbol is that is called as the digits of the asked address read, when the address
    /// is a place in memory and so was meant.
    namesake: Option<Place>,
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
pub(super) struct FunctionSummary {
    /// Its entry point.
    entry: String,
    /// Its name.
    name: String,
}

impl FunctionSummary {
    pub(super) fn of(program: &Program, function: &program::Function) -> FunctionSummary {
        FunctionSummary {
            entry: program.spaces.print(function.entry).to_string(),
            name: program.function_name(function.entry),
        }
    }
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
