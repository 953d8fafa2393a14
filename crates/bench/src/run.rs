//! Scores samples: what each category's facts are on both sides, compared.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use program::Program;
use testkit::truth::{Decompilation, Sample};

use crate::c_text::{Likeness, likeness};
use crate::category::{Category, plain_address};
use crate::report::Scored;
use crate::score::{Comparison, Tally, compare};
use crate::subject::{Depth, Opened};
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
    let opened = Opened::open_as(sample.binary(), depth, sample.given_language()?);
    let elapsed = began.elapsed();
    let (opened, failure) = match opened {
        Ok(opened) => (Some(opened), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let program = opened.as_ref().map(|opened| &*opened.program);
    let mut comparisons = compare_facts(sample, program, categories)?;
    comparisons.extend(compare_texts(sample, opened.as_ref(), categories)?);
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
) -> Result<Vec<(Category, Comparison)>> {
    let wanted: Vec<Category> = categories.iter().copied().filter(|c| c.is_text()).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let texts = opened.map(|opened| opened.decompile_all(1)).transpose()?.unwrap_or_default();
    let mut results: Vec<(Category, Comparison)> =
        wanted.into_iter().map(|category| (category, Comparison::default())).collect();
    for theirs in sample.decompilations()? {
        let Some(text) = &theirs.c else { continue };
        let ours = texts.get(&plain_address(&theirs.entry));
        let alike =
            ours.map_or(Likeness::Different, |ours| likeness(ours, text, &variables(&theirs)));
        for (category, result) in &mut results {
            let needed = match category {
                Category::Text => Likeness::Equal,
                _ => Likeness::EqualButNames,
            };
            tally(result, alike >= needed, &theirs, text, ours);
        }
    }
    Ok(results)
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
