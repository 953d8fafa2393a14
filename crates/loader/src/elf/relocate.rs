//! Applies relocations: reads tables, finds places and symbols, and lets the
//! machine's own rules say what to write.

mod aarch64;
mod arm;
mod further;
pub(super) mod mips;
mod ppc;
mod riscv;
mod x86;
mod x86_64;

use super::file::{ElfSymbol, Reloc, RelocForm, RelocTable};
use super::{Loader, powerpc};
use program::{Address, Relocation, SpaceId};
use std::sync::Arc;

/// What became of a relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// So many bytes were written.
    Applied(u8),
    /// Not known how, or not possible.
    Unsupported,
    /// The bytes cannot be written.
    Unwritable,
}

/// A relocation with everything looked up.
pub(super) struct Site {
    pub(super) kind: u32,
    pub(super) place: Address,
    /// The addend of the table, if it has one.
    pub(super) addend: Option<i64>,
    /// The symbol's number in its table.
    pub(super) index: u32,
    /// Address of the symbol; zero without one.
    pub(super) symbol: u64,
    /// Bytes of what the symbol names.
    pub(super) size: u64,
    /// What the symbol names, as its table has it.
    pub(super) symbol_kind: u8,
    /// Whether no other file sees the symbol, or there is none.
    pub(super) local: bool,
    /// Whether the next relocation is of the same place and goes on from this one's value.
    pub(super) chained: bool,
    /// Whether a symbol is named but has no place.
    pub(super) unresolved: bool,
    /// Whether the symbol is code of the mode that odd addresses select.
    pub(super) odd: bool,
    /// Whether the symbol is one of the EXTERNAL block's.
    pub(super) external: bool,
    pub(super) name: Arc<str>,
}

impl Loader {
    pub(super) fn relocate(&mut self) {
        let file = Arc::clone(&self.file);
        // Calls need what relocations make of the descriptors of functions.
        let describes = |table: &&RelocTable| {
            let target = table.target.and_then(|target| file.sections.get(target));
            target.is_some_and(|section| &*section.name == powerpc::DESCRIPTORS)
        };
        for index in 0..file.reloc_tables.len() {
            self.mark_reloc_table(index);
        }
        let tables = || file.reloc_tables.iter();
        let ordered = tables().filter(describes).chain(tables().filter(|t| !describes(t)));
        for table in ordered {
            self.relocate_table(table);
        }
    }

    fn mark_reloc_table(&mut self, index: usize) {
        let file = Arc::clone(&self.file);
        let Some(table) = file.reloc_tables.get(index) else { return };
        let place = match table.section {
            Some(section) => self.section_place(section, 0),
            None => self.file_place(table.offset, 1),
        };
        let Some(place) = place else { return };
        match table.form {
            RelocForm::Relr => {
                let word =
                    self.program.types.builtin(if file.header.is_64 { "qword" } else { "dword" });
                let section = table.section.and_then(|s| file.sections.get(s));
                let count = section.map_or(0, |s| s.size / file.word());
                self.define_array(place, word, count);
            }
            form => {
                let element = self.reloc_type(form == RelocForm::Rela);
                self.define_array(place, element, table.relocs.len() as u64);
            }
        }
    }

    /// The address that a table's offsets count from.
    fn table_base(&self, table: &RelocTable) -> Option<Address> {
        let default = Address::ram(self.delta & self.mask);
        let Some(target) = table.target else { return Some(default) };
        let section = self.section_place(target, 0)?;
        if self.file.is_relocatable() {
            return Some(section);
        }
        if section.space == SpaceId::RAM {
            return Some(default);
        }
        Some(Address::new(section.space, 0))
    }

    fn relocate_table(&mut self, table: &RelocTable) {
        if table.relocs.is_empty() {
            return;
        }
        let Some(base) = self.table_base(table) else {
            self.warn("a relocation table patches a section that is not in memory");
            return;
        };
        let file = Arc::clone(&self.file);
        let symbols = table.symbols.and_then(|t| file.symbol_tables.get(t));
        let symbols: &[ElfSymbol] = symbols.map_or(&[], |t| &t.symbols);
        let relative = relative_kind(file.header.machine);
        let target = table.target.and_then(|target| file.sections.get(target));
        self.mips.table.begin(target.map_or(&Arc::from(""), |section| &section.name));
        for (number, reloc) in table.relocs.iter().enumerate() {
            let mut reloc = *reloc;
            if table.form == RelocForm::Relr {
                reloc.kind = relative;
            }
            if reloc.kind == 0 {
                continue;
            }
            let next = table.relocs.get(number + 1);
            let mut site = self.site(&reloc, table, symbols, base);
            site.chained = next.is_some_and(|n| n.offset == reloc.offset && n.kind != 0);
            let outcome = self.apply(&site);
            self.record(&site, outcome);
        }
        self.end_mips_table();
    }

    fn site(
        &self,
        reloc: &Reloc,
        table: &RelocTable,
        symbols: &[ElfSymbol],
        base: Address,
    ) -> Site {
        let offset = base.offset.wrapping_add(reloc.offset);
        let masked = if base.space == SpaceId::RAM { offset & self.mask } else { offset };
        let index = reloc.symbol as usize;
        let target = table
            .symbols
            .and_then(|t| self.symbol_places.get(t))
            .and_then(|places| places.get(index).copied().flatten());
        let symbol = symbols.get(index);
        Site {
            kind: reloc.kind,
            place: Address::new(base.space, masked),
            addend: reloc.addend,
            index: reloc.symbol,
            symbol: target.map_or(0, |t| t.offset),
            size: symbol.map_or(0, |s| s.size),
            symbol_kind: symbol.map_or(0, |s| s.kind),
            local: symbol.is_none_or(|s| s.binding == object::elf::STB_LOCAL),
            chained: false,
            unresolved: index != 0 && target.is_none(),
            odd: symbol.is_some_and(|s| s.is_function() && s.value & 1 != 0),
            external: target.is_some_and(|t| self.is_external_place(t)),
            name: symbol.map_or_else(|| Arc::from(""), |s| Arc::clone(&s.name)),
        }
    }

    fn apply(&mut self, site: &Site) -> Outcome {
        let Some(block) = self.program.memory.block_at(site.place) else {
            return Outcome::Unwritable;
        };
        let start = block.start;
        if !block.is_initialized() {
            self.program.memory.edit_block(start, |b| b.initialize());
        }
        match self.file.header.machine {
            object::elf::EM_X86_64 => x86_64::apply(self, site),
            object::elf::EM_386 | object::elf::EM_IAMCU => x86::apply(self, site),
            object::elf::EM_AARCH64 => aarch64::apply(self, site),
            object::elf::EM_ARM => arm::apply(self, site),
            object::elf::EM_MIPS | object::elf::EM_MIPS_RS3_LE => mips::apply(self, site),
            object::elf::EM_RISCV => riscv::apply(self, site),
            object::elf::EM_PPC | object::elf::EM_PPC64 => ppc::apply(self, site),
            _ => further::apply(self, site),
        }
    }

    fn record(&mut self, site: &Site, outcome: Outcome) {
        let length = match outcome {
            Outcome::Applied(length) => length,
            Outcome::Unsupported | Outcome::Unwritable => 0,
        };
        self.relocations.push(Relocation {
            address: site.place,
            kind: site.kind,
            symbol: Arc::clone(&site.name),
            length,
            applied: matches!(outcome, Outcome::Applied(_)),
        });
    }

    /// Notes bytes that no relocation of the file is about, and that were changed all the same.
    pub(super) fn note_change(&mut self, address: Address, length: u8) {
        let symbol = "".into();
        self.relocations.push(Relocation { address, kind: 0, symbol, length, applied: true });
    }

    /// Writes a number of `size` bytes in the file's byte order.
    pub(super) fn write_value(&mut self, place: Address, value: u64, size: usize) -> bool {
        let big = self.file.header.big_endian;
        let little = value.to_le_bytes();
        let Some(bytes) = little.get(..size) else { return false };
        let mut bytes = bytes.to_vec();
        if big {
            bytes.reverse();
        }
        self.program.memory.write(place, &bytes).is_ok()
    }

    /// Reads a number of `size` bytes in the file's byte order.
    pub(super) fn read_value(&self, place: Address, size: u32) -> Option<u64> {
        let value = self.program.memory.read_uint(place, size)?;
        let same = self.program.memory.big_endian() == self.file.header.big_endian;
        if same { Some(value) } else { Some(value.swap_bytes() >> (64 - 8 * size)) }
    }

    /// Writes a value and says so.
    pub(super) fn patch(&mut self, site: &Site, value: u64, size: u8) -> Outcome {
        if self.write_value(site.place, value, usize::from(size)) {
            Outcome::Applied(size)
        } else {
            Outcome::Unwritable
        }
    }

    /// Writes a pointer. What it points at shows its type to the analysis; only
    /// one to a place behind an external symbol is marked at once.
    pub(super) fn patch_pointer(&mut self, site: &Site, value: u64) -> Outcome {
        let outcome = self.patch(site, value, self.file.word() as u8);
        let symbol = Address::ram(site.symbol);
        let external = self.program.memory.block_at(symbol);
        let external = external.is_some_and(|b| b.permissions.artificial);
        if matches!(outcome, Outcome::Applied(_)) && external && value != site.symbol {
            self.mark_offset_pointer(site.place, symbol, value.wrapping_sub(site.symbol) as i64);
        }
        outcome
    }
}

/// The machine's number for a word that only moves with the image.
fn relative_kind(machine: u16) -> u32 {
    use object::elf as e;
    match machine {
        e::EM_X86_64 => e::R_X86_64_RELATIVE,
        e::EM_386 => e::R_386_RELATIVE,
        e::EM_AARCH64 => e::R_AARCH64_RELATIVE,
        e::EM_ARM => e::R_ARM_RELATIVE,
        e::EM_RISCV => e::R_RISCV_RELATIVE,
        e::EM_PPC => e::R_PPC_RELATIVE,
        e::EM_PPC64 => e::R_PPC64_RELATIVE,
        _ => 0,
    }
}
