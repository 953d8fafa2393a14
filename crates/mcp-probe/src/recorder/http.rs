//! A reverse proxy in front of an HTTP or web socket server. Bytes go through as they come;
//! only the `Host` header is changed, and only when the server is on another
//! machine, which would otherwise not know its own name.

use super::tap::{Tap, Totals};
use crate::http::{Event, Parser, Role, Url, connect};
use crate::trail::{Channel, Side, Trail};
use bytes::{Bytes, BytesMut};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const CHUNK: usize = 256 << 10;

/// Listens until it is told to stop.
pub async fn proxy(
    url: &Url,
    port: u16,
    keep_host: bool,
    within: Duration,
    trail: Trail,
) -> Result<Totals, String> {
    let listener = TcpListener::bind(("127.0.0.1", port))
        .await
        .map_err(|error| format!("port {port}: {error}"))?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let scheme = if url.scheme.is_ws() { "ws" } else { "http" };
    eprintln!(
        "recording {scheme}://127.0.0.1:{port}{} -> {url}",
        crate::trail::redact::path(&url.path)
    );
    let tap = Tap::start(trail);
    let rewrite = !keep_host && !url.is_loopback();
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .map_err(|error| error.to_string())?;
    let mut talks = tokio::task::JoinSet::new();
    let mut conn = 0;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { continue };
                conn += 1;
                talks.spawn(talk(client, url.clone(), rewrite, within, conn, tap.clone()));
            }
            Some(_) = talks.join_next() => {}
            _ = tokio::signal::ctrl_c() => break,
            _ = terminate.recv() => break,
        }
    }
    talks.abort_all();
    while talks.join_next().await.is_some() {}
    let totals = tokio::task::spawn_blocking(move || tap.finish()).await;
    Ok(totals.unwrap_or_default())
}

async fn talk(client: TcpStream, url: Url, rewrite: bool, within: Duration, conn: u64, tap: Tap) {
    let _ = client.set_nodelay(true);
    let server = match connect(&url, within).await {
        Ok(server) => server,
        Err(error) => {
            tap.remark(format!("connection {conn}: {error}"));
            refuse(client, &error.to_string()).await;
            return;
        }
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = tokio::io::split(server);
    let host = rewrite.then(|| url.authority());
    let up = pump(from_client, to_server, host, conn, Side::Client, tap.clone());
    let down = pump(from_server, to_client, None, conn, Side::Server, tap.clone());
    tokio::join!(up, down);
}

async fn refuse(mut client: TcpStream, why: &str) {
    let body = format!("mcp-probe: {why}\n");
    let head = "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nConnection: close\r\n";
    let _ = client
        .write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
        .await;
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    host: Option<String>,
    conn: u64,
    side: Side,
    tap: Tap,
) {
    let mut rewriter = host.map(Rewriter::new);
    let mut buffer = BytesMut::with_capacity(CHUNK);
    loop {
        buffer.reserve(CHUNK);
        match from.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let mut chunk = buffer.split().freeze();
        if let Some(rewriter) = &mut rewriter {
            chunk = rewriter.pass(&chunk);
        }
        // Noted first, so that a request always stands before its answer.
        let copy = chunk.clone();
        tap.bytes_async(conn, side, Channel::Http, copy);
        if to.write_all(&chunk).await.is_err() || to.flush().await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
    tap.end(conn, side, Channel::Http);
}

/// Changes the `Host` header of each request and nothing else.
struct Rewriter {
    host: String,
    parser: Parser,
    raw: BytesMut,
    lost: bool,
}

impl Rewriter {
    fn new(host: String) -> Rewriter {
        Rewriter { host, parser: Parser::new(Role::Request), raw: BytesMut::new(), lost: false }
    }

    fn pass(&mut self, chunk: &Bytes) -> Bytes {
        if self.lost {
            return chunk.clone();
        }
        self.parser.feed(chunk);
        self.raw.extend_from_slice(chunk);
        let mut out = Vec::with_capacity(chunk.len() + 64);
        loop {
            let event = self.parser.next();
            let taken = self.raw.len() - self.parser.pending().len();
            let raw = self.raw.split_to(taken);
            match event {
                Ok(Some(Event::Head(head))) => {
                    self.head(&raw, &mut out);
                    // What follows is not HTTP, or a client that does not wait.
                    self.lost = head.upgrades_to_web_socket();
                    if self.lost {
                        out.extend_from_slice(&self.raw.split());
                        return out.into();
                    }
                }
                Ok(Some(_)) => out.extend_from_slice(&raw),
                Ok(None) => {
                    out.extend_from_slice(&raw);
                    return out.into();
                }
                Err(_) => {
                    self.lost = true;
                    out.extend_from_slice(&raw);
                    out.extend_from_slice(&self.raw.split());
                    return out.into();
                }
            }
        }
    }

    fn head(&self, raw: &[u8], out: &mut Vec<u8>) {
        for line in raw.split_inclusive(|byte| *byte == b'\n') {
            let is_host = line.get(..5).is_some_and(|name| name.eq_ignore_ascii_case(b"host:"));
            match is_host {
                true => out.extend_from_slice(format!("Host: {}\r\n", self.host).as_bytes()),
                false => out.extend_from_slice(line),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_socket_frames_pass() {
        let frames = b"A\x85aaaa12345Host: x\r\n\r\n";
        let head = b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: WebSocket\r\n\r\n";
        let mut rewriter = Rewriter::new("there".into());
        let out = rewriter.pass(&Bytes::from([&head[..], &frames[..3]].concat()));
        assert!(out.starts_with(b"GET / HTTP/1.1\r\nHost: there\r\n") && out.ends_with(b"A\x85a"));
        assert_eq!(rewriter.pass(&Bytes::copy_from_slice(&frames[3..])), frames[3..]);
    }

    #[test]
    fn only_the_host_changes() {
        let text = "POST /a HTTP/1.1\r\nhost: x:1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n";
        for step in [1, 5, 1000] {
            let mut rewriter = Rewriter::new("there.example".into());
            let mut out = Vec::new();
            for part in text.as_bytes().chunks(step) {
                out.extend_from_slice(&rewriter.pass(&Bytes::copy_from_slice(part)));
            }
            let expected = text
                .replace("host: x:1", "Host: there.example")
                .replace("Host: x\r", "Host: there.example\r");
            assert_eq!(String::from_utf8_lossy(&out), expected, "step {step}");
        }
    }
}
