//! Frames of Windows programs for ARM64, out of the words of their exception tables.

use super::{Frame, Step};
use program::{Address, Program};

/// The number of the frame register.
pub(super) const FRAME: u8 = 29;
/// Bytes of codes that are read.
const CODES: u64 = 4 * 255;

/// The frame of a function whose entry holds a word: either all that there is to tell, or where
/// more is told.
pub(super) fn frame(program: &Program, word: u32) -> Option<Frame> {
    match word & 3 {
        0 => {
            let at = Address::ram(program.info.image_base.checked_add(u64::from(word))?);
            unpacked(program, at)
        }
        1 => Some(packed(word)),
        // A part of a function, which goes on where another one is.
        _ => None,
    }
}

/// A frame that one word tells: its size, and whether a chain of frames leads through it.
fn packed(word: u32) -> Frame {
    let size = i64::from(word >> 23) * 16;
    // The link to the frame before lies at the lower end.
    let register = (word >> 21 & 3 >= 2).then_some((FRAME, -size));
    Frame { stack: Some(-size), register, by_rule: false }
}

fn unpacked(program: &Program, at: Address) -> Option<Frame> {
    let read = |offset: u64| program.memory.read_uint(at.checked_add(offset)?, 4);
    let head = read(0)?;
    let (mut epilogues, mut words) = (head >> 22 & 31, head >> 27);
    let mut start = 4;
    if epilogues == 0 && words == 0 {
        let more = read(4)?;
        (epilogues, words) = (more & 0xffff, more >> 16 & 255);
        start = 8;
    }
    // A single epilogue may be told in the head.
    if head >> 21 & 1 == 0 {
        start += epilogues * 4;
    }
    let mut codes = vec![0; (words * 4).min(CODES) as usize];
    let read = program.memory.read(at.checked_add(start)?, &mut codes).ok()?;
    codes.truncate(read);
    let steps = steps(&codes)?;
    Some(Frame::after(steps.into_iter().rev(), FRAME))
}

/// What the codes tell, from the last instruction of the prologue to its first.
fn steps(codes: &[u8]) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = codes;
    while let [code, later @ ..] = rest {
        let low = i64::from(*code);
        let next = || later.first().map(|byte| i64::from(*byte));
        let (used, step) = match *code {
            0x00..=0x1f => (0, Some(Step::Takes((low & 31) * 16))),
            0x20..=0x3f => (0, Some(Step::Takes((low & 31) * 8))),
            0x40..=0x7f => (0, None),
            0x80..=0xbf => (0, Some(Step::Takes(((low & 63) + 1) * 8))),
            0xc0..=0xc7 => (1, Some(Step::Takes(((low & 7) << 8 | next()?) * 16))),
            0xcc..=0xcf | 0xda | 0xdb => (1, Some(Step::Takes(((next()? & 63) + 1) * 8))),
            0xd4 | 0xd5 | 0xde => (1, Some(Step::Takes(((next()? & 31) + 1) * 8))),
            0xc8..=0xcb | 0xd0..=0xd3 | 0xd6..=0xd9 | 0xdc | 0xdd => (1, None),
            0xe0 => {
                let [high, middle, low, ..] = later else { return None };
                let units = i64::from(*high) << 16 | i64::from(*middle) << 8 | i64::from(*low);
                (3, Some(Step::Takes(units * 16)))
            }
            0xe1 => (0, Some(Step::Sets(0))),
            0xe2 => (1, Some(Step::Sets(next()? * 8))),
            0xe3 | 0xe6 | 0xfc => (0, None),
            0xe4 | 0xe5 => return Some(steps),
            _ => return None,
        };
        steps.extend(step);
        rest = later.get(used..)?;
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::{Frame, packed, steps};

    #[test]
    fn codes_are_read_from_the_end_of_the_prologue() {
        // Saves the link with 16 bytes, sets the frame register, takes 80 bytes more.
        let told = steps(&[0x05, 0xe1, 0x81, 0xe4, 0xff]).expect("is complete");
        let frame = Frame::after(told.into_iter().rev(), super::FRAME);
        assert_eq!((frame.stack, frame.register), (Some(-96), Some((29, -16))));
        assert!(steps(&[0xe0, 1]).is_none(), "is cut short");
    }

    #[test]
    fn one_word_tells_a_small_frame() {
        let frame = packed(2 << 23 | 1);
        assert_eq!((frame.stack, frame.register), (Some(-32), None));
        let chained = packed(2 << 23 | 3 << 21 | 1);
        assert_eq!(chained.register, Some((29, -32)));
    }
}
