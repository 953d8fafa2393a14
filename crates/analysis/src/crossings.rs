//! Functions that are known by the jumps to them: a function lies in one piece, so that a jump over
//! the start of another one leaves it, and what it leads to is a function that returns in its
//! place.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;

use foldhash::fast::FixedState;
use program::{Address, FlowType, Program, RefType, SourceType};

/// Functions are aligned to 16 bytes at most.
const LONGEST_FILLER: u64 = 16;

/// Finds such functions in rounds, between which code is decoded and functions are made.
#[derive(Default)]
pub(crate) struct Crossings {
    round: usize,
    /// The round that found each function made.
    made: HashMap<Address, usize, FixedState>,
    /// The round that found each jump of code without a function decoded.
    strays: HashMap<Address, usize, FixedState>,
}

impl Crossings {
    /// Takes note of the functions that are there before code is decoded.
    pub(crate) fn note_functions(&mut self, program: &Program) {
        for function in program.functions.iter() {
            self.made.entry(function.entry).or_insert(self.round);
        }
        self.round += 1;
    }

    /// Places without a function that code jumps to although a function starts in between, unless
    /// the code before them goes on there. So are those that a function leads to which is nothing
    /// but a jump through a pointer. Jumps of code that has no function itself say so only of
    /// functions made after it was decoded. Cost: linear in the instructions.
    pub(crate) fn find(&mut self, program: &Program) -> BTreeSet<Address> {
        self.note_functions(program);
        let mut found = BTreeSet::new();
        for (at, instruction) in program.listing.instructions.iter() {
            let flow = instruction.effective_flow();
            if !matches!(flow, FlowType::UnconditionalJump | FlowType::ComputedJump) {
                continue;
            }
            let Some(to) = only_destination(program, *at, flow) else { continue };
            let is_known = program.functions.at(to).is_some();
            if is_known || !program.listing.instructions.contains_key(&to) {
                continue;
            }
            let alone = flow == FlowType::ComputedJump && program.functions.at(*at).is_some();
            if (alone || self.is_over_function(program, *at, to)) && !is_fallen_into(program, to) {
                found.insert(to);
            }
        }
        found
    }

    fn is_over_function(&mut self, program: &Program, at: Address, to: Address) -> bool {
        let between = (Bound::Excluded(to.min(at)), Bound::Excluded(to.max(at)));
        let mut between = program.functions.range(between);
        if program.functions.containing(at).is_some() {
            return between.next().is_some();
        }
        let decoded = *self.strays.entry(at).or_insert(self.round);
        let since = decoded.max(2);
        between.any(|function| self.made.get(&function.entry).is_some_and(|made| made + 1 >= since))
    }
}

/// Whether code goes on at a place that is reached by other ways than tables of jumps. What only
/// tables lead to is not there yet when functions are told apart by their jumps.
fn is_fallen_into(program: &Program, at: Address) -> bool {
    if is_behind_late_call(program, at) {
        return true;
    }
    let Some(mut first) = program.listing.fall_from(at) else { return false };
    let by_table = |r: &program::Reference| r.info.kind == RefType::Flow(FlowType::ComputedJump);
    loop {
        let mut flows = program.references.to(first).filter(|r| r.info.kind.is_flow()).peekable();
        let reached = flows.peek().is_some();
        if program.functions.at(first).is_some() || flows.any(|r| !by_table(&r)) {
            return true;
        }
        match program.listing.fall_from(first) {
            Some(before) => first = before,
            None => return !reached,
        }
    }
}

/// Whether a place lies behind a call, and fillers at most, of a function that only its other calls
/// showed never to return: it goes on there as long as that is not known.
fn is_behind_late_call(program: &Program, at: Address) -> bool {
    let Some((call, instruction)) = program.listing.instructions.range(..at).next_back() else {
        return false;
    };
    let distance = at.distance_from(*call);
    let gap = distance.and_then(|distance| distance.checked_sub(u64::from(instruction.length)));
    if gap.is_none_or(|gap| gap >= LONGEST_FILLER)
        || !instruction.flow.is_call()
        || instruction.effective_flow().has_fall_through()
    {
        return false;
    }
    let mut callees = program.references.from(*call).filter(|r| r.info.kind.is_call());
    let callee = callees.next().and_then(|r| program.functions.at(r.to));
    callee.is_some_and(|callee| {
        let symbol = program.symbols.get(callee.symbol);
        callee.thunk_of.is_none() && symbol.is_some_and(|s| s.source == SourceType::Default)
    })
}

/// Where a jump leads, if that is one place.
fn only_destination(program: &Program, at: Address, flow: FlowType) -> Option<Address> {
    let direct =
        |r: &program::Reference| r.to.space == at.space && r.info.kind == RefType::Flow(flow);
    let mut destinations = program.references.from(at).filter(direct);
    let first = destinations.next()?;
    destinations.all(|other| other.to == first.to).then_some(first.to)
}
