//! Header values that repeat parts of the body, and their base64 form.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

/// One header of a request, as far as the protocol cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header<'a> {
    /// Not sent.
    Absent,
    /// Sent once; decoded, without blanks around it.
    Text(Cow<'a, str>),
    /// Sent twice, or not decodable, or not plain ASCII.
    Unusable,
}

impl<'a> Header<'a> {
    /// Reads a header from all the values that were sent under its name.
    pub fn from_values(mut values: impl Iterator<Item = &'a [u8]>) -> Header<'a> {
        let Some(value) = values.next() else {
            return Header::Absent;
        };
        if values.next().is_some() {
            return Header::Unusable;
        }
        match decode(value) {
            Some(text) => Header::Text(text),
            None => Header::Unusable,
        }
    }

    /// Whether the header was sent and says exactly this.
    pub fn says(&self, expected: &str) -> bool {
        matches!(self, Header::Text(text) if text == expected)
    }
}

fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let plain = value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    if !plain {
        return None;
    }
    let text = std::str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    let Some(coded) = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="))
    else {
        return Some(Cow::Borrowed(text));
    };
    let bytes = STANDARD.decode(coded).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// The headers that the protocol gives a meaning.
#[derive(Clone, Debug)]
pub struct Headers<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Header<'a>,
    /// `Mcp-Method`.
    pub method: Header<'a>,
    /// `Mcp-Name`.
    pub name: Header<'a>,
}

impl Headers<'_> {
    /// No header at all.
    pub const NONE: Headers<'static> =
        Headers { version: Header::Absent, method: Header::Absent, name: Header::Absent };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&'static str]) -> Header<'static> {
        Header::from_values(values.iter().map(|value| value.as_bytes()))
    }

    fn text(text: &'static str) -> Header<'static> {
        Header::Text(Cow::Borrowed(text))
    }

    #[test]
    fn plain_values() {
        assert_eq!(read(&[]), Header::Absent);
        assert_eq!(read(&["tools/list"]), text("tools/list"));
        assert_eq!(read(&[" \ttools/list\t "]), text("tools/list"));
        assert_eq!(read(&[""]), text(""));
        assert_eq!(read(&["a", "a"]), Header::Unusable);
        assert_eq!(read(&["gr\u{fc}n"]), Header::Unusable);
        assert_eq!(read(&["a\u{1}b"]), Header::Unusable);
        assert_eq!(Header::from_values([&b"\xff"[..]].into_iter()), Header::Unusable);
    }

    #[test]
    fn base64_values() {
        let rows = [
            ("=?base64?Z2hpZHJhLmhlbHA=?=", text("ghidra.help")),
            ("  =?base64?Z2hpZHJhLmhlbHA=?=\t", text("ghidra.help")),
            ("=?base64?Z3LDvG4=?=", text("gr\u{fc}n")),
            ("=?base64??=", text("")),
            // Padding missing, too much, wrong alphabet, blanks inside, not UTF-8.
            ("=?base64?Z2hpZHJhLmhlbHA?=", Header::Unusable),
            ("=?base64?Z2hpZHJhLmhlbHA==?=", Header::Unusable),
            ("=?base64?Z3LD_G4=?=", Header::Unusable),
            ("=?base64?Z2hp ZHJh?=", Header::Unusable),
            ("=?base64?/w==?=", Header::Unusable),
            // Half a marker, or one in other letters, is literal text.
            ("=?base64?Z2hpZHJhLmhlbHA=", text("=?base64?Z2hpZHJhLmhlbHA=")),
            ("Z2hpZHJhLmhlbHA=?=", text("Z2hpZHJhLmhlbHA=?=")),
            ("=?BASE64?Z2hpZHJhLmhlbHA=?=", text("=?BASE64?Z2hpZHJhLmhlbHA=?=")),
            ("=?base64?=", text("=?base64?=")),
        ];
        for (value, expected) in rows {
            assert_eq!(read(&[value]), expected, "{value}");
        }
    }

    #[test]
    fn values_are_compared_with_their_case() {
        assert!(read(&["tools/list"]).says("tools/list"));
        assert!(!read(&["TOOLS/LIST"]).says("tools/list"));
        assert!(!read(&[]).says(""));
        assert!(!read(&["", ""]).says(""));
    }
}
