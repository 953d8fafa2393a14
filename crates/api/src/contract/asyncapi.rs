//! The WebSocket interface as an AsyncAPI 3.0 document.

use serde_json::{Map, Value, json};

use super::yaml;
use crate::method::Method;
use crate::registry::Registry;

/// The document as YAML.
#[must_use]
pub fn asyncapi(registry: &Registry) -> String {
    let mut schemas = Map::new();
    schemas.insert("bridge_error".to_owned(), bridge_error());
    schemas.insert("error_reply".to_owned(), error_reply());
    let mut messages = Map::new();
    messages.insert("ready".to_owned(), ready());
    messages.insert("error".to_owned(), json!({ "payload": reference("schemas", "error_reply") }));
    let mut operations = Map::new();
    for method in registry.methods() {
        let id = method.name().replace('.', "_");
        messages.insert(format!("{id}_request"), request(method, &mut schemas));
        messages.insert(format!("{id}_reply"), reply(method, &mut schemas));
        operations.insert(id.clone(), operation(method, &id));
    }
    operations.insert("ready".to_owned(), ready_operation());
    let names: Map<String, Value> =
        messages.keys().map(|name| (name.clone(), reference("messages", name))).collect();
    let document = json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Ghidra Bridge",
            "version": registry.interface_version(),
            "description": "JSON-RPC 2.0 over one WebSocket. Every request gets one reply.",
        },
        "channels": { "agent": { "address": "/ws/agent", "messages": names } },
        "operations": operations,
        "components": { "messages": messages, "schemas": schemas },
    });
    yaml::print(&document)
}

fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

fn channel_message(name: &str) -> Value {
    json!({ "$ref": format!("#/channels/agent/messages/{name}") })
}

fn operation(method: &Method, id: &str) -> Value {
    json!({
        "action": "receive",
        "channel": { "$ref": "#/channels/agent" },
        "summary": method.description(),
        "tags": [{ "name": method.domain() }, { "name": method.effects().summary() }],
        "messages": [channel_message(&format!("{id}_request"))],
        "reply": {
            "channel": { "$ref": "#/channels/agent" },
            "messages": [channel_message(&format!("{id}_reply")), channel_message("error")],
        },
    })
}

fn ready_operation() -> Value {
    json!({
        "action": "send",
        "channel": { "$ref": "#/channels/agent" },
        "summary": "Sent once when the connection stands.",
        "messages": [channel_message("ready")],
    })
}

fn id_schema() -> Value {
    json!({ "oneOf": [{ "type": "string", "minLength": 1 }, { "type": "integer" }] })
}

fn request(method: &Method, schemas: &mut Map<String, Value>) -> Value {
    let params = hoisted(method.input_schema(), schemas);
    json!({ "payload": {
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "jsonrpc": { "type": "string", "enum": ["2.0"] },
            "id": id_schema(),
            "method": { "type": "string", "enum": [method.name()] },
            "params": params,
        },
        "required": ["jsonrpc", "id", "method"],
    }})
}

fn reply(method: &Method, schemas: &mut Map<String, Value>) -> Value {
    let result = hoisted(method.output_schema(), schemas);
    json!({ "payload": {
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "jsonrpc": { "type": "string", "enum": ["2.0"] },
            "id": id_schema(),
            "result": result,
        },
        "required": ["jsonrpc", "id", "result"],
    }})
}

fn ready() -> Value {
    json!({ "payload": {
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "jsonrpc": { "type": "string", "enum": ["2.0"] },
            "method": { "type": "string", "enum": ["ghidra.ready"] },
            "params": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "session_id": { "type": "string" },
                    "program_name": { "type": "string" },
                },
                "required": ["session_id", "program_name"],
            },
        },
        "required": ["jsonrpc", "method", "params"],
    }})
}

fn bridge_error() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "status": { "type": "integer", "minimum": 400, "maximum": 599 },
            "code": { "type": "string", "pattern": "^[a-z][a-z0-9_]*$" },
            "message": { "type": "string", "minLength": 1 },
            "target": { "type": "string" },
            "details": { "type": "object", "additionalProperties": true },
        },
        "required": ["status", "code", "message", "target", "details"],
    })
}

fn error_reply() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "jsonrpc": { "type": "string", "enum": ["2.0"] },
            "id": { "oneOf": [{ "type": "string" }, { "type": "integer" }, { "type": "null" }] },
            "error": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "code": { "type": "integer" },
                    "message": { "type": "string" },
                    "data": reference("schemas", "bridge_error"),
                },
                "required": ["code", "message", "data"],
            },
        },
        "required": ["jsonrpc", "id", "error"],
    })
}

/// The schema with its own definitions moved to the document's.
fn hoisted(schema: &Value, schemas: &mut Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    if let Some(Value::Object(own)) = schema.as_object_mut().and_then(|s| s.shift_remove("$defs")) {
        for (name, mut definition) in own {
            redirect(&mut definition);
            schemas.insert(name, definition);
        }
    }
    redirect(&mut schema);
    schema
}

fn redirect(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get_mut("$ref") {
                *target = target.replace("#/$defs/", "#/components/schemas/");
            }
            members.values_mut().for_each(redirect);
        }
        Value::Array(items) => items.iter_mut().for_each(redirect),
        _ => {}
    }
}
