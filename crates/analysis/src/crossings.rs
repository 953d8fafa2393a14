//! Functions that are known by the jumps to them: a function lies in one piece, so that a jump over
//! the start of another one leaves it, and what it leads to is a function that returns in its
//! place.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Bound;

use foldhash::fast::FixedState;
use program::{Address, FlowType, Program, RefType, Reference, SourceType};

use crate::{cold_parts, unwind};

/// Functions are aligned to 16 bytes at most.
const LONGEST_FILLER: u64 = 16;

/// Finds such functions in rounds, between which code is decoded and functions are made.
#[derive(Default)]
pub(crate) struct Crossings {
    /// The look that first saw each function.
    known: HashMap<Address, usize, FixedState>,
    /// The look that first saw each jump of code without a function.
    strays: HashMap<Address, usize, FixedState>,
    looks: usize,
}

/// What one look goes by.
struct Look {
    /// Functions made since the last look, in order.
    fresh: BTreeSet<Address>,
    /// Parts of functions that lie apart from them, which are no functions of their own.
    cold: BTreeSet<Address>,
    /// At the first look, code without functions that the file states: such parts, and what
    /// exceptions lead to.
    stated: Option<BTreeSet<Address>>,
}

impl Crossings {
    /// Takes note of the functions that are there before code is decoded.
    pub(crate) fn note_functions(&mut self, program: &Program) {
        for function in program.functions.iter() {
            self.known.entry(function.entry).or_insert(self.looks);
        }
        self.looks += 1;
    }

    /// Places without a function that code jumps to although a function starts in between, unless
    /// the code before them goes on there, a condition leads there as well, or it is known to be
    /// a function's own part. So are those that a function leads to which is nothing but a jump
    /// through a pointer. Jumps of code that has no function itself are looked at if the file
    /// states that code, and later when a function beside them, or between, is made. Cost: linear
    /// in the instructions.
    pub(crate) fn find(&mut self, program: &Program) -> BTreeSet<Address> {
        let entries = program.functions.iter().map(|function| function.entry);
        let fresh = entries.filter(|entry| !self.known.contains_key(entry)).collect();
        let cold = cold_parts::entries(program);
        let stated = self.known.is_empty().then(|| {
            let [_, landing_pads] = unwind::code_starts(program);
            landing_pads.into_iter().chain(cold.iter().copied()).collect()
        });
        self.note_functions(program);
        let look = Look { fresh, cold, stated };
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
            if (alone || self.leaves_function(&look, program, *at, to))
                && !look.cold.contains(&to)
                && !is_conditional(program, to)
                && !is_fallen_into(program, to)
            {
                found.insert(to);
            }
        }
        found
    }

    /// Whether a jump leads over the start of a function.
    fn leaves_function(
        &mut self,
        look: &Look,
        program: &Program,
        at: Address,
        to: Address,
    ) -> bool {
        let between = (Bound::Excluded(to.min(at)), Bound::Excluded(to.max(at)));
        let mut between = program.functions.range(between).peekable();
        if between.peek().is_none() {
            return false;
        }
        if program.functions.containing(at).is_some() {
            return true;
        }
        // A function made right before the jump was seen may be why its code was found.
        let since = (*self.strays.entry(at).or_insert(self.looks)).max(2);
        if let Some(stated) = &look.stated {
            return comes_from(program, at, (|place| stated.contains(&place), false));
        }
        let last = Address { space: at.space, offset: u64::MAX };
        let behind = program.functions.range((Bound::Excluded(at), Bound::Included(last))).next();
        let beside = [program.functions.range(..=at).next_back(), behind];
        beside.into_iter().flatten().any(|function| look.fresh.contains(&function.entry))
            || between.any(|function| {
                self.known.get(&function.entry).is_some_and(|made| made + 1 >= since)
            })
    }
}

/// Whether a condition decides on one of the ways to a place that are there early.
fn is_conditional(program: &Program, at: Address) -> bool {
    let ways = program.references.to(at);
    let conditional =
        |r: &Reference| matches!(r.info.kind, RefType::Flow(flow) if flow.is_conditional());
    ways.filter(conditional).any(|way| is_there_early(program, way.from))
}

/// Whether code goes on at a place that is reached by other ways than tables of jumps.
fn is_fallen_into(program: &Program, at: Address) -> bool {
    is_behind_late_call(program, at)
        || program.listing.fall_from(at).is_some_and(|before| is_there_early(program, before))
}

/// Stretches of code that are looked at to find out how one is reached.
const STRETCHES: usize = 64;
/// Instructions that are looked at for the same.
const INSTRUCTIONS: usize = 1 << 12;

/// Whether an instruction is reached by other ways than tables of jumps. What only tables lead to
/// is not there yet when functions are told apart by their jumps.
fn is_there_early(program: &Program, at: Address) -> bool {
    comes_from(program, at, (|place| program.functions.at(place).is_some(), true))
}

/// Whether control comes to an instruction, tables of jumps aside, from a place that is looked
/// for, or else, where `otherwise` says so, from code that nothing leads to or too far away.
fn comes_from(
    program: &Program,
    at: Address,
    (is_source, otherwise): (impl Fn(Address) -> bool, bool),
) -> bool {
    let by_table = |r: &Reference| r.info.kind == RefType::Flow(FlowType::ComputedJump);
    let mut seen: HashSet<Address, FixedState> = HashSet::default();
    let mut open = vec![at];
    while let Some(at) = open.pop() {
        if open.len() >= STRETCHES || seen.len() >= INSTRUCTIONS {
            return otherwise;
        }
        let mut reached = false;
        let mut place = Some(at);
        while let Some(at) = place.filter(|at| seen.insert(*at)) {
            if is_source(at) {
                return true;
            }
            for way in program.references.to(at).filter(|r| r.info.kind.is_flow()) {
                reached = true;
                open.extend(Some(way.from).filter(|_| !by_table(&way)));
            }
            place = program.listing.fall_from(at);
            if place.is_none() && !reached && otherwise {
                return true;
            }
        }
    }
    false
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
    let direct = |r: &Reference| r.to.space == at.space && r.info.kind == RefType::Flow(flow);
    let mut destinations = program.references.from(at).filter(direct);
    let first = destinations.next()?;
    destinations.all(|other| other.to == first.to).then_some(first.to)
}
