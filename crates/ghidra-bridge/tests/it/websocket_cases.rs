//! The cases of the Autobahn test suite for servers, by their numbers, as far as
//! they apply: fragments and binary messages are refused here with 1003, and no
//! extension is ever agreed on (12.*, 13.*). The suite wants an echo; here the id
//! of a request is what comes back.

use crate::raw::{Socket, frame};
use crate::world::{bridge, ws_url};
use serde_json::json;

/// A request whose answer repeats these bytes.
fn asking(id: &[u8]) -> Vec<u8> {
    [br#"{"jsonrpc":"2.0","method":"session.get","id":""#, id, br#""}"#].concat()
}

fn text(id: &[u8]) -> Vec<u8> {
    frame(0x81, &asking(id))
}

/// What is expected after a case's bytes.
enum Then {
    /// These ids come back in order, and the connection lives on.
    Echo(&'static [&'static str]),
    /// A close with 1003. Before it may come the answers to these ids: requests
    /// that only read are given up when the connection ends.
    Unsupported(&'static [&'static str]),
    /// The connection ends without a close frame.
    Dropped,
    /// A close frame with this code, and nothing before it.
    Closed(u16),
}

fn expect(socket: &mut Socket, case: &str, then: &Then) {
    let echoed = |socket: &mut Socket, ids: &[&str]| {
        // Reads run side by side, so answers may overtake each other.
        let mut seen: Vec<String> = ids
            .iter()
            .map(|_| socket.frame().json()["id"].as_str().expect("text").to_owned())
            .collect();
        seen.sort();
        assert_eq!(seen, ids, "{case}");
    };
    match then {
        Then::Echo(ids) => {
            echoed(socket, ids);
            socket.send_frame(0x89, b"still there?");
            assert_eq!(socket.frame().opcode, 10, "{case}");
            socket.send_frame(0x88, &1000u16.to_be_bytes());
            assert_eq!(socket.frame().close().0, 1000, "{case}");
        }
        Then::Unsupported(ids) => {
            let mut frame = socket.frame();
            while frame.opcode == 1 {
                let id = frame.json()["id"].clone();
                assert!(ids.iter().any(|known| id == *known), "{case}: {id}");
                frame = socket.frame();
            }
            assert_eq!(frame.close().0, 1003, "{case}");
        }
        Then::Dropped => {}
        Then::Closed(code) => assert_eq!(socket.frame().close().0, *code, "{case}"),
    }
    socket.end_sending();
    assert!(socket.is_closed(), "{case}: nothing more is said");
}

/// Sends in pieces of so many bytes.
fn chop(socket: &mut Socket, bytes: &[u8], size: usize) {
    for piece in bytes.chunks(size) {
        if socket.try_send(piece).is_err() {
            return;
        }
    }
}

fn run(cases: &[(&str, Vec<u8>, Then)]) {
    let bridge = bridge(&[]);
    for (case, bytes, then) in cases {
        // All at once, then byte by byte, as the suite's variants do.
        for size in [bytes.len().max(1), 1] {
            let mut socket = Socket::open(ws_url(&bridge));
            chop(&mut socket, bytes, size);
            expect(&mut socket, case, then);
        }
    }
}

#[test]
fn cases_1_text_of_any_size() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    for size in [0, 125, 126, 127, 128, 65_535, 65_536] {
        for piece in [usize::MAX, 997] {
            // Within a text of that length there may be no request: then it is refused.
            let padding = size.max(asking(b"x").len()) - asking(b"x").len();
            let message = [asking(b"x"), vec![b' '; padding]].concat();
            let message = if message.len() == size { message } else { vec![b'*'; size] };
            let parsed = message.first() == Some(&b'{');
            chop(&mut socket, &frame(0x81, &message), piece.min(size + 14));
            let answer = socket.frame().json();
            assert_eq!(answer["id"] == "x", parsed, "1.1: {size}: {answer}");
            assert_eq!(answer["error"]["code"] == -32700, !parsed, "1.1: {size}: {answer}");
        }
    }
    drop(socket);
    for size in [0, 125, 126, 127, 128, 65_535, 65_536] {
        let mut socket = Socket::open(ws_url(&bridge));
        socket.send_frame(0x82, &vec![0xfe; size]);
        assert_eq!(socket.frame().close().0, 1003, "1.2: {size}");
    }
}

#[test]
fn cases_2_pings_and_pongs() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    let payloads = [
        ("2.1", vec![]),
        ("2.2", b"Hello, world!".to_vec()),
        ("2.3", vec![0x00, 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0x00, 0xff]),
        ("2.4", vec![0xfe; 125]),
    ];
    for (case, payload) in &payloads {
        for size in [200, 1] {
            chop(&mut socket, &frame(0x89, payload), size);
            let pong = socket.frame();
            assert_eq!((pong.opcode, &pong.payload), (10, payload), "{case}");
        }
    }
    // 2.7 to 2.9: pongs that nobody asked for.
    socket.send_frame(0x8a, b"");
    socket.send_frame(0x8a, b"unsolicited pong payload");
    socket.send_frame(0x89, b"ping payload");
    assert_eq!(socket.frame().payload, b"ping payload");
    // 2.10 and 2.11: ten pings, ten pongs in order, also in small pieces.
    for size in [1000, 3] {
        let pings: Vec<u8> =
            (0..10).flat_map(|i| frame(0x89, format!("payload-{i}").as_bytes())).collect();
        chop(&mut socket, &pings, size);
        for i in 0..10 {
            assert_eq!(socket.frame().payload, format!("payload-{i}").as_bytes());
        }
    }
    run(&[("2.5", frame(0x89, &[0xfe; 126]), Then::Unsupported(&[]))]);
}

#[test]
fn cases_3_reserved_bits() {
    let hello = text(b"a");
    run(&[
        ("3.1", frame(0x91, b"Hello, world!"), Then::Unsupported(&[])),
        ("3.2", [&hello[..], &frame(0xa1, b"x")].concat(), Then::Unsupported(&["a"])),
        ("3.3", [&hello[..], &frame(0xb1, b"x")].concat(), Then::Unsupported(&["a"])),
        ("3.4", [&hello[..], &frame(0xc1, b"x")].concat(), Then::Unsupported(&["a"])),
        ("3.5", frame(0xd2, &[0xff; 8]), Then::Unsupported(&[])),
        ("3.6", frame(0xe9, b"Hello, world!"), Then::Unsupported(&[])),
        ("3.7", frame(0xf8, b""), Then::Unsupported(&[])),
    ]);
}

#[test]
fn cases_4_reserved_opcodes() {
    let mut cases = Vec::new();
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        for payload in [&b""[..], b"reserved opcode payload"] {
            let odd = frame(0x80 | opcode, payload);
            cases.push(("4", odd.clone(), Then::Unsupported(&[])));
            cases.push((
                "4, after a text",
                [text(b"a"), odd, frame(0x89, b"")].concat(),
                Then::Unsupported(&["a"]),
            ));
        }
    }
    run(&cases);
}

#[test]
fn cases_5_fragments() {
    run(&[
        ("5.1", [frame(0x09, b"frag"), frame(0x80, b"ment")].concat(), Then::Unsupported(&[])),
        ("5.2", [frame(0x0a, b"frag"), frame(0x80, b"ment")].concat(), Then::Unsupported(&[])),
        ("5.3", [frame(0x01, b"frag"), frame(0x80, b"ment")].concat(), Then::Unsupported(&[])),
        ("5.9", [frame(0x80, b"non-"), text(b"a")].concat(), Then::Unsupported(&[])),
        ("5.12", [frame(0x00, b"non-"), text(b"a")].concat(), Then::Unsupported(&[])),
        (
            "5.15",
            [text(b"a"), frame(0x00, b"x"), frame(0x80, b"y")].concat(),
            Then::Unsupported(&["a"]),
        ),
        ("5.18", [frame(0x01, b"frag"), frame(0x01, b"ment")].concat(), Then::Unsupported(&[])),
    ]);
}

/// 6.5 to 6.23: each group of sequences, and whether it is UTF-8.
fn sequences() -> Vec<(&'static str, bool, Vec<u8>)> {
    let mut all: Vec<(&'static str, bool, Vec<u8>)> = Vec::new();
    let mut add = |case, valid, rows: &[&[u8]]| {
        all.extend(rows.iter().map(|row| (case, valid, row.to_vec())));
    };
    let word = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5";
    add("6.5", true, &[b"hello$world", b"hello\xc2\xa2world", b"hello\xe2\x82\xacworld"]);
    add("6.5", true, &[b"hello\xf0\xa4\xad\xa2world", word]);
    for end in 1..=word.len() {
        add("6.6", matches!(end, 2 | 5 | 7 | 9 | 11), &[&word[..end]]);
    }
    add("6.7", true, &[b"\xc2\x80", b"\xe0\xa0\x80", b"\xf0\x90\x80\x80"]);
    add("6.8", false, &[b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80"]);
    add("6.9", true, &[b"\x7f", b"\xdf\xbf", b"\xef\xbf\xbf", b"\xf4\x8f\xbf\xbf"]);
    add(
        "6.10",
        false,
        &[b"\xf7\xbf\xbf\xbf", b"\xfb\xbf\xbf\xbf\xbf", b"\xfd\xbf\xbf\xbf\xbf\xbf"],
    );
    add("6.11", true, &[b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xef\xbf\xbd", b"\xf4\x8f\xbf\xbf"]);
    add("6.11", false, &[b"\xf4\x90\x80\x80"]);
    for count in 1..=7 {
        add("6.12", false, &[&b"\x80\xbf\x80\xbf\x80\xbf\x80"[..count]]);
    }
    add("6.12", false, &[b"\xbf", &(0x80..0xbf).collect::<Vec<u8>>()]);
    for range in [0xc0..0xdf, 0xe0..0xef, 0xf0..0xf7, 0xf8..0xfb, 0xfc..0xfdu8] {
        add("6.13", false, &[&range.flat_map(|byte| [byte, b' ']).collect::<Vec<u8>>()]);
    }
    let cut: [&[u8]; 10] = [
        b"\xc0",
        b"\xe0\x80",
        b"\xf0\x80\x80",
        b"\xf8\x80\x80\x80",
        b"\xfc\x80\x80\x80\x80",
        b"\xdf",
        b"\xef\xbf",
        b"\xf7\xbf\xbf",
        b"\xfb\xbf\xbf\xbf",
        b"\xfd\xbf\xbf\xbf\xbf",
    ];
    add("6.14", false, &cut);
    add("6.15", false, &[&cut.concat()]);
    add("6.16", false, &[b"\xfe", b"\xff", b"\xfe\xfe\xff\xff"]);
    add(
        "6.17",
        false,
        &[b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xf8\x80\x80\x80\xaf"],
    );
    add("6.17", false, &[b"\xfc\x80\x80\x80\x80\xaf"]);
    add(
        "6.18",
        false,
        &[b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf", b"\xf8\x87\xbf\xbf\xbf"],
    );
    add("6.18", false, &[b"\xfc\x83\xbf\xbf\xbf\xbf"]);
    add(
        "6.19",
        false,
        &[b"\xc0\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xf8\x80\x80\x80\x80"],
    );
    add("6.19", false, &[b"\xfc\x80\x80\x80\x80\x80"]);
    let high: [&[u8]; 4] = [b"\xed\xa0\x80", b"\xed\xad\xbf", b"\xed\xae\x80", b"\xed\xaf\xbf"];
    let low: [&[u8]; 3] = [b"\xed\xb0\x80", b"\xed\xbe\x80", b"\xed\xbf\xbf"];
    add("6.20", false, &high);
    add("6.20", false, &low);
    for first in high {
        add("6.21", false, &[&[first, low[0]].concat(), &[first, low[2]].concat()]);
    }
    for plane in 0..=16u32 {
        for end in [0xfffe, 0xffff] {
            let mark = char::from_u32(plane << 16 | end).expect("a code point");
            add("6.22", true, &[mark.encode_utf8(&mut [0; 4]).as_bytes()]);
        }
    }
    for mark in '\u{fff9}'..='\u{fffd}' {
        add("6.23", true, &[mark.encode_utf8(&mut [0; 4]).as_bytes()]);
    }
    all
}

#[test]
fn cases_6_utf_8() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    socket.send_frame(0x81, b"");
    assert_eq!(socket.frame().json()["error"]["code"], -32700, "6.1.1");
    let sequences = sequences();
    assert!(sequences.len() > 120, "{}", sequences.len());
    for (case, valid, bytes) in sequences {
        assert_eq!(std::str::from_utf8(&bytes).is_ok(), valid, "{case} {bytes:x?}");
        socket.send(&text(&bytes));
        if valid {
            let answer = socket.frame().json();
            let id = answer["id"].as_str().expect("text");
            assert_eq!(id.as_bytes(), bytes, "{case}");
        } else {
            assert_eq!(socket.frame().close().0, 1003, "{case} {bytes:x?}");
            socket.end_sending();
            assert!(socket.is_closed());
            socket = Socket::open(ws_url(&bridge));
        }
    }
    // 6.7: NUL is UTF-8, but JSON wants it escaped.
    socket.send(&text(b"\0"));
    assert_eq!(socket.frame().json()["error"]["code"], -32700);
    socket.send(&text(br"\u0000"));
    assert_eq!(socket.frame().json()["id"], "\0");
}

fn close(code: u16, reason: &[u8]) -> Vec<u8> {
    frame(0x88, &[&code.to_be_bytes()[..], reason].concat())
}

#[test]
fn cases_7_closing() {
    let bye = close(1000, b"");
    let mut cases = vec![
        ("7.1.2", [bye.clone(), bye.clone()].concat(), Then::Closed(1000)),
        ("7.1.3", [bye.clone(), frame(0x89, b"x")].concat(), Then::Closed(1000)),
        ("7.1.4", [bye.clone(), text(b"a")].concat(), Then::Closed(1000)),
        (
            "7.1.5",
            [frame(0x01, b"frag"), bye.clone(), frame(0x80, b"x")].concat(),
            Then::Closed(1003),
        ),
        ("7.3.1", frame(0x88, b""), Then::Closed(1000)),
        ("7.3.2", frame(0x88, b"a"), Then::Dropped),
        ("7.3.3", bye, Then::Closed(1000)),
        ("7.3.4", close(1000, b"Hello World!"), Then::Closed(1000)),
        ("7.3.5", close(1000, &[b'*'; 123]), Then::Closed(1000)),
        ("7.3.6", close(1000, &[b'*'; 124]), Then::Dropped),
        ("7.5.1", close(1000, b"\xce\xba\xe1\xbd\xb9\xcf\x83\xed\xa0\x80edited"), Then::Dropped),
    ];
    for code in [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999] {
        cases.push(("7.7", close(code, b""), Then::Closed(code)));
    }
    for code in [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65_535] {
        cases.push(("7.9 and 7.13", close(code, b""), Then::Dropped));
    }
    run(&cases);
    run(&[("7.1.1", text(b"a"), Then::Echo(&["a"]))]);
}

#[test]
fn cases_9_large_messages_in_small_pieces() {
    let bridge = bridge(&[]);
    let mut socket = Socket::open(ws_url(&bridge));
    // 9.1 and 9.5: up to 16 MiB whole, a megabyte in pieces of 64 bytes and more.
    for (size, piece) in [(4 << 20, 1 << 20), (1 << 20, 64), (1 << 20, 997), (1 << 20, 2048)] {
        let message = [asking(b"large"), vec![b' '; size]].concat();
        chop(&mut socket, &frame(0x81, &message), piece);
        assert_eq!(socket.frame().json()["id"], "large", "{size} by {piece}");
    }
    // 9.7: many messages of one size, each answered.
    for size in [0, 16, 256, 4096] {
        let message = frame(0x81, &[asking(b"x"), vec![b' '; size]].concat());
        socket.send(&message.repeat(250));
        for _ in 0..250 {
            assert_eq!(socket.frame().json()["id"], json!("x"), "{size}");
        }
    }
}
