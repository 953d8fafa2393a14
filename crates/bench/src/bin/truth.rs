//! Scores our engine against what Ghidra says about the sample programs.
//!
//! ```text
//! cargo run --release -p bench --bin truth
//! cargo run --release -p bench --bin truth -- --only blocks,symbols --sample structs
//! cargo run --release -p bench --bin truth -- --diff structs.x64.O0 --only references
//! cargo run --release -p bench --bin truth -- --real DIR
//! ```

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use bench::category::Category;
use bench::report;
use bench::run::{self, Outcome};
use bench::subject::Depth;
use clap::{Parser, ValueEnum};
use testkit::truth::{Sample, Truth};

/// Scores our engine against what Ghidra says about the sample programs.
#[derive(Debug, Parser)]
struct Arguments {
    /// Score only these kinds of facts.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Category>,
    /// Score only samples whose name contains one of these texts.
    #[arg(long, value_delimiter = ',')]
    sample: Vec<String>,
    /// Score only samples of these processors (x64, aarch64, ...).
    #[arg(long, value_delimiter = ',')]
    arch: Vec<String>,
    /// Show every disagreement about this one sample instead of a table.
    #[arg(long, value_name = "NAME")]
    diff: Option<String>,
    /// Most lines of a kind to show with --diff; 0 = all.
    #[arg(long, default_value_t = 60)]
    lines: usize,
    /// Score the programs of other people whose files lie in this folder (`bin/NAME/FILE`) in place
    /// of the samples.
    #[arg(long, value_name = "DIR")]
    real: Option<PathBuf>,
    /// Score what the loader alone finds, without any analysis.
    #[arg(long)]
    loaded: bool,
    /// Samples to work on at once.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
}

fn main() -> ExitCode {
    match score(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("truth: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn score(arguments: &Arguments) -> Result<()> {
    let truth = Truth::locate().context("no sample programs: set GHIDRA_TRUTH to their folder")?;
    let mut categories = match arguments.only.as_slice() {
        [] => Category::value_variants().to_vec(),
        only => only.to_vec(),
    };
    let depth = if arguments.loaded { Depth::Loaded } else { Depth::Analysed };
    let mut samples = match &arguments.real {
        Some(files) => {
            // Their dumps have no listings.
            categories.retain(|category| *category != Category::Instructions);
            truth.real(files)?
        }
        None => truth.samples()?,
    };
    if let Some(name) = &arguments.diff {
        let sample = samples.iter().find(|sample| sample.name == *name);
        let sample = sample.with_context(|| format!("there is no sample {name}"))?;
        print_differences(&run::judge(sample, &categories, depth)?, arguments.lines);
        return Ok(());
    }
    samples.retain(|sample| arguments.wants(sample));
    let rows = run::judge_all(&samples, &categories, depth, arguments.jobs)?;
    print!("{}", report::table(&rows));
    Ok(())
}

impl Arguments {
    fn wants(&self, sample: &Sample) -> bool {
        let named = self.sample.is_empty() || self.sample.iter().any(|t| sample.name.contains(t));
        let built = self.arch.is_empty() || self.arch.iter().any(|arch| arch == sample.arch());
        named && built
    }
}

/// `-` what only Ghidra has, `+` what only we have.
fn print_differences(outcome: &Outcome, lines: usize) {
    if let Some(failure) = &outcome.failure {
        println!("FAILED: {failure}");
    }
    let shown = |rows: &[String]| if lines == 0 { rows.len() } else { lines.min(rows.len()) };
    for (category, result) in &outcome.comparisons {
        let tally = &result.tally;
        println!(
            "== {}: precision {}, recall {}, shared {}, missing {}, extra {}",
            category.title(),
            report::percent(tally.precision()),
            report::percent(tally.recall()),
            tally.shared,
            result.missing.len(),
            result.extra.len(),
        );
        if category.is_text() {
            for (theirs, ours) in result.missing.iter().zip(&result.extra).take(lines.max(1)) {
                println!("--- Ghidra {theirs}\n+++ ours {ours}\n");
            }
            continue;
        }
        for (sign, rows) in [("-", &result.missing), ("+", &result.extra)] {
            let count = shown(rows);
            for row in &rows[..count] {
                println!("{sign} {row}");
            }
            if count < rows.len() {
                println!("{sign} ... {} more", rows.len() - count);
            }
        }
    }
}
