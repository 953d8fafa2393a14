//! `replay`: against a server, and as one.

use crate::harness::{PROBE, Served, against, probe};
use std::process::Command;

fn record(dir: &std::path::Path, mock: &str, args: &[&str]) -> String {
    let trail = dir.join("t.jsonl").to_str().unwrap().to_string();
    against(mock, &[args, &["--record", &trail]].concat());
    trail
}

#[test]
fn the_same_server_answers_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let trail = record(dir.path(), "good", &["report"]);
    for strict in [&[][..], &["--strict"]] {
        let ran = probe(&[&["replay", "--json", &trail][..], strict].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert_eq!(ran.json()["steps"].as_array().unwrap().len(), 13);
    }
}

#[test]
fn another_server_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let trail =
        record(dir.path(), "good", &["call", "--tool", "add", "--args", r#"{"a":1,"b":2}"#]);
    let ran = probe(&["replay", "--json", &trail, "stdio", "--", PROBE, "mock", "drifted"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("was a response, is a error"));
    let ran = probe(&["replay", "--json", &trail, "stdio", "--", PROBE, "mock", "legacy"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("does not speak the era of the recording"), "{}", ran.out);
}

#[test]
fn over_another_transport() {
    let dir = tempfile::tempdir().unwrap();
    let trail = record(dir.path(), "good", &["report", "--protocol", "2025-11-25"]);
    let served = Served::mock("sessions");
    let ran = probe(&["replay", "--json", &trail, &served.url]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

#[test]
fn a_recording_served_back() {
    let dir = tempfile::tempdir().unwrap();
    let trail = record(dir.path(), "risky", &["report"]);
    let direct = against("risky", &["report", "--json"]);
    let ran = probe(&["report", "--json", "stdio", "--", PROBE, "replay", "--serve", &trail]);
    assert_eq!(ran.json()["surfaces"], direct.json()["surfaces"], "{}", ran.err);
    let served =
        Served::start(Command::new(PROBE).args(["replay", "--serve", &trail, "--http", "0"]));
    let ran = probe(&["report", "--json", &served.url]);
    assert_eq!(
        ran.json()["surfaces"][0]["tools"],
        direct.json()["surfaces"][0]["tools"],
        "{}",
        ran.err
    );
    let ran = probe(&["call", "--json", "--tool", "fetch", "--args", "{}", &served.url]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.json()["answer"]["error"]["code"], -32601);
}
