//! What is answered while analysis runs never looks finished, and reads can wait for its end.

use crate::raw::Socket;
use crate::world::{bridge, program, sample, ws_url};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::bridge::Bridge;
use testkit::client::{BridgeError, StdioClient};

type Outcome = Result<Value, BridgeError>;

/// The largest program at hand: its analysis takes longer than these tests.
fn large() -> std::path::PathBuf {
    std::env::current_exe().expect("a path")
}

fn serve_large() -> Bridge {
    Bridge::serve(program(), &large(), &[]).expect("the bridge starts")
}

/// Calls whose answers say that analysis runs, by tool and operation.
fn growing() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    vec![
        ("function.list", "function", "list", json!({"page": {"limit": 1}})),
        ("symbol.list", "symbol", "list", json!({"page": {"limit": 1}})),
        ("data_unit.list", "listing", "data_unit.list", json!({"page": {"limit": 1}})),
        ("comment.list", "comment", "list", json!({"projection": {"fields": ["text"]}})),
        ("address.resolve", "address", "resolve", json!({"selector": {"address": "_start"}})),
        (
            "reference.list",
            "reference",
            "list",
            json!({"filter": {"direction": "to", "to": "_start"}}),
        ),
    ]
}

/// Holds the calls against what is asked of every answer while analysis runs.
fn never_look_finished(mut call: impl FnMut(&str, &str, &str, Value) -> Outcome) {
    for (method, tool, operation, params) in growing() {
        let answer = call(method, tool, operation, params).expect(method);
        let note = &answer["analysis"];
        assert_eq!(note["status"], "running", "{method}: {answer}");
        assert!(note["progress"].is_number(), "{method}: {note}");
        assert!(note["note"].as_str().is_some_and(|n| n.contains("more will be found")), "{note}");
    }
    let nowhere = json!({"selector": {"entry": "0x7"}});
    for (method, tool) in [("function.get", "function"), ("decompilation.get", "decompilation")] {
        let error = call(method, tool, "get", nowhere.clone()).expect_err("nothing is there");
        assert_eq!(error.status, 404);
        assert!(error.message.contains("analysis is still running"), "{error}");
        assert_eq!(error.details["analysis"]["status"], "running");
    }
    let unknown = json!({"selector": {"address": "FUN_00123450_of_nobody"}});
    let error = call("address.resolve", "address", "resolve", unknown).expect_err("no such name");
    assert!(error.message.contains("analysis is still running"), "{error}");
}

#[test]
fn answers_say_that_analysis_runs_over_a_websocket() {
    let bridge = serve_large();
    let mut client = bridge.websocket().expect("a client");
    client.learn_schemas().expect("schemas");
    never_look_finished(|method, _, _, params| client.try_call(method, params).expect("a reply"));
}

#[test]
fn answers_say_that_analysis_runs_over_http() {
    let bridge = serve_large();
    let mut client = bridge.mcp().expect("a client");
    never_look_finished(|_, tool, operation, params| {
        client.try_call(&format!("ghidra.{tool}"), operation, params).expect("a reply")
    });
}

#[test]
fn answers_say_that_analysis_runs_over_pipes() {
    let mut client = StdioClient::start(program(), &large(), &[]).expect("it starts");
    never_look_finished(|_, tool, operation, params| {
        client.try_call(&format!("ghidra.{tool}"), operation, params).expect("a reply")
    });
}

#[test]
fn a_batch_says_it_of_each_answer() {
    let bridge = serve_large();
    let mut client = bridge.websocket().expect("a client");
    for mode in ["per_item", "all_or_none"] {
        let item =
            json!({"id": "a", "method": "function.list", "arguments": {"page": {"limit": 1}}});
        let params = json!({"items": [item], "transaction_mode": mode});
        let answer = client.call("batch.execute", params).expect("a batch of reads");
        assert_eq!(answer["items"][0]["result"]["analysis"]["status"], "running", "{answer}");
    }
}

/// Between the ready line and the start of the analysis there is no gap to ask in.
#[test]
fn analysis_is_never_idle_after_the_ready_line() {
    for _ in 0..5 {
        let bridge = bridge(&["analysis=background"]);
        let mut client = bridge.websocket().expect("a client");
        let answer = client.call("analysis.get", json!({})).expect("a reply");
        let status = answer["status"].as_str().expect("a status");
        assert!(matches!(status, "running" | "completed"), "{answer}");
    }
    let large = serve_large();
    let mut client = large.websocket().expect("a client");
    let answer = client.call("analysis.get", json!({})).expect("a reply");
    assert_eq!(answer["status"], "running", "{answer}");
}

#[test]
fn a_read_can_wait_for_the_end_of_analysis() {
    let params = json!({"scan": {"wait_ms": 60_000}, "page": {"limit": 1000}});
    let bridge = bridge(&["analysis=background"]);
    let mut client = bridge.websocket().expect("a client");
    let held = client.call("function.list", params.clone()).expect("a list");
    assert!(held.get("analysis").is_none(), "{held}");
    let state = client.call("analysis.get", json!({"wait_ms": 60_000})).expect("a state");
    assert_eq!(state["status"], "completed");
    let later = client.call("function.list", json!({"page": {"limit": 1000}})).expect("a list");
    assert_eq!(held["items"], later["items"], "what was held saw everything");

    let mut pipes = StdioClient::start(program(), &sample(), &[]).expect("it starts");
    let outcome = pipes.try_call("ghidra.function", "list", params).expect("a reply");
    let answer = outcome.expect("a list");
    assert_eq!(answer["items"].as_array().map(Vec::len), later["items"].as_array().map(Vec::len));
    assert!(answer.get("analysis").is_none(), "{answer}");
    let state = pipes.try_call("ghidra.analysis", "get", json!({"wait_ms": 1})).expect("a reply");
    assert_eq!(state.expect("a state")["status"], "completed");
}

#[test]
fn too_long_a_wait_is_refused() {
    let bridge = bridge(&["analysis=off"]);
    let mut client = bridge.websocket().expect("a client");
    let params = json!({"scan": {"wait_ms": 60_001}});
    let error = client.try_call("function.list", params).expect("a reply").expect_err("too long");
    assert_eq!((error.status, error.target.as_str()), (400, "/params/scan/wait_ms"));
}

/// More reads wait than there are threads; nobody else notices.
#[test]
fn waiting_holds_nobody_else_up() {
    let bridge = serve_large();
    let mut socket = Socket::open(ws_url(&bridge));
    let send = |socket: &mut Socket, id: u64, method: &str, params: Value| {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        socket.send_text(&message.to_string());
    };
    let held = 150;
    for id in 0..held {
        let params = json!({"page": {"limit": 1}, "scan": {"wait_ms": 4000}});
        send(&mut socket, id, "function.list", params);
    }
    let began = Instant::now();
    send(&mut socket, 1000, "session.get", json!({}));
    send(&mut socket, 1001, "analysis.get", json!({}));
    send(&mut socket, 1002, "function.list", json!({"page": {"limit": 1}}));
    let mut first: Vec<u64> = Vec::new();
    for _ in 0..3 {
        first.push(socket.frame().json()["id"].as_u64().expect("an id"));
    }
    first.sort_unstable();
    assert_eq!(first, [1000, 1001, 1002], "before those that wait");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let mut mcp = bridge.mcp().expect("a client");
    mcp.call("ghidra.function", "list", json!({"page": {"limit": 1}})).expect("served beside it");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    for _ in 0..held {
        let answer = socket.frame().json();
        assert_eq!(answer["result"]["analysis"]["status"], "running", "their time was up");
    }
}

#[test]
fn clients_are_told_in_a_sentence() {
    let bridge = bridge(&["analysis=off"]);
    let mut client = bridge.mcp().expect("a client");
    let about = client.request("server/discover", json!({})).expect("an answer");
    let wanted = "scan.wait_ms";
    assert!(about["instructions"].as_str().is_some_and(|i| i.contains(wanted)), "{about}");
    let call = json!({"name": "ghidra.help", "arguments": {}});
    let help = client.request("tools/call", call).expect("an answer");
    let note = &help["structuredContent"]["note"];
    assert!(note.as_str().is_some_and(|note| note.contains(wanted)), "{help}");
}
