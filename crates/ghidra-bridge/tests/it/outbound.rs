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

    fn ends_well(mut self) -> String {
        let began = Instant::now();
        while self.child.try_wait().expect("a child").is_none() {
            assert!(began.elapsed() < Duration::from_secs(10), "it must end");
            std::thread::sleep(Duration::from_millis(10));
        }
        let output = self.child.wait_with_output().expect("a child");
        assert!(output.status.success(), "{output:?}");
        let [out, errors] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
        out + &errors
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
    let output = crate::world::run(&["ws", sample().to_str().expect("a name"), &url]);
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    assert!(text.contains(&address.to_string()) && !text.contains("hidden"), "{text}");
}
