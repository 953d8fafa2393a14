//! What a model reads of an answer: every fact, and how to get more.

use super::*;
use serde_json::json;

fn method(name: &str) -> &'static Method {
    api::registry().find(name).expect("a method")
}

fn text(name: &str, result: Value) -> String {
    of(&json!({"operation": method(name).operation(), "result": result}), method(name), false)
}

#[test]
fn small_answers_are_their_json() {
    let result = json!({"address": "ram:00100000", "bytes": {"encoding": "hex", "data": "7f454c46", "length": 4}});
    let wanted = r#"{"operation":"read","result":{"address":"ram:00100000","bytes":{"encoding":"hex","data":"7f454c46","length":4}}}"#;
    assert_eq!(text("memory.read", result), wanted);
}

#[test]
fn a_list_is_a_table_that_says_how_it_goes_on() {
    let row = |at: u32| json!({"entry": format!("ram:{at:08x}"), "name": format!("f{at}")});
    let rows: Vec<Value> = (0..100).map(row).collect();
    let result = json!({
        "items": rows, "next_cursor": "abc",
        "scan": {"complete": false, "stop_reason": "limit", "scanned_end": "ram:00000063"},
    });
    let text = text("function.list", result);
    assert!(text.starts_with("entry\tname\nram:00000000\tf0\n"), "{text}");
    assert!(text.contains("\nnext_cursor: abc (give it as page"), "{text}");
    assert!(text.contains("stopped by limit at ram:00000063"), "{text}");
    let more = text.lines().last().expect("a line");
    assert!(more.starts_with("more by projection: ") && more.contains("comment"), "{more}");
    assert!(!more.contains(" name,"), "{more}: it is answered already");
}

#[test]
fn c_text_stands_as_it_is_and_says_where_it_was_cut() {
    let c = format!("int f(void)\n{{\n{}}}", "  g(\"x\");\n".repeat(200));
    let result = json!({
        "entry": "ram:1", "name": "f", "c": c, "warnings": ["odd (3 times)"],
        "line_count": 500, "lines": {"start": 1, "count": 203},
    });
    let text = text("decompilation.get", result);
    assert!(text.contains("c:\nint f(void)\n{\n  g(\"x\");\n"), "{text}");
    assert!(text.contains("warnings: odd (3 times)\n"), "{text}");
    assert!(text.contains("lines 1 to 203 of 500; more: lines {\"start\": 204, "), "{text}");
    assert!(text.contains("local_variables"), "{text}: it names what can be asked for");
}

#[test]
fn bytes_are_a_dump_with_characters() {
    let data = "41".repeat(600);
    let bytes = json!({"encoding": "hex", "data": data, "length": 600});
    let text = text("memory.read", json!({"address": "ram:1", "bytes": bytes}));
    let line = format!("\n0020 {} {}\n", "41".repeat(32), "A".repeat(32));
    assert!(text.contains(&line), "{text}");
    let digits: usize = text.lines().filter_map(|line| line.split(' ').nth(1)).map(str::len).sum();
    assert!(digits >= 1200, "all bytes are there");
}

#[test]
fn answers_in_a_batch_are_sections() {
    let c = "int f(void)\n{\n  return 0;\n}\n".repeat(30);
    let row = |id: &str| json!({"id": id, "result": {"entry": "ram:1", "c": c}});
    let failed = json!({"id": "z", "error": {"status": 404, "code": "not_found", "message": "no", "target": "", "details": {}}});
    let text = text("batch.execute", json!({"items": [row("a"), row("b"), failed]}));
    assert!(text.contains("---\nid: a\nentry: ram:1\nc:\nint f(void)"), "{text}");
    assert!(text.contains("---\nid: z\nerror: status=404, code=not_found, message=no"), "{text}");
}

#[test]
fn the_status_of_the_analysis_is_told() {
    let rows: Vec<Value> = (0..100).map(|at| json!({"entry": at, "name": "f"})).collect();
    let analysis = json!({"status": "running", "progress": 46, "note": "more will be found"});
    let text = text("function.list", json!({"items": rows, "analysis": analysis}));
    assert!(text.contains("analysis: status=running, progress=46, note=more will be found"));
}

#[test]
fn what_was_chosen_is_not_advertised() {
    let rows: Vec<Value> = (0..100).map(|at| json!({"entry": at, "tags": []})).collect();
    let answer = json!({"operation": "list", "result": {"items": rows}});
    assert!(!of(&answer, method("function.list"), true).contains("more by projection"));
}

#[test]
fn nothing_steers_a_terminal() {
    let text = text("comment.get", json!({"text": format!("{}\n\u{1b}[2J", "x".repeat(1100))}));
    assert!(text.contains("\\u{1b}[2J") && !text.contains('\u{1b}'), "{text}");
}
