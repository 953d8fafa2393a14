//! The immediates of AArch64: distances of branches and of pages, and offsets in a page.

use super::{field, sign_extend};

/// Bits of an offset in a page.
const PAGE: u32 = 12;

/// The binary logarithm of what a load or store counts its offset in; zero for additions.
pub(crate) fn access_size(code: u32) -> u32 {
    if code & 0x3b00_0000 != 0x3900_0000 {
        return 0;
    }
    let whole_vector = code >> 26 & 1 != 0 && code >> 23 & 1 != 0 && code >> 30 == 0;
    if whole_vector { 4 } else { code >> 30 }
}

/// The distance that `b` and `bl` hold.
pub(crate) fn branch_addend(code: u32) -> u64 {
    (sign_extend(u64::from(code & 0x3ff_ffff), 26) << 2) as u64
}

/// Puts a distance into `b` or `bl`.
pub(crate) fn with_branch(code: u32, distance: u64) -> u32 {
    field(code, distance >> 2, 0, 26)
}

/// What `adr` and `adrp` hold, in bytes or pages.
pub(crate) fn page_addend(code: u32) -> u64 {
    let held = u64::from(code >> 5 & 0x7_ffff) << 2 | u64::from(code >> 29 & 3);
    sign_extend(held, 21) as u64
}

/// Puts a distance into `adr`, whose immediate is in two pieces.
pub(crate) fn with_relative(code: u32, distance: u64) -> u32 {
    field(field(code, distance, 29, 2), distance >> 2, 5, 19)
}

/// Lets `adrp` at `place` give the page of `target`.
pub(crate) fn with_page(code: u32, place: u64, target: u64) -> u32 {
    with_relative(code, (target >> PAGE).wrapping_sub(place >> PAGE))
}

/// The offset that an addition, a load or a store of some size holds.
pub(crate) fn low_addend(code: u32, size: u32) -> u64 {
    u64::from(code >> 10 & 0xfff) << size
}

/// Puts the offset of `target` in its page into an addition, or a load or store of some size.
pub(crate) fn with_low(code: u32, target: u64, size: u32) -> u32 {
    field(code, (target & 0xfff) >> size, 10, PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_addresses_land_in_their_fields() {
        assert_eq!(with_relative(0x9000_0000, 0b101), 0xb000_0020);
        assert_eq!(with_page(0x9000_0001, 0x1fff, 0x3000), 0xd000_0001);
        assert_eq!(page_addend(with_page(0x9000_0000, 0x5000, 0x3000)) as i64, -2);
        assert_eq!(with_low(0xf940_0000, 0x1_21f8, 3), 0xf940_fc00);
        assert_eq!(low_addend(0xf940_fc00, access_size(0xf940_fc00)), 0x1f8);
        assert_eq!(branch_addend(with_branch(0x9400_0000, (-8i64) as u64)) as i64, -8);
    }

    #[test]
    fn accesses_tell_their_size() {
        // add, ldrb, ldr w, ldr x, ldr q
        let codes = [0x9100_0000, 0x3940_0000, 0xb940_0000, 0xf940_0000, 0x3dc0_0000];
        assert_eq!(codes.map(access_size), [0, 0, 2, 3, 4]);
    }
}
