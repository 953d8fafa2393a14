//! `scan` in all its formats, static and active.

use crate::harness::{PROBE, Served, against, probe, run};
use serde_json::Value;
use std::process::Command;

#[test]
fn risks_are_found_and_good_servers_pass() {
    let ran = against("risky", &["scan", "--format", "json"]);
    assert_eq!(ran.code, 1);
    let rules = ran.rules();
    for rule in [
        "runs-commands",
        "any-path-read",
        "any-path-write",
        "any-url",
        "any-query",
        "unvalidated",
        "injected-instructions",
        "hidden-text",
    ] {
        assert!(rules.iter().any(|found| found == rule), "{rule}: {rules:?}");
    }
    let ran = against("good", &["scan", "--json", "--fail-on", "info"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(against("pushy", &["scan", "--json"]).rules().iter().any(|rule| rule == "server-push"));
    assert_eq!(against("risky", &["scan", "--fail-on", "worst"]).code, 2);
}

#[test]
fn text_comes_with_a_verdict_first() {
    let ran = against("risky", &["scan"]);
    assert!(ran.out.starts_with("✖ "), "{}", ran.out);
    assert!(ran.out.contains("[hidden-text]"));
    assert!(!ran.out.contains('\u{e0041}'), "what is hidden is spelled out");
}

#[test]
fn sarif_fits_its_schema() {
    let mut schema: Value = serde_json::from_str(include_str!("../data/sarif-2.1.0.json")).unwrap();
    // One published pattern is legal only in the laxest dialect of regular
    // expressions; it concerns a member that is not written.
    for place in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][place]["properties"]["language"];
        language.as_object_mut().unwrap().remove("pattern");
    }
    let validator = jsonschema::validator_for(&schema).unwrap();
    for mock in ["risky", "good", "pushy"] {
        let ran = against(mock, &["scan", "--format", "sarif"]);
        let log = ran.json();
        let errors: Vec<String> =
            validator.iter_errors(&log).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{mock}: {errors:?}");
        assert_eq!(log["version"], "2.1.0");
    }
    let log = against("risky", &["scan", "--format", "sarif"]).json();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    assert!(!validator.is_valid(&serde_json::json!({"version": "2.1.0"})), "the schema can fail");
}

#[test]
fn saved_reports_and_recordings_are_scanned() {
    let dir = tempfile::tempdir().unwrap();
    let (saved, trail) = (dir.path().join("r.json"), dir.path().join("t.jsonl"));
    let (saved, trail) = (saved.to_str().unwrap(), trail.to_str().unwrap());
    against("risky", &["report", "--json", "--out", saved, "--record", trail]);
    let live = against("risky", &["scan", "--json"]).json()["targets"][0]["findings"].clone();
    for file in [saved, trail] {
        let ran = probe(&["scan", "--json", file]);
        assert_eq!(ran.code, 1);
        assert_eq!(ran.json()["targets"][0]["findings"], live);
    }
    assert_eq!(probe(&["scan", "--active", saved]).code, 2);
}

#[test]
fn listeners_that_let_strangers_in() {
    let served = Served::mock("careless");
    let ran = probe(&["scan", "--json", &served.url]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    let rules = ran.rules();
    assert!(
        rules.contains(&"origin-unchecked".to_string())
            && rules.contains(&"host-unchecked".to_string())
    );
    let served = Served::mock("good");
    let ran = probe(&["scan", "--json", &served.url]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(!ran.rules().contains(&"origin-unchecked".to_string()));
}

/// A server in a few lines of shell-like Python: it reads any file and runs what it is given.
const VULNERABLE: &str = r#"
import json, os, subprocess, sys
log = open(sys.argv[1], "a")
tools = [
  {"name": "peek", "description": "Shows a file.", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}, "annotations": {"readOnlyHint": True}},
  {"name": "look_up", "description": "Looks up a word.", "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}, "annotations": {"readOnlyHint": True}},
  {"name": "erase", "description": "Erases.", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}},
]
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    p = m.get("params", {})
    if m["method"] == "initialize": r = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "v", "version": "1"}}
    elif m["method"] == "tools/list": r = {"tools": tools}
    elif m["method"] == "tools/call":
        print(p["name"], file=log, flush=True)
        a = p["arguments"]
        try:
            t = open(a["path"]).read() if p["name"] == "peek" else subprocess.run("echo " + a["word"], shell=True, capture_output=True, text=True).stdout if p["name"] == "look_up" else "erased"
        except Exception as e: t = str(e)
        r = {"content": [{"type": "text", "text": t}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}}), flush=True); continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"#;

#[test]
fn active_tests_find_holes_and_leave_writers_alone() {
    if run(Command::new("python3").arg("--version")).code != 0 {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "python3 is needed");
        println!("skipped: no python3");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (script, log) = (dir.path().join("v.py"), dir.path().join("calls.txt"));
    std::fs::write(&script, VULNERABLE).unwrap();
    let args = ["stdio", "--", "python3", script.to_str().unwrap(), log.to_str().unwrap()];
    let ran = probe(&[&["scan", "--json", "--active"][..], &args].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
    let rules = ran.rules();
    for rule in ["path-traversal", "link-followed", "command-injection", "not-tried"] {
        assert!(rules.iter().any(|found| found == rule), "{rule}: {}", ran.out);
    }
    let calls = std::fs::read_to_string(&log).unwrap();
    assert!(!calls.contains("erase"), "{calls}");
    probe(&[&["scan", "--json", "--active", "--allow-writes"][..], &args].concat());
    assert!(std::fs::read_to_string(&log).unwrap().contains("erase"));
    let ran = against("good", &["scan", "--json", "--active", "--allow-writes"]);
    assert_eq!(ran.code, 0, "an echo is no shell: {}", ran.out);
    assert!(std::path::Path::new(PROBE).exists());
}
