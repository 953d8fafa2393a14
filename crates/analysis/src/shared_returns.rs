//! Shared returns: an unconditional jump to another function is a call whose
//! return belongs to the caller.

use crate::operands::plain_flow;
use crate::pass::{Analysis, Stopped};
use program::{Address, FlowOverride, FlowType, Program, RefType};

/// Lays a call-return override over every unconditional jump that refers to
/// another function's entry. Cost: linear in the jumps.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let program = &mut *analysis.program;
    let jumps: Vec<Address> = program
        .listing
        .instructions
        .iter()
        .filter(|(_, i)| i.flow_override == FlowOverride::None)
        .filter(|(_, i)| matches!(i.flow, FlowType::UnconditionalJump | FlowType::ComputedJump))
        .map(|(at, _)| *at)
        .collect();
    for at in jumps {
        if leaves_function(program, at) {
            set_override(program, at, FlowOverride::CallReturn);
        }
    }
    Ok(())
}

/// Whether the jump's only destination is the entry of another function.
fn leaves_function(program: &Program, at: Address) -> bool {
    let here = program.functions.containing(at).map(|f| f.entry);
    // A function that is nothing but this jump stands for its destination.
    if here == Some(at) && program.functions.at(at).is_some_and(|f| f.thunk_of.is_some()) {
        return false;
    }
    let mut targets = program
        .references
        .from(at)
        .filter(|r| r.info.kind.is_flow() || matches!(r.info.kind, RefType::Data))
        .map(|r| r.to)
        .filter(|to| {
            program
                .memory
                .block_at(*to)
                .is_some_and(|b| b.permissions.execute || b.permissions.artificial)
        });
    let Some(first) = targets.next() else { return false };
    targets.all(|other| other == first)
        && program.functions.at(first).is_some_and(|f| Some(f.entry) != here)
}

/// Whether references of computed jumps that count as calls keep the note that they end the
/// function: all on MIPS, on ARM those of stubs that are part of other functions.
fn keeps_end(program: &Program, at: Address) -> bool {
    let language = &program.info.language_id;
    let in_stubs = || program.memory.block_at(at).is_some_and(crate::linkage::holds_stubs);
    language.starts_with("MIPS:") || (language.starts_with("ARM:") && in_stubs())
}

/// Sets an instruction's flow override; its flow references follow.
pub(crate) fn set_override(program: &mut Program, at: Address, change: FlowOverride) {
    let Some(instruction) = program.listing.instructions.get_mut(&at) else { return };
    instruction.flow_override = change;
    let flow = instruction.effective_flow();
    let is_thunk = program.functions.containing(at).is_some_and(|f| f.thunk_of.is_some());
    let ends = !is_thunk && keeps_end(program, at);
    let kind = match flow {
        FlowType::ComputedCallTerminator if ends => RefType::Flow(flow),
        _ => plain_flow(flow),
    };
    let changed: Vec<_> = program.references.from(at).filter(|r| r.info.kind.is_flow()).collect();
    for mut reference in changed {
        reference.info.kind = kind;
        program.references.add(reference);
    }
}
