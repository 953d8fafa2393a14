//! Functions that cannot return, as the places behind their calls show: another function, bytes
//! that are no code, a breakpoint that fills a gap.
//!
//! Code may hide that a function never returns (it waits for ever, halts, or calls what another
//! file holds), but compilers put nothing behind such calls. One such place may be a mistake;
//! several calls of one function with nothing behind them are none.

use crate::code::CodeReader;
use crate::no_return;
use crate::unwind;
use decompiler::Language;
use program::{Address, AddressRange, FlowOverride, FlowType, Program, Reference, SpaceId};
use std::collections::{BTreeMap, BTreeSet};

/// Calls with nothing behind them that prove that a function does not return.
const ENOUGH: usize = 3;
/// Instructions between a call and what stands behind it that are looked at.
const PADDING: usize = 64;
/// What x86 compilers fill gaps with.
const BREAKPOINT: u8 = 0xcc;

/// Functions that calls show never to return and that are not known not to. `starts` are places
/// where code starts besides the functions. Cost: linear in the calls.
pub(crate) fn find(
    program: &Program,
    language: &Language,
    starts: &BTreeSet<Address>,
) -> Vec<Address> {
    let mut reader = CodeReader::new(language);
    let mut seen: BTreeMap<Address, usize> = BTreeMap::new();
    for call in program.references.iter() {
        if is_open(program, &call) && has_nothing_behind(program, &mut reader, &call, starts) {
            *seen.entry(call.to).or_default() += 1;
        }
    }
    enough(seen).collect()
}

/// Functions that the exception tables show never to return before any code is decoded: calls of
/// them are the last that several functions hold. To know them at once spares exploring all of a
/// program twice. Cost: linear in the functions of the tables.
pub(crate) fn in_tables(program: &Program, language: &Language) -> BTreeSet<Address> {
    let bodies = unwind::frames(program).iter().map(|f| (f.body.start, f.body)).collect();
    called_last(program, language, &bodies)
}

/// Those of some functions, by entry, that are the last that several of them call.
fn called_last(
    program: &Program,
    language: &Language,
    bodies: &BTreeMap<Address, AddressRange>,
) -> BTreeSet<Address> {
    let mut reader = CodeReader::new(language);
    let mut seen: BTreeMap<Address, usize> = BTreeMap::new();
    for body in bodies.values() {
        let Some(callee) = last_call(program, &mut reader, *body) else { continue };
        if bodies.contains_key(&callee) && !no_return::comes_back(program, callee) {
            *seen.entry(callee).or_default() += 1;
        }
    }
    enough(seen).collect()
}

/// Whom the last instruction of a function calls, delay slot included.
fn last_call(program: &Program, reader: &mut CodeReader, body: AddressRange) -> Option<Address> {
    let context = reader.context(program.mode_at(body.start));
    let is_x86 = reader.language().processor() == "x86";
    let lengths: &[u64] = if is_x86 { &[5] } else { &[4, 8] };
    lengths.iter().find_map(|length| {
        let at = Address::ram(body.end.offset.checked_sub(length - 1)?);
        let call = reader.decode(program, at, context).ok().filter(|_| at >= body.start)?;
        let is_last = u64::from(call.length) + u64::from(call.delay_bytes) == *length;
        let callee = Address::ram(*call.flow_targets.first()?);
        let leaves = !body.contains(callee) || callee == body.start;
        (call.flow == FlowType::UnconditionalCall && is_last && leaves).then_some(callee)
    })
}

fn enough(calls: BTreeMap<Address, usize>) -> impl Iterator<Item = Address> {
    calls.into_iter().filter(|(_, calls)| *calls >= ENOUGH).map(|(callee, _)| callee)
}

/// Whether a reference is a call that is taken to come back.
fn is_open(program: &Program, call: &Reference) -> bool {
    let ends_here = call.info.kind.is_call() && call.from.space == SpaceId::RAM;
    let instruction = program.listing.instructions.get(&call.from).filter(|_| ends_here);
    let goes_on = instruction.is_some_and(|i| {
        i.flow.is_call()
            && i.flow.has_fall_through()
            && !i.flow.is_conditional()
            && i.flow_override == FlowOverride::None
    });
    // A call of the next instruction only asks where it is.
    goes_on
        && behind(program, call.from) != Some(call.to)
        && program.functions.at(call.to).is_some_and(|f| !f.no_return && f.call_fixup.is_none())
        && !no_return::is_stated_to_return(program, call.to)
}

/// The place behind an instruction and those in its delay slots.
fn behind(program: &Program, at: Address) -> Option<Address> {
    let instructions = &program.listing.instructions;
    let mut next = at.checked_add(u64::from(instructions.get(&at)?.length))?;
    while let Some(slot) = instructions.get(&next).filter(|i| i.in_delay_slot) {
        next = next.checked_add(u64::from(slot.length))?;
    }
    Some(next)
}

fn has_nothing_behind(
    program: &Program,
    reader: &mut CodeReader,
    call: &Reference,
    starts: &BTreeSet<Address>,
) -> bool {
    let is_x86 = program.info.language_id.starts_with("x86:");
    let mut at = call.from;
    for _ in 0..PADDING {
        let Some(next) = behind(program, at) else { return false };
        if program.functions.at(next).is_some() || starts.contains(&next) {
            return true;
        }
        let Some(instruction) = program.listing.instructions.get(&next) else {
            return !is_contested(program, reader, next);
        };
        if is_x86 && program.memory.read_array(next) == Some([BREAKPOINT]) {
            return true;
        }
        if instruction.flow != FlowType::FallThrough {
            return false;
        }
        at = next;
    }
    false
}

/// Whether an instruction could stand at a place if others were not decoded across it: somebody
/// was mistaken there, which proves nothing.
fn is_contested(program: &Program, reader: &mut CodeReader, at: Address) -> bool {
    let context = reader.context(program.mode_at(at));
    let Ok(instruction) = reader.decode(program, at, context) else { return false };
    let last = at.checked_add(u64::from(instruction.length.saturating_sub(1))).unwrap_or(at);
    program.listing.instruction_containing(at).is_some()
        || program.listing.instructions.range(at..=last).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::{BlockSource, DataOrganization, MemoryBlock, Permissions, ProgramInfo};

    /// Who is called last by functions of the given code, one of each length behind the other.
    fn last(language_id: &str, code: &[&[u8]]) -> Vec<u64> {
        let language =
            Language::open(language_id, "gcc").or(Language::open(language_id, "default"));
        let info = ProgramInfo { language_id: language_id.into(), ..ProgramInfo::default() };
        let mut program = Program::new(info, false, DataOrganization::default());
        let bytes = code.concat();
        let (length, source) = (bytes.len(), bytes.as_slice().into());
        let source = BlockSource::Bytes { bytes: source, offset: 0, length };
        let mut block = MemoryBlock::new(".text", Address::ram(0x1000), length as u64, source);
        block.permissions = Permissions { read: true, execute: true, ..block.permissions };
        program.memory.add_block(block).expect("is alone");
        let mut at = Address::ram(0x1000);
        let mut bodies = BTreeMap::new();
        for function in code {
            let body = AddressRange::with_length(at, function.len() as u64).expect("fits");
            bodies.insert(at, body);
            at = body.end.checked_add(1).expect("fits");
        }
        let found = called_last(&program, &language.expect("is built in"), &bodies);
        found.into_iter().map(|at| at.offset).collect()
    }

    #[test]
    fn three_functions_that_end_in_a_call_tell() {
        // jmp [rdi]; then three times nop; call 1000
        let [first, second, third] =
            [0xf8u8, 0xf2, 0xec].map(|to| [0x90, 0xe8, to, 0xff, 0xff, 0xff]);
        let x86 = "x86:LE:64:default";
        assert_eq!(last(x86, &[b"\xff\x27", &first, &second, &third]), [0x1000]);
        assert_eq!(last(x86, &[b"\xff\x27", &first, &second]), [0; 0]);
        // The third goes on behind the call.
        let goes_on = [third.as_slice(), b"\xc3"].concat();
        assert_eq!(last(x86, &[b"\xff\x27", &first, &second, &goes_on]), [0; 0]);
    }

    #[test]
    fn a_delay_slot_belongs_to_the_call() {
        // jr t9; nop; then three times jal 1000; nop
        let call = b"\x00\x04\x00\x0c\0\0\0\0".as_slice();
        let found = last("MIPS:LE:32:default", &[b"\x08\x00\x20\x03\0\0\0\0", call, call, call]);
        assert_eq!(found, [0x1000]);
    }
}
