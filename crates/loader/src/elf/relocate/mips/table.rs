//! Tables of pointers for object files of MIPS, which have none yet: one for each section of code,
//! with a base of its own.

use crate::elf::Loader;
use crate::elf::got::MADE_UP;
use crate::elf::mips::{BASE, OLD_BASE};
use program::Address;
use std::collections::HashMap;
use std::sync::Arc;

/// How far behind the table's start its base is, so that signed offsets reach all of it.
const BIAS: u64 = 0x7ff0;
/// Room that each table is given.
const ROOM: u64 = 0x1_0000;

/// The table of the section whose relocations are being done.
#[derive(Debug, Default)]
pub(in crate::elf) struct SectionTable {
    /// The section's name.
    section: Arc<str>,
    /// Where its table may be.
    start: Option<u64>,
    slots: HashMap<u64, Address>,
    /// Bases by the sections of code that have one.
    bases: HashMap<Arc<str>, u64>,
    /// The base made last.
    last: Option<u64>,
}

impl SectionTable {
    pub(in crate::elf) fn begin(&mut self, section: &Arc<str>) {
        self.section = Arc::clone(section);
    }

    pub(super) fn end(&mut self) {
        self.start = None;
        self.slots.clear();
    }
}

impl Loader {
    /// The base of the table of pointers.
    pub(super) fn mips_base(&mut self) -> Option<u64> {
        if let Some(base) = self.mips_named(BASE) {
            return Some(base);
        }
        if !self.file.is_relocatable() {
            return None;
        }
        let start = self.mips_table_start()?;
        let own = start.wrapping_add(BIAS);
        let table = &mut self.mips.table;
        // Data counts from the base of the code that it belongs to.
        if let Some(of) = table.section.strip_prefix(".rodata") {
            let code: Arc<str> = format!(".text{of}").into();
            return Some(table.bases.get(&code).copied().or(table.last).unwrap_or(own));
        }
        table.bases.insert(Arc::clone(&table.section), own);
        table.last = Some(own);
        Some(own)
    }

    /// What the base was when the file's own distances from it were stored.
    pub(super) fn mips_old_base(&self) -> u64 {
        self.mips_named(OLD_BASE).unwrap_or(0)
    }

    fn mips_named(&self, name: &str) -> Option<u64> {
        self.program.symbols.named(name).next().map(|(_, symbol)| symbol.address.offset)
    }

    fn mips_table_start(&mut self) -> Option<u64> {
        if self.mips.table.start.is_none() {
            self.mips.table.start = self.reserve_room(ROOM);
        }
        self.mips.table.start
    }

    /// How far from the base the table's pointer to `value` is; it is made when missing.
    pub(super) fn mips_slot(&mut self, value: u64) -> Option<u64> {
        let value = value & self.mask;
        let base = self.mips_base()?;
        if let Some(slot) = self.mips.table.slots.get(&value) {
            return Some(slot.offset.wrapping_sub(base));
        }
        let start = self.mips_table_start()?;
        let name = format!("{}{}", MADE_UP, self.mips.table.section);
        let index = self.mips.table.slots.len() as u64;
        if (index + 1) * self.file.word() > ROOM {
            return None;
        }
        let slot = self.add_made_up(&name, start, index, value)?;
        self.mips.table.slots.insert(value, slot);
        Some(slot.offset.wrapping_sub(base))
    }
}
