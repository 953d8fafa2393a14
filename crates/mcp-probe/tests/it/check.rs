//! `check`: everything in one page with one exit code.

use crate::harness::{PROBE, against, probe};
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn a_good_server_passes_and_a_risky_one_fails() {
    let ran = against("good", &["check"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.starts_with("✔ passed: mock"), "{}", ran.out);
    let ran = against("risky", &["check"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.lines().next().unwrap().contains("run_shell: "), "{}", ran.out);
    assert_eq!(against("risky", &["check", "--no-scan"]).code, 0);
    let ran = against("dies", &["check", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    let parts = ran.json()["targets"][0]["parts"].clone();
    assert!(parts[1]["skipped"].is_string() && parts[0]["findings"][0].is_object(), "{parts}");
}

#[test]
fn clients_count_only_when_they_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let dotted = json!([{"name": "files.read", "inputSchema": {"type": "object"}}]);
    let path = saved(dir.path(), dotted);
    let ran = probe(&["check", "--no-scan", &path]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert_eq!(probe(&["check", "--no-scan", "--client", "cursor", &path]).code, 1);
}

/// A saved report of the good mock with other tools.
fn saved(dir: &Path, tools: Value) -> String {
    let path = dir.join("r.json").display().to_string();
    assert_eq!(against("good", &["report", "--json", "--out", &path]).code, 0);
    let mut report: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for surface in report["surfaces"].as_array_mut().unwrap() {
        surface["tools"] = tools.clone();
    }
    std::fs::write(&path, report.to_string()).unwrap();
    path
}

#[test]
fn what_the_official_clients_refuse_fails_whoever_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let empty = json!([{"name": "read_file", "inputSchema": {"$schema": "x"}}]);
    let path = saved(dir.path(), empty);
    let ran = probe(&["check", "--json", "--no-scan", &path]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    for rule in ["sdk-python", "sdk-typescript"] {
        assert!(ran.rules().contains(&rule.to_string()), "{rule}: {}", ran.out);
    }
    assert!(ran.out.contains("/tools/0/inputSchema"), "{}", ran.out);
    let ran = probe(&["scan", "--json", &path]);
    assert_eq!(ran.code, 1, "an empty schema is not nothing to see: {}", ran.out);
    let rules = ran.rules();
    assert!(rules.contains(&"no-schema".into()) && rules.contains(&"any-path-read".into()));
}

#[test]
fn sarif_shows_the_line_of_the_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let config = format!(
        "{{\n \"mcpServers\": {{\n  \"fine\": {{\"command\": {PROBE:?}, \"args\": [\"mock\", \"good\"]}},\n  \"bad\": {{\"command\": {PROBE:?}, \"args\": [\"mock\", \"risky\"]}}\n }}\n}}\n"
    );
    std::fs::write(dir.path().join("mcp.json"), config).unwrap();
    let mut command = std::process::Command::new(PROBE);
    command.args(["check", "--format", "sarif", "--config", "mcp.json"]).current_dir(dir.path());
    let ran = crate::harness::run(&mut command);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let log = ran.json();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let shell = results.iter().find(|one| one["ruleId"] == "runs-commands").unwrap();
    let physical = &shell["locations"][0]["physicalLocation"];
    assert_eq!(physical["artifactLocation"]["uri"], "mcp.json");
    assert_eq!(physical["region"]["startLine"], 4);
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    let mut schema: Value = serde_json::from_str(include_str!("../data/sarif-2.1.0.json")).unwrap();
    for place in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][place]["properties"]["language"];
        language.as_object_mut().unwrap().remove("pattern");
    }
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&log), "{log}");
}

#[test]
fn junit_counts_failures() {
    let ran = against("risky", &["check", "--format", "junit"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.starts_with("<?xml") && ran.out.contains("<failure type=\"high\""),
        "{}",
        ran.out
    );
    assert!(ran.out.trim_end().ends_with("</testsuites>"));
    assert!(against("good", &["check", "--format", "junit"]).out.contains("failures=\"0\""));
}
