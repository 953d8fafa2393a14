//! Function starts that nothing refers to, known by the bytes with which compilers begin
//! functions: stack frames made right behind the end of other code.
//!
//! Every byte of code that no function holds is looked at once.

use crate::address_tables::is_fallen_into;
use crate::linkage;
use crate::windows_starts::{self, Behind, Habits};
use decompiler::Language;
use program::{Address, CodeUnit, FlowType, MemoryBlock, Program, RefType, Reference};
use smallvec::{SmallVec, smallvec};

/// Bytes that are looked at before and from a place on.
const BEFORE: usize = 10;
const FROM: usize = 16;

/// How the functions of a processor begin.
#[derive(Clone, Copy)]
enum Manner {
    /// As compilers for Windows have it: what lies before decides with the beginning.
    Windows(&'static Habits),
    /// As other compilers for x86 have it, whatever lies before where other means found code.
    X86 { begins: fn(&[u8]) -> bool },
    /// By saving the frame pointer and the link register behind the end of other code.
    Aarch64,
}

impl Manner {
    /// Starts are at multiples of this.
    fn alignment(self) -> u64 {
        match self {
            Manner::Windows(_) | Manner::X86 { .. } => 1,
            Manner::Aarch64 => 4,
        }
    }
}

fn manner(language: &Language) -> Option<Manner> {
    let windows = matches!(language.compiler_spec_id(), "windows" | "clangwindows" | "borlandcpp");
    match (language.processor(), language.pointer_size()) {
        ("x86", size @ (4 | 8)) if windows => Some(Manner::Windows(windows_starts::habits(size))),
        ("x86", 8) => Some(Manner::X86 { begins: begins_x64 }),
        ("x86", 4) => Some(Manner::X86 { begins: begins_x86 }),
        ("AARCH64", _) => Some(Manner::Aarch64),
        _ => None,
    }
}

/// The places in code that look like starts and belong to no function.
pub(crate) fn find(program: &Program, language: &Language) -> Vec<Address> {
    let Some(manner) = manner(language) else { return Vec::new() };
    let mut found = Vec::new();
    for block in program.memory.blocks() {
        let code = block.permissions.execute && !block.permissions.artificial;
        let plain = !block.is_overlay() && block.is_initialized() && !linkage::holds_stubs(block);
        if code && plain {
            let mut is_start = |at| match manner {
                Manner::Windows(habits) => is_windows(program, habits, block, at),
                Manner::X86 { begins } => is_x86(program, begins, block, at),
                Manner::Aarch64 => is_aarch64(program, block, at),
            };
            search(program, manner.alignment(), block, &mut is_start, &mut found);
        }
    }
    found
}

fn search(
    program: &Program,
    alignment: u64,
    block: &MemoryBlock,
    is_start: &mut dyn FnMut(Address) -> bool,
    found: &mut Vec<Address>,
) {
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
        if at.offset.is_multiple_of(alignment) && is_start(at) {
            found.push(at);
        }
        let Some(next) = at.checked_add(1) else { return };
        at = next;
    }
}

fn is_windows(program: &Program, habits: &Habits, block: &MemoryBlock, at: Address) -> bool {
    let run = program.memory.run(at);
    let from = &run[..run.len().min(FROM)];
    if !from.first().is_some_and(|first| habits.allow(*first)) {
        return false;
    }
    let before = bytes_before(program, at);
    let mut fitting = habits.fitting(&before, from);
    fitting.any(|habit| follows(program, block, at, habit.behind)) && is_unclaimed(program, at)
}

fn is_x86(program: &Program, begins: fn(&[u8]) -> bool, block: &MemoryBlock, at: Address) -> bool {
    let run = program.memory.run(at);
    begins(&run[..run.len().min(FROM)])
        && match program.listing.unit_containing(at) {
            // Code that was found by other means, but not as a function.
            Some(_) => is_unclaimed(program, at),
            None => at != block.start && ends_x86(&bytes_before(program, at)),
        }
}

fn is_aarch64(program: &Program, block: &MemoryBlock, at: Address) -> bool {
    begins_aarch64(program.memory.run(at))
        && ends_aarch64(&bytes_before(program, at))
        && match program.listing.unit_containing(at) {
            // Code that was found by other means, but not as a function.
            Some((start, CodeUnit::Instruction(_))) => {
                start == at && !is_fallen_into(program, at) && !is_branched_to(program, at)
            }
            Some(_) => false,
            None => at != block.start,
        }
}

/// Whether what must stand before a place does.
fn follows(program: &Program, block: &MemoryBlock, at: Address, behind: Behind) -> bool {
    if behind == Behind::Anything {
        return true;
    }
    let Some(before) = at.checked_sub(1).filter(|_| at != block.start) else { return true };
    match program.listing.unit_containing(before) {
        Some((_, CodeUnit::Instruction(_))) => behind == Behind::Defined,
        Some(_) => true,
        None => false,
    }
}

/// Whether nothing is known of a place, or only that there is code to which no flow leads: right
/// behind a function, or where nothing but an address that was taken leads to it.
fn is_unclaimed(program: &Program, at: Address) -> bool {
    match program.listing.unit_containing(at) {
        Some((start, CodeUnit::Instruction(_))) => {
            let before = at.checked_sub(1);
            let follows = before.is_some_and(|at| program.functions.containing(at).is_some());
            start == at
                && !is_fallen_into(program, at)
                && !is_branched_to(program, at)
                && (follows || program.references.to(at).all(|r| is_harmless(program, &r)))
        }
        Some(_) => false,
        None => true,
    }
}

/// Whether a reference does not speak against a function: an address taken, or, behind a long
/// filler, a jump out of code without a function.
fn is_harmless(program: &Program, reference: &Reference) -> bool {
    match reference.info.kind {
        RefType::Data | RefType::Param => true,
        RefType::Flow(FlowType::UnconditionalJump) => {
            !matches!(*bytes_before(program, reference.to), [.., 0x90])
                && program.functions.containing(reference.from).is_none()
        }
        _ => false,
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
