//! JSON-RPC messages: envelopes, protocol errors, order of work.

use crate::raw::Socket;
use crate::world::{bridge, ws_url};
use serde_json::{Value, json};
use std::collections::HashSet;

const OK: &str = r#"{"jsonrpc":"2.0","id":"after","method":"session.get"}"#;

fn ask(socket: &mut Socket, text: &str) -> Value {
    socket.send_text(text);
    socket.frame().json()
}

#[test]
fn protocol_errors_are_answered_and_the_socket_lives_on() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    let deep = |n: usize| {
        let (open, close) = ("[".repeat(n), "]".repeat(n));
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"session.get","params":{{"a":{open}{close}}}}}"#
        )
    };
    let mut rows: Vec<(i64, &str, String)> = Vec::new();
    for text in [
        "",
        "{",
        "nonsense",
        "{} x",
        "\u{feff}{}",
        "01",
        "[1,]",
        "\"\t\"",
        "\"\\x\"",
        "NaN",
        "1e999",
        r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"session.get"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session.get","params":{"a":1,"a":2}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session.get"}{}"#,
        r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"session.get"}"#,
    ] {
        rows.push((-32700, "parse_error", text.into()));
    }
    rows.push((-32700, "parse_error", deep(499)));
    rows.push((-32700, "parse_error", deep(100_000)));
    for text in ["1", "\"x\"", "null", "[]", r#"[{"jsonrpc":"2.0","id":1,"method":"session.get"}]"#]
    {
        rows.push((-32600, "invalid_request", text.into()));
    }
    for text in [
        "{}",
        r#"{"id":1,"method":"session.get"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"session.get"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":" "}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session.get","params":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session.get","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"session.get","extra":1}"#,
        r#"{"jsonrpc":"2.0","method":"session.get","extra":1}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"session.get"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"session.get"}"#,
        r#"{"jsonrpc":"2.0","id":1.0,"method":"session.get"}"#,
        r#"{"jsonrpc":"2.0","id":"","method":"session.get"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"session.get"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}}"#,
    ] {
        rows.push((-32600, "invalid_json_rpc", text.into()));
    }
    for (code, word, text) in &rows {
        let shown: String = text.chars().take(100).collect();
        let reply = ask(&mut socket, text);
        let error = &reply["error"];
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(code), &json!(word)),
            "{shown}"
        );
        assert_eq!(reply["id"], Value::Null, "{shown}");
        assert_eq!(error["message"], error["data"]["message"]);
        assert_eq!(error["data"]["status"], 400);
        assert_eq!(error["data"]["target"], "");
        assert_eq!(error["data"]["details"], json!({}));
        assert_eq!(ask(&mut socket, OK)["id"], "after", "it lives on after {shown}");
    }
}

#[test]
fn ids_come_back_as_they_were_sent() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    for id in [
        "1",
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "\"1\"",
        "\"a b\"",
        "\"\u{e9}\u{1f600}\"",
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"session.get"}}"#);
        socket.send_text(&text);
        let reply = String::from_utf8(socket.frame().payload).expect("text");
        assert!(reply.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)), "{reply}");
    }
    // A lone surrogate cannot be kept, but it harms nothing.
    let reply = ask(&mut socket, r#"{"jsonrpc":"2.0","id":"\ud800","method":"session.get"}"#);
    assert!(reply["result"].is_object());
}

#[test]
fn method_failures_carry_the_bridge_error() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    for (method, params, status, code, target) in [
        ("no.such.method", json!({}), 404, "unknown_method", "/method"),
        ("memory.read", json!({}), 400, "missing_field", "/params/selector"),
        ("memory.read", json!({"selector": null}), 400, "invalid_type", "/params/selector"),
        (
            "memory.read",
            json!({"selector": {"address": 1}}),
            400,
            "invalid_type",
            "/params/selector/address",
        ),
        ("session.get", json!({"nope": 1}), 400, "unknown_field", "/params/nope"),
    ] {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let reply = ask(&mut socket, &request.to_string());
        let error = &reply["error"];
        assert_eq!((&reply["id"], &error["code"]), (&json!(7), &json!(-32000)), "{reply}");
        let data = &error["data"];
        assert_eq!(error["message"], data["message"]);
        assert_eq!(
            (&data["status"], &data["code"], &data["target"]),
            (&json!(status), &json!(code), &json!(target)),
            "{method} {params}"
        );
        let members: Vec<_> = data.as_object().expect("an object").keys().collect();
        assert_eq!(members, ["status", "code", "message", "target", "details"]);
    }
}

#[test]
fn notifications_and_responses_are_never_answered() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    for text in [
        r#"{"jsonrpc":"2.0","method":"session.get"}"#,
        r#"{"jsonrpc":"2.0","method":"no.such.method"}"#,
        r#"{"jsonrpc":"2.0","method":"memory.read","params":{"x":1}}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"m","data":{}}}"#,
    ] {
        socket.send_text(text);
    }
    assert_eq!(ask(&mut socket, OK)["id"], "after");
}

#[test]
fn pipelined_requests_are_all_answered_once() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    let count = 20_000;
    let mut batch = Vec::new();
    for id in 0..count {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"session.get"}}"#);
        batch.extend(crate::raw::frame(0x81, text.as_bytes()));
        if id % 500 == 0 {
            batch.extend(crate::raw::frame(0x89, b"still there?"));
        }
    }
    let mut seen = HashSet::new();
    let mut pongs = 0;
    for part in batch.chunks(100_000) {
        socket.send(part);
        while seen.len() + 5_000 < count && seen.len() < part.len() / 200 {
            take(&mut socket, &mut seen, &mut pongs);
        }
    }
    while seen.len() < count {
        take(&mut socket, &mut seen, &mut pongs);
    }
    assert_eq!(pongs, count / 500);
}

fn take(socket: &mut Socket, seen: &mut HashSet<u64>, pongs: &mut usize) {
    let frame = socket.frame();
    if frame.opcode == 10 {
        *pongs += 1;
        return;
    }
    let reply = frame.json();
    assert!(reply["result"].is_object(), "{reply}");
    assert!(seen.insert(reply["id"].as_u64().expect("an id")), "{reply} came twice");
}
