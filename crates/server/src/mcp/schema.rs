//! Full tool schemas: one JSON Schema alternative per operation, complete and self-contained.
//! For clients that refuse combinators, references or long lists there are the compact ones.

use super::signature::names;
use api::Method;
use serde_json::{Map, Value, json};

/// What help answers, or a bridge error.
pub(super) fn help_output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "domains": { "type": "array", "items": { "type": "string" } },
            "note": { "type": "string" },
            "domain": { "type": "string" },
            "operations": { "type": "array", "items": { "type": "string" } },
        },
    })
}

fn operations(methods: &[&Method]) -> Vec<Value> {
    methods.iter().map(|method| method.operation().into()).collect()
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
            "operation": { "type": "string", "enum": operations(methods) },
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
