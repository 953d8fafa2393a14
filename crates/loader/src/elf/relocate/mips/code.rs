//! Instructions of MIPS in its three encodings: plain words, and those of the compact kinds, whose
//! words are two halves of which the first is the higher.

use crate::elf::Loader;
use object::elf as e;
use program::Address;

/// How a word of code stands in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Encoding {
    Plain,
    Micro,
    /// Extended instructions of MIPS16, whose immediate is in pieces.
    Sixteen,
    /// Calls of MIPS16, whose target is in pieces.
    SixteenCall,
    /// One half only.
    Half,
}

/// First and last types of the compact encodings.
const SIXTEEN: std::ops::RangeInclusive<u32> = 100..=113;
const MICRO: std::ops::RangeInclusive<u32> = 130..=174;
/// Types that the plain encoding has no like of; their numbers serve for themselves.
pub(super) const MICRO_JUMP: u32 = 133;
pub(super) const MICRO_BRANCH_7: u32 = 139;
pub(super) const MICRO_BRANCH_10: u32 = 140;
pub(super) const MICRO_BRANCH_16: u32 = 141;
pub(super) const MICRO_LOAD_7: u32 = 172;

/// A type in the words of plain code, and its encoding.
pub(super) fn plain(kind: u32) -> (u32, Encoding) {
    if SIXTEEN.contains(&kind) {
        return match kind {
            100 => (e::R_MIPS_26, Encoding::SixteenCall),
            101 => (e::R_MIPS_GPREL16, Encoding::Sixteen),
            102 => (e::R_MIPS_GOT16, Encoding::Sixteen),
            103 => (e::R_MIPS_CALL16, Encoding::Sixteen),
            104 => (e::R_MIPS_HI16, Encoding::Sixteen),
            105 => (e::R_MIPS_LO16, Encoding::Sixteen),
            _ => (kind, Encoding::Sixteen),
        };
    }
    if !MICRO.contains(&kind) {
        return (kind, Encoding::Plain);
    }
    let known = match kind {
        134 => e::R_MIPS_HI16,
        135 | 157 => e::R_MIPS_LO16,
        136 => e::R_MIPS_GPREL16,
        137 => e::R_MIPS_LITERAL,
        138 => e::R_MIPS_GOT16,
        142 => e::R_MIPS_CALL16,
        145 => e::R_MIPS_GOT_DISP,
        146 => e::R_MIPS_GOT_PAGE,
        147 => e::R_MIPS_GOT_OFST,
        148 => e::R_MIPS_GOT_HI16,
        149 => e::R_MIPS_GOT_LO16,
        150 => e::R_MIPS_SUB,
        151 => e::R_MIPS_HIGHER,
        152 => e::R_MIPS_HIGHEST,
        153 => e::R_MIPS_CALL_HI16,
        154 => e::R_MIPS_CALL_LO16,
        156 => e::R_MIPS_JALR,
        MICRO_BRANCH_7 | MICRO_BRANCH_10 | MICRO_LOAD_7 => return (kind, Encoding::Half),
        _ => kind,
    };
    (known, Encoding::Micro)
}

/// Where distances from a place count from. `after` is how far behind it the pair's other half is.
pub(super) fn here(place: Address, encoding: Encoding, after: u64) -> u64 {
    match encoding {
        Encoding::Sixteen => place.offset.wrapping_add(after) & !3,
        _ => place.offset,
    }
}

/// Reads a word of code, its pieces put in order.
pub(super) fn read(loader: &Loader, place: Address, encoding: Encoding) -> Option<u32> {
    if encoding == Encoding::Plain {
        return loader.read_value(place, 4).map(|word| word as u32);
    }
    let first = loader.read_value(place, 2)? as u32;
    if encoding == Encoding::Half {
        return Some(first);
    }
    let second = loader.read_value(place.checked_add(2)?, 2)? as u32;
    Some(joined(encoding, first, second))
}

/// Writes a word of code, taken to pieces as its encoding wants.
pub(super) fn write(loader: &mut Loader, place: Address, encoding: Encoding, word: u32) -> bool {
    match encoding {
        Encoding::Plain => return loader.write_value(place, u64::from(word), 4),
        Encoding::Half => return loader.write_value(place, u64::from(word), 2),
        _ => {}
    }
    let (first, second) = split(encoding, word);
    let Some(next) = place.checked_add(2) else { return false };
    loader.write_value(place, u64::from(first), 2) && loader.write_value(next, u64::from(second), 2)
}

/// A word of two halves, its immediate or target put together.
fn joined(encoding: Encoding, first: u32, second: u32) -> u32 {
    match encoding {
        Encoding::SixteenCall => {
            (first & 0xfc00) << 16 | (first & 0x1f) << 21 | (first & 0x3e0) << 11 | second
        }
        Encoding::Sixteen => {
            let immediate = (first & 0x1f) << 11 | first & 0x7e0 | second & 0x1f;
            (first & 0xf800) << 16 | (second & 0xffe0) << 11 | immediate
        }
        _ => first << 16 | second,
    }
}

/// The halves of such a word.
fn split(encoding: Encoding, word: u32) -> (u32, u32) {
    match encoding {
        Encoding::SixteenCall => {
            (word >> 16 & 0xfc00 | word >> 21 & 0x1f | word >> 11 & 0x3e0, word & 0xffff)
        }
        Encoding::Sixteen => (
            word >> 16 & 0xf800 | word >> 11 & 0x1f | word & 0x7e0,
            word >> 11 & 0xffe0 | word & 0x1f,
        ),
        _ => (word >> 16, word & 0xffff),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_mips16_code_are_put_in_order() {
        // li v0,1234h; jal to a word that takes all pieces
        let load = joined(Encoding::Sixteen, 0xf222, 0x6a14);
        assert_eq!(load & 0xffff, 0x1234);
        let call = joined(Encoding::SixteenCall, 0x1a81, 0x5678);
        assert_eq!(call & 0x3ff_ffff, 0x0034_5678);
        for (encoding, first, second) in [
            (Encoding::Sixteen, 0xf222, 0x6a14),
            (Encoding::SixteenCall, 0x1e81, 0x5678),
            (Encoding::Micro, 0x41bc, 0x1234),
        ] {
            assert_eq!(split(encoding, joined(encoding, first, second)), (first, second));
        }
    }
}
