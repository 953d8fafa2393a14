//! The immediates of Thumb instructions of four bytes: two halves, the first the higher.

use super::sign_extend;

/// The distance of a Thumb `bl` or `b.w`: sign, two mixed bits, ten and eleven
/// bits of half words.
pub(crate) fn branch_offset(code: u32) -> i64 {
    let (sign, j1, j2) = (code >> 26 & 1, code >> 13 & 1, code >> 11 & 1);
    let (i1, i2) = (!(j1 ^ sign) & 1, !(j2 ^ sign) & 1);
    let value = sign << 24 | i1 << 23 | i2 << 22 | (code >> 16 & 0x3ff) << 12 | (code & 0x7ff) << 1;
    sign_extend(u64::from(value), 25)
}

/// Puts a distance into them.
pub(crate) fn with_thumb_branch(code: u32, value: u64) -> u32 {
    let value = value as u32;
    let sign = value >> 24 & 1;
    let (j1, j2) = (!(value >> 23 ^ sign) & 1, !(value >> 22 ^ sign) & 1);
    let kept = code & 0xf800_d000;
    kept | sign << 26 | (value >> 12 & 0x3ff) << 16 | j1 << 13 | j2 << 11 | (value >> 1 & 0x7ff)
}

/// The sixteen bits of a Thumb `movw` or `movt`.
pub(crate) fn half_word(code: u32) -> u64 {
    u64::from(
        (code >> 16 & 0xf) << 12 | (code >> 26 & 1) << 11 | (code >> 12 & 7) << 8 | (code & 0xff),
    )
}

/// Puts sixteen bits into them.
pub(crate) fn with_half_word(code: u32, value: u64) -> u32 {
    let value = value as u32;
    (code & 0xfbf0_8f00)
        | (value >> 12 & 0xf) << 16
        | (value >> 11 & 1) << 26
        | (value >> 8 & 7) << 12
        | (value & 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thumb_fields_survive_a_round_trip() {
        for distance in [0i64, 4, -4, 0xff_fffe, -0x100_0000, 0x12_3456] {
            assert_eq!(branch_offset(with_thumb_branch(0xf000_d000, distance as u64)), distance);
        }
        assert_eq!(with_thumb_branch(0xf7ff_fffe, (-4i64) as u64), 0xf7ff_fffe, "bl to itself");
        for value in [0u64, 0xffff, 0x1234, 0x0800] {
            assert_eq!(half_word(with_half_word(0xf240_0000, value)), value);
        }
        // movw r0, #0x1234
        assert_eq!(with_half_word(0xf240_0000, 0x1234), 0xf241_2034);
    }
}
