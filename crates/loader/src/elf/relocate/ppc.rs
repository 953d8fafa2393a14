//! Relocations of PowerPC, 32 and 64 bits.

use super::bits::field;
use super::{Outcome, Site};
use crate::elf::Loader;
use object::elf as e;

/// What a half-word relocation takes of a value.
#[derive(Debug, Clone, Copy)]
enum Half {
    Low,
    High,
    /// Upper half, rounded for a signed lower one.
    Adjusted,
    Higher,
    HigherAdjusted,
    Highest,
    HighestAdjusted,
    /// Lower half without the two bits that select the instruction.
    Split,
}

/// Where the base of 16-bit table offsets lies after the table's start.
const TOC_BIAS: u64 = 0x8000;

pub(super) fn apply(loader: &mut Loader, site: &Site) -> Outcome {
    let wide = loader.file.header.is_64;
    if site.unresolved && site.kind != e::R_PPC_RELATIVE {
        return Outcome::Unsupported;
    }
    let addend = site.addend.unwrap_or(0) as u64;
    let value = site.symbol.wrapping_add(addend);
    let relative = value.wrapping_sub(site.place.offset);
    match site.kind {
        // Both widths number these alike.
        e::R_PPC_ADDR32 if wide => loader.patch(site, value, 4),
        e::R_PPC_ADDR32 | e::R_PPC_UADDR32 => loader.patch_pointer(site, value),
        e::R_PPC_GLOB_DAT => loader.patch_pointer(site, value),
        e::R_PPC_JMP_SLOT => loader.patch_pointer(site, value),
        e::R_PPC_RELATIVE => loader.patch_pointer(site, addend.wrapping_add(loader.delta)),
        e::R_PPC_REL32 => loader.patch(site, relative, 4),
        e::R_PPC64_ADDR64 | e::R_PPC64_UADDR64 if wide => loader.patch_pointer(site, value),
        e::R_PPC64_REL64 if wide => loader.patch(site, relative, 8),
        e::R_PPC64_TOC if wide => {
            let Some(got) = loader.got_base() else { return Outcome::Unsupported };
            loader.patch(site, got.wrapping_add(TOC_BIAS), 8)
        }
        e::R_PPC_IRELATIVE => loader.patch_pointer(site, addend.wrapping_add(loader.delta)),
        _ => instruction(loader, site, value, relative),
    }
}

fn instruction(loader: &mut Loader, site: &Site, value: u64, relative: u64) -> Outcome {
    if let Some((half, base)) = half(site.kind, loader.file.header.is_64) {
        let value = match base {
            Base::Nothing => value,
            Base::Place => relative,
            Base::Toc => {
                let Some(got) = loader.got_base() else { return Outcome::Unsupported };
                value.wrapping_sub(got.wrapping_add(TOC_BIAS))
            }
        };
        return half_word(loader, site, half, value);
    }
    let Some(old) = loader.read_value(site.place, 4).map(|w| w as u32) else {
        return Outcome::Unwritable;
    };
    let new = match site.kind {
        e::R_PPC_ADDR24 => field(old, value >> 2, 2, 24),
        e::R_PPC_REL24 | e::R_PPC_PLTREL24 | e::R_PPC_LOCAL24PC => field(old, relative >> 2, 2, 24),
        e::R_PPC_ADDR14 | e::R_PPC_ADDR14_BRTAKEN | e::R_PPC_ADDR14_BRNTAKEN => {
            field(old, value >> 2, 2, 14)
        }
        e::R_PPC_REL14 | e::R_PPC_REL14_BRTAKEN | e::R_PPC_REL14_BRNTAKEN => {
            field(old, relative >> 2, 2, 14)
        }
        _ => return Outcome::Unsupported,
    };
    loader.patch(site, u64::from(new), 4)
}

/// What a half-word value counts from.
#[derive(Debug, Clone, Copy)]
enum Base {
    Nothing,
    Place,
    Toc,
}

fn half(kind: u32, wide: bool) -> Option<(Half, Base)> {
    Some(match kind {
        e::R_PPC_ADDR16 | e::R_PPC_ADDR16_LO => (Half::Low, Base::Nothing),
        e::R_PPC_ADDR16_HI => (Half::High, Base::Nothing),
        e::R_PPC_ADDR16_HA => (Half::Adjusted, Base::Nothing),
        e::R_PPC_REL16 | e::R_PPC_REL16_LO => (Half::Low, Base::Place),
        e::R_PPC_REL16_HI => (Half::High, Base::Place),
        e::R_PPC_REL16_HA => (Half::Adjusted, Base::Place),
        _ if !wide => return None,
        e::R_PPC64_ADDR16_HIGHER => (Half::Higher, Base::Nothing),
        e::R_PPC64_ADDR16_HIGHERA => (Half::HigherAdjusted, Base::Nothing),
        e::R_PPC64_ADDR16_HIGHEST => (Half::Highest, Base::Nothing),
        e::R_PPC64_ADDR16_HIGHESTA => (Half::HighestAdjusted, Base::Nothing),
        e::R_PPC64_ADDR16_DS | e::R_PPC64_ADDR16_LO_DS => (Half::Split, Base::Nothing),
        e::R_PPC64_TOC16 | e::R_PPC64_TOC16_LO => (Half::Low, Base::Toc),
        e::R_PPC64_TOC16_HI => (Half::High, Base::Toc),
        e::R_PPC64_TOC16_HA => (Half::Adjusted, Base::Toc),
        e::R_PPC64_TOC16_DS | e::R_PPC64_TOC16_LO_DS => (Half::Split, Base::Toc),
        _ => return None,
    })
}

fn half_word(loader: &mut Loader, site: &Site, half: Half, value: u64) -> Outcome {
    let rounded = |at: u32| value.wrapping_add(0x8000) >> at;
    let part = match half {
        Half::Low => value,
        Half::High => value >> 16,
        Half::Adjusted => rounded(16),
        Half::Higher => value >> 32,
        Half::HigherAdjusted => rounded(32),
        Half::Highest => value >> 48,
        Half::HighestAdjusted => rounded(48),
        Half::Split => {
            let old = loader.read_value(site.place, 2).unwrap_or(0);
            (value & !3) | (old & 3)
        }
    };
    loader.patch(site, part, 2)
}
