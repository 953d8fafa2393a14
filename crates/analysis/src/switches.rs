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

/// Resolves computed jumps until none is left that can be. Cost: one flow
/// analysis for each function that holds an open jump, spread over all cores.
pub(crate) fn resolve(explorer: &mut Explorer<'_, '_>) -> Result<(), Stopped> {
    let mut hopeless: BTreeSet<(u64, u64)> = BTreeSet::new();
    for _ in 0..ROUNDS {
        let open: BTreeSet<(u64, u64)> = explorer.take_open_jumps().into_iter().collect();
        if open.is_empty() {
            break;
        }
        let analysis = explorer.so_far();
        analysis.check()?;
        let (mut resolved, open) = look(analysis.program, analysis.language, open, &mut hopeless);
        let functions: BTreeSet<u64> = open.iter().map(|(function, _)| *function).collect();
        let functions: Vec<u64> = functions.into_iter().collect();
        let tables = tables(analysis.program, analysis.decompiler, &functions);
        refer(analysis.program, &tables);
        let found: BTreeMap<u64, Vec<u64>> = tables
            .iter()
            .map(|t| (t.from.offset, t.cases.iter().map(|(_, to)| to.offset).collect()))
            .collect();
        for (function, at) in open {
            match found.get(&at) {
                Some(targets) if !targets.is_empty() => {
                    resolved.push((function, at, distinct(targets)));
                }
                _ => {
                    hopeless.insert((function, at));
                }
            }
        }
        if resolved.is_empty() {
            break;
        }
        explorer.resolve(resolved)?;
    }
    hopeless.extend(explorer.take_open_jumps());
    explorer.give_up(&hopeless.into_iter().collect::<Vec<_>>())
}

/// Resolves what the code just before each jump tells. What is left may be a table that only
/// the decompiler can read.
fn look(
    program: &mut Program,
    language: &Language,
    open: BTreeSet<(u64, u64)>,
    hopeless: &mut BTreeSet<(u64, u64)>,
) -> (Vec<Resolved>, BTreeSet<(u64, u64)>) {
    let mut reader = CodeReader::new(language);
    // Code of other processors finds its tables by registers that were set long before.
    let self_contained =
        matches!(language.processor(), "x86" | "AARCH64" | "RISCV") && language.pointer_size() == 8;
    let mut resolved = Vec::new();
    let mut rest = BTreeSet::new();
    for (function, at) in open {
        match jump_tables::look_at(program, &mut reader, Address::ram(at)) {
            Jump::Table(targets) => resolved.push((function, at, distinct(&targets))),
            Jump::Pointer if self_contained => {
                hopeless.insert((function, at));
            }
            Jump::Pointer | Jump::Perhaps => {
                rest.insert((function, at));
            }
        }
    }
    for (_, at, targets) in &resolved {
        refer_to(program, Address::ram(*at), targets.iter().map(|to| Address::ram(*to)));
    }
    (resolved, rest)
}

/// A jump with its function and destinations.
type Resolved = (u64, u64, Vec<u64>);

fn distinct(targets: &[u64]) -> Vec<u64> {
    targets.iter().copied().collect::<BTreeSet<u64>>().into_iter().collect()
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

/// Makes the flow references of each table's jump.
fn refer(program: &mut Program, tables: &[JumpTable]) {
    for table in tables {
        let targets: BTreeSet<Address> = table.cases.iter().map(|(_, to)| *to).collect();
        refer_to(program, table.from, targets.into_iter());
    }
}

/// Makes the flow references of one jump.
fn refer_to(program: &mut Program, from: Address, targets: impl Iterator<Item = Address>) {
    let Some(jump) = program.listing.instructions.get(&from) else { return };
    let kind = RefType::Flow(jump.flow);
    for to in targets {
        program.add_reference(from, to, kind, program::reference::MNEMONIC, SourceType::Analysis);
    }
}
