//! Holding a request against its published schema.
//!
//! The schema is compiled once into a small tree; checking then allocates only
//! to report a fault. The first fault is the one reported: type, then member
//! count, then required members in schema order, then members as they were sent.

use std::collections::HashMap;

use serde_json::Value;

use crate::error::{BridgeError, ErrorCode};
use crate::schema::text_form::TextForm;

/// Deepest chain of references from one type into itself.
const MAX_REFERENCE_DEPTH: u32 = 33;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Checker {
    root: Node,
    definitions: Vec<Node>,
}

#[derive(Debug)]
enum Node {
    Any,
    Null,
    Boolean,
    Text {
        min: u64,
        max: u64,
    },
    Choice {
        values: Vec<String>,
    },
    Integer {
        min: i64,
        max: i64,
    },
    Number {
        min: f64,
        max: f64,
    },
    Array {
        items: Box<Node>,
        min: u64,
        max: u64,
    },
    Object(Object),
    /// Objects told apart by one member with a fixed value each.
    Tagged {
        tag: String,
        alternatives: Vec<(String, Node)>,
    },
    Either {
        alternatives: Vec<Node>,
    },
    Reference(usize),
}

#[derive(Debug)]
struct Object {
    members: Vec<(String, Node)>,
    required: Vec<String>,
    min: u64,
    max: u64,
    open: bool,
}

/// A fault on its way up: the path is collected from the inside out.
#[derive(Debug)]
struct Fault {
    code: ErrorCode,
    message: String,
    path: Vec<String>,
}

impl Fault {
    fn new(code: ErrorCode, message: String) -> Fault {
        Fault { code, message, path: Vec::new() }
    }

    fn below(mut self, segment: impl Into<String>) -> Fault {
        self.path.push(segment.into());
        self
    }

    fn into_error(self) -> BridgeError {
        let mut pointer = String::new();
        for segment in self.path.iter().rev() {
            pointer.push('/');
            pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
        }
        BridgeError::new(self.code, self.message).at(&pointer)
    }
}

impl Checker {
    /// Compiles a published schema.
    pub(crate) fn new(schema: &Value) -> Checker {
        let mut names = HashMap::new();
        let mut kept = Vec::new();
        if let Some(Value::Object(definitions)) = schema.get("$defs") {
            for (index, (name, definition)) in definitions.iter().enumerate() {
                names.insert(format!("#/$defs/{name}"), index);
                kept.push(definition);
            }
        }
        let definitions = kept.into_iter().map(|definition| compile(definition, &names)).collect();
        Checker { root: compile(schema, &names), definitions }
    }

    /// The first fault of a request, as the error to answer.
    pub(crate) fn check(&self, value: &Value) -> Result<(), BridgeError> {
        self.node(&self.root, value, 0).map_err(Fault::into_error)
    }

    /// Replaces texts that hold JSON by that JSON, where the schema wants an object or an
    /// array; some clients send nested arguments as text. Texts that stand for an object are
    /// replaced by it. True when anything was replaced.
    pub(crate) fn unpack_texts(&self, value: &mut Value) -> bool {
        self.unpack(&self.root, value, 0)
    }

    fn node(&self, node: &Node, value: &Value, depth: u32) -> Result<(), Fault> {
        match node {
            Node::Any => Ok(()),
            Node::Null => expect(value.is_null(), "null", value),
            Node::Boolean => expect(value.is_boolean(), "a boolean", value),
            Node::Text { min, max } => text(value, *min, *max).map(|_| ()),
            Node::Choice { values } => choice(value, values),
            Node::Integer { min, max } => integer(value, *min, *max),
            Node::Number { min, max } => number(value, *min, *max),
            Node::Array { items, min, max } => self.array(items, (*min, *max), value, depth),
            Node::Object(object) => self.object(object, value, depth),
            Node::Tagged { tag, alternatives } => self.tagged(tag, alternatives, value, depth),
            Node::Either { alternatives } => self.either(alternatives, value, depth),
            Node::Reference(_) if depth >= MAX_REFERENCE_DEPTH => Err(Fault::new(
                ErrorCode::InvalidDataType,
                format!("the type is nested more than {} levels deep", MAX_REFERENCE_DEPTH - 1),
            )),
            Node::Reference(index) => self.node(&self.definitions[*index], value, depth + 1),
        }
    }

    fn array(
        &self,
        items: &Node,
        (min, max): (u64, u64),
        value: &Value,
        depth: u32,
    ) -> Result<(), Fault> {
        let Some(elements) = value.as_array() else { return wrong_type("an array", value) };
        count(elements.len(), min, max, "items")?;
        for (index, element) in elements.iter().enumerate() {
            self.node(items, element, depth).map_err(|fault| fault.below(index.to_string()))?;
        }
        Ok(())
    }

    fn object(&self, object: &Object, value: &Value, depth: u32) -> Result<(), Fault> {
        let Some(members) = value.as_object() else { return wrong_type("an object", value) };
        if members.len() as u64 > object.max || (members.len() as u64) < object.min {
            // An unknown member is reported as such rather than as a wrong count.
            count(members.len(), object.min, object.max, "members")?;
        }
        for name in &object.required {
            if !members.contains_key(name) {
                let message = self.missing_member(object, name, members);
                return Err(Fault::new(ErrorCode::MissingField, message).below(name.clone()));
            }
        }
        for (name, member) in members {
            match object.members.iter().find(|(known, _)| known == name) {
                Some((_, node)) => {
                    self.node(node, member, depth).map_err(|fault| fault.below(name.clone()))?
                }
                None if object.open => {}
                None => return Err(unknown_member(name, &object.members)),
            }
        }
        Ok(())
    }

    /// Says that a member is required; when one was sent that is not known, that one was meant.
    fn missing_member(
        &self,
        object: &Object,
        name: &str,
        members: &serde_json::Map<String, Value>,
    ) -> String {
        let is_known = |sent: &String| object.members.iter().any(|(known, _)| known == sent);
        let node = object.members.iter().find(|(known, _)| known == name).map(|(_, node)| node);
        // An object is named with what it takes, so that the next call can be right.
        let shape = match node.map(|node| self.resolved(node)) {
            Some(Node::Object(inner)) if !inner.members.is_empty() => {
                let names: Vec<&str> = inner.members.iter().map(|(n, _)| n.as_str()).collect();
                format!("{name} {{{}}}", names.join(", "))
            }
            _ => name.to_owned(),
        };
        match members.keys().find(|sent| !is_known(sent) && !object.open) {
            Some(sent) => {
                let sent: String = sent.chars().take(64).collect();
                format!(
                    "the member {shape} is required; {sent} is not known here, write {name} in its place"
                )
            }
            None => format!("the member {shape} is required"),
        }
    }

    fn resolved<'n>(&'n self, node: &'n Node) -> &'n Node {
        match node {
            Node::Reference(index) => &self.definitions[*index],
            other => other,
        }
    }

    fn tagged(
        &self,
        tag: &str,
        alternatives: &[(String, Node)],
        value: &Value,
        depth: u32,
    ) -> Result<(), Fault> {
        let Some(members) = value.as_object() else { return wrong_type("an object", value) };
        let names =
            || alternatives.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let given = members.get(tag).and_then(Value::as_str);
        match given.and_then(|given| alternatives.iter().find(|(name, _)| name == given)) {
            Some((_, node)) => self.node(node, value, depth),
            None => {
                let message = format!("{tag} must be one of {}", names());
                Err(Fault::new(ErrorCode::InvalidUnion, message).below(tag))
            }
        }
    }

    fn either(&self, alternatives: &[Node], value: &Value, depth: u32) -> Result<(), Fault> {
        let mut first = None;
        let mut fitting = 0;
        for alternative in alternatives {
            match self.node(alternative, value, depth) {
                Ok(()) => fitting += 1,
                Err(fault) => first = first.or(Some(fault)),
            }
        }
        match (fitting, first) {
            (1, _) => Ok(()),
            (0, Some(fault)) => Err(Fault { code: ErrorCode::InvalidUnion, ..fault }),
            _ => Err(Fault::new(
                ErrorCode::InvalidUnion,
                "the value fits several alternatives at once".to_owned(),
            )),
        }
    }

    /// What a text stands for where an object or an array is wanted.
    fn meant(&self, node: &Node, text: &str) -> Option<Value> {
        match serde_json::from_str(text) {
            Ok(parsed @ (Value::Object(_) | Value::Array(_))) => Some(parsed),
            _ => self.text_form(node)?.read(text),
        }
    }

    fn text_form(&self, node: &Node) -> Option<TextForm> {
        let by_members = |node: &Node| match node {
            Node::Object(object) => {
                let names = object.members.iter().map(|(name, _)| name.as_str());
                TextForm::by(&names.collect::<Vec<_>>())
            }
            _ => None,
        };
        match node {
            Node::Reference(index) => match &self.definitions[*index] {
                Node::Reference(_) => None,
                definition => self.text_form(definition),
            },
            Node::Tagged { alternatives, .. } => {
                alternatives.iter().find_map(|(_, one)| by_members(one))
            }
            node => by_members(node),
        }
    }

    fn unpack(&self, node: &Node, value: &mut Value, depth: u32) -> bool {
        if depth > MAX_REFERENCE_DEPTH {
            return false;
        }
        let wanted = matches!(
            node,
            Node::Object(_) | Node::Array { .. } | Node::Tagged { .. } | Node::Reference(_)
        );
        let mut changed = false;
        let meant = match &*value {
            _ if !wanted => None,
            Value::String(text) => self.meant(node, text),
            plain => self.text_form(node).and_then(|form| form.read_plain(plain)),
        };
        if let Some(meant) = meant {
            *value = meant;
            changed = true;
        }
        match (node, &mut *value) {
            (Node::Reference(index), _) => {
                changed | self.unpack(&self.definitions[*index], value, depth + 1)
            }
            (Node::Array { items, .. }, Value::Array(elements)) => elements
                .iter_mut()
                .fold(changed, |changed, element| self.unpack(items, element, depth) | changed),
            (Node::Object(object), Value::Object(members)) => {
                members.iter_mut().fold(changed, |changed, member| {
                    let known = object.members.iter().find(|(name, _)| name == member.0);
                    known.is_some_and(|(_, node)| self.unpack(node, member.1, depth)) | changed
                })
            }
            (Node::Tagged { tag, alternatives }, Value::Object(members)) => {
                let given = members.get(tag).and_then(Value::as_str);
                let found = alternatives.iter().find(|(name, _)| Some(name.as_str()) == given);
                found.is_some_and(|(_, node)| self.unpack(node, value, depth)) | changed
            }
            _ => changed,
        }
    }
}

fn expect(fits: bool, wanted: &str, value: &Value) -> Result<(), Fault> {
    if fits { Ok(()) } else { wrong_type(wanted, value) }
}

fn wrong_type(wanted: &str, value: &Value) -> Result<(), Fault> {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number with a fraction or exponent",
        Value::Number(_) => "an integer",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    Err(Fault::new(ErrorCode::InvalidType, format!("this must be {wanted}, not {found}")))
}

fn text(value: &Value, min: u64, max: u64) -> Result<&str, Fault> {
    let Some(text) = value.as_str() else {
        return wrong_type("a text", value).map(|()| "");
    };
    // Bytes bound characters from both sides, so most texts need no counting.
    let bytes = text.len() as u64;
    let short =
        bytes < min || (bytes < min.saturating_mul(4) && (text.chars().count() as u64) < min);
    let long = bytes > max && text.chars().count() as u64 > max;
    if short || long {
        let wanted =
            if max == u64::MAX { format!("at least {min}") } else { format!("{min} to {max}") };
        return Err(Fault::new(
            ErrorCode::InvalidValue,
            format!("this must have {wanted} characters"),
        ));
    }
    Ok(text)
}

fn choice(value: &Value, values: &[String]) -> Result<(), Fault> {
    let given = text(value, 0, u64::MAX)?;
    if values.iter().any(|known| known == given) {
        return Ok(());
    }
    let hint = nearest(given, values.iter().map(String::as_str));
    let hint = hint.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
    let message = format!("this must be one of {}{hint}", values.join(", "));
    Err(Fault::new(ErrorCode::InvalidEnum, message))
}

fn integer(value: &Value, min: i64, max: i64) -> Result<(), Fault> {
    let Value::Number(number) = value else { return wrong_type("an integer", value) };
    if number.is_f64() {
        return wrong_type("an integer", value);
    }
    match number.as_i64() {
        Some(given) if given >= min && given <= max => Ok(()),
        _ => Err(Fault::new(ErrorCode::InvalidValue, format!("this must be {min} to {max}"))),
    }
}

fn number(value: &Value, min: f64, max: f64) -> Result<(), Fault> {
    match value.as_f64() {
        Some(given) if given >= min && given <= max => Ok(()),
        Some(_) => Err(Fault::new(ErrorCode::InvalidValue, format!("this must be {min} to {max}"))),
        None => wrong_type("a number", value),
    }
}

fn count(len: usize, min: u64, max: u64, what: &str) -> Result<(), Fault> {
    let len = len as u64;
    if len >= min && len <= max {
        return Ok(());
    }
    let wanted =
        if max == u64::MAX { format!("at least {min}") } else { format!("{min} to {max}") };
    Err(Fault::new(ErrorCode::InvalidCount, format!("this must have {wanted} {what}, not {len}")))
}

fn unknown_member(name: &str, members: &[(String, Node)]) -> Fault {
    let known: Vec<&str> = members.iter().map(|(known, _)| known.as_str()).collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None if known.is_empty() => "no members are known here".to_owned(),
        None => format!("known are {}", known.join(", ")),
    };
    let shown: String = name.chars().take(64).collect();
    Fault::new(ErrorCode::UnknownField, format!("the member {shown} is not known; {hint}"))
        .below(name)
}

/// The candidate that is at most a third of the text away, counted in edits: what somebody who
/// wrote `given` may have meant.
pub fn nearest<'a>(given: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let given: Vec<char> = given.chars().take(64).collect();
    let limit = (given.len() / 3).max(1);
    candidates
        .map(|candidate| (edits(&given, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn edits(given: &[char], candidate: &str) -> usize {
    let mut row: Vec<usize> = (0..=given.len()).collect();
    for (i, wanted) in candidate.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, letter) in given.iter().enumerate() {
            let substitute = diagonal + usize::from(*letter != wanted);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[given.len()]
}

fn compile(schema: &Value, names: &HashMap<String, usize>) -> Node {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return names.get(reference).map_or(Node::Any, |index| Node::Reference(*index));
    }
    if let Some(alternatives) = schema.get("oneOf").and_then(Value::as_array) {
        return compile_union(alternatives, names);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values = values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect();
        return Node::Choice { values };
    }
    let limit =
        |name: &str, otherwise: u64| schema.get(name).and_then(Value::as_u64).unwrap_or(otherwise);
    match schema.get("type").and_then(Value::as_str) {
        Some("null") => Node::Null,
        Some("boolean") => Node::Boolean,
        Some("string") => {
            Node::Text { min: limit("minLength", 0), max: limit("maxLength", u64::MAX) }
        }
        Some("integer") => Node::Integer {
            min: schema.get("minimum").and_then(Value::as_i64).unwrap_or(i64::MIN),
            max: schema.get("maximum").and_then(Value::as_i64).unwrap_or(i64::MAX),
        },
        Some("number") => Node::Number {
            min: schema.get("minimum").and_then(Value::as_f64).unwrap_or(f64::NEG_INFINITY),
            max: schema.get("maximum").and_then(Value::as_f64).unwrap_or(f64::INFINITY),
        },
        Some("array") => Node::Array {
            items: Box::new(schema.get("items").map_or(Node::Any, |items| compile(items, names))),
            min: limit("minItems", 0),
            max: limit("maxItems", u64::MAX),
        },
        Some("object") => Node::Object(compile_object(schema, names)),
        _ => Node::Any,
    }
}

fn compile_object(schema: &Value, names: &HashMap<String, usize>) -> Object {
    let limit =
        |name: &str, otherwise: u64| schema.get(name).and_then(Value::as_u64).unwrap_or(otherwise);
    let members = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    Object {
        members: members.map_or_else(Vec::new, |members| {
            members.iter().map(|(name, node)| (name.clone(), compile(node, names))).collect()
        }),
        required: required.map_or_else(Vec::new, |required| {
            required.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        }),
        min: limit("minProperties", 0),
        max: limit("maxProperties", u64::MAX),
        open: schema.get("additionalProperties") != Some(&Value::Bool(false)),
    }
}

fn compile_union(alternatives: &[Value], names: &HashMap<String, usize>) -> Node {
    match shared_tag(alternatives) {
        Some(tag) => Node::Tagged {
            alternatives: alternatives
                .iter()
                .map(|alternative| {
                    (
                        fixed_value(alternative, &tag).unwrap_or_default(),
                        compile(alternative, names),
                    )
                })
                .collect(),
            tag,
        },
        None => Node::Either {
            alternatives: alternatives.iter().map(|one| compile(one, names)).collect(),
        },
    }
}

/// The member that has one fixed value in every alternative.
fn shared_tag(alternatives: &[Value]) -> Option<String> {
    let properties = alternatives.first()?.get("properties")?.as_object()?;
    properties
        .keys()
        .find(|name| alternatives.iter().all(|one| fixed_value(one, name).is_some()))
        .cloned()
}

fn fixed_value(alternative: &Value, member: &str) -> Option<String> {
    let values = alternative.get("properties")?.get(member)?.get("enum")?.as_array()?;
    match values.as_slice() {
        [Value::String(only)] => Some(only.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object", "additionalProperties": false, "required": ["selector"], "minProperties": 1,
            "properties": {
                "selector": {"type": "object", "additionalProperties": false, "required": ["address"],
                    "properties": {"address": {"type": "string", "minLength": 1}}},
                "length": {"type": "integer", "minimum": 1, "maximum": 16},
                "encoding": {"type": "string", "enum": ["base64", "hex"]},
                "names": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
                "comment": {"oneOf": [{"type": "string"}, {"type": "null"}]},
                "type": {"$ref": "#/$defs/ref"}
            },
            "$defs": {"ref": {"oneOf": [
                {"type": "object", "additionalProperties": false, "required": ["kind", "name"],
                    "properties": {"kind": {"type": "string", "enum": ["named"]}, "name": {"type": "string", "minLength": 1}}},
                {"type": "object", "additionalProperties": false, "required": ["kind", "target"],
                    "properties": {"kind": {"type": "string", "enum": ["pointer"]}, "target": {"$ref": "#/$defs/ref"}}}
            ]}}
        })
    }

    fn fault(value: Value) -> (&'static str, String) {
        let error = Checker::new(&schema()).check(&value).expect_err("the request has a fault");
        (error.code.as_str(), error.target)
    }

    #[test]
    fn every_kind_of_fault_has_its_code_and_target() {
        let selector = json!({"address": "1"});
        let cases = [
            (json!([]), "invalid_type", "/params"),
            (json!({}), "invalid_count", "/params"),
            (json!({"length": 1}), "missing_field", "/params/selector"),
            (json!({"selector": {}}), "missing_field", "/params/selector/address"),
            (json!({"selector": null}), "invalid_type", "/params/selector"),
            (json!({"selector": {"address": ""}}), "invalid_value", "/params/selector/address"),
            (json!({"selector": selector, "lenght": 1}), "unknown_field", "/params/lenght"),
            (json!({"selector": selector, "a/b~": 1}), "unknown_field", "/params/a~1b~0"),
            (json!({"selector": selector, "length": 17}), "invalid_value", "/params/length"),
            (json!({"selector": selector, "length": 1.0}), "invalid_type", "/params/length"),
            (json!({"selector": selector, "length": u64::MAX}), "invalid_value", "/params/length"),
            (json!({"selector": selector, "encoding": "HEX"}), "invalid_enum", "/params/encoding"),
            (json!({"selector": selector, "names": []}), "invalid_count", "/params/names"),
            (json!({"selector": selector, "names": ["a", 1]}), "invalid_type", "/params/names/1"),
            (json!({"selector": selector, "comment": 1}), "invalid_union", "/params/comment"),
            (
                json!({"selector": selector, "type": {"kind": "array"}}),
                "invalid_union",
                "/params/type/kind",
            ),
            (json!({"selector": selector, "type": {}}), "invalid_union", "/params/type/kind"),
            (
                json!({"selector": selector, "type": {"kind": "pointer"}}),
                "missing_field",
                "/params/type/target",
            ),
            (
                json!({"selector": selector, "type": {"kind": "pointer", "target": {"kind": "named", "name": ""}}}),
                "invalid_value",
                "/params/type/target/name",
            ),
        ];
        for (value, code, target) in cases {
            assert_eq!(fault(value.clone()), (code, target.to_owned()), "{value}");
        }
    }

    #[test]
    fn good_requests_pass() {
        let checker = Checker::new(&schema());
        for value in [
            json!({"selector": {"address": " "}}),
            json!({"selector": {"address": "1"}, "comment": null, "names": ["a", "b"], "length": 16}),
            json!({"selector": {"address": "1"}, "type": {"kind": "pointer", "target": {"kind": "named", "name": "int"}}}),
        ] {
            checker.check(&value).expect("the request is good");
        }
    }

    #[test]
    fn references_nest_so_deep_and_no_deeper() {
        let nested = |levels: u32| {
            let mut value = json!({"kind": "named", "name": "int"});
            for _ in 0..levels {
                value = json!({"kind": "pointer", "target": value});
            }
            json!({"selector": {"address": "1"}, "type": value})
        };
        let checker = Checker::new(&schema());
        checker.check(&nested(32)).expect("32 wrappers are allowed");
        let error = checker.check(&nested(33)).expect_err("33 are not");
        assert_eq!(error.code, ErrorCode::InvalidDataType);
    }

    #[test]
    fn objects_sent_as_text_are_unpacked() {
        let checker = Checker::new(&schema());
        let mut value = json!({"selector": "{\"address\":\"1\"}", "type": "{\"kind\":\"named\",\"name\":\"int\"}"});
        assert!(checker.check(&value).is_err());
        assert!(checker.unpack_texts(&mut value));
        checker.check(&value).expect("unpacked");
        let mut plain = json!({"selector": {"address": "{\"a\":1}"}});
        assert!(!checker.unpack_texts(&mut plain), "a text where a text is wanted stays");
    }

    #[test]
    fn texts_stand_for_types_and_bytes() {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {
            "type": {"$ref": "#/$defs/ref"},
            "bytes": {"type": "object", "additionalProperties": false,
                "properties": {"encoding": {"type": "string", "enum": ["base64", "hex"]},
                    "data": {"type": "string"}, "length": {"type": "integer", "minimum": 0}},
                "required": ["encoding", "data", "length"]},
        }, "$defs": {"ref": {"oneOf": [
            {"type": "object", "additionalProperties": false, "required": ["kind", "name"],
                "properties": {"kind": {"type": "string", "enum": ["named"]}, "name": {"type": "string"}}},
            {"type": "object", "additionalProperties": false, "required": ["kind", "declaration"],
                "properties": {"kind": {"type": "string", "enum": ["c"]}, "declaration": {"type": "string"}}},
        ]}}});
        let checker = Checker::new(&schema);
        let mut value = json!({"type": "char *[4]", "bytes": "7f45"});
        assert!(checker.unpack_texts(&mut value));
        checker.check(&value).expect("both texts mean an object");
        assert_eq!(value["type"], json!({"kind": "c", "declaration": "char *[4]"}));
        let mut object = json!({"type": "{\"kind\":\"named\",\"name\":\"int\"}"});
        assert!(checker.unpack_texts(&mut object));
        assert_eq!(object["type"]["kind"], "named", "an object as text is that object");
        let mut odd = json!({"bytes": "not hex"});
        assert!(!checker.unpack_texts(&mut odd));
    }

    #[test]
    fn hints_name_the_nearest_candidate() {
        assert_eq!(nearest("lenght", ["length", "encoding"].into_iter()), Some("length"));
        assert_eq!(nearest("xyz", ["length", "encoding"].into_iter()), None);
    }
}
