//! Jump tables found without the decompiler: the code before a computed jump is turned into one
//! expression for its destination, which is then evaluated for every index that a comparison
//! before the jump lets through.

use crate::code::CodeReader;
use crate::expression::{Evaluation, Expressions, NodeId};
use crate::reaching::Reaching;
use crate::values::mask;
use decompiler::{JumpTable, Opcode, PcodeOp, RegisterVarnode, Varnode};
use program::{Address, AddressRange, FlowType, Program, RefType};
use std::collections::BTreeSet;

/// Instructions looked at before the jump.
const BEFORE: usize = 48;
/// Instructions looked at to tell one register.
const SHORTLY_BEFORE: usize = 8;
/// Registers that are looked for further back.
const REGISTERS: usize = 4;
/// Most entries of a table, as the decompiler has it.
const ENTRIES: u64 = 1024;

/// What can be told about a computed jump.
#[derive(Debug, Clone)]
pub(crate) enum Jump {
    /// It goes through a table.
    Table(JumpTable),
    /// It goes through a table whose index is a byte that nothing bounds: only so many of these
    /// entries as lead into the function can be its own.
    ByByte(JumpTable),
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

/// What a table is indexed with, and its values.
struct Index {
    part: NodeId,
    first: u64,
    count: u64,
    /// Whether the code keeps out what lies above, not only the size of the index.
    bounded: bool,
}

/// Looks at the code before one computed jump of the function at `entry`. Cost: bounded.
pub(crate) fn look_at(
    program: &Program,
    reader: &mut CodeReader,
    preserved: &[RegisterVarnode],
    (entry, at): (Address, Address),
) -> Jump {
    let path = path_to(program, at, BEFORE);
    let Some(jump) = Path::read(program, reader, &path, &[]) else { return Jump::Perhaps };
    let found = jump.look(program, at);
    if !matches!(found, Jump::Perhaps) {
        return found;
    }
    // Loops keep the table's address in a register that was set before them.
    let start = path.first().map_or(at, |(place, _)| *place);
    let mut reaching = Reaching { program, reader: &mut *reader, preserved, entry };
    let registers = jump.expressions.registers_at_start(jump.destination).into_iter();
    let known: Vec<(Varnode, u64)> = registers
        .take(REGISTERS)
        .filter_map(|register| Some((register, reaching.constant(&register, start)?)))
        .collect();
    if known.is_empty() {
        return found;
    }
    Path::read(program, reader, &path, &known).map_or(found, |jump| jump.look(program, at))
}

/// What the code that leads to a jump computes.
struct Path {
    expressions: Expressions,
    guards: Vec<Guard>,
    destination: NodeId,
}

impl Path {
    /// Runs the code that leads to a jump, from registers some of which are known.
    fn read(
        program: &Program,
        reader: &mut CodeReader,
        path: &[(Address, bool)],
        known: &[(Varnode, u64)],
    ) -> Option<Path> {
        let mut expressions = expressions(program, reader);
        known.iter().for_each(|(register, value)| expressions.assume(register, *value));
        let mut guards = Vec::new();
        let destination = follow(program, reader, path, (&mut expressions, &mut guards), true)?;
        Some(Path { expressions, guards, destination: destination? })
    }

    fn look(&self, program: &Program, at: Address) -> Jump {
        let Path { expressions, guards, destination } = self;
        let guarded =
            guards.iter().rev().find_map(|g| table(program, expressions, *destination, g));
        match guarded.or_else(|| masked_table(program, expressions, *destination)) {
            Some((found, true)) => return Jump::Table(JumpTable { from: at, ..found }),
            Some((found, false)) => return Jump::ByByte(JumpTable { from: at, ..found }),
            None => {}
        }
        let in_memory = |number| program.memory.contains(Address::ram(number));
        let may_be_table = expressions.loads_from(*destination, in_memory);
        if may_be_table { Jump::Perhaps } else { Jump::Pointer }
    }
}

/// Expressions of which nothing is known yet.
fn expressions(program: &Program, reader: &CodeReader) -> Expressions {
    let stack_pointer = reader.language().stack_pointer().map(|register| register.offset);
    Expressions::new(program.memory.big_endian(), reader.word(), stack_pointer)
}

/// Runs a path; its destination if it ends in a jump. `None` when an instruction does not decode.
fn follow(
    program: &Program,
    reader: &mut CodeReader,
    path: &[(Address, bool)],
    (expressions, guards): (&mut Expressions, &mut Vec<Guard>),
    to_jump: bool,
) -> Option<Option<NodeId>> {
    let mut destination = None;
    for (position, (place, taken)) in path.iter().enumerate() {
        let instruction = program.listing.instructions.get(place)?;
        let mut ops: Vec<PcodeOp> = Vec::new();
        let context = reader.context(instruction.mode);
        reader.pcode(program, *place, context, &mut ops).ok()?;
        expressions.next_instruction();
        let last = to_jump && position + 1 == path.len();
        let next = place.offset.wrapping_add(u64::from(instruction.length));
        destination = run(expressions, guards, &ops, (*taken, next), last);
    }
    Some(destination)
}

/// The number that a register holds once the instruction at `at` has run, if the few
/// instructions before it tell.
pub(crate) fn constant_after(
    program: &Program,
    reader: &mut CodeReader,
    register: &Varnode,
    at: Address,
) -> Option<u64> {
    let path = path_to(program, at, SHORTLY_BEFORE);
    let mut expressions = expressions(program, reader);
    follow(program, reader, &path, (&mut expressions, &mut Vec::new()), false)?;
    let value = expressions.get(register);
    Evaluation::new(&expressions, program).value(value)
}

/// The instructions that lead to a jump in one line, first to last, and whether each is left by
/// its branch.
fn path_to(program: &Program, at: Address, most: usize) -> Vec<(Address, bool)> {
    let mut path = vec![(at, false)];
    let mut here = at;
    while path.len() < most {
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
        if flow.has_fall_through() && plain && !ends_in_call(program, start, flow) {
            return (!flow.is_call()).then_some((start, false));
        }
    }
    let mut jumps = program.references.to(at).filter(
        |r| matches!(r.info.kind, RefType::Flow(flow) if flow.is_jump() && !flow.is_computed()),
    );
    let only = jumps.next()?;
    jumps.next().is_none().then_some((only.from, true))
}

/// Whether an instruction calls a function that is known not to return.
pub(crate) fn ends_in_call(program: &Program, at: Address, flow: FlowType) -> bool {
    flow.is_call()
        && program
            .references
            .from(at)
            .filter(|reference| reference.info.kind.is_call())
            .any(|call| program.thunked(call.to).is_some_and(|function| function.no_return))
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

/// The table with the destinations for every index that a guard lets through, and whether the guard
/// bounds it; else its index is a byte, and the table may end before the last value.
fn table(
    program: &Program,
    expressions: &Expressions,
    destination: NodeId,
    guard: &Guard,
) -> Option<(JumpTable, bool)> {
    let mut evaluation = Evaluation::new(expressions, program);
    let parts = expressions.parts(guard.condition).into_iter();
    let mut numbers = vec![0];
    for number in expressions.constants(guard.condition) {
        numbers.extend([number, number.wrapping_add(1), number.wrapping_neg()]);
    }
    let decides = |part: NodeId| {
        let range = range(expressions, &mut evaluation, part, guard, &numbers)?;
        evaluation.set(part, range.first);
        evaluation.value(destination).map(|_| range)
    };
    let inner = parts.filter(|part| *part != guard.condition && !expressions.is_constant(*part));
    let index = inner.into_iter().find_map(decides)?;
    let (otherwise, bounded) = (Some(guard.otherwise), index.bounded);
    cases(program, expressions, &mut evaluation, destination, index, otherwise)
        .map(|table| (table, bounded))
}

/// The values that a part may have where a guard has held, if they are a range that begins at
/// one of some numbers.
fn range(
    expressions: &Expressions,
    evaluation: &mut Evaluation<'_>,
    part: NodeId,
    guard: &Guard,
    numbers: &[u64],
) -> Option<Index> {
    let mask = mask(expressions.size(part));
    let mut passes = |value: u64| {
        evaluation.set(part, value & mask);
        evaluation.value(guard.condition).is_some_and(|v| (v != 0) == guard.held)
    };
    let begins = |first: &u64| passes(*first) && (*first == 0 || !passes(first.wrapping_sub(1)));
    let first = numbers.iter().map(|number| number & mask).find(begins)?;
    let count = (0..=ENTRIES).find(|step| !passes(first.wrapping_add(*step)))?;
    // A bound keeps out everything above it as well.
    let beyond = [count + 1, count + 7].map(|step| first.wrapping_add(step));
    let is_range = count >= 2 && !beyond.into_iter().any(passes);
    let bounded = expressions.size(part) > 1 || first + count <= mask;
    is_range.then_some(Index { part, first, count, bounded })
}

/// The destinations for every index that a mask lets through, and whether the code masks the
/// index itself; otherwise it is a byte, and the table may end before its last value.
fn masked_table(
    program: &Program,
    expressions: &Expressions,
    destination: NodeId,
) -> Option<(JumpTable, bool)> {
    let mut evaluation = Evaluation::new(expressions, program);
    expressions.parts(destination).into_iter().find_map(|index| {
        let (mask, bounded) = expressions.masked(index)?;
        let count = mask.checked_add(1)?;
        let fits = count.is_power_of_two() && (2..=ENTRIES).contains(&count);
        let index = Index { part: index, first: 0, count, bounded };
        let cases = || cases(program, expressions, &mut evaluation, destination, index, None);
        fits.then(cases).flatten().map(|table| (table, bounded))
    })
}

/// The destinations for the values of an index, if code can be at all of them, or as far as code
/// can be where the index is not bounded.
fn cases(
    program: &Program,
    expressions: &Expressions,
    evaluation: &mut Evaluation<'_>,
    destination: NodeId,
    Index { part, first, count, bounded }: Index,
    otherwise: Option<u64>,
) -> Option<JumpTable> {
    let mut cases = Vec::with_capacity(count as usize);
    let mut loads = Vec::new();
    let mask = mask(expressions.size(part));
    for step in 0..count {
        let value = first.wrapping_add(step) & mask;
        evaluation.set(part, value);
        let target = evaluation.value(destination).and_then(|target| code_at(program, target));
        let target = match target {
            None if !bounded => break,
            target => target?,
        };
        cases.push((expressions.before_offset(part, value), Address::ram(target)));
        loads.push(evaluation.take_loads());
    }
    if leads_to_one(&cases) {
        return None;
    }
    let default = otherwise.map(Address::ram);
    let default = default.filter(|place| cases.iter().all(|(_, target)| target != place));
    let tables = runs(&loads);
    Some(JumpTable { from: Address::MIN, cases, default, tables })
}

/// Whether there is no choice between some cases.
fn leads_to_one(cases: &[(u64, Address)]) -> bool {
    cases.first().is_none_or(|(_, one)| cases.iter().all(|(_, target)| target == one))
}

/// Whether a case of a table whose size nothing tells can be its own: it leads into the code of its
/// function, to where an instruction can start, and neither code nor another table speaks of the
/// place where the case's entry lies.
pub(crate) fn is_own_case(
    program: &Program,
    table: &JumpTable,
    case: usize,
    code: &AddressRange,
    others: &BTreeSet<Address>,
) -> bool {
    let Some((_, at)) = table.cases.get(case) else { return false };
    let known = program.listing.instruction_containing(*at);
    let leads_into = code.contains(*at) && known.is_none_or(|(start, _)| start == *at);
    let entry = match &table.tables[..] {
        [(first, size, _)] if case > 0 => first.checked_add(case as u64 * u64::from(*size)),
        _ => None,
    };
    let begins_another = entry.is_some_and(|entry| {
        others.contains(&entry) || program.references.to(entry).next().is_some()
    });
    leads_into && !begins_another
}

/// The first cases of a table; `None` if they leave no choice.
pub(crate) fn shortened(table: JumpTable, count: usize) -> Option<JumpTable> {
    let JumpTable { from, mut cases, default, mut tables } = table;
    cases.truncate(count);
    for (_, _, entries) in &mut tables {
        *entries = (*entries).min(count as u32);
    }
    let chooses = !leads_to_one(&cases);
    chooses.then_some(JumpTable { from, cases, default, tables })
}

/// The tables that were read, case by case: for each read that differs between the cases, the
/// stretches of entries that lie next to each other.
fn runs(loads: &[Vec<(Address, u32)>]) -> Vec<(Address, u32, u32)> {
    let reads = loads.iter().map(Vec::len).min().unwrap_or(0);
    let mut runs: Vec<(Address, u32, u32)> = Vec::new();
    for read in 0..reads {
        let entries: BTreeSet<(Address, u32)> = loads.iter().map(|case| case[read]).collect();
        if entries.len() < 2 {
            continue;
        }
        let first = runs.len();
        for (at, size) in entries {
            match runs[first..].last_mut() {
                Some((start, of, count))
                    if *of == size
                        && at.distance_from(*start)
                            == Some(u64::from(*count) * u64::from(size)) =>
                {
                    *count += 1;
                }
                _ => runs.push((at, size, 1)),
            }
        }
    }
    runs
}

/// A destination, if code can be there.
fn code_at(program: &Program, target: u64) -> Option<u64> {
    let block = program.memory.block_at(Address::ram(target))?;
    let fits = block.permissions.execute && block.is_initialized() && !block.permissions.artificial;
    fits.then_some(target)
}
