//! The engine's scores over all samples stay at or above what was reached before.

use std::path::Path;

use bench::category::Category;
use bench::floor::Floor;
use bench::report::{functions_by_symbols, table, totals};
use bench::run;
use bench::subject::Depth;
use clap::ValueEnum;
use testkit::truth::{Sample, Truth};

/// Decompiling a whole static C library takes longer than all the rest; its text
/// counts in the table that `truth` prints, not here.
const LARGEST_FOR_TEXT: u64 = 400 << 10;

/// Least precision and recall of the functions' entries: of samples with symbols, and without.
const LEAST_FUNCTIONS: [f64; 2] = [0.99, 0.97];

#[test]
fn scores_never_fall() {
    let Some(truth) = Truth::find("scores_never_fall") else { return };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("floor.txt");
    let text = std::fs::read_to_string(&path).expect("floor.txt");
    let mut floor = Floor::parse(&text).expect("floor.txt in its form");

    let (texts, facts): (Vec<Category>, Vec<Category>) =
        scored_categories().partition(|category| category.is_text());
    let mut samples = truth.samples().expect("the samples");
    let facts = judge(&samples, &facts);
    samples.retain(|sample| size(sample) <= LARGEST_FOR_TEXT);
    let texts = judge(&samples, &texts);

    let mut sums = totals(&facts);
    sums.extend(totals(&texts));
    if std::env::var_os("UPDATE_FLOOR").is_some() {
        floor.raise(&sums);
        std::fs::write(&path, floor.print()).expect("floor.txt is written");
    }
    let losses = floor.losses(&sums);
    for ((title, tally), least) in functions_by_symbols(&facts).into_iter().zip(LEAST_FUNCTIONS) {
        let (precision, recall) = (tally.precision(), tally.recall());
        assert!(precision >= least && recall >= least, "functions {title}: {precision} {recall}");
    }
    assert!(losses.is_empty(), "{}\n{}\n{}", losses.join("\n"), table(&facts), table(&texts));
}

/// So few functions never return that one more program moves their score a lot.
fn scored_categories() -> impl Iterator<Item = Category> {
    Category::value_variants().iter().copied().filter(|category| *category != Category::NoReturn)
}

fn judge(samples: &[Sample], categories: &[Category]) -> Vec<bench::report::Scored> {
    run::judge_all(samples, categories, Depth::Analysed, 2).expect("the samples can be judged")
}

fn size(sample: &Sample) -> u64 {
    std::fs::metadata(sample.binary()).map_or(0, |metadata| metadata.len())
}
