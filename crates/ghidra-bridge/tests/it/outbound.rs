//! Connecting out: a host in the test takes the connection and asks.

use crate::world::{program, sample};
use serde_json::{Value, json};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Message, WebSocket, accept_hdr};

struct Host {
    child: Child,
    socket: WebSocket<TcpStream>,
    authorization: Option<String>,
}

impl Host {
    fn start(arguments: &[&str]) -> Host {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("ws_url=ws://{}/host?key=hidden", listener.local_addr().expect("bound"));
        let child = Command::new(program())
            .arg("ws")
            .arg(sample())
            .arg(url)
            .arg("project=none")
            .args(arguments)
            .env_remove("GHIDRA_BRIDGE_TOKEN")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let (stream, _) = listener.accept().expect("it connects");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
        let mut authorization = None;
        #[allow(clippy::result_large_err, reason = "the library's own signature")]
        let look = |request: &Request, response: Response| {
            assert_eq!(
                request.uri().path_and_query().map(|p| p.as_str()),
                Some("/host?key=hidden")
            );
            let value = request.headers().get("authorization");
            authorization = value.map(|value| value.to_str().expect("text").to_owned());
            Ok(response)
        };
        let socket = accept_hdr(stream, look).expect("a handshake");
        Host { child, socket, authorization }
    }

    fn read(&mut self) -> Value {
        loop {
            match self.socket.read().expect("a message") {
                Message::Text(text) => return serde_json::from_str(&text).expect("JSON"),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("text, not {other:?}"),
            }
        }
    }

    fn ask(&mut self, method: &str) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method});
        self.socket.send(Message::text(request.to_string())).expect("it takes messages");
        self.read()
    }

    /// Sends the signal that service managers end programs with.
    #[cfg(unix)]
    fn terminate(&self) {
        terminate(&self.child);
    }

    fn ends_well(mut self) -> String {
        ends_within(&mut self.child, Duration::from_secs(10));
        let output = self.child.wait_with_output().expect("a child");
        assert!(output.status.success(), "{output:?}");
        let [out, errors] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
        out + &errors
    }
}

#[cfg(unix)]
fn terminate(child: &Child) {
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
}

fn ends_within(child: &mut Child, limit: Duration) -> std::process::ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status;
        }
        if began.elapsed() > limit {
            let _ = child.kill();
            panic!("it still runs after {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_host_is_served_and_ends_the_session() {
    let mut host = Host::start(&["token=sesame", "session_id=demo"]);
    assert_eq!(host.authorization.as_deref(), Some("Bearer sesame"));
    let ready = host.read();
    assert_eq!(
        (&ready["method"], &ready["params"]["session_id"]),
        (&json!("ghidra.ready"), &json!("demo"))
    );
    assert_eq!(host.ask("session.get")["result"]["id"], "demo");
    // Fragments are joined here, and binary is ignored.
    host.socket.send(Message::binary(vec![1, 2, 3])).expect("sent");
    let text = br#"{"jsonrpc":"2.0","id":"parts","method":"session.get"}"#;
    let part = |text: &[u8], code, last| {
        Message::Frame(Frame::message(text.to_vec(), OpCode::Data(code), last))
    };
    host.socket.send(part(&text[..20], Data::Text, false)).expect("sent");
    host.socket.send(part(&text[20..], Data::Continue, true)).expect("sent");
    assert_eq!(host.read()["id"], "parts");
    assert_eq!(host.ask("no.such.method")["error"]["code"], -32000);
    assert_eq!(host.ask("session.shutdown")["result"], json!({"shutdown": true}));
    match host.socket.read().expect("a close") {
        Message::Close(Some(frame)) => assert_eq!(u16::from(frame.code), 1000),
        other => panic!("a close, not {other:?}"),
    }
    let _ = host.socket.flush();
    let said = host.ends_well();
    assert!(!said.contains("hidden") && !said.contains("sesame"), "{said}");
}

#[test]
fn the_session_ends_with_the_connection() {
    let mut host = Host::start(&["exit_deadline_sec=30"]);
    assert_eq!(host.authorization, None);
    host.read();
    host.socket.close(None).expect("closed");
    let _ = host.socket.flush();
    host.ends_well();

    let mut host = Host::start(&[]);
    host.read();
    // Without a goodbye.
    let (child, socket) = (host.child, host.socket);
    drop(socket);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("a stream");
    let socket = WebSocket::from_raw_socket(
        stream,
        tokio_tungstenite::tungstenite::protocol::Role::Server,
        None,
    );
    Host { child, socket, authorization: None }.ends_well();
}

#[test]
fn the_host_is_pinged() {
    let mut host = Host::start(&[]);
    host.read();
    let began = Instant::now();
    match host.socket.read().expect("a ping") {
        Message::Ping(_) => assert!(began.elapsed() > Duration::from_secs(3)),
        other => panic!("a ping, not {other:?}"),
    }
    drop(host.socket);
    let _ = host.child.kill();
    let _ = host.child.wait();
}

#[test]
fn a_host_that_is_not_there_is_one_line() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let url = format!("ws_url=ws://user:hidden@{address}/x?key=hidden");
    let output =
        crate::world::run(&["ws", sample().to_str().expect("a name"), &url, "project=none"]);
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    assert!(text.contains(&address.to_string()) && !text.contains("hidden"), "{text}");
}

/// A host that does what it likes with the first connection.
fn rude_host(behave: impl FnOnce(TcpStream) + Send + 'static) -> Child {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("ws_url=ws://{}/x?key=hidden", listener.local_addr().expect("bound"));
    let child = Command::new(program())
        .arg("ws")
        .arg(sample())
        .args([url.as_str(), "token=sesame", "project=none"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    behave(listener.accept().expect("it connects").0);
    child
}

#[test]
fn a_host_that_refuses_is_one_line() {
    for answer in [
        "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "nonsense\r\n\r\n",
        "",
    ] {
        let mut child = rude_host(move |mut stream| {
            let mut head = [0; 4096];
            let _ = std::io::Read::read(&mut stream, &mut head);
            let _ = std::io::Write::write_all(&mut stream, answer.as_bytes());
        });
        let status = ends_within(&mut child, Duration::from_secs(10));
        let output = child.wait_with_output().expect("a child");
        let text = String::from_utf8(output.stderr).expect("text");
        assert_eq!(status.code(), Some(2), "{answer:?}: {text}");
        assert_eq!(text.trim_end().lines().count(), 1, "{answer:?}: {text}");
        assert!(!text.contains("hidden") && !text.contains("sesame"), "{text}");
        assert!(output.stdout.is_empty(), "it was never ready");
    }
}

#[test]
#[cfg(unix)]
fn a_signal_ends_it_while_it_connects() {
    let (keep, kept) = std::sync::mpsc::channel();
    // The host takes the connection and never answers.
    let mut child = rude_host(move |stream| keep.send(stream).expect("kept"));
    let _stream = kept.recv().expect("it connects");
    std::thread::sleep(Duration::from_millis(300));
    terminate(&child);
    assert!(ends_within(&mut child, Duration::from_secs(5)).success());
}

#[test]
#[cfg(unix)]
fn a_signal_says_goodbye_to_the_host() {
    let mut host = Host::start(&["exit_deadline_sec=20"]);
    host.read();
    host.terminate();
    loop {
        match host.socket.read().expect("a close") {
            Message::Close(Some(frame)) => break assert_eq!(u16::from(frame.code), 1001),
            Message::Ping(_) => {}
            other => panic!("a close, not {other:?}"),
        }
    }
    let _ = host.socket.flush();
    host.ends_well();
}

#[test]
#[cfg(unix)]
fn an_end_that_takes_too_long_is_cut_short() {
    let mut host = Host::start(&["exit_deadline_sec=1"]);
    host.read();
    // More answers than any socket holds, and nobody who reads them: saying
    // goodbye would take its ten seconds.
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"interface.get"}"#;
    for _ in 0..200 {
        host.socket.send(Message::text(request)).expect("it takes messages");
    }
    std::thread::sleep(Duration::from_millis(1500));
    let began = Instant::now();
    host.terminate();
    let status = ends_within(&mut host.child, Duration::from_secs(20));
    assert_eq!(status.code(), Some(1), "after {:?}", began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    let output = host.child.wait_with_output().expect("a child");
    let text = String::from_utf8(output.stderr).expect("text");
    assert!(text.contains("exit_deadline_sec"), "{text}");
}
