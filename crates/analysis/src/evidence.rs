//! Functions that cannot return, as the places behind their calls show: another function, bytes
//! that are no code, a breakpoint that fills a gap.
//!
//! Code may hide that a function never returns (it waits for ever, halts, or calls what another
//! file holds), but compilers put nothing behind such calls. One such place may be a mistake;
//! several calls of one function with nothing behind them are none.

use program::{Address, FlowOverride, FlowType, Program, Reference, SpaceId};
use std::collections::{BTreeMap, BTreeSet};

/// Calls with nothing behind them that prove that a function does not return.
const ENOUGH: usize = 3;
/// Instructions between a call and what stands behind it that are looked at.
const PADDING: usize = 64;
/// What x86 compilers fill gaps with.
const BREAKPOINT: u8 = 0xcc;

/// Functions that calls show never to return and that are not known not to. `starts` are places
/// where code starts besides the functions. Cost: linear in the calls.
pub(crate) fn find(program: &Program, starts: &BTreeSet<Address>) -> Vec<Address> {
    let mut seen: BTreeMap<Address, usize> = BTreeMap::new();
    for call in program.references.iter() {
        if is_open(program, &call) && has_nothing_behind(program, &call, starts) {
            *seen.entry(call.to).or_default() += 1;
        }
    }
    seen.into_iter().filter(|(_, calls)| *calls >= ENOUGH).map(|(callee, _)| callee).collect()
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

fn has_nothing_behind(program: &Program, call: &Reference, starts: &BTreeSet<Address>) -> bool {
    let is_x86 = program.info.language_id.starts_with("x86:");
    let mut at = call.from;
    for _ in 0..PADDING {
        let Some(next) = behind(program, at) else { return false };
        if program.functions.at(next).is_some() || starts.contains(&next) {
            return true;
        }
        let Some(instruction) = program.listing.instructions.get(&next) else { return true };
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
