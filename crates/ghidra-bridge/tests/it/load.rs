//! Many clients and hostile ones: nothing is lost, nothing is answered twice,
//! nothing is left behind.

use crate::post::Post;
use crate::raw::{Socket, frame};
use crate::world::{bridge, mcp_url, split, ws_url};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::bridge::Bridge;

/// What a process holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    files: usize,
    threads: usize,
    resident_kib: u64,
}

impl Held {
    #[cfg(target_os = "linux")]
    fn by(bridge: &Bridge) -> Held {
        let entries = |name: &str| {
            std::fs::read_dir(format!("/proc/{}/{name}", bridge.process_id()))
                .expect("it runs")
                .count()
        };
        let status = std::fs::read_to_string(format!("/proc/{}/status", bridge.process_id()));
        let resident_kib = status
            .expect("it runs")
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok())
            .expect("a size");
        Held { files: entries("fd"), threads: entries("task"), resident_kib }
    }

    #[cfg(not(target_os = "linux"))]
    fn by(_bridge: &Bridge) -> Held {
        Held { files: 0, threads: 0, resident_kib: 0 }
    }
}

/// Waits until what was taken is given back. Idle threads live ten seconds.
fn gives_back(bridge: &Bridge, before: Held) {
    let began = Instant::now();
    loop {
        let now = Held::by(bridge);
        if now.files <= before.files && now.threads <= before.threads + 2 {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(40), "{before:?}, now {now:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Twenty pings: one stall more or less is the machine's, most of them would be the server's.
fn answers_at_once(bridge: &Bridge) {
    let url = mcp_url(bridge);
    let mut socket = Socket::connect(url);
    let ping = Post::modern("ping", json!({})).bytes(url);
    let mut times: Vec<Duration> = (0..20)
        .map(|_| {
            let began = Instant::now();
            socket.send(&ping);
            assert_eq!(socket.reply().status, 200);
            began.elapsed()
        })
        .collect();
    times.sort();
    let (quickest, median) = (times[0], times[times.len() / 2]);
    println!("pings: quickest {quickest:?}, median {median:?}, slowest {:?}", times[19]);
    assert!(quickest < Duration::from_millis(20), "{times:?}");
    assert!(median < Duration::from_millis(100), "{times:?}");
}

/// The requests of one connection, each different.
fn mixed(client: usize, index: usize) -> (&'static str, Value) {
    let call = |tool: &str, operation: &str, params: Value| {
        let arguments = json!({"operation": operation, "params": params});
        ("tools/call", json!({"name": tool, "arguments": arguments}))
    };
    match (client + index) % 8 {
        0 => ("ping", json!({})),
        1 => ("server/discover", json!({})),
        2 => ("resources/list", json!({})),
        3 => call("ghidra.bridge", "get", json!({})),
        4 => call("ghidra.program", "get", json!({})),
        5 => call("ghidra.function", "list", json!({"page": {"limit": 5}})),
        6 => call("ghidra.memory", "block.list", json!({})),
        _ => call("ghidra.help", "", json!({})),
    }
}

/// Sends `count` requests over one connection, and reads one answer to each.
fn ask_many(url: &str, client: usize, count: usize) {
    let mut socket = Socket::connect(url);
    for index in 0..count {
        let (method, mut params) = mixed(client, index);
        if params["arguments"]["operation"] == "" {
            params["arguments"] = json!({});
        }
        let mut post = Post::modern(method, params);
        let id = format!("{client}/{index}");
        let mut body: Value = serde_json::from_slice(&post.body).expect("JSON");
        body["id"] = id.as_str().into();
        post.body = body.to_string().into_bytes();
        socket.send(&post.bytes(url));
        let reply = socket.reply();
        assert_eq!(reply.status, 200, "{method}: {}", reply.body);
        let reply = reply.json();
        assert_eq!(reply["id"], id, "{method}");
        assert_ne!(reply["result"]["isError"], true, "{reply}");
    }
}

/// Pipelines `count` requests over the WebSocket; every answer comes once.
fn pipeline(url: &str, count: u64) {
    let mut socket = Socket::open(url);
    let methods = ["session.get", "program.get", "analysis.get", "memory_block.list"];
    let mut unanswered: HashSet<u64> = HashSet::new();
    for id in 0..count {
        let method = methods[id as usize % methods.len()];
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}});
        socket.send_text(&request.to_string());
        unanswered.insert(id);
        while unanswered.len() > 100 {
            take(&mut socket, &mut unanswered);
        }
    }
    while !unanswered.is_empty() {
        take(&mut socket, &mut unanswered);
    }
    socket.send_frame(0x88, &[]);
    assert_eq!(socket.frame().close().0, 1000, "nothing is answered twice");
}

fn take(socket: &mut Socket, unanswered: &mut HashSet<u64>) {
    let reply = socket.frame().json();
    assert!(reply.get("result").is_some(), "{reply}");
    assert!(unanswered.remove(&reply["id"].as_u64().expect("an id")), "{reply}");
}

/// All of it at once, while the program is analysed over and over.
fn storm(bridge: &Bridge, per_client: usize, over_websocket: u64) {
    let over = AtomicBool::new(false);
    let analyses = std::thread::scope(|scope| {
        let analyst = scope.spawn(|| {
            let mut mcp = bridge.mcp().expect("MCP");
            let mut started = 0;
            while !over.load(Ordering::Relaxed) {
                match mcp.try_call("ghidra.analysis", "start", json!({})).expect("an answer") {
                    Ok(_) => started += 1,
                    Err(error) => assert_eq!(error.code, "analysis_already_running"),
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            started
        });
        let clients: Vec<_> = (0..64)
            .map(|client| scope.spawn(move || ask_many(mcp_url(bridge), client, per_client)))
            .collect();
        pipeline(ws_url(bridge), over_websocket);
        let all_well = clients.into_iter().all(|client| client.join().is_ok());
        over.store(true, Ordering::Relaxed);
        assert!(all_well, "every client got its answers");
        analyst.join().expect("the analyst")
    });
    assert!(analyses > 0, "it was analysed meanwhile");
}

#[test]
fn ten_thousand_requests_from_65_clients_while_analysis_runs() {
    let bridge = bridge(&[]);
    let before = Held::by(&bridge);
    storm(&bridge, 125, 2_000);
    answers_at_once(&bridge);
    storm(&bridge, 10, 500);
    let settled = Held::by(&bridge).resident_kib;
    storm(&bridge, 40, 2_000);
    let after = Held::by(&bridge).resident_kib;
    assert!(after < settled + (48 << 10), "{settled} KiB, then {after} KiB");
    gives_back(&bridge, before);
}

#[test]
fn thousands_of_connections_come_and_go() {
    let bridge = bridge(&["analysis=off"]);
    answers_at_once(&bridge);
    let before = Held::by(&bridge);
    let ends = [split(ws_url(&bridge)).0, split(mcp_url(&bridge)).0];
    let began = Instant::now();
    for round in 0..3_000 {
        let end = ends[round % 2];
        // The system may run out of ports for a moment, the server may not.
        let stream = TcpStream::connect(end).unwrap_or_else(|error| panic!("{round}: {error}"));
        if round % 3 == 0 {
            let _ = std::io::Write::write_all(&mut &stream, b"GET / HTTP/1.1\r\nHost: ");
        }
    }
    let rate = 3_000.0 / began.elapsed().as_secs_f64();
    println!("{rate:.0} connections a second");
    answers_at_once(&bridge);
    gives_back(&bridge, before);
    reopen(ws_url(&bridge));
}

#[test]
fn slow_bodies_hold_up_nobody() {
    let bridge = bridge(&["analysis=off"]);
    let url = mcp_url(&bridge);
    let whole = Post::modern("ping", json!({})).bytes(url);
    let before = Held::by(&bridge);
    let mut slow: Vec<Socket> = (0..100)
        .map(|_| {
            let mut socket = Socket::connect(url);
            socket.send(&whole[..whole.len() - 10]);
            socket
        })
        .collect();
    answers_at_once(&bridge);
    // They are answered once they are complete, and forgotten when they leave.
    for socket in slow.iter_mut().take(50) {
        for byte in &whole[whole.len() - 10..] {
            socket.send(&[*byte]);
        }
        assert_eq!(socket.reply().status, 200);
    }
    drop(slow);
    gives_back(&bridge, before);
}

#[test]
fn long_bodies_take_turns() {
    let bridge = bridge(&["analysis=off", "max_body=4m"]);
    let url = mcp_url(&bridge);
    answers_at_once(&bridge);
    let before = Held::by(&bridge);
    let mut long = Post::raw(vec![b' '; 4 << 20]).bytes(url);
    long.truncate(long.len() - 1000);
    // Whoever has to wait is not read: writing stops then.
    let slow: Vec<TcpStream> = (0..100)
        .map(|_| {
            let stream = TcpStream::connect(split(url).0).expect("it listens");
            stream.set_write_timeout(Some(Duration::from_millis(100))).expect("a socket");
            let _ = std::io::Write::write_all(&mut &stream, &long);
            stream
        })
        .collect();
    let during = Held::by(&bridge);
    println!("{} MiB of bodies", (during.resident_kib - before.resident_kib) >> 10);
    assert!(during.resident_kib < before.resident_kib + (200 << 10), "{before:?}, {during:?}");
    answers_at_once(&bridge);
    drop(slow);
    let padding = "x".repeat(3 << 20);
    Post::modern("ping", json!({"padding": padding})).works(url);
    gives_back(&bridge, before);
}

/// Bodies that have arrived and wait to be read count as well.
#[test]
fn long_bodies_that_wait_for_their_turn_are_few() {
    let bridge = bridge(&["analysis=off", "max_body=4m"]);
    let url = mcp_url(&bridge);
    let before = Held::by(&bridge);
    // Takes long to read, and much room.
    let body = format!("[{}0]", "0,".repeat((2 << 20) - 8));
    let post = Post::raw(body.into_bytes()).bytes(url);
    let over = AtomicBool::new(false);
    let most = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !over.load(Ordering::Relaxed) {
                most = most.max(Held::by(&bridge).resident_kib);
                std::thread::sleep(Duration::from_millis(5));
            }
            most
        });
        let send = || {
            let mut socket = Socket::connect(url);
            socket.send(&post);
            socket.reply().status
        };
        let clients: Vec<_> = (0..120).map(|_| scope.spawn(send)).collect();
        let answers: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        // Whatever came of them: the watcher must not wait for ever.
        over.store(true, Ordering::Relaxed);
        let answers: Vec<u16> = answers.into_iter().map(|a| a.expect("an answer")).collect();
        assert!(answers.iter().all(|status| *status == 400), "{answers:?}");
        watch.join().expect("it watches")
    });
    let held = most.saturating_sub(before.resident_kib) >> 10;
    println!("{held} MiB at most");
    assert!(held < 620, "{held} MiB");
}

/// JSON that is hard to take: what each transport says to it.
fn hard_json() -> Vec<(&'static str, String, i64)> {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let request = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"session.get","params":{params}}}"#)
    };
    vec![
        ("nested deep", nested(1_000_000), -32700),
        ("nested deep without an end", "[".repeat(1_000_000), -32700),
        ("nested params", request(&format!(r#"{{"a":{}}}"#, nested(5_000))), -32700),
        (
            "a name twice",
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"session.get"}"#.into(),
            -32700,
        ),
        ("a name twice inside", request(r#"{"a":{"b":1,"b":2}}"#), -32700),
        ("an endless number", format!("1{}", "0".repeat(2_000_000)), -32700),
        ("an endless text", format!("\"{}", "x".repeat(2_000_000)), -32700),
        (
            "half an escape",
            r#"{"jsonrpc":"2.0","id":"\u12","method":"session.get"}"#.into(),
            -32700,
        ),
    ]
}

#[test]
fn hard_json_is_refused_on_every_transport() {
    let bridge = bridge(&["analysis=off"]);
    let url = mcp_url(&bridge);
    let mut socket = Socket::open(ws_url(&bridge));
    let before = Held::by(&bridge);
    for (what, text, code) in hard_json() {
        socket.send_text(&text);
        let reply = socket.frame().json();
        assert_eq!(reply["error"]["code"], code, "{what}: {reply}");
        let reply = Post::raw(text).send(url);
        assert_eq!(reply.status, 400, "{what}: {}", reply.body);
        assert_eq!(reply.json()["error"]["code"], code, "{what}");
        assert!(reply.body.len() < 1000, "{what}: errors are short");
    }
    let after = Held::by(&bridge);
    assert!(after.resident_kib < before.resident_kib + (64 << 10), "{before:?}, {after:?}");
    answers_at_once(&bridge);
}

/// A WebSocket, once the client before is seen to be gone.
fn reopen(url: &str) -> Socket {
    let began = Instant::now();
    loop {
        let mut socket = Socket::connect(url);
        if socket.upgrade(split(url).1, "").status == 101 {
            assert_eq!(socket.frame().json()["method"], "ghidra.ready");
            return socket;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "the place is never free");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn random_bytes_on_every_port_do_no_harm() {
    let bridge = bridge(&["analysis=off"]);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..200 {
        let noise: Vec<u8> = (0..next() % 300).map(|_| next() as u8).collect();
        let mut socket = Socket::connect(mcp_url(&bridge));
        let _ = socket.try_send(&noise);
        drop(socket);
        let mut socket = reopen(ws_url(&bridge));
        // Noise as frames, as payloads, and behind half a frame.
        let bytes = match round % 3 {
            0 => noise,
            1 => frame(0x81, &noise),
            _ => [&frame(0x81, b"{}")[..5], &noise].concat(),
        };
        let _ = socket.try_send(&bytes);
    }
    answers_at_once(&bridge);
    reopen(ws_url(&bridge));
}
