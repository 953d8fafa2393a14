//! `record`: the bytes on both sides are the same, and streams stream.

use crate::harness::{PROBE, Served, against, probe, recorded, run};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Everything that must pass unchanged: noise, broken UTF-8, no final line end.
fn awkward() -> Vec<u8> {
    let mut bytes =
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\r\n\xef\xbb\xbfnoise \xff\xfe\n".to_vec();
    bytes.extend_from_slice(&vec![b'x'; 3 << 20]);
    bytes.extend_from_slice(
        b"\n{\"id\":1,\"result\":{\"n\":12345678901234567890}}\n\x00\x1b[0m{\"cut\":",
    );
    bytes
}

#[test]
fn pipes_carry_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (trail, seen) = (dir.path().join("t.jsonl"), dir.path().join("seen.bin"));
    // A server that gives back what it gets, and keeps a copy.
    let server = format!("tee '{}'; echo done >&2; exit 7", seen.display());
    let mut child = Command::new(PROBE)
        .args(["record", "--out", trail.to_str().unwrap(), "stdio", "--", "sh", "-c", &server])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let sent = awkward();
    let mut input = child.stdin.take().unwrap();
    let copy = sent.clone();
    let writer = std::thread::spawn(move || input.write_all(&copy).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.stdout == sent, "what came back is what was sent");
    assert!(std::fs::read(&seen).unwrap() == sent, "what the server saw is what was sent");
    assert_eq!(output.status.code(), Some(7), "the exit code is the server's");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("done"));
    let lines = recorded(&trail);
    let big = lines.iter().filter(|line| line["bytes"].as_u64() > Some((1 << 20) - 1)).count();
    assert!(big >= 2, "the long line is there, both ways");
    assert!(lines.iter().any(|line| line["id"] == 1 && line["kind"] == "response"));
}

#[test]
fn a_client_does_not_notice() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let ran = probe(&[
        "report",
        "--json",
        "stdio",
        "--",
        PROBE,
        "record",
        "--out",
        trail.to_str().unwrap(),
        "stdio",
        "--",
        PROBE,
        "mock",
        "good",
    ]);
    let direct = against("good", &["report", "--json"]);
    assert_eq!(ran.json()["surfaces"], direct.json()["surfaces"]);
    let lines = recorded(&trail);
    let (request, answer) = (
        lines.iter().position(|line| line["method"] == "tools/list").unwrap(),
        lines
            .iter()
            .position(|line| {
                line["text"].as_str().is_some_and(|text| text.contains("\"tools\":[{"))
            })
            .unwrap(),
    );
    assert!(request < answer);
}

/// A server on a raw socket that keeps what it reads and streams in two parts.
fn upstream(
    listener: TcpListener,
    first: &'static [u8],
    second: &'static [u8],
) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut seen = Vec::new();
        let mut buffer = [0; 4096];
        while !seen.ends_with(b"END\r\n0\r\n\r\n") {
            let count = stream.read(&mut buffer).unwrap();
            assert!(count > 0);
            seen.extend_from_slice(&buffer[..count]);
        }
        stream.write_all(first).unwrap();
        std::thread::sleep(Duration::from_millis(700));
        stream.write_all(second).unwrap();
        seen
    })
}

#[test]
fn http_carries_the_same_bytes_and_streams() {
    const FIRST: &[u8] = b"HTTP/1.1 200 OK\r\nx-Odd-CASE:  kept\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n14\r\ndata: {\"id\":1,\"a\":1}\r\n2\r\n\n\n\r\n";
    const SECOND: &[u8] = b"1c;ext=1\r\ndata: {\"id\":1,\"result\":{}}\n\n\r\n0\r\n\r\n";
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = upstream(listener, FIRST, SECOND);
    let mut proxy =
        Served::start(Command::new(PROBE).args(["record", "--out", trail.to_str().unwrap(), &url]));
    let place = proxy.url.trim_start_matches("http://").split('/').next().unwrap().to_string();
    let mut client = TcpStream::connect(&place).unwrap();
    let request = b"POST /mcp HTTP/1.1\r\nhost: whatever\r\nX-weird:\tv \r\nTransfer-Encoding: chunked\r\n\r\n22\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\r\n4\r\na\"} \r\n5\r\n  END\r\n0\r\n\r\n";
    client.write_all(request).unwrap();
    let start = Instant::now();
    let mut got = Vec::new();
    let mut buffer = [0; 4096];
    let mut first_after = None;
    while got.len() < FIRST.len() + SECOND.len() {
        let count = client.read(&mut buffer).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&got));
        first_after.get_or_insert(start.elapsed());
        got.extend_from_slice(&buffer[..count]);
    }
    assert!(first_after.unwrap() < Duration::from_millis(500), "the first event is not held back");
    assert!(start.elapsed() >= Duration::from_millis(650));
    assert_eq!(String::from_utf8_lossy(&server.join().unwrap()), String::from_utf8_lossy(request));
    assert_eq!(got, [FIRST, SECOND].concat());
    drop(client);
    proxy.stop();
    let lines = recorded(&trail);
    let events = lines.iter().filter(|line| line["http"]["event"] == true).count();
    assert_eq!(events, 2);
    let sums = lines
        .iter()
        .filter(|line| line["text"].as_str().is_some_and(|text| text.starts_with("forwarded")))
        .count();
    assert_eq!(sums, 2);
}

#[test]
fn an_interrupt_keeps_what_was_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let mut child = Command::new(PROBE)
        .args(["record", "--out", trail.to_str().unwrap(), "stdio", "--", PROBE, "mock", "good"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}").unwrap();
    let mut one = [0; 8];
    child.stdout.as_mut().unwrap().read_exact(&mut one).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert!(run(Command::new("kill").args(["-INT", &child.id().to_string()])).code == 0);
    let start = Instant::now();
    child.wait().unwrap();
    assert!(start.elapsed() < Duration::from_secs(5));
    let lines = recorded(&trail);
    assert!(
        lines.iter().any(|line| line["kind"] == "request")
            && lines.iter().any(|line| line["kind"] == "response")
    );
}

#[test]
fn files_rotate_by_size() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let args = [
        "record",
        "--rotate",
        "2000",
        "--out",
        trail.to_str().unwrap(),
        "stdio",
        "--",
        PROBE,
        "mock",
        "good",
    ];
    probe(&[&["report", "--json", "stdio", "--", PROBE][..], &args].concat());
    assert!(dir.path().join("t.jsonl.1").exists());
    for file in std::fs::read_dir(dir.path()).unwrap() {
        recorded(&file.unwrap().path());
    }
}

#[test]
fn a_dead_upstream_is_said_so() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let proxy = Served::start(Command::new(PROBE).args([
        "record",
        "--out",
        trail.to_str().unwrap(),
        "http://127.0.0.1:1/mcp",
    ]));
    let ran = probe(&["call", "--method", "ping", &proxy.url]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("502"), "{}", ran.err);
    assert_eq!(probe(&["record", "stdio", "--", "true"]).code, 2, "no file was named");
}

#[test]
fn the_log_is_searched_and_summed_up() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let path = trail.to_str().unwrap();
    against("good", &["report", "--record", path]);
    let ran = probe(&["audit-log", "--json", path]);
    assert_eq!(ran.code, 1, "ping is an error in the modern era");
    assert_eq!(ran.json().as_array().unwrap().len(), 12);
    let ran = probe(&["audit-log", "--json", "--method", "tools/list", path]);
    assert_eq!((ran.code, ran.json().as_array().unwrap().len()), (0, 2));
    assert_eq!(
        probe(&["audit-log", "--json", "--errors", path]).json().as_array().unwrap().len(),
        1
    );
    assert_eq!(
        probe(&["audit-log", "--json", "--slowest", "3", path]).json().as_array().unwrap().len(),
        3
    );
    assert_eq!(
        probe(&["audit-log", "--json", "--grep", "mock://greeting", path])
            .json()
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let ran = probe(&["audit-log", "--json", "--methods", path]);
    assert!(
        ran.json().as_array().unwrap().iter().all(|row| row["p50"].as_f64() <= row["p99"].as_f64())
    );
    let ran = probe(&["audit-log", "--json", "--servers", path, path]);
    assert_eq!(ran.json()[0]["calls"], 24);
    assert_eq!(probe(&["audit-log", "/no/such/file"]).code, 2);
}
