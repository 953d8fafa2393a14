//! Rendering for models: what a tool answers as text, in few tokens and without a fact lost.
//!
//! Many hosts hand a model only this text. Small answers are the JSON of the structured content;
//! larger ones are tables and plain text, because keys repeated in every row and C text in JSON
//! escapes cost several times what they say.

mod bytes;
mod outline;
mod table;

use api::Method;
use serde_json::{Map, Value};
use std::fmt::Write as _;

pub(super) use outline::operation as outline;

/// Up to so many characters of JSON are answered as they are.
const SMALL: usize = 1_000;
/// So many members that a projection would add are named; help has them all.
const MOST_NAMES: usize = 8;
/// A list of texts longer than this has a line for each.
const LINE: usize = 100;

/// Whether an answer is so small that its JSON is the text.
pub(super) fn is_small(json: &str) -> bool {
    json.len() <= SMALL
}

/// The text of an answer: its JSON when that is small, else a rendering.
/// `chosen` is true when the request itself says which members it wants.
pub(super) fn of(structured: &Value, method: &Method, chosen: bool) -> String {
    let json = structured.to_string();
    let Some(result) = structured.get("result").and_then(Value::as_object) else { return json };
    if is_small(&json) {
        return json;
    }
    let mut out = render(result);
    more(result, &mut out);
    let left = if chosen { Vec::new() } else { left_out(result, method) };
    if !left.is_empty() {
        let dots = if left.len() > MOST_NAMES { ", ..." } else { "" };
        let names = left.into_iter().take(MOST_NAMES).collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "more by projection: {names}{dots}");
    }
    out.truncate(out.trim_end().len());
    out
}

fn render(result: &Map<String, Value>) -> String {
    let mut out = String::new();
    let mut blocks = String::new();
    for (name, value) in result {
        member(name, value, &mut out, &mut blocks);
    }
    out.push_str(&blocks);
    out
}

/// A member: short ones as a line of their own, long ones as a block further down.
fn member(name: &str, value: &Value, lines: &mut String, blocks: &mut String) {
    match value {
        // These are told at the end, in words.
        _ if matches!(name, "next_cursor" | "scan") => {}
        Value::String(text) if text.contains('\n') => {
            let _ = writeln!(blocks, "{name}:\n{}", block(text));
        }
        Value::Object(members) if bytes::are(members) => bytes::write(name, members, lines),
        Value::Object(members) if table::fits(std::slice::from_ref(value)) => {
            let parts: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{name}={}", table::plain(value)))
                .collect();
            let _ = writeln!(lines, "{name}: {}", parts.join(", "));
        }
        Value::Object(members) => {
            let _ = writeln!(blocks, "{name}:\n{}", render(members).trim_end());
        }
        Value::Array(items) if items.is_empty() && name != "items" => {}
        Value::Array(items) if items.is_empty() => lines.push_str("no rows\n"),
        Value::Array(items) if items.iter().all(Value::is_object) => rows(name, items, blocks),
        Value::Array(items) if table::plain(value).len() > LINE => {
            let _ = writeln!(lines, "{name}:");
            items.iter().for_each(|item| {
                let _ = writeln!(lines, "- {}", table::plain(item));
            });
        }
        value => {
            let _ = writeln!(lines, "{name}: {}", table::plain(value));
        }
    }
}

fn rows(name: &str, items: &[Value], out: &mut String) {
    if name != "items" {
        let _ = writeln!(out, "{name} ({}):", items.len());
    }
    if table::fits(items) {
        return table::write(items, out);
    }
    for item in items.iter().filter_map(Value::as_object) {
        section(item, out);
    }
}

/// A row that holds too much for a line: its short members as a heading, then the rest.
fn section(row: &Map<String, Value>, out: &mut String) {
    let (mut lines, mut blocks) = (String::new(), String::new());
    for (name, value) in row {
        match value {
            // The answer of a call in a batch: its members stand for themselves.
            Value::Object(members) if name == "result" => {
                members
                    .iter()
                    .for_each(|(name, value)| member(name, value, &mut lines, &mut blocks));
                end(members, &mut lines);
            }
            value => member(name, value, &mut lines, &mut blocks),
        }
    }
    let _ = writeln!(out, "---\n{}{}", lines, blocks.trim_end());
}

/// A text of several lines, with what could steer a terminal made visible.
fn block(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim_end().chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// How a list goes on, and where its walk stopped.
fn end(result: &Map<String, Value>, out: &mut String) {
    let scan = |member: &str| result.get("scan").and_then(|scan| scan.get(member));
    if let Some(cursor) = result.get("next_cursor").and_then(Value::as_str) {
        let _ = writeln!(out, "next_cursor: {cursor} (give it as page, with the same params)");
    }
    if scan("complete") == Some(&Value::Bool(false)) {
        let text = |member: &str| scan(member).map(table::plain).unwrap_or_default();
        let _ = writeln!(
            out,
            "scan: not complete, stopped by {} at {}",
            text("stop_reason"),
            text("scanned_end")
        );
    }
}

/// How to get more: the next page, other lines.
fn more(result: &Map<String, Value>, out: &mut String) {
    if !out.ends_with('\n') && !out.is_empty() {
        out.push('\n');
    }
    end(result, out);
    let number = |path: &str| result.get("lines")?.get(path)?.as_u64();
    if let (Some(start), Some(count), Some(all)) =
        (number("start"), number("count"), result.get("line_count").and_then(Value::as_u64))
    {
        let next = start + count;
        if next <= all {
            let _ = writeln!(
                out,
                "lines {start} to {} of {all}; more: lines {{\"start\": {next}, \"count\": {count}}}",
                next - 1
            );
        }
    }
}

/// The members that a projection would add.
fn left_out<'m>(result: &Map<String, Value>, method: &'m Method) -> Vec<&'m str> {
    if method.selectable().is_empty() {
        return Vec::new();
    }
    let first = result.get("items").and_then(|items| items.get(0)).and_then(Value::as_object);
    let row = if method.is_list() { first } else { Some(result) };
    let Some(row) = row else { return Vec::new() };
    let brief = method.brief_members().unwrap_or_default();
    let answered = |path: &str| {
        row.contains_key(path) || brief.contains(&path) || method.identity().contains(&path)
    };
    let plain = method.selectable().iter().map(String::as_str).filter(|path| !path.contains('.'));
    plain.filter(|path| !answered(path) && !matches!(*path, "truncated" | "elapsed_ms")).collect()
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
