//! Signatures: one line on each operation in a tool's description, so that a model can write a
//! call from the tool list alone.

use api::{Domain, Method, TextForm};
use serde_json::Value;
use std::fmt::Write as _;

/// Longer lists of members are cut; the schema shows all.
const MOST_NAMES: usize = 8;

/// What a tool is for, and a line on each operation: its parameters with their members, those
/// that are required first. Names and members say enough for a call; help says the rest.
pub(super) fn description(domain: &Domain, methods: &[&Method]) -> String {
    let mut text = domain.text.to_owned();
    for method in methods {
        let _ = write!(text, "\n{}", call(method));
    }
    text
}

/// An operation with its parameters, as `read(selector{address}, length?)`. The projection is
/// left out: help says of it what holds everywhere, and the schema shows it.
pub(super) fn call(method: &Method) -> String {
    let schema = method.input_schema();
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = names(schema, "required");
    let members = properties.into_iter().flatten();
    let (must, may): (Vec<_>, Vec<_>) =
        members.partition(|(name, _)| required.contains(&name.as_str()));
    let mut all: Vec<String> = Vec::with_capacity(must.len() + may.len());
    all.extend(must.into_iter().map(|(name, node)| format!("{name}{}", members_of(node))));
    all.extend(may.into_iter().filter_map(|(name, node)| match TextForm::of(node) {
        Some(TextForm::Projection) => None,
        _ => Some(format!("{name}{}?", members_of(node))),
    }));
    format!("{}({})", method.operation(), all.join(", "))
}

/// The members of an object: `{name,comment?}`; of one in several kinds, kind by kind.
fn members_of(node: &Value) -> String {
    if TextForm::of(node).is_some() {
        return String::new();
    }
    if let Some(alternatives) = node.get("oneOf").and_then(Value::as_array) {
        return kinds(alternatives);
    }
    if let Some(items) = node.get("items") {
        let first = items.get("oneOf").and_then(|nodes| nodes.get(0)).unwrap_or(items);
        let members = members_of(first);
        return if members.is_empty() { members } else { format!("[{members}]") };
    }
    let Some(properties) = node.get("properties").and_then(Value::as_object) else {
        return String::new();
    };
    let required = names(node, "required");
    let marked = !required.is_empty();
    let member = |name: &String| match required.contains(&name.as_str()) || !marked {
        true => name.clone(),
        false => format!("{name}?"),
    };
    let mut members: Vec<String> = properties.keys().map(member).collect();
    members.sort_by_key(|name| name.ends_with('?'));
    if members.len() > MOST_NAMES {
        members.truncate(MOST_NAMES);
        members.push("...".into());
    }
    if members.is_empty() { String::new() } else { format!("{{{}}}", members.join(",")) }
}

/// An object that comes in several kinds: `{kind:struct|union|c}`. The schema has their members;
/// those of C text, which can stand for all of the others, are told.
fn kinds(alternatives: &[Value]) -> String {
    let tag = |node: &Value| Some(node.pointer("/properties/kind/enum/0")?.as_str()?.to_owned());
    let kinds: Vec<String> = alternatives.iter().filter_map(tag).collect();
    if kinds.is_empty() {
        return String::new();
    }
    let c = alternatives.iter().find(|node| tag(node).as_deref() == Some("c"));
    let source = c.map(|node| {
        let required = names(node, "required").into_iter().filter(|name| *name != "kind");
        format!("; c: {}", required.collect::<Vec<_>>().join(","))
    });
    format!("{{kind:{}{}}}", kinds.join("|"), source.unwrap_or_default())
}

/// The texts in a list of a schema.
pub(super) fn names<'a>(schema: &'a Value, member: &str) -> Vec<&'a str> {
    let list = schema.get(member).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}
