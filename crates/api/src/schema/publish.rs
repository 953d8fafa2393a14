//! One pass from derived schemas to the published dialect.
//!
//! The derive macros are generous: they admit null wherever a field is
//! optional, name formats, and split the schema into definitions. Clients get
//! one closed, self-contained schema instead; only types that contain
//! themselves stay behind a reference.

use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::projection;
use crate::shapes::{Reply, Request};
use crate::unfinished::RunningAnalysis;

const DEFINITIONS: &str = "#/$defs/";

/// The published schema of a request; `paths` are the members its projection offers.
pub(crate) fn input<P: Request>(paths: &[String]) -> Value {
    let mut schema = derive::<P>();
    if let Some(fields) = schema.pointer_mut("/properties/projection/properties/fields/items") {
        *fields = json!({ "type": "string", "enum": paths });
    }
    schema
}

/// The published schema of a reply. Projection may leave out all but the identity,
/// so only the identity is required of a row.
pub(crate) fn output<R: Reply>() -> Value {
    let mut schema = derive::<R>();
    if R::LIST {
        require(&mut schema, &["items"]);
    }
    let row = projection::row_mut(&mut schema, R::LIST);
    if !R::IDENTITY.is_empty() {
        require(row, R::IDENTITY);
    }
    for (parent, _) in R::NESTED.iter().filter_map(|path| path.split_once('.')) {
        free(row.pointer_mut(&format!("/properties/{parent}")));
    }
    schema
}

/// Adds what answers carry while analysis runs; nobody may choose to leave it out.
pub(crate) fn add_running_analysis(output: &mut Value) {
    if let Some(members) = output.pointer_mut("/properties").and_then(Value::as_object_mut) {
        let mut schema = derive::<RunningAnalysis>();
        schema["description"] =
            "Only while analysis runs: this answer may lack what is not found yet.".into();
        members.insert("analysis".to_owned(), schema);
    }
}

/// Lets members of a nested object be left out, as a projection of some of them does.
fn free(node: Option<&mut Value>) {
    let Some(members) = node.and_then(Value::as_object_mut) else { return };
    match members.get_mut("items") {
        Some(items) => free(Some(items)),
        None => {
            members.shift_remove("required");
        }
    }
}

fn require(row: &mut Value, names: &[&str]) {
    if let Some(object) = row.as_object_mut() {
        object.insert("required".to_owned(), json!(names));
    }
}

fn derive<T: JsonSchema>() -> Value {
    // Replies are read by this contract too: an optional member may be left out.
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|s| s.meta_schema = None);
    let schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    tidy(Value::from(schema))
}

/// Inlines definitions and reduces every node to the published dialect.
pub(crate) fn tidy(mut schema: Value) -> Value {
    let definitions = match schema.as_object_mut().and_then(|root| root.shift_remove("$defs")) {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    let recursive: BTreeSet<String> =
        definitions.keys().filter(|name| reaches(&definitions, name, name)).cloned().collect();
    let pass = Pass { definitions: &definitions, recursive: &recursive };
    let mut schema = pass.node(&schema);
    let kept: Map<String, Value> = recursive
        .iter()
        .filter_map(|name| Some((name.clone(), pass.node(definitions.get(name)?))))
        .collect();
    if !kept.is_empty()
        && let Some(root) = schema.as_object_mut()
    {
        root.insert("$defs".to_owned(), Value::Object(kept));
    }
    schema
}

/// True when following references from `from` leads to `goal`.
fn reaches(definitions: &Map<String, Value>, from: &str, goal: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending: Vec<&Value> = definitions.get(from).into_iter().collect();
    while let Some(node) = pending.pop() {
        match node {
            Value::Array(items) => pending.extend(items),
            Value::Object(members) => {
                pending.extend(members.values());
                if let Some(name) = members.get("$ref").and_then(referenced) {
                    if name == goal {
                        return true;
                    }
                    if seen.insert(name.to_owned()) {
                        pending.extend(definitions.get(name));
                    }
                }
            }
            _ => {}
        }
    }
    false
}

fn referenced(reference: &Value) -> Option<&str> {
    reference.as_str()?.strip_prefix(DEFINITIONS)
}

struct Pass<'a> {
    definitions: &'a Map<String, Value>,
    recursive: &'a BTreeSet<String>,
}

impl Pass<'_> {
    fn node(&self, node: &Value) -> Value {
        let Value::Object(members) = node else { return node.clone() };
        let mut members = members.clone();
        if let Some(name) = members.get("$ref").and_then(referenced).map(str::to_owned) {
            if self.recursive.contains(&name) {
                return json!({ "$ref": format!("{DEFINITIONS}{name}") });
            }
            return self.inlined(&name, members);
        }
        if let Some(single) = without_null_alternative(&mut members) {
            return self.merged(single, members);
        }
        if let Some(values) = constant_alternatives(&members) {
            members.shift_remove("oneOf");
            members.shift_remove("anyOf");
            members.insert("type".to_owned(), json!("string"));
            members.insert("enum".to_owned(), json!(values));
        }
        if let Some(alternatives) = members.shift_remove("anyOf") {
            members.insert("oneOf".to_owned(), alternatives);
        }
        reduce(&mut members);
        self.children(&mut members);
        close(&mut members);
        Value::Object(members)
    }

    /// The definition with the description of the place that uses it.
    fn inlined(&self, name: &str, mut siblings: Map<String, Value>) -> Value {
        siblings.shift_remove("$ref");
        self.merged(self.definitions.get(name).cloned().unwrap_or(Value::Bool(true)), siblings)
    }

    fn merged(&self, base: Value, siblings: Map<String, Value>) -> Value {
        let Value::Object(mut base) = base else { return base };
        for (keyword, value) in siblings {
            match (base.get_mut(&keyword), value) {
                // A tagged variant adds its tag to the members of what it holds.
                (Some(Value::Object(known)), Value::Object(more)) if keyword == "properties" => {
                    let held = std::mem::replace(known, more);
                    known.extend(held);
                }
                (Some(Value::Array(known)), Value::Array(more)) if keyword == "required" => {
                    let held = std::mem::replace(known, more);
                    known.extend(held);
                }
                (_, value) => {
                    base.insert(keyword, value);
                }
            }
        }
        self.node(&Value::Object(base))
    }

    fn children(&self, members: &mut Map<String, Value>) {
        for (key, value) in members.iter_mut() {
            match (key.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    for property in properties.values_mut() {
                        *property = self.node(property);
                    }
                }
                ("items" | "additionalProperties", value) => *value = self.node(value),
                ("oneOf", Value::Array(alternatives)) => {
                    for alternative in alternatives {
                        *alternative = self.node(alternative);
                    }
                }
                _ => {}
            }
        }
    }
}

/// `anyOf: [X, null]` is how an optional field says X.
fn without_null_alternative(members: &mut Map<String, Value>) -> Option<Value> {
    let alternatives = members.get("anyOf")?.as_array()?;
    let is_null = |node: &&Value| node.get("type").and_then(Value::as_str) == Some("null");
    let rest: Vec<&Value> = alternatives.iter().filter(|node| !is_null(node)).collect();
    if rest.len() == alternatives.len() {
        return None;
    }
    let replacement = if rest.len() == 1 { rest[0].clone() } else { json!({ "anyOf": rest }) };
    members.shift_remove("anyOf");
    Some(replacement)
}

/// The values of an enumeration whose variants carry their own text.
fn constant_alternatives(members: &Map<String, Value>) -> Option<Vec<String>> {
    let alternatives = members.get("oneOf")?.as_array()?;
    let mut values = Vec::new();
    for alternative in alternatives {
        if let Some(constant) = alternative.get("const").and_then(Value::as_str) {
            values.push(constant.to_owned());
        } else if let Some(several) = alternative.get("enum").and_then(Value::as_array) {
            values.extend(several.iter().filter_map(Value::as_str).map(str::to_owned));
        } else {
            return None;
        }
    }
    values.sort_unstable();
    Some(values)
}

/// Drops what the dialect does not have and turns formats into bounds.
fn reduce(members: &mut Map<String, Value>) {
    members.shift_remove("title");
    members.shift_remove("$schema");
    if members.get("default").is_some_and(Value::is_null) {
        members.shift_remove("default");
    }
    if let Some(Value::Array(types)) = members.get("type") {
        let named: Vec<&Value> = types.iter().filter(|t| t.as_str() != Some("null")).collect();
        if named.len() == 1 {
            let single = named[0].clone();
            members.insert("type".to_owned(), single);
        }
    }
    if let Some(constant) = members.shift_remove("const") {
        members.insert("enum".to_owned(), json!([constant]));
    }
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.retain(|value| !value.is_null());
        values.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    }
    if let Some(format) = members.shift_remove("format") {
        bound(members, format.as_str().unwrap_or_default());
    }
}

/// Integers on the wire fit a signed 64-bit number, and 32-bit ones a signed 32-bit number.
fn bound(members: &mut Map<String, Value>, format: &str) {
    let (minimum, maximum) = match format {
        "uint8" | "uint16" | "uint32" => (0, i64::from(i32::MAX)),
        "int32" => (i64::from(i32::MIN), i64::from(i32::MAX)),
        "uint64" | "uint" => (0, i64::MAX),
        "int64" => (i64::MIN, i64::MAX),
        _ => return,
    };
    members.entry("minimum").or_insert(json!(minimum));
    members.entry("maximum").or_insert(json!(maximum));
}

/// Objects take the members they name and no others, unless they say they are free-form.
fn close(members: &mut Map<String, Value>) {
    if members.get("type").and_then(Value::as_str) != Some("object") {
        return;
    }
    let open = members.get("additionalProperties").is_some_and(|rest| rest != &Value::Bool(false));
    if open && !members.contains_key("properties") {
        return;
    }
    members.entry("properties").or_insert_with(|| json!({}));
    members.insert("additionalProperties".to_owned(), Value::Bool(false));
}
