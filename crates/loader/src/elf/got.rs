//! The global offset table: pointers all of it, and treated as constant.

use super::external::ARTIFICIAL;
use super::relocate::Site;
use super::{Loader, SOURCE};
use program::{Address, BlockSource, MemoryBlock, Permissions};

/// Bytes of a PLT's head, which bears no function's name.
const PLT_HEAD: u64 = 16;

/// The made-up table of object files, which have none yet.
pub(super) const MADE_UP: &str = "%got";

impl Loader {
    /// The made-up table's slot for the symbol of a relocation.
    pub(super) fn got_slot(&mut self, site: &Site) -> Option<Address> {
        if let Some(slot) = self.got_slots.get(&site.symbol) {
            return Some(*slot);
        }
        let start = self.made_up_got()?;
        let index = self.got_slots.len() as u64;
        let slot = self.add_made_up(MADE_UP, start, index, site.symbol)?;
        self.got_slots.insert(site.symbol, slot);
        Some(slot)
    }

    /// Where the made-up table is, or will be once it has a slot.
    fn made_up_got(&mut self) -> Option<u64> {
        if self.got_start.is_none() {
            self.got_start = self.find_room().map(|(start, _)| start);
        }
        self.got_start
    }

    /// Makes the next slot of a made-up table, a pointer, and the table when it is the first.
    pub(super) fn add_made_up(
        &mut self,
        name: &str,
        start: u64,
        index: u64,
        value: u64,
    ) -> Option<Address> {
        let word = self.file.word();
        let slot = Address::ram(start.checked_add(index * word)?);
        if self.program.memory.contains(slot) || slot.offset > self.mask - word {
            return None;
        }
        match index {
            0 => self.make_got(name, start, word)?,
            _ => {
                self.program.memory.edit_block(Address::ram(start), |b| b.length += word);
            }
        }
        self.write_word(slot, value);
        self.mark_pointer(slot);
        Some(slot)
    }

    /// Where the program's own table lies, or the made-up one; an object file gets that.
    pub(super) fn got_base(&mut self) -> Option<u64> {
        let by_tag = self.file.dynamic.as_ref().and_then(|d| d.value(object::elf::DT_PLTGOT));
        if let Some(address) = by_tag {
            return Some(self.ram(address).offset);
        }
        if let Some((_, symbol)) = self.program.symbols.named("_GLOBAL_OFFSET_TABLE_").next() {
            return Some(symbol.address.offset);
        }
        if self.file.is_relocatable() { self.made_up_got() } else { None }
    }

    fn make_got(&mut self, name: &str, start: u64, length: u64) -> Option<()> {
        let mut block = MemoryBlock::new(name, Address::ram(start), length, BlockSource::Zero);
        block.permissions = Permissions { read: true, artificial: true, ..Permissions::default() };
        block.source_name = SOURCE.into();
        block.comment = ARTIFICIAL.into();
        self.program.memory.add_block(block).ok()
    }

    pub(super) fn mark_got(&mut self) {
        if self.file.sections.is_empty() {
            self.mark_dynamic_got();
            return;
        }
        let tables: Vec<(Address, Address)> = self
            .program
            .memory
            .blocks()
            .iter()
            .filter(|b| b.name.starts_with(".got") && b.loaded && !b.is_overlay())
            .map(|b| (b.start, b.end()))
            .collect();
        for (start, end) in tables {
            self.program.memory.edit_block(start, |b| b.permissions.write = false);
            self.mark_table(start, end);
        }
        self.link_plt_symbols();
    }

    /// Without sections the table reaches as far as its relocations.
    fn mark_dynamic_got(&mut self) {
        use object::elf::{DT_JMPREL, DT_PLTGOT};
        let Some(dynamic) = &self.file.dynamic else { return };
        let (Some(got), Some(relocs)) = (dynamic.value(DT_PLTGOT), dynamic.value(DT_JMPREL)) else {
            return;
        };
        let Some(offset) = self.file.offset_of(relocs) else { return };
        let table = self.file.reloc_tables.iter().find(|t| t.offset == offset);
        let last = table.and_then(|t| t.relocs.iter().map(|r| r.offset).max());
        let Some(last) = last.filter(|last| *last >= got) else { return };
        let Some(end) = last.checked_add(self.file.word() - 1) else { return };
        let (start, end) = (self.ram(got), self.ram(end));
        self.mark_table(start, end);
    }

    fn mark_table(&mut self, start: Address, end: Address) {
        let initialized = self.program.memory.block_at(start).is_some_and(|b| b.is_initialized());
        if !initialized {
            return;
        }
        self.move_dynamic_pointer(start);
        let word = self.file.word();
        let mut at = start;
        let most = self.file.bytes.len() as u64 / word;
        for _ in 0..most {
            if at > end || at.offset.checked_add(word - 1).is_none_or(|last| last > end.offset) {
                break;
            }
            self.mark_pointer(at);
            let Some(next) = at.checked_add(word) else { break };
            at = next;
        }
    }

    /// References from all pointers, now that their bytes are final.
    pub(super) fn refer_pointers(&mut self) {
        for place in std::mem::take(&mut self.pointers) {
            self.refer_to_value(place);
        }
    }

    /// A reference to where the pointer at a place points, be it outside of memory.
    fn refer_to_value(&mut self, place: Address) {
        // A pointer with an offset already refers to what it is based on.
        if self.program.references.from(place).next().is_some() {
            return;
        }
        let Some(value) = self.program.memory.read_uint(place, self.file.word() as u32) else {
            return;
        };
        let target = Address::ram(value & self.mask);
        if value != 0 && target.offset != self.mask {
            self.refer_pointer(place, target);
        }
    }

    /// The first entry often is the dynamic table's address, without a
    /// relocation.
    fn move_dynamic_pointer(&mut self, start: Address) {
        let Some(dynamic) = &self.file.dynamic else { return };
        let word = self.file.word() as u32;
        let stored = self.program.memory.read_uint(start, word);
        if self.delta == 0 || stored != Some(dynamic.address) || dynamic.address == 0 {
            return;
        }
        if self.relocations.iter().any(|r| r.address == start) {
            return;
        }
        let moved = dynamic.address.wrapping_add(self.delta);
        if self.write_word(start, moved) {
            self.note_change(start, word as u8);
        }
    }

    /// Writes a word of the file's class and byte order.
    pub(super) fn write_word(&mut self, place: Address, value: u64) -> bool {
        self.write_value(place, value, self.file.word() as usize)
    }

    /// Symbols that lie in the PLT stand for functions of other files.
    fn link_plt_symbols(&mut self) {
        if self.file.is_relocatable() {
            return;
        }
        let Some(block) = self.program.memory.block_named(".plt") else { return };
        if !block.permissions.execute || block.length <= PLT_HEAD {
            return;
        }
        let head = match self.file.header.machine {
            object::elf::EM_ARM | object::elf::EM_AARCH64 => 0,
            _ => PLT_HEAD,
        };
        let (Some(start), end) = (block.start.checked_add(head), block.end()) else { return };
        self.link_named(start, end);
    }
}
