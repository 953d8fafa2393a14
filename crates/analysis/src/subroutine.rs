//! Whether bytes that nobody decoded yet are a subroutine: followed from a place along all of its
//! flows they must be good instructions that end in a return, a computed jump or another function,
//! and disagree with nothing that is known already.

use crate::code::CodeReader;
use decompiler::{Context, Decoded, Opcode, PcodeOp};
use program::{Address, AddressRange, AddressSet, Program};
use std::collections::{BTreeMap, HashSet, VecDeque};

/// Instructions that are looked at.
const LONGEST: usize = 4000;
/// So many instructions in a row that repeat one and the same byte are data.
const REPEATED: usize = 4;
/// Code does not begin with so many zero bytes.
const ZEROS: usize = 8;

/// Instructions that may be looked at in a program beside those that its size allows.
const ALWAYS: u64 = 1 << 16;

/// How many instructions may still be looked at, for all places together: one place may cost some
/// thousand of them, and each byte of a file may be such a place.
pub(crate) struct Budget(u64);

impl Budget {
    /// Every byte that can be executed may be looked at as an instruction, and more.
    pub(crate) fn of(program: &Program) -> Budget {
        let code = program.memory.blocks().iter();
        let code = code.filter(|block| block.permissions.execute && block.is_initialized());
        let bytes = code.fold(0u64, |sum, block| sum.saturating_add(block.length));
        Budget(bytes.saturating_mul(2).saturating_add(ALWAYS))
    }

    /// Whether nothing is left.
    pub(crate) fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

/// Looks at code without decoding it into the listing.
pub(crate) struct Subroutines<'a> {
    program: &'a Program,
    reader: &'a mut CodeReader,
    budget: &'a mut Budget,
    pcode: Vec<PcodeOp>,
}

/// What following one place found so far.
#[derive(Default)]
struct Walk {
    /// Lengths of instructions, by their start.
    starts: BTreeMap<u64, u64>,
    /// Destinations of jumps that must turn out to be instructions.
    targets: HashSet<u64>,
    /// Those of them that were not followed yet.
    untried: VecDeque<u64>,
    returned: bool,
    /// Whether it calls or jumps to a known function.
    reaches_function: bool,
    repeated: usize,
    last: Option<u8>,
}

impl Walk {
    fn next_target(&mut self) -> Option<u64> {
        self.repeated = 0;
        self.last = None;
        while let Some(target) = self.untried.pop_front() {
            if !self.covers(target) {
                return Some(target);
            }
        }
        None
    }

    /// Whether an instruction is at an offset or reaches over it.
    fn covers(&self, at: u64) -> bool {
        let before = self.starts.range(..=at).next_back();
        before.is_some_and(|(start, length)| at - start < *length)
    }

    /// Notes an instruction; whether too many were like it.
    fn repeats(&mut self, bytes: &[u8]) -> bool {
        let same = bytes.split_first().filter(|(first, rest)| rest.iter().all(|b| b == *first));
        let byte = same.map(|(first, _)| *first);
        self.repeated = if byte.is_some() && byte == self.last { self.repeated + 1 } else { 0 };
        self.last = byte;
        self.repeated >= REPEATED
    }
}

impl<'a> Subroutines<'a> {
    pub(crate) fn new(
        program: &'a Program,
        reader: &'a mut CodeReader,
        budget: &'a mut Budget,
    ) -> Subroutines<'a> {
        Subroutines { program, reader, budget, pcode: Vec::new() }
    }

    /// Whether a subroutine may begin at an address. It may run into decoded code only where
    /// `joins` says so. Cost: linear in its instructions, of which it looks at a limited number.
    pub(crate) fn is_valid(&mut self, entry: Address, mode: u8, joins: bool) -> bool {
        let context = self.reader.context(mode);
        let head = self.program.memory.run(entry);
        if head.len() < ZEROS || head[..ZEROS].iter().all(|byte| *byte == 0) {
            return false;
        }
        let mut walk = Walk::default();
        if self.walk(&mut walk, entry, context).is_none() {
            return false;
        }
        walk.targets.iter().all(|target| walk.starts.contains_key(target))
            && (walk.returned || walk.reaches_function)
            && self.agrees(&walk, (entry, mode), joins)
    }

    /// Follows all flows; `None` where something is no code, has no end or costs too much.
    fn walk(&mut self, walk: &mut Walk, entry: Address, context: Context) -> Option<()> {
        let mut next = Some(entry.offset);
        for _ in 0..LONGEST {
            let Some(at) = next else { return Some(()) };
            if walk.starts.contains_key(&at) {
                next = walk.next_target();
                continue;
            }
            self.budget.0 = self.budget.0.checked_sub(1)?;
            let address = Address::new(entry.space, at);
            self.pcode.clear();
            let decoded =
                self.reader.pcode(self.program, address, context, &mut self.pcode).ok()?;
            let length = u64::from(decoded.length) + u64::from(decoded.delay_bytes);
            let bytes = self.program.memory.run(address);
            if walk.repeats(bytes.get(..usize::from(decoded.length))?) {
                return None;
            }
            walk.starts.insert(at, length);
            next = self.leave(walk, at, length, &decoded)?;
        }
        None
    }

    /// Where to go on behind an instruction.
    fn leave(
        &mut self,
        walk: &mut Walk,
        at: u64,
        length: u64,
        decoded: &Decoded,
    ) -> Option<Option<u64>> {
        let flow = decoded.flow;
        if flow.is_terminal() {
            walk.returned |= self.pcode.iter().any(|op| op.opcode == Opcode::Return);
        }
        if flow.is_call() {
            for target in &decoded.flow_targets {
                let place = Address::ram(*target);
                walk.reaches_function |= self.program.functions.at(place).is_some();
                let block = self.program.memory.block_at(place);
                if block.is_some_and(|b| {
                    !b.permissions.execute && b.permissions.read && !b.permissions.artificial
                }) {
                    return None;
                }
            }
            if self.never_returns(decoded) {
                return Some(walk.next_target());
            }
        }
        let mut next = decoded.fall_through.filter(|_| flow.has_fall_through());
        if flow.is_jump() {
            walk.returned |= flow.is_computed();
            let mut onward = None;
            for target in &decoded.flow_targets {
                if Some(*target) == next && decoded.delay_slots == 0 {
                    return None;
                }
                if self.program.functions.at(Address::ram(*target)).is_some() {
                    walk.reaches_function = true;
                    continue;
                }
                if self.is_inside(*target) {
                    return None;
                }
                walk.targets.insert(*target);
                walk.untried.push_back(*target);
                onward = onward.or(Some(*target)).filter(|target| !walk.covers(*target));
            }
            let behind = at.wrapping_add(length);
            if !flow.has_fall_through() {
                next = if walk.targets.contains(&behind) { Some(behind) } else { onward };
            }
        } else if next.is_none() {
            let behind = at.wrapping_add(length);
            next = walk.targets.contains(&behind).then_some(behind);
        }
        Some(next.or_else(|| walk.next_target()))
    }

    /// Whether a place belongs to a known function: what jumps there belongs to it too.
    fn is_inside(&self, at: u64) -> bool {
        let place = Address::ram(at);
        self.program.functions.containing(place).is_some_and(|f| f.entry != place)
    }

    /// Whether a call ends the path.
    fn never_returns(&self, decoded: &Decoded) -> bool {
        let callee = decoded.flow_targets.first().map(|target| Address::ram(*target));
        callee
            .and_then(|callee| self.program.functions.at(callee))
            .is_some_and(|function| function.no_return)
    }

    /// Whether the code lies in memory that can be executed, on nothing that is defined, and is
    /// referred to in its middle by nobody.
    fn agrees(&self, walk: &Walk, (entry, mode): (Address, u8), joins: bool) -> bool {
        let ranges = walk.starts.iter().filter_map(|(start, length)| {
            AddressRange::with_length(Address::new(entry.space, *start), *length)
        });
        let body: AddressSet = ranges.collect();
        let listing = &self.program.listing;
        let references = &self.program.references;
        let entries: HashSet<u64> = walk.starts.keys().copied().collect();
        // Where modes differ, the lowest bit of a pointer to code chooses one.
        let chosen = mode != 0 || self.reader.language().thumb_mode() == Some(mode);
        let code_at = |at: Address| at.offset & !u64::from(chosen);
        let good = |range: &AddressRange| {
            let executable = self
                .program
                .memory
                .block_at(range.start)
                .is_some_and(|b| b.permissions.execute && range.end <= b.end());
            let data = listing.data_containing(range.start).is_some()
                || listing.data.range(range.start..=range.end).next().is_some();
            let code = || {
                listing.instruction_containing(range.start).is_some()
                    || listing.instructions.range(range.start..=range.end).next().is_some()
            };
            let mut into = references.destinations(range.start, range.end);
            let referred = if joins {
                into.any(|at| !entries.contains(&code_at(at)))
            } else {
                into.any(|at| code_at(at) != entry.offset)
            };
            executable && !data && !referred && (joins || !code())
        };
        let single = walk.starts.len() == 1 && !walk.reaches_function;
        (joins || !single) && body.ranges().iter().all(good)
    }
}
