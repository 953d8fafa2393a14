//! Event streams: bytes in, events out.

use memchr::memchr2;

/// Longest line and longest event that is kept.
const MAX_EVENT: usize = 256 << 20;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field.
    pub name: Option<String>,
    /// The `data` fields, joined by line feeds.
    pub data: Option<Vec<u8>>,
    /// The `id` field.
    pub id: Option<String>,
    /// The `retry` field, in milliseconds.
    pub retry: Option<u64>,
}

/// What the parser found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseItem {
    /// A complete event.
    Event(SseEvent),
    /// A comment line, often a keep-alive.
    Comment,
}

/// The parser.
#[derive(Debug, Default)]
pub struct SseParser {
    line: Vec<u8>,
    after_cr: bool,
    event: SseEvent,
    touched: bool,
    ready: std::collections::VecDeque<SseItem>,
}

impl SseParser {
    /// Adds bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            match memchr2(b'\r', b'\n', bytes) {
                Some(at) => {
                    self.line.extend_from_slice(&bytes[..at]);
                    self.after_cr = bytes[at] == b'\r';
                    bytes = &bytes[at + 1..];
                    let line = std::mem::take(&mut self.line);
                    self.take_line(&line);
                }
                None => {
                    if self.line.len() + bytes.len() <= MAX_EVENT {
                        self.line.extend_from_slice(bytes);
                    }
                    return;
                }
            }
        }
    }

    /// The next item.
    pub fn next(&mut self) -> Option<SseItem> {
        self.ready.pop_front()
    }

    /// What an event that was never ended by an empty line holds so far.
    pub fn unfinished(&self) -> Option<Vec<u8>> {
        let mut data = self.event.data.clone();
        if let Some(value) = self.line.strip_prefix(b"data:") {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            data.get_or_insert_default().extend_from_slice(value);
        }
        data.filter(|data| !data.is_empty())
    }

    fn take_line(&mut self, line: &[u8]) {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if line.is_empty() {
            if std::mem::take(&mut self.touched) {
                self.ready.push_back(SseItem::Event(std::mem::take(&mut self.event)));
            }
            return;
        }
        if line[0] == b':' {
            self.ready.push_back(SseItem::Comment);
            return;
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(at) => (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..])),
            None => (line, &b""[..]),
        };
        let text = || String::from_utf8_lossy(value).into_owned();
        match field {
            b"data" => match &mut self.event.data {
                Some(data) if data.len() + value.len() > MAX_EVENT => {}
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.event.data = Some(value.to_vec()),
            },
            b"event" => self.event.name = Some(text()),
            b"id" => self.event.id = Some(text()),
            b"retry" => self.event.retry = text().parse().ok(),
            _ => return,
        }
        self.touched = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_in_any_pieces() {
        let text = ": hi\n\nid: 1\nretry: 50\ndata:\n\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata: x\rdata:y\r\r";
        for step in 1..9 {
            let mut parser = SseParser::default();
            let mut events = Vec::new();
            for part in text.as_bytes().chunks(step) {
                parser.feed(part);
                while let Some(item) = parser.next() {
                    if let SseItem::Event(event) = item {
                        events.push(event);
                    }
                }
            }
            assert_eq!(events.len(), 3, "step {step}");
            assert_eq!(events[0].id.as_deref(), Some("1"));
            assert_eq!(events[0].retry, Some(50));
            assert_eq!(events[0].data.as_deref(), Some(&b""[..]));
            assert_eq!(events[1].data.as_deref(), Some(&b"{\"a\":\n1}"[..]));
            assert_eq!(events[2].data.as_deref(), Some(&b"x\ny"[..]));
        }
    }

    #[test]
    fn an_event_without_its_end_is_seen() {
        let mut parser = SseParser::default();
        parser.feed(b"data: {\"id\":1}\n");
        assert_eq!(parser.next(), None);
        assert_eq!(parser.unfinished().as_deref(), Some(&b"{\"id\":1}"[..]));
    }
}
