//! The reference for people: every method with its parameters, result and effect.

use std::fmt::Write as _;

use serde_json::Value;

use crate::INTERFACE_VERSION;
use crate::error::ErrorCode;
use crate::method::Method;
use crate::registry::Registry;

const INTRODUCTION: &str = "\
Generated from the types of the `api` crate; `cargo xtask codegen` writes it again.

A call names a method and gives one object of parameters. Over WebSocket the method is the dotted
name; over MCP it is an operation of its domain's tool. Both give the same result and the same
errors.

- Every object is closed: members that are not listed here are refused.
- `!` marks what must be given, or what is always answered. Unknown values are left out of a
  result; null is never answered.
- Addresses are written `space:hex`, bare hex digits, a symbol's name (`main`, `ns::name`), a memory
  block's name, or any of these with `+` or `-` and hex digits. They are answered as `space:hex`.
- `projection.fields` chooses what is answered; the identity always is.
- Lists come in pages of `page.limit` rows (1 to 1000, 100 when absent). `next_cursor` of one reply
  is `page.cursor` of the next request; everything but the page, the projection and the time limit
  must stay the same. Walks in address order also stop after `scan.timeout_ms` and say how far they
  came.
";

/// The document as Markdown.
#[must_use]
pub fn markdown(registry: &Registry) -> String {
    let mut out = format!("# Methods\n\nInterface version {INTERFACE_VERSION}.\n{INTRODUCTION}");
    overview(registry, &mut out);
    for domain in registry.domains() {
        let _ = write!(out, "\n## {}\n\n{}\n", domain.name, domain.text);
        for method in registry.methods().iter().filter(|m| m.domain() == domain.name) {
            describe(method, &mut out);
        }
    }
    errors(&mut out);
    out
}

fn overview(registry: &Registry, out: &mut String) {
    out.push_str("\n| method | MCP operation | effect |\n|---|---|---|\n");
    for method in registry.methods() {
        let name = method.name();
        let anchor = name.replace('.', "");
        let operation = match method.websocket_only() {
            true => "WebSocket only".to_owned(),
            false => format!("`{}` → `{}`", method.domain(), method.operation()),
        };
        let effect = method.effects().summary();
        let _ = writeln!(out, "| [`{name}`](#{anchor}) | {operation} | {effect} |");
    }
}

fn describe(method: &Method, out: &mut String) {
    let _ = write!(out, "\n### {}\n\n{}\n\n", method.name(), method.description());
    let effects = method.effects();
    let mut facts = vec![effects.summary().to_owned()];
    if !effects.allowed_during_analysis {
        facts.push("refused while analysis runs".to_owned());
    }
    if !effects.read_only && effects.idempotent {
        facts.push("may be repeated".to_owned());
    }
    if !method.batchable() {
        facts.push("not in a batch".to_owned());
    }
    let _ = writeln!(out, "- Effect: {}.", facts.join(", "));
    if let Some(cost) = method.cost_text() {
        let _ = writeln!(out, "- Cost: {cost}");
    }
    if !method.identity().is_empty() && !method.selectable().is_empty() {
        let _ = writeln!(out, "- Identity: {}.", quoted(method.identity().iter().copied()));
    }
    if let Some(brief) = method.brief_members() {
        let ending = match method.selectable().is_empty() {
            true => "",
            false => ", unless `projection` asks for others; `{}` asks for all",
        };
        let _ = writeln!(out, "- Over MCP answered: {}{ending}.", quoted(brief.iter().copied()));
    }
    let nested = method.selectable().iter().filter(|path| path.contains('.'));
    let nested: Vec<&str> = nested.map(String::as_str).collect();
    if !nested.is_empty() {
        let _ = writeln!(out, "- Also selectable: {}.", quoted(nested.into_iter()));
    }
    table("parameter", method.input_schema(), out);
    table("result", method.output_schema(), out);
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn table(title: &str, schema: &Value, out: &mut String) {
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
        if items.get("properties").is_some() {
            members(&format!("{path}[]."), items, rows);
        }
        return;
    }
    members(&format!("{path}."), schema, rows);
    // A batch repeats every other method; those stand under their own names.
    for alternative in schema.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
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
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
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

fn errors(out: &mut String) {
    out.push_str(
        "\n## Errors\n\nA failed call answers `status`, `code`, `message`, `target` and `details`, always all \
         five. `target` points into the request (`/params/selector/address`, `/method`) or is empty.\n\n\
         | status | code | when |\n|---|---|---|\n",
    );
    for code in ErrorCode::ALL {
        let _ = writeln!(out, "| {} | `{}` | {} |", code.status(), code.as_str(), code.meaning());
    }
}
