//! Functions of other files whose symbols do not say that they are functions.
//! Object files never do, and neither do weak symbols that nobody defined: how
//! they are used tells.

use super::Loader;
use super::file::{ElfSymbol, RelocTable};
use object::elf as e;
use program::Address;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What `_init` calls, ahead of all other code.
const CALLED_FIRST: &str = "__gmon_start__";

/// Whether a relocation of this type fills in a call or a call's slot.
fn is_call(machine: u16, kind: u32) -> bool {
    match machine {
        e::EM_X86_64 => matches!(kind, e::R_X86_64_PLT32 | e::R_X86_64_JUMP_SLOT),
        e::EM_386 => matches!(kind, e::R_386_PLT32 | e::R_386_JMP_SLOT),
        e::EM_AARCH64 => {
            matches!(kind, e::R_AARCH64_CALL26 | e::R_AARCH64_JUMP26 | e::R_AARCH64_JUMP_SLOT)
        }
        e::EM_ARM => matches!(
            kind,
            e::R_ARM_CALL
                | e::R_ARM_JUMP24
                | e::R_ARM_PLT32
                | e::R_ARM_THM_PC22
                | e::R_ARM_THM_JUMP24
                | e::R_ARM_JUMP_SLOT
        ),
        e::EM_MIPS => matches!(kind, e::R_MIPS_26 | e::R_MIPS_CALL16 | e::R_MIPS_JUMP_SLOT),
        e::EM_RISCV => matches!(
            kind,
            e::R_RISCV_CALL | e::R_RISCV_CALL_PLT | e::R_RISCV_JAL | e::R_RISCV_JUMP_SLOT
        ),
        e::EM_PPC | e::EM_PPC64 => {
            matches!(kind, e::R_PPC_REL24 | e::R_PPC_PLTREL24 | e::R_PPC_JMP_SLOT)
        }
        _ => false,
    }
}

impl Loader {
    /// Makes functions of untyped external symbols that are called, then of
    /// the weak dynamic ones: those stand for optional functions.
    pub(super) fn link_untyped(&mut self) {
        let file = Arc::clone(&self.file);
        let machine = file.header.machine;
        let mut called: BTreeSet<(usize, usize)> = BTreeSet::new();
        for table in &file.reloc_tables {
            let Some(symbols) = table.symbols else { continue };
            called.extend(calls(machine, table).map(|symbol| (symbols, symbol)));
        }
        for (table, index) in called {
            if let Some((name, place)) = self.untyped(table, index) {
                self.link_function(&name, place);
            }
        }
        let Some(dynamic) = file.symbol_tables.iter().position(|t| t.dynamic) else { return };
        let symbols = file.symbol_tables.get(dynamic).map_or(&[][..], |t| &t.symbols);
        let weak = symbols.iter().enumerate().filter(|(_, s)| s.binding == e::STB_WEAK);
        let mut optional: Vec<_> =
            weak.filter_map(|(index, _)| self.untyped(dynamic, index)).collect();
        // On 32-bit x86 Ghidra meets them one function after the other, that of `_init` first; elsewhere
        // all at once.
        let first = |name: &str| machine == e::EM_386 && name == CALLED_FIRST;
        optional.sort_by(|a, b| (!first(&a.0), a).cmp(&(!first(&b.0), b)));
        for (name, place) in optional {
            self.link_function(&name, place);
        }
    }

    /// Name and place of an external symbol without a type.
    fn untyped(&self, table: usize, index: usize) -> Option<(Arc<str>, Address)> {
        let symbol: &ElfSymbol = self.file.symbol_tables.get(table)?.symbols.get(index)?;
        let place = self.symbol_places.get(table)?.get(index).copied().flatten()?;
        let untyped = symbol.kind == e::STT_NOTYPE && symbol.is_external();
        (untyped && self.is_external_place(place)).then(|| (Arc::clone(&symbol.name), place))
    }
}

fn calls(machine: u16, table: &RelocTable) -> impl Iterator<Item = usize> {
    table.relocs.iter().filter(move |r| is_call(machine, r.kind)).map(|r| r.symbol as usize)
}
