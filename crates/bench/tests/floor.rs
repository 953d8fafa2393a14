//! The engine's scores over all samples stay at or above what was reached before.

use std::path::Path;

use bench::category::Category;
use bench::floor::Floor;
use bench::report::{table, totals};
use bench::run;
use bench::subject::Depth;
use clap::ValueEnum;
use testkit::truth::Truth;

#[test]
fn scores_never_fall() {
    let Some(truth) = Truth::find("scores_never_fall") else { return };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("floor.txt");
    let text = std::fs::read_to_string(&path).expect("floor.txt");
    let mut floor = Floor::parse(&text).expect("floor.txt in its form");
    let samples = truth.samples().expect("the samples");
    let scored = run::judge_all(&samples, Category::value_variants(), Depth::Analysed, 2)
        .expect("the samples can be judged");
    let totals = totals(&scored);
    if std::env::var_os("UPDATE_FLOOR").is_some() {
        floor.raise(&totals);
        std::fs::write(&path, floor.print()).expect("floor.txt is written");
    }
    let losses = floor.losses(&totals);
    assert!(losses.is_empty(), "{}\n{}", losses.join("\n"), table(&scored));
}
