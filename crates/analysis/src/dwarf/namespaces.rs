//! The namespaces that functions and variables are in: those of the entries around them. What the
//! linker calls them says less.

use super::DEEPEST;
use super::names::{is_composite, path};
use super::types::Types;
use super::units::Place;
use program::{Address, Program, SourceType, Symbol, SymbolId, SymbolKind};

impl Types<'_, '_> {
    /// The namespace of what is described at a place, made when missing.
    pub(super) fn namespace_of(&mut self, program: &mut Program, at: Place) -> SymbolId {
        let naming = self.naming(at);
        let names = path(&naming.namespace);
        let kinds = self.kinds_around(at);
        let told = kinds.len() == names.len();
        let mut parent = SymbolId::GLOBAL;
        for (index, name) in names.iter().enumerate() {
            let kind = kinds.get(index).filter(|_| told);
            parent = namespace(program, name, parent, kind.copied());
        }
        parent
    }

    /// What kinds of namespaces are around an entry, outermost first.
    fn kinds_around(&self, at: Place) -> Vec<SymbolKind> {
        let mut kinds = Vec::new();
        let mut next = self.around(at);
        while let Some(outer) = next.filter(|_| kinds.len() < DEEPEST) {
            let unit = self.source.units.open(outer.unit);
            let entry = unit.as_ref().and_then(|unit| unit.unit.entry(outer.offset).ok());
            let is_class = entry.is_some_and(|entry| is_composite(entry.tag()));
            kinds.push(if is_class { SymbolKind::Class } else { SymbolKind::Namespace });
            next = self.around(outer);
        }
        kinds.reverse();
        kinds
    }
}

fn namespace(
    program: &mut Program,
    name: &str,
    parent: SymbolId,
    kind: Option<SymbolKind>,
) -> SymbolId {
    let kind = kind.unwrap_or(SymbolKind::Namespace);
    let found = program.symbols.namespace(name, parent, kind);
    if kind == SymbolKind::Class {
        program.symbols.edit(found, |s| s.kind = kind);
    }
    found
}

/// Takes away the labels that the linker's names were read as: what debug information says of a
/// place is believed instead.
pub(super) fn forget_readable(program: &mut Program, at: Address) {
    let is_read = |s: &Symbol| s.source == SourceType::Analysis && s.kind == SymbolKind::Label;
    let there = program.symbols.at(at);
    let labels: Vec<SymbolId> = there.filter(|(_, s)| is_read(s)).map(|(id, _)| id).collect();
    for label in labels {
        program.symbols.remove(label);
    }
}
