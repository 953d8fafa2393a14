//! Relocations of 32-bit ARM, in both instruction sets.

use super::{Outcome, Site};
use crate::elf::Loader;
use crate::fields::{
    branch_offset, field, half_word, sign_extend, with_half_word, with_thumb_branch,
};
use object::elf as e;

pub(super) fn apply(loader: &mut Loader, site: &Site) -> Outcome {
    if site.unresolved && site.kind != e::R_ARM_RELATIVE {
        return Outcome::Unsupported;
    }
    let word = || {
        let stored = loader.read_value(site.place, 4).unwrap_or(0);
        site.addend.map_or(stored, |a| a as u64)
    };
    let thumb = u64::from(site.odd);
    let place = site.place.offset;
    match site.kind {
        e::R_ARM_ABS32 | e::R_ARM_TARGET1 => {
            let value = site.symbol.wrapping_add(word()) | thumb;
            loader.patch_pointer(site, value)
        }
        e::R_ARM_GLOB_DAT | e::R_ARM_JUMP_SLOT => loader.patch_pointer(site, site.symbol | thumb),
        e::R_ARM_RELATIVE | e::R_ARM_IRELATIVE => {
            let value = word().wrapping_add(loader.delta);
            loader.patch_pointer(site, value)
        }
        e::R_ARM_REL32 | e::R_ARM_TARGET2 => {
            let value = (site.symbol.wrapping_add(word()) | thumb).wrapping_sub(place);
            loader.patch(site, value, 4)
        }
        e::R_ARM_ABS16 => loader.patch(site, site.symbol.wrapping_add(word()), 2),
        e::R_ARM_ABS8 => loader.patch(site, site.symbol.wrapping_add(word()), 1),
        e::R_ARM_PREL31 => {
            let old = loader.read_value(site.place, 4).unwrap_or(0) as u32;
            let addend = site.addend.unwrap_or_else(|| sign_extend(u64::from(old), 31)) as u64;
            let value = (site.symbol.wrapping_add(addend) | thumb).wrapping_sub(place);
            loader.patch(site, u64::from(field(old, value, 0, 31)), 4)
        }
        e::R_ARM_V4BX => Outcome::Applied(0),
        e::R_ARM_THM_PC22
        | e::R_ARM_THM_JUMP24
        | e::R_ARM_THM_MOVW_ABS_NC
        | e::R_ARM_THM_MOVT_ABS
        | e::R_ARM_THM_MOVW_PREL_NC
        | e::R_ARM_THM_MOVT_PREL => thumb_instruction(loader, site),
        _ => arm_instruction(loader, site),
    }
}

/// Whether code is stored least significant byte first.
fn code_is_little(loader: &Loader) -> bool {
    !loader.file.header.big_endian || loader.file.header.flags & e::EF_ARM_BE8 != 0
}

fn arm_instruction(loader: &mut Loader, site: &Site) -> Outcome {
    let Some(bytes) = loader.program.memory.read_array::<4>(site.place) else {
        return Outcome::Unwritable;
    };
    let little = code_is_little(loader);
    let old = if little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) };
    let wide = u64::from(old);
    let thumb = u64::from(site.odd);
    let place = site.place.offset;
    let half = || {
        let stored = sign_extend((wide >> 4 & 0xf000) | (wide & 0xfff), 16);
        (site.symbol.wrapping_add(site.addend.unwrap_or(stored) as u64)) | thumb
    };
    let move_half = |value: u64| field(field(old, value, 0, 12), value >> 12, 16, 4);
    let new = match site.kind {
        e::R_ARM_PC24 | e::R_ARM_CALL | e::R_ARM_JUMP24 | e::R_ARM_PLT32 => {
            let stored = sign_extend(wide & 0xff_ffff, 24) << 2;
            let addend = site.addend.unwrap_or(stored) as u64;
            let value = site.symbol.wrapping_add(addend).wrapping_sub(place);
            let branch = field(old, value >> 2, 0, 24);
            // A call into Thumb code changes the mode: `blx` with half steps.
            let calls = site.kind != e::R_ARM_JUMP24 && old >> 28 == 0xe && old >> 24 & 1 != 0;
            if site.odd && calls {
                (branch & 0x00ff_ffff) | 0xfa00_0000 | ((value as u32 >> 1 & 1) << 24)
            } else {
                branch
            }
        }
        e::R_ARM_MOVW_ABS_NC => move_half(half()),
        e::R_ARM_MOVT_ABS => move_half(half() >> 16),
        e::R_ARM_MOVW_PREL_NC => move_half(half().wrapping_sub(place)),
        e::R_ARM_MOVT_PREL => move_half(half().wrapping_sub(place) >> 16),
        _ => return Outcome::Unsupported,
    };
    let bytes = if little { new.to_le_bytes() } else { new.to_be_bytes() };
    match loader.program.memory.write(site.place, &bytes) {
        Ok(()) => Outcome::Applied(4),
        Err(_) => Outcome::Unwritable,
    }
}

/// Thumb instructions of four bytes are two halves, the first the higher.
fn thumb_instruction(loader: &mut Loader, site: &Site) -> Outcome {
    let Some([a, b, c, d]) = loader.program.memory.read_array::<4>(site.place) else {
        return Outcome::Unwritable;
    };
    let little = code_is_little(loader);
    let half = |x, y| if little { u16::from_le_bytes([x, y]) } else { u16::from_be_bytes([x, y]) };
    let old = u32::from(half(a, b)) << 16 | u32::from(half(c, d));
    let thumb = u64::from(site.odd);
    let place = site.place.offset;
    let new = match site.kind {
        e::R_ARM_THM_PC22 | e::R_ARM_THM_JUMP24 => {
            let addend = site.addend.unwrap_or_else(|| branch_offset(old)) as u64;
            let value = site.symbol.wrapping_add(addend).wrapping_sub(place);
            let to_arm = !site.odd && site.kind == e::R_ARM_THM_PC22 && !site.external;
            if to_arm {
                with_thumb_branch(old, value.wrapping_add(2) & !3) & !0x1000
            } else {
                with_thumb_branch(old, value) | 0x1000
            }
        }
        _ => {
            let addend = site.addend.unwrap_or_else(|| sign_extend(half_word(old), 16)) as u64;
            let value = site.symbol.wrapping_add(addend) | thumb;
            let value = match site.kind {
                e::R_ARM_THM_MOVW_ABS_NC => value,
                e::R_ARM_THM_MOVT_ABS => value >> 16,
                e::R_ARM_THM_MOVW_PREL_NC => value.wrapping_sub(place),
                _ => value.wrapping_sub(place) >> 16,
            };
            with_half_word(old, value)
        }
    };
    let parts = [(new >> 16) as u16, new as u16];
    let mut bytes = Vec::with_capacity(4);
    for part in parts {
        bytes.extend(if little { part.to_le_bytes() } else { part.to_be_bytes() });
    }
    match loader.program.memory.write(site.place, &bytes) {
        Ok(()) => Outcome::Applied(4),
        Err(_) => Outcome::Unwritable,
    }
}
