//! Hot/cold splitting: parts of functions that compilers move away because they seldom run. Symbols
//! state where they begin (`name.cold`, `name.cold.3`), but they are no functions of their own.

use program::{Address, Program, SourceType, SpaceId, SymbolKind};
use std::collections::BTreeSet;

/// Where symbols of ELF files state that such parts begin. Cost: linear in the symbols.
pub(crate) fn entries(program: &Program) -> BTreeSet<Address> {
    if !program.info.executable_format.contains("(ELF)") {
        return BTreeSet::new();
    }
    let in_code = |at: &Address| {
        at.space == SpaceId::RAM
            && program.memory.block_at(*at).is_some_and(|b| b.permissions.execute)
    };
    let labels = program.symbols.iter().map(|(_, symbol)| symbol).filter(|symbol| {
        symbol.kind == SymbolKind::Label
            && symbol.source == SourceType::Imported
            && program::symbol::is_cold(&symbol.name)
    });
    labels.map(|symbol| symbol.address).filter(in_code).collect()
}
