//! What differs between two states of one program. Tables that share their chunks are compared
//! without looking into those: the cost grows with the change, not with the program.

use std::sync::Arc;

use crate::Program;
use crate::address::{Address, AddressRange, AddressSet};
use crate::data_type::{DataType, TypeId};
use crate::function::Function;
use crate::memory::{Memory, MemoryBlock};
use crate::symbol::{Symbol, SymbolKind};

/// The differences between two states of a program, each list in order and without repetition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// So much differs that nothing known of the one state holds for the other.
    pub everything: bool,
    /// Places whose stored symbols differ.
    pub symbols: Vec<Address>,
    /// Entries of functions that differ, or that only one state has.
    pub functions: Vec<Address>,
    /// Those of them that differ for their callers as well.
    pub prototypes: Vec<Address>,
    /// Code that belongs to another function, or to none any more.
    pub bodies: AddressSet,
    /// Places where data is defined otherwise.
    pub data: Vec<Address>,
    /// All that such data covers, before and after.
    pub data_covers: AddressSet,
    /// Instructions that differ.
    pub instructions: Vec<Address>,
    /// Those of them that only one state has.
    pub decoded: Vec<Address>,
    /// Places that references come from which differ.
    pub references_from: Vec<Address>,
    /// Those of them where data is defined.
    pub pointers: Vec<Address>,
    /// Places without a name of their own that references lead to which differ.
    pub references_to: Vec<Address>,
    /// Other places that such references lead to.
    pub named_references_to: Vec<Address>,
    /// Places whose comments differ.
    pub comments: Vec<Address>,
    /// Bytes that differ.
    pub memory: AddressSet,
    /// Data whose bytes differ: texts are named after them.
    pub values: Vec<Address>,
    /// Data types of another content.
    pub types: Vec<TypeId>,
}

impl Changes {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }

    /// The places that differ for whoever refers to them, as one set; bytes apart.
    pub fn places(&self) -> AddressSet {
        let lists = [
            &self.symbols,
            &self.prototypes,
            &self.data,
            &self.decoded,
            &self.pointers,
            &self.references_to,
            &self.values,
        ];
        let points = lists.into_iter().flatten().filter_map(|at| AddressRange::new(*at, *at));
        let sets = [&self.bodies, &self.data_covers];
        points.chain(sets.into_iter().flat_map(AddressSet::ranges).copied()).collect()
    }
}

impl Program {
    /// What differs between an earlier state of this program and this one.
    pub fn changes_since(&self, old: &Program) -> Changes {
        let mut changes = Changes {
            everything: self.differs_wholly(old),
            comments: sorted(
                self.comments.differences(&old.comments, Arc::eq).into_iter().map(|(at, _)| at),
            ),
            instructions: self
                .listing
                .instructions
                .differences(&old.listing.instructions, PartialEq::eq),
            types: self.types.differences(&old.types),
            ..Changes::default()
        };
        self.changed_symbols(old, &mut changes);
        self.changed_functions(old, &mut changes);
        self.changed_data(old, &mut changes);
        self.changed_references(old, &mut changes);
        let decoded = |at: &&Address| {
            let tables = [&self.listing.instructions, &old.listing.instructions];
            !tables.into_iter().all(|table| table.contains_key(at))
        };
        changes.decoded = changes.instructions.iter().filter(decoded).copied().collect();
        changes.everything |= !self.memory.changed_bytes(&old.memory, &mut changes.memory);
        let units = changes.memory.ranges().iter().flat_map(|range| {
            let over = self.listing.data_containing(range.start).map(|(start, _)| start);
            let inside = self.listing.data.range(range.start..=range.end).map(|(at, _)| *at);
            over.into_iter().chain(inside)
        });
        changes.values = sorted(units);
        changes
    }

    /// Whether the states have no more in common than their origin, if that.
    fn differs_wholly(&self, old: &Program) -> bool {
        let (new, was) = (&self.info, &old.info);
        let other_file = !Arc::ptr_eq(new, was)
            && (new.sha256 != was.sha256
                || new.name != was.name
                || new.image_base != was.image_base
                || new.language_id != was.language_id
                || new.compiler_spec_id != was.compiler_spec_id);
        other_file
            || !Arc::ptr_eq(&self.spaces, &old.spaces)
            || !self.modes.same(&old.modes) && !self.modes.iter().eq(old.modes.iter())
            || self.protected != old.protected
    }

    fn changed_symbols(&self, old: &Program, changes: &mut Changes) {
        for id in self.symbols.differences(&old.symbols) {
            let pair = [self.symbols.get(id), old.symbols.get(id)];
            for symbol in pair.into_iter().flatten() {
                let place = matches!(symbol.kind, SymbolKind::Label | SymbolKind::Function);
                if place {
                    changes.symbols.push(symbol.address);
                }
            }
            changes.everything |= is_renamed_namespace(pair);
        }
        changes.symbols = sorted(std::mem::take(&mut changes.symbols).into_iter());
    }

    fn changed_references(&self, old: &Program, changes: &mut Changes) {
        let differences = self.references.differences(&old.references);
        changes.references_from = sorted(differences.iter().map(|(from, _)| *from));
        let is_data =
            |at: &&Address| self.listing.data.contains_key(at) || old.listing.data.contains_key(at);
        changes.pointers = changes.references_from.iter().filter(is_data).copied().collect();
        let named = |at: &Address| {
            self.symbols.primary_at(*at).is_some() && old.symbols.primary_at(*at).is_some()
        };
        (changes.named_references_to, changes.references_to) =
            sorted(differences.into_iter().map(|(_, to)| to)).into_iter().partition(named);
    }

    fn changed_functions(&self, old: &Program, changes: &mut Changes) {
        changes.functions = self.functions.differences(&old.functions);
        for entry in &changes.functions {
            let pair = [self.functions.at(*entry), old.functions.at(*entry)];
            let [Some(new), Some(was)] = pair else {
                changes.prototypes.push(*entry);
                let bodies = pair.into_iter().flatten().flat_map(|f| f.body.ranges());
                bodies.for_each(|range| changes.bodies.insert(*range));
                continue;
            };
            if is_called_otherwise(new, was) {
                changes.prototypes.push(*entry);
            }
            if new.body == was.body {
                continue;
            }
            for function in pair.into_iter().flatten() {
                function.body.ranges().iter().for_each(|range| changes.bodies.insert(*range));
            }
        }
    }

    fn changed_data(&self, old: &Program, changes: &mut Changes) {
        changes.data = self.listing.data.differences(&old.listing.data, PartialEq::eq);
        for at in &changes.data {
            let pair = [self.listing.data.get(at), old.listing.data.get(at)];
            for unit in pair.into_iter().flatten() {
                let range = AddressRange::with_length(*at, u64::from(unit.length.max(1)));
                range.into_iter().for_each(|range| changes.data_covers.insert(range));
            }
        }
    }
}

/// Whether a function differs for those who call it: not only in its variables and its body.
fn is_called_otherwise(new: &Function, old: &Function) -> bool {
    new.symbol != old.symbol
        || new.thunk_of != old.thunk_of
        || new.signature != old.signature
        || new.no_return != old.no_return
        || new.inline != old.inline
        || new.call_fixup != old.call_fixup
        || new.stack_purge != old.stack_purge
}

/// A namespace of another name or place: the names of all that lies in it differ.
fn is_renamed_namespace([new, old]: [Option<&Symbol>; 2]) -> bool {
    let is_place = |s: &Symbol| matches!(s.kind, SymbolKind::Label | SymbolKind::Function);
    match (new, old) {
        (Some(new), Some(old)) if !is_place(new) || !is_place(old) => {
            new.name != old.name || new.parent != old.parent || new.kind != old.kind
        }
        _ => false,
    }
}

fn sorted<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether two contents of a type are the same to those who look at bytes: not whether it is used.
pub(crate) fn same_content(new: &Arc<DataType>, old: &Arc<DataType>) -> bool {
    Arc::ptr_eq(new, old)
        || new.kind == old.kind
            && new.length == old.length
            && new.name == old.name
            && new.category == old.category
            && new.alignment == old.alignment
}

impl Memory {
    /// Adds the bytes that differ; false when the blocks themselves do.
    fn changed_bytes(&self, old: &Memory, changed: &mut AddressSet) -> bool {
        if self.same(old) {
            return true;
        }
        let (new, was) = (self.blocks(), old.blocks());
        if new.len() != was.len() || self.big_endian() != old.big_endian() {
            return false;
        }
        new.iter().zip(was).all(|(new, was)| block_changes(new, was, changed))
    }
}

fn block_changes(new: &MemoryBlock, old: &MemoryBlock, changed: &mut AddressSet) -> bool {
    let same = new.start == old.start
        && new.length == old.length
        && new.permissions == old.permissions
        && new.loaded == old.loaded
        && new.has_source_of(old);
    if !same {
        return false;
    }
    for (offset, length) in new.pages_unlike(old) {
        let mut pages = [vec![0; length], vec![0; length]];
        new.copy_to(offset, &mut pages[0]);
        old.copy_to(offset, &mut pages[1]);
        let [one, other] = &pages;
        for (at, _) in one.iter().zip(other).enumerate().filter(|(_, (a, b))| a != b) {
            let place = new.start.wrapping_add(offset + at as u64);
            AddressRange::new(place, place).into_iter().for_each(|range| changed.insert(range));
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        BlockSource, CommentKind, DataOrganization, ProgramInfo, RefType, SourceType, SymbolId,
    };

    fn program() -> Program {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut p = Program::new(info, false, DataOrganization::default());
        let source =
            BlockSource::Bytes { bytes: [7; 8192].as_slice().into(), offset: 0, length: 8192 };
        p.memory.add_block(MemoryBlock::new("b", at(0x1000), 8192, source)).expect("is free");
        for n in 0..1000 {
            p.add_label(at(0x1000 + n), &format!("l{n}"), SymbolId::GLOBAL, SourceType::Analysis);
        }
        p.add_function(at(0x1100), AddressRange::new(at(0x1100), at(0x110f)).into_iter().collect());
        p
    }

    fn at(offset: u64) -> Address {
        Address::ram(offset)
    }

    #[test]
    fn nothing_differs_from_itself_or_from_a_copy_edited_back() {
        let old = program();
        let mut new = old.clone();
        assert!(new.changes_since(&old).is_empty());
        new.memory.write(at(0x1800), &[9]).unwrap();
        new.memory.write(at(0x1800), &[7]).unwrap();
        let id = new.symbols.named("l5").next().unwrap().0;
        new.symbols.edit(id, |symbol| symbol.name = "other".into());
        new.symbols.edit(id, |symbol| symbol.name = "l5".into());
        let int = new.types.builtin("int");
        new.types.mark_used(int);
        assert!(new.changes_since(&old).is_empty(), "{:?}", new.changes_since(&old));
    }

    #[test]
    fn every_table_tells_its_own_places_in_both_directions() {
        let old = program();
        let mut new = old.clone();
        let id = new.symbols.named("l5").next().unwrap().0;
        new.symbols.edit(id, |symbol| symbol.name = "other".into());
        new.functions.edit(at(0x1100), |function| function.no_return = true);
        let int = new.types.builtin("int");
        assert!(new.define_data(at(0x1200), int, 4));
        new.comments.insert((at(0x1300), CommentKind::Pre), "text".into());
        new.add_reference(at(0x1400), at(0x1500), RefType::Data, 0, SourceType::UserDefined);
        new.add_reference(at(0x1400), at(0x1010), RefType::Data, 1, SourceType::UserDefined);
        new.memory.write(at(0x1fff), &[8, 8]).unwrap();
        new.types.add_struct("/", "P", 4, Vec::new());
        for changes in [new.changes_since(&old), old.changes_since(&new)] {
            assert!(!changes.everything);
            assert_eq!(changes.symbols, [at(0x1005)]);
            assert_eq!(changes.functions, [at(0x1100)]);
            assert_eq!(changes.prototypes, [at(0x1100)]);
            assert!(changes.bodies.is_empty());
            assert_eq!(changes.data, [at(0x1200)]);
            assert_eq!(changes.data_covers.len(), 4);
            assert_eq!(changes.comments, [at(0x1300)]);
            assert_eq!(changes.references_from, [at(0x1400)]);
            assert_eq!(changes.references_to, [at(0x1500)]);
            assert_eq!(changes.named_references_to, [at(0x1010)]);
            assert_eq!((changes.memory.min(), changes.memory.len()), (Some(at(0x1fff)), 2));
            assert_eq!(changes.types.len(), 1);
            assert!(changes.places().contains(at(0x1203)));
        }
    }

    #[test]
    fn other_blocks_and_renamed_namespaces_change_everything() {
        let mut old = program();
        let space = old.symbols.namespace("n", SymbolId::GLOBAL, SymbolKind::Namespace);
        let mut new = old.clone();
        new.memory.edit_block(at(0x1000), |block| block.permissions.write = true);
        assert!(new.changes_since(&old).everything);
        let mut new = old.clone();
        new.symbols.edit(space, |symbol| symbol.name = "m".into());
        assert!(new.changes_since(&old).everything);
    }
}
