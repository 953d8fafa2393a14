//! The rules of the scan against tools that people have labelled: precision and
//! recall of each rule stay at or above 90 %.

use crate::harness::probe;
use serde_json::Value;

const LEAST: f64 = 90.0;

fn measured(name: &str) -> Value {
    let path = format!("{}/tests/data/tools/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let ran = probe(&["scan", "--json", "--measure", &path]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.json()
}

fn holds(name: &str, tools: i64, rules: usize) {
    let found = measured(name);
    assert!(found["tools"].as_i64().unwrap() >= tools, "{found}");
    let scores = found["rules"].as_array().unwrap();
    assert!(scores.len() >= rules, "{found}");
    for score in scores {
        for share in ["precision", "recall"] {
            let value = score[share].as_f64().unwrap_or(0.0);
            println!("{name}: {} {share} {value} %", score["rule"]);
            assert!(value >= LEAST, "{name}: {score}");
        }
    }
}

#[test]
fn rules_hold_on_the_tools_they_were_tuned_on() {
    holds("tuned", 600, 7);
}

#[test]
fn rules_hold_on_tools_they_were_not_tuned_on() {
    holds("held-out", 200, 5);
}

#[test]
fn rules_hold_in_five_languages() {
    holds("made-up", 50, 10);
}

#[test]
fn a_wrong_label_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    std::fs::write(&path, r#"{"labels":["no-such-rule"],"tool":{"name":"x"}}"#).unwrap();
    let ran = probe(&["scan", "--measure", path.to_str().unwrap()]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no-such-rule"), "{}", ran.err);
}
