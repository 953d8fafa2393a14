//! Web sockets: as a target of the verbs, and with the recorder in between.

use crate::harness::{PROBE, Served, against, probe, recorded};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

fn mock(name: &str) -> Served {
    Served::start(Command::new(PROBE).args(["mock", name, "--ws", "0"]))
}

#[test]
fn verbs_take_web_sockets() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("lock.json");
    let lock = lock.to_str().unwrap();
    let served = mock("good");
    let url = served.url.as_str();
    let report = probe(&["report", "--json", url]).json();
    let direct = against("good", &["report", "--json"]).json();
    assert_eq!(report["surfaces"].as_array().unwrap().len(), 2);
    assert_eq!(report["surfaces"][0]["tools"], direct["surfaces"][0]["tools"]);
    assert_eq!(report["surfaces"][0]["transport"], "ws");
    for args in [
        &["scan", "--json", url][..],
        &["lint", url],
        &["errors", "--most", "3", url],
        &["lock", "--out", lock, url],
        &["verify", "--lock", lock, url],
    ] {
        let ran = probe(args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
    }
    let risky = mock("risky");
    assert!(probe(&["scan", "--json", &risky.url]).rules().contains(&"runs-commands".to_string()));
}

#[test]
fn faults_over_web_sockets() {
    for (name, rule) in [
        ("silent", "no-answer"),
        ("flood", "flood"),
        ("out-of-order", "out-of-order"),
        ("wrong-ids", "wrong-id"),
        ("version-strict", "version-mismatch"),
        ("endless-pages", "endless-pages"),
        ("nested-bomb", "nested-too-deep"),
        ("invalid-utf8", "invalid-utf8"),
    ] {
        let served = mock(name);
        let args = ["doctor", "--json", "--timeout-idle", "2s", "--timeout-total", "4s"];
        let ran = probe(&[&args[..], &[&served.url]].concat());
        crate::doctor::shows(&ran, rule);
    }
}

#[test]
fn a_client_does_not_notice_the_recorder() {
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let path = trail.to_str().unwrap();
    let served = mock("good");
    let mut proxy = Served::start(Command::new(PROBE).args(["record", "--out", path, &served.url]));
    assert!(proxy.url.starts_with("ws://"), "{}", proxy.url);
    let through = probe(&["report", "--json", &proxy.url]);
    assert_eq!(through.code, 0, "{}{}", through.out, through.err);
    let direct = probe(&["report", "--json", &served.url]).json();
    assert_eq!(through.json()["surfaces"], direct["surfaces"]);
    proxy.stop();
    let lines = recorded(&trail);
    let said = |dir: &str, what: &str| {
        lines.iter().position(|line| {
            line["dir"] == dir
                && line["channel"] == "ws"
                && line["text"].as_str().is_some_and(|text| text.contains(what))
        })
    };
    let asked = said("client", "\"method\":\"tools/list\"").unwrap();
    assert_eq!(lines[asked]["kind"], "request");
    assert!(asked < said("server", "\"tools\":[{").unwrap());
    // The recording is as good as one made by the probe's own client.
    assert_eq!(probe(&["diff", path, path]).code, 0);
    assert_eq!(probe(&["audit-log", "--method", "tools/list", path]).code, 0);
    let ran = probe(&["replay", path, &served.url]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

/// Reads until the end, or until that many bytes have come.
fn read_some(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut seen = vec![0; count];
    stream.read_exact(&mut seen).unwrap();
    seen
}

#[test]
fn frames_carry_the_same_bytes() {
    const ASK: &[u8] = b"GET /socket HTTP/1.1\r\nhost: odd\r\nUPGRADE: WebSocket\r\nConnection: upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    const AGREE: &[u8] = b"HTTP/1.1 101 Sure\r\nupgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    // Fragments around a ping, then a frame that nobody may send.
    let up = [
        &b"\x01\x84\x01\x01\x01\x01"[..],
        b"z#hc",
        b"\x89\x80abcd",
        b"\x80\x83\0\0\0\0:1}",
        b"\xf3\x00junk",
    ]
    .concat();
    let down =
        [&b"\x81\x08{\"id\":1}"[..], b"\x82\x02\xff\xfe", b"\x88\x05\x03\xe9bye", b"\x81\x7f\0"]
            .concat();
    let (sent, answer) = (up.clone(), down.clone());
    let dir = tempfile::tempdir().unwrap();
    let trail = dir.path().join("t.jsonl");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}/socket", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let asked = read_some(&mut stream, ASK.len());
        stream.write_all(&[AGREE, &answer[..3]].concat()).unwrap();
        let frames = read_some(&mut stream, sent.len());
        stream.write_all(&answer[3..]).unwrap();
        (asked, frames)
    });
    let mut proxy =
        Served::start(Command::new(PROBE).args(["record", "--out", trail.to_str().unwrap(), &url]));
    let place = proxy.url.trim_start_matches("ws://").split('/').next().unwrap().to_string();
    let mut client = TcpStream::connect(&place).unwrap();
    client.write_all(ASK).unwrap();
    let mut got = read_some(&mut client, AGREE.len());
    for part in up.chunks(5) {
        client.write_all(part).unwrap();
    }
    client.read_to_end(&mut got).unwrap();
    drop(client);
    let (asked, frames) = server.join().unwrap();
    assert_eq!((asked.as_slice(), frames), (ASK, up));
    assert_eq!(got, [AGREE, &down].concat());
    proxy.stop();
    let lines = recorded(&trail);
    let noted: Vec<(&str, &str)> = lines
        .iter()
        .filter(|line| line["channel"] == "ws")
        .map(|line| (line["dir"].as_str().unwrap(), line["note"].as_str().unwrap_or_default()))
        .collect();
    let of = |side: &str| -> Vec<&str> {
        noted.iter().filter(|(dir, _)| *dir == side).map(|(_, note)| *note).collect()
    };
    assert_eq!(of("client")[..2], ["ping", ""], "{noted:?}");
    assert!(of("client")[2].contains("unknown kind"), "{noted:?}");
    assert_eq!(of("server"), ["", "binary", "close 1001", "cut off"]);
    let joined = lines.iter().find(|line| line["text"] == "{\"ib:1}");
    assert!(joined.is_some(), "the fragments are one message");
}
