//! Relocations of MIPS. Objects without addend fields store the upper half of
//! an address apart from the lower one: the upper waits for its partner.

use super::bits::{field, sign_extend};
use super::{Outcome, Site};
use crate::elf::Loader;
use object::elf as e;
use program::Address;

/// An upper half whose lower half has not come yet.
#[derive(Debug, Clone, Copy)]
pub(in crate::elf) struct Upper {
    place: Address,
    symbol: u64,
    old: u32,
}

/// Upper halves that may wait at the same time.
const WAITING: usize = 4096;

pub(super) fn apply(loader: &mut Loader, site: &Site) -> Outcome {
    // 64-bit objects chain up to three types; the first does the work.
    let kind = site.kind & 0xff;
    if site.unresolved && kind != e::R_MIPS_REL32 {
        return Outcome::Unsupported;
    }
    let word = loader.file.word() as u8;
    let stored = |size: u8| loader.read_value(site.place, u32::from(size)).unwrap_or(0);
    let addend = |size| site.addend.map_or_else(|| stored(size), |a| a as u64);
    match kind {
        e::R_MIPS_REL32 => {
            let base = if site.unresolved || site.symbol == 0 { loader.delta } else { site.symbol };
            loader.patch_pointer(site, addend(word).wrapping_add(base))
        }
        e::R_MIPS_32 => {
            let value = site.symbol.wrapping_add(addend(4));
            loader.patch(site, value, 4)
        }
        e::R_MIPS_64 => {
            let value = site.symbol.wrapping_add(addend(8));
            loader.patch(site, value, 8)
        }
        e::R_MIPS_JUMP_SLOT | e::R_MIPS_GLOB_DAT => loader.patch_pointer(site, site.symbol),
        e::R_MIPS_JALR => Outcome::Applied(0),
        _ => instruction(loader, site, kind),
    }
}

fn instruction(loader: &mut Loader, site: &Site, kind: u32) -> Outcome {
    let Some(old) = loader.read_value(site.place, 4).map(|w| w as u32) else {
        return Outcome::Unwritable;
    };
    let place = site.place.offset;
    let low = site.addend.unwrap_or_else(|| sign_extend(u64::from(old & 0xffff), 16)) as u64;
    let new = match kind {
        e::R_MIPS_26 => {
            let stored = u64::from(old & 0x3ff_ffff) << 2;
            let addend = site.addend.map_or(stored, |a| a as u64);
            field(old, site.symbol.wrapping_add(addend) >> 2, 0, 26)
        }
        e::R_MIPS_HI16 => match site.addend {
            Some(_) => {
                let value = site.symbol.wrapping_add(low);
                field(old, value.wrapping_add(0x8000) >> 16, 0, 16)
            }
            None => {
                if loader.upper_halves.len() < WAITING {
                    let upper = Upper { place: site.place, symbol: site.symbol, old };
                    loader.upper_halves.push(upper);
                }
                return Outcome::Applied(4);
            }
        },
        e::R_MIPS_LO16 => {
            if site.addend.is_none() {
                join(loader, site.symbol, low);
            }
            field(old, site.symbol.wrapping_add(low), 0, 16)
        }
        e::R_MIPS_PC16 => {
            let stored = sign_extend(u64::from(old & 0xffff), 16) << 2;
            let addend = site.addend.unwrap_or(stored) as u64;
            field(old, site.symbol.wrapping_add(addend).wrapping_sub(place) >> 2, 0, 16)
        }
        _ => return Outcome::Unsupported,
    };
    loader.patch(site, u64::from(new), 4)
}

/// Fills the upper halves that waited for this lower one.
fn join(loader: &mut Loader, symbol: u64, low: u64) {
    let waiting = std::mem::take(&mut loader.upper_halves);
    for upper in waiting {
        if upper.symbol != symbol {
            loader.upper_halves.push(upper);
            continue;
        }
        let whole = (u64::from(upper.old & 0xffff) << 16).wrapping_add(low).wrapping_add(symbol);
        let new = field(upper.old, whole.wrapping_add(0x8000) >> 16, 0, 16);
        loader.write_value(upper.place, u64::from(new), 4);
    }
}
