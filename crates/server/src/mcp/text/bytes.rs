//! Hex dumps: bytes as hex digits with the characters that they spell beside them.

use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Bytes on one line.
const PER_LINE: usize = 32;

/// Whether an object is a sequence of bytes in hex.
pub(super) fn are(members: &Map<String, Value>) -> bool {
    members.len() == 3
        && members.get("encoding").and_then(Value::as_str) == Some("hex")
        && members.contains_key("length")
        && members.get("data").and_then(Value::as_str).is_some_and(|data| data.is_ascii())
}

/// Appends a dump: offset, digits, characters.
pub(super) fn write(name: &str, members: &Map<String, Value>, out: &mut String) {
    let data = members.get("data").and_then(Value::as_str).unwrap_or_default();
    let length = members.get("length").and_then(Value::as_u64).unwrap_or_default();
    let _ = writeln!(out, "{name} ({length}): offset, hex, characters");
    for (line, digits) in data.as_bytes().chunks(2 * PER_LINE).enumerate() {
        let byte = |pair: &[u8]| {
            let text = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(text, 16).ok()
        };
        let shown = |byte: u8| match byte {
            0x20..=0x7e => char::from(byte),
            _ => '.',
        };
        let spelt: String = digits.chunks(2).filter_map(byte).map(shown).collect();
        let digits = String::from_utf8_lossy(digits);
        let _ = writeln!(out, "{:04x} {digits} {}", line * PER_LINE, spelt.trim_end());
    }
}
