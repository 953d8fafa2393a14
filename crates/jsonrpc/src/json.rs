//! A strict JSON reader. It refuses what lenient readers let through and what
//! `serde_json` cannot be asked to refuse: a member named twice, integers
//! beyond 64 bits, deep nesting. Integers and fractions stay apart.

use serde_json::{Map, Number, Value};

/// Objects and arrays may be nested this deep.
pub const MAX_DEPTH: usize = 500;

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct JsonError {
    /// Offset of the first byte that cannot be accepted.
    pub offset: usize,
    /// What is wrong there.
    pub reason: &'static str,
}

/// Reads one JSON value that fills the whole text.
pub fn parse(text: &[u8]) -> Result<Value, JsonError> {
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => {
            return Err(JsonError { offset: error.valid_up_to(), reason: "the text is not UTF-8" });
        }
    };
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, depth: 0 };
    reader.skip_blanks();
    let value = reader.value()?;
    reader.skip_blanks();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.wrong("unexpected text after the value")),
    }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn wrong(&self, reason: &'static str) -> JsonError {
        JsonError { offset: self.at, reason }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    fn value(&mut self) -> Result<Value, JsonError> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.wrong("expected a value")),
            None => Err(self.wrong("the text ends where a value is expected")),
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Value, JsonError>,
    ) -> Result<Value, JsonError> {
        if self.depth == MAX_DEPTH {
            return Err(self.wrong("nested deeper than 500 levels"));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, JsonError> {
        let mut members = Map::new();
        self.skip_blanks();
        if self.take(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.skip_blanks();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.wrong("expected a member name"));
            }
            let name = self.string()?;
            self.skip_blanks();
            if !self.take(b':') {
                return Err(self.wrong("expected ':'"));
            }
            self.skip_blanks();
            let value = self.value()?;
            if members.insert(name, value).is_some() {
                return Err(JsonError { offset: start, reason: "a member is named twice" });
            }
            self.skip_blanks();
            if self.take(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.take(b',') {
                return Err(self.wrong("expected ',' or '}'"));
            }
        }
    }

    fn array(&mut self) -> Result<Value, JsonError> {
        let mut items = Vec::new();
        self.skip_blanks();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            self.skip_blanks();
            items.push(self.value()?);
            self.skip_blanks();
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            if !self.take(b',') {
                return Err(self.wrong("expected ',' or ']'"));
            }
        }
    }

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, JsonError> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.wrong("expected a value"))
        }
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.wrong("expected a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        self.take(b'-');
        if self.take(b'0') {
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.wrong("a number has a leading zero"));
            }
        } else {
            self.digits()?;
        }
        let mut integer = true;
        if self.take(b'.') {
            integer = false;
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            integer = false;
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        let number = if integer {
            text.parse::<i64>().ok().map(Number::from)
        } else {
            text.parse::<f64>().ok().and_then(Number::from_f64)
        };
        let reason =
            if integer { "an integer does not fit in 64 bits" } else { "a number is not finite" };
        number.map(Value::Number).ok_or(JsonError { offset: start, reason })
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let run = self.at;
            // Quotes, backslashes and control characters never occur inside a
            // longer UTF-8 sequence, so a run always ends on a boundary.
            while let Some(byte) = self.peek() {
                if byte == b'"' || byte == b'\\' || byte < 0x20 {
                    break;
                }
                self.at += 1;
            }
            out.push_str(&self.text[run..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return Err(self.wrong("a control character in a string")),
                None => return Err(self.wrong("the text ends inside a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        self.at += 1;
        let escaped = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return Err(self.wrong("an unknown escape in a string")),
        };
        self.at += 1;
        Ok(escaped)
    }

    /// A lone surrogate is legal JSON but no character: it is read as the
    /// replacement character.
    fn unicode(&mut self) -> Result<char, JsonError> {
        let first = self.hex4()?;
        if (0xD800..0xDC00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            let mark = self.at;
            self.at += 2;
            let second = self.hex4()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = mark;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            match digit {
                Some(digit) => code = code * 16 + digit,
                None => return Err(self.wrong("expected four hexadecimal digits after \\u")),
            }
            self.at += 1;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn reads_what_is_json() {
        let rows: &[(&str, Value)] = &[
            ("null", json!(null)),
            (" \t\r\n true ", json!(true)),
            ("false", json!(false)),
            ("0", json!(0)),
            ("-0", json!(0)),
            ("9223372036854775807", json!(i64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("1.0", json!(1.0)),
            ("5e0", json!(5.0)),
            ("-1.5E-3", json!(-0.0015)),
            ("[]", json!([])),
            ("[ 1 , [ ] , { } ]", json!([1, [], {}])),
            (r#"{"a":{"b":[1,2]},"c":""}"#, json!({"a": {"b": [1, 2]}, "c": ""})),
            (r#""\"\\\/\b\f\n\r\t\u0041""#, json!("\"\\/\u{8}\u{c}\n\r\tA")),
            (r#""\ud83d\ude00""#, json!("\u{1f600}")),
            ("\"\u{7f}\u{2028}\u{1f600}\"", json!("\u{7f}\u{2028}\u{1f600}")),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text.as_bytes()).as_ref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn integers_and_fractions_stay_apart() {
        assert!(parse(b"1").is_ok_and(|value| value.is_i64()));
        for text in ["1.0", "1e0", "1E+0", "100e-2"] {
            assert!(parse(text.as_bytes()).is_ok_and(|value| value.is_f64()), "{text}");
        }
    }

    #[test]
    fn lone_surrogates_are_let_through_as_replacements() {
        let rows = [
            (r#""\uD800""#, "\u{fffd}"),
            (r#""\uDC00x""#, "\u{fffd}x"),
            (r#""\ud800\u0041""#, "\u{fffd}A"),
            (r#""\ud800\ud800\udc00""#, "\u{fffd}\u{10000}"),
            (r#""\ud800\n""#, "\u{fffd}\n"),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text.as_bytes()), Ok(json!(expected)), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_not_json() {
        let rows: &[(&str, usize)] = &[
            ("", 0),
            ("   ", 3),
            ("{", 1),
            ("[", 1),
            ("[1", 2),
            ("[1,", 3),
            ("[1,]", 3),
            ("{\"a\":1,}", 7),
            ("{a:1}", 1),
            ("{\"a\" 1}", 5),
            ("{\"a\":1 \"b\":2}", 7),
            ("{1:2}", 1),
            ("tru", 0),
            ("nul", 0),
            ("True", 0),
            ("NaN", 0),
            ("Infinity", 0),
            ("-", 1),
            ("+1", 0),
            ("01", 1),
            ("-01", 2),
            ("1.", 2),
            (".5", 0),
            ("1e", 2),
            ("1e+", 3),
            ("0x10", 1),
            ("'a'", 0),
            ("\"a", 2),
            ("\"\\x\"", 2),
            ("\"\\u12\"", 5),
            ("\"\\u12g4\"", 5),
            ("\"\\ud800\\u12\"", 11),
            ("\"\n\"", 1),
            ("\"\u{1}\"", 1),
            ("1 2", 2),
            ("{} x", 3),
            ("[]]", 2),
            ("// c\n1", 0),
            ("\u{feff}1", 0),
            ("\u{a0}1", 0),
            ("9223372036854775808", 0),
            ("-9223372036854775809", 0),
            ("18446744073709551616", 0),
            ("123456789012345678901234567890", 0),
            ("1e999", 0),
            ("[-1e999]", 1),
            ("{\"a\":1,\"a\":2}", 7),
            ("{\"a\":1,\"\\u0061\":2}", 7),
            ("[{\"x\":{\"a\":1,\"b\":2,\"a\":1}}]", 19),
        ];
        for (text, offset) in rows {
            let error = parse(text.as_bytes()).map_err(|error| error.offset);
            assert_eq!(error, Err(*offset), "{text}");
        }
    }

    #[test]
    fn refuses_text_that_is_not_utf8() {
        let rows: &[&[u8]] =
            &[b"\"\xff\"", b"\"\xc0\x80\"", b"\"\xed\xa0\x80\"", b"\xff", b"\"\xe2\x82"];
        for text in rows {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn nesting_ends_at_500() {
        for (open, inner, close) in [("[", "1", "]"), ("{\"a\":", "1", "}"), ("[", "", "]")] {
            let nest = |n: usize| format!("{}{inner}{}", open.repeat(n), close.repeat(n));
            assert!(parse(nest(MAX_DEPTH).as_bytes()).is_ok());
            assert!(parse(nest(MAX_DEPTH + 1).as_bytes()).is_err());
        }
        assert!(parse("[".repeat(1_000_000).as_bytes()).is_err());
        let wide = format!("[{}1]", "[],".repeat(2000));
        assert!(parse(wide.as_bytes()).is_ok(), "siblings are not nesting");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            proptest::num::f64::NORMAL.prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::hash_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(value in any_json()) {
            prop_assert_eq!(parse(value.to_string().as_bytes()), Ok(value));
        }

        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }

        /// Whatever we accept, the lenient reader accepts too (short of depth
        /// and lone surrogates, which it refuses).
        #[test]
        fn accepts_nothing_foreign(text in r#"[\[\]{}",:0-9eE.+\-tfn a\\u]{0,24}"#) {
            if let Ok(value) = parse(text.as_bytes())
                && !text.contains("\\u")
            {
                prop_assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(value));
            }
        }
    }
}
