//! Data that programs of MinGW take from libraries: a list says what their start-up code adds to
//! which places, since the system only fills the slots of imports.

use super::Loader;
use crate::offset_pointer;
use object::pe;
use program::{
    Address, AddressRange, BlockSource, CommentKind, MemoryBlock, Permissions, RefType, Relocation,
    SourceType, SpaceId, SymbolId,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const LIST: &str = "__RUNTIME_PSEUDO_RELOC_LIST__";
const LIST_END: &str = "__RUNTIME_PSEUDO_RELOC_LIST_END__";
/// Bytes of the head of a list and of an entry.
const ENTRY: u64 = 12;
/// What the head of a list ends with.
const VERSION: u32 = 1;
/// Made-up memory begins at a multiple of this.
const STEP: u64 = 0x1000_0000;

/// One entry: the slot of an import, and a place with so many bits to which its value is added.
#[derive(Debug, Clone, Copy)]
struct Entry {
    slot: Address,
    target: Address,
    bits: u32,
}

impl Loader {
    pub(super) fn load_pseudo_relocations(&mut self) {
        let x86 = [pe::IMAGE_FILE_MACHINE_I386, pe::IMAGE_FILE_MACHINE_AMD64];
        let read_only = self.program.memory.block_named(".rdata").is_some();
        if !read_only || !x86.contains(&self.file.machine) || !super::compiler::is_gcc(&self.file) {
            return;
        }
        let (Some(start), Some(end)) = (self.only_label(LIST), self.only_label(LIST_END)) else {
            return;
        };
        let length = end.offset.saturating_sub(start.offset).min(self.file.bytes.len() as u64);
        if length < ENTRY || self.words::<3>(start) != Some([0, 0, VERSION]) {
            return;
        }
        let entries = self.pseudo_entries(start, length);
        self.mark_pseudo_relocations(start, entries.len());
        let places = self.give_places(&entries);
        for entry in entries {
            if let Some((place, name)) = places.get(&entry.slot) {
                self.apply_pseudo(entry, *place, name);
            }
        }
    }

    /// The place of the only label of that name.
    fn only_label(&self, name: &str) -> Option<Address> {
        let mut all = self.program.symbols.named(name).map(|(_, symbol)| symbol.address);
        let place = all.next().filter(|place| place.space == SpaceId::RAM)?;
        all.next().is_none().then_some(place)
    }

    fn pseudo_entries(&self, start: Address, length: u64) -> Vec<Entry> {
        let places = (1..length / ENTRY).map_while(|index| start.checked_add(index * ENTRY));
        let words = places.map_while(|at| self.words::<3>(at));
        let entry = |[slot, target, flags]: [u32; 3]| Entry {
            slot: self.place(slot),
            target: self.place(target),
            bits: flags & 0xff,
        };
        words.map(entry).collect()
    }

    fn mark_pseudo_relocations(&mut self, start: Address, count: usize) {
        let double = self.program.types.builtin("dword");
        let offset = self.program.types.builtin("ImageBaseOffset32");
        let head = [(double, 4, "zero1", ""), (double, 4, "zero2", ""), (double, 4, "version", "")];
        let head = self.structure("/", "pseudoRelocListHeader", &head);
        self.program.define_data(start, head, ENTRY as u32);
        let item = [(offset, 4, "sym", ""), (double, 4, "target", ""), (double, 4, "flags", "")];
        let item = self.structure("/", "pseudoRelocItemV2", &item);
        let count = u32::try_from(count).unwrap_or(0);
        let items = self.program.types.array_of(item, count);
        let Some(first) = start.checked_add(ENTRY) else { return };
        if !self.program.define_data(first, items, count.saturating_mul(ENTRY as u32)) {
            return;
        }
        for index in 0..u64::from(count) {
            let at = first.wrapping_add(index * ENTRY);
            if let Some([slot]) = self.words::<1>(at) {
                self.refer(at, self.place(slot));
            }
        }
    }

    /// Gives the imports in these slots places in made-up memory; by their slots, with their names.
    fn give_places(&mut self, entries: &[Entry]) -> BTreeMap<Address, (Address, Arc<str>)> {
        let mut places = BTreeMap::new();
        let word = self.file.word();
        let mut slots: Vec<Address> = entries.iter().map(|entry| entry.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let Some(start) = self.free_memory(slots.len() as u64 * word) else { return places };
        let source = BlockSource::Uninitialized;
        let mut block = MemoryBlock::new("EXTERNAL", start, slots.len() as u64 * word, source);
        block.permissions = Permissions { read: true, write: true, ..Permissions::default() };
        if self.program.memory.add_block(block).is_err() {
            return places;
        }
        let mut next = start;
        for entry in entries {
            if places.contains_key(&entry.slot) {
                continue;
            }
            if let Some(name) = self.move_import(entry.slot, next) {
                places.insert(entry.slot, (next, name));
                next = next.wrapping_add(word);
            }
        }
        places
    }

    /// Where so many bytes are free.
    fn free_memory(&self, size: u64) -> Option<Address> {
        let blocks = self.program.memory.blocks();
        let taken = |start: u64| {
            let room = AddressRange::with_length(Address::ram(start), size.max(1));
            room.is_none_or(|room| {
                blocks.iter().any(|block| block.start <= room.end && room.start <= block.end())
            })
        };
        let start = (1..16).map(|step| step * STEP).find(|start| !taken(*start))?;
        Some(Address::ram(start))
    }

    /// The import that a slot is bound to.
    fn bound_to(&self, slot: Address) -> Option<Address> {
        let mut bound = self.program.references.from(slot);
        let import = bound.find(|reference| reference.to.space == SpaceId::EXTERNAL)?;
        Some(import.to)
    }

    /// Gives what a slot is bound to a place; gives its name.
    fn move_import(&mut self, slot: Address, place: Address) -> Option<Arc<str>> {
        let import = self.bound_to(slot)?;
        let (symbol, shown) = self.program.symbols.primary_at(import)?;
        let (name, library) = (Arc::clone(&shown.name), shown.parent);
        let library = self.program.symbol_name(library);
        self.program.references.remove_from(slot, slot);
        let word = self.file.word();
        let bytes = place.offset.to_le_bytes();
        self.program.memory.write(slot, bytes.get(..word as usize)?).ok()?;
        self.program.add_reference(slot, place, RefType::Data, 0, SourceType::Default);
        self.note_relocation(slot, word as u8, &name);
        let title = format!("External Location: {library}::{name}");
        self.program.comments.insert((place, CommentKind::Plate), title.into());
        self.program.add_label(place, &name, SymbolId::GLOBAL, SourceType::Imported);
        if self.program.references.to(import).next().is_none() {
            self.program.remove_function(import);
            self.program.symbols.remove(symbol);
        }
        Some(name)
    }

    fn apply_pseudo(&mut self, entry: Entry, place: Address, name: &str) {
        let size = entry.bits / 8;
        if !matches!(entry.bits, 8 | 16 | 32 | 64) {
            return;
        }
        let Some(value) = self.read(entry.target, size) else { return };
        let moved = value.wrapping_add(place.offset).wrapping_sub(entry.slot.offset);
        let bytes = moved.to_le_bytes();
        let Some(bytes) = bytes.get(..size as usize) else { return };
        if self.program.memory.write(entry.target, bytes).is_err() {
            return;
        }
        self.note_relocation(entry.target, size as u8, name);
        let executable =
            self.program.memory.block_at(entry.target).is_some_and(|b| b.permissions.execute);
        let behind = value.wrapping_sub(entry.slot.offset) as i64;
        if u64::from(size) == self.file.word() && behind != 0 && !executable {
            let behind = if size == 4 { i64::from(behind as i32) } else { behind };
            offset_pointer::define(&mut self.program, entry.target, behind);
            self.program.add_reference(entry.target, place, RefType::Data, 0, SourceType::Default);
        }
    }

    fn note_relocation(&mut self, address: Address, length: u8, symbol: &str) {
        let symbol = symbol.into();
        self.relocations.push(Relocation { address, kind: 0, symbol, length, applied: true });
    }
}
