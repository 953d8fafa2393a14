//! Relocations of AArch64: instruction fields besides plain words.

use super::{Outcome, Site};
use crate::elf::Loader;
use crate::fields::{field, with_branch, with_low, with_page, with_relative};
use object::elf as e;

const R_AARCH64_PLT32: u32 = 314;

pub(super) fn apply(loader: &mut Loader, site: &Site) -> Outcome {
    let addend = site.addend.unwrap_or(0) as u64;
    let value = site.symbol.wrapping_add(addend);
    let relative = value.wrapping_sub(site.place.offset);
    if site.unresolved && site.kind != e::R_AARCH64_RELATIVE {
        return Outcome::Unsupported;
    }
    match site.kind {
        e::R_AARCH64_ABS64 => loader.patch_pointer(site, value),
        e::R_AARCH64_GLOB_DAT | e::R_AARCH64_JUMP_SLOT => loader.patch_pointer(site, value),
        e::R_AARCH64_RELATIVE | e::R_AARCH64_IRELATIVE => {
            let stored = || loader.read_value(site.place, 8).unwrap_or(0);
            let own = site.addend.map_or_else(stored, |a| a as u64);
            loader.patch_pointer(site, own.wrapping_add(loader.delta))
        }
        e::R_AARCH64_ABS32 => loader.patch(site, value, 4),
        e::R_AARCH64_ABS16 => loader.patch(site, value, 2),
        e::R_AARCH64_PREL64 => loader.patch(site, relative, 8),
        e::R_AARCH64_PREL32 | R_AARCH64_PLT32 => loader.patch(site, relative, 4),
        e::R_AARCH64_PREL16 => loader.patch(site, relative, 2),
        _ => instruction(loader, site, value, relative),
    }
}

/// Relocations that fill a field of an instruction.
fn instruction(loader: &mut Loader, site: &Site, value: u64, relative: u64) -> Outcome {
    // Code is little-endian whatever the data is.
    let Some(bytes) = loader.program.memory.read_array::<4>(site.place) else {
        return Outcome::Unwritable;
    };
    let old = u32::from_le_bytes(bytes);
    let place = site.place.offset;
    let new = match site.kind {
        e::R_AARCH64_ADR_PREL_PG_HI21 | e::R_AARCH64_ADR_PREL_PG_HI21_NC => {
            with_page(old, place, value)
        }
        e::R_AARCH64_ADR_PREL_LO21 => with_relative(old, relative),
        e::R_AARCH64_ADR_GOT_PAGE => {
            let Some(slot) = loader.got_slot(site) else { return Outcome::Unsupported };
            with_page(old, place, slot.offset)
        }
        e::R_AARCH64_LD64_GOT_LO12_NC => {
            let Some(slot) = loader.got_slot(site) else { return Outcome::Unsupported };
            with_low(old, slot.offset, 3)
        }
        e::R_AARCH64_ADD_ABS_LO12_NC | e::R_AARCH64_LDST8_ABS_LO12_NC => with_low(old, value, 0),
        e::R_AARCH64_LDST16_ABS_LO12_NC => with_low(old, value, 1),
        e::R_AARCH64_LDST32_ABS_LO12_NC => with_low(old, value, 2),
        e::R_AARCH64_LDST64_ABS_LO12_NC => with_low(old, value, 3),
        e::R_AARCH64_LDST128_ABS_LO12_NC => with_low(old, value, 4),
        e::R_AARCH64_LD_PREL_LO19 | e::R_AARCH64_CONDBR19 => field(old, relative >> 2, 5, 19),
        e::R_AARCH64_TSTBR14 => field(old, relative >> 2, 5, 14),
        e::R_AARCH64_CALL26 | e::R_AARCH64_JUMP26 => with_branch(old, relative),
        e::R_AARCH64_MOVW_UABS_G0 | e::R_AARCH64_MOVW_UABS_G0_NC => field(old, value, 5, 16),
        e::R_AARCH64_MOVW_UABS_G1 | e::R_AARCH64_MOVW_UABS_G1_NC => field(old, value >> 16, 5, 16),
        e::R_AARCH64_MOVW_UABS_G2 | e::R_AARCH64_MOVW_UABS_G2_NC => field(old, value >> 32, 5, 16),
        e::R_AARCH64_MOVW_UABS_G3 => field(old, value >> 48, 5, 16),
        _ => return Outcome::Unsupported,
    };
    match loader.program.memory.write(site.place, &new.to_le_bytes()) {
        Ok(()) => Outcome::Applied(4),
        Err(_) => Outcome::Unwritable,
    }
}
