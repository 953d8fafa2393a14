//! The good mock is what a beginner's client needs.

use crate::harness::{PROBE, Served, probe};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

#[test]
fn lists_all_mocks() {
    let ran = probe(&["mock", "--list"]);
    assert_eq!(ran.code, 0);
    for name in ["good", "flood", "nested-bomb", "old-sse"] {
        assert!(ran.out.contains(name), "{name}");
    }
    assert_eq!(probe(&["mock", "no-such-mock"]).code, 2);
}

#[test]
fn a_hand_written_client_over_pipes() {
    let mut child = Command::new(PROBE)
        .args(["mock", "good"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut ask = |text: &str| -> Value {
        writeln!(input, "{text}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    let greeting = ask(
        r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
    );
    assert_eq!(greeting["id"], "a");
    assert_eq!(greeting["result"]["protocolVersion"], "2025-06-18");
    let sum = ask(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"add\",\"arguments\":{\"a\":2,\"b\":3}}}",
    );
    assert_eq!(sum["result"]["content"][0]["text"], "5");
    assert_eq!(ask("{oops")["error"]["code"], -32700);
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_hand_written_client_over_http() {
    let served = Served::mock("good");
    let place = served.url.trim_start_matches("http://").split('/').next().unwrap().to_string();
    let body = json!({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}).to_string();
    let mut stream = TcpStream::connect(&place).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {place}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("\"protocolVersion\":\"2025-11-25\""));
}

#[test]
fn web_sockets() {
    let served = Served::start(Command::new(PROBE).args(["mock", "good", "--ws", "0"]));
    let ran =
        probe(&["call", "--json", "--tool", "echo", "--args", r#"{"text":"hé"}"#, &served.url]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.json()["answer"]["result"]["content"][0]["text"], "hé");
    let ran = probe(&["doctor", "--json", &served.url]);
    assert_eq!(ran.code, 0, "{}", ran.out);
}
