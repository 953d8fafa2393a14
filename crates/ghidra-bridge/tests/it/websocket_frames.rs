//! Frames: what is answered, what ends the connection and with which code.

use crate::raw::{Socket, frame};
use crate::world::{bridge, ws_url};
use std::time::{Duration, Instant};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"session.get"}"#;

#[test]
fn unsupported_frames_close_with_1003() {
    let bridge = bridge(&["max_body=100k"]);
    let url = ws_url(&bridge);
    let rows: &[(&str, Vec<u8>)] = &[
        ("a fragment of text", frame(0x01, PING.as_bytes())),
        ("an empty fragment", frame(0x01, b"")),
        ("a continuation", frame(0x80, b"x")),
        ("an unfinished continuation", frame(0x00, b"x")),
        ("binary", frame(0x82, PING.as_bytes())),
        ("a binary fragment", frame(0x02, b"x")),
        ("a reserved opcode", frame(0x83, b"x")),
        ("a reserved control opcode", frame(0x8b, b"x")),
        ("an extension bit", frame(0xc1, PING.as_bytes())),
        ("text that is not UTF-8", frame(0x81, b"\"\xff\"")),
        ("a long ping", frame(0x89, &[0; 126])),
        ("half a ping", frame(0x09, b"x")),
        ("a message beyond the limit", frame(0x81, &vec![b' '; 110 << 10])),
    ];
    for (what, bytes) in rows {
        let mut socket = Socket::open(url);
        let _ = socket.try_send(bytes);
        let (code, reason) = socket.frame().close();
        assert_eq!(code, 1003, "{what}");
        assert!(!reason.is_empty(), "{what}");
        socket.end_sending();
        assert!(socket.is_closed(), "{what}");
    }
}

#[test]
fn unmasked_frames_drop_the_connection() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    socket.send(&[0x81, 0x02, b'{', b'}']);
    assert!(socket.is_closed(), "without a close frame");
    Socket::open(ws_url(&bridge));
}

#[test]
fn a_huge_length_takes_no_memory() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    socket.send(&[0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    assert_eq!(socket.frame().close().0, 1003);
}

#[test]
fn messages_of_every_length_form_arrive() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    for length in [100, 125, 126, 127, 128, 65_535, 65_536, 70_000, 1 << 20] {
        let text = format!("{PING}{}", " ".repeat(length - PING.len()));
        socket.send_text(&text);
        assert_eq!(socket.frame().json()["id"], 1, "{length}");
    }
    // A frame may come in any pieces.
    for byte in frame(0x81, PING.as_bytes()) {
        socket.send(&[byte]);
    }
    assert_eq!(socket.frame().json()["id"], 1);
}

#[test]
fn pings_are_answered_with_their_payload() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    for payload in [&b""[..], b"hello", &[0xff; 125]] {
        socket.send_frame(0x89, payload);
        let pong = socket.frame();
        assert_eq!((pong.opcode, &pong.payload[..]), (10, payload));
    }
    socket.send_frame(0x8a, b"unasked");
    socket.send_text(PING);
    assert_eq!(socket.frame().json()["id"], 1, "a pong is ignored");
}

#[test]
fn a_close_is_answered_with_its_code_and_reason() {
    let bridge = bridge(&[]);
    let payload = |code: u16, reason: &str| [&code.to_be_bytes()[..], reason.as_bytes()].concat();
    for (sent, expected) in [
        (vec![], (1000, "closed")),
        (payload(1000, ""), (1000, "closed")),
        (payload(1000, "done"), (1000, "done")),
        (payload(1001, "leaving"), (1001, "leaving")),
        (payload(4321, "own"), (4321, "own")),
    ] {
        let mut socket = Socket::open(ws_url(&bridge));
        socket.send_frame(0x88, &sent);
        let (code, reason) = socket.frame().close();
        assert_eq!((code, reason.as_str()), expected);
        assert!(socket.is_closed());
    }
}

#[test]
fn a_client_that_never_reads_costs_little_and_goes_away() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    let ask = frame(0x81, br#"{"jsonrpc":"2.0","id":1,"method":"interface.get"}"#);
    let burst = ask.repeat(2000);
    let began = Instant::now();
    std::thread::spawn(move || {
        let _ = socket.try_send(&burst);
        std::thread::sleep(Duration::from_secs(5));
    });
    std::thread::sleep(Duration::from_secs(3));
    let memory = resident_kib(bridge.process_id());
    assert!(memory.is_none_or(|kib| kib < 340 << 10), "{memory:?} KiB after {:?}", began.elapsed());
    let mut mcp = bridge.mcp().expect("MCP is served beside it");
    assert!(mcp.request("tools/list", serde_json::json!({})).is_ok());
}

fn resident_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
