//! Servers that mean harm: a named finding within the time, in bounded memory,
//! with the recording intact.

use crate::harness::{PROBE, Ran, Served, recorded, run};
use std::process::Command;

/// The program with at most this much address space, in KiB.
fn bounded(limit: u32, total: u32, target: &str, trail: &str) -> Ran {
    let idle = total / 2;
    let script = format!(
        "ulimit -v {limit}; exec '{PROBE}' doctor --json --timeout-idle {idle}s --timeout-total {total}s --record '{trail}' {target}"
    );
    run(Command::new("sh").args(["-c", &script]))
}

/// Mocks that mean harm and the rule that names each.
pub const HOSTILE: &[(&str, &str)] = &[
    ("flood", "flood"),
    ("silent", "no-answer"),
    ("mute", "no-answer"),
    ("out-of-order", "out-of-order"),
    ("close-mid-message", "message-cut"),
    ("long-line", "long-message"),
    ("invalid-utf8", "invalid-utf8"),
    ("nested-bomb", "nested-too-deep"),
    ("redirect-loop", "redirect-loop"),
    ("endless-sse", "endless-stream"),
    ("endless-pages", "endless-pages"),
];

fn check(mock: &str, over_http: bool) {
    within(6, mock, over_http);
}

fn within(total: u32, mock: &str, over_http: bool) {
    let rule = HOSTILE.iter().find(|(name, _)| *name == mock).expect("a hostile mock").1;
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let served = over_http.then(|| Served::mock(mock));
    let target = match &served {
        Some(served) => served.url.clone(),
        None => format!("stdio -- '{PROBE}' mock {mock}"),
    };
    let ran = bounded(2_000_000, total, &target, trail.to_str().unwrap());
    assert_eq!(ran.code, 1, "{mock}: {}{}", ran.out, ran.err);
    assert!(ran.rules().iter().any(|found| found.as_str() == rule), "{mock}: {rule}: {}", ran.out);
    assert!(ran.took.as_secs() < 150, "{mock}: {:?}", ran.took);
    assert!(recorded(&trail).len() > 2, "{mock}");
}

#[test]
fn floods() {
    check("flood", false);
    check("flood", true);
}

#[test]
fn silence() {
    check("silent", false);
    check("mute", true);
}

#[test]
fn disorder_and_cuts() {
    check("out-of-order", false);
    check("close-mid-message", false);
    check("close-mid-message", true);
}

#[test]
fn sixty_four_mebibytes_in_a_line() {
    // An unoptimised build on a busy machine needs its time for this.
    within(45, "long-line", false);
}

#[test]
fn broken_text_and_bombs() {
    for over_http in [false, true] {
        check("invalid-utf8", over_http);
        check("nested-bomb", over_http);
    }
}

#[test]
fn circles_and_endless_streams() {
    check("redirect-loop", true);
    check("endless-sse", true);
    check("endless-pages", true);
}
