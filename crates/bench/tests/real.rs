//! The engine's scores over programs of other people stay at or above what was reached before.
//!
//! The programs are fetched by whoever runs this; `REAL_PROGRAMS` names their folder.

use std::path::{Path, PathBuf};

use bench::category::Category;
use bench::floor::Floor;
use bench::report::{table, totals};
use bench::run;
use bench::subject::Depth;
use clap::ValueEnum;
use testkit::truth::Truth;

/// Hundredths of a percent that may be lost: the longest decompilations end by the clock, and on a
/// busy machine a few more of them do.
const SLACK: u32 = 10;

#[test]
fn scores_over_programs_of_other_people_never_fall() {
    let Some(files) = std::env::var_os("REAL_PROGRAMS").map(PathBuf::from) else {
        eprintln!("REAL_PROGRAMS names no folder: programs of other people are not judged");
        return;
    };
    let truth = Truth::locate().expect("the answers of Ghidra");
    let samples = truth.real(&files).expect("programs with their answers");
    let missing = truth.real_names().expect("the answers can be listed");
    let missing: Vec<String> =
        missing.into_iter().filter(|name| samples.iter().all(|s| s.name != *name)).collect();
    if !missing.is_empty() {
        eprintln!("not fetched, so nothing is judged: {missing:?}");
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("real.txt");
    let mut floor = Floor::parse(&std::fs::read_to_string(&path).expect("real.txt")).expect("rows");
    // Their dumps have no listings; and few functions never return.
    let categories: Vec<Category> = Category::value_variants()
        .iter()
        .copied()
        .filter(|category| !matches!(category, Category::Instructions | Category::NoReturn))
        .collect();
    let scored = run::judge_all(&samples, &categories, Depth::Analysed, 2).expect("are judged");
    println!("{}", table(&scored));
    let failed: Vec<&str> =
        scored.iter().filter(|s| s.failure.is_some()).map(|s| &*s.name).collect();
    assert!(failed.is_empty(), "{failed:?}");
    let sums = totals(&scored);
    if std::env::var_os("UPDATE_FLOOR").is_some() {
        floor.raise(&sums);
        std::fs::write(&path, floor.print()).expect("real.txt is written");
    }
    let losses = floor.losses_beyond(&sums, SLACK);
    assert!(losses.is_empty(), "{}\n{}", losses.join("\n"), table(&scored));
}
