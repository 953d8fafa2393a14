//! Reachable code of one function: what flow from its entry leads to by jumps and by falling
//! through, as the engine follows it, whatever the listing states to be the function's body.

use std::collections::HashSet;

use program::{
    Address as Place, AddressRange, AddressSet, FlowOverride, FlowType, Function, Instruction,
    Program, SpaceId,
};

/// Instructions that are followed at most.
const MAX_INSTRUCTIONS: usize = 1 << 18;

/// The code that one function runs over.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// Its instructions, and the function's own body.
    pub(crate) code: AddressSet,
    /// Instructions whose flow is not what they say, in order, with the engine's word for it.
    pub(crate) changes: Vec<(Place, &'static str)>,
}

/// Follows the flow of a function. Cost: linear in the code that it reaches.
pub(crate) fn reach(program: &Program, function: &Function) -> Reach {
    let mut seen: HashSet<Place> = HashSet::new();
    let mut changes = Vec::new();
    let mut ranges = function.body.ranges().to_vec();
    // What the listing does not lead to yet may be the cases of a table that the engine finds.
    let body = function.body.ranges().iter();
    let inside = body.flat_map(|range| program.listing.instructions.range(range.start..=range.end));
    let mut open: Vec<Place> = inside.map(|(at, _)| *at).collect();
    open.push(function.entry);
    while let Some(at) = open.pop() {
        if seen.contains(&at) || seen.len() >= MAX_INSTRUCTIONS {
            continue;
        }
        let Some(instruction) = program.listing.instructions.get(&at) else { continue };
        seen.insert(at);
        let next = program.listing.fall_through(at, instruction);
        let behind = behind(program, at, instruction);
        ranges.extend(behind.and_then(|behind| AddressRange::new(at, behind.checked_sub(1)?)));
        let change = flow_change(program, at, instruction);
        changes.extend(change.map(|change| (at, change)));
        let passes_on = change == Some("callreturn");
        open.extend(next.filter(|_| !passes_on));
        if instruction.effective_flow().is_jump() && !passes_on {
            let jumps = program.references.from(at).filter(|r| r.info.kind.is_jump());
            open.extend(jumps.map(|jump| jump.to).filter(|to| to.space == SpaceId::RAM));
        }
    }
    changes.sort_unstable();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    Reach { code: ranges.into_iter().collect(), changes }
}

/// The place behind an instruction and what stands in its delay slots.
fn behind(program: &Program, at: Place, instruction: &Instruction) -> Option<Place> {
    let instructions = &program.listing.instructions;
    let mut next = at.checked_add(u64::from(instruction.length))?;
    while let Some(slot) = instructions.get(&next).filter(|slot| slot.in_delay_slot) {
        next = next.checked_add(u64::from(slot.length))?;
    }
    Some(next)
}

/// The engine's word for what an instruction does instead of what it says.
fn flow_change(program: &Program, at: Place, instruction: &Instruction) -> Option<&'static str> {
    match instruction.flow_override {
        FlowOverride::Branch => Some("branch"),
        FlowOverride::Call => Some("call"),
        FlowOverride::CallReturn => Some("callreturn"),
        FlowOverride::Return => Some("return"),
        // The jump a thunk consists of is a call in all but name, where there is a place for
        // what it leads to.
        FlowOverride::None if instruction.flow == FlowType::ComputedJump => {
            let owner = program.functions.containing(at)?;
            let known = owner.thunk_of.is_some_and(|to| to.space == SpaceId::RAM);
            known.then_some("callreturn")
        }
        FlowOverride::None => None,
    }
}
