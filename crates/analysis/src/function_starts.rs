//! Function starts that nothing refers to, known by the bytes with which compilers begin
//! functions: stack frames made right behind the end of other code.
//!
//! Every byte of code that no function holds is looked at once.

use crate::address_tables::is_fallen_into;
use crate::linkage;
use decompiler::Language;
use program::{Address, FlowType, MemoryBlock, Program, RefType};
use smallvec::{SmallVec, smallvec};

/// Bytes that are looked at before and from a place on.
const BEFORE: usize = 10;
const FROM: usize = 16;

/// How the functions of a processor begin.
struct Habit {
    /// Starts are at multiples of this.
    alignment: u64,
    /// Whether a function may begin with these bytes.
    begins: fn(&[u8]) -> bool,
    /// Whether code before a function may end with these bytes.
    ends: fn(&[u8]) -> bool,
    /// Whether what begins like a function is one even if no such end lies before it, where other
    /// means found that it is code.
    code_without_end: bool,
}

fn habit(language: &Language) -> Option<Habit> {
    Some(match (language.processor(), language.pointer_size()) {
        ("x86", 8) => {
            Habit { alignment: 1, begins: begins_x64, ends: ends_x86, code_without_end: true }
        }
        ("x86", 4) => {
            Habit { alignment: 1, begins: begins_x86, ends: ends_x86, code_without_end: true }
        }
        ("AARCH64", _) => Habit {
            alignment: 4,
            begins: begins_aarch64,
            ends: ends_aarch64,
            code_without_end: false,
        },
        _ => return None,
    })
}

/// The places in code that look like starts and belong to no function.
pub(crate) fn find(program: &Program, language: &Language) -> Vec<Address> {
    let Some(habit) = habit(language) else { return Vec::new() };
    let mut found = Vec::new();
    for block in program.memory.blocks() {
        let code = block.permissions.execute && !block.permissions.artificial;
        let plain = !block.is_overlay() && block.is_initialized() && !linkage::holds_stubs(block);
        if code && plain {
            search(program, &habit, block, &mut found);
        }
    }
    found
}

fn search(program: &Program, habit: &Habit, block: &MemoryBlock, found: &mut Vec<Address>) {
    let mut at = block.start;
    while at <= block.end() {
        if let Some(function) = program.functions.containing(at) {
            // On behind the part of the function that this is.
            let ranges = function.body.ranges();
            let part = ranges.get(ranges.partition_point(|r| r.end < at));
            let Some(next) = part.and_then(|r| r.end.checked_add(1)) else { return };
            at = next;
            continue;
        }
        if at.offset.is_multiple_of(habit.alignment) && is_start(program, habit, block, at) {
            found.push(at);
        }
        let Some(next) = at.checked_add(1) else { return };
        at = next;
    }
}

fn is_start(program: &Program, habit: &Habit, block: &MemoryBlock, at: Address) -> bool {
    let run = program.memory.run(at);
    if !(habit.begins)(&run[..run.len().min(FROM)]) {
        return false;
    }
    match program.listing.unit_containing(at) {
        // Code that was found by other means, but not as a function.
        Some((start, program::CodeUnit::Instruction(_))) => {
            start == at
                && !is_fallen_into(program, at)
                && !is_branched_to(program, at)
                && (habit.code_without_end || (habit.ends)(&bytes_before(program, at)))
        }
        Some(_) => false,
        None => at != block.start && (habit.ends)(&bytes_before(program, at)),
    }
}

/// The bytes up to an address, as far back as memory goes on.
fn bytes_before(program: &Program, at: Address) -> SmallVec<[u8; BEFORE]> {
    let starts = (1..=BEFORE as u64).rev().filter_map(|distance| at.checked_sub(distance));
    let runs = starts.map(|start| {
        let mut before = smallvec![0; (at.offset - start.offset) as usize];
        let read = program.memory.read(start, &mut before).ok()?;
        (read == before.len()).then_some(before)
    });
    runs.flatten().next().unwrap_or_default()
}

/// Whether a condition decides if control comes to an address: then it lies inside of a function.
fn is_branched_to(program: &Program, at: Address) -> bool {
    let mut flows = program.references.to(at).map(|reference| reference.info.kind);
    flows.any(|kind| kind == RefType::Flow(FlowType::ConditionalJump))
}

/// Registers pushed and a frame made, in the orders that compilers like.
fn begins_x64(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(bytes);
    match bytes {
        // Two of R12 to R15.
        [0x41, a @ 0x54..=0x57, 0x41, b @ 0x54..=0x57, ..] => a > b,
        [0x41, 0x54, 0x55, 0x48, 0x89, 0xfd, ..] => true,
        [0x41, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb | 0xd3, ..] => true,
        [0x55, 0x48, 0x89, 0xe5 | 0xfd, ..] => true,
        [0x55, 0x53, 0x48, 0x89, 0xfb, ..] => true,
        [0x53, 0x48, 0x89, 0xfb, ..] => true,
        [0x53, 0x48, 0x83, 0xec, size, ..] => size % 16 == 0,
        [0x48, 0x83, 0xec, size @ 0x10..=0x78, ..] => size % 8 == 0,
        [0x48, 0x81, 0xec, size, _, 0, 0, ..] => size % 8 == 0,
        _ => false,
    }
}

fn begins_x86(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfb]).unwrap_or(bytes);
    let frame = |rest: &[u8]| matches!(rest, [0x83 | 0x81, 0xec, ..]);
    match bytes {
        [0x55, 0x89, 0xe5, ..] | [0x55, 0x8b, 0xec, ..] => true,
        [0x55, 0x57, 0x56, 0x53, rest @ ..] => frame(rest),
        [0x57, 0x56, 0x53, rest @ ..] => frame(rest),
        [0x56, 0x53, rest @ ..] => frame(rest),
        _ => false,
    }
}

/// A return, a jump, or what fills the space behind them.
fn ends_x86(bytes: &[u8]) -> bool {
    match bytes {
        [.., 0xc3 | 0xcc | 0x90] | [.., 0xeb, _] | [.., 0xe9, _, _, _, _] => true,
        [.., 0x0f, 0x1f, 0x00]
        | [.., 0x0f, 0x1f, 0x40, 0]
        | [.., 0x0f, 0x1f, 0x44, 0, 0]
        | [.., 0x0f, 0x1f, 0x80, 0, 0, 0, 0]
        | [.., 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0] => true,
        // Other fillers of 32-bit code.
        [.., 0x8d, 0x76, 0] | [.., 0x8d, 0x74, 0x26, 0] | [.., 0x8d, 0xb6, 0, 0, 0, 0] => true,
        [.., 0x8d, 0xb4, 0x26, 0, 0, 0, 0] => true,
        _ => false,
    }
}

fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|word| u32::from_le_bytes(*word))
}

/// Frame pointer and link register saved, maybe behind one filler.
fn begins_aarch64(bytes: &[u8]) -> bool {
    const NOP: u32 = 0xd503_201f;
    let saves = |word: u32| word & 0xffc0_7fff == 0xa980_7bfd;
    match word(bytes) {
        Some(NOP) => bytes.get(4..).and_then(word).is_some_and(saves),
        Some(first) => saves(first),
        None => false,
    }
}

fn ends_aarch64(bytes: &[u8]) -> bool {
    let last = bytes.len().checked_sub(4).and_then(|at| word(&bytes[at..]));
    last.is_some_and(|word| {
        // A return, a jump, a jump to what a register holds.
        word == 0xd65f_03c0
            || word & 0xfc00_0000 == 0x1400_0000
            || word & 0xffff_fc1f == 0xd61f_0000
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_told_from_other_code() {
        assert!(begins_x64(&[0x41, 0x57, 0x41, 0x56, 0x55]));
        assert!(begins_x64(&[0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5]));
        assert!(!begins_x64(&[0x41, 0x57, 0x49, 0x89, 0xff]));
        assert!(!begins_x64(&[0x48, 0x8b, 0x07]));
        assert!(begins_x86(&[0x56, 0x53, 0x83, 0xec, 0x14]));
        assert!(!begins_x86(&[0x53, 0x8b, 0x44, 0x24]));
        assert!(begins_aarch64(&[0x1f, 0x20, 0x03, 0xd5, 0xfd, 0x7b, 0xbf, 0xa9]));
        assert!(!begins_aarch64(&[0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6]));
    }

    #[test]
    fn code_ends_in_returns_jumps_and_fillers() {
        assert!(ends_x86(&[0x5b, 0xc3]));
        assert!(ends_x86(&[0xc3, 0x0f, 0x1f, 0x44, 0, 0]));
        assert!(ends_x86(&[0xe9, 1, 2, 3, 4]));
        assert!(!ends_x86(&[0xe8, 1, 2, 3, 4]));
        assert!(ends_aarch64(&[0xc0, 0x03, 0x5f, 0xd6]));
        assert!(!ends_aarch64(&[0x1f, 0x20, 0x03, 0xd5]));
    }
}
