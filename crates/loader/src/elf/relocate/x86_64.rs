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
        e::R_X86_64_GOTPCREL | e::R_X86_64_GOTPCRELX | e::R_X86_64_REX_GOTPCRELX => {
            let Some(slot) = loader.got_slot(site) else { return Outcome::Unsupported };
            let value = slot.offset.wrapping_add(addend).wrapping_sub(site.place.offset);
            loader.patch(site, value, 4)
        }
        e::R_X86_64_COPY => Outcome::Unsupported,
        _ => Outcome::Unsupported,
    }
}
