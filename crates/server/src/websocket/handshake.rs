//! The upgrade request of a WebSocket client: bounded reading and the checks
//! in their fixed order, of which the first that fails is the answer.

use crate::auth::{self, Token};
use crate::origin;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, BytesMut};
use sha1::{Digest, Sha1};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

const LONGEST_HEAD: usize = 16 << 10;

/// What the checks need to know about our side.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub host: String,
    pub path: String,
    pub token: Option<Token>,
}

/// An HTTP status that turns a client away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub status: u16,
    pub why: &'static str,
}

const fn refusal(status: u16, why: &'static str) -> Refusal {
    Refusal { status, why }
}

/// Another client is being served.
pub(crate) const BUSY: Refusal = refusal(409, "Another client is already connected.");

impl Refusal {
    /// The whole HTTP answer.
    pub fn to_bytes(self) -> Vec<u8> {
        let (name, extra) = match self.status {
            401 => ("Unauthorized", ""),
            403 => ("Forbidden", ""),
            404 => ("Not Found", ""),
            405 => ("Method Not Allowed", "Allow: GET\r\n"),
            409 => ("Conflict", ""),
            _ => ("Bad Request", ""),
        };
        format!(
            "HTTP/1.1 {} {name}\r\n{extra}Content-Type: text/plain; charset=utf-8\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{}",
            self.status,
            self.why.len(),
            self.why
        )
        .into_bytes()
    }
}

/// The head of a request: its first line and its headers, still as bytes.
#[derive(Debug)]
pub(crate) struct Head(Vec<u8>);

/// Reads up to the empty line. What the client sent after it stays in the
/// buffer. `None` when the client left first.
pub(crate) async fn read_head(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
) -> io::Result<Option<Result<Head, Refusal>>> {
    let mut searched = 0usize;
    loop {
        let from = searched.saturating_sub(3);
        let end = buffer[from..].windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end.map(|end| from + end) {
            let head = buffer.split_to(end).to_vec();
            buffer.advance(4);
            return Ok(Some(Ok(Head(head))));
        }
        if buffer.len() > LONGEST_HEAD {
            return Ok(Some(Err(refusal(400, "The request head is longer than 16 KiB."))));
        }
        searched = buffer.len();
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

impl Head {
    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'\n').map(|line| line.trim_ascii())
    }

    fn values<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a [u8]> {
        let lines: Vec<&[u8]> = self.lines().skip(1).collect();
        lines.into_iter().filter_map(move |line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (left, right) = line.split_at(colon);
            left.eq_ignore_ascii_case(name.as_bytes()).then(|| right[1..].trim_ascii())
        })
    }

    /// The last value sent under a name.
    fn value<'a>(&'a self, name: &'a str) -> &'a [u8] {
        self.values(name).next_back().unwrap_or_default()
    }
}

/// Runs the checks. On success gives the answer that opens the socket.
pub(crate) fn check(head: &Head, door: &Door) -> Result<Vec<u8>, Refusal> {
    let line = head.lines().next().unwrap_or_default();
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(refusal(400, "The request line needs a method and a path."));
    };
    if method != b"GET" {
        return Err(refusal(405, "A WebSocket is opened with GET."));
    }
    let question = target.iter().position(|byte| *byte == b'?').unwrap_or(target.len());
    let (path, query) = target.split_at(question);
    if path != door.path.as_bytes() {
        return Err(refusal(404, "There is no WebSocket at this path."));
    }
    if !head.value("Upgrade").eq_ignore_ascii_case(b"websocket") {
        return Err(refusal(400, "The header Upgrade must say websocket."));
    }
    let connection = head.value("Connection").to_ascii_lowercase();
    if !connection.windows(7).any(|window| window == b"upgrade") {
        return Err(refusal(400, "The header Connection must say Upgrade."));
    }
    if head.value("Sec-WebSocket-Version") != b"13" {
        return Err(refusal(400, "The header Sec-WebSocket-Version must say 13."));
    }
    let key = head.value("Sec-WebSocket-Key");
    if key.is_empty() {
        return Err(refusal(400, "The header Sec-WebSocket-Key is missing."));
    }
    let query = String::from_utf8_lossy(query.get(1..).unwrap_or_default());
    if auth::query_has_token(&query) {
        return Err(refusal(400, "Send the token in the Authorization header, not in the query."));
    }
    if !origin::admits(&door.host, head.values("Origin")) {
        return Err(refusal(403, "Pages of this origin may not connect."));
    }
    if !auth::admits(door.token.as_ref(), head.values("Authorization")) {
        return Err(refusal(401, "Send the bearer token in the Authorization header."));
    }
    Ok(opening(key))
}

fn opening(key: &[u8]) -> Vec<u8> {
    let mut hash = Sha1::new();
    hash.update(key);
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\n\r\n",
        STANDARD.encode(hash.finalize())
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(token: Option<&str>) -> Door {
        Door { host: "127.0.0.1".into(), path: "/ws/agent".into(), token: token.map(Token::new) }
    }

    const GOOD: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";

    fn status(line: &str, headers: &str, token: Option<&str>) -> u16 {
        let head = Head(format!("{line}\r\n{headers}").into_bytes());
        check(&head, &door(token)).map_or_else(|refusal| refusal.status, |_| 101)
    }

    #[test]
    fn the_first_failing_check_answers() {
        let get = "GET /ws/agent HTTP/1.1";
        let rows: &[(&str, &str, u16)] = &[
            (get, GOOD, 101),
            ("GET /ws/agent", GOOD, 101),
            ("GET /ws/agent?x=1 HTTP/1.1", GOOD, 101),
            ("", GOOD, 400),
            ("GET", "", 400),
            ("get /ws/agent HTTP/1.1", GOOD, 405),
            ("POST /wrong HTTP/1.1", "", 405),
            ("GET /wrong?token=x HTTP/1.1", "", 404),
            ("GET /ws/agent/ HTTP/1.1", GOOD, 404),
            ("GET /ws%2Fagent HTTP/1.1", GOOD, 404),
            ("GET http://h/ws/agent HTTP/1.1", GOOD, 404),
            (get, "", 400),
            (get, "Upgrade: h2c\r\nConnection: Upgrade", 400),
            ("GET /ws/agent?token=x HTTP/1.1", GOOD, 400),
            ("GET /ws/agent?%74oken HTTP/1.1", GOOD, 400),
        ];
        for (line, headers, expected) in rows {
            assert_eq!(status(line, headers, None), *expected, "{line} {headers}");
        }
        let drop = |name: &str| {
            let kept: Vec<&str> = GOOD.split("\r\n").filter(|l| !l.starts_with(name)).collect();
            status(get, &kept.join("\r\n"), None)
        };
        for name in ["Upgrade", "Connection", "Sec-WebSocket-Version", "Sec-WebSocket-Key"] {
            assert_eq!(drop(name), 400, "{name}");
        }
        let swap = |from: &str, to: &str| status(get, &GOOD.replace(from, to), None);
        assert_eq!(swap("n: Upgrade", "n: keep-alive, UPGRADE"), 101);
        assert_eq!(swap("Upgrade: websocket", "uPGRADE: WebSocket"), 101);
        assert_eq!(swap("n: Upgrade", "n: close"), 400);
        assert_eq!(swap("n: 13", "n: 8"), 400);
        assert_eq!(swap("dGhlIHNhbXBsZSBub25jZQ==", "  "), 400);
        assert_eq!(swap("n: 13", "n: 8\r\nSec-WebSocket-Version: 13"), 101);
    }

    #[test]
    fn origins_and_tokens() {
        let get = "GET /ws/agent HTTP/1.1";
        let with = |extra: &str| format!("{GOOD}\r\n{extra}");
        let rows = [
            ("Origin: http://localhost:3000", None, 101),
            ("Origin: http://evil.example", None, 403),
            ("Origin: null", None, 403),
            ("Authorization: Bearer s", Some("s"), 101),
            ("Authorization: Bearer t", Some("s"), 401),
            ("", Some("s"), 401),
            // Origin comes before the token, the query before both.
            ("Origin: http://evil.example", Some("s"), 403),
        ];
        for (extra, token, expected) in rows {
            assert_eq!(status(get, &with(extra), token), expected, "{extra}");
        }
        let query = "GET /ws/agent?token=s HTTP/1.1";
        assert_eq!(status(query, &with("Origin: null"), Some("s")), 400);
    }

    #[test]
    fn the_accept_header_is_the_one_of_the_standard() {
        let answer = String::from_utf8(opening(b"dGhlIHNhbXBsZSBub25jZQ==")).expect("text");
        assert!(answer.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    }

    #[tokio::test]
    async fn heads_are_bounded() {
        let read = async |bytes: Vec<u8>| {
            let mut buffer = BytesMut::new();
            let head = read_head(&mut &bytes[..], &mut buffer).await.expect("memory");
            (head.map(|head| head.map(|head| head.0)), buffer)
        };
        let (head, rest) = read(b"GET / HTTP/1.1\r\nA: b\r\n\r\nrest".to_vec()).await;
        assert_eq!(head, Some(Ok(b"GET / HTTP/1.1\r\nA: b".to_vec())));
        assert_eq!(&rest[..], b"rest");
        let (head, _) = read(b"GET / HTTP/1.1\r\nA: b\r\n".to_vec()).await;
        assert_eq!(head, None, "the client left");
        let (head, _) = read(vec![b'x'; 1 << 20]).await;
        assert_eq!(head.map(|head| head.map_err(|refusal| refusal.status)), Some(Err(400)));
    }
}
