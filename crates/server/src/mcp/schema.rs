//! Tool schemas in two sizes. `full` has one alternative per operation and is
//! complete. `compact` is for clients that refuse combinators and references
//! or drop long lists: the alternatives are laid over each other, and the
//! description says which operation takes what.

use api::{Domain, Method};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Objects nested deeper than this are left open in compact schemas.
const COMPACT_DEPTH: usize = 3;

/// What a tool is for, and one line on each operation: its parameters, those
/// that are required first, and what it does.
pub(super) fn description(domain: &Domain, methods: &[&Method]) -> String {
    let mut text = domain.text.to_owned();
    for method in methods {
        let parameters = parameters(method.input_schema());
        let _ = write!(text, "\n{}: {parameters} - {}", method.operation(), method.description());
    }
    text
}

fn parameters(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return "no params".into();
    };
    let required = names(schema, "required");
    let (must, may): (Vec<_>, Vec<_>) =
        properties.iter().partition(|(name, _)| required.contains(&name.as_str()));
    let must = must.into_iter().map(|(name, node)| format!("{name}{}", members(node)));
    let may = may.into_iter().map(|(name, _)| format!("{name}?"));
    let all: Vec<String> = must.chain(may).collect();
    if all.is_empty() { "no params".into() } else { all.join(", ") }
}

/// The members of a required object, so that a simple call can be written from
/// the description alone.
fn members(node: &Value) -> String {
    let Some(properties) = node.get("properties").and_then(Value::as_object) else {
        return String::new();
    };
    let required = names(node, "required");
    let member = |name: &String| {
        if required.contains(&name.as_str()) { name.clone() } else { format!("{name}?") }
    };
    let mut members: Vec<String> = properties.keys().map(member).collect();
    members.sort_by_key(|name| name.ends_with('?'));
    format!("{{{}}}", members.join(","))
}

fn names<'a>(schema: &'a Value, member: &str) -> Vec<&'a str> {
    let list = schema.get(member).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn operation_names(methods: &[&Method]) -> Vec<Value> {
    methods.iter().map(|method| method.operation().into()).collect()
}

/// The compact input schema: one object that every operation fits into.
pub(super) fn compact_input(methods: &[&Method]) -> Value {
    let params = methods
        .iter()
        .map(|method| {
            let schema = method.input_schema();
            Flat { definitions: schema.get("$defs"), open: Vec::new() }.node(schema, COMPACT_DEPTH)
        })
        .reduce(overlay)
        .unwrap_or_else(|| json!({ "type": "object" }));
    json!({
        "type": "object",
        "properties": {
            "operation": { "type": "string", "enum": operation_names(methods) },
            "params": params,
        },
        "required": ["operation"],
    })
}

/// The compact output schema: the reply of any operation, or a bridge error.
pub(super) fn compact_output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "operation": { "type": "string" },
            "result": { "type": "object" },
            "status": { "type": "integer" },
            "code": { "type": "string" },
            "message": { "type": "string" },
            "target": { "type": "string" },
            "details": { "type": "object" },
        },
    })
}

/// What help answers, or a bridge error.
pub(super) fn help_output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "domains": { "type": "array", "items": { "type": "string" } },
            "note": { "type": "string" },
            "domain": { "type": "string" },
            "operations": { "type": "array", "items": { "type": "string" } },
            "operation": { "type": "string" },
            "method": { "type": "string" },
            "description": { "type": "string" },
            "inputSchema": { "type": "object" },
            "outputSchema": { "type": "object" },
            "effects": { "type": "object" },
            "status": { "type": "integer" },
            "code": { "type": "string" },
            "message": { "type": "string" },
            "target": { "type": "string" },
            "details": { "type": "object" },
        },
    })
}

/// Rewrites a schema without references and combinators.
struct Flat<'a> {
    definitions: Option<&'a Value>,
    /// References being followed, to stop at those that contain themselves.
    open: Vec<&'a str>,
}

impl<'a> Flat<'a> {
    fn node(&mut self, node: &'a Value, depth: usize) -> Value {
        if let Some(name) = node.get("$ref").and_then(Value::as_str) {
            return self.reference(name, depth);
        }
        let alternatives =
            ["oneOf", "anyOf"].into_iter().find_map(|name| node.get(name)?.as_array());
        if let Some(alternatives) = alternatives {
            let flat: Vec<Value> = alternatives.iter().map(|node| self.node(node, depth)).collect();
            return flat.into_iter().reduce(overlay).unwrap_or_else(|| json!({ "type": "object" }));
        }
        match node.get("type").and_then(Value::as_str) {
            Some("object") | None => self.object(node, depth),
            Some("array") => {
                let items = node.get("items").filter(|_| depth > 0);
                let items = items.map(|items| self.node(items, depth - 1));
                json!({ "type": "array", "items": items.unwrap_or_else(|| json!({ "type": "object" })) })
            }
            Some(kind) => scalar(kind, node),
        }
    }

    fn reference(&mut self, reference: &'a str, depth: usize) -> Value {
        let name = reference.rsplit('/').next().unwrap_or_default();
        let target = self.definitions.and_then(|definitions| definitions.get(name));
        match target {
            Some(target) if !self.open.contains(&name) => {
                self.open.push(name);
                let flat = self.node(target, depth);
                self.open.pop();
                flat
            }
            _ => json!({ "type": "object" }),
        }
    }

    fn object(&mut self, node: &'a Value, depth: usize) -> Value {
        let properties = node.get("properties").and_then(Value::as_object);
        let Some(properties) = properties.filter(|_| depth > 0) else {
            return json!({ "type": "object" });
        };
        let flat: Map<String, Value> = properties
            .iter()
            .map(|(name, node)| (name.clone(), self.node(node, depth - 1)))
            .collect();
        json!({ "type": "object", "properties": flat })
    }
}

/// A text, number or boolean with its values where those are few.
fn scalar(kind: &str, node: &Value) -> Value {
    match node.get("enum").and_then(Value::as_array) {
        Some(values) if kind == "string" && values.len() <= 8 => {
            json!({ "type": kind, "enum": values })
        }
        _ => json!({ "type": kind }),
    }
}

/// A schema that admits what either of two admits. Where their types differ
/// nothing short can say so; the first one stands.
fn overlay(a: Value, b: Value) -> Value {
    if a == b {
        return a;
    }
    let (Value::Object(mut a), Value::Object(b)) = (a, b) else {
        return json!({ "type": "object" });
    };
    if a.get("type") != b.get("type") {
        return Value::Object(a);
    }
    // Values that only one of them lists do not limit the other.
    if !b.contains_key("enum") {
        a.shift_remove("enum");
    }
    for (name, other) in b {
        match (name.as_str(), a.get_mut(&name)) {
            ("properties", Some(Value::Object(mine))) => {
                let Value::Object(other) = other else { continue };
                for (name, node) in other {
                    let both = match mine.shift_remove(&name) {
                        Some(node_a) => overlay(node_a, node),
                        None => node,
                    };
                    mine.insert(name, both);
                }
            }
            ("properties", None) => {
                a.insert(name, other);
            }
            ("items", Some(mine)) => *mine = overlay(mine.take(), other),
            ("enum", Some(Value::Array(mine))) => {
                let Value::Array(other) = other else { continue };
                mine.extend(other);
                mine.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
                mine.dedup();
            }
            _ => {}
        }
    }
    Value::Object(a)
}

/// The full input schema: one alternative per operation.
pub(super) fn full_input(methods: &[&Method]) -> Value {
    let mut definitions = Map::new();
    let alternatives: Vec<Value> = methods
        .iter()
        .map(|method| {
            let params = without_definitions(method.input_schema(), &mut definitions);
            let has_duties = !names(&params, "required").is_empty();
            let required: &[&str] =
                if has_duties { &["operation", "params"] } else { &["operation"] };
            json!({
                "type": "object",
                "properties": {
                    "operation": { "type": "string", "const": method.operation() },
                    "params": params,
                },
                "required": required,
                "additionalProperties": false,
            })
        })
        .collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "operation": { "type": "string", "enum": operation_names(methods) },
            "params": { "type": "object" },
        },
        "required": ["operation"],
        "oneOf": alternatives,
    });
    with_definitions(schema, definitions)
}

/// The full output schema: one alternative per operation, and the bridge error.
pub(super) fn full_output(methods: &[&Method]) -> Value {
    let mut definitions = Map::new();
    let mut alternatives: Vec<Value> = methods
        .iter()
        .map(|method| {
            json!({
                "type": "object",
                "properties": {
                    "operation": { "type": "string", "const": method.operation() },
                    "result": without_definitions(method.output_schema(), &mut definitions),
                },
                "required": ["operation", "result"],
                "additionalProperties": false,
            })
        })
        .collect();
    alternatives.push(json!({
        "type": "object",
        "properties": {
            "status": { "type": "integer", "minimum": 400, "maximum": 599 },
            "code": { "type": "string", "pattern": "^[a-z][a-z0-9_]*$" },
            "message": { "type": "string", "minLength": 1 },
            "target": { "type": "string" },
            "details": { "type": "object" },
        },
        "required": ["status", "code", "message", "target", "details"],
        "additionalProperties": false,
    }));
    with_definitions(json!({ "type": "object", "oneOf": alternatives }), definitions)
}

/// Definitions move to the root of the tool's schema, where references to them
/// are resolved. Equal names mean equal types.
fn without_definitions(schema: &Value, definitions: &mut Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut()
        && let Some(Value::Object(found)) = members.shift_remove("$defs")
    {
        definitions.extend(found);
    }
    schema
}

fn with_definitions(mut schema: Value, definitions: Map<String, Value>) -> Value {
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    schema
}
