//! A push-down recogniser of JSON that is fed piece by piece: it knows at every
//! byte whether the text so far can still become JSON, so a stream can be cut
//! into messages without any limit on their length and without looking twice.

use memchr::memchr2;

/// Deepest nesting the recogniser follows.
const MAX_DEPTH: usize = 100_000;

/// What a piece of input led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// All of it fits; the value is not complete yet.
    More,
    /// The value ended after this many bytes of the piece.
    Done(usize),
    /// The byte at this offset of the piece cannot stand there.
    Bad(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    AfterValue,
    Text { key: bool },
    Escape { key: bool },
    Hex { key: bool, left: u8 },
    Word { rest: &'static [u8] },
    Number { digit: bool },
}

/// The recogniser. It accepts any number of the right shape of characters:
/// the parser proper decides later whether `1.2.3` is a number.
#[derive(Debug)]
pub struct Validator {
    state: State,
    stack: Vec<u8>,
}

impl Default for Validator {
    fn default() -> Self {
        Validator { state: State::Value, stack: Vec::new() }
    }
}

impl Validator {
    /// Forgets everything; the next byte starts a new value.
    pub fn reset(&mut self) {
        self.state = State::Value;
        self.stack.clear();
    }

    /// The bracket that opened the outermost value.
    pub fn outermost(&self) -> Option<u8> {
        self.stack.first().copied()
    }

    /// Takes the next piece. The value must be an object or an array.
    pub fn feed(&mut self, piece: &[u8]) -> Step {
        let mut at = 0;
        while at < piece.len() {
            if let State::Text { key } = self.state {
                match skip_text(&piece[at..]) {
                    (run, None) => at += run,
                    (run, Some(b'"')) => {
                        at += run + 1;
                        self.state = if key { State::Colon } else { State::AfterValue };
                    }
                    (run, Some(b'\\')) => {
                        at += run + 1;
                        self.state = State::Escape { key };
                    }
                    (run, Some(_)) => return Step::Bad(at + run),
                }
                continue;
            }
            match self.byte(piece[at]) {
                Some(true) if self.stack.is_empty() => return Step::Done(at + 1),
                Some(_) => at += 1,
                None => return Step::Bad(at),
            }
        }
        Step::More
    }

    /// One byte outside of strings; `Some(true)` when it closed a bracket.
    fn byte(&mut self, byte: u8) -> Option<bool> {
        let blank = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match self.state {
            State::Value | State::ValueOrEnd if blank => {}
            State::ValueOrEnd if byte == b']' => return self.close(byte),
            State::Value | State::ValueOrEnd => return self.open_value(byte),
            State::Key | State::KeyOrEnd | State::Colon | State::AfterValue if blank => {}
            State::KeyOrEnd if byte == b'}' => return self.close(byte),
            State::Key | State::KeyOrEnd if byte == b'"' => self.state = State::Text { key: true },
            State::Colon if byte == b':' => self.state = State::Value,
            State::AfterValue => return self.after_value(byte),
            State::Escape { key } => match byte {
                b'u' => self.state = State::Hex { key, left: 4 },
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                    self.state = State::Text { key };
                }
                _ => return None,
            },
            State::Hex { key, left } if byte.is_ascii_hexdigit() => {
                self.state = match left {
                    1 => State::Text { key },
                    _ => State::Hex { key, left: left - 1 },
                };
            }
            State::Word { rest } if rest.first() == Some(&byte) => {
                self.state = match rest.len() {
                    1 => State::AfterValue,
                    _ => State::Word { rest: &rest[1..] },
                };
            }
            State::Number { digit } => match byte {
                b'0'..=b'9' => self.state = State::Number { digit: true },
                b'.' | b'e' | b'E' | b'+' | b'-' => self.state = State::Number { digit: false },
                _ if digit => {
                    self.state = State::AfterValue;
                    return self.byte(byte);
                }
                _ => return None,
            },
            _ => return None,
        }
        Some(false)
    }

    fn open_value(&mut self, byte: u8) -> Option<bool> {
        if self.stack.is_empty() && !matches!(byte, b'{' | b'[') {
            return None;
        }
        self.state = match byte {
            b'{' | b'[' => {
                if self.stack.len() >= MAX_DEPTH {
                    return None;
                }
                self.stack.push(byte);
                if byte == b'{' { State::KeyOrEnd } else { State::ValueOrEnd }
            }
            b'"' => State::Text { key: false },
            b't' => State::Word { rest: b"rue" },
            b'f' => State::Word { rest: b"alse" },
            b'n' => State::Word { rest: b"ull" },
            b'0'..=b'9' => State::Number { digit: true },
            b'-' => State::Number { digit: false },
            _ => return None,
        };
        Some(false)
    }

    fn after_value(&mut self, byte: u8) -> Option<bool> {
        match (byte, self.stack.last()) {
            (b',', Some(b'{')) => self.state = State::Key,
            (b',', Some(b'[')) => self.state = State::Value,
            (b'}' | b']', _) => return self.close(byte),
            _ => return None,
        }
        Some(false)
    }

    fn close(&mut self, byte: u8) -> Option<bool> {
        let open = if byte == b'}' { b'{' } else { b'[' };
        if self.stack.pop() != Some(open) {
            return None;
        }
        self.state = State::AfterValue;
        Some(true)
    }
}

/// Length of the plain run at the start of a string, and the byte that ends it.
/// A raw line end is one of those: it can stand in no JSON string.
fn skip_text(piece: &[u8]) -> (usize, Option<u8>) {
    let run = memchr2(b'"', b'\\', piece).unwrap_or(piece.len());
    match memchr2(b'\n', b'\r', &piece[..run]) {
        Some(at) => (at, Some(piece[at])),
        None => (run, piece.get(run).copied()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Step {
        Validator::default().feed(text.as_bytes())
    }

    #[test]
    fn recognises_values_and_their_ends() {
        assert_eq!(whole("{} x"), Step::Done(2));
        assert_eq!(whole(r#"{"a":[1,-2.5e3,"}\"",true,false,null]}{"#), Step::Done(38));
        assert_eq!(whole("{\n \"a\" : {}\n"), Step::More);
        assert_eq!(whole("[]"), Step::Done(2));
    }

    #[test]
    fn rejects_at_the_first_wrong_byte() {
        assert_eq!(whole("{not"), Step::Bad(1));
        assert_eq!(whole("[INFO]"), Step::Bad(1));
        assert_eq!(whole("{\"a\":\"x\ny\"}"), Step::Bad(7));
        assert_eq!(whole("[1,]"), Step::Bad(3));
        assert_eq!(whole("[}"), Step::Bad(1));
        assert_eq!(whole("12"), Step::Bad(0));
    }

    #[test]
    fn pieces_of_any_size_give_the_same() {
        let text = br#"{"k\u00e9y":["a\\",{"b":[1.5,null]}],"t":true}"#;
        let mut validator = Validator::default();
        for (at, byte) in text.iter().enumerate() {
            let step = validator.feed(&[*byte]);
            let last = at + 1 == text.len();
            assert_eq!(step, if last { Step::Done(1) } else { Step::More }, "at {at}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let bomb = "[".repeat(MAX_DEPTH + 10);
        assert_eq!(whole(&bomb), Step::Bad(MAX_DEPTH));
    }
}
