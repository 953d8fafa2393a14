//! What a program takes from other files, and what it offers to them.

use program::data_type::Builtin;
use program::{Address, Program, SymbolId, TypeKind};

use crate::call_graph::CallGraph;

/// Something of another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// Its place in the space of other files' things.
    pub address: Address,
    /// Its name.
    pub name: String,
    /// The file that it is taken from, where that is known.
    pub library: Option<String>,
    /// Its number there, when it is taken by number.
    pub ordinal: Option<u32>,
    /// Where its address is kept while the program runs.
    pub slot: Option<Address>,
}

/// Something that other files may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its place.
    pub address: Address,
    /// Its name.
    pub name: String,
    /// Its number, where the format gives numbers.
    pub ordinal: Option<u32>,
    /// The symbol that names it.
    pub symbol: SymbolId,
}

/// The namespace of imports whose library is not known.
const UNKNOWN: &str = "<EXTERNAL>";

/// All imports in the order of their places. Cost: the imports and the references to them.
#[must_use]
pub fn imports(program: &Program, graph: &CallGraph<'_>) -> Vec<Import> {
    let first = (Address::external(0), SymbolId(0));
    let symbols = program.symbols.in_order(first, Address::external(u64::MAX));
    let shown = symbols.filter(|(_, symbol)| symbol.names_a_place() && symbol.primary);
    let describe = |(id, symbol): (SymbolId, &program::Symbol)| {
        let name = program.symbol_name(id);
        let path = program.symbols.path(symbol.parent);
        Import {
            address: symbol.address,
            ordinal: ordinal(&name),
            library: path
                .first()
                .filter(|name| ***name != *UNKNOWN)
                .map(|library| library.to_string()),
            slot: slot_of(program, graph, symbol.address),
            name,
        }
    };
    shown.map(describe).collect()
}

/// The prototype of what lies at a place, when that is a function.
#[must_use]
pub fn prototype_at(program: &Program, address: Address) -> Option<String> {
    program.functions.at(address).map(|function| program.signature_text(function))
}

/// All names that other files may use, in the order of their places. Cost: the entry points and
/// their names.
#[must_use]
pub fn exports(program: &Program) -> Vec<Export> {
    let mut found = Vec::new();
    for place in program.entry_points.keys() {
        let names = || program.symbols.at(*place).filter(|(_, symbol)| symbol.names_a_place());
        let number = names().find_map(|(_, symbol)| ordinal(&symbol.name));
        let named = names().filter(|(_, symbol)| ordinal(&symbol.name).is_none());
        let named: Vec<SymbolId> = named.map(|(id, _)| id).collect();
        // What has a number only is known by it.
        let ids = if named.is_empty() { names().map(|(id, _)| id).collect() } else { named };
        found.extend(ids.into_iter().map(|symbol| Export {
            address: *place,
            name: program.symbol_name(symbol),
            ordinal: number,
            symbol,
        }));
    }
    found
}

/// The number in a name that stands for one.
fn ordinal(name: &str) -> Option<u32> {
    name.strip_prefix("Ordinal_")?.parse().ok()
}

/// The pointer in memory that holds an import's address, or that of the place that stands for it
/// in memory.
fn slot_of(program: &Program, graph: &CallGraph<'_>, address: Address) -> Option<Address> {
    let places = std::iter::once(&address).chain(graph.stubs_of(address));
    let mut references = places.flat_map(|place| program.references.to(*place));
    let is_pointer = |from: &Address| {
        let unit = program.listing.data.get(from)?;
        let kind = &program.types.get(program.types.resolve(unit.data_type))?.kind;
        Some(matches!(kind, TypeKind::Pointer(_) | TypeKind::Builtin(Builtin::Pointer)))
    };
    references.find(|r| is_pointer(&r.from) == Some(true)).map(|reference| reference.from)
}
