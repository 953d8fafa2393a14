//! Values of switch cases whose index is calculated: whether they are those of the index or of what
//! it was made from is told by the decompiler alone, once all else is known.

use crate::pass::{Analysis, Stopped};
use crate::switches::{OTHERS, side_by_side};
use crate::{parameter_ids, switch_tables};
use decompiler::{Decompiler, JumpTable, Limits};
use program::{Address, Program, SourceType, SymbolId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Most time for one function.
const LIMIT: Duration = Duration::from_secs(10);
/// Longest function in bytes that is decompiled for this.
const LONGEST: u64 = 0x1000;

/// Gives cases the labels that C text shows. Cost: one decompilation of each function of moderate
/// size that holds such a switch.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let guessed = std::mem::take(&mut analysis.told.guessed);
    let program = &mut *analysis.program;
    if !parameter_ids::is_moderate(program) {
        return Ok(());
    }
    let owners = guessed.iter().filter_map(|jump| program.functions.containing(*jump));
    let short = owners.filter(|function| function.body.len() <= LONGEST);
    let functions: BTreeSet<u64> = short.map(|function| function.entry.offset).collect();
    let functions: Vec<u64> = functions.into_iter().collect();
    let limits = Limits { timeout: LIMIT, ..Limits::default() };
    let never = Arc::new(AtomicBool::new(false));
    // What is constant now may be filled in later: no case is unreachable.
    let decompiler = Decompiler::keeping_unreachable();
    let tables = side_by_side(&functions, |entry| {
        decompiler.decompile(program, entry, &limits, &never).jump_tables
    });
    for table in tables.into_iter().filter(|table| guessed.contains(&table.from)) {
        relabel(program, table);
    }
    Ok(())
}

/// Replaces the labels of a table's cases, if it leads to the same places.
fn relabel(program: &mut Program, mut table: JumpTable) {
    table.cases.retain(|(value, _)| *value != OTHERS && *value != switch_tables::UNKNOWN);
    let at = program.symbols.at(table.from);
    let jump = at.filter(|(_, symbol)| &*symbol.name == "switchD").map(|(_, s)| s.parent).next();
    let Some(space) = jump.filter(|space| *space != SymbolId::GLOBAL) else { return };
    let places: BTreeSet<Address> = program
        .references
        .from(table.from)
        .filter(|reference| reference.info.kind.is_flow())
        .map(|reference| reference.to)
        .collect();
    let targets: BTreeSet<Address> = table.cases.iter().map(|(_, target)| *target).collect();
    if targets != places {
        return;
    }
    let labels: Vec<SymbolId> = targets
        .iter()
        .flat_map(|target| program.symbols.at(*target))
        .filter(|(_, symbol)| symbol.parent == space && symbol.name.starts_with("caseD_"))
        .filter(|(_, symbol)| symbol.source == SourceType::Analysis)
        .map(|(id, _)| id)
        .collect();
    if labels.len() != table.cases.len() {
        return;
    }
    for label in labels {
        program.symbols.remove(label);
    }
    for (value, target) in &table.cases {
        let name = switch_tables::case_name(*value);
        program.add_label(*target, &name, space, SourceType::Analysis);
    }
}
