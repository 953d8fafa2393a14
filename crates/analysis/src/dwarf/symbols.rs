//! The symbols of a file apart from the program that holds its debug information.
//!
//! Only a file whose code lies where that of the program lies is believed.

use crate::strings::{clear, is_undefined, is_undefined_type};
use program::{
    Address, AddressRange, AddressSet, Program, SourceType, SpaceId, Symbol, SymbolId, SymbolKind,
    TypeId,
};

/// Takes the symbols of another program that stand for places of this one. Cost: linear in them.
pub(super) fn copy(program: &mut Program, other: &Program, path: &str) {
    if !lies_alike(program, other) {
        let text = format!("DWARF: the symbols of {path} were not read: its code lies elsewhere");
        super::load::warn(program, vec![text]);
        return;
    }
    if program.modes.is_empty() {
        program.modes = other.modes.clone();
    }
    let symbols = other.symbols.iter().map(|(_, symbol)| symbol);
    for symbol in symbols.filter(|symbol| is_wanted(other, symbol)) {
        let at = symbol.address;
        let Some(block) = program.memory.block_at(at) else { continue };
        let is_function = symbol.kind == SymbolKind::Function && block.permissions.execute;
        let parent = parent(program, other, symbol);
        if is_function && !begins_function(program, at) {
            make(program, symbol, parent);
            continue;
        }
        if !is_function {
            reserve(program, other, at);
        }
        program.add_label(at, &symbol.name, parent, symbol.source);
    }
}

/// Whether the blocks of code of a program are those of the other one.
fn lies_alike(program: &Program, other: &Program) -> bool {
    let mut code = program.memory.blocks().iter().filter(|block| block.permissions.execute);
    code.all(|block| {
        let counterpart = other.memory.block_at(block.start);
        block.permissions.artificial
            || counterpart.is_some_and(|found| {
                (&found.name, found.start, found.length) == (&block.name, block.start, block.length)
            })
    })
}

/// Whether a symbol names a place of the program: the one to show there, or the name that it was
/// mangled to.
fn is_wanted(other: &Program, symbol: &Symbol) -> bool {
    let is_own = symbol.is_in_memory()
        && symbol.address.space == SpaceId::RAM
        && symbol.source != SourceType::Default
        && !symbol.name.is_empty();
    let is_import = other.memory.block_at(symbol.address).is_none_or(|b| b.permissions.artificial);
    is_own && !is_import && (symbol.primary || symbol.name.starts_with("_Z"))
}

/// The namespace of a symbol, made if this program has none like it.
fn parent(program: &mut Program, other: &Program, symbol: &Symbol) -> SymbolId {
    let mut path = Vec::new();
    let mut at = symbol.parent;
    while let Some(around) = other.symbols.get(at).filter(|_| path.len() < 64) {
        path.push((around.name.clone(), around.kind));
        at = around.parent;
    }
    let outermost_first = path.into_iter().rev();
    outermost_first.fold(SymbolId::GLOBAL, |parent, (name, kind)| {
        program.symbols.namespace(&name, parent, kind)
    })
}

/// Whether a function is known to begin at a place.
fn begins_function(program: &Program, at: Address) -> bool {
    let primary = program.symbols.primary_at(at);
    primary.is_some_and(|(_, symbol)| symbol.kind == SymbolKind::Function)
}

/// Makes a function that is called as the symbol says.
fn make(program: &mut Program, symbol: &Symbol, parent: SymbolId) {
    if program.listing.data_containing(symbol.address).is_some() {
        return;
    }
    let id = program.add_label(symbol.address, &symbol.name, parent, symbol.source);
    program.symbols.make_primary(id);
    program.add_function(symbol.address, AddressSet::new());
}

/// Reserves the bytes of a variable, as the other program does.
fn reserve(program: &mut Program, other: &Program, at: Address) {
    let Some(unit) = other.listing.data.get(&at) else { return };
    if !is_undefined_type(other, unit.data_type) {
        return;
    }
    let Some(range) = AddressRange::with_length(at, u64::from(unit.length)) else { return };
    if is_undefined(program, &range) {
        clear(program, &range);
        let reserved = undefined(program, unit.length);
        program.define_data(at, reserved, unit.length);
    }
}

fn undefined(program: &mut Program, length: u32) -> TypeId {
    match length {
        1..=8 => program.types.undefined(length),
        _ => {
            let byte = program.types.undefined(1);
            program.types.array_of(byte, length)
        }
    }
}
