//! `report`, `diff`, `lock`, `verify`.

use crate::harness::{PROBE, Served, against, probe};
use std::path::Path;

fn save(mock: &str, path: &Path) {
    let ran = against(mock, &["report", "--json", "--out", path.to_str().unwrap()]);
    assert!(ran.code < 2, "{}", ran.err);
}

#[test]
fn both_eras_on_all_pages() {
    let ran = against("paged", &["report", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report = ran.json();
    assert_eq!(report["format"], "mcp-probe/report/1");
    let surfaces = report["surfaces"].as_array().unwrap();
    assert_eq!(surfaces.len(), 2);
    assert_eq!(surfaces[0]["era"], "modern");
    assert_eq!(surfaces[1]["version"], "2025-11-25");
    for surface in surfaces {
        assert_eq!(surface["tools"].as_array().unwrap().len(), 3);
        assert_eq!(surface["methods"]["tools/list"], "3 on 3 page(s)");
        let count = &surface["schemas"][2];
        assert_eq!(
            (count["tool"].as_str(), count["required"].as_u64(), count["optional"].as_u64()),
            (Some("count"), Some(1), Some(1))
        );
    }
}

#[test]
fn the_output_is_canonical() {
    let one = against("good", &["report", "--json"]);
    let two = against("good", &["report", "--json"]);
    assert_eq!(one.out, two.out);
}

#[test]
fn what_is_promised_and_what_is_there() {
    let ran = against("overpromise", &["report", "--json"]);
    assert_eq!(ran.code, 1);
    let broken = &ran.json()["surfaces"][0]["advertisedNotImplemented"];
    assert!(broken.to_string().contains("prompts/list"), "{broken}");
    let ran = against("unadvertised", &["report", "--json"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.json()["surfaces"][0]["implementedNotAdvertised"].to_string().contains("tools/list")
    );
    let ran = against("duplicate-tools", &["report", "--json"]);
    assert_eq!(ran.json()["surfaces"][0]["duplicates"][0], "tools: echo (2 times)");
    assert_eq!(against("good", &["report", "--json", "--repeat", "3"]).code, 0);
    let ran = against("flapping", &["report", "--json", "--repeat", "3"]);
    assert_eq!(ran.code, 1);
    assert!(ran.json()["surfaces"][0]["unstable"].to_string().contains("tools/list"));
}

#[test]
fn odd_json_survives() {
    let ran = against("odd-json", &["report", "--json"]);
    assert!(ran.out.contains("9007199254740993"));
    assert!(ran.out.contains("\"name\": \"first\""));
    assert!(ran.out.contains("x-unknown"));
}

#[test]
fn differences_by_class() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old.json"), dir.path().join("new.json"));
    save("good", &old);
    save("drifted", &new);
    let (old, new) = (old.to_str().unwrap(), new.to_str().unwrap());
    assert_eq!(probe(&["diff", old, old]).code, 0);
    let ran = probe(&["diff", "--json", old, new]);
    assert_eq!(ran.code, 1);
    let text = ran.out;
    for part in [
        "the tool is gone",
        "the tool is new (runs-commands)",
        "new required parameter, it takes any path",
        "the description now holds",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(probe(&["diff", old, "/no/such/file"]).code, 2);
}

#[test]
fn reports_and_recordings_compare() {
    let dir = tempfile::tempdir().unwrap();
    let (saved, trail) = (dir.path().join("r.json"), dir.path().join("t.jsonl"));
    let args =
        ["report", "--json", "--out", saved.to_str().unwrap(), "--record", trail.to_str().unwrap()];
    assert_eq!(against("good", &args).code, 0);
    let ran = probe(&["diff", saved.to_str().unwrap(), trail.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.out);
}

#[test]
fn drift_fails() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("mcp.lock.json");
    let path = lock.to_str().unwrap();
    assert_eq!(against("good", &["lock", "--out", path]).code, 0);
    assert_eq!(against("good", &["verify", "--lock", path]).code, 0);
    let ran = against("drifted", &["verify", "--json", "--lock", path]);
    assert_eq!(ran.code, 1);
    let drift = ran.json()["drift"].to_string();
    assert!(
        drift.contains("run_command")
            && drift.contains("gone")
            && drift.contains("the tool is new"),
        "{drift}"
    );
    let served = Served::mock("good");
    assert_eq!(probe(&["verify", "--lock", path, &served.url]).code, 0);
    assert_eq!(against("good", &["verify", "--lock", "/no/such/lock"]).code, 2);
}

#[test]
fn a_page_that_stands_alone() {
    let ran = against("risky", &["report", "--html"]);
    assert!(ran.out.starts_with("<!doctype html>"));
    assert!(!ran.out.contains("<script") && !ran.out.contains("http-equiv"));
    for outside in ["src=", "href=", "@import", "url("] {
        assert!(!ran.out.contains(outside), "{outside}");
    }
    for part in ["run_shell", "runs-commands", "high risks", "Times", "U+200B"] {
        assert!(ran.out.contains(part), "{part}");
    }
}

#[test]
fn a_thousand_recorded_servers() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("one.jsonl");
    against("good", &["report", "--record", trail.to_str().unwrap()]);
    let list = dir.path().join("list.txt");
    std::fs::write(&list, "one.jsonl\n".repeat(1000)).unwrap();
    let ran = probe(&["report", "--config", list.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("1000 of 1000 servers answered"),
        "{}",
        ran.out.lines().next().unwrap_or_default()
    );
    assert!(ran.took.as_secs() < 30, "{:?}", ran.took);
}

#[test]
fn text_for_people() {
    let ran = against("good", &["report"]);
    assert!(ran.out.starts_with("✔ "), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}'), "no colour into a pipe");
    let ran = probe(&["report", "stdio", "--", PROBE, "mock", "dies"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("exit code 2"), "{}", ran.err);
}
