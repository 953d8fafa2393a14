//! The strict parser, with hard limits on depth and size so that no input can
//! exhaust the stack or the memory.

use super::{Json, Text};
use memchr::memchr2;

/// Deepest nesting that is accepted.
pub const MAX_DEPTH: usize = 256;

/// Most values one text may hold: bounds the memory of the parsed form.
const MAX_VALUES: usize = 1_000_000;

/// Why a text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// The text ends too early.
    Truncated,
    /// A byte that cannot stand there.
    Unexpected,
    /// More text after the value.
    Trailing,
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// More values than the limit.
    TooMany,
    /// A string is not UTF-8.
    NotUtf8,
}

/// Where and why parsing stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseError {
    /// Byte offset.
    pub offset: usize,
    /// Reason.
    pub kind: ParseErrorKind,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.kind {
            ParseErrorKind::Truncated => "the text ends too early",
            ParseErrorKind::Unexpected => "unexpected byte",
            ParseErrorKind::Trailing => "more text after the value",
            ParseErrorKind::TooDeep => "nested too deep",
            ParseErrorKind::TooMany => "too many values",
            ParseErrorKind::NotUtf8 => "a string is not UTF-8",
        };
        write!(out, "{what} at byte {}", self.offset)
    }
}

/// Parses exactly one value.
pub fn parse(bytes: &[u8]) -> Result<Json, ParseError> {
    let mut parser = Parser { bytes, at: 0, depth: 0, values: 0 };
    parser.blanks();
    let value = parser.value()?;
    parser.blanks();
    if parser.at < bytes.len() {
        return parser.fail(ParseErrorKind::Trailing);
    }
    Ok(value)
}

/// Parses text that may hold broken UTF-8, each broken part replaced.
pub fn parse_lossy(bytes: &[u8]) -> Result<Json, ParseError> {
    match parse(bytes) {
        Err(ParseError { kind: ParseErrorKind::NotUtf8, .. }) => {
            parse(String::from_utf8_lossy(bytes).as_bytes())
        }
        other => other,
    }
}

pub(super) struct Parser<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    depth: usize,
    values: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Parser { bytes, at: 0, depth: 0, values: 0 }
    }

    fn fail<T>(&self, kind: ParseErrorKind) -> Result<T, ParseError> {
        Err(ParseError { offset: self.at, kind })
    }

    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn expect(&mut self, byte: u8) -> Result<(), ParseError> {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            Some(_) => self.fail(ParseErrorKind::Unexpected),
            None => self.fail(ParseErrorKind::Truncated),
        }
    }

    fn value(&mut self) -> Result<Json, ParseError> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return self.fail(ParseErrorKind::TooMany);
        }
        match self.peek() {
            None => self.fail(ParseErrorKind::Truncated),
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => self.text().map(Json::String),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(_) => self.number(),
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, ParseError> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else if word.as_bytes().starts_with(rest) {
            self.fail(ParseErrorKind::Truncated)
        } else {
            self.fail(ParseErrorKind::Unexpected)
        }
    }

    fn deeper(&mut self) -> Result<(), ParseError> {
        self.depth += 1;
        self.at += 1;
        if self.depth > MAX_DEPTH {
            return self.fail(ParseErrorKind::TooDeep);
        }
        self.blanks();
        Ok(())
    }

    fn object(&mut self) -> Result<Json, ParseError> {
        self.deeper()?;
        let mut members = Vec::new();
        if self.peek() != Some(b'}') {
            loop {
                if self.peek() != Some(b'"') {
                    return self.expect(b'"').map(|()| Json::Null);
                }
                let key = self.text()?;
                self.blanks();
                self.expect(b':')?;
                self.blanks();
                members.push((key, self.value()?));
                self.blanks();
                if self.peek() != Some(b',') {
                    break;
                }
                self.at += 1;
                self.blanks();
            }
        }
        self.expect(b'}')?;
        self.depth -= 1;
        Ok(Json::Object(members))
    }

    fn array(&mut self) -> Result<Json, ParseError> {
        self.deeper()?;
        let mut items = Vec::new();
        if self.peek() != Some(b']') {
            loop {
                items.push(self.value()?);
                self.blanks();
                if self.peek() != Some(b',') {
                    break;
                }
                self.at += 1;
                self.blanks();
            }
        }
        self.expect(b']')?;
        self.depth -= 1;
        Ok(Json::Array(items))
    }

    pub(super) fn number(&mut self) -> Result<Json, ParseError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            Some(_) => return self.fail(ParseErrorKind::Unexpected),
            None => return self.fail(ParseErrorKind::Truncated),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        let digits = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or("0");
        Ok(Json::Number(digits.into()))
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), ParseError> {
        let start = self.at;
        self.digits();
        if self.at > start {
            return Ok(());
        }
        self.fail(if self.peek().is_none() {
            ParseErrorKind::Truncated
        } else {
            ParseErrorKind::Unexpected
        })
    }

    /// Moves past a string and gives the bytes between the quotes.
    pub(super) fn raw_text(&mut self) -> Result<&'a [u8], ParseError> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            let Some(step) = memchr2(b'"', b'\\', &self.bytes[self.at..]) else {
                self.at = self.bytes.len();
                return self.fail(ParseErrorKind::Truncated);
            };
            self.at += step;
            if self.bytes[self.at] == b'"' {
                self.at += 1;
                return Ok(&self.bytes[start..self.at - 1]);
            }
            if self.at + 1 >= self.bytes.len() {
                return self.fail(ParseErrorKind::Truncated);
            }
            self.at += 2;
        }
    }

    pub(super) fn text(&mut self) -> Result<Text, ParseError> {
        let start = self.at + 1;
        let raw = self.raw_text()?;
        let Ok(raw) = std::str::from_utf8(raw) else {
            return Err(ParseError { offset: start, kind: ParseErrorKind::NotUtf8 });
        };
        if raw.bytes().any(|byte| byte < 0x20) {
            return Err(ParseError { offset: start, kind: ParseErrorKind::Unexpected });
        }
        if !raw.contains('\\') {
            return Ok(Text { value: raw.into(), raw: None }).map(|text| {
                match raw.contains('\u{7f}') {
                    true => Text::spelled(raw.into(), raw),
                    false => text,
                }
            });
        }
        match unescape(raw) {
            Some(value) => Ok(Text::spelled(value, raw)),
            None => Err(ParseError { offset: start, kind: ParseErrorKind::Unexpected }),
        }
    }
}

/// Decodes escapes; half a surrogate pair becomes the replacement character.
fn unescape(raw: &str) -> Option<String> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let code = rest.as_bytes().get(at + 1)?;
        rest = rest.get(at + 2..)?;
        match code {
            b'"' => out.push('"'),
            b'\\' => out.push('\\'),
            b'/' => out.push('/'),
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                let (unit, after) = hex4(rest)?;
                rest = after;
                out.push(join_surrogates(unit, &mut rest));
            }
            _ => return None,
        }
    }
    out.push_str(rest);
    Some(out)
}

fn join_surrogates(unit: u32, rest: &mut &str) -> char {
    if (0xd800..0xdc00).contains(&unit)
        && let Some(after) = rest.strip_prefix("\\u")
        && let Some((low, after)) = hex4(after)
        && (0xdc00..0xe000).contains(&low)
    {
        *rest = after;
        let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        return char::from_u32(code).unwrap_or('\u{fffd}');
    }
    char::from_u32(unit).unwrap_or('\u{fffd}')
}

fn hex4(text: &str) -> Option<(u32, &str)> {
    let digits = text.get(..4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    Some((u32::from_str_radix(digits, 16).ok()?, &text[4..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &[u8]) -> ParseErrorKind {
        parse(text).unwrap_err().kind
    }

    #[test]
    fn errors_have_their_names() {
        assert_eq!(kind(b""), ParseErrorKind::Truncated);
        assert_eq!(kind(b"{\"a\":"), ParseErrorKind::Truncated);
        assert_eq!(kind(b"tru"), ParseErrorKind::Truncated);
        assert_eq!(kind(b"{a:1}"), ParseErrorKind::Unexpected);
        assert_eq!(kind(b"[1,]"), ParseErrorKind::Unexpected);
        assert_eq!(kind(b"01"), ParseErrorKind::Trailing);
        assert_eq!(kind(b"1 2"), ParseErrorKind::Trailing);
        assert_eq!(kind(b"\"\xff\""), ParseErrorKind::NotUtf8);
        assert_eq!(kind(b"\"\\q\""), ParseErrorKind::Unexpected);
    }

    #[test]
    fn nested_bombs_stop_early() {
        let bomb = vec![b'['; 1_000_000];
        assert_eq!(kind(&bomb), ParseErrorKind::TooDeep);
        let fine = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert!(parse(fine.as_bytes()).is_ok());
    }

    #[test]
    fn wide_bombs_stop_early() {
        let bomb = format!("[{}0]", "0,".repeat(MAX_VALUES + 1));
        assert_eq!(kind(bomb.as_bytes()), ParseErrorKind::TooMany);
    }

    #[test]
    fn broken_utf8_can_still_be_read() {
        let value = parse_lossy(b"{\"a\":\"x\xff\"}").unwrap();
        assert_eq!(value.text_at("a"), Some("x\u{fffd}"));
    }
}
