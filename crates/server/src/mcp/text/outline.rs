//! Outlines of JSON Schemas: what an operation takes and answers, as types on a few lines.

use api::{Method, TextForm};
use serde_json::Value;
use std::fmt::Write as _;

/// Deepest nesting that is spelt out.
const DEEPEST: usize = 6;

/// An operation: what it does, its parameters with their meaning, the shape of its answer. The
/// outline is as detailed as `most` characters allow.
pub(in crate::mcp) fn operation(tool: &str, method: &Method, most: usize) -> String {
    let detailed = (1..=DEEPEST).rev().map(|depth| at_depth(tool, method, depth));
    let mut shortest = String::new();
    for text in detailed {
        if text.chars().count() <= most {
            return text;
        }
        shortest = text;
    }
    // Alternatives that differ in the method only are told as one.
    shortest.replace(", arguments: {...}} | {id: text, method: ", "|")
}

fn at_depth(tool: &str, method: &Method, depth: usize) -> String {
    let mut out = format!(
        "{tool}, operation {} (method {}, {}): {}\n",
        method.operation(),
        method.name(),
        method.effects().summary(),
        method.description()
    );
    if let Some(cost) = method.cost_text() {
        let _ = writeln!(out, "cost: {cost}");
    }
    out.push_str("params:\n");
    for (name, node, needed) in members(method.input_schema()) {
        let text = node.get("description").and_then(Value::as_str).unwrap_or_default();
        let mark = if needed { "" } else { "?" };
        let _ = writeln!(out, "- {name}{mark}: {} {text}", kind(node, depth));
    }
    for (name, node) in definitions(method.input_schema()) {
        let _ = writeln!(out, "{name}: {}", definition(node, depth));
    }
    let _ = writeln!(out, "result: {}", kind(method.output_schema(), depth));
    if let Some(brief) = method.brief_members().filter(|_| !method.selectable().is_empty()) {
        let identity = method.identity().iter().filter(|name| !brief.contains(*name));
        let names: Vec<&str> = identity.chain(brief).copied().collect();
        let _ = writeln!(
            out,
            "answered by default: {}; projection {{}} asks for all",
            names.join(", ")
        );
    }
    out
}

fn definitions(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("$defs").and_then(Value::as_object).into_iter().flatten()
}

/// A type that contains itself, in words.
fn definition(node: &Value, depth: usize) -> String {
    let text = match TextForm::of(node) {
        Some(TextForm::DataType) => "C text such as \"unsigned char *[4]\", or an object ",
        _ => "",
    };
    let alternatives = node.get("oneOf").and_then(Value::as_array);
    let kinds = alternatives.into_iter().flatten().map(|node| kind(node, depth));
    format!("{text}{}", kinds.collect::<Vec<_>>().join(" | "))
}

fn members(schema: &Value) -> impl Iterator<Item = (&String, &Value, bool)> {
    let required = schema.get("required").and_then(Value::as_array);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(move |(name, node)| {
        let needed = required.is_some_and(|names| names.iter().any(|n| n == name.as_str()));
        (name, node, needed)
    })
}

/// A type in words: `text`, `integer 1..1000`, `{name?: text}`, `[{...}]`.
fn kind(node: &Value, depth: usize) -> String {
    if let Some(reference) = node.get("$ref").and_then(Value::as_str) {
        return named(reference);
    }
    let short = match TextForm::of(node) {
        Some(TextForm::Bytes) => "hex text or {encoding: hex|base64, data, length}",
        Some(TextForm::Scan) => {
            "text START..END or {range: {start?, end?}, timeout_ms: integer 100..60000}"
        }
        _ => "",
    };
    if !short.is_empty() {
        return short.into();
    }
    if let Some(alternatives) = node.get("oneOf").and_then(Value::as_array) {
        let kinds: Vec<String> = alternatives.iter().map(|node| kind(node, depth)).collect();
        return kinds.join(" | ");
    }
    if let Some(values) = node.get("enum").and_then(Value::as_array) {
        let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        return values.join("|");
    }
    match node.get("type").and_then(Value::as_str).unwrap_or("any") {
        "string" => "text".into(),
        "array" => {
            format!("[{}]", node.get("items").map_or("any".into(), |node| kind(node, depth)))
        }
        "object" if depth == 0 => "{...}".into(),
        "object" => object(node, depth - 1),
        number @ ("integer" | "number") => format!("{number}{}", bounds(node)),
        other => other.into(),
    }
}

fn object(node: &Value, depth: usize) -> String {
    let member = |(name, node, needed): (&String, &Value, bool)| {
        let mark = if needed { "" } else { "?" };
        format!("{name}{mark}: {}", kind(node, depth))
    };
    let inside: Vec<String> = members(node).map(member).collect();
    if inside.is_empty() { "{...}".into() } else { format!("{{{}}}", inside.join(", ")) }
}

fn named(reference: &str) -> String {
    reference.rsplit('/').next().unwrap_or_default().into()
}

fn bounds(node: &Value) -> String {
    let bound = |name: &str| node.get(name).and_then(Value::as_i64);
    let wide = |value: i64| value == i64::from(i32::MAX) || value == i64::MAX || value == i64::MIN;
    match (bound("minimum"), bound("maximum").filter(|value| !wide(*value))) {
        (Some(low), Some(high)) => format!(" {low}..{high}"),
        _ => String::new(),
    }
}
