//! Fields of instructions that relocations of several formats fill: those of AArch64 and Thumb.

mod aarch64;
mod thumb;

pub(crate) use aarch64::{
    access_size, branch_addend, low_addend, page_addend, with_branch, with_low, with_page,
    with_relative,
};
pub(crate) use thumb::{branch_offset, half_word, with_half_word, with_thumb_branch};

/// Replaces `width` bits from bit `at` on.
pub(crate) fn field(old: u32, value: u64, at: u32, width: u32) -> u32 {
    let mask = ((1u64 << width) - 1) as u32;
    (old & !(mask << at)) | ((value as u32 & mask) << at)
}

/// The lowest `width` bits as a signed number.
pub(crate) fn sign_extend(value: u64, width: u32) -> i64 {
    let unused = 64 - width;
    (value << unused) as i64 >> unused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_neighbours_and_signs() {
        assert_eq!(field(0x9400_0000, u64::MAX, 0, 26), 0x97ff_ffff);
        assert_eq!(field(0xffff_ffff, 0, 10, 9), 0xfff8_03ff);
        assert_eq!((sign_extend(0xffff, 16), sign_extend(0x7fff, 16)), (-1, 0x7fff));
    }
}
