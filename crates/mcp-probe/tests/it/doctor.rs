//! Each mock with a fault leads to its rule; good ones lead to none.

use crate::harness::{PROBE, Ran, Served, against, probe};
use std::process::Command;

const QUICK: [&str; 6] = ["doctor", "--json", "--timeout-idle", "2s", "--timeout-total", "4s"];

fn stdio(mock: &str) -> Ran {
    against(mock, &QUICK)
}

fn http(mock: &str) -> Ran {
    let served = Served::mock(mock);
    probe(&[&QUICK[..], &[served.url.as_str()]].concat())
}

/// The rule is among the findings, and the exit code says whether any of them is more than a
/// note: what official clients take does not fail a run.
pub fn shows(ran: &Ran, rule: &str) {
    let json = ran.json();
    let findings = json["findings"].as_array().unwrap_or_else(|| panic!("{}", ran.out));
    let alarm = findings.iter().any(|finding| finding["severity"] != "info");
    assert_eq!(ran.code, i32::from(alarm), "{}{}", ran.out, ran.err);
    assert!(alarm || json["verdict"]["works"] != false, "{}", ran.out);
    assert!(ran.rules().iter().any(|found| found == rule), "{rule}: {}", ran.out);
}

#[allow(dead_code)]
/// Works for official clients, and is told about.
fn notes(ran: &Ran, rule: &str) {
    shows(ran, rule);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert_eq!(ran.json()["verdict"]["works"], true, "{}", ran.out);
}

#[allow(dead_code)]
/// Stops both official clients, or the one that is named.
fn refused(ran: &Ran, rule: &str) {
    shows(ran, rule);
    assert_eq!(ran.json()["verdict"]["works"], false, "{}", ran.out);
}

#[test]
fn good_servers_have_no_findings() {
    for mock in ["good", "paged", "legacy", "needs-initialized", "chatty-stderr"] {
        let ran = stdio(mock);
        assert_eq!(ran.code, 0, "{mock}: {}", ran.out);
    }
    for mock in ["good", "paged", "events", "sessions", "legacy"] {
        let ran = http(mock);
        assert_eq!(ran.code, 0, "{mock}: {}", ran.out);
    }
}

#[test]
fn a_late_answer_is_no_strange_one() {
    let ran = against("late", &["doctor", "--json", "--timeout-idle", "10s"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains("no answer; silence for 2.0 s"), "{}", ran.out);
}

/// Mocks and the rule that each shows over pipes.
const PIPED: &[(&str, &str)] = &[
    ("dies", "no-answer"),
    ("silent", "no-answer"),
    ("no-mcp", "not-mcp"),
    ("version-strict", "version-mismatch"),
    ("answers-notifications", "notification-answered"),
    ("empty-tools", "empty-tools"),
    ("error-stderr", "error-stderr"),
    ("cut", "message-cut"),
    ("close-mid-message", "message-cut"),
    ("out-of-order", "out-of-order"),
    ("wrong-ids", "wrong-id"),
    ("endless-pages", "endless-pages"),
    ("noisy", "noise-on-stdout"),
    ("odd-json", "odd-json"),
    ("unadvertised", "unadvertised"),
    ("overpromise", "not-implemented"),
    ("duplicate-tools", "duplicate-names"),
    ("flapping", "unstable-list"),
];

/// The same over HTTP.
const SERVED: &[(&str, &str)] = &[
    ("silent", "no-answer"),
    ("mute", "no-answer"),
    ("not-http", "not-http"),
    ("no-mcp", "not-mcp"),
    ("version-strict", "version-mismatch"),
    ("answers-notifications", "notification-answered"),
    ("wrong-path", "http-404"),
    ("short-body", "message-cut"),
    ("held-open", "open-stream"),
    ("strict-accept", "strict-accept"),
    ("auth", "auth-401"),
    ("old-sse", "sse-or-http"),
    ("foreign-endpoint", "foreign-endpoint"),
    ("noisy", "noise-on-stdout"),
];

#[test]
fn faults_over_pipes() {
    for (mock, rule) in PIPED {
        shows(&stdio(mock), rule);
    }
}

#[test]
fn faults_over_http() {
    for (mock, rule) in SERVED {
        shows(&http(mock), rule);
    }
}

/// Whoever adds a mock with a fault adds the proof that it is found.
#[test]
fn every_faulty_mock_is_tried() {
    let tried: Vec<&(&str, &str)> =
        PIPED.iter().chain(SERVED).chain(crate::hostile::HOSTILE).collect();
    let mocks = probe(&["mock", "--list", "--json"]).json();
    let mut count = 0;
    for mock in mocks.as_array().unwrap() {
        let (name, rule) = (mock["name"].as_str().unwrap(), mock["rule"].as_str().unwrap());
        // Mocks of other verbs stand in the tests of those.
        if !matches!(rule, "" | "scan" | "lint" | "errors") {
            assert!(tried.iter().any(|row| **row == (name, rule)), "{name}: {rule}");
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}

#[test]
fn evidence_and_advice() {
    let ran = stdio("dies");
    assert!(ran.out.contains("missing required argument: --root"), "{}", ran.out);
    assert!(ran.out.contains("exit code 2"));
    let ran = stdio("empty-tools");
    assert!(ran.out.contains("MOCK_API_KEY"));
    let ran = against("empty-tools", &[&QUICK[..], &["--env", "MOCK_API_KEY=x"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(stdio("error-stderr").out.contains("KeyError: 'TOOLS_DIR'"));
    assert!(http("wrong-path").out.contains("/api/mcp: 200"));
    assert!(http("auth").out.contains("Bearer realm="));
    let ran = stdio("version-strict");
    assert_eq!(ran.json()["versions"].as_array().unwrap().len(), 6);
}

#[test]
fn the_same_token_in_another_header() {
    let served = Served::mock("auth");
    let ran = probe(
        &[&QUICK[..], &["--header", "Authorization: Token open-sesame", &served.url]].concat(),
    );
    shows(&ran, "auth-401");
    assert!(ran.out.contains("Authorization: Bearer ..."), "{}", ran.out);
    assert!(!ran.out.contains("open-sesame"));
    let ran = probe(
        &[&QUICK[..], &["--header", "Authorization: Bearer open-sesame", &served.url]].concat(),
    );
    assert_eq!(ran.code, 0, "{}", ran.out);
}

#[test]
fn streamable_http_taken_for_the_old_transport() {
    let served = Served::mock("good");
    let ran = probe(&[&QUICK[..], &["--protocol", "2024-11-05", &served.url]].concat());
    shows(&ran, "sse-or-http");
}

#[test]
fn nothing_there() {
    let ran = probe(&[&QUICK[..], &["http://127.0.0.1:1/mcp"]].concat());
    shows(&ran, "no-answer");
    let ran = probe(&[&QUICK[..], &["stdio", "--", "/no/such/program"]].concat());
    shows(&ran, "no-answer");
    assert_eq!(probe(&["doctor", "/no/such/file"]).code, 2);
}

#[test]
fn a_client_that_numbers_its_notifications() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let script = dir.path().join("s.jsonl");
    std::fs::write(&script, r#"{"raw":"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"notifications/initialized\"}","id":9}"#).unwrap();
    let args = ["session", "--bare", "--record", trail.to_str().unwrap(), script.to_str().unwrap()];
    against("good", &args);
    let ran = probe(&["doctor", "--json", trail.to_str().unwrap()]);
    shows(&ran, "notification-with-id");
}

#[test]
fn stderr_stands_beside_the_error_in_a_recording() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    against("error-stderr", &["report", "--record", trail.to_str().unwrap()]);
    let ran = probe(&["doctor", "--json", trail.to_str().unwrap()]);
    shows(&ran, "error-stderr");
    assert!(ran.out.contains("KeyError"), "{}", ran.out);
}

#[test]
fn rules_are_listed_with_their_mocks() {
    let ran = crate::harness::run(Command::new(PROBE).args(["doctor", "--rules"]));
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("held-open"));
}
