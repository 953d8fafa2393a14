//! Scores samples: what each category's facts are on both sides, compared.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use program::{Address, Program, SourceType};
use testkit::truth::{Decompilation, ProgramDump, Sample};

use crate::c_text::{Likeness, likeness};
use crate::category::{Category, plain_address};
use crate::report::Scored;
use crate::score::{Comparison, Tally, compare};
use crate::subject::{Depth, Opened, Stated};
use crate::{ours, theirs};

/// One sample compared in several categories.
#[derive(Debug)]
pub struct Outcome {
    /// What agrees and what does not, a category each.
    pub comparisons: Vec<(Category, Comparison)>,
    /// Wall time of opening and analysing it.
    pub elapsed: Duration,
    /// Why it could not be opened or analysed.
    pub failure: Option<String>,
}

/// Runs our engine on a sample and compares. A sample that cannot be opened
/// has none of the facts.
pub fn judge(sample: &Sample, categories: &[Category], depth: Depth) -> Result<Outcome> {
    let began = Instant::now();
    let stated = Stated { language: sample.given_language()?, ..Stated::default() };
    let opened = Opened::open_as(sample.binary(), depth, &stated);
    let elapsed = began.elapsed();
    let (opened, failure) = match opened {
        Ok(opened) => (Some(opened), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let program = opened.as_ref().map(|opened| &*opened.program);
    let mut comparisons = compare_facts(sample, program, categories)?;
    comparisons.extend(compare_texts(sample, opened.as_ref(), categories, depth)?);
    Ok(Outcome { comparisons, elapsed, failure })
}

/// Judges many samples, `jobs` at a time, and gives their scores in order.
pub fn judge_all(
    samples: &[Sample],
    categories: &[Category],
    depth: Depth,
    jobs: usize,
) -> Result<Vec<Scored>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(sample) = samples.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = judge(sample, categories, depth)?;
            done.push(outcome.scored(&sample.name));
        }
        Ok(done)
    };
    let results: Vec<Result<Vec<Scored>>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let join = |worker: ScopedJoinHandle<'_, _>| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        workers.into_iter().map(join).collect()
    });
    let mut scored = Vec::new();
    for result in results {
        scored.extend(result?);
    }
    scored.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(scored)
}

impl Outcome {
    /// The counts alone, for tables.
    pub fn scored(&self, name: &str) -> Scored {
        Scored {
            name: name.to_owned(),
            tallies: self.comparisons.iter().map(|(c, result)| (*c, result.tally)).collect(),
            elapsed: self.elapsed,
            failure: self.failure.clone(),
        }
    }
}

fn compare_facts(
    sample: &Sample,
    program: Option<&Program>,
    categories: &[Category],
) -> Result<Vec<(Category, Comparison)>> {
    let dump = sample.program()?;
    let mut results = Vec::new();
    for category in categories.iter().filter(|category| !category.is_text()) {
        let ours = program.map(|program| ours::facts(program, *category)).unwrap_or_default();
        let theirs = theirs::facts(sample, &dump, *category)?;
        results.push((*category, compare(ours, theirs)));
    }
    Ok(results)
}

/// Compares the C text of every function that Ghidra could decompile.
fn compare_texts(
    sample: &Sample,
    opened: Option<&Opened>,
    categories: &[Category],
    depth: Depth,
) -> Result<Vec<(Category, Comparison)>> {
    let wanted: Vec<Category> = categories.iter().copied().filter(|c| c.is_text()).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let texts = opened.map(|opened| opened.decompile_all(1)).transpose()?.unwrap_or_default();
    let mut results: Vec<(Category, Comparison)> =
        wanted.into_iter().map(|category| (category, Comparison::default())).collect();
    let theirs = sample.decompilations()?;
    let explained = match opened.filter(|_| categories.contains(&Category::Explained)) {
        Some(opened) => explained_texts(sample, opened, &texts, &theirs, depth)?,
        None => HashMap::new(),
    };
    for theirs in theirs {
        let Some(text) = &theirs.c else { continue };
        let entry = plain_address(&theirs.entry);
        let ours = texts.get(&entry);
        let alike = alike(ours, text, &theirs);
        for (category, result) in &mut results {
            let good = match category {
                Category::Text => alike == Likeness::Equal,
                Category::Explained => {
                    let explained = self::alike(explained.get(&entry), text, &theirs);
                    alike == Likeness::Equal || explained == Likeness::Equal
                }
                _ => alike >= Likeness::EqualButNames,
            };
            tally(result, good, &theirs, text, ours);
        }
    }
    Ok(results)
}

fn alike(ours: Option<&String>, text: &str, theirs: &Decompilation) -> Likeness {
    ours.map_or(Likeness::Different, |ours| likeness(ours, text, &variables(theirs)))
}

/// Our texts of the functions that differ, once what only we know is left out: which functions never
/// return, prototypes of imports, and what stubs stand for. Where there is nothing of it there is nothing to explain.
fn explained_texts(
    sample: &Sample,
    opened: &Opened,
    texts: &HashMap<String, String>,
    theirs: &[Decompilation],
    depth: Depth,
) -> Result<HashMap<String, String>> {
    let dump = sample.program()?;
    let returning = returning_in_dump(&opened.program, &dump);
    let unknown = unknown_in_dump(&opened.program, &dump);
    let nameless = nameless_in_dump(&opened.program, &dump);
    if returning.is_empty() && unknown.is_empty() && nameless.is_empty() {
        return Ok(HashMap::new());
    }
    let differ: HashSet<String> = theirs
        .iter()
        .filter_map(|theirs| {
            let entry = plain_address(&theirs.entry);
            let text = theirs.c.as_ref()?;
            (alike(texts.get(&entry), text, theirs) != Likeness::Equal).then_some(entry)
        })
        .collect();
    let stated = Stated { language: sample.given_language()?, returning, unknown, nameless };
    let opened = Opened::open_as(sample.binary(), depth, &stated)?;
    opened.decompile(1, |entry| differ.contains(entry))
}

/// The stubs that stand for imports as we see it, and for nothing as a dump has it.
fn nameless_in_dump(program: &Program, dump: &ProgramDump) -> BTreeSet<Address> {
    let plain = dump.functions.iter().filter(|f| !f.thunk && f.name_source == "DEFAULT");
    let plain: HashSet<String> = plain.map(|f| plain_address(&f.entry)).collect();
    let stubs = program.functions.iter().filter(|f| {
        !f.is_external() && program.thunked(f.entry).is_some_and(|of| of.is_external())
    });
    let nameless = stubs.filter(|f| plain.contains(&ours::address_text(program, f.entry)));
    nameless.map(|f| f.entry).collect()
}

/// The imports whose prototypes we know and a dump does not.
fn unknown_in_dump(program: &Program, dump: &ProgramDump) -> BTreeSet<Address> {
    let stubs = dump.functions.iter().filter(|f| f.thunk && !f.external);
    let unknown: HashSet<String> = stubs
        .filter(|f| f.signature_source == "DEFAULT")
        .map(|f| plain_address(&f.entry))
        .collect();
    let ours = program.functions.iter().filter(|f| !f.is_external() && f.thunk_of.is_some());
    let unknown = ours.filter(|f| unknown.contains(&ours::address_text(program, f.entry)));
    unknown
        .filter_map(|f| program.thunked(f.entry))
        .filter(|f| f.is_external() && f.signature.source == SourceType::Imported)
        .map(|f| f.entry)
        .collect()
}

/// The functions that never return as we see it, and return as a dump has it; with the imports
/// that they stand for.
fn returning_in_dump(program: &Program, dump: &ProgramDump) -> BTreeSet<Address> {
    let in_memory = dump.functions.iter().filter(|function| !function.external);
    let returning: HashSet<String> =
        in_memory.filter(|f| !f.noreturn).map(|f| plain_address(&f.entry)).collect();
    let never = program.functions.iter().filter(|f| f.no_return && !f.is_external());
    let differ = never.filter(|f| returning.contains(&ours::address_text(program, f.entry)));
    differ.flat_map(|f| std::iter::once(f.entry).chain(f.thunk_of)).collect()
}

fn tally(
    result: &mut Comparison,
    good: bool,
    theirs: &Decompilation,
    text: &str,
    ours: Option<&String>,
) {
    let Tally { shared, ours: tried, theirs: all } = &mut result.tally;
    *all += 1;
    *tried += u64::from(ours.is_some());
    *shared += u64::from(good);
    if !good {
        let heading = format!("{} {}", theirs.entry, theirs.name);
        result.missing.push(format!("{heading}\n{}", text.trim()));
        let ours = ours.map_or("(nothing)", |ours| ours.trim());
        result.extra.push(format!("{heading}\n{ours}"));
    }
}

fn variables(decompilation: &Decompilation) -> BTreeSet<&str> {
    let parameters = decompilation.params.iter().map(|p| p.name.as_str());
    let locals = decompilation.locals.iter().map(|l| l.name.as_str());
    parameters.chain(locals).collect()
}
