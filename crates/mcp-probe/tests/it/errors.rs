//! `errors`: wrong arguments and what comes of them.

use crate::harness::{against, probe};

#[test]
fn a_careful_server_passes() {
    let ran = against("good", &["errors", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    let calls = ran.json()["calls"].as_array().unwrap().clone();
    assert!(calls.len() > 20);
    assert!(
        calls.iter().any(|call| call["case"] == "text missing" && call["class"] == "tool error")
    );
}

#[test]
fn traces_and_crashes_are_told() {
    let ran = against("stack-trace", &["errors", "--json", "--tool", "echo"]);
    assert_eq!(ran.code, 1);
    assert!(ran.rules().contains(&"stack-trace".to_string()));
    let ran = against("crash-on-null", &["errors", "--json"]);
    assert_eq!(ran.code, 1);
    assert!(ran.rules().contains(&"crash".to_string()));
    assert!(ran.out.contains("exit code 134"));
    let calls = ran.json()["calls"].as_array().unwrap().len();
    assert!(calls > 20, "it goes on after a crash: {calls}");
}

#[test]
fn writers_are_left_alone() {
    let ran = against("risky", &["errors", "--json"]);
    assert!(ran.json()["leftOut"].to_string().contains("run_shell"));
    assert!(!ran.json()["calls"].to_string().contains("run_shell"));
    let ran = against("risky", &["errors", "--json", "--allow-writes", "--tool", "query"]);
    assert!(ran.json()["calls"].to_string().contains("query"));
    assert_eq!(probe(&["errors", "Cargo.toml"]).code, 2);
}

/// A server whose only tool works with one folder; its list differs at each start.
const PICKY: &str = r#"
import json, os, sys
tool = {"name": "log", "description": "Shows commits, run %d." % os.getpid(), "annotations": {"readOnlyHint": True},
  "inputSchema": {"type": "object", "properties": {"repo_path": {"type": "string"}, "count": {"type": "integer"}}, "required": ["repo_path"]}}
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    p = m.get("params", {})
    if m["method"] == "initialize": r = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "picky", "version": "1"}}
    elif m["method"] == "tools/list": r = {"tools": [tool]}
    elif m["method"] == "tools/call":
        fine = p.get("arguments", {}).get("repo_path") == "/the/one"
        r = {"content": [{"type": "text", "text": "commits" if fine else "no repository there"}], "isError": not fine}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}}), flush=True); continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"#;

fn picky(dir: &std::path::Path) -> Option<String> {
    if crate::harness::run(std::process::Command::new("python3").arg("--version")).code != 0 {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "python3 is needed");
        println!("skipped: no python3");
        return None;
    }
    let path = dir.join("picky.py");
    std::fs::write(&path, PICKY).unwrap();
    Some(path.display().to_string())
}

#[test]
fn nothing_called_is_no_tick() {
    let ran = against("risky", &["errors", "--tool", "write_file"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.out.starts_with("! nothing was tested"), "{}", ran.out);
    let ran = against("risky", &["errors", "--json", "--tool", "write_file"]);
    assert_eq!(ran.json()["tested"], false);
    assert_eq!(against("good", &["errors", "--tool", "no-such-tool"]).code, 2);
}

#[test]
fn a_wall_is_told_and_arguments_get_past_it() {
    let dir = tempfile::tempdir().unwrap();
    let Some(server) = picky(dir.path()) else { return };
    let tail = ["stdio", "--", "python3", server.as_str()];
    let ran = probe(&[&["errors", "--json"][..], &tail].concat());
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert_eq!(ran.rules(), ["no-working-call"], "{}", ran.out);
    let args = dir.path().join("args.json");
    std::fs::write(&args, r#"{"log":{"repo_path":"/the/one"}}"#).unwrap();
    let args = args.to_str().unwrap();
    let ran = probe(&[&["errors", "--json", "--args", args][..], &tail].concat());
    assert!(!ran.rules().contains(&"no-working-call".to_string()), "{}", ran.out);
    assert!(ran.out.contains("as given"), "{}", ran.out);
    // The same out of a recording of a call that worked.
    let trail = dir.path().join("t.jsonl");
    let trail = trail.to_str().unwrap();
    let call =
        ["call", "--tool", "log", "--args", r#"{"repo_path":"/the/one"}"#, "--record", trail];
    assert_eq!(probe(&[&call[..], &tail].concat()).code, 0);
    let ran = probe(&[&["errors", "--json", "--args", trail][..], &tail].concat());
    assert!(ran.out.contains("as given"), "{}", ran.out);
}

#[test]
fn a_lock_says_what_differs_at_each_start() {
    let dir = tempfile::tempdir().unwrap();
    let Some(server) = picky(dir.path()) else { return };
    let tail = ["stdio", "--", "python3", server.as_str()];
    let lock = dir.path().join("l.json");
    let lock = lock.to_str().unwrap();
    let ran = probe(&[&["lock", "--out", lock][..], &tail].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("differs from start to start") && ran.err.contains("log:"),
        "{}",
        ran.err
    );
    let ran = probe(&[&["verify", "--lock", lock][..], &tail].concat());
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.starts_with("✔ 1 tool as locked"), "{}", ran.out);
    // What differs otherwise is still told.
    std::fs::write(
        &server,
        PICKY.replace("\"required\": [\"repo_path\"]", "\"required\": [\"count\"]"),
    )
    .unwrap();
    let ran = probe(&[&["verify", "--lock", lock][..], &tail].concat());
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("log.count: required now"), "{}", ran.out);
}
