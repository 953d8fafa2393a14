//! The pass that finds code and functions.

use crate::explore::{Explored, Explorer, bodies};
use crate::no_return;
use crate::pass::{Analysis, Stopped};
use program::{Address, Program, SpaceId, SymbolKind};
use std::collections::BTreeSet;

/// Disassembles from every known start and makes functions of what is called.
/// Cost: linear in the code reached.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    mark_known_no_return(analysis.program);
    let starts = starts(analysis.program);
    let mut explorer = Explorer::new(analysis);
    for (at, mode) in starts {
        explorer.explore(at, mode)?;
    }
    let open = explorer.take_open_jumps();
    explorer.give_up(&open)?;
    let explored = explorer.finish();
    define(analysis, &explored)
}

/// Marks the functions that are known by name never to return.
fn mark_known_no_return(program: &mut Program) {
    let known: Vec<Address> = program
        .functions
        .iter()
        .filter(|f| !f.no_return && no_return::is_known_at(program, f.entry))
        .map(|f| f.entry)
        .collect();
    for entry in known {
        program.functions.edit(entry, |f| f.no_return = true);
    }
}

/// Where code is known to start: function symbols, the entry, places that the
/// file marks for the outside, unwind tables.
fn starts(program: &Program) -> Vec<(u64, u8)> {
    let symbols = program.symbols.iter().filter(|(_, s)| s.kind == SymbolKind::Function);
    let in_code = |at: &Address| {
        at.space == SpaceId::RAM
            && program.memory.block_at(*at).is_some_and(|b| b.permissions.execute)
    };
    let mut all: BTreeSet<Address> = symbols.map(|(_, s)| s.address).collect();
    all.extend(program.entry_points.keys());
    all.extend(crate::unwind::function_starts(program));
    all.into_iter().filter(in_code).map(|at| (at.offset, program.mode_at(at))).collect()
}

/// Makes functions of the entries found, with their bodies.
fn define(analysis: &mut Analysis<'_>, explored: &Explored) -> Result<(), Stopped> {
    let total = explored.functions.len().max(1);
    for (done, (entry, returns)) in explored.functions.iter().enumerate() {
        let address = Address::ram(*entry);
        let program = &mut *analysis.program;
        if !program.listing.instructions.contains_key(&address) {
            continue;
        }
        let body = bodies(program, explored, *entry);
        match program.functions.take(address) {
            Some(known) => {
                let mut known = std::sync::Arc::unwrap_or_clone(known);
                known.body = body;
                program.functions.put(known);
            }
            None => {
                program.add_function(address, body);
            }
        }
        if !returns {
            program.functions.edit(address, |f| f.no_return = true);
        }
        if done % 1024 == 0 {
            analysis.step(done as f32 / total as f32)?;
        }
    }
    Ok(())
}
