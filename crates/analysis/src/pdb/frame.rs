//! Where the registers point that variables are counted from, as seen from the stack pointer at
//! entry: out of the unwind information of 64-bit programs, by rule in those of 32 bits.

mod arm64;

use program::{Address, Program};
use std::collections::HashMap;

/// Entries of the exception table that are read.
const ENTRIES: u64 = 1 << 20;
/// Largest frame that is believed.
const LARGEST: i64 = 1 << 30;

/// CodeView's numbers of registers.
pub(super) const EBX: u16 = 20;
pub(super) const EBP: u16 = 22;
pub(super) const VFRAME: u16 = 30006;
pub(super) const RBP: u16 = 334;
pub(super) const RSP: u16 = 335;
pub(super) const R13: u16 = 341;
pub(super) const ARM64_FP: u16 = 79;
pub(super) const ARM64_SP: u16 = 81;

/// The unwind information of functions.
pub(super) enum Frames {
    /// Of a 64-bit program: where it is, by the start of the function.
    Unwind(HashMap<u64, Address>),
    /// Of a program for ARM64: the word that each function's entry holds, by its start.
    Arm64(HashMap<u64, u32>),
    /// Of a 32-bit program.
    ByRule,
    /// Of processors whose frames are not known.
    Unknown,
}

/// The frame of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Frame {
    /// Where the stack pointer is in the body.
    stack: Option<i64>,
    /// Where the frame register is, and which it is in the numbering of instructions.
    register: Option<(u8, i64)>,
    by_rule: bool,
}

impl Frames {
    pub(super) fn of(program: &Program) -> Frames {
        match program.info.language_id.as_str() {
            id if id.starts_with("x86:LE:64") => {
                let base = program.info.image_base;
                let places = exception_table::<3>(program).into_iter();
                let places = places.map(|[start, _, place]| {
                    let at = |offset: u32| base.wrapping_add(u64::from(offset));
                    (at(start), Address::ram(at(place)))
                });
                Frames::Unwind(places.collect())
            }
            id if id.starts_with("AARCH64:") => {
                let base = program.info.image_base;
                let entries = exception_table::<2>(program).into_iter();
                let entries =
                    entries.map(|[start, word]| (base.wrapping_add(u64::from(start)), word));
                Frames::Arm64(entries.collect())
            }
            id if id.starts_with("x86:LE:32") => Frames::ByRule,
            _ => Frames::Unknown,
        }
    }

    /// The frame of the function that starts at a place.
    pub(super) fn at(&self, program: &Program, entry: Address) -> Frame {
        match self {
            Frames::Unknown => Frame::default(),
            Frames::ByRule => Frame { by_rule: true, ..Frame::default() },
            Frames::Unwind(places) => match places.get(&entry.offset) {
                Some(place) => unwind(program, *place).unwrap_or_default(),
                None => Frame::ALONE,
            },
            Frames::Arm64(words) => match words.get(&entry.offset) {
                Some(word) => arm64::frame(program, *word).unwrap_or_default(),
                None => Frame::ALONE,
            },
        }
    }

    /// The register that a function's own number stands for, of those that locals or parameters
    /// are counted from.
    pub(super) fn base(&self, number: u8) -> Option<u16> {
        match (self, number) {
            (Frames::Unwind(_), 1) => Some(RSP),
            (Frames::Unwind(_), 2) => Some(RBP),
            (Frames::Unwind(_), 3) => Some(R13),
            (Frames::Arm64(_), 1) => Some(ARM64_SP),
            (Frames::Arm64(_), 2) => Some(ARM64_FP),
            (Frames::ByRule, 1) => Some(VFRAME),
            (Frames::ByRule, 2) => Some(EBP),
            (Frames::ByRule, 3) => Some(EBX),
            _ => None,
        }
    }
}

impl Frame {
    /// That of functions that leave the stack alone: these have no entry.
    const ALONE: Frame = Frame { stack: Some(0), register: None, by_rule: false };

    /// What a prologue leaves that takes room and sets the frame register, in its order.
    fn after(steps: impl IntoIterator<Item = Step>, register: u8) -> Frame {
        let (mut stack, mut frame) = (0i64, None);
        for step in steps {
            match step {
                Step::Takes(bytes) => stack -= bytes,
                Step::Sets(above) => frame = Some((register, stack + above)),
            }
        }
        Frame { stack: Some(stack), register: frame, by_rule: false }
    }

    /// The place on the stack that lies so far from what a register holds in the body.
    pub(super) fn place(&self, register: u16, offset: i64) -> Option<i64> {
        let register = match register {
            // The frame pointer, right after it was pushed and set.
            EBP if self.by_rule => -4,
            VFRAME if self.by_rule => 0,
            RSP | ARM64_SP => self.stack?,
            RBP | R13 | ARM64_FP => {
                let number = match register {
                    RBP => 5,
                    R13 => 13,
                    _ => arm64::FRAME,
                };
                self.register.filter(|(known, _)| *known == number)?.1
            }
            _ => return None,
        };
        register.checked_add(offset).filter(|place| place.abs() < LARGEST)
    }
}

/// What a prologue does to the stack.
enum Step {
    Takes(i64),
    /// The frame register gets to where so many bytes lie below it.
    Sets(i64),
}

/// The entries of the exception table, of so many words each.
fn exception_table<const N: usize>(program: &Program) -> Vec<[u32; N]> {
    let Some(block) = program.memory.block_named(".pdata").filter(|b| !b.permissions.execute)
    else {
        return Vec::new();
    };
    let size = 4 * N as u64;
    let entries =
        (0..(block.length / size).min(ENTRIES)).map(|i| block.start.wrapping_add(i * size));
    let entries = entries.filter_map(|entry| {
        let mut words = [0; N];
        for (index, word) in words.iter_mut().enumerate() {
            let at = entry.checked_add(4 * index as u64)?;
            *word = program.memory.read_uint(at, 4)? as u32;
        }
        Some(words)
    });
    entries.collect()
}

/// What the prologue does to the stack, read from its end to its start.
fn unwind(program: &Program, at: Address) -> Option<Frame> {
    let [flags, _, count, register] = program.memory.read_array::<4>(at)?;
    if flags >> 3 & 4 != 0 {
        // A part of a function, which goes on where another one is.
        return None;
    }
    let mut codes = vec![0u8; 2 * usize::from(count)];
    let read = program.memory.read(at.checked_add(4)?, &mut codes).ok()?;
    codes.truncate(read);
    let codes: Vec<u16> =
        codes.chunks_exact(2).map(|code| u16::from_le_bytes([code[0], code[1]])).collect();
    let mut steps: Vec<Step> = Vec::new();
    let mut rest = codes.as_slice();
    while let [code, later @ ..] = rest {
        let (operation, info) = (code >> 8 & 15, i64::from(code >> 12));
        let word = |index: usize| later.get(index).map(|word| i64::from(*word));
        let (used, step) = match (operation, info) {
            (0, _) => (0, Some(Step::Takes(8))),
            (1, 0) => (1, Some(Step::Takes(word(0)? * 8))),
            (1, _) => (2, Some(Step::Takes(word(0)? | word(1)? << 16))),
            (2, _) => (0, Some(Step::Takes(info * 8 + 8))),
            (3, _) => (0, Some(Step::Sets(i64::from(register >> 4) * 16))),
            (4 | 8, _) => (1, None),
            (5 | 9, _) => (2, None),
            (6 | 7, _) => (0, None),
            (10, _) => (0, Some(Step::Takes(40 + 8 * info))),
            _ => return None,
        };
        steps.extend(step);
        rest = later.get(used..)?;
    }
    Some(Frame::after(steps.into_iter().rev(), register & 15))
}
