//! Relocations of x86-64.

use super::{Outcome, Site};
use crate::elf::Loader;
use object::elf as e;

pub(super) fn apply(loader: &mut Loader, site: &Site) -> Outcome {
    let addend = site.addend.unwrap_or(0) as u64;
    let value = site.symbol.wrapping_add(addend);
    let relative = value.wrapping_sub(site.place.offset);
    let needs_symbol = !matches!(
        site.kind,
        e::R_X86_64_RELATIVE | e::R_X86_64_RELATIVE64 | e::R_X86_64_IRELATIVE | e::R_X86_64_COPY
    );
    if site.unresolved && needs_symbol {
        return Outcome::Unsupported;
    }
    match site.kind {
        e::R_X86_64_64 => loader.patch_pointer(site, value),
        e::R_X86_64_GLOB_DAT | e::R_X86_64_JUMP_SLOT => loader.patch_pointer(site, site.symbol),
        e::R_X86_64_32 | e::R_X86_64_32S => loader.patch(site, value, 4),
        e::R_X86_64_16 => loader.patch(site, value, 2),
        e::R_X86_64_8 => loader.patch(site, value, 1),
        e::R_X86_64_PC64 => loader.patch(site, relative, 8),
        e::R_X86_64_PC32 | e::R_X86_64_PLT32 => loader.patch(site, relative, 4),
        e::R_X86_64_PC16 => loader.patch(site, relative, 2),
        e::R_X86_64_PC8 => loader.patch(site, relative, 1),
        e::R_X86_64_RELATIVE | e::R_X86_64_RELATIVE64 | e::R_X86_64_IRELATIVE => {
            let stored = || loader.read_value(site.place, 8).unwrap_or(0);
            let own = site.addend.map_or_else(stored, |a| a as u64);
            loader.patch_pointer(site, own.wrapping_add(loader.delta))
        }
        e::R_X86_64_GOTPCRELX | e::R_X86_64_REX_GOTPCRELX => match direct(loader, site, relative) {
            Some(outcome) => outcome,
            None => through_table(loader, site, 4),
        },
        e::R_X86_64_GOTPCREL => through_table(loader, site, 4),
        e::R_X86_64_GOTPCREL64 => through_table(loader, site, 8),
        e::R_X86_64_SIZE32 => loader.patch(site, site.size.wrapping_add(addend), 4),
        e::R_X86_64_SIZE64 => loader.patch(site, site.size.wrapping_add(addend), 8),
        e::R_X86_64_GOTPC32
        | e::R_X86_64_GOTPC64
        | e::R_X86_64_GOTOFF64
        | e::R_X86_64_PLTOFF64
        | e::R_X86_64_GOT64 => by_table(loader, site, addend),
        _ => Outcome::Unsupported,
    }
}

/// A distance to the table's pointer to the symbol.
fn through_table(loader: &mut Loader, site: &Site, size: u8) -> Outcome {
    let Some(slot) = loader.got_slot(site) else { return Outcome::Unsupported };
    let value = slot.offset.wrapping_add(site.addend.unwrap_or(0) as u64);
    loader.patch(site, value.wrapping_sub(site.place.offset), size)
}

/// Distances to the table and from it.
fn by_table(loader: &mut Loader, site: &Site, addend: u64) -> Outcome {
    let Some(table) = loader.got_base() else { return Outcome::Unsupported };
    let value = match site.kind {
        e::R_X86_64_GOTPC32 | e::R_X86_64_GOTPC64 => table.wrapping_sub(site.place.offset),
        e::R_X86_64_GOT64 => {
            let Some(slot) = loader.got_slot(site) else { return Outcome::Unsupported };
            slot.offset.wrapping_sub(table)
        }
        _ => site.symbol.wrapping_sub(table),
    };
    let size = if site.kind == e::R_X86_64_GOTPC32 { 4 } else { 8 };
    loader.patch(site, value.wrapping_add(addend), size)
}

/// Turns an instruction that goes over the table into one that does without, as linkers do: a load
/// of the pointer becomes the address itself, a call or jump a direct one. Functions that are
/// chosen at run time stay behind their pointer.
fn direct(loader: &mut Loader, site: &Site, relative: u64) -> Option<Outcome> {
    const LOAD: u8 = 0x8b;
    const INDIRECT: u8 = 0xff;
    if site.symbol_kind > e::STT_COMMON {
        return None;
    }
    let start = site.place.checked_sub(2)?;
    let [operation, operand] = loader.program.memory.read_array::<2>(start)?;
    let (code, at, value) = match (operation, operand) {
        (LOAD, _) => ([0x8d, operand], site.place, relative),
        // One byte shorter: what is left of the instruction does nothing.
        (INDIRECT, 0x25) => ([0xe9, operand], site.place.checked_sub(1)?, relative.wrapping_add(1)),
        (INDIRECT, 0x15) => ([0x67, 0xe8], site.place, relative),
        _ => return None,
    };
    let memory = &mut loader.program.memory;
    let mut written = memory.write(start, &code).is_ok();
    if operation == INDIRECT && operand == 0x25 {
        written &= memory.write(site.place.checked_add(3)?, &[0x90]).is_ok();
    }
    written &= memory.write(at, &(value as u32).to_le_bytes()).is_ok();
    if !written {
        return Some(Outcome::Unwritable);
    }
    loader.note_change(start, 2);
    Some(Outcome::Applied(4))
}
