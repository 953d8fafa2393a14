//! The opening handshake: every refusal, in order, and who may have the place.

use crate::raw::{Socket, UPGRADE};
use crate::world::{bridge, split, ws_url};
use std::time::{Duration, Instant};

fn refusal(url: &str, request: &str) -> u16 {
    let mut socket = Socket::connect(url);
    socket.send(request.as_bytes());
    let reply = socket.reply();
    assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"), "{request}");
    assert!(!reply.body.is_empty(), "it says why");
    assert!(socket.is_closed(), "a refusal ends the connection");
    reply.status
}

#[test]
fn the_first_failing_check_answers() {
    let bridge = bridge(&["token=sesame"]);
    let url = ws_url(&bridge);
    let bearer = "Authorization: Bearer sesame\r\n";
    let get = |target: &str, headers: &str| {
        refusal(url, &format!("GET {target} HTTP/1.1\r\n{headers}\r\n"))
    };
    let without = |name: &str| {
        let kept: Vec<&str> = UPGRADE.split("\r\n").filter(|l| !l.starts_with(name)).collect();
        get("/ws/agent", &format!("{}{bearer}", kept.join("\r\n")))
    };
    assert_eq!(refusal(url, "\r\n\r\n"), 400, "no request line");
    assert_eq!(refusal(url, "GET\r\n\r\n"), 400, "one word");
    assert_eq!(refusal(url, &format!("POST /x HTTP/1.1\r\n{UPGRADE}\r\n")), 405);
    assert_eq!(refusal(url, &format!("get /ws/agent HTTP/1.1\r\n{UPGRADE}\r\n")), 405);
    assert_eq!(get("/x?token=1", ""), 404, "the path comes before everything in the head");
    assert_eq!(get("/ws/agent/", UPGRADE), 404);
    assert_eq!(without("Upgrade"), 400);
    assert_eq!(without("Connection"), 400);
    assert_eq!(without("Sec-WebSocket-Version"), 400);
    assert_eq!(without("Sec-WebSocket-Key"), 400);
    assert_eq!(get("/ws/agent", &UPGRADE.replace("n: 13", "n: 12")), 400);
    assert_eq!(get("/ws/agent?token=sesame", &format!("{UPGRADE}{bearer}")), 400);
    assert_eq!(get("/ws/agent?%74oken", &format!("{UPGRADE}{bearer}")), 400);
    assert_eq!(get("/ws/agent", &format!("{UPGRADE}Origin: http://evil.example\r\n{bearer}")), 403);
    assert_eq!(get("/ws/agent", &format!("{UPGRADE}Origin: null\r\n{bearer}")), 403);
    assert_eq!(get("/ws/agent", UPGRADE), 401);
    assert_eq!(get("/ws/agent", &format!("{UPGRADE}Authorization: Bearer sesam\r\n")), 401);
    assert_eq!(get("/ws/agent", &format!("{UPGRADE}Authorization: sesame\r\n")), 401);

    let mut socket = Socket::connect(url);
    let reply = socket.upgrade("/ws/agent?x=1", &format!("Origin: http://localhost:1\r\n{bearer}"));
    assert_eq!(reply.status, 101);
    assert_eq!(reply.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(reply.header("sec-websocket-protocol"), None);
    assert_eq!(reply.header("sec-websocket-extensions"), None);
}

#[test]
fn the_ready_notification_comes_first() {
    let bridge = bridge(&["session_id=demo"]);
    let mut socket = Socket::connect(ws_url(&bridge));
    // What comes together with the handshake is answered after the greeting.
    let mut all = format!("GET /ws/agent HTTP/1.1\r\n{UPGRADE}\r\n").into_bytes();
    let early = br#"{"jsonrpc":"2.0","id":"early","method":"session.get"}"#;
    all.extend(crate::raw::frame(0x81, early));
    socket.send(&all);
    assert_eq!(socket.reply().status, 101);
    let ready = socket.frame().json();
    assert_eq!(ready["jsonrpc"], "2.0");
    assert_eq!(ready["method"], "ghidra.ready");
    assert!(ready.get("id").is_none());
    let params = ready["params"].as_object().expect("params");
    assert_eq!(params.keys().collect::<Vec<_>>(), ["session_id", "program_name"]);
    assert_eq!(params["session_id"], "demo");
    assert_eq!(socket.frame().json()["id"], "early");
}

#[test]
fn one_client_at_a_time() {
    let bridge = bridge(&[]);
    let url = ws_url(&bridge);
    let mut first = Socket::open(url);
    let busy = Instant::now();
    assert_eq!(refusal(url, "GET /wrong HTTP/1.1\r\n\r\n"), 409, "before every other check");
    assert!(busy.elapsed() < Duration::from_secs(2));
    let mut silent = Socket::connect(url);
    assert_eq!(silent.reply().status, 409, "even to a client that says nothing");

    // The first client is undisturbed, and its place is free once it leaves.
    first.send_text(r#"{"jsonrpc":"2.0","id":1,"method":"session.get"}"#);
    assert_eq!(first.frame().json()["id"], 1);
    first.send_frame(0x88, &1000u16.to_be_bytes());
    assert_eq!(first.frame().close().0, 1000);
    for _ in 0..20 {
        let mut next = Socket::open(url);
        next.send_frame(0x88, &[]);
        assert_eq!(next.frame().close(), (1000, "closed".into()));
    }
    for _ in 0..20 {
        // Without a goodbye.
        drop(Socket::open(url));
    }
}

#[test]
fn silent_and_slow_peers_hold_nothing() {
    let bridge = bridge(&[]);
    let url = ws_url(&bridge);
    // More than there are places for handshakes.
    let silent: Vec<Socket> = (0..200).map(|_| Socket::connect(url)).collect();
    std::thread::sleep(Duration::from_millis(600));
    let mut slow = Socket::connect(url);
    slow.send(b"GET /ws/agent HTTP/1.1\r\nX: ");
    let mut client = Socket::open(url);
    client.send_text(r#"{"jsonrpc":"2.0","id":1,"method":"session.get"}"#);
    assert_eq!(client.frame().json()["id"], 1);
    drop(client);
    // They are dropped in the end.
    let began = Instant::now();
    assert!(slow.is_closed());
    assert!(began.elapsed() < Duration::from_secs(15));
    for mut socket in silent {
        assert!(socket.is_closed());
    }
}

#[test]
fn heads_are_bounded() {
    let bridge = bridge(&[]);
    let mut socket = Socket::connect(ws_url(&bridge));
    let flood = format!("GET /ws/agent HTTP/1.1\r\nX: {}\r\n", "y".repeat(100_000));
    let _ = socket.try_send(flood.as_bytes());
    assert_eq!(socket.reply().status, 400);
    Socket::open(ws_url(&bridge));
}

#[test]
fn the_path_can_be_chosen() {
    let bridge = bridge(&["ws_path=deep/er"]);
    assert_eq!(split(ws_url(&bridge)).1, "/deep/er");
    Socket::open(ws_url(&bridge));
    let other = ws_url(&bridge).replace("/deep/er", "/ws/agent");
    assert_eq!(Socket::connect(&other).upgrade("/ws/agent", "").status, 404);
}
