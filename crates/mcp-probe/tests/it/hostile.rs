//! Servers that mean harm: a named finding within the time, in bounded memory,
//! with the recording intact.

use crate::harness::{PROBE, Ran, Served, recorded, run};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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
    crate::doctor::shows(&ran, rule);
    assert!(ran.took.as_secs() < 150, "{mock}: {:?}", ran.took);
    intact(&trail, mock);
}

/// Every line can be read and none is missing.
fn intact(trail: &Path, mock: &str) {
    let lines = recorded(trail);
    let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert!(numbers.len() > 2, "{mock}");
    assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "{mock}: {numbers:?}");
}

#[test]
fn floods() {
    check("flood", false);
    check("flood", true);
}

#[test]
fn silence() {
    check("silent", false);
    check("silent", true);
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
    // A busy machine needs its time for this.
    for over_http in [false, true] {
        within(45, "long-line", over_http);
    }
}

/// The most memory a process was seen to hold, in MiB, while it ran.
fn peak(child: &mut Child) -> u64 {
    let path = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        most = kib.unwrap_or(0).max(most);
        std::thread::sleep(Duration::from_millis(5));
    }
    most / 1024
}

#[test]
fn a_long_line_takes_a_small_multiple_of_its_length() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    for how in ["--http", "--ws", ""] {
        let served = (!how.is_empty())
            .then(|| Served::start(Command::new(PROBE).args(["mock", "long-line", how, "0"])));
        let mut command = Command::new(PROBE);
        command.args(["doctor", "--timeout-idle", "45s", "--timeout-total", "45s", "--record"]);
        command.arg(&trail);
        match &served {
            Some(served) => command.arg(&served.url),
            None => command.args(["stdio", "--", PROBE, "mock", "long-line"]),
        };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let most = peak(&mut command.spawn().unwrap());
        assert!((64..448).contains(&most), "{how}: {most} MiB");
        println!("{how}: {most} MiB");
        std::fs::remove_file(&trail).unwrap();
    }
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
    check("endless-pages", false);
}
