//! HTTP/1.1 messages out of bytes, without any I/O: used by the client, by the
//! mock servers and, as a mere onlooker, by the recording proxy.

use bytes::{Buf, Bytes, BytesMut};
use memchr::{memchr, memmem};

const MAX_HEAD: usize = 256 << 10;

/// Start line and headers of a message.
#[derive(Debug, Clone, Default)]
pub struct Head {
    /// The first line.
    pub line: String,
    /// Headers in their order and spelling.
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.headers, name)
    }

    /// Status of a response.
    pub fn status(&self) -> Option<u16> {
        self.line.split(' ').nth(1)?.parse().ok()
    }

    /// Method and path of a request.
    pub fn request(&self) -> Option<(&str, &str)> {
        let mut parts = self.line.split(' ');
        Some((parts.next()?, parts.next()?))
    }

    /// Whether this asks for a web socket, or agrees to one.
    pub fn upgrades_to_web_socket(&self) -> bool {
        self.header("upgrade").is_some_and(|value| value.trim().eq_ignore_ascii_case("websocket"))
    }

    /// Media type without parameters, in lower case.
    pub fn media_type(&self) -> String {
        let value = self.header("content-type").unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }
}

/// The first header of that name, names being case-insensitive.
pub fn find_header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// What the parser found.
#[derive(Debug, Clone)]
pub enum Event {
    /// A head is complete.
    Head(Head),
    /// Bytes of the body, framing removed.
    Body(Bytes),
    /// The message is complete.
    End,
}

/// Which side of HTTP the parser reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Requests.
    Request,
    /// Responses.
    Response,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Length(u64),
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    Trailers,
    UntilClose,
    Tunnel,
    Finished,
}

/// The parser.
#[derive(Debug)]
pub struct Parser {
    role: Role,
    state: State,
    buffer: BytesMut,
    bodiless: bool,
}

impl Parser {
    /// A parser for one side.
    pub fn new(role: Role) -> Parser {
        Parser { role, state: State::Head, buffer: BytesMut::new(), bodiless: false }
    }

    /// The next response has no body: it answers HEAD.
    pub fn next_is_bodiless(&mut self) {
        self.bodiless = true;
    }

    /// Adds bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes not yet taken.
    pub fn pending(&self) -> &[u8] {
        &self.buffer
    }

    /// Takes them away: what follows is not HTTP.
    pub fn take_pending(&mut self) -> Bytes {
        self.buffer.split().freeze()
    }

    /// Whether the stream may end here without anything being cut off.
    pub fn may_end(&self) -> bool {
        match self.state {
            State::Head => self.buffer.is_empty(),
            State::UntilClose | State::Tunnel => true,
            _ => false,
        }
    }

    /// The next event; `Err` says why this is not HTTP.
    pub fn next(&mut self) -> Result<Option<Event>, String> {
        match self.state {
            State::Head => self.head(),
            State::Length(left) => Ok(self.take(left, State::Finished, State::Length)),
            State::Chunk(left) => Ok(self.take(left, State::ChunkEnd, State::Chunk)),
            State::ChunkSize => self.chunk_size(),
            State::ChunkEnd => {
                let Some(line) = self.line()? else {
                    return Ok(None);
                };
                if !line.is_empty() {
                    return Err("a chunk is longer than its size says".into());
                }
                self.state = State::ChunkSize;
                self.next()
            }
            State::Trailers => self.trailers(),
            State::UntilClose | State::Tunnel if self.buffer.is_empty() => Ok(None),
            State::UntilClose | State::Tunnel => {
                Ok(Some(Event::Body(self.buffer.split().freeze())))
            }
            State::Finished => {
                self.state = State::Head;
                Ok(Some(Event::End))
            }
        }
    }

    fn take(&mut self, left: u64, after: State, again: fn(u64) -> State) -> Option<Event> {
        if left == 0 {
            self.state = after;
            return match after {
                State::Finished => {
                    self.state = State::Head;
                    Some(Event::End)
                }
                _ => self.next().ok().flatten(),
            };
        }
        if self.buffer.is_empty() {
            return None;
        }
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len());
        let part = self.buffer.split_to(length).freeze();
        self.state = again(left - length as u64);
        Some(Event::Body(part))
    }

    fn line(&mut self) -> Result<Option<String>, String> {
        let Some(at) = memchr(b'\n', &self.buffer) else {
            return if self.buffer.len() > MAX_HEAD {
                Err("a line without end".into())
            } else {
                Ok(None)
            };
        };
        let line = self.buffer.split_to(at + 1);
        Ok(Some(String::from_utf8_lossy(&line).trim_end().to_string()))
    }

    fn chunk_size(&mut self) -> Result<Option<Event>, String> {
        let Some(line) = self.line()? else {
            return Ok(None);
        };
        let digits = line.split(';').next().unwrap_or_default().trim();
        let size =
            u64::from_str_radix(digits, 16).map_err(|_| format!("bad chunk size {line:?}"))?;
        self.state = if size == 0 { State::Trailers } else { State::Chunk(size) };
        self.next()
    }

    /// Lines after the last chunk are passed over, however many.
    fn trailers(&mut self) -> Result<Option<Event>, String> {
        while let Some(line) = self.line()? {
            if line.is_empty() {
                self.state = State::Head;
                return Ok(Some(Event::End));
            }
        }
        Ok(None)
    }

    fn head(&mut self) -> Result<Option<Event>, String> {
        // Empty lines before a message are to be ignored.
        while self.buffer.starts_with(b"\r\n") {
            self.buffer.advance(2);
        }
        let finder = |needle: &[u8]| memmem::find(&self.buffer, needle).map(|at| at + needle.len());
        let end = match (finder(b"\r\n\r\n"), finder(b"\n\n")) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let Some(end) = end else {
            if self.buffer.len() >= 5 && !self.plausible() {
                return Err("this is not HTTP".into());
            }
            if self.buffer.len() > MAX_HEAD {
                return Err("the headers do not end".into());
            }
            return Ok(None);
        };
        if !self.plausible() {
            return Err("this is not HTTP".into());
        }
        let raw = self.buffer.split_to(end);
        let head = read_head(&raw);
        self.state = self.body_state(&head)?;
        Ok(Some(Event::Head(head)))
    }

    fn plausible(&self) -> bool {
        match self.role {
            Role::Response => self.buffer.starts_with(b"HTTP/"),
            Role::Request => self.buffer.first().is_some_and(u8::is_ascii_uppercase),
        }
    }

    fn body_state(&mut self, head: &Head) -> Result<State, String> {
        let bodiless = std::mem::take(&mut self.bodiless);
        if self.role == Role::Response {
            let status = head.status().ok_or("a response without status")?;
            if status == 101 {
                return Ok(State::Tunnel);
            }
            if (100..200).contains(&status) {
                self.bodiless = bodiless;
                return Ok(State::Head);
            }
            if bodiless || status == 204 || status == 304 {
                return Ok(State::Finished);
            }
        }
        let chunked = head
            .header("transfer-encoding")
            .is_some_and(|v| v.to_ascii_lowercase().contains("chunked"));
        if chunked {
            return Ok(State::ChunkSize);
        }
        match head.header("content-length") {
            Some(length) => {
                let length =
                    length.trim().parse().map_err(|_| format!("bad content length {length:?}"))?;
                Ok(State::Length(length))
            }
            None if self.role == Role::Request => Ok(State::Finished),
            None => Ok(State::UntilClose),
        }
    }
}

fn read_head(raw: &[u8]) -> Head {
    let text = String::from_utf8_lossy(raw).into_owned();
    let mut lines = text.lines();
    let line = lines.next().unwrap_or_default().to_string();
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_string(), value.trim().to_string()))
        .collect();
    Head { line, headers }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(role: Role, text: &str, step: usize) -> Vec<String> {
        let mut parser = Parser::new(role);
        let mut found: Vec<String> = Vec::new();
        for part in text.as_bytes().chunks(step) {
            parser.feed(part);
            while let Some(event) = parser.next().unwrap() {
                match event {
                    Event::Head(head) => found.push(head.line),
                    Event::End => found.push("end".into()),
                    Event::Body(part) => {
                        let part = String::from_utf8_lossy(&part).into_owned();
                        match found.last_mut() {
                            Some(last) if last.starts_with("body ") => last.push_str(&part),
                            _ => found.push(format!("body {part}")),
                        }
                    }
                }
            }
        }
        found
    }

    #[test]
    fn framings() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\
            HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: 1\r\n\r\n\
            HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\nrest";
        for step in [1, 3, 1000] {
            let found = events(Role::Response, text, step);
            assert_eq!(
                found,
                [
                    "HTTP/1.1 100 Continue",
                    "HTTP/1.1 200 OK",
                    "body abc",
                    "end",
                    "HTTP/1.1 200 OK",
                    "body abc",
                    "end",
                    "HTTP/1.1 204 No Content",
                    "end",
                    "HTTP/1.1 200 OK",
                    "body rest"
                ]
            );
        }
    }

    #[test]
    fn requests_in_a_row() {
        let text = "GET / HTTP/1.1\r\n\r\nPOST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";
        let found = events(Role::Request, text, 5);
        assert_eq!(found, ["GET / HTTP/1.1", "end", "POST /a HTTP/1.1", "body {}", "end"]);
    }

    #[test]
    fn many_trailers_need_no_stack() {
        let mut text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n".to_vec();
        text.extend(b"a: b\r\n".repeat(1 << 20));
        text.extend_from_slice(b"\r\n");
        let mut parser = Parser::new(Role::Response);
        parser.feed(&text);
        assert!(matches!(parser.next(), Ok(Some(Event::Head(_)))));
        assert!(matches!(parser.next(), Ok(Some(Event::End))));
        assert!(parser.pending().is_empty());
    }

    #[test]
    fn what_is_not_http_says_so() {
        let mut parser = Parser::new(Role::Response);
        parser.feed(b"SSH-2.0-x\r\n");
        assert!(parser.next().is_err());
        let mut parser = Parser::new(Role::Response);
        parser.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
        assert!(parser.next().unwrap().is_some());
        assert!(parser.next().is_err());
    }
}
