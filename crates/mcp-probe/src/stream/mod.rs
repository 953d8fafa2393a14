//! Cutting a byte stream into messages, whatever else is in it: log lines, byte
//! order marks, colours, several messages on a line, a message over several
//! lines. Nothing is dropped: what is no message comes out as a side piece.

mod validator;

use bytes::{Buf, Bytes, BytesMut};
use memchr::{memchr, memmem};
pub use validator::{Step, Validator};

/// Longest piece of noise kept together.
const MAX_NOISE: usize = 1 << 20;

/// How practically every message starts.
const FRESH: &[u8] = b"{\"jsonrpc\"";

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Oddities of how a message was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quirks(u16);

impl Quirks {
    /// A byte order mark came first.
    pub const BOM: Quirks = Quirks(1);
    /// The line ended in CR LF.
    pub const CRLF: Quirks = Quirks(2);
    /// Terminal colour codes stood around the message.
    pub const ANSI: Quirks = Quirks(4);
    /// Another message stood on the same line.
    pub const SHARED_LINE: Quirks = Quirks(8);
    /// The message ran over several lines.
    pub const MANY_LINES: Quirks = Quirks(16);
    /// Other text stood before the message on its line.
    pub const PREFIXED: Quirks = Quirks(32);
    /// Headers with its length stood before the message, as LSP frames it.
    pub const FRAMED: Quirks = Quirks(64);
    /// No line feed came after the message.
    pub const UNENDED: Quirks = Quirks(128);

    /// Adds another oddity.
    pub fn add(&mut self, other: Quirks) {
        self.0 |= other.0;
    }

    /// Whether it has that oddity.
    pub fn has(self, other: Quirks) -> bool {
        self.0 & other.0 != 0
    }

    /// Short names, for reports.
    pub fn names(self) -> Vec<&'static str> {
        [
            (Quirks::BOM, "byte order mark"),
            (Quirks::CRLF, "CR LF line ends"),
            (Quirks::ANSI, "terminal colours"),
            (Quirks::SHARED_LINE, "several messages on a line"),
            (Quirks::MANY_LINES, "a message over several lines"),
            (Quirks::PREFIXED, "text before a message"),
            (Quirks::FRAMED, "Content-Length headers before a message"),
            (Quirks::UNENDED, "a message without a line end"),
        ]
        .into_iter()
        .filter_map(|(quirk, name)| self.has(quirk).then_some(name))
        .collect()
    }
}

/// What came out of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// The exact bytes of one JSON object or array.
    Message(Bytes, Quirks),
    /// Bytes that are no message, without their line end.
    Side(Bytes),
    /// A message longer than the limit: its first bytes. The rest is dropped.
    Oversize(Bytes),
}

#[derive(Debug, PartialEq, Eq)]
enum Mode {
    Start,
    Value,
    Noise,
    Drop,
}

/// The cutter. Feed it bytes, then take pieces until there are none.
#[derive(Debug)]
pub struct Splitter {
    buffer: BytesMut,
    mode: Mode,
    scanned: usize,
    line_start: usize,
    validator: Validator,
    quirks: Quirks,
    limit: usize,
    unended: bool,
    ready: std::collections::VecDeque<Piece>,
}

impl Splitter {
    /// A cutter that gives up on messages longer than `limit`.
    pub fn new(limit: usize) -> Self {
        Splitter {
            buffer: BytesMut::new(),
            mode: Mode::Start,
            scanned: 0,
            line_start: 0,
            validator: Validator::default(),
            quirks: Quirks::default(),
            limit,
            unended: false,
            ready: Default::default(),
        }
    }

    /// Whether the last message has no line end yet.
    pub fn is_unended(&self) -> bool {
        self.unended
    }

    /// Adds bytes from the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete piece, if there is one.
    pub fn next(&mut self) -> Option<Piece> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            let went_on = match self.mode {
                Mode::Start => self.start(),
                Mode::Value => self.value(),
                Mode::Noise => self.noise(),
                Mode::Drop => self.drop_rest(),
            };
            if !went_on && self.ready.is_empty() {
                return None;
            }
        }
    }

    /// What is left when the stream has ended: a message cut off, or noise.
    pub fn finish(&mut self) -> Option<Piece> {
        if let Some(piece) = self.next() {
            return Some(piece);
        }
        self.mode = Mode::Start;
        self.scanned = 0;
        let rest = self.buffer.split();
        self.loose_lines(rest);
        self.ready.pop_front()
    }

    fn start(&mut self) -> bool {
        let blanks = self.buffer.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r')).count();
        self.buffer.advance(blanks);
        if self.buffer.starts_with(BOM) {
            self.buffer.advance(BOM.len());
            self.quirks.add(Quirks::BOM);
            return true;
        }
        match self.buffer.first() {
            None => false,
            Some(b'\n') => {
                self.buffer.advance(1);
                self.unended = false;
                self.quirks = Quirks::default();
                true
            }
            Some(b'{' | b'[') => {
                self.begin_value();
                true
            }
            Some(0x1b) => match colour_code(&self.buffer) {
                Some(length) => {
                    self.buffer.advance(length);
                    self.quirks.add(Quirks::ANSI);
                    true
                }
                None if self.buffer.len() < 16 => false,
                None => self.begin_noise(),
            },
            Some(0xef) if BOM.starts_with(&self.buffer) => false,
            Some(_) => self.begin_noise(),
        }
    }

    fn begin_value(&mut self) {
        self.mode = Mode::Value;
        self.validator.reset();
        self.scanned = 0;
        self.line_start = 0;
    }

    fn begin_noise(&mut self) -> bool {
        self.mode = Mode::Noise;
        self.scanned = 0;
        true
    }

    /// Feeds the recogniser line by line, so that a fresh message on the next
    /// line can end one that was cut off.
    fn value(&mut self) -> bool {
        while self.scanned < self.buffer.len() {
            let rest = &self.buffer[self.scanned..];
            if self.scanned == self.line_start && self.scanned > 0 {
                if self.fresh_message(rest) {
                    return self.broken();
                }
                if FRESH.starts_with(rest) && self.validator.outermost() == Some(b'{') {
                    return false;
                }
            }
            let line = memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let step = self.validator.feed(&rest[..line]);
            match step {
                Step::Done(length) => {
                    let end = self.scanned + length;
                    return self.emit(end);
                }
                Step::Bad(_) => return self.broken(),
                Step::More => {
                    let ended = rest[line - 1] == b'\n';
                    self.scanned += line;
                    if ended {
                        self.line_start = self.scanned;
                    }
                }
            }
            if self.scanned > self.limit {
                let head = self.buffer.split_to(4096.min(self.buffer.len())).freeze();
                self.ready.push_back(Piece::Oversize(head));
                self.mode = Mode::Drop;
                return true;
            }
        }
        false
    }

    fn fresh_message(&self, rest: &[u8]) -> bool {
        self.validator.outermost() == Some(b'{') && rest.starts_with(FRESH)
    }

    fn emit(&mut self, end: usize) -> bool {
        if self.line_start > 0 {
            self.quirks.add(Quirks::MANY_LINES);
        }
        let message = self.buffer.split_to(end).freeze();
        if self.buffer.starts_with(b"\r\n") {
            self.quirks.add(Quirks::CRLF);
        }
        let quirks = self.quirks;
        self.unended = true;
        self.quirks = Quirks::SHARED_LINE;
        self.ready.push_back(Piece::Message(message, quirks));
        self.mode = Mode::Start;
        true
    }

    /// The text turned out to be no JSON. Whole lines before the current one are
    /// looked at one by one; the current line is read again, or is noise.
    fn broken(&mut self) -> bool {
        let lines = self.line_start;
        if lines == 0 {
            return self.begin_noise();
        }
        let lines = self.buffer.split_to(lines);
        self.loose_lines(lines);
        self.quirks = Quirks::default();
        self.mode = Mode::Start;
        true
    }

    fn loose_lines(&mut self, mut lines: BytesMut) {
        while !lines.is_empty() {
            let length = memchr(b'\n', &lines).map_or(lines.len(), |at| at + 1);
            let line = lines.split_to(length).freeze();
            self.loose_line(line);
        }
    }

    fn noise(&mut self) -> bool {
        let Some(at) = memchr(b'\n', &self.buffer[self.scanned..]) else {
            self.scanned = self.buffer.len();
            if self.scanned > MAX_NOISE {
                let part = self.buffer.split_to(MAX_NOISE).freeze();
                self.scanned = 0;
                self.ready.push_back(Piece::Side(part));
                return true;
            }
            return false;
        };
        let line = self.buffer.split_to(self.scanned + at + 1).freeze();
        self.scanned = 0;
        self.mode = Mode::Start;
        self.quirks = Quirks::default();
        self.loose_line(line);
        true
    }

    /// A line on its own: a message inside it is still found.
    fn loose_line(&mut self, line: Bytes) {
        let text = trim_end(&line);
        if let Some((start, end)) = embedded(&line[..text]) {
            if start > 0 {
                self.ready.push_back(Piece::Side(line.slice(..start)));
            }
            let quirks = if start > 0 { Quirks::PREFIXED } else { Quirks::default() };
            self.ready.push_back(Piece::Message(line.slice(start..end), quirks));
            if end < text {
                self.ready.push_back(Piece::Side(line.slice(end..text)));
            }
        } else if text > 0 {
            self.ready.push_back(Piece::Side(line.slice(..text)));
        }
    }

    fn drop_rest(&mut self) -> bool {
        match memchr(b'\n', &self.buffer) {
            Some(at) => {
                self.buffer.advance(at + 1);
                self.mode = Mode::Start;
                true
            }
            None => {
                self.buffer.clear();
                false
            }
        }
    }
}

fn trim_end(line: &[u8]) -> usize {
    line.len() - line.iter().rev().take_while(|b| matches!(b, b'\n' | b'\r' | b' ')).count()
}

/// A JSON-RPC object inside a line of text.
fn embedded(line: &[u8]) -> Option<(usize, usize)> {
    let name = memmem::find(line, b"\"jsonrpc\"")?;
    let starts = line[..name].iter().enumerate().filter(|(_, byte)| **byte == b'{');
    starts.map(|(at, _)| at).take(8).find_map(|start| {
        match Validator::default().feed(&line[start..]) {
            Step::Done(length) => Some((start, start + length)),
            _ => None,
        }
    })
}

fn colour_code(bytes: &[u8]) -> Option<usize> {
    if bytes.get(1) != Some(&b'[') {
        return None;
    }
    let length = bytes[2..].iter().take(12).position(|byte| (0x40..=0x7e).contains(byte))?;
    Some(length + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &[u8], step: usize) -> Vec<String> {
        let mut splitter = Splitter::new(1 << 20);
        let mut pieces = Vec::new();
        for part in text.chunks(step) {
            splitter.feed(part);
            while let Some(piece) = splitter.next() {
                pieces.push(piece);
            }
        }
        while let Some(piece) = splitter.finish() {
            pieces.push(piece);
        }
        pieces.iter().map(show).collect()
    }

    fn show(piece: &Piece) -> String {
        match piece {
            Piece::Message(bytes, _) => format!("M:{}", String::from_utf8_lossy(bytes)),
            Piece::Side(bytes) => format!("S:{}", String::from_utf8_lossy(bytes)),
            Piece::Oversize(_) => "O".into(),
        }
    }

    fn check(text: &str, expected: &[&str]) {
        for step in [1, 2, 3, 7, 4096] {
            assert_eq!(cut(text.as_bytes(), step), expected, "in steps of {step}");
        }
    }

    #[test]
    fn plain_lines() {
        check("{\"a\":1}\n{\"b\":2}\n", &["M:{\"a\":1}", "M:{\"b\":2}"]);
    }

    #[test]
    fn noise_around_messages() {
        check(
            "Starting...\n[INFO] ready\n{\"a\":1}\r\n\u{feff}{\"b\":2}\nbye",
            &["S:Starting...", "S:[INFO] ready", "M:{\"a\":1}", "M:{\"b\":2}", "S:bye"],
        );
    }

    #[test]
    fn colours_are_taken_off() {
        check("\u{1b}[32m{\"a\":1}\u{1b}[0m\n{\"b\":2}\n", &["M:{\"a\":1}", "M:{\"b\":2}"]);
    }

    #[test]
    fn many_on_a_line_and_one_over_many() {
        check("{\"a\":1}{\"b\":2} {\"c\":3}\n", &["M:{\"a\":1}", "M:{\"b\":2}", "M:{\"c\":3}"]);
        check("{\n  \"a\": [\n 1\n]}\n", &["M:{\n  \"a\": [\n 1\n]}"]);
    }

    #[test]
    fn a_message_inside_a_log_line() {
        check(
            "DEBUG send {\"jsonrpc\":\"2.0\"} done\n",
            &["S:DEBUG send ", "M:{\"jsonrpc\":\"2.0\"}", "S: done"],
        );
    }

    #[test]
    fn a_cut_message_does_not_swallow_the_next() {
        check(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"res\n{\"jsonrpc\":\"2.0\"}\n",
            &["S:{\"jsonrpc\":\"2.0\",\"id\":1,\"res", "M:{\"jsonrpc\":\"2.0\"}"],
        );
        check(
            "{\"jsonrpc\":\"2.0\",\"result\":\n{\"jsonrpc\":\"2.0\"}\n",
            &["S:{\"jsonrpc\":\"2.0\",\"result\":", "M:{\"jsonrpc\":\"2.0\"}"],
        );
    }

    #[test]
    fn broken_json_is_noise() {
        check("{not json}\n{\"a\":1}\n", &["S:{not json}", "M:{\"a\":1}"]);
    }

    #[test]
    fn length_is_limited_only_by_the_limit() {
        let long = format!("{{\"a\":\"{}\"}}\n{{\"b\":1}}\n", "x".repeat(2 << 20));
        assert_eq!(cut(long.as_bytes(), 65536), ["O", "M:{\"b\":1}"]);
        let mut splitter = Splitter::new(256 << 20);
        let text = "x".repeat(64 << 20);
        splitter.feed(b"{\"a\":\"");
        for part in text.as_bytes().chunks(1 << 16) {
            splitter.feed(part);
            assert_eq!(splitter.next(), None);
        }
        splitter.feed(b"\"}");
        let Some(Piece::Message(bytes, _)) = splitter.next() else { panic!("no message") };
        assert_eq!(bytes.len(), (64 << 20) + 8);
    }

    #[test]
    fn quirks_are_named() {
        let mut splitter = Splitter::new(1 << 20);
        splitter.feed("\u{feff}{\"a\":1}\r\n".as_bytes());
        let Some(Piece::Message(_, quirks)) = splitter.next() else { panic!("no message") };
        assert_eq!(quirks.names(), ["byte order mark", "CR LF line ends"]);
    }
}
