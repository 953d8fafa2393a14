//! Raw bytes over TCP: one HTTP answer, and WebSocket frames as they are.

use crate::world::split;
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);

/// The headers of a handshake that succeeds.
pub const UPGRADE: &str = "Host: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[derive(Debug, PartialEq)]
pub struct Frame {
    pub opcode: u8,
    pub payload: Vec<u8>,
}

impl Frame {
    pub fn json(&self) -> Value {
        assert_eq!(self.opcode, 1, "text, not {self:?}");
        serde_json::from_slice(&self.payload).expect("JSON")
    }

    /// Code and reason of a close frame.
    pub fn close(&self) -> (u16, String) {
        assert_eq!(self.opcode, 8, "a close, not {:?}", String::from_utf8_lossy(&self.payload));
        let code = u16::from_be_bytes([self.payload[0], self.payload[1]]);
        (code, String::from_utf8(self.payload[2..].to_vec()).expect("text"))
    }
}

pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (left, right) = line.split_once(':')?;
            left.eq_ignore_ascii_case(name).then(|| right.trim())
        })
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {:?}", self.body))
    }
}

pub struct Socket {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Socket {
    pub fn connect(url: &str) -> Socket {
        let stream = TcpStream::connect(split(url).0).expect("it listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        Socket { stream, buffer: Vec::new() }
    }

    /// A WebSocket whose ready notification was read.
    pub fn open(url: &str) -> Socket {
        let mut socket = Socket::connect(url);
        let reply = socket.upgrade(split(url).1, "");
        assert_eq!(reply.status, 101, "{}", reply.body);
        assert_eq!(socket.frame().json()["method"], "ghidra.ready");
        socket
    }

    /// Sends a handshake with further headers and reads its answer.
    pub fn upgrade(&mut self, target: &str, extra: &str) -> Reply {
        self.send(format!("GET {target} HTTP/1.1\r\n{UPGRADE}{extra}\r\n").as_bytes());
        self.reply()
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("it takes bytes");
    }

    pub fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    pub fn end_sending(&self) {
        // It may be closed already.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Reads more; false at the end.
    fn fill(&mut self) -> bool {
        let mut chunk = [0; 4096];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return false,
                Ok(count) => {
                    self.buffer.extend_from_slice(&chunk[..count]);
                    return true;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return false,
                Err(error) => panic!("no answer in {LIMIT:?}: {error}"),
            }
        }
    }

    /// Whether the peer closed without saying anything more.
    pub fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && !self.fill()
    }

    /// One HTTP answer.
    pub fn reply(&mut self) -> Reply {
        let mut reply = self.head_reply();
        let length = reply.header("content-length").map_or(0, |n| n.parse().expect("a number"));
        while self.buffer.len() < length {
            assert!(self.fill(), "the body is short");
        }
        reply.body = String::from_utf8(self.buffer.drain(..length).collect()).expect("text");
        reply
    }

    /// The head of an HTTP answer.
    pub fn head_reply(&mut self) -> Reply {
        let end = loop {
            if let Some(end) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                break end;
            }
            assert!(self.fill(), "no answer: {:?}", String::from_utf8_lossy(&self.buffer));
        };
        let head = String::from_utf8(self.buffer[..end].to_vec()).expect("text");
        self.buffer.drain(..end + 4);
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        Reply { status, head, body: String::new() }
    }

    /// Sends a masked frame; `first` holds the flags and the opcode.
    pub fn send_frame(&mut self, first: u8, payload: &[u8]) {
        self.send(&frame(first, payload));
    }

    pub fn send_text(&mut self, text: &str) {
        self.send_frame(0x81, text.as_bytes());
    }

    /// One frame from the server, which never masks and never fragments.
    pub fn frame(&mut self) -> Frame {
        self.try_frame().expect("a frame")
    }

    pub fn try_frame(&mut self) -> Option<Frame> {
        while self.buffer.len() < 2 {
            if !self.fill() {
                return None;
            }
        }
        assert_eq!(self.buffer[0] & 0xf0, 0x80, "whole and without extensions");
        assert_eq!(self.buffer[1] & 0x80, 0, "unmasked");
        let opcode = self.buffer[0] & 0x0f;
        let extra = match self.buffer[1] {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        while self.buffer.len() < 2 + extra {
            assert!(self.fill(), "half a frame");
        }
        let length = match extra {
            0 => usize::from(self.buffer[1]),
            _ => self.buffer[2..2 + extra].iter().fold(0, |n, byte| n << 8 | usize::from(*byte)),
        };
        while self.buffer.len() < 2 + extra + length {
            assert!(self.fill(), "half a frame");
        }
        let payload = self.buffer[2 + extra..2 + extra + length].to_vec();
        self.buffer.drain(..2 + extra + length);
        Some(Frame { opcode, payload })
    }
}

/// A masked frame as bytes.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [0xa1, 0x5b, 0x00, 0xff];
    let mut out = vec![first];
    match payload.len() {
        short @ ..126 => out.push(0x80 | short as u8),
        medium @ ..65_536 => {
            out.push(0x80 | 126);
            out.extend_from_slice(&(medium as u16).to_be_bytes());
        }
        long => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&MASK);
    out.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, key)| byte ^ key));
    out
}
