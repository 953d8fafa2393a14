//! The EXTERNAL block: made-up memory that gives the symbols of other files an
//! address, and the thunks in it that stand for their functions.

use super::{Loader, SOURCE};
use program::{
    Address, AddressRange, AddressSet, BlockSource, Function, MemoryBlock, Permissions, SourceType,
    SpaceId, Symbol, SymbolId, SymbolKind,
};
use std::collections::HashMap;
use std::sync::Arc;

const BLOCK: &str = "EXTERNAL";
const LIBRARY: &str = "<EXTERNAL>";
/// The note on blocks that no file has.
pub(super) const ARTIFICIAL: &str =
    "NOTE: This block is artificial and allows ELF Relocations to work correctly";
/// Made-up blocks start at such a boundary.
const ALIGNMENT: u64 = 0x1000;
/// Room that a gap should have to be used.
const PREFERRED_ROOM: u64 = 0x2_0000;

/// What has been handed out so far.
#[derive(Debug, Default)]
pub(super) struct Externals {
    /// Start, next free and last usable address of the block.
    room: Option<(u64, u64, u64)>,
    /// Places by name.
    known: HashMap<Arc<str>, Address>,
    /// External functions by name.
    functions: HashMap<Arc<str>, Address>,
    next_function: u64,
}

/// Free memory that was promised to tables still to be made.
#[derive(Debug, Default)]
pub(super) struct Promised {
    pieces: Vec<(u64, u64)>,
    /// The last address of the gap that the last piece is in.
    gap_end: u64,
    /// Whether nothing is left.
    exhausted: bool,
}

impl Loader {
    /// Free memory for made-up blocks: the last gap with enough room, else the
    /// largest.
    pub(super) fn find_room(&self) -> Option<(u64, u64)> {
        self.find_gap(PREFERRED_ROOM)
    }

    /// Keeps a piece of free memory of that size, a multiple of the boundary, from other uses.
    /// Cost: constant while one gap is enough.
    pub(super) fn reserve_room(&mut self, size: u64) -> Option<u64> {
        if self.promised.exhausted {
            return None;
        }
        let gap_end = self.promised.gap_end;
        if let Some((_, last)) = self.promised.pieces.last_mut()
            && last.checked_add(size).is_some_and(|end| end <= gap_end)
        {
            let start = *last + 1;
            *last += size;
            return Some(start);
        }
        let found = self.find_gap(size).and_then(|(start, end)| {
            let last = start.checked_add(size - 1).filter(|last| *last <= end)?;
            Some((start, last, end))
        });
        let Some((start, last, end)) = found else {
            self.promised.exhausted = true;
            return None;
        };
        self.promised.gap_end = end;
        self.promised.pieces.push((start, last));
        Some(start)
    }

    fn find_gap(&self, preferred: u64) -> Option<(u64, u64)> {
        let mut gaps: Vec<(u64, u64)> = Vec::new();
        let mut next = Some(ALIGNMENT);
        let ram = self.program.memory.blocks().iter().filter(|b| b.start.space == SpaceId::RAM);
        let mut used: Vec<(u64, u64)> = ram.map(|b| (b.start.offset, b.end().offset)).collect();
        used.extend(&self.promised.pieces);
        used.sort_unstable();
        for (start, end) in used {
            if let Some(from) = next.filter(|from| *from < start) {
                gaps.push((from, start - 1));
            }
            let after = end.checked_add(1).filter(|a| *a <= self.mask);
            next = match (next, after) {
                (Some(from), Some(after)) => Some(from.max(after)),
                _ => None,
            };
        }
        gaps.extend(next.map(|from| (from, self.mask)));
        let aligned = |&(from, to): &(u64, u64)| {
            let from = from.checked_next_multiple_of(ALIGNMENT)?;
            (from <= to).then_some((from, to))
        };
        let gaps: Vec<(u64, u64)> = gaps.iter().filter_map(aligned).collect();
        let roomy = gaps.iter().rev().find(|(from, to)| to - from >= preferred - 1);
        roomy.or_else(|| gaps.iter().max_by_key(|(from, to)| to - from)).copied()
    }

    /// The place of an external symbol that was met before.
    pub(super) fn known_external(&self, name: &str) -> Option<Address> {
        self.externals.known.get(name).copied()
    }

    /// A new place of the EXTERNAL block.
    pub(super) fn new_external(&mut self, name: &Arc<str>, size: u64) -> Option<Address> {
        if self.externals.room.is_none() {
            let (start, end) = self.find_room()?;
            self.externals.room = Some((start, start, end));
        }
        let unit = self.file.word();
        let size = size.max(1).checked_next_multiple_of(unit)?;
        let (start, next, end) = self.externals.room?;
        let after = next.checked_add(size).filter(|after| after - 1 <= end)?;
        self.externals.room = Some((start, after, end));
        let place = Address::ram(next);
        self.externals.known.insert(Arc::clone(name), place);
        Some(place)
    }

    /// Whether an address is one of the EXTERNAL block's.
    pub(super) fn is_external_place(&self, address: Address) -> bool {
        self.externals.room.is_some_and(|(start, next, _)| {
            address.space == SpaceId::RAM && (start..next).contains(&address.offset)
        })
    }

    /// Makes the EXTERNAL block over what was handed out.
    pub(super) fn make_external_block(&mut self) {
        let Some((start, next, _)) = self.externals.room else { return };
        let source = BlockSource::Uninitialized;
        let mut block = MemoryBlock::new(BLOCK, Address::ram(start), next - start, source);
        block.permissions =
            Permissions { read: true, write: true, artificial: true, ..Permissions::default() };
        block.source_name = SOURCE.into();
        block.comment = ARTIFICIAL.into();
        if self.program.memory.add_block(block).is_err() {
            self.warn("there is no room for the EXTERNAL block");
        }
    }

    /// Makes a thunk at `place` that stands for the external function `name`.
    /// A name that the place bore alone is dropped: it shows the function's.
    pub(super) fn link_function(&mut self, name: &Arc<str>, place: Address) {
        if self.program.functions.at(place).is_some_and(|f| f.thunk_of.is_some()) {
            return;
        }
        let target = self.external_function(name);
        let named: Vec<SymbolId> = self.program.symbols.at(place).map(|(id, _)| id).collect();
        let symbol = match named.as_slice() {
            [only] if self.program.symbols.get(*only).is_some_and(|s| s.name == *name) => {
                let only = *only;
                self.program.symbols.edit(only, nameless);
                only
            }
            [] => self.program.symbols.add(thunk_symbol(place)),
            _ => {
                let primary = self.program.symbols.primary_at(place).map(|(id, _)| id);
                let Some(id) = primary else { return };
                self.program.symbols.edit(id, |s| s.kind = SymbolKind::Function);
                id
            }
        };
        let body: AddressSet = AddressRange::with_length(place, 1).into_iter().collect();
        let undefined = self.program.types.builtin("undefined");
        let mut function = Function::new(place, symbol, body, undefined);
        function.thunk_of = Some(target);
        self.program.functions.put(function);
    }

    /// The external function of that name, made when missing.
    fn external_function(&mut self, name: &Arc<str>) -> Address {
        if let Some(known) = self.externals.functions.get(name) {
            return *known;
        }
        self.externals.next_function += 1;
        let entry = Address::external(self.externals.next_function);
        let library = self.library(LIBRARY);
        let symbol = self.program.symbols.add(Symbol {
            name: Arc::clone(name),
            address: entry,
            kind: SymbolKind::Function,
            parent: library,
            source: SourceType::Imported,
            primary: true,
            external_entry: false,
            pinned: false,
        });
        let undefined = self.program.types.builtin("undefined");
        let function = Function::new(entry, symbol, AddressSet::new(), undefined);
        self.program.functions.put(function);
        self.externals.functions.insert(Arc::clone(name), entry);
        entry
    }

    /// The library of that name, made when missing.
    pub(super) fn library(&mut self, name: &str) -> SymbolId {
        self.program.symbols.namespace(name, SymbolId::GLOBAL, SymbolKind::Library)
    }
}

fn nameless(symbol: &mut Symbol) {
    symbol.name = "".into();
    symbol.kind = SymbolKind::Function;
    symbol.source = SourceType::Default;
    symbol.primary = true;
}

fn thunk_symbol(place: Address) -> Symbol {
    Symbol {
        name: "".into(),
        address: place,
        kind: SymbolKind::Function,
        parent: SymbolId::GLOBAL,
        source: SourceType::Default,
        primary: true,
        external_entry: false,
        pinned: false,
    }
}
