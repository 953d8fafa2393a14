//! The number that a register holds at one place. Compilers set the address of a table once, far
//! before the jump through it, in a register that calls preserve.

use crate::code::CodeReader;
use crate::jump_tables::{constant_after, ends_in_call};
use decompiler::{PcodeOp, RegisterVarnode, VarSpace, Varnode};
use program::{Address, Program, RefType};
use std::collections::HashSet;

/// Most instructions walked back over.
const INSTRUCTIONS: usize = 4000;

/// Walks back from places of one function.
pub(crate) struct Reaching<'a> {
    pub(crate) program: &'a Program,
    pub(crate) reader: &'a mut CodeReader,
    /// Registers that calls leave alone.
    pub(crate) preserved: &'a [RegisterVarnode],
    /// Where the function starts.
    pub(crate) entry: Address,
}

/// What an instruction does to a register.
enum Effect {
    None,
    Sets(u64),
    Unknown,
}

impl Reaching<'_> {
    /// The number that a register holds on every known way to a place where the function itself
    /// has set it. Cost: the instructions on those ways, bounded.
    pub(crate) fn constant(&mut self, register: &Varnode, at: Address) -> Option<u64> {
        let mut found = None;
        let mut seen = HashSet::from([at]);
        let mut open = vec![at];
        while let Some(here) = open.pop() {
            if here == self.entry || self.program.functions.at(here).is_some() {
                continue;
            }
            for before in self.before(here) {
                if !seen.insert(before) {
                    continue;
                }
                if seen.len() > INSTRUCTIONS {
                    return None;
                }
                match self.effect(register, before) {
                    Effect::None => open.push(before),
                    Effect::Sets(value) if found.is_none_or(|known| known == value) => {
                        found = Some(value);
                    }
                    Effect::Sets(_) | Effect::Unknown => return None,
                }
            }
        }
        found
    }

    /// The instructions from which control comes to a place.
    fn before(&self, at: Address) -> Vec<Address> {
        let listing = &self.program.listing;
        let before = at.checked_sub(1).and_then(|end| listing.instruction_containing(end));
        let falls = before.filter(|(start, instruction)| {
            let flow = instruction.effective_flow();
            flow.has_fall_through() && !ends_in_call(self.program, *start, flow)
        });
        let jumps = self.program.references.to(at).filter(
            |reference| matches!(reference.info.kind, RefType::Flow(flow) if flow.is_jump()),
        );
        let jumps = jumps.map(|reference| reference.from);
        falls.map(|(start, _)| start).into_iter().chain(jumps).collect()
    }

    fn effect(&mut self, register: &Varnode, at: Address) -> Effect {
        let Some(instruction) = self.program.listing.instructions.get(&at) else {
            return Effect::Unknown;
        };
        if instruction.effective_flow().is_call() && !self.is_preserved(register) {
            return Effect::Unknown;
        }
        let mut ops: Vec<PcodeOp> = Vec::new();
        let context = self.reader.context(instruction.mode);
        if self.reader.pcode(self.program, at, context, &mut ops).is_err() {
            return Effect::Unknown;
        }
        if !ops.iter().filter_map(|op| op.output.as_ref()).any(|out| overlap(out, register)) {
            return Effect::None;
        }
        match constant_after(self.program, self.reader, register, at) {
            Some(value) => Effect::Sets(value),
            None => Effect::Unknown,
        }
    }

    fn is_preserved(&self, register: &Varnode) -> bool {
        let end = register.offset.saturating_add(u64::from(register.size));
        self.preserved.iter().any(|kept| {
            kept.offset <= register.offset
                && end <= kept.offset.saturating_add(u64::from(kept.size))
        })
    }
}

fn overlap(a: &Varnode, b: &Varnode) -> bool {
    let end = |place: &Varnode| place.offset.saturating_add(u64::from(place.size));
    a.space == VarSpace::Register
        && b.space == VarSpace::Register
        && a.offset < end(b)
        && b.offset < end(a)
}
