//! The pass that follows constants and stack places through every function: references that
//! several instructions make together, and the variables of stack frames.

use crate::code::CodeReader;
use crate::follow::{Facts, Follower, Found};
use crate::machine::{Family, Machine};
use crate::pass::{Analysis, Stopped};
use crate::scalars;
use crate::shared_returns::set_override;
use crate::stack::{self, StackAccess};
use decompiler::Language;
use program::{
    Address, AddressRange, AddressSet, CodeUnit, FlowOverride, FlowType, Function, Instruction,
    LocalVariable, Program, RefType, Reference, ReferenceInfo, SourceType, SpaceId, Storage,
    StoragePiece, Table,
};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Functions followed between two reports of progress.
const BATCH: usize = 512;
/// Instructions of a function that are searched for its return.
const PURGE_SEARCHED: usize = 2048;

/// Follows every function, on as many threads as there are cores. What is found is merged in
/// order of the functions and does not depend on the threads. Cost: linear in the code.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let machine = Machine::new(analysis.program, analysis.language);
    set_purges(analysis.program, &machine);
    // Followed functions see the program as it is now, whatever is found meanwhile.
    let snapshot = analysis.program.clone();
    let functions: Vec<Arc<Function>> =
        snapshot.functions.iter().filter(|f| f.entry.space == SpaceId::RAM).cloned().collect();
    follow_functions(analysis, &machine, &snapshot, &functions)?;
    follow_alone(analysis, &machine, &snapshot, || snapshot.listing.instructions.iter());
    Ok(())
}

/// Follows functions that were made since the pass ran, and instructions without a function that
/// were not among the `known` ones. Cost: linear in the code of those, the functions aside.
pub(crate) fn run_on(
    analysis: &mut Analysis<'_>,
    entries: &[Address],
    known: &Table<Address, Instruction>,
) -> Result<(), Stopped> {
    let machine = Machine::new(analysis.program, analysis.language);
    let callers = forget_callers(analysis.program, &machine, entries);
    let snapshot = analysis.program.clone();
    let functions: Vec<Arc<Function>> = callers
        .iter()
        .chain(entries)
        .filter_map(|entry| snapshot.functions.at(*entry))
        .cloned()
        .collect();
    follow_functions(analysis, &machine, &snapshot, &functions)?;
    follow_alone(analysis, &machine, &snapshot, || {
        let changes = snapshot.listing.instructions.changes(known);
        changes.filter(|change| change.before.is_none()).filter_map(|c| Some((c.key, c.after?)))
    });
    Ok(())
}

/// Follows those functions again whose callees' hold on the stack was found out since they were
/// followed. Cost: linear in the functions and in the code of those.
pub(crate) fn run_again(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    // Functions found since may be known by their code.
    crate::call_fixups::run(analysis)?;
    let machine = Machine::new(analysis.program, analysis.language);
    let callers = forget_callers(analysis.program, &machine, &[]);
    let snapshot = analysis.program.clone();
    let functions: Vec<Arc<Function>> =
        callers.iter().filter_map(|entry| snapshot.functions.at(*entry)).cloned().collect();
    follow_functions(analysis, &machine, &snapshot, &functions)
}

/// Takes back what was found out about the stack frames of functions that call some of which more
/// is known now than before; gives those callers, without the ones that are new.
fn forget_callers(program: &mut Program, machine: &Machine, new: &[Address]) -> Vec<Address> {
    let told = set_purges(program, machine);
    let mut callers = callers(program, &told);
    new.iter().for_each(|entry| {
        callers.remove(entry);
    });
    callers.iter().for_each(|caller| forget_stack(program, *caller));
    callers.into_iter().collect()
}

/// What instructions tell by themselves, and those together that belong to no function. Cost: linear
/// in the instructions.
fn follow_alone<'a, I: Iterator<Item = (&'a Address, &'a Instruction)>>(
    analysis: &mut Analysis<'_>,
    machine: &Machine,
    snapshot: &Program,
    instructions: impl Fn() -> I,
) {
    let rest = outside_functions(snapshot, instructions());
    if !rest.is_empty() {
        let reader = CodeReader::new(analysis.language);
        let facts = Follower::new(snapshot, machine, reader).follow_rest(&rest);
        store_references(analysis.program, &facts);
    }
    if machine.family == Family::X86 {
        scalars::refer(analysis.program, analysis.language, instructions());
    }
}

fn follow_functions(
    analysis: &mut Analysis<'_>,
    machine: &Machine,
    snapshot: &Program,
    functions: &[Arc<Function>],
) -> Result<(), Stopped> {
    for (done, batch) in functions.chunks(BATCH).enumerate() {
        let facts = follow_all(snapshot, analysis.language, machine, batch);
        for (function, facts) in batch.iter().zip(facts) {
            store(analysis.program, machine, function.entry, facts);
        }
        analysis.step((done * BATCH) as f32 / functions.len().max(1) as f32)?;
    }
    Ok(())
}

/// The code of some instructions, in order, that belong to no function.
fn outside_functions<'a>(
    program: &Program,
    instructions: impl Iterator<Item = (&'a Address, &'a Instruction)>,
) -> AddressSet {
    let mut rest = AddressSet::new();
    let mut run: Option<AddressRange> = None;
    for (at, instruction) in instructions {
        if program.functions.containing(*at).is_some() {
            continue;
        }
        let Some(range) = AddressRange::with_length(*at, u64::from(instruction.length)) else {
            continue;
        };
        match &mut run {
            Some(open) if open.end.checked_add(1) == Some(range.start) => open.end = range.end,
            _ => run.replace(range).into_iter().for_each(|done| rest.insert(done)),
        }
    }
    run.into_iter().for_each(|done| rest.insert(done));
    rest
}

/// Follows some functions; facts in their order.
fn follow_all(
    program: &Program,
    language: &Language,
    machine: &Machine,
    functions: &[Arc<Function>],
) -> Vec<Facts> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Facts>> = functions.iter().map(|_| Mutex::default()).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(functions.len()) {
            scope.spawn(|| {
                let mut follower = Follower::new(program, machine, CodeReader::new(language));
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(function) = functions.get(index) else { break };
                    let facts = follower.follow(function);
                    *results[index].lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = facts;
                }
            });
        }
    });
    let facts = results.into_iter();
    facts.map(|facts| facts.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())).collect()
}

/// Stores what was found in one function.
fn store(program: &mut Program, machine: &Machine, entry: Address, facts: Facts) {
    store_references(program, &facts);
    for at in &facts.other_mode {
        if program.code_unit_at(*at) == Some(CodeUnit::Undefined) && program.mode_at(*at) == 0 {
            program.set_mode(AddressRange { start: *at, end: *at }, 1);
        }
    }
    let jumps = facts.references.iter().filter(|(_, found)| found.iter().any(is_computed_jump));
    for (at, _) in jumps {
        leave(program, machine, entry, Address::ram(*at));
    }
    let variables = stack::variables(&facts.stack, machine.parameters_at);
    let Some(function) = program.functions.at(entry).cloned() else { return };
    let is_free = |offset: i64, size: u32| {
        let taken = function.locals.iter().map(|local| &local.storage);
        let taken = taken.chain(function.signature.parameters.iter().map(|p| &p.storage));
        taken.flat_map(|storage| storage.pieces()).all(|piece| {
            let start = piece.address.offset as i64;
            piece.address.space != SpaceId::STACK
                || start >= offset + i64::from(size)
                || offset >= start + i64::from(piece.size)
        })
    };
    let fresh: Vec<_> = variables.into_iter().filter(|v| is_free(v.offset, v.size)).collect();
    if fresh.is_empty() || function.thunk_of.is_some() {
        return;
    }
    let typed: Vec<_> = fresh.into_iter().map(|v| (v, undefined(program, &v))).collect();
    program.functions.edit(entry, |function| {
        for (variable, data_type) in typed {
            let piece =
                StoragePiece { address: Address::stack(variable.offset), size: variable.size };
            let id = function.new_variable_id();
            function.locals.push(LocalVariable {
                name: local_name(variable.offset).into(),
                data_type,
                storage: Storage::Pieces(vec![piece]),
                first_use: 0,
                hash: 0,
                source: SourceType::Default,
                type_locked: false,
                id,
            });
        }
    });
}

fn is_computed_jump(found: &Found) -> bool {
    found.kind == RefType::Flow(FlowType::ComputedJump)
}

/// A computed jump that was found to lead to an import is a call that ends the caller; a linkage
/// stub that does nothing else is a thunk.
fn leave(program: &mut Program, machine: &Machine, entry: Address, at: Address) {
    let jumps: Vec<Reference> =
        program.references.from(at).filter(|r| r.info.kind.is_flow()).collect();
    let [jump] = *jumps else { return };
    let target = jump.to;
    let imported = program.memory.block_at(target).is_some_and(|b| b.permissions.artificial);
    if !imported || program.functions.at(target).is_none() {
        return;
    }
    set_override(program, at, FlowOverride::CallReturn);
    if machine.is_stub(program, at.offset) {
        let kind = RefType::Flow(FlowType::ComputedCallTerminator);
        let info = ReferenceInfo { kind, ..jump.info };
        program.references.add(Reference { info, ..jump });
    }
    let only = |function: &Function| {
        let code = function.body.ranges().iter();
        let mut code = code.flat_map(|r| program.listing.instructions.range(r.start..=r.end));
        code.all(|(place, i)| *place == at || i.flow == FlowType::FallThrough)
    };
    let target_leads_back = program.thunked(target).is_some_and(|f| f.entry == entry);
    let is_thunk = machine.is_stub(program, at.offset)
        && !target_leads_back
        && program.functions.at(entry).is_some_and(|f| f.thunk_of.is_none() && only(f));
    if is_thunk {
        let no_return = program.functions.at(target).is_some_and(|f| f.no_return)
            && !crate::no_return::is_stated_to_return(program, entry);
        program.functions.edit(entry, |function| {
            function.thunk_of = Some(target);
            function.no_return |= no_return;
        });
    }
}

fn store_references(program: &mut Program, facts: &Facts) {
    for (at, references) in &facts.references {
        for found in references {
            let from = Address::ram(*at);
            program.add_reference(from, found.to, found.kind, found.operand, SourceType::Analysis);
        }
    }
}

/// The type of some bytes of which nothing else is known.
fn undefined(program: &mut Program, variable: &StackAccess) -> program::TypeId {
    match variable.size {
        _ if !variable.accessed => program.types.builtin("undefined"),
        size @ 1..=8 => program.types.undefined(size),
        size => {
            let byte = program.types.undefined(1);
            program.types.array_of(byte, size)
        }
    }
}

/// The name of a stack variable that nobody named.
fn local_name(offset: i64) -> String {
    if offset < 0 { format!("local_{:x}", -offset) } else { format!("local_res{offset:x}") }
}

/// The functions that call some others.
fn callers(program: &Program, callees: &[Address]) -> BTreeSet<Address> {
    let calls = callees.iter().flat_map(|callee| program.references.to(*callee));
    let calls = calls.filter(|r| r.info.kind.is_call() && r.from.space == SpaceId::RAM);
    calls.filter_map(|r| Some(program.functions.containing(r.from)?.entry)).collect()
}

/// Takes back what was found out about a function's stack frame, to be found again: more is known
/// about what its callees leave of it.
fn forget_stack(program: &mut Program, entry: Address) {
    let Some(function) = program.functions.at(entry).cloned() else { return };
    let code = function.body.ranges().iter();
    let found: Vec<Reference> = code
        .flat_map(|range| program.references.between(range.start, range.end))
        .filter(|r| r.to.space == SpaceId::STACK && r.info.source == SourceType::Analysis)
        .collect();
    for reference in found {
        program.references.remove(reference.from, reference.to, reference.operand);
    }
    let on_stack = |local: &LocalVariable| {
        local.storage.pieces().iter().all(|piece| piece.address.space == SpaceId::STACK)
    };
    program.functions.edit(entry, |function| {
        let known = |local: &LocalVariable| local.source != SourceType::Default;
        function.locals.retain(|local| known(local) || !on_stack(local));
    });
}

/// Notes how many bytes each function of 32-bit x86 takes off the stack when it returns; gives those
/// back whose callers' conventions do not tell.
fn set_purges(program: &mut Program, machine: &Machine) -> Vec<Address> {
    if machine.family != Family::X86 || machine.pointer_size != 4 {
        return Vec::new();
    }
    let unknown: Vec<(Address, i32)> = program
        .functions
        .iter()
        .filter(|f| f.stack_purge.is_none())
        .filter_map(|f| Some((f.entry, purge(program, f)?)))
        .collect();
    for (entry, purge) in &unknown {
        program.functions.edit(*entry, |f| f.stack_purge = Some(*purge));
    }
    let told = machine.convention(None).is_some_and(|default| default.extra_pop.is_some());
    if told { Vec::new() } else { unknown.into_iter().map(|(entry, _)| entry).collect() }
}

/// The bytes that a function's return takes off the stack.
fn purge(program: &Program, function: &Function) -> Option<i32> {
    if let Some(target) = function.thunk_of {
        let thunked = program.thunked(target)?;
        return thunked.stack_purge.or_else(|| declared_purge(thunked));
    }
    if function.is_external() {
        return declared_purge(function);
    }
    let code = function.body.ranges().iter();
    let code = code
        .flat_map(|range| program.listing.instructions.range(range.start..=range.end))
        .take(PURGE_SEARCHED)
        .filter(|(_, i)| i.effective_flow().is_terminal());
    let returned = code.clone().find_map(|(at, _)| purged_by_return(program, *at));
    // Who calls another function last leaves the stack as that one does.
    returned.or_else(|| {
        let calls = code.filter(|(_, i)| i.effective_flow().is_call());
        calls.last().and_then(|(at, _)| purged_by_callee(program, function.entry, *at))
    })
}

/// The bytes that an instruction takes off the stack, if it is a return.
fn purged_by_return(program: &Program, at: Address) -> Option<i32> {
    match program.memory.read_array::<1>(at)? {
        [0xc3] => Some(0),
        [0xc2] => {
            let count = program.memory.read_array::<2>(at.checked_add(1)?)?;
            Some(i32::from(u16::from_le_bytes(count)))
        }
        _ => None,
    }
}

/// What the function that a last call leads to takes off the stack, as far as that is known: Ghidra
/// looks at functions in the order of their addresses.
fn purged_by_callee(program: &Program, caller: Address, at: Address) -> Option<i32> {
    let mut callees = program
        .references
        .from(at)
        .filter(|r| r.info.kind.is_flow())
        .filter_map(|r| program.functions.at(r.to));
    let callee = callees.find(|callee| !callee.no_return)?;
    let callee = program.thunked(callee.entry).unwrap_or(callee);
    callee.stack_purge.filter(|_| callee.entry < caller)
}

/// A function with a known prototype and no convention of its own leaves the stack alone.
fn declared_purge(function: &Function) -> Option<i32> {
    let known = function.signature.source != SourceType::Default;
    (known && function.signature.convention.is_none()).then_some(0)
}
