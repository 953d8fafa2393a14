//! Compact tool schemas: JSON Schema flattened to what every client and model provider takes.
//!
//! One type a node, no references, no combinators, no object without members. The alternatives
//! of a tool's operations are laid over each other; the tool's text says which operation takes
//! what. Where the contract has an object that can also be sent as text, the text is shown.

use super::signature::names;
use api::{Method, TextForm};
use serde_json::{Map, Value, json};

/// Below this many levels an object shows one member only, as a sketch; the tool's text and help
/// name the rest.
const DEEPEST: usize = 2;
/// Longer lists of values are not repeated.
const MOST_VALUES: usize = 8;

/// The input schema of a tool: one object that every operation fits into.
pub(super) fn input(methods: &[&Method]) -> Value {
    let operations: Vec<&str> = methods.iter().map(|method| method.operation()).collect();
    let mut properties = Map::new();
    properties.insert("operation".into(), json!({ "type": "string", "enum": operations }));
    let params = methods.iter().filter_map(|method| flat(method.input_schema(), DEEPEST));
    if let Some(params) = params.reduce(overlay) {
        properties.insert("params".into(), params);
    }
    json!({ "type": "object", "properties": properties, "required": ["operation"] })
}

/// The output schema of a tool. It is open, so a bridge error fits as well; help has the schemas
/// of results.
pub(super) fn output() -> Value {
    json!({ "type": "object" })
}

/// A schema without references and combinators; nothing when no value could carry anything.
pub(super) fn flat(schema: &Value, depth: usize) -> Option<Value> {
    Flat { definitions: schema.get("$defs"), open: Vec::new() }.node(schema, depth)
}

struct Flat<'a> {
    definitions: Option<&'a Value>,
    /// References being followed, to stop at those that contain themselves.
    open: Vec<&'a str>,
}

impl<'a> Flat<'a> {
    fn node(&mut self, node: &'a Value, depth: usize) -> Option<Value> {
        if let Some(name) = node.get("$ref").and_then(Value::as_str) {
            return self.reference(name, depth);
        }
        if TextForm::of(node).is_some() {
            return Some(json!({ "type": "string" }));
        }
        let alternatives =
            ["oneOf", "anyOf"].into_iter().find_map(|name| node.get(name)?.as_array());
        if let Some(alternatives) = alternatives {
            let flat = alternatives.iter().filter_map(|node| self.node(node, depth));
            let flat: Vec<Value> = flat.collect();
            return match depth {
                0 => most_common(flat),
                1 => merge_sketches(flat),
                _ => flat.into_iter().reduce(overlay),
            };
        }
        match node.get("type").and_then(Value::as_str) {
            Some("object") | None => self.object(node, depth),
            Some("array") => {
                let items = self.node(node.get("items")?, depth)?;
                Some(json!({ "type": "array", "items": items }))
            }
            Some("null") => None,
            Some(kind) => Some(scalar(kind, node)),
        }
    }

    fn reference(&mut self, reference: &'a str, depth: usize) -> Option<Value> {
        let name = reference.rsplit('/').next().unwrap_or_default();
        let target = self.definitions?.get(name)?;
        if self.open.contains(&name) {
            return None;
        }
        self.open.push(name);
        let flat = self.node(target, depth);
        self.open.pop();
        flat
    }

    fn object(&mut self, node: &'a Value, depth: usize) -> Option<Value> {
        let properties = node.get("properties").and_then(Value::as_object)?;
        let required = names(node, "required");
        let sketch = if depth == 0 { required.first().copied() } else { None };
        let most = if depth == 0 { 1 } else { usize::MAX };
        let flat: Map<String, Value> = properties
            .iter()
            .filter(|(name, _)| sketch.is_none_or(|only| only == name.as_str()))
            .filter_map(|(name, node)| Some((name.clone(), self.node(node, depth.max(1) - 1)?)))
            .take(most)
            .map(|(name, node)| (name, if depth == 0 { any_value(node) } else { node }))
            .collect();
        (!flat.is_empty()).then(|| json!({ "type": "object", "properties": flat }))
    }
}

/// Alternatives whose members are sketches already: of different sketches of one member the most
/// common stands, or all of them together would be as long as what they leave out.
fn merge_sketches(mut schemas: Vec<Value>) -> Option<Value> {
    let mut names: Vec<String> = Vec::new();
    for schema in &schemas {
        let members = schema.get("properties").and_then(Value::as_object);
        names.extend(members.into_iter().flatten().map(|(name, _)| name.clone()));
    }
    for name in names {
        let shown = |schema: &Value| schema.pointer(&format!("/properties/{name}")).cloned();
        let objects: Vec<Value> = schemas.iter().filter_map(shown).collect();
        let best = most_common(objects).filter(|best| best.get("properties").is_some());
        for schema in schemas.iter_mut().filter(|schema| shown(schema).is_some()) {
            if let Some(best) = &best {
                schema["properties"][&name] = best.clone();
            }
        }
    }
    schemas.into_iter().reduce(overlay)
}

/// A member that stands for several in a sketch limits none of them.
fn any_value(mut node: Value) -> Value {
    if let Some(members) = node.as_object_mut() {
        members.shift_remove("enum");
    }
    node
}

/// The schema that most of several agree on; the first of them where none is more common.
fn most_common(schemas: Vec<Value>) -> Option<Value> {
    let count = |wanted: &Value| schemas.iter().filter(|schema| *schema == wanted).count();
    schemas.iter().rev().max_by_key(|schema| count(schema)).cloned()
}

/// A text, number or boolean with its values where those are few.
fn scalar(kind: &str, node: &Value) -> Value {
    match node.get("enum").and_then(Value::as_array) {
        Some(values) if kind == "string" && values.len() <= MOST_VALUES => {
            json!({ "type": kind, "enum": values })
        }
        _ => json!({ "type": kind }),
    }
}

/// A schema that admits what either of two admits. Where their types differ nothing short can
/// say so; the first one stands.
pub(super) fn overlay(a: Value, b: Value) -> Value {
    if a == b {
        return a;
    }
    let (Value::Object(mut a), Value::Object(b)) = (a, b) else {
        return json!({ "type": "string" });
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
                        Some(known) => overlay(known, node),
                        None => node,
                    };
                    mine.insert(name, both);
                }
            }
            ("items", Some(mine)) => *mine = overlay(mine.take(), other),
            ("enum", Some(Value::Array(mine))) => {
                let Value::Array(other) = other else { continue };
                mine.extend(other);
                mine.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
                mine.dedup();
                if mine.len() > MOST_VALUES {
                    a.shift_remove("enum");
                }
            }
            _ => {}
        }
    }
    Value::Object(a)
}
