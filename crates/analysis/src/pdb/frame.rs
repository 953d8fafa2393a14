//! Where the registers point that variables are counted from, as seen from the stack pointer at
//! entry: out of the unwind information of 64-bit programs, by rule in those of 32 bits.

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

/// The unwind information of functions.
pub(super) enum Frames {
    /// Of a 64-bit program: where it is, by the start of the function.
    Unwind(HashMap<u64, Address>),
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
            id if id.starts_with("x86:LE:64") => Frames::Unwind(unwind_places(program)),
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
                // Functions that leave the stack alone have no entry.
                None => Frame { stack: Some(0), ..Frame::default() },
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
            (Frames::ByRule, 1) => Some(VFRAME),
            (Frames::ByRule, 2) => Some(EBP),
            (Frames::ByRule, 3) => Some(EBX),
            _ => None,
        }
    }
}

impl Frame {
    /// The place on the stack that lies so far from what a register holds in the body.
    pub(super) fn place(&self, register: u16, offset: i64) -> Option<i64> {
        let register = match register {
            // The frame pointer, right after it was pushed and set.
            EBP if self.by_rule => -4,
            VFRAME if self.by_rule => 0,
            RSP => self.stack?,
            RBP | R13 => {
                let number = if register == RBP { 5 } else { 13 };
                self.register.filter(|(known, _)| *known == number)?.1
            }
            _ => return None,
        };
        register.checked_add(offset).filter(|place| place.abs() < LARGEST)
    }
}

fn unwind_places(program: &Program) -> HashMap<u64, Address> {
    let Some(block) = program.memory.block_named(".pdata").filter(|b| !b.permissions.execute)
    else {
        return HashMap::new();
    };
    let base = program.info.image_base;
    let entries = (0..(block.length / 12).min(ENTRIES)).map(|i| block.start.wrapping_add(i * 12));
    let read = |at: Address| program.memory.read_uint(at, 4);
    let places = entries.filter_map(|entry| {
        let (start, place) = (read(entry)?, read(entry.checked_add(8)?)?);
        Some((base.wrapping_add(start), Address::ram(base.wrapping_add(place))))
    });
    places.collect()
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
    let mut steps: Vec<(bool, i64)> = Vec::new();
    let mut rest = codes.as_slice();
    while let [code, later @ ..] = rest {
        let (operation, info) = (code >> 8 & 15, i64::from(code >> 12));
        let word = |index: usize| later.get(index).map(|word| i64::from(*word));
        let (used, step) = match (operation, info) {
            (0, _) => (0, Some((false, 8))),
            (1, 0) => (1, Some((false, word(0)? * 8))),
            (1, _) => (2, Some((false, word(0)? | word(1)? << 16))),
            (2, _) => (0, Some((false, info * 8 + 8))),
            (3, _) => (0, Some((true, i64::from(register >> 4) * 16))),
            (4 | 8, _) => (1, None),
            (5 | 9, _) => (2, None),
            (6 | 7, _) => (0, None),
            (10, _) => (0, Some((false, 40 + 8 * info))),
            _ => return None,
        };
        steps.extend(step);
        rest = later.get(used..)?;
    }
    let (mut stack, mut frame) = (0i64, None);
    for (sets, amount) in steps.into_iter().rev() {
        match sets {
            true => frame = Some((register & 15, stack + amount)),
            false => stack -= amount,
        }
    }
    Some(Frame { stack: Some(stack), register: frame, by_rule: false })
}
