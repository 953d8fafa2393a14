//! What must not get in, and what must not get out.

use crate::post::Post;
use crate::raw::{Socket, UPGRADE};
use crate::world::{bridge, mcp_url, program, run, sample, split, ws_url};
use serde_json::json;
use std::io::Read;
use std::process::{Command, Stdio};
use testkit::bridge::Bridge;

const SECRET: &str = "open-sesame-open-sesame";

/// Every way to ask for a listener that others can reach.
#[test]
fn open_listeners_need_a_secret_however_they_are_asked_for() {
    let file = sample();
    let file = file.to_str().expect("a name");
    for host in ["0.0.0.0", "::", "[::]", "0", "0x0", "::ffff:0.0.0.0", "[::ffff:0.0.0.0]"] {
        for command in ["serve", "ws", "mcp"] {
            let ports: &[&str] =
                if command == "serve" { &["ws_port=0", "mcp_port=0"] } else { &["port=0"] };
            for words in [
                vec![format!("host={host}")],
                vec![format!("--host={host}")],
                vec!["--host".to_owned(), host.to_owned()],
                vec![format!("host={host}"), "token=short".to_owned()],
            ] {
                let mut arguments = vec![command, file];
                arguments.extend(ports);
                arguments.extend(words.iter().map(String::as_str));
                let output = run(&arguments);
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
                assert!(output.stdout.is_empty(), "{arguments:?}: it never got ready");
                assert!(!said.contains("short") || !said.contains("token=short"), "{said}");
            }
        }
    }
}

#[test]
fn an_open_listener_with_a_secret_checks_it() {
    let bridge = bridge(&["host=0.0.0.0", &format!("token={SECRET}")]);
    let near = |url: &str| url.replace("0.0.0.0", "127.0.0.1");
    let (ws, mcp) = (near(ws_url(&bridge)), near(mcp_url(&bridge)));
    assert_eq!(Post::modern("ping", json!({})).send(&mcp).status, 401);
    let bearer = format!("Bearer {SECRET}");
    Post::modern("ping", json!({})).header("Authorization", &bearer).works(&mcp);
    let path = split(&ws).1;
    assert_eq!(Socket::connect(&ws).upgrade(path, "").status, 401);
    let header = format!("Authorization: {bearer}\r\n");
    assert_eq!(Socket::connect(&ws).upgrade(path, &header).status, 101);
}

#[test]
fn a_forged_origin_is_refused_on_every_transport_whatever_the_host_says() {
    let bridge = bridge(&[]);
    let (ws, mcp) = (ws_url(&bridge), mcp_url(&bridge));
    let origins = [
        "http://evil.example",
        "https://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "http://evil.example#127.0.0.1",
        "http://localhost@evil.example",
        "http://evil.example:80",
        "file://",
        "chrome-extension://abc",
        "null",
    ];
    for origin in origins {
        let name = origin.split("://").last().expect("a host");
        for host in ["127.0.0.1", name, "localhost"] {
            let mut socket = Socket::connect(ws);
            let head = UPGRADE.replace("Host: x", &format!("Host: {host}"));
            let head = format!("GET /ws/agent HTTP/1.1\r\n{head}Origin: {origin}\r\n\r\n");
            socket.send(head.as_bytes());
            assert_eq!(socket.reply().status, 403, "{origin} {host}");
            for method in ["POST", "OPTIONS", "GET"] {
                let reply = Post::modern("ping", json!({})).method(method).header("Origin", origin);
                let reply = reply.header("X-Forwarded-Host", host).send(mcp);
                assert_eq!(reply.status, 403, "{method} {origin} {host}");
                assert!(reply.header("access-control-allow-origin").is_none(), "{origin}");
            }
        }
    }
}

#[test]
fn tokens_in_a_query_are_refused_on_every_transport() {
    let bridge = bridge(&[&format!("token={SECRET}")]);
    let bearer = format!("Bearer {SECRET}");
    for query in ["?token=x", "?a=b&token=", "?access_token=x", "?%74oken=x", "?a;token=x"] {
        let post = Post::modern("ping", json!({})).header("Authorization", &bearer).query(query);
        post.fails(mcp_url(&bridge), 400, -32600);
        let mut socket = Socket::connect(ws_url(&bridge));
        let target = format!("/ws/agent{query}");
        let reply = socket.upgrade(&target, &format!("Authorization: {bearer}\r\n"));
        assert_eq!(reply.status, 400, "{query}");
    }
}

/// Runs a bridge that is given its secret one way, uses it rightly and wrongly,
/// and gives everything that it ever said.
fn everything_said(arguments: &[String], environment: Option<&str>) -> String {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let mut command = Command::new(program());
    command
        .arg("serve")
        .arg(sample())
        .args(["ws_port=0", "mcp_port=0", "project=none"])
        .args(arguments);
    command.arg(format!("log={}", log.path().display())).env_remove("GHIDRA_BRIDGE_TOKEN");
    if let Some(secret) = environment {
        command.env("GHIDRA_BRIDGE_TOKEN", secret);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut output = std::io::BufReader::new(child.stdout.take().expect("piped"));
    let mut said = String::new();
    std::io::BufRead::read_line(&mut output, &mut said).expect("a line");
    let ready: serde_json::Value = serde_json::from_str(&said).expect("a ready line");
    let (ws, mcp) = (ready["ws"].as_str().expect("ws"), ready["mcp"].as_str().expect("mcp"));

    let bearer = format!("Bearer {SECRET}");
    for value in [bearer.clone(), format!("{bearer}x"), SECRET.to_owned()] {
        let post = Post::modern("ping", json!({})).header("Authorization", &value);
        said += &post.send(mcp).body;
        let query = Post { query: "?token=open-sesame-open-sesame", ..post };
        said += &query.send(mcp).body;
        let mut socket = Socket::connect(ws);
        said += &socket.upgrade("/ws/agent", &format!("Authorization: {value}\r\n")).body;
    }
    let stop = json!({"name": "ghidra.bridge", "arguments": {"operation": "shutdown"}});
    Post::modern("tools/call", stop).header("Authorization", &bearer).works(mcp);
    output.read_to_string(&mut said).expect("text");
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
    assert!(child.wait().expect("a child").success());
    let logged = std::fs::read_to_string(log.path()).expect("a log");
    assert!(logged.lines().count() > 5, "it was logged: {logged}");
    said + &logged
}

#[test]
fn the_secret_is_never_said() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), SECRET).expect("a file");
    let from_file = format!("token_file={}", file.path().display());
    for (arguments, environment) in
        [(vec![format!("token={SECRET}")], None), (vec![from_file], None), (vec![], Some(SECRET))]
    {
        let said = everything_said(&arguments, environment);
        assert!(!said.contains(SECRET), "{said}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_secret_from_a_file_is_not_in_the_process_list() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), SECRET).expect("a file");
    let argument = format!("token_file={}", file.path().display());
    let bridge = Bridge::serve(program(), &sample(), &[&argument]).expect("it starts");
    assert_eq!(Post::modern("ping", json!({})).send(mcp_url(&bridge)).status, 401);
    for name in ["cmdline", "comm"] {
        let path = format!("/proc/{}/{name}", bridge.process_id());
        let shown = String::from_utf8_lossy(&std::fs::read(path).expect("it runs")).into_owned();
        assert!(!shown.contains(SECRET), "{shown}");
    }
}
