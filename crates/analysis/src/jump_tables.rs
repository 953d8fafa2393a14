//! Jump tables found without the decompiler: the code before a computed jump is turned into one
//! expression for its destination, which is then evaluated for every index that a comparison
//! before the jump lets through.

use crate::code::CodeReader;
use crate::expression::{Evaluation, Expressions, NodeId};
use decompiler::{JumpTable, Opcode, PcodeOp};
use program::{Address, Program, RefType};

/// Instructions looked at before the jump.
const BEFORE: usize = 48;
/// Most entries of a table, as the decompiler has it.
const ENTRIES: u64 = 1024;

/// What can be told about a computed jump.
#[derive(Debug, Clone)]
pub(crate) enum Jump {
    /// It goes through a table.
    Table(JumpTable),
    /// It may go through a table.
    Perhaps,
    /// It goes through a pointer that is no table's entry.
    Pointer,
}

/// A condition that the code before a jump has passed.
struct Guard {
    condition: NodeId,
    /// What the condition was.
    held: bool,
    /// Where control goes otherwise.
    otherwise: u64,
}

/// Looks at the code before one computed jump. Cost: bounded.
pub(crate) fn look_at(program: &Program, reader: &mut CodeReader, at: Address) -> Jump {
    let mut expressions = Expressions::new(program.memory.big_endian());
    let mut guards = Vec::new();
    let path = path_to(program, at);
    let mut destination = None;
    for (position, (place, taken)) in path.iter().enumerate() {
        let Some(instruction) = program.listing.instructions.get(place) else {
            return Jump::Perhaps;
        };
        let mut ops: Vec<PcodeOp> = Vec::new();
        let context = reader.context(instruction.mode);
        if reader.pcode(program, *place, context, &mut ops).is_err() {
            return Jump::Perhaps;
        }
        expressions.next_instruction();
        let last = position + 1 == path.len();
        let next = place.offset.wrapping_add(u64::from(instruction.length));
        destination = run(&mut expressions, &mut guards, &ops, (*taken, next), last);
    }
    let Some(destination) = destination else { return Jump::Perhaps };
    for guard in guards.iter().rev() {
        if let Some(mut found) = table(program, &expressions, destination, guard) {
            found.from = at;
            return Jump::Table(found);
        }
    }
    if let Some(mut found) = masked_table(program, &expressions, destination) {
        found.from = at;
        return Jump::Table(found);
    }
    let in_memory = |number| program.memory.contains(Address::ram(number));
    let may_be_table = expressions.loads_from(destination, in_memory);
    if may_be_table { Jump::Perhaps } else { Jump::Pointer }
}

/// The instructions that lead to a jump in one line, first to last, and whether each is left by
/// its branch.
fn path_to(program: &Program, at: Address) -> Vec<(Address, bool)> {
    let mut path = vec![(at, false)];
    let mut here = at;
    while path.len() < BEFORE {
        let Some((before, taken)) = predecessor(program, here) else { break };
        if path.iter().any(|(known, _)| *known == before) {
            break;
        }
        path.push((before, taken));
        here = before;
    }
    path.reverse();
    path
}

/// The instruction from which control comes to an address, and whether by its branch.
fn predecessor(program: &Program, at: Address) -> Option<(Address, bool)> {
    let before = at.checked_sub(1).and_then(|end| program.listing.instruction_containing(end));
    if let Some((start, instruction)) = before {
        let flow = instruction.effective_flow();
        let plain = instruction.delay_slots == 0 && !instruction.in_delay_slot;
        if flow.has_fall_through() && plain {
            return (!flow.is_call()).then_some((start, false));
        }
    }
    let mut jumps = program.references.to(at).filter(
        |r| matches!(r.info.kind, RefType::Flow(flow) if flow.is_jump() && !flow.is_computed()),
    );
    let only = jumps.next()?;
    jumps.next().is_none().then_some((only.from, true))
}

/// Applies one instruction of the path; the destination if it is the jump.
fn run(
    expressions: &mut Expressions,
    guards: &mut Vec<Guard>,
    ops: &[PcodeOp],
    (taken, next): (bool, u64),
    last: bool,
) -> Option<NodeId> {
    // Operations up to here may be skipped by a branch inside the instruction.
    let mut maybe_until = 0;
    for (position, op) in ops.iter().enumerate() {
        match op.opcode {
            Opcode::CBranch => {
                let (target, condition) = (op.inputs.first()?, op.inputs.get(1)?);
                if target.is_constant() && !last {
                    let distance = usize::try_from(target.offset).unwrap_or(usize::MAX);
                    maybe_until = maybe_until.max(position.saturating_add(distance));
                } else {
                    let condition = expressions.get(condition);
                    let held = taken && !target.is_constant();
                    let otherwise = if held { next } else { target.offset };
                    guards.push(Guard { condition, held, otherwise });
                }
            }
            Opcode::BranchInd => {
                let destination = expressions.get(op.inputs.first()?);
                if last {
                    return Some(destination);
                }
            }
            _ if position < maybe_until => expressions.apply_maybe(op),
            _ => expressions.apply(op),
        }
    }
    None
}

/// The table with the destinations for every index that a guard lets through.
fn table(
    program: &Program,
    expressions: &Expressions,
    destination: NodeId,
    guard: &Guard,
) -> Option<JumpTable> {
    let mut evaluation = Evaluation::new(expressions, program);
    let mut decides = |part: NodeId| {
        evaluation.set(part, 0);
        let passes = evaluation.value(guard.condition).map(|value| (value != 0) == guard.held);
        passes == Some(true) && evaluation.value(destination).is_some()
    };
    let inner = expressions.parts(guard.condition);
    let index = inner.into_iter().find(|part| {
        *part != guard.condition && !expressions.is_constant(*part) && decides(*part)
    })?;
    let mut passes = |value: u64| {
        evaluation.set(index, value);
        evaluation.value(guard.condition).is_some_and(|v| (v != 0) == guard.held)
    };
    let count = (0..=ENTRIES).find(|value| !passes(*value))?;
    // A bound keeps out everything above it as well.
    if count < 2 || [count + 1, count + 7].into_iter().any(&mut passes) {
        return None;
    }
    let otherwise = Some(guard.otherwise);
    cases(program, expressions, &mut evaluation, destination, (index, count), otherwise)
}

/// The destinations for every index that a mask lets through.
fn masked_table(
    program: &Program,
    expressions: &Expressions,
    destination: NodeId,
) -> Option<JumpTable> {
    let mut evaluation = Evaluation::new(expressions, program);
    expressions.parts(destination).into_iter().find_map(|index| {
        let count = expressions.masked(index)?.checked_add(1)?;
        let fits = count.is_power_of_two() && (2..=ENTRIES).contains(&count);
        let index = (index, count);
        fits.then(|| cases(program, expressions, &mut evaluation, destination, index, None))?
    })
}

/// The destinations for the first values of an index, if code can be at all of them.
fn cases(
    program: &Program,
    expressions: &Expressions,
    evaluation: &mut Evaluation<'_>,
    destination: NodeId,
    (index, count): (NodeId, u64),
    otherwise: Option<u64>,
) -> Option<JumpTable> {
    let mut cases = Vec::with_capacity(count as usize);
    let mut loads = Vec::new();
    for value in 0..count {
        evaluation.set(index, value);
        let target = code_at(program, evaluation.value(destination)?)?;
        cases.push((expressions.before_offset(index, value), Address::ram(target)));
        if value < 2 {
            loads.push(evaluation.take_loads());
        }
    }
    let (_, first) = cases.first()?;
    if cases.iter().all(|(_, target)| target == first) {
        return None;
    }
    let default = otherwise.map(Address::ram);
    let default = default.filter(|place| cases.iter().all(|(_, target)| target != place));
    let tables = runs(&loads, count as u32);
    Some(JumpTable { from: Address::MIN, cases, default, tables })
}

/// The tables that the first two indexes read next to each other.
fn runs(loads: &[Vec<(Address, u32)>], count: u32) -> Vec<(Address, u32, u32)> {
    let [first, second] = loads else { return Vec::new() };
    let pairs = first.iter().zip(second);
    let next = pairs.filter(|((a, size), (b, _))| b.distance_from(*a) == Some(u64::from(*size)));
    next.map(|((at, size), _)| (*at, *size, count)).collect()
}

/// A destination, if code can be there.
fn code_at(program: &Program, target: u64) -> Option<u64> {
    let block = program.memory.block_at(Address::ram(target))?;
    let fits = block.permissions.execute && block.is_initialized() && !block.permissions.artificial;
    fits.then_some(target)
}
