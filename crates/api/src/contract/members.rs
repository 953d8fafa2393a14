//! Tables of an object's members, and the types that several methods name, each defined once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::markdown::quoted;

/// The named types of the schemas seen so far.
#[derive(Default)]
pub(super) struct Types(BTreeMap<String, Value>);

impl Types {
    fn keep(&mut self, schema: &Value) {
        let named = schema.get("$defs").and_then(Value::as_object);
        for (name, definition) in named.into_iter().flatten() {
            self.0.entry(name.clone()).or_insert_with(|| definition.clone());
        }
    }

    /// A section that defines each of them.
    pub(super) fn describe(&self, out: &mut String) {
        if self.0.is_empty() {
            return;
        }
        out.push_str("\n## Types\n\nNamed where several methods use them.\n");
        for (name, schema) in &self.0 {
            let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            let _ = write!(out, "\n### Type {name}\n\n{text}\n\n{}.\n", capital(&kind(schema)));
            // Its members stand as those of an object without a name.
            let holder = serde_json::json!({"properties": {name.as_str(): schema}});
            rows_of("member", &holder, out);
        }
    }
}

/// The part of a heading's link that names it.
fn anchor(name: &str) -> String {
    name.to_lowercase().replace(' ', "-")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The members of an object, one row each; the types that they name are kept for later.
pub(super) fn table(title: &str, schema: &Value, types: &mut Types, out: &mut String) {
    types.keep(schema);
    rows_of(title, schema, out);
}

fn rows_of(title: &str, schema: &Value, out: &mut String) {
    let mut rows = Vec::new();
    members("", schema, &mut rows);
    // The projection is the same everywhere.
    rows.retain(|(path, ..)| !path.starts_with("projection"));
    if rows.is_empty() {
        return;
    }
    let _ = write!(out, "\n| {title} | type | |\n|---|---|---|\n");
    for (path, kind, text) in rows {
        let _ = writeln!(out, "| `{path}` | {kind} | {text} |");
    }
}

type Row = (String, String, String);

fn members(at: &str, schema: &Value, rows: &mut Vec<Row>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = schema.get("required").and_then(Value::as_array);
    for (name, member) in properties {
        let needed = required.is_some_and(|names| names.iter().any(|n| n == name.as_str()));
        let path = format!("{at}{name}");
        let mark = if needed { "!" } else { "" };
        let text = member.get("description").and_then(Value::as_str).unwrap_or_default();
        rows.push((format!("{path}{mark}"), kind(member), text.replace(['\n', '|'], " ")));
        below(&path, member, rows);
    }
}

fn below(path: &str, schema: &Value, rows: &mut Vec<Row>) {
    if let Some(items) = schema.get("items") {
        below(&format!("{path}[]"), items, rows);
        return;
    }
    members(&format!("{path}."), schema, rows);
    // A batch repeats every other method; those stand under their own names.
    for alternative in schema.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
        if alternative.pointer("/properties/method").is_some() {
            continue;
        }
        if alternative.pointer("/properties/kind/enum/0").is_none() {
            let mut inner = Vec::new();
            members(&format!("{path}."), alternative, &mut inner);
            inner.retain(|(name, ..)| !rows.iter().any(|(known, ..)| known == name));
            rows.extend(inner);
        }
        if let Some(tag) = alternative.pointer("/properties/kind/enum/0").and_then(Value::as_str) {
            let mut inner = Vec::new();
            members(&format!("{path}<{tag}>."), alternative, &mut inner);
            inner.retain(|(path, ..)| !path.ends_with(".kind!"));
            rows.extend(inner);
        }
    }
}

fn kind(schema: &Value) -> String {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#type-{})", anchor(name));
    }
    if let Some(alternatives) = schema.get("oneOf").and_then(Value::as_array) {
        return union(alternatives);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return quoted(values.iter().filter_map(Value::as_str));
    }
    let plain = schema.get("type").and_then(Value::as_str).unwrap_or("any");
    match plain {
        "array" => {
            let items = schema.get("items").map_or("any".to_owned(), kind);
            format!("array of {items}{}", span(schema, "minItems", "maxItems"))
        }
        "string" => format!("text{}", span(schema, "minLength", "maxLength")),
        "integer" | "number" => format!("{plain}{}", span(schema, "minimum", "maximum")),
        other => other.to_owned(),
    }
}

fn union(alternatives: &[Value]) -> String {
    let tags: Vec<&str> = alternatives
        .iter()
        .filter_map(|one| one.pointer("/properties/kind/enum/0").and_then(Value::as_str))
        .collect();
    if tags.len() == alternatives.len() {
        return format!("by `kind`: {}", quoted(tags.into_iter()));
    }
    if alternatives.iter().all(|one| one.pointer("/properties/method").is_some()) {
        return "object `{id, method, arguments}`".to_owned();
    }
    alternatives.iter().map(kind).collect::<Vec<_>>().join(" or ")
}

/// Bounds, where they say more than the type.
fn span(schema: &Value, low: &str, high: &str) -> String {
    let shown = |name: &str| {
        let value = schema.get(name)?;
        let wide = value.as_i64().is_some_and(|n| n == i64::MAX || n == i64::MIN);
        let full = value.as_i64() == Some(i64::from(i32::MAX));
        (!wide && !full).then(|| value.to_string())
    };
    match (shown(low), shown(high)) {
        (None, None) => String::new(),
        (Some(low), None) if low == "0" => String::new(),
        (Some(low), None) => format!(", at least {low}"),
        (None, Some(high)) => format!(", at most {high}"),
        (Some(low), Some(high)) => format!(", {low} to {high}"),
    }
}
