//! `call`: the same answer here and on a running server.

use super::{fed, fixture, name, printed, refused, rows, verb};
use crate::world::{bridge, mcp_url, sample, ws_url};

#[test]
fn a_method_answers_here_as_on_a_server() {
    let bridge = bridge(&["analysis=wait"]);
    let params = r#"{"filter": {"name": "weight"}}"#;
    let there = remote(ws_url(&bridge), &["function.list", params]);
    let here = rows(&["call", name(&sample()), "function.list", params]);
    let rows_of = |answer: &serde_json::Value| answer["items"].clone();
    assert_eq!(rows_of(&here[0]), rows_of(&there));
    assert_eq!(here[0]["items"][0]["name"], "weight_of");
    let wrong = verb(&["call", mcp_url(&bridge), "program.get"]).output().expect("it runs");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("ws://"), "{wrong:?}");
}

/// The answer of a server, which knows no start-up keys.
fn remote(url: &str, words: &[&str]) -> serde_json::Value {
    let output = std::process::Command::new(crate::world::program())
        .args([&["call", url], words, &["--json"]].concat())
        .env_remove("GHIDRA_BRIDGE_TOKEN")
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_server_with_a_token_wants_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    std::fs::write(&file, "sesame-sesame-sesame\n").expect("a file");
    let bridge = bridge(&["token=sesame-sesame-sesame"]);
    let url = ws_url(&bridge);
    let answer = remote(url, &["session.get", "--token-file", name(&file)]);
    assert_eq!(answer["status"], "active");
    let text = refused(&["call", url, "session.get"]);
    assert!(text.contains("401") && !text.contains("sesame"), "{text}");
}

#[test]
fn parameters_come_as_a_word_a_file_or_a_stream() {
    let file = fixture("bin/inventory.x64.O0");
    let params = r#"{"selector": {"entry": "main"}}"#;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("params.json");
    std::fs::write(&path, params).expect("a file");
    let as_word = printed(&["call", &file, "function.get", params]);
    assert!(as_word.contains("\"name\": \"main\""), "{as_word}");
    assert_eq!(printed(&["call", &file, "function.get", &format!("@{}", name(&path))]), as_word);
    let output = fed(&["call", &file, "function.get", "-"], params.as_bytes());
    assert_eq!(String::from_utf8_lossy(&output.stdout), as_word);
}

#[test]
fn refusals_are_one_line_with_code_and_place() {
    let file = fixture("bin/inventory.x64.O0");
    for (words, expected) in [
        (&["function.get", r#"{"selector": {"entry": "nosuch"}}"#][..], "/params/selector/entry"),
        (&["function.get"], "missing_field"),
        (&["function.gett"], "did you mean function.get?"),
        (&["function.get", "{"], "is not JSON"),
        (&["function.get", "@/nonexistent"], "cannot be read"),
    ] {
        let text = refused(&[&["call", &file], words].concat());
        assert!(text.contains(expected), "{text}");
    }
    assert!(
        refused(&["call", "ws://127.0.0.1:1/ws/agent", "session.get"]).contains("cannot connect")
    );
}

#[test]
fn a_change_is_kept_in_the_project() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path().join("kept.gbproject");
    let words = ["--project", name(&project)];
    let file = fixture("bin/inventory.x64.O0");
    let patch = r#"{"selector": {"entry": "weight_of"}, "patch": {"name": "heaviness"}}"#;
    printed(&[&["call", &file, "function.patch", patch], &words[..]].concat());
    let text = printed(&[&["functions", &file, "heavi"], &words[..]].concat());
    assert!(text.contains("heaviness"), "{text}");
}
