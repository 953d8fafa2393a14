//! Jump tables: computed jumps whose destinations the decompiler's flow
//! analysis finds.

use crate::code::CodeReader;
use crate::explore::Explorer;
use crate::jump_tables::{self, Jump};
use crate::pass::Stopped;
use decompiler::{JumpTable, Language, Limits};
use program::{Address, Program, RefType, SourceType};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Rounds of resolving: cases may hold switches of their own.
const ROUNDS: usize = 8;
/// Most time for one function.
const LIMIT: Duration = Duration::from_secs(5);

/// What the decompiler told about computed jumps, kept while a program is analysed: asking
/// is dear, and it answers for all jumps of a function at once.
#[derive(Default)]
pub(crate) struct Told {
    tables: BTreeMap<Address, JumpTable>,
    /// Functions that it was asked about.
    asked: BTreeSet<u64>,
}

/// Resolves computed jumps until none is left that can be. Cost: one flow
/// analysis for each function that holds an open jump, spread over all cores.
pub(crate) fn resolve(explorer: &mut Explorer<'_, '_>) -> Result<(), Stopped> {
    let mut known: BTreeMap<Address, JumpTable> = BTreeMap::new();
    loop {
        let hopeless = resolve_open(explorer, &mut known)?;
        if hopeless.is_empty() {
            break;
        }
        // Callers that waited for such a function go on, to code with jumps of its own.
        explorer.give_up(&hopeless.into_iter().collect::<Vec<_>>())?;
    }
    let program = &mut *explorer.so_far(BTreeSet::new()).program;
    for table in known.values() {
        crate::switch_tables::mark(program, table);
    }
    Ok(())
}

/// Resolves the jumps that are open now and those behind them; what cannot be resolved.
fn resolve_open(
    explorer: &mut Explorer<'_, '_>,
    known: &mut BTreeMap<Address, JumpTable>,
) -> Result<BTreeSet<(u64, u64)>, Stopped> {
    let mut hopeless: BTreeSet<(u64, u64)> = BTreeSet::new();
    for _ in 0..ROUNDS {
        let open: BTreeSet<(u64, u64)> = explorer.take_open_jumps().into_iter().collect();
        if open.is_empty() {
            break;
        }
        // Nobody gave up on the hopeless ones yet: their functions may return as well.
        let analysis = explorer.so_far(&open | &hopeless);
        analysis.check()?;
        let (mut found, open) = look(analysis.program, analysis.language, open, &mut hopeless);
        let (program, told) = (&mut *analysis.program, &mut *analysis.told);
        ask(program, analysis.decompiler, told, &open);
        for (function, at) in open {
            match told.tables.get(&Address::ram(at)) {
                Some(table) if !table.cases.is_empty() => found.push((function, table.clone())),
                _ => {
                    hopeless.insert((function, at));
                }
            }
        }
        if found.is_empty() {
            break;
        }
        found.iter().for_each(|(_, table)| refer(program, table));
        let resolved = found
            .iter()
            .map(|(function, table)| (*function, table.from.offset, targets(table)))
            .collect();
        known.extend(found.into_iter().map(|(_, table)| (table.from, table)));
        explorer.resolve(resolved)?;
    }
    hopeless.extend(explorer.take_open_jumps());
    Ok(hopeless)
}

/// Asks the decompiler about the functions of some jumps, about each once.
fn ask(
    program: &Program,
    decompiler: &decompiler::Decompiler,
    told: &mut Told,
    jumps: &BTreeSet<(u64, u64)>,
) {
    let unknown = jumps.iter().filter(|(_, at)| !told.tables.contains_key(&Address::ram(*at)));
    let functions: BTreeSet<u64> = unknown
        .map(|(function, _)| *function)
        .filter(|function| program.functions.at(Address::ram(*function)).is_some())
        .filter(|function| !told.asked.contains(function))
        .collect();
    let functions: Vec<u64> = functions.into_iter().collect();
    for table in tables(program, decompiler, &functions) {
        told.tables.insert(table.from, table);
    }
    told.asked.extend(functions);
}

/// Resolves what the code just before each jump tells. What is left may be a table that only
/// the decompiler can read.
fn look(
    program: &Program,
    language: &Language,
    open: BTreeSet<(u64, u64)>,
    hopeless: &mut BTreeSet<(u64, u64)>,
) -> (Vec<Found>, BTreeSet<(u64, u64)>) {
    let mut reader = CodeReader::new(language);
    // Code of other processors finds its tables by registers that were set long before.
    let self_contained =
        matches!(language.processor(), "x86" | "AARCH64" | "RISCV") && language.pointer_size() == 8;
    let convention = language.default_convention().and_then(|name| language.convention(name));
    let preserved = convention.map_or(&[][..], |convention| &convention.preserved);
    let mut resolved = Vec::new();
    let mut rest = BTreeSet::new();
    for (function, at) in open {
        let places = (Address::ram(function), Address::ram(at));
        match jump_tables::look_at(program, &mut reader, preserved, places) {
            Jump::Table(table) => resolved.push((function, table)),
            Jump::Pointer if self_contained => {
                hopeless.insert((function, at));
            }
            Jump::Pointer | Jump::Perhaps => {
                rest.insert((function, at));
            }
        }
    }
    (resolved, rest)
}

/// A table with the function that jumps through it.
type Found = (u64, JumpTable);

/// The destinations of a table, each once.
fn targets(table: &JumpTable) -> Vec<u64> {
    let all: BTreeSet<u64> = table.cases.iter().map(|(_, to)| to.offset).collect();
    all.into_iter().collect()
}

/// The jump tables of several functions, in their order.
fn tables(
    program: &Program,
    decompiler: &decompiler::Decompiler,
    functions: &[u64],
) -> Vec<JumpTable> {
    let limits = Limits { timeout: LIMIT, ..Limits::default() };
    let never = Arc::new(AtomicBool::new(false));
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(functions.len());
    let work = || {
        let mut found = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(entry) = functions.get(index) else { return found };
            let entry = Address::ram(*entry);
            found.push((index, decompiler.jump_tables(program, entry, &limits, &never)));
        }
    };
    let mut all: Vec<(usize, Vec<JumpTable>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|w| w.join().ok()).flatten().collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().flat_map(|(_, tables)| tables).collect()
}

/// Makes the flow references of a table's jump.
fn refer(program: &mut Program, table: &JumpTable) {
    let Some(jump) = program.listing.instructions.get(&table.from) else { return };
    let kind = RefType::Flow(jump.flow);
    for to in targets(table).into_iter().map(Address::ram) {
        let mnemonic = program::reference::MNEMONIC;
        program.add_reference(table.from, to, kind, mnemonic, SourceType::Analysis);
    }
}
