//! Servers whose answers have odd shapes: every verb that looks at a whole server
//! ends in a verdict in time, without a panic, and points at the doctor when it
//! cannot run.

use crate::harness::{HOSTILE_VERBS, Ran, probe, run};
use crate::hostile::HOSTILE;
use std::process::Command;
use std::sync::Mutex;

/// One oddity each; the rest is a good server.
const SERVER: &str = r##"
import json, sys
mode = sys.argv[1]
deep = {}
for _ in range(200): deep = {"type": "object", "properties": {"a": deep}}
tool = {"name": "read_file", "description": "Reads.", "annotations": {"readOnlyHint": True},
  "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}
change = {
  "name-number": {"name": 7}, "name-null": {"name": None}, "name-empty": {"name": ""}, "name-long": {"name": "n" * 1000000},
  "description-number": {"description": 7}, "description-list": {"description": ["a"]}, "schema-list": {"inputSchema": []},
  "schema-true": {"inputSchema": True}, "properties-list": {"inputSchema": {"type": "object", "properties": ["a"]}},
  "property-text": {"inputSchema": {"type": "object", "properties": {"path": "string"}}},
  "required-text": {"inputSchema": {"type": "object", "properties": {}, "required": "path"}},
  "type-number": {"inputSchema": {"type": 7}}, "deep": {"inputSchema": deep},
  "circle": {"inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}, "b": {"$ref": "#"}}}},
  "enum-object": {"inputSchema": {"type": "object", "properties": {"a": {"enum": {"x": 1}}}}},
  "pattern-broken": {"inputSchema": {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}},
  "least-huge": {"inputSchema": {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "minItems": 10**18}}}},
  "annotations-text": {"annotations": "readOnly"}, "output-text": {"outputSchema": "x"},
}
tools = [dict(tool, **change.get(mode, {}))]
if mode == "tools-object": tools = {"a": tool}
if mode == "tools-mixed": tools = [1, None, "x", [], tool]
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}}
        if mode == "info-text": r["serverInfo"] = "odd"
        if mode == "capabilities-list": r["capabilities"] = []
        if mode == "instructions-number": r["instructions"] = 7
        if mode == "version-number": r["protocolVersion"] = 20251125
        if mode == "greeting-list": r = [r]
    elif m["method"] == "tools/list":
        r = {"tools": tools}
        if mode == "cursor-number": r["nextCursor"] = 7
        if mode == "result-text": r = "tools"
    elif m["method"] == "tools/call":
        r = {"content": "text"} if mode == "content-text" else {} if mode == "content-none" else {"content": [7, None, {"type": "text"}]} if mode == "content-odd" else {"content": []}
    else:
        e = {"code": "many", "message": ["no"]} if mode == "error-odd" else {"code": -32601, "message": "no"}
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": e}), flush=True); continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"##;

const MODES: [&str; 31] = [
    "name-number",
    "name-null",
    "name-empty",
    "name-long",
    "description-number",
    "description-list",
    "schema-list",
    "schema-true",
    "properties-list",
    "property-text",
    "required-text",
    "type-number",
    "deep",
    "circle",
    "enum-object",
    "pattern-broken",
    "least-huge",
    "annotations-text",
    "output-text",
    "tools-object",
    "tools-mixed",
    "info-text",
    "capabilities-list",
    "instructions-number",
    "version-number",
    "greeting-list",
    "cursor-number",
    "result-text",
    "content-text",
    "content-none",
    "content-odd",
];

fn verdict(what: &str, ran: &Ran) {
    assert!((0..=2).contains(&ran.code), "{what}: {} {}{}", ran.code, ran.out, ran.err);
    assert!(!ran.err.contains("panicked"), "{what}: {}", ran.err);
    assert!(ran.out.len() + ran.err.len() > 10, "{what} says something");
    let tested = ran.err.contains("doctor") || ran.out.contains("nothing was tested");
    assert!(ran.code != 2 || tested, "{what}: {}{}", ran.out, ran.err);
    assert!(ran.took.as_secs() < 120, "{what}: {:?}", ran.took);
}

/// All jobs on a few threads.
fn side_by_side(jobs: Vec<(String, Vec<String>)>) {
    let jobs = Mutex::new(jobs);
    let work = || {
        loop {
            let Some((what, args)) = jobs.lock().unwrap().pop() else { return };
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            verdict(&what, &probe(&args));
        }
    };
    std::thread::scope(|scope| {
        (0..4).for_each(|_| {
            scope.spawn(work);
        });
    });
}

fn job(verb: &[&str], tail: &[&str]) -> (String, Vec<String>) {
    let limits = ["--timeout-idle", "4s", "--timeout-total", "8s"];
    let args = [verb, &limits, &["stdio", "--"], tail].concat();
    (format!("{} {}", verb[0], tail.last().unwrap()), args.into_iter().map(Into::into).collect())
}

#[test]
fn odd_shapes_end_in_a_verdict() {
    if run(Command::new("python3").arg("--version")).code != 0 {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "python3 is needed");
        println!("skipped: no python3");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("odd.py");
    std::fs::write(&path, SERVER).unwrap();
    let path = path.to_str().unwrap();
    let all = MODES.iter().chain(&["error-odd"]);
    let jobs = all
        .flat_map(|mode| HOSTILE_VERBS.iter().map(move |verb| job(verb, &["python3", path, mode])));
    side_by_side(jobs.collect());
}

#[test]
fn servers_that_mean_harm_end_in_a_verdict_under_every_verb() {
    let own = crate::harness::PROBE;
    let harm = HOSTILE.iter().map(|(mock, _)| *mock).filter(|mock| *mock != "long-line");
    let jobs =
        harm.flat_map(|mock| HOSTILE_VERBS.iter().map(move |verb| job(verb, &[own, "mock", mock])));
    side_by_side(jobs.collect());
}
