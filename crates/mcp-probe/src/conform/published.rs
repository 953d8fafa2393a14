//! JSON Schema validation against the published message schemas of each protocol
//! version: the keywords that those schemas use, in the strictness of the one who reads.

use crate::client::VERSIONS;
use crate::json::{self, Json};
use std::sync::OnceLock;

/// Texts of the published schemas, newest version first, as in [`VERSIONS`].
const TEXTS: [&str; 5] = [
    include_str!("../../schema/2026-07-28.json"),
    include_str!("../../schema/2025-11-25.json"),
    include_str!("../../schema/2025-06-18.json"),
    include_str!("../../schema/2025-03-26.json"),
    include_str!("../../schema/2024-11-05.json"),
];

/// The most violations that are kept of one message.
const MOST: usize = 40;

/// The depth at which a schema that refers to itself is given up.
const DEEPEST: usize = 300;

/// Whose strictness is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// The schema to the letter.
    Specification,
    /// The models of the Python SDK: null stands for an absent optional member, and
    /// texts that spell a boolean or a number are taken for it.
    Python,
    /// The models of the TypeScript SDK: an array passes where any object will do.
    TypeScript,
}

/// One thing that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// JSON pointer to the member.
    pub path: String,
    /// What is wrong there.
    pub what: String,
}

/// The definitions of a version; none for one that is not known.
fn schema(version: &str) -> Option<&'static Json> {
    static READ: OnceLock<Vec<Json>> = OnceLock::new();
    let all = READ.get_or_init(|| {
        TEXTS.iter().map(|text| json::parse(text.as_bytes()).unwrap_or_default()).collect()
    });
    all.get(VERSIONS.iter().position(|known| *known == version)?)
}

/// Where `value` does not fit the definition `name` of `version`. `path` is the place of
/// the value in its message.
pub fn violations(
    version: &str,
    name: &str,
    value: &Json,
    path: &str,
    reader: Reader,
) -> Vec<Violation> {
    let Some(root) = schema(version) else { return Vec::new() };
    let mut check = Check { root, reader, found: Vec::new() };
    match check.definition(name) {
        Some(definition) => check.value(definition, value, path, false, 0),
        None => return Vec::new(),
    }
    check.found
}

struct Check {
    root: &'static Json,
    reader: Reader,
    found: Vec<Violation>,
}

impl Check {
    fn definition(&self, name: &str) -> Option<&'static Json> {
        ["$defs", "definitions"].iter().find_map(|key| self.root.get(key)?.get(name))
    }

    fn add(&mut self, path: &str, what: impl Into<String>) {
        if self.found.len() < MOST {
            self.found.push(Violation { path: path.into(), what: what.into() });
        }
    }

    fn value(
        &mut self,
        schema: &'static Json,
        value: &Json,
        path: &str,
        optional: bool,
        depth: usize,
    ) {
        if depth > DEEPEST || self.found.len() >= MOST {
            return;
        }
        if *value == Json::Null && optional && self.reader == Reader::Python {
            return;
        }
        // Python's models keep the metadata of a result as it is.
        if self.reader == Reader::Python && path.starts_with("/_meta/") {
            return;
        }
        if let Some(name) = schema.text_at("$ref").and_then(|text| text.rsplit('/').next())
            && let Some(definition) = self.definition(name)
        {
            return self.value(definition, value, path, optional, depth + 1);
        }
        if let Some(alternatives) = schema.get("anyOf") {
            return self.any(alternatives.items(), value, path, depth);
        }
        for part in schema.get("allOf").map_or(&[][..], Json::items) {
            self.value(part, value, path, optional, depth + 1);
        }
        if let Some(wanted) = schema.get("const")
            && wanted != value
        {
            return self.add(path, format!("is {}, must be {wanted}", brief(value)));
        }
        if let Some(listed) = schema.get("enum")
            && !listed.items().contains(value)
        {
            return self.add(path, format!("is {}, must be one of {listed}", brief(value)));
        }
        if !self.fits_type(schema, value, path) {
            let wanted = schema.get("type").map(Json::to_string).unwrap_or_default();
            let wanted = wanted.replace('"', "");
            return self.add(path, format!("is {}, must be {wanted}", brief(value)));
        }
        self.range(schema, value, path);
        match value {
            Json::Object(_) => self.members(schema, value, path, depth),
            Json::Array(items) => {
                if let Some(inner) = schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.value(inner, item, &format!("{path}/{index}"), false, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    /// One alternative must fit; of those that do not, the nearest is reported.
    fn any(&mut self, alternatives: &'static [Json], value: &Json, path: &str, depth: usize) {
        let before = std::mem::take(&mut self.found);
        let mut nearest: Option<Vec<Violation>> = None;
        for alternative in alternatives {
            self.value(alternative, value, path, false, depth + 1);
            let found = std::mem::take(&mut self.found);
            if nearest.as_ref().is_none_or(|known| found.len() < known.len()) {
                nearest = Some(found);
            }
        }
        self.found = before;
        self.found.extend(nearest.unwrap_or_default());
    }

    fn members(&mut self, schema: &'static Json, value: &Json, path: &str, depth: usize) {
        let required = schema.get("required").map_or(&[][..], Json::items);
        for name in required.iter().filter_map(Json::as_str) {
            if value.get(name).is_none() {
                self.add(&format!("{path}/{}", escape(name)), "is missing");
            }
        }
        let known = schema.get("properties");
        for (name, inner) in value.members() {
            let place = format!("{path}/{}", escape(name.as_str()));
            let needed = required.iter().any(|one| one.as_str() == Some(name.as_str()));
            match known.and_then(|known| known.get(name.as_str())) {
                Some(schema) => self.value(schema, inner, &place, !needed, depth + 1),
                None => {
                    if let Some(schema) =
                        schema.get("additionalProperties").filter(|schema| schema.is_object())
                    {
                        self.value(schema, inner, &place, false, depth + 1);
                    }
                }
            }
        }
    }

    fn fits_type(&self, schema: &Json, value: &Json, path: &str) -> bool {
        let Some(kind) = schema.get("type") else { return true };
        let kinds: Vec<&str> = match kind {
            Json::Array(all) => all.iter().filter_map(Json::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        kinds.iter().any(|kind| fits(kind, value) || self.passes(schema, kind, value, path))
    }

    /// What a client takes beside the letter of the schema.
    fn passes(&self, schema: &Json, kind: &str, value: &Json, path: &str) -> bool {
        match self.reader {
            Reader::Specification => false,
            Reader::TypeScript => match kind {
                "integer" => matches!(value, Json::Number(_)),
                "object" => value.is_array() && is_any_object(schema),
                _ => false,
            },
            Reader::Python => match (kind, value) {
                // The schema of a parameter may be a boolean.
                ("object", _) => is_property(path) && is_boolean(value),
                ("boolean", _) => is_boolean(value),
                ("integer" | "number", Json::Bool(_)) => true,
                ("number", Json::String(text)) => text.as_str().trim().parse::<f64>().is_ok(),
                ("integer", Json::String(text)) => text.as_str().trim().parse::<i128>().is_ok(),
                _ => false,
            },
        }
    }

    fn range(&mut self, schema: &Json, value: &Json, path: &str) {
        let spelled = value.as_str().filter(|_| {
            self.reader == Reader::Python
                && schema.get("type").is_some_and(|kind| kind.as_str() != Some("string"))
        });
        let Some(number) = value.as_f64().or_else(|| spelled?.trim().parse().ok()) else { return };
        let limit = |name| schema.get(name).and_then(Json::as_f64);
        if limit("minimum").is_some_and(|least| number < least)
            || limit("maximum").is_some_and(|most| number > most)
        {
            self.add(path, format!("is {}, which is out of range", brief(value)));
        }
    }
}

/// The kind of value JSON Schema means by a word.
fn fits(kind: &str, value: &Json) -> bool {
    match kind {
        "integer" => {
            value.as_i64().is_some() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        kind => value.type_name() == kind,
    }
}

/// A place where any object will do: no member of it is described.
fn is_any_object(schema: &Json) -> bool {
    schema.get("properties").is_some_and(|known| known.members().is_empty())
}

/// The schema of one parameter of a tool.
fn is_property(path: &str) -> bool {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    parent.ends_with("Schema/properties")
}

/// A boolean, or what Python's models take for one.
fn is_boolean(value: &Json) -> bool {
    let words = ["true", "false", "1", "0", "yes", "no", "on", "off", "y", "n", "t", "f"];
    match value {
        Json::Bool(_) => true,
        Json::String(text) => words.iter().any(|word| text.as_str().eq_ignore_ascii_case(word)),
        Json::Number(_) => matches!(value.as_f64(), Some(number) if number == 0.0 || number == 1.0),
        _ => false,
    }
}

/// A member name as it stands in a JSON pointer.
pub fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A value in a few words.
pub fn brief(value: &Json) -> String {
    match value {
        Json::Object(_) => "an object".into(),
        Json::Array(_) => "an array".into(),
        Json::String(text) if text.as_str().chars().count() > 40 => "a text".into(),
        other => other.to_string(),
    }
}
