//! What clients get when a request hits a fault of ours: an error with their
//! id and without our inside, on a connection that lives on.

use crate::config::{Command, Config};
use crate::log::RequestLog;
use crate::service::Service;
use crate::shutdown::Stop;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

fn service() -> Arc<Service> {
    let config = Config::read(Command::Stdio, &[], None).expect("defaults");
    let session = engine::Session::empty().expect("the language is built in");
    let bridge = api::Bridge::new(session, api::BridgeOptions::default());
    let log = RequestLog::open(&config.log).expect("no log");
    Service::new(Arc::new(bridge), &config, log, Stop::new())
}

fn request(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn cases() -> [(&'static str, Value); 2] {
    // One that is answered on the spot, one that runs on a thread of its own.
    [("tools/list", json!({})), ("tools/call", json!({"name": "ghidra.help", "arguments": {}}))]
}

async fn post(stream: &mut TcpStream, body: &str) -> (u16, Value) {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         MCP-Protocol-Version: 2025-11-25\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).await.expect("it reads");
    let mut answer = Vec::new();
    loop {
        let mut chunk = [0; 64 << 10];
        let count = stream.read(&mut chunk).await.expect("an answer");
        assert!(count > 0, "the connection lives on");
        answer.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&answer);
        let Some((head, rest)) = text.split_once("\r\n\r\n") else { continue };
        if let Ok(body) = serde_json::from_str(rest) {
            let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
            return (status.expect("a status"), body);
        }
    }
}

fn check(reply: &Value, id: u64) {
    assert_eq!(reply["id"], id, "{reply}");
    assert_eq!(reply["error"]["code"], -32603, "{reply}");
    let text = reply.to_string();
    assert!(!text.contains("secret") && !text.contains("panic"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_is_a_500_over_http() {
    let service = service();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let served =
        super::listener::serve(listener, "127.0.0.1".into(), "/mcp".into(), Arc::clone(&service));
    let server = tokio::spawn(served);
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    for (id, (method, params)) in (1..).zip(cases()) {
        service.faulty.store(true, Ordering::Relaxed);
        let (status, reply) = post(&mut stream, &request(id, method, params.clone())).await;
        assert_eq!(status, 500, "{reply}");
        check(&reply, id);
        service.faulty.store(false, Ordering::Relaxed);
        let (status, reply) = post(&mut stream, &request(id, method, params)).await;
        assert_eq!((status, &reply["id"]), (200, &json!(id)), "{reply}");
    }
    drop(stream);
    service.stop.stop();
    server.await.expect("it ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_is_an_error_over_pipes() {
    let service = service();
    let mut input = request(0, "initialize", json!({"protocolVersion": "2025-11-25"}));
    for (id, (method, params)) in (1..).zip(cases()) {
        input = input + "\n" + &request(id, method, params);
    }
    service.faulty.store(true, Ordering::Relaxed);
    let (output, mut answers) = tokio::io::duplex(1 << 20);
    super::stdio::serve(BufReader::new(input.as_bytes()), output, service).await;
    let mut text = String::new();
    answers.read_to_string(&mut text).await.expect("text");
    let mut replies: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("protocol")).collect();
    replies.sort_by_key(|reply| reply["id"].as_u64());
    assert_eq!(replies.len(), 3, "{text}");
    for (id, reply) in (0..).zip(&replies) {
        check(reply, id);
    }
}
