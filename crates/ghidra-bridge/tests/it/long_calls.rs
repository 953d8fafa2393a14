//! Calls that take seconds: what goes on beside them, and what ends them.

use crate::post::Post;
use crate::raw::Socket;
use crate::world::{mcp_url, program, ws_url};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Seek, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testkit::bridge::Bridge;

const SIZE: u64 = 32 << 20;

/// An executable that is one long run of zeros, to have something to search.
fn zeros() -> tempfile::NamedTempFile {
    let half = |values: &[u16]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let word = |values: &[u32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let long = |values: &[u64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let header = [
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec(),
        half(&[2, 62]),
        word(&[1]),
        long(&[0x40_1000, 64, 0]),
        word(&[0]),
        half(&[64, 56, 1, 64, 0, 0]),
        word(&[1, 4]),
        long(&[0x1000, 0x40_1000, 0x40_1000, SIZE, SIZE, 0x1000]),
    ];
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&header.concat()).expect("a file");
    file.as_file().set_len(0x1000 + SIZE).expect("a sparse file");
    file.rewind().expect("a file");
    file
}

fn bridge(file: &tempfile::NamedTempFile) -> Bridge {
    Bridge::serve(program(), file.path(), &["analysis=off"]).expect("the bridge starts")
}

/// A search that finds nothing, and looks at every byte a thousand times: no byte
/// of the pattern counts whole, and only its last one differs.
fn search() -> Value {
    let bytes = |data: String| json!({"encoding": "hex", "data": data, "length": 1024});
    json!({
        "filter": {
            "bytes": bytes(format!("{}01", "00".repeat(1023))),
            "mask": bytes(format!("{}01", "fe".repeat(1023))),
        },
        "scan": {"timeout_ms": 60_000},
    })
}

fn search_call() -> Value {
    json!({"name": "ghidra.memory", "arguments": {"operation": "search", "params": search()}})
}

fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Processor time of a process.
#[cfg(target_os = "linux")]
fn work(bridge: &Bridge) -> Duration {
    let path = format!("/proc/{}/stat", bridge.process_id());
    let text = std::fs::read_to_string(path).expect("a process");
    let rest = text.rsplit_once(')').expect("a name").1;
    let ticks: u64 =
        rest.split_whitespace().skip(11).take(2).map(|n| n.parse::<u64>().expect("ticks")).sum();
    Duration::from_millis(ticks * 10)
}

/// Waits until the process has worked some more.
#[cfg(target_os = "linux")]
fn goes_on(bridge: &Bridge) -> bool {
    let before = work(bridge);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(20) {
        if work(bridge) > before + Duration::from_millis(300) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Whether the process comes to rest soon.
#[cfg(target_os = "linux")]
fn rests(bridge: &Bridge) -> bool {
    std::thread::sleep(Duration::from_millis(700));
    let before = work(bridge);
    std::thread::sleep(Duration::from_secs(1));
    work(bridge) - before < Duration::from_millis(100)
}

#[test]
fn others_are_answered_meanwhile() {
    let file = zeros();
    let bridge = bridge(&file);
    let mut socket = Socket::open(ws_url(&bridge));
    let count = 6;
    for id in 0..count {
        socket.send_text(&request(id, "memory.search", &search()));
    }
    let began = Instant::now();
    socket.send_frame(0x89, b"there?");
    socket.send_text(&request(100, "session.get", &json!({})));
    socket.send_text(&request(101, "analysis.get", &json!({})));
    let mut early = Vec::new();
    for _ in 0..3 {
        let frame = socket.frame();
        early.push(if frame.opcode == 10 { "pong".into() } else { frame.json()["id"].to_string() });
    }
    early.sort();
    assert_eq!(early, ["100", "101", "pong"], "before any search");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let status = Post::modern("ping", json!({})).send(mcp_url(&bridge)).status;
    assert_eq!(status, 200, "MCP is served beside it");

    // A goodbye does not wait for what nobody will read.
    let began = Instant::now();
    socket.send_frame(0x88, &[]);
    while socket.try_frame().is_some_and(|frame| frame.opcode != 8) {}
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
#[cfg(target_os = "linux")]
fn a_websocket_client_that_vanishes_ends_its_reads() {
    let file = zeros();
    let bridge = bridge(&file);
    let mut socket = Socket::open(ws_url(&bridge));
    socket.send_text(&request(1, "memory.search", &search()));
    assert!(goes_on(&bridge), "it searches");
    drop(socket);
    assert!(rests(&bridge), "nobody waits for it");
    Socket::open(ws_url(&bridge));
}

#[test]
#[cfg(target_os = "linux")]
fn a_modern_request_ends_with_its_client_and_a_legacy_one_does_not() {
    let file = zeros();
    let bridge = bridge(&file);
    let url = mcp_url(&bridge);
    let mut socket = Socket::connect(url);
    socket.send(&Post::modern("tools/call", search_call()).bytes(url));
    assert!(goes_on(&bridge), "it searches");
    drop(socket);
    assert!(rests(&bridge), "the modern request is given up");

    let mut socket = Socket::connect(url);
    socket.send(&Post::legacy("2025-11-25", "tools/call", search_call()).bytes(url));
    assert!(goes_on(&bridge), "it searches");
    drop(socket);
    assert!(goes_on(&bridge), "the legacy request is finished");
}

#[test]
fn a_legacy_write_is_done_though_its_client_left() {
    let bridge = crate::world::bridge(&["analysis=off"]);
    let url = mcp_url(&bridge);
    for index in 0..20 {
        let resource = json!({"address": "main", "type": "eol", "text": format!("note {index}")});
        let arguments = json!({"operation": "upsert", "params": {"resource": resource}});
        let call = json!({"name": "ghidra.comment", "arguments": arguments});
        let mut socket = Socket::connect(url);
        socket.send(&Post::legacy("2025-06-18", "tools/call", call).bytes(url));
        drop(socket);
        let selector =
            json!({"operation": "get", "params": {"selector": {"address": "main", "type": "eol"}}});
        let began = Instant::now();
        loop {
            let result = Post::call("ghidra.comment", selector.clone()).works(url);
            let structured = &result["structuredContent"];
            if structured["result"]["text"] == format!("note {index}") {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(10), "lost: {structured}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_cancelled_request_over_pipes_is_not_answered() {
    let file = zeros();
    let mut child = Command::new(program())
        .arg("stdio")
        .arg(file.path())
        .args(["analysis=off", "project=none"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("piped");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    let mut send = |message: Value| writeln!(input, "{message}").expect("it reads");
    let mut read = || {
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        serde_json::from_str::<Value>(&line).unwrap_or(Value::Null)
    };
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}));
    assert_eq!(read()["id"], 0);
    send(json!({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": search_call()}));
    std::thread::sleep(Duration::from_millis(300));
    let gone = json!({"requestId": "slow", "reason": "enough"});
    send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": gone}));
    let session = json!({"name": "ghidra.bridge", "arguments": {"operation": "get"}});
    send(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": session}));
    assert_eq!(read()["id"], 2);
    drop(input);
    assert_eq!(read(), Value::Null, "nothing more is said");
    assert!(child.wait().expect("a child").success());
}
