//! Jump tables: computed jumps whose destinations the decompiler's flow
//! analysis finds.

use crate::code::CodeReader;
use crate::explore::Explorer;
use crate::jump_tables::{self, Jump};
use crate::pass::{Analysis, Stopped};
use crate::unwind;
use decompiler::{JumpTable, Limits};
use program::{Address, AddressRange, Program, RefType, SourceType};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Rounds of resolving: cases may hold switches of their own.
const ROUNDS: usize = 24;
/// What stands for the value of the default case.
const OTHERS: u64 = 0xbad1_abe1_bad1_abe1;
/// Most time for one function.
const LIMIT: Duration = Duration::from_secs(5);
/// Most time for a function that is decompiled as a whole.
const LONG_LIMIT: Duration = Duration::from_secs(30);
/// Longest code in bytes that the decompiler is asked about where its answers are rare.
const LONGEST: u64 = 0x2000;

/// What was told about computed jumps, kept while a program is analysed: asking the decompiler
/// is dear, and it answers for all jumps of a function at once.
#[derive(Default)]
pub(crate) struct Told {
    tables: BTreeMap<Address, JumpTable>,
    /// Functions that the decompiler was asked about.
    asked: BTreeSet<u64>,
    /// Tables with the values of their cases, which only a whole decompilation tells.
    valued: BTreeMap<Address, JumpTable>,
    /// Functions that were decompiled for them.
    decompiled: BTreeSet<u64>,
    /// The code of the functions that the exception tables describe, in order of address.
    framed: OnceCell<Vec<AddressRange>>,
}

impl Told {
    /// The code that a jump belongs to: that of its function's frame, or else what lies between
    /// the functions known around it.
    fn code_around(&self, program: &Program, jump: Address) -> AddressRange {
        let framed = self.framed.get_or_init(|| {
            let mut framed: Vec<AddressRange> =
                unwind::frames(program).into_iter().map(|frame| frame.body).collect();
            framed.sort_unstable_by_key(|range| range.start);
            framed
        });
        let before = framed.partition_point(|range| range.start <= jump).checked_sub(1);
        let frame = before.map(|index| framed[index]).filter(|range| range.contains(jump));
        frame.unwrap_or_else(|| {
            let start = program.functions.range(..=jump).next_back().map_or(jump, |f| f.entry);
            let last = Address { space: jump.space, offset: u64::MAX };
            let after = (Bound::Excluded(jump), Bound::Included(last));
            let next = program.functions.range(after).next();
            let end = next.and_then(|function| function.entry.checked_sub(1));
            AddressRange { start, end: end.unwrap_or(last) }
        })
    }
}

/// Resolves computed jumps until none is left that can be. Cost: one flow
/// analysis for each function that holds an open jump, spread over all cores.
pub(crate) fn resolve(explorer: &mut Explorer<'_, '_>) -> Result<(), Stopped> {
    let mut known = Known::new();
    loop {
        let hopeless = resolve_open(explorer, &mut known)?;
        if hopeless.is_empty() {
            break;
        }
        // Callers that waited for such a function go on, to code with jumps of its own.
        explorer.give_up(&hopeless.into_iter().collect::<Vec<_>>())?;
    }
    let analysis = explorer.so_far(BTreeSet::new());
    // An engine for text takes all of a program in: too dear for a few labels of a large one.
    if crate::parameter_ids::is_moderate(analysis.program) {
        find_values(analysis.program, analysis.decompiler, analysis.told, &mut known);
    } else {
        let open = known.values().filter(|(_, table)| table.cases.len() > 1 && lacks_values(table));
        let open = open.count();
        if open > 0 {
            let why = "there is too much code to decompile for them";
            analysis.program.warn(format!("{open} switches have cases without labels: {why}"));
        }
    }
    for (_, table) in known.values() {
        crate::switch_tables::mark(analysis.program, table);
    }
    Ok(())
}

/// The tables found, each with its function, by their jumps.
type Known = BTreeMap<Address, Found>;

/// Finds the values of cases that following flow alone does not tell, such as those of a switch in
/// a loop. Cost: one decompilation of each function that holds one.
fn find_values(
    program: &Program,
    decompiler: &decompiler::Decompiler,
    told: &mut Told,
    known: &mut Known,
) {
    let open = known.values().filter(|(_, table)| table.cases.len() > 1 && lacks_values(table));
    let functions: BTreeSet<u64> = open.map(|(function, _)| *function).collect();
    let functions: Vec<u64> =
        functions.into_iter().filter(|function| told.decompiled.insert(*function)).collect();
    let limits = Limits { timeout: LONG_LIMIT, ..Limits::default() };
    let never = Arc::new(AtomicBool::new(false));
    let found = side_by_side(&functions, |entry| {
        decompiler.decompile(program, entry, &limits, &never).jump_tables
    });
    told.valued.extend(found.into_iter().map(|table| (table.from, table)));
    for (from, (_, flat)) in known.iter_mut().filter(|(_, (_, table))| lacks_values(table)) {
        let Some(table) = told.valued.get(from) else { continue };
        // The way of all other values is listed as a case with a value of its own.
        let cases = table.cases.iter().copied().filter(|(value, _)| *value != OTHERS);
        let cases: Vec<(u64, Address)> = cases.collect();
        let leads_there = |to: &Address| flat.cases.iter().any(|(_, known)| known == to);
        if cases.iter().all(|(_, to)| leads_there(to)) {
            (flat.cases, flat.default) = (cases, table.default);
        }
    }
}

fn lacks_values(table: &JumpTable) -> bool {
    table.cases.iter().any(|(value, _)| *value == crate::switch_tables::UNKNOWN)
}

/// Resolves the jumps that are open now and those behind them; what cannot be resolved.
fn resolve_open(
    explorer: &mut Explorer<'_, '_>,
    known: &mut Known,
) -> Result<BTreeSet<(u64, u64)>, Stopped> {
    let mut hopeless: BTreeSet<(u64, u64)> = BTreeSet::new();
    let mut waiting: BTreeSet<(u64, u64)> = BTreeSet::new();
    let mut unbounded: Vec<Found> = Vec::new();
    for _ in 0..ROUNDS {
        let open: BTreeSet<(u64, u64)> = explorer.take_open_jumps().into_iter().collect();
        if open.is_empty() && waiting.is_empty() && unbounded.is_empty() {
            break;
        }
        // Nobody gave up on the hopeless ones yet: their functions may return as well.
        let mut may_return = &(&open | &waiting) | &hopeless;
        may_return.extend(unbounded.iter().map(|(function, table)| (*function, table.from.offset)));
        let analysis = explorer.so_far(may_return);
        analysis.check()?;
        let mut seen = look(analysis, open, &mut hopeless);
        waiting.append(&mut seen.rest);
        unbounded.append(&mut seen.unbounded);
        // What else is found tells where tables end that nothing bounds.
        if seen.resolved.is_empty() && !unbounded.is_empty() {
            resolve_unbounded(explorer, std::mem::take(&mut unbounded), known, &mut hopeless)?;
            continue;
        }
        if seen.resolved.is_empty() {
            // The code found meanwhile may tell more. If not, now is the time for the dear way.
            seen = look(analysis, std::mem::take(&mut waiting), &mut hopeless);
            unbounded.append(&mut seen.unbounded);
            if seen.resolved.is_empty() && unbounded.is_empty() {
                seen.resolved = ask(analysis, seen.rest, &mut hopeless);
            } else {
                waiting = seen.rest;
            }
        }
        if seen.resolved.is_empty() && unbounded.is_empty() {
            break;
        }
        let program = &mut *analysis.program;
        seen.resolved.iter().for_each(|(_, table)| refer(program, table));
        let resolved: Vec<(u64, u64, Vec<u64>)> = seen
            .resolved
            .iter()
            .map(|(function, table)| (*function, table.from.offset, targets(table)))
            .collect();
        // One place alone may be all that is known of a jump that leads to others as well.
        let unsure = resolved.iter().filter(|(_, _, targets)| targets.len() < 2);
        hopeless.extend(unsure.map(|(function, at, _)| (*function, *at)));
        known.extend(seen.resolved.into_iter().map(|found| (found.1.from, found)));
        explorer.resolve(resolved)?;
    }
    hopeless.extend(waiting);
    hopeless.extend(unbounded.iter().map(|(function, table)| (*function, table.from.offset)));
    hopeless.extend(explorer.take_open_jumps());
    Ok(hopeless)
}

/// Resolves jumps through tables whose size nothing tells, case by case: the code that one case
/// leads to may tell that the table ends before the next. Cost: linear in the code found and in
/// the cases.
fn resolve_unbounded(
    explorer: &mut Explorer<'_, '_>,
    unbounded: Vec<Found>,
    known: &mut Known,
    hopeless: &mut BTreeSet<(u64, u64)>,
) -> Result<(), Stopped> {
    let bounded = known.values().chain(&unbounded).flat_map(|(_, table)| &table.tables);
    let starts: BTreeSet<Address> = bounded.map(|(first, _, _)| *first).collect();
    for (function, table) in unbounded {
        let at = table.from;
        let analysis = explorer.analysis();
        analysis.check()?;
        let code = analysis.told.code_around(analysis.program, at);
        let mut count = 0;
        let own = |program: &Program, case| {
            jump_tables::is_own_case(program, &table, case, &code, &starts)
        };
        while own(explorer.program(), count) {
            let target = table.cases[count].1.offset;
            explorer.resolve(vec![(function, at.offset, vec![target])])?;
            count += 1;
        }
        match jump_tables::shortened(table, count) {
            Some(table) => {
                refer(explorer.analysis().program, &table);
                known.insert(at, (function, table));
            }
            None => _ = hopeless.insert((function, at.offset)),
        }
    }
    Ok(())
}

/// Asks the decompiler about the functions of some jumps, about each once; the tables of the
/// jumps that it knows.
fn ask(
    analysis: &mut Analysis<'_>,
    jumps: BTreeSet<(u64, u64)>,
    hopeless: &mut BTreeSet<(u64, u64)>,
) -> Vec<Found> {
    let Analysis { program, decompiler, told, .. } = analysis;
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
    let mut found = Vec::new();
    for (function, at) in jumps {
        match told.tables.get(&Address::ram(at)) {
            Some(table) if !table.cases.is_empty() => found.push((function, table.clone())),
            _ => _ = hopeless.insert((function, at)),
        }
    }
    found
}

/// What the code just before some jumps tells.
#[derive(Default)]
struct Seen {
    resolved: Vec<Found>,
    /// Tables of which nothing tells how many entries are their own.
    unbounded: Vec<Found>,
    /// What may be a table that only the decompiler can read.
    rest: BTreeSet<(u64, u64)>,
}

/// Looks at the code just before each jump.
fn look(
    analysis: &Analysis<'_>,
    open: BTreeSet<(u64, u64)>,
    hopeless: &mut BTreeSet<(u64, u64)>,
) -> Seen {
    let Analysis { program, language, told, .. } = analysis;
    let mut reader = CodeReader::new(language);
    // Code of other processors finds its tables by registers that were set long before.
    let self_contained =
        matches!(language.processor(), "x86" | "AARCH64" | "RISCV") && language.pointer_size() == 8;
    let convention = language.default_convention().and_then(|name| language.convention(name));
    let preserved = convention.map_or(&[][..], |convention| &convention.preserved);
    let mut seen = Seen::default();
    for (function, at) in open {
        let places = (Address::ram(function), Address::ram(at));
        let long = || told.code_around(program, places.1).len() > LONGEST;
        match jump_tables::look_at(program, &mut reader, preserved, places) {
            Jump::Table(table) => seen.resolved.push((function, table)),
            Jump::ByByte(table) => seen.unbounded.push((function, table)),
            Jump::Pointer if self_contained => {
                hopeless.insert((function, at));
            }
            Jump::Perhaps if self_contained && long() => {
                hopeless.insert((function, at));
            }
            Jump::Pointer | Jump::Perhaps => {
                seen.rest.insert((function, at));
            }
        }
    }
    seen
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
    side_by_side(functions, |entry| decompiler.jump_tables(program, entry, &limits, &never))
}

/// What is told about several functions, on all cores and in their order.
fn side_by_side(
    functions: &[u64],
    tell: impl Fn(Address) -> Vec<JumpTable> + Sync,
) -> Vec<JumpTable> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(functions.len());
    let work = || {
        let mut found = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(entry) = functions.get(index) else { return found };
            found.push((index, tell(Address::ram(*entry))));
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
