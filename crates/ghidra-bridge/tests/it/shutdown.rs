//! How it ends: by request, by signal, with clients connected.

use crate::raw::Socket;
use crate::world::{bridge, mcp_url, program, sample, ws_url};
use serde_json::json;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

fn start(command: &str, arguments: &[&str]) -> (Child, serde_json::Value) {
    let mut child = Command::new(program())
        .arg(command)
        .arg(sample())
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let output = child.stdout.as_mut().expect("piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("a line");
    (child, serde_json::from_str(&line).expect("a ready line"))
}

fn ended(child: &mut Child, limit: Duration) -> ExitStatus {
    let began = Instant::now();
    while began.elapsed() < limit {
        if let Some(status) = child.try_wait().expect("a child") {
            return status;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    panic!("it still runs after {limit:?}");
}

const SOON: Duration = Duration::from_secs(10);
const SERVE: [&str; 3] = ["ws_port=0", "mcp_port=0", "project=none"];

#[test]
fn a_websocket_client_ends_the_session() {
    for id in [r#""id":1,"#, ""] {
        let (mut child, ready) = start("serve", &SERVE);
        let mut socket = Socket::open(ready["ws"].as_str().expect("an address"));
        // What was asked before is answered before.
        socket.send_text(r#"{"jsonrpc":"2.0","id":"before","method":"session.get"}"#);
        socket.send_text(&format!(r#"{{"jsonrpc":"2.0",{id}"method":"session.shutdown"}}"#));
        assert_eq!(socket.frame().json()["id"], "before");
        if !id.is_empty() {
            assert_eq!(socket.frame().json()["result"], json!({"shutdown": true}));
        }
        assert_eq!(socket.frame().close(), (1000, "agent shutdown".into()));
        assert!(ended(&mut child, SOON).success());
    }
}

#[test]
fn an_mcp_client_ends_the_session() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    let mut mcp = bridge.mcp().expect("MCP");
    let reply = mcp.call("ghidra.bridge", "shutdown", json!({})).expect("it is accepted");
    assert_eq!(reply, json!({"shutdown": true}));
    assert_eq!(socket.frame().close().0, 1001, "the others see the server stop");
    let address = crate::world::split(mcp_url(&bridge)).0.to_owned();
    let began = Instant::now();
    while std::net::TcpStream::connect(&address).is_ok() {
        assert!(began.elapsed() < SOON, "the port must stop answering");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[cfg(unix)]
fn signals_end_it_in_good_order() {
    for signal in ["-TERM", "-INT"] {
        let (mut child, ready) = start("serve", &SERVE);
        let mut socket = Socket::open(ready["ws"].as_str().expect("an address"));
        let idle = Socket::connect(ready["mcp"].as_str().expect("an address"));
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        assert_eq!(socket.frame().close().0, 1001);
        drop(socket);
        assert!(ended(&mut child, SOON).success(), "{signal}");
        drop(idle);
    }
}

/// Whether a thread of that process analyses.
#[cfg(target_os = "linux")]
fn analyses(child: &Child) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", child.id())) else { return false };
    threads.flatten().any(|thread| {
        std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name == "analysis\n")
    })
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_ends_it_while_it_analyses_first() {
    // Its own tests are the largest program at hand.
    let large = std::env::current_exe().expect("a path");
    let mut child = Command::new(program())
        .arg("serve")
        .arg(large)
        .args(["ws_port=0", "mcp_port=0", "project=none", "analysis=wait"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let began = Instant::now();
    while !analyses(&child) {
        assert!(began.elapsed() < Duration::from_secs(60), "it analyses before it serves");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(analyses(&child), "it still does");
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    assert!(ended(&mut child, 3 * SOON).success());
}

#[test]
#[cfg(unix)]
fn a_signal_right_after_the_ready_line_is_caught() {
    for _ in 0..10 {
        let (mut child, _) = start("serve", &SERVE);
        let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        assert!(ended(&mut child, SOON).success());
    }
}
