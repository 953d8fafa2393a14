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

fn check(mock: &str, rule: &str, over_http: bool) {
    within(6, mock, rule, over_http);
}

fn within(total: u32, mock: &str, rule: &str, over_http: bool) {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let served = over_http.then(|| Served::mock(mock));
    let target = match &served {
        Some(served) => served.url.clone(),
        None => format!("stdio -- '{PROBE}' mock {mock}"),
    };
    let ran = bounded(2_000_000, total, &target, trail.to_str().unwrap());
    assert_eq!(ran.code, 1, "{mock}: {}{}", ran.out, ran.err);
    assert!(ran.rules().iter().any(|found| found == rule), "{mock}: {rule}: {}", ran.out);
    assert!(ran.took.as_secs() < 150, "{mock}: {:?}", ran.took);
    assert!(recorded(&trail).len() > 2, "{mock}");
}

#[test]
fn floods() {
    check("flood", "flood", false);
    check("flood", "flood", true);
}

#[test]
fn silence() {
    check("silent", "no-answer", false);
    check("mute", "no-answer", true);
}

#[test]
fn disorder_and_cuts() {
    check("out-of-order", "out-of-order", false);
    check("close-mid-message", "message-cut", false);
    check("close-mid-message", "message-cut", true);
}

#[test]
fn sixty_four_mebibytes_in_a_line() {
    // An unoptimised build on a busy machine needs its time for this.
    within(45, "long-line", "long-message", false);
}

#[test]
fn broken_text_and_bombs() {
    for over_http in [false, true] {
        check("invalid-utf8", "invalid-utf8", over_http);
        check("nested-bomb", "nested-too-deep", over_http);
    }
}

#[test]
fn circles_and_endless_streams() {
    check("redirect-loop", "redirect-loop", true);
    check("endless-sse", "endless-stream", true);
    check("endless-pages", "endless-pages", true);
}
