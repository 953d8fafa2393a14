//! Printing: compact (byte-exact for what was parsed), indented, and canonical
//! (sorted members, one spelling), the form that hashes are taken of.

use super::{Json, Text};
use std::fmt;

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write_compact(self, &mut text);
        out.write_str(&text)
    }
}

impl Json {
    /// Indented by two blanks.
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        write_pretty(self, 0, &mut out);
        out
    }

    /// Members sorted by name, strings in one spelling, no blanks. Two values
    /// have the same canonical text exactly when they mean the same.
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        write_canonical(self, &mut out);
        out
    }
}

fn write_scalar(value: &Json, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(digits) => out.push_str(digits),
        Json::String(text) => write_text(text, out),
        Json::Array(_) | Json::Object(_) => {}
    }
}

fn write_text(text: &Text, out: &mut String) {
    match text.raw() {
        Some(raw) => {
            out.push('"');
            out.push_str(raw);
            out.push('"');
        }
        None => quote(text.as_str(), out),
    }
}

/// Commas between the items; the brackets are the caller's.
fn separated<T>(
    items: impl IntoIterator<Item = T>,
    out: &mut String,
    mut each: impl FnMut(T, &mut String),
) {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        each(item, out);
    }
}

fn write_compact(value: &Json, out: &mut String) {
    match value {
        Json::Array(items) => {
            out.push('[');
            separated(items, out, write_compact);
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            separated(members, out, |(key, item), out| {
                write_text(key, out);
                out.push(':');
                write_compact(item, out);
            });
            out.push('}');
        }
        _ => write_scalar(value, out),
    }
}

fn newline(depth: usize, out: &mut String) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

fn write_pretty(value: &Json, depth: usize, out: &mut String) {
    match value {
        Json::Array(items) if !items.is_empty() => {
            out.push('[');
            separated(items, out, |item, out| {
                newline(depth + 1, out);
                write_pretty(item, depth + 1, out);
            });
            newline(depth, out);
            out.push(']');
        }
        Json::Object(members) if !members.is_empty() => {
            out.push('{');
            separated(members, out, |(key, item), out| {
                newline(depth + 1, out);
                write_text(key, out);
                out.push_str(": ");
                write_pretty(item, depth + 1, out);
            });
            newline(depth, out);
            out.push('}');
        }
        _ => write_compact(value, out),
    }
}

fn write_canonical(value: &Json, out: &mut String) {
    match value {
        Json::Array(items) => {
            out.push('[');
            separated(items, out, write_canonical);
            out.push(']');
        }
        Json::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|a, b| a.0.as_str().cmp(b.0.as_str()));
            out.push('{');
            separated(sorted, out, |(key, item), out| {
                quote(key.as_str(), out);
                out.push(':');
                write_canonical(item, out);
            });
            out.push('}');
        }
        Json::String(text) => quote(text.as_str(), out),
        _ => write_scalar(value, out),
    }
}

/// Text as a JSON string, in quotes.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    escape(text, out);
    out.push('"');
}

/// Length of the text before the first byte that stands in no string as it is. Blocks
/// are looked at as a whole: recordings spell bodies of many megabytes.
fn plain_run(bytes: &[u8]) -> usize {
    const BLOCK: usize = 32;
    let special = |byte: &u8| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
    let mut at = 0;
    for block in bytes.chunks(BLOCK) {
        if block.iter().fold(false, |found, byte| found | special(byte)) {
            return at + block.iter().position(special).unwrap_or(block.len());
        }
        at += block.len();
    }
    at
}

/// Escapes what must be escaped, and nothing else.
pub(super) fn escape(text: &str, out: &mut String) {
    let mut rest = text;
    loop {
        let run = plain_run(rest.as_bytes());
        out.push_str(&rest[..run]);
        let Some(byte) = rest.as_bytes().get(run) else { return };
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            other => out.push_str(&format!("\\u{other:04x}")),
        }
        rest = &rest[run + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn canonical_text_ignores_order_and_spelling() {
        let one = parse(br#"{"b":"\u00e9","a":[1, 2]}"#).unwrap();
        let two = parse("{ \"a\":[1,2],\n\"b\":\"é\"}".as_bytes()).unwrap();
        assert_eq!(one.canonical(), two.canonical());
        assert_ne!(one.to_string(), two.to_string());
    }

    #[test]
    fn escapes_stand_wherever_they_fall_in_a_block() {
        for at in 0..70 {
            for special in ['"', '\\', '\n', '\u{1}'] {
                let mut text = "é".repeat(40);
                text.insert(text.char_indices().map(|(at, _)| at).nth(at % 40).unwrap(), special);
                text.insert_str(0, &"x".repeat(at));
                let mut quoted = String::new();
                super::quote(&text, &mut quoted);
                assert_eq!(parse(quoted.as_bytes()).unwrap().as_str(), Some(text.as_str()));
            }
        }
    }

    #[test]
    fn pretty_text_parses_back() {
        let value = parse(br#"{"a":[],"b":{},"c":[{"d":null}]}"#).unwrap();
        assert_eq!(parse(value.pretty().as_bytes()).unwrap(), value);
    }
}
