//! Relocations of x86-32.

use super::{Outcome, Site};
use crate::elf::Loader;
use object::elf as e;

pub(super) fn apply(loader: &mut Loader, site: &Site) -> Outcome {
    if site.unresolved && site.kind != e::R_386_RELATIVE {
        return Outcome::Unsupported;
    }
    let stored = |size| loader.read_value(site.place, size).unwrap_or(0);
    let addend = |size| site.addend.map_or_else(|| stored(size), |a| a as u64);
    let value = site.symbol.wrapping_add(addend(4));
    let place = site.place.offset;
    match site.kind {
        e::R_386_32 => loader.patch_pointer(site, value),
        e::R_386_GLOB_DAT | e::R_386_JMP_SLOT => loader.patch_pointer(site, site.symbol),
        e::R_386_PC32 | e::R_386_PLT32 => loader.patch(site, value.wrapping_sub(place), 4),
        e::R_386_RELATIVE | e::R_386_IRELATIVE => {
            let value = addend(4).wrapping_add(loader.delta);
            loader.patch_pointer(site, value)
        }
        e::R_386_16 => loader.patch(site, site.symbol.wrapping_add(addend(2)), 2),
        e::R_386_PC16 => {
            loader.patch(site, site.symbol.wrapping_add(addend(2)).wrapping_sub(place), 2)
        }
        e::R_386_8 => loader.patch(site, site.symbol.wrapping_add(addend(1)), 1),
        e::R_386_PC8 => {
            loader.patch(site, site.symbol.wrapping_add(addend(1)).wrapping_sub(place), 1)
        }
        e::R_386_GOTOFF | e::R_386_GOTPC => {
            let addend = addend(4);
            let Some(got) = loader.got_base() else { return Outcome::Unsupported };
            let value = match site.kind {
                e::R_386_GOTOFF => value.wrapping_sub(got),
                _ => got.wrapping_add(addend).wrapping_sub(place),
            };
            loader.patch(site, value, 4)
        }
        e::R_386_GOT32 | e::R_386_GOT32X => {
            let addend = addend(4);
            let (Some(slot), Some(got)) = (loader.got_slot(site), loader.got_base()) else {
                return Outcome::Unsupported;
            };
            loader.patch(site, slot.offset.wrapping_add(addend).wrapping_sub(got), 4)
        }
        _ => Outcome::Unsupported,
    }
}
