//! A mock as an HTTP server, well behaved or not.

use super::faults::Act;
use super::model::{Model, error};
use super::table::{Manner, Mock};
use crate::client::MODERN;
use crate::http::{Event, Head, Parser, Role};
use crate::json::{self, Json};
use crate::obj;
use bytes::Bytes;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

const LONGEST_BODY: usize = 128 << 20;

/// What decides on the answer to a message.
pub type React = Box<dyn FnMut(&Json) -> Vec<Act> + Send>;

struct Shared {
    manner: Manner,
    react: Mutex<React>,
    /// Whether metadata must agree with headers.
    strict: bool,
    /// Requests so far, for those who answer in turns.
    turns: AtomicU64,
    streams: Mutex<HashMap<String, mpsc::UnboundedSender<String>>>,
}

/// Serves a mock on a loopback port until the process ends.
pub async fn serve(mock: &'static Mock, port: u16) -> io::Result<()> {
    let mut model = Model::default();
    (mock.setup)(&mut model);
    let old = matches!(mock.manner, Manner::OldSse | Manner::ForeignEndpoint);
    model.modern &= !old;
    let strict = model.modern;
    let react = Box::new(move |message: &Json| (mock.react)(&mut model, message));
    serve_with(mock.manner, strict, react, port).await
}

/// The same with any source of answers; announces the address on the error
/// output.
pub async fn serve_with(manner: Manner, strict: bool, react: React, port: u16) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let port = listener.local_addr()?.port();
    let path = match manner {
        Manner::OldSse | Manner::ForeignEndpoint => "/sse",
        _ => "/mcp",
    };
    eprintln!("listening on http://127.0.0.1:{port}{path}");
    let shared = Arc::new(Shared {
        manner,
        react: Mutex::new(react),
        strict,
        turns: AtomicU64::new(0),
        streams: Mutex::default(),
    });
    loop {
        let (stream, _) = listener.accept().await?;
        let shared = shared.clone();
        tokio::spawn(async move {
            // A client that goes away is no event.
            let _ = converse(stream, &shared).await;
        });
    }
}

impl Shared {
    fn react(&self, message: &Json) -> Vec<Act> {
        let mut react = self.react.lock().unwrap_or_else(PoisonError::into_inner);
        react(message)
    }
}

struct Answer {
    status: &'static str,
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl Answer {
    fn empty(status: &'static str) -> Answer {
        Answer { status, headers: Vec::new(), body: Bytes::new() }
    }

    fn json(status: &'static str, body: &Json) -> Answer {
        Answer {
            status,
            headers: vec![("Content-Type".into(), "application/json".into())],
            body: body.to_string().into(),
        }
    }

    fn header(mut self, name: &str, value: &str) -> Answer {
        self.headers.push((name.into(), value.into()));
        self
    }
}

async fn converse(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut parser = Parser::new(Role::Request);
    let mut buffer = vec![0; 64 << 10];
    let mut head: Option<Head> = None;
    let mut body = Vec::new();
    loop {
        match parser.next().map_err(io::Error::other)? {
            Some(Event::Head(next)) => {
                if next.header("expect").is_some() {
                    stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
                }
                head = Some(next);
            }
            Some(Event::Body(part)) if body.len() + part.len() <= LONGEST_BODY => {
                body.extend_from_slice(&part)
            }
            Some(Event::Body(_)) => {
                return write_answer(&mut stream, Answer::empty("413 Content Too Large")).await;
            }
            Some(Event::End) => {
                let head = head.take().unwrap_or_default();
                let close = head
                    .header("connection")
                    .is_some_and(|value| value.eq_ignore_ascii_case("close"));
                let ended = handle(&mut stream, shared, &head, &std::mem::take(&mut body)).await?;
                if close || ended {
                    return Ok(());
                }
            }
            None => match stream.read(&mut buffer).await? {
                0 => return Ok(()),
                count => {
                    if shared.manner == Manner::NotHttp {
                        return stream.write_all(b"220 mail.example ESMTP ready\r\n").await;
                    }
                    parser.feed(&buffer[..count]);
                }
            },
        }
    }
}

async fn write_answer(stream: &mut TcpStream, answer: Answer) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {}\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", answer.body.len()));
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&answer.body).await?;
    stream.flush().await
}

/// Answers one request; true when the connection must end.
async fn handle(
    stream: &mut TcpStream,
    shared: &Shared,
    head: &Head,
    body: &[u8],
) -> io::Result<bool> {
    let (method, path) = head.request().unwrap_or(("", ""));
    let plain = path.split('?').next().unwrap_or_default();
    if shared.manner == Manner::Mute {
        tokio::time::sleep(Duration::from_secs(3600)).await;
    }
    if let Some(answer) = refuse(shared, head, method, plain) {
        write_answer(stream, answer).await?;
        return Ok(false);
    }
    if matches!(shared.manner, Manner::OldSse | Manner::ForeignEndpoint) {
        return match method {
            "GET" => old_stream(stream, shared).await.map(|()| true),
            _ => old_post(stream, shared, path, body).await.map(|()| false),
        };
    }
    post(stream, shared, head, body).await
}

fn refuse(shared: &Shared, head: &Head, method: &str, path: &str) -> Option<Answer> {
    let manner = shared.manner;
    let old = matches!(manner, Manner::OldSse | Manner::ForeignEndpoint);
    let here = match (manner, method) {
        (Manner::OtherPath, _) => path == "/api/mcp",
        (Manner::Redirects | Manner::Login | Manner::WebPage, _) => true,
        (Manner::Moved, _) => matches!(path, "/mcp" | "/mcp/"),
        (_, "POST") if old => path == "/messages" || path == "/sse",
        _ if old => path == "/sse",
        _ => path == "/mcp",
    };
    if !here {
        return Some(Answer {
            headers: vec![("Content-Type".into(), "text/html".into())],
            body: "<h1>Not Found</h1>".into(),
            ..Answer::empty("404 Not Found")
        });
    }
    if manner == Manner::Redirects {
        let next = if path == "/a" { "/b" } else { "/a" };
        return Some(Answer::empty("307 Temporary Redirect").header("Location", next));
    }
    if manner == Manner::Moved && path == "/mcp" {
        return Some(Answer::empty("301 Moved Permanently").header("Location", "/mcp/"));
    }
    if manner == Manner::Login {
        return Some(Answer::empty("302 Found").header("Location", "/login?next=/mcp"));
    }
    if manner == Manner::WebPage {
        return Some(Answer {
            body: "<!doctype html><title>My app</title>".into(),
            ..Answer::empty("200 OK").header("Content-Type", "text/html")
        });
    }
    if old && path == "/sse" && method != "GET" {
        return Some(Answer::empty("405 Method Not Allowed").header("Allow", "GET"));
    }
    if manner != Manner::Careless && !is_local(head.header("origin"), head.header("host")) {
        return Some(Answer::empty("403 Forbidden"));
    }
    if manner == Manner::Auth && head.header("authorization") != Some("Bearer open-sesame") {
        let challenge = "Bearer realm=\"mock\", resource_metadata=\"http://127.0.0.1/.well-known/oauth-protected-resource\"";
        return Some(
            Answer::json("401 Unauthorized", &error(Json::Null, -32001, "Unauthorized", None))
                .header("WWW-Authenticate", challenge),
        );
    }
    if manner == Manner::StrictAccept {
        let accept = head.header("accept").unwrap_or_default();
        if !accept.contains("application/json") || !accept.contains("text/event-stream") {
            let text =
                "Not Acceptable: Client must accept both application/json and text/event-stream";
            return Some(Answer::json(
                "406 Not Acceptable",
                &error(Json::Null, -32000, text, None),
            ));
        }
    }
    match method {
        "POST" => None,
        "GET" if old => None,
        "DELETE" if manner == Manner::Sessions => Some(Answer::empty("200 OK")),
        _ => Some(Answer::empty("405 Method Not Allowed").header("Allow", "POST")),
    }
}

/// Whether names of this machine stand in the headers that browsers set.
fn is_local(origin: Option<&str>, host: Option<&str>) -> bool {
    let local = |text: &str| {
        let name = text.rsplit("://").next().unwrap_or_default();
        let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
        matches!(name, "localhost" | "127.0.0.1" | "[::1]")
    };
    origin.is_none_or(local) && host.is_none_or(local)
}

async fn post(
    stream: &mut TcpStream,
    shared: &Shared,
    head: &Head,
    body: &[u8],
) -> io::Result<bool> {
    let Ok(message) = json::parse(body) else {
        write_answer(
            stream,
            Answer::json("400 Bad Request", &error(Json::Null, -32700, "Parse error", None)),
        )
        .await?;
        return Ok(false);
    };
    if let Some(answer) = check_headers(shared, head, &message) {
        write_answer(stream, answer).await?;
        return Ok(false);
    }
    let acts = shared.react(&message);
    let session = (matches!(shared.manner, Manner::Sessions | Manner::Workers)
        && message.text_at("method") == Some("initialize"))
    .then_some("mock-session-1");
    if message.get("id").is_none() && acts.is_empty() {
        write_answer(stream, Answer::empty("202 Accepted")).await?;
        return Ok(false);
    }
    respond(stream, shared, acts, session).await
}

/// Metadata and headers must agree, and sessions be named.
fn check_headers(shared: &Shared, head: &Head, message: &Json) -> Option<Answer> {
    let id = message.get("id").cloned().unwrap_or_default();
    let method = message.text_at("method").unwrap_or_default();
    if shared.manner == Manner::Workers && method != "initialize" && message.get("id").is_some() {
        let turn = shared.turns.fetch_add(1, Ordering::Relaxed);
        let text = "Bad Request: No valid session ID provided";
        return (turn % 2 == 1)
            .then(|| Answer::json("400 Bad Request", &error(Json::Null, -32000, text, None)));
    }
    if shared.manner == Manner::Sessions && method != "initialize" {
        let modern = message.at("params/_meta").is_some();
        if !modern && id != Json::Null && head.header("mcp-session-id") != Some("mock-session-1") {
            return Some(Answer::json(
                "400 Bad Request",
                &error(id, -32000, "Bad Request: Mcp-Session-Id is missing", None),
            ));
        }
    }
    let version =
        message.at("params/_meta")?.get("io.modelcontextprotocol/protocolVersion")?.as_str()?;
    let mismatch =
        |text: &str| Some(Answer::json("400 Bad Request", &error(id.clone(), -32020, text, None)));
    if !shared.strict {
        return None;
    }
    if head.header("mcp-protocol-version") != Some(version) {
        return mismatch("Header MCP-Protocol-Version does not match the metadata");
    }
    if version != MODERN {
        let data = obj! { "supported": vec![MODERN], "requested": version };
        return Some(Answer::json(
            "400 Bad Request",
            &error(id, -32022, "Unsupported protocol version", Some(data)),
        ));
    }
    if head.header("mcp-method") != Some(method) {
        return mismatch("Header Mcp-Method does not match the method");
    }
    None
}

async fn respond(
    stream: &mut TcpStream,
    shared: &Shared,
    acts: Vec<Act>,
    session: Option<&str>,
) -> io::Result<bool> {
    let manner = shared.manner;
    if manner == Manner::Endless {
        return endless(stream).await.map(|()| true);
    }
    let sends = acts.iter().filter(|act| matches!(act, Act::Send(_))).count();
    if sends > 1
        || matches!(manner, Manner::Events | Manner::UnfinishedEvent)
        || acts.iter().any(|act| matches!(act, Act::Forever(_)))
    {
        return events(stream, manner, acts, session).await.map(|()| true);
    }
    let mut body = Bytes::new();
    for act in acts {
        match act {
            Act::Send(message) => body = message.to_string().into(),
            Act::Raw(bytes) => body = bytes,
            Act::Stderr(text) => eprintln!("{text}"),
            Act::Sleep(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
            Act::Hang => tokio::time::sleep(Duration::from_secs(3600)).await,
            Act::Exit(_) => return cut_off(stream, &body).await.map(|()| true),
            Act::Forever(_) => {}
        }
    }
    if manner == Manner::ShortBody {
        return cut_off(stream, &body[..body.len() / 2]).await.map(|()| true);
    }
    let status = if body.is_empty() { "202 Accepted" } else { status_of(&body) };
    let kind = match manner {
        Manner::CalledEvents => "text/event-stream",
        _ => "application/json",
    };
    let mut answer = Answer { status, headers: vec![("Content-Type".into(), kind.into())], body };
    match manner {
        Manner::NoType => answer.headers.clear(),
        Manner::Packed => answer = pack(answer),
        _ => {}
    }
    if let Some(session) = session {
        answer = answer.header("Mcp-Session-Id", session);
    }
    write_answer(stream, answer).await?;
    Ok(false)
}

/// The same in the format of gzip, without its checksum, which nobody looks at.
fn pack(answer: Answer) -> Answer {
    let mut body = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    body.extend(miniz_oxide::deflate::compress_to_vec(&answer.body, 6));
    body.extend([0; 8]);
    Answer { body: body.into(), ..answer }.header("Content-Encoding", "gzip")
}

fn status_of(body: &Bytes) -> &'static str {
    let code =
        json::parse(body).ok().and_then(|answer| answer.at("error/code").and_then(Json::as_i64));
    match code {
        Some(-32601) => "404 Not Found",
        Some(-32022 | -32700 | -32600) => "400 Bad Request",
        _ => "200 OK",
    }
}

/// Half an answer, then the end.
async fn cut_off(stream: &mut TcpStream, body: &[u8]) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len() * 2 + 10
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.shutdown().await
}

const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nConnection: close\r\n";

async fn events(
    stream: &mut TcpStream,
    manner: Manner,
    acts: Vec<Act>,
    session: Option<&str>,
) -> io::Result<()> {
    let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
    stream.write_all(format!("{EVENTS}{session}\r\n").as_bytes()).await?;
    // An empty event first, as some servers send to make resuming possible.
    stream.write_all(b": hello\n\ndata:\n\n").await?;
    for act in acts {
        match act {
            Act::Send(message) if manner == Manner::UnfinishedEvent => {
                stream.write_all(format!("event: message\ndata: {message}\n").as_bytes()).await?;
                stream.flush().await?;
                tokio::time::sleep(Duration::from_secs(3600)).await;
            }
            Act::Send(message) => {
                stream.write_all(format!("event: message\ndata: {message}\n\n").as_bytes()).await?
            }
            Act::Raw(bytes) => {
                stream.write_all(b"data: ").await?;
                stream.write_all(&bytes).await?;
                stream.write_all(b"\n\n").await?;
            }
            Act::Forever(bytes) => loop {
                stream.write_all(b"data: ").await?;
                stream.write_all(bytes.trim_ascii_end()).await?;
                stream.write_all(b"\n\n").await?;
            },
            Act::Stderr(text) => eprintln!("{text}"),
            Act::Sleep(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
            Act::Hang => tokio::time::sleep(Duration::from_secs(3600)).await,
            Act::Exit(_) => return stream.shutdown().await,
        }
    }
    stream.flush().await?;
    stream.shutdown().await
}

async fn endless(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(format!("{EVENTS}\r\n").as_bytes()).await?;
    loop {
        stream.write_all(b": keep-alive\n\n").await?;
        stream.flush().await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn old_stream(stream: &mut TcpStream, shared: &Shared) -> io::Result<()> {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let session = {
        let mut streams = shared.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let session = format!("s{}", streams.len() + 1);
        streams.insert(session.clone(), sender);
        session
    };
    let endpoint = match shared.manner {
        Manner::ForeignEndpoint => "http://elsewhere.example/messages".to_string(),
        _ => format!("/messages?session={session}"),
    };
    stream
        .write_all(format!("{EVENTS}\r\nevent: endpoint\ndata: {endpoint}\n\n").as_bytes())
        .await?;
    loop {
        tokio::select! {
            message = receiver.recv() => {
                let Some(message) = message else { return Ok(()) };
                stream.write_all(format!("event: message\ndata: {message}\n\n").as_bytes()).await?;
            }
            () = tokio::time::sleep(Duration::from_secs(10)) => stream.write_all(b": keep-alive\n\n").await?,
        }
        stream.flush().await?;
    }
}

async fn old_post(
    stream: &mut TcpStream,
    shared: &Shared,
    path: &str,
    body: &[u8],
) -> io::Result<()> {
    let session =
        path.split_once("session=").map(|(_, session)| session.to_string()).unwrap_or_default();
    let sender =
        shared.streams.lock().unwrap_or_else(PoisonError::into_inner).get(&session).cloned();
    let (Some(sender), Ok(message)) = (sender, json::parse(body)) else {
        return write_answer(stream, Answer::empty("400 Bad Request")).await;
    };
    let acts = shared.react(&message);
    write_answer(stream, Answer::empty("202 Accepted")).await?;
    for act in acts {
        if let Act::Send(message) = act {
            let _ = sender.send(message.to_string());
        }
    }
    Ok(())
}
