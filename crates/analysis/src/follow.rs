//! Follows the code of one function along its flows, with what registers and memory hold.
//!
//! Every flow from one instruction to another is taken once. A path that reaches code which was
//! followed before goes on for a few instructions, to bring its values to the next call, and then
//! stops; the work is linear in the instructions and the flows between them.

use crate::code::CodeReader;
use crate::machine::Machine;
use crate::stack::StackAccess;
use crate::values::{Cells, State};
use decompiler::{Opcode, PcodeOp};
use foldhash::{HashMap, HashSet};
use program::{Address, AddressSet, FlowOverride, FlowType, Function, Program, RefType, SpaceId};
use smallvec::SmallVec;
use std::ops::Range;

/// Instructions that a path goes on for in code that was followed before.
const AGAIN: u32 = 16;
/// States kept for later at most.
const PENDING: usize = 1 << 14;

/// What following one function found.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// References by source address, in the order in which they were found.
    pub(crate) references: Vec<(u64, SmallVec<[Found; 2]>)>,
    /// Places of the stack frame that instructions use, in order.
    pub(crate) stack: Vec<StackAccess>,
    /// Places that are called in the other decoding mode.
    pub(crate) other_mode: Vec<Address>,
}

/// One reference found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) to: Address,
    pub(crate) operand: i8,
    pub(crate) kind: RefType,
}

/// One instruction of the function.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) at: u64,
    pub(crate) mode: u8,
    pub(crate) length: u8,
    /// Flow with the override applied.
    pub(crate) flow: FlowType,
    pub(crate) flow_override: FlowOverride,
    pub(crate) delay_slots: u8,
    /// Where control goes on, unless the instruction ends the flow.
    pub(crate) next: Option<u64>,
    ops: Option<Range<usize>>,
    visited: bool,
    entered: bool,
}

/// How a path reaches an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Start,
    FallThrough,
    Conditional,
    Jump,
}

/// A path to be followed later.
struct Pending {
    way: Way,
    from: u64,
    to: u64,
    /// The operation of `to` at which to go on.
    operation: usize,
    /// Instructions already gone on for in known code.
    again: Option<u32>,
    state: State,
    temporaries: Option<Cells>,
}

/// Follows functions of one program, one at a time.
pub(crate) struct Follower<'a> {
    pub(crate) program: &'a Program,
    pub(crate) machine: &'a Machine,
    pub(crate) reader: CodeReader,
    /// The function followed.
    pub(crate) entry: u64,
    pub(crate) steps: Vec<Step>,
    ops: Vec<PcodeOp>,
    pub(crate) state: State,
    pub(crate) temporaries: Cells,
    pending: Vec<Pending>,
    flows: HashSet<(u64, u64)>,
    pub(crate) found: HashMap<u64, SmallVec<[Found; 2]>>,
    pub(crate) stack: Vec<StackAccess>,
    pub(crate) other_mode: Vec<Address>,
    /// Whether any instruction so far did more than go on to the next.
    pub(crate) branched: bool,
}

impl<'a> Follower<'a> {
    pub(crate) fn new(
        program: &'a Program,
        machine: &'a Machine,
        reader: CodeReader,
    ) -> Follower<'a> {
        Follower {
            program,
            machine,
            reader,
            entry: 0,
            steps: Vec::new(),
            ops: Vec::new(),
            state: State::default(),
            temporaries: Cells::default(),
            pending: Vec::new(),
            flows: HashSet::default(),
            found: HashMap::default(),
            stack: Vec::new(),
            other_mode: Vec::new(),
            branched: false,
        }
    }

    /// Follows one function from its entry.
    pub(crate) fn follow(&mut self, function: &Function) -> Facts {
        self.prepare(&function.body);
        self.follow_from(function.entry.offset);
        self.finish()
    }

    /// Follows code that belongs to no function: first from where it is called, then from its
    /// first instruction that nothing led to yet.
    pub(crate) fn follow_rest(&mut self, code: &AddressSet) -> Facts {
        self.prepare(code);
        let program = self.program;
        let called =
            |at: u64| program.references.to(Address::ram(at)).any(|r| r.info.kind.is_call());
        let starts: Vec<u64> = self.steps.iter().map(|step| step.at).collect();
        for at in starts.iter().copied().filter(|at| called(*at)) {
            self.follow_from(at);
        }
        for (index, at) in starts.iter().enumerate() {
            if !self.steps[index].visited && !in_delay_slot(program, *at) {
                self.follow_from(*at);
            }
        }
        // There is no frame where there is no function.
        self.stack.clear();
        self.other_mode.clear();
        for found in self.found.values_mut() {
            found.retain(|found| found.to.space != SpaceId::STACK);
        }
        self.finish()
    }

    fn follow_from(&mut self, entry: u64) {
        self.entry = entry;
        self.state = State::default();
        self.branched = false;
        if self.step_index(entry).is_some() {
            self.set_entry_values();
            self.push(Way::Start, u64::MAX, entry, 0, None, false);
            while let Some(next) = self.pending.pop() {
                self.take(next);
            }
        }
    }

    fn finish(&mut self) -> Facts {
        let mut references: Vec<_> = self.found.drain().collect();
        references.sort_unstable_by_key(|(at, _)| *at);
        let stack = std::mem::take(&mut self.stack);
        Facts { references, stack, other_mode: std::mem::take(&mut self.other_mode) }
    }

    /// Collects the instructions of some code.
    fn prepare(&mut self, code: &AddressSet) {
        self.steps.clear();
        self.ops.clear();
        self.pending.clear();
        self.flows.clear();
        let listing = &self.program.listing;
        for range in code.ranges() {
            for (at, instruction) in listing.instructions.range(range.start..=range.end) {
                let next = self.next_of(*at, instruction);
                self.steps.push(Step {
                    at: at.offset,
                    mode: instruction.mode,
                    length: instruction.length,
                    flow: instruction.effective_flow(),
                    flow_override: instruction.flow_override,
                    delay_slots: instruction.delay_slots,
                    next,
                    ops: None,
                    visited: false,
                    entered: false,
                });
            }
        }
    }

    /// The address after an instruction and its delay slots, if control goes on there.
    fn next_of(&self, at: Address, instruction: &program::Instruction) -> Option<u64> {
        if !instruction.effective_flow().has_fall_through() {
            return None;
        }
        let mut next = at.checked_add(u64::from(instruction.length))?;
        for _ in 0..instruction.delay_slots {
            let slot = self.program.listing.instructions.get(&next)?;
            next = next.checked_add(u64::from(slot.length))?;
        }
        Some(next.offset)
    }

    /// The function's instruction at an address.
    pub(crate) fn step_index(&self, at: u64) -> Option<usize> {
        self.steps.binary_search_by(|step| step.at.cmp(&at)).ok()
    }

    /// Keeps a path for later, with the values as they are.
    fn push(
        &mut self,
        way: Way,
        from: u64,
        to: u64,
        operation: usize,
        again: Option<u32>,
        inside: bool,
    ) {
        if self.pending.len() >= PENDING || way != Way::Start && self.flows.contains(&(from, to)) {
            return;
        }
        let temporaries = inside.then(|| self.temporaries.clone());
        let state = self.state.clone();
        self.pending.push(Pending { way, from, to, operation, again, state, temporaries });
    }

    /// Follows one path until it ends.
    fn take(&mut self, path: Pending) {
        let Pending { way, from, to, operation, mut again, state, temporaries } = path;
        self.state = state;
        self.temporaries = temporaries.unwrap_or_default();
        if way == Way::Jump && self.leaves_function(from, to) {
            return;
        }
        let Some(mut index) = self.step_index(to) else { return };
        if !self.flows.insert((from, to)) {
            return;
        }
        let known = std::mem::replace(&mut self.steps[index].entered, true);
        if known || self.steps[index].visited {
            again = again.or(Some(0));
        }
        let mut operation = operation;
        let mut first = true;
        loop {
            if !self.steps[index].visited {
                again = None;
            }
            let goes_on = self.run(index, operation, again);
            operation = 0;
            self.after(index);
            let step = &mut self.steps[index];
            if std::mem::replace(&mut step.visited, true) && !first {
                let count = again.map_or(0, |count| count + 1);
                again = Some(count);
                if count >= AGAIN || step.flow.is_call() {
                    return;
                }
            }
            first = false;
            self.branched |= step.flow != FlowType::FallThrough;
            let Some(next) = step.next.filter(|_| goes_on) else { return };
            index = match self.steps.get(index + 1) {
                Some(following) if following.at == next => index + 1,
                _ => match self.step_index(next) {
                    Some(index) => index,
                    None => return,
                },
            };
        }
    }

    /// A jump to another function counts as a call of it.
    fn leaves_function(&mut self, from: u64, to: u64) -> bool {
        let program = self.program;
        let Some(target) = program.functions.at(Address::ram(to)) else { return false };
        if target.entry.offset == self.entry || target.body.contains(Address::ram(self.entry)) {
            return false;
        }
        if let Some(index) = self.step_index(from) {
            self.called(index, Some(Address::ram(to)), true);
        }
        true
    }

    /// The p-code of an instruction with its flow override applied.
    fn code(&mut self, index: usize) -> Range<usize> {
        let step = &self.steps[index];
        if let Some(range) = &step.ops {
            return range.clone();
        }
        let start = self.ops.len();
        let context = self.reader.context(step.mode);
        let at = Address::ram(step.at);
        if self.reader.pcode(self.program, at, context, &mut self.ops).is_err() {
            self.ops.truncate(start);
        }
        override_flow(&mut self.ops, start, step.flow_override);
        let range = start..self.ops.len();
        self.steps[index].ops = Some(range.clone());
        range
    }

    /// The operations of an instruction.
    pub(crate) fn ops_of(&mut self, index: usize) -> &[PcodeOp] {
        let range = self.code(index);
        &self.ops[range]
    }

    /// Applies an instruction from one of its operations on; whether the path goes on after it.
    fn run(&mut self, index: usize, start: usize, again: Option<u32>) -> bool {
        let range = self.code(index);
        if start == 0 {
            self.temporaries.clear();
        }
        let at = self.steps[index].at;
        let mut position = start;
        while position < range.len() {
            // Operations are small; a copy frees the values for changing.
            let op = self.ops[range.start + position].clone();
            match op.opcode {
                Opcode::Branch => match op.inputs.first() {
                    Some(target) if target.is_constant() => match distance(target, position) {
                        Some(to) => position = to,
                        None => return true,
                    },
                    Some(target) => {
                        self.push(Way::Jump, at, target.offset, 0, again, false);
                        return false;
                    }
                    None => return false,
                },
                Opcode::CBranch => match self.conditional(&op, position, at, again) {
                    Some(to) => position = to,
                    None => return false,
                },
                Opcode::BranchInd => {
                    self.computed_jump(index, &op);
                    self.push_computed(at, again);
                    position += 1;
                }
                _ => {
                    self.apply(index, &op);
                    position += 1;
                }
            }
        }
        true
    }

    /// A conditional branch: the operation to go on at, or `None` when only kept paths go on.
    fn conditional(
        &mut self,
        op: &PcodeOp,
        position: usize,
        at: u64,
        again: Option<u32>,
    ) -> Option<usize> {
        let (target, condition) = (op.inputs.first()?, op.inputs.get(1)?);
        let taken = self.get(condition, false).and_then(|v| v.number()).is_some_and(|n| n != 0);
        let inside = target.is_constant();
        let to = if inside { distance(target, position) } else { None };
        match (inside, taken) {
            (false, false) => {
                self.push(Way::Conditional, at, target.offset, 0, again, false);
                Some(position + 1)
            }
            (false, true) => {
                self.push(Way::FallThrough, at, at, position + 1, again, true);
                self.push(Way::Conditional, at, target.offset, 0, again, false);
                None
            }
            (true, false) => {
                if let Some(to) = to {
                    self.push(Way::FallThrough, at, at, to, again, true);
                }
                Some(position + 1)
            }
            (true, true) => match to {
                Some(to) => {
                    self.push(Way::FallThrough, at, at, position + 1, again, true);
                    Some(to)
                }
                None => Some(position + 1),
            },
        }
    }

    /// Keeps the paths to the known destinations of a computed jump.
    fn push_computed(&mut self, at: u64, again: Option<u32>) {
        let program = self.program;
        for reference in program.references.from(Address::ram(at)) {
            let computed = matches!(reference.info.kind, RefType::Flow(flow)
                if flow.is_jump() && flow.is_computed());
            if computed && reference.to.space == SpaceId::RAM {
                self.push(Way::Jump, at, reference.to.offset, 0, again, false);
            }
        }
    }
}

/// Whether an instruction stands in the delay slot of another one.
fn in_delay_slot(program: &Program, at: u64) -> bool {
    program.listing.instructions.get(&Address::ram(at)).is_some_and(|i| i.in_delay_slot)
}

/// The operation that a branch inside an instruction leads to; forward only.
fn distance(target: &decompiler::Varnode, position: usize) -> Option<usize> {
    let distance = crate::values::sign_extend(target.offset, target.size) as i64;
    let distance = usize::try_from(distance).ok().filter(|distance| *distance > 0)?;
    position.checked_add(distance)
}

/// Rewrites the last flow operation of an instruction as its override says.
fn override_flow(ops: &mut Vec<PcodeOp>, start: usize, change: FlowOverride) {
    use Opcode::{Branch, BranchInd, Call, CallInd, Return};
    if change == FlowOverride::None {
        return;
    }
    let outward = |op: &PcodeOp| {
        matches!(op.opcode, Branch | Call) && op.inputs.first().is_some_and(|v| !v.is_constant())
            || matches!(op.opcode, BranchInd | CallInd | Return)
    };
    let Some(last) = ops[start..].iter().rposition(outward) else { return };
    let op = &mut ops[start + last];
    op.opcode = match (change, op.opcode) {
        (FlowOverride::Branch, Call) => Branch,
        (FlowOverride::Branch, CallInd | Return) => BranchInd,
        (FlowOverride::Call | FlowOverride::CallReturn, Branch) => Call,
        (FlowOverride::Call | FlowOverride::CallReturn, BranchInd | Return) => CallInd,
        (FlowOverride::Return, BranchInd | CallInd) => Return,
        (_, opcode) => opcode,
    };
    if change == FlowOverride::CallReturn {
        let nothing =
            decompiler::Varnode { space: decompiler::VarSpace::Const, offset: 0, size: 1 };
        ops.push(PcodeOp {
            opcode: Return,
            output: None,
            inputs: std::iter::once(nothing).collect(),
        });
    }
}
