//! Function starts that nothing refers to, known by the bytes with which compilers begin
//! functions: stack frames made right behind the end of other code, and the like.
//!
//! Every byte of code that no function holds is looked at once.

use crate::address_tables::is_fallen_into;
use crate::code::CodeReader;
use crate::linkage;
use crate::start_patterns::{After, Claim, Rule, Rules};
use crate::windows_starts::{self, Behind, Habits};
use decompiler::Language;
use program::{Address, CodeUnit, FlowType, MemoryBlock, Program, RefType, Reference};
use smallvec::{SmallVec, smallvec};

/// Bytes that are looked at before and from a place on.
const BEFORE: usize = 20;
const FROM: usize = 16;

/// What a search finds.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    /// Where functions begin, with the decoding mode.
    pub(crate) functions: Vec<(Address, u8)>,
    /// Where there is code, though it may be in the middle of a function.
    pub(crate) code: Vec<(Address, u8)>,
}

/// How the functions of a processor begin.
#[derive(Clone, Copy)]
enum Manner {
    /// As compilers for Windows have it: what lies before decides with the beginning.
    Windows(&'static Habits),
    /// As other compilers for x86 have it, whatever lies before where other means found code.
    X86 { begins: fn(&[u8]) -> bool },
}

fn manner(language: &Language) -> Option<Manner> {
    let windows = matches!(language.compiler_spec_id(), "windows" | "clangwindows" | "borlandcpp");
    match (language.processor(), language.pointer_size()) {
        ("x86", size @ (4 | 8)) if windows => Some(Manner::Windows(windows_starts::habits(size))),
        ("x86", 8) => Some(Manner::X86 { begins: begins_x64 }),
        ("x86", 4) => Some(Manner::X86 { begins: begins_x86 }),
        _ => None,
    }
}

/// Whether code found meanwhile may show more starts: what stands before a place decides.
pub(crate) fn may_find_more(language: &Language) -> bool {
    manner(language).is_none()
}

/// The places in code that look like starts and belong to no function.
pub(crate) fn find(program: &Program, language: &Language) -> Starts {
    let mut found = Starts::default();
    let manner = manner(language);
    let rules = Rules::of(language);
    let mut reader = CodeReader::new(language);
    for block in program.memory.blocks() {
        let code = block.permissions.execute && !block.permissions.artificial;
        let plain = !block.is_overlay() && block.is_initialized() && !linkage::holds_stubs(block);
        if !code || !plain {
            continue;
        }
        match manner {
            Some(Manner::Windows(habits)) => search(program, block, &mut |at| {
                if is_windows(program, habits, block, at) {
                    found.functions.push((at, 0));
                }
            }),
            Some(Manner::X86 { begins }) => search(program, block, &mut |at| {
                if is_x86(program, begins, block, at) {
                    found.functions.push((at, 0));
                }
            }),
            None if !rules.is_empty() => search(program, block, &mut |at| {
                look(program, &mut reader, &rules, (block, at), &mut found);
            }),
            None => {}
        }
    }
    found
}

/// Looks at all places of a block that are in no function.
fn search(program: &Program, block: &MemoryBlock, look: &mut dyn FnMut(Address)) {
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
        look(at);
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

/// Looks at one place by the rules of its processor.
fn look(
    program: &Program,
    reader: &mut CodeReader,
    rules: &[Rules],
    (block, at): (&MemoryBlock, Address),
    found: &mut Starts,
) {
    let run = program.memory.run(at);
    let from = &run[..run.len().min(FROM)];
    for rules in rules.iter().filter(|rules| at.offset.is_multiple_of(rules.alignment)) {
        if !rules.may_begin(from) {
            continue;
        }
        let before = bytes_before(program, at);
        let mut code = false;
        for rule in rules.fitting(&before, from) {
            let is_open = is_unclaimed_code(program, at);
            let unknown = program.listing.unit_containing(at).is_none();
            code |= unknown && (rule.code || rule.claim == Claim::Code);
            let begins = match rule.claim {
                Claim::Function => true,
                Claim::Perhaps => !is_branched_to(program, at),
                Claim::Code => false,
            };
            if begins
                && is_open
                && stands_after(program, block, at, rule.after)
                && is_good(program, reader, (at, rules.mode), rule)
            {
                return found.functions.push((at, rules.mode));
            }
        }
        if code {
            return found.code.push((at, rules.mode));
        }
    }
}

/// Whether there may be a function of its own: nothing is known of a place, or there is code that
/// no other function, nor any flow, leads into.
fn is_unclaimed_code(program: &Program, at: Address) -> bool {
    match program.listing.unit_containing(at) {
        Some((start, CodeUnit::Instruction(_))) => start == at && !is_part(program, at),
        Some(_) => false,
        None => true,
    }
}

/// Whether code outside of functions is part of what lies before it.
fn is_part(program: &Program, at: Address) -> bool {
    let before = at.checked_sub(1);
    if before.is_none_or(|before| program.functions.containing(before).is_some()) {
        return false;
    }
    is_fallen_into(program, at)
        || program
            .references
            .to(at)
            .any(|reference| !matches!(reference.info.kind, RefType::Data | RefType::Param))
}

/// Whether what must stand before a place does, if anything is there.
fn stands_after(program: &Program, block: &MemoryBlock, at: Address, after: After) -> bool {
    let Some(before) = at.checked_sub(1).filter(|_| at != block.start) else { return true };
    let unit = || program.listing.unit_containing(before).map(|(_, unit)| unit);
    match after {
        After::Anything => true,
        After::Function => program.functions.containing(before).is_some(),
        After::Data => matches!(unit(), Some(CodeUnit::Data(_))),
        After::Defined => match unit() {
            Some(CodeUnit::Instruction(_)) => !is_part(program, at),
            other => other.is_some(),
        },
    }
}

/// Whether as many instructions are good ones as a rule wants, unless the code ends before.
fn is_good(
    program: &Program,
    reader: &mut CodeReader,
    (start, mode): (Address, u8),
    rule: &Rule,
) -> bool {
    let context = reader.context(mode);
    let mut at = start;
    for index in 0..rule.good {
        let Ok(decoded) = reader.decode(program, at, context) else { return false };
        if index == 0 && rule.frame_follows && !leads_to_frame(program, start, decoded.flow) {
            return false;
        }
        let length = u64::from(decoded.length) + u64::from(decoded.delay_bytes);
        if decoded.flow == FlowType::Invalid {
            return false;
        }
        match at.checked_add(length.max(1)).filter(|_| decoded.flow.has_fall_through()) {
            Some(next) => at = next,
            None => return true,
        }
    }
    true
}

/// Whether the first instruction of a function may stand before the one that makes its frame: a call
/// would lose the return address, and what ends a flow, or is no instruction at all, belongs to the
/// code or data before.
fn leads_to_frame(program: &Program, start: Address, flow: FlowType) -> bool {
    let word = program.memory.read_uint(start, 4).unwrap_or(0);
    let reserved = word >> 16 == 0;
    flow == FlowType::FallThrough && !reserved
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
        // One of them saved, given another register's value, then RBP.
        [0x41, 0x54..=0x57, 0x48 | 0x49, 0x89, 0xc0..=0xff, 0x55, ..] => true,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_told_from_other_code() {
        assert!(begins_x64(&[0x41, 0x57, 0x41, 0x56, 0x55]));
        assert!(begins_x64(&[0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5]));
        assert!(!begins_x64(&[0x41, 0x57, 0x49, 0x89, 0xff]));
        assert!(begins_x64(&[0x41, 0x54, 0x49, 0x89, 0xfc, 0x55, 0x53]));
        assert!(!begins_x64(&[0x48, 0x8b, 0x07]));
        assert!(begins_x86(&[0x56, 0x53, 0x83, 0xec, 0x14]));
        assert!(!begins_x86(&[0x53, 0x8b, 0x44, 0x24]));
    }

    #[test]
    fn code_ends_in_returns_jumps_and_fillers() {
        assert!(ends_x86(&[0x5b, 0xc3]));
        assert!(ends_x86(&[0xc3, 0x0f, 0x1f, 0x44, 0, 0]));
        assert!(ends_x86(&[0xe9, 1, 2, 3, 4]));
        assert!(!ends_x86(&[0xe8, 1, 2, 3, 4]));
    }
}
