//! Reading the JSON Schemas of tools: which parameters there are, how loose
//! they are, and an example that fits. References are followed only inside the
//! schema itself; nothing is ever fetched.

use crate::json::Json;
use crate::obj;

const DEEPEST: usize = 8;
const MOST: usize = 2000;

/// One parameter, at any depth.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Dotted path; `[]` stands for the items of a list.
    pub path: String,
    /// Its own name.
    pub name: String,
    /// Types it may have; empty when not said.
    pub types: Vec<String>,
    /// Whether it must be given.
    pub required: bool,
    /// Its schema, references resolved.
    pub schema: Json,
}

impl Parameter {
    /// What its schema leaves open.
    pub fn looseness(&self) -> Vec<&'static str> {
        let has = |names: &[&str]| names.iter().any(|name| self.schema.get(name).is_some());
        let mut loose = Vec::new();
        if self.types.is_empty() && !has(&["enum", "const", "anyOf", "oneOf", "allOf", "$ref"]) {
            loose.push("no type");
        }
        if self.types.len() > 1 {
            loose.push("several types");
        }
        if !has(&["description", "title"]) {
            loose.push("no description");
        }
        let is = |kind: &str| self.types.iter().any(|known| known == kind);
        if is("string") && !has(&["enum", "const", "pattern", "format", "maxLength"]) {
            loose.push("any text");
        }
        if (is("integer") || is("number"))
            && !(has(&["minimum", "exclusiveMinimum", "enum"])
                && has(&["maximum", "exclusiveMaximum", "enum"]))
        {
            loose.push("any number");
        }
        if is("object") && !has(&["properties"]) {
            loose.push("any object");
        }
        if is("array") && !has(&["items", "prefixItems"]) {
            loose.push("any items");
        }
        loose
    }

    /// The description.
    pub fn description(&self) -> &str {
        self.schema.text_at("description").unwrap_or_default()
    }

    /// For reports.
    pub fn to_json(&self) -> Json {
        obj! { "path": &self.path, "types": self.types.clone(), "required": self.required }
            .with_some("enum", self.schema.get("enum").cloned())
            .with("loose", self.looseness())
    }
}

/// All parameters of an input schema, nested ones after their parents.
pub fn parameters(schema: &Json) -> Vec<Parameter> {
    let mut found = Vec::new();
    collect(schema, schema, "", 0, &mut found);
    found
}

fn collect(root: &Json, schema: &Json, prefix: &str, depth: usize, found: &mut Vec<Parameter>) {
    if depth > DEEPEST || found.len() > MOST {
        return;
    }
    let schema = resolve(root, schema);
    let required: Vec<&str> = schema
        .get("required")
        .map_or(&[][..], Json::items)
        .iter()
        .filter_map(Json::as_str)
        .collect();
    for (name, property) in schema.get("properties").map_or(&[][..], Json::members) {
        let property = resolve(root, property);
        let path = if prefix.is_empty() {
            name.as_str().to_string()
        } else {
            format!("{prefix}.{}", name.as_str())
        };
        found.push(Parameter {
            path: path.clone(),
            name: name.as_str().into(),
            types: types(root, property),
            required: required.contains(&name.as_str()),
            schema: property.clone(),
        });
        collect(root, property, &path, depth + 1, found);
        if let Some(items) = property.get("items") {
            collect(root, items, &format!("{path}[]"), depth + 1, found);
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for branch in schema.get(key).map_or(&[][..], Json::items) {
            collect(root, branch, prefix, depth + 1, found);
        }
    }
}

/// The types a schema allows, looking into its alternatives.
fn types(root: &Json, schema: &Json) -> Vec<String> {
    let mut all: Vec<String> = match schema.get("type") {
        Some(Json::String(text)) => vec![text.as_str().into()],
        Some(Json::Array(items)) => items.iter().filter_map(Json::as_str).map(Into::into).collect(),
        _ => Vec::new(),
    };
    if all.is_empty() {
        for key in ["anyOf", "oneOf"] {
            for branch in schema.get(key).map_or(&[][..], Json::items) {
                let branch = resolve(root, branch);
                if let Some(kind) = branch.text_at("type")
                    && !all.iter().any(|known| known == kind)
                {
                    all.push(kind.into());
                }
            }
        }
    }
    all
}

/// Follows local references, a bounded number of times.
pub fn resolve<'a>(root: &'a Json, schema: &'a Json) -> &'a Json {
    let mut here = schema;
    for _ in 0..16 {
        let Some(pointer) = here.text_at("$ref").and_then(|text| text.strip_prefix('#')) else {
            return here;
        };
        let target =
            pointer.split('/').filter(|part| !part.is_empty()).try_fold(root, |at, part| {
                let part = part.replace("~1", "/").replace("~0", "~");
                match at {
                    Json::Array(items) => items.get(part.parse::<usize>().ok()?),
                    _ => at.get(&part),
                }
            });
        match target {
            Some(target) => here = target,
            None => return here,
        }
    }
    here
}

/// References that leave the document.
pub fn foreign_references(schema: &Json) -> Vec<String> {
    let mut found = Vec::new();
    schema.walk("", &mut |path, value| {
        if let Some(target) = value.text_at("$ref")
            && !target.starts_with('#')
            && !path.ends_with("/properties")
        {
            found.push(target.to_string());
        }
    });
    found
}

/// A value that fits a schema, with as little in it as possible.
pub fn sample(root: &Json, schema: &Json) -> Json {
    sample_at(root, schema, 0)
}

fn sample_at(root: &Json, schema: &Json, depth: usize) -> Json {
    let schema = resolve(root, schema);
    for key in ["const", "default"] {
        if let Some(value) = schema.get(key).filter(|value| **value != Json::Null) {
            return value.clone();
        }
    }
    for key in ["enum", "examples"] {
        if let Some(value) = schema.get(key).and_then(|list| list.items().first()) {
            return value.clone();
        }
    }
    for key in ["anyOf", "oneOf"] {
        let branches = schema.get(key).map_or(&[][..], Json::items);
        let branch = branches.iter().find(|branch| branch.text_at("type") != Some("null"));
        if let Some(branch) =
            branch.filter(|_| schema.get("properties").is_none() && depth < DEEPEST)
        {
            return sample_at(root, branch, depth + 1);
        }
    }
    let kinds = types(root, schema);
    let kind = kinds.iter().find(|kind| *kind != "null").map(String::as_str);
    let whole = |name: &str| schema.get(name).and_then(Json::as_f64);
    match kind {
        Some("string") => sample_text(schema),
        Some("integer") => {
            let low = whole("minimum")
                .map(f64::ceil)
                .or(whole("exclusiveMinimum").map(|n| n.floor() + 1.0));
            let high = whole("maximum").map(f64::floor);
            Json::from(low.or(high.filter(|high| *high < 1.0)).unwrap_or(1.0) as i64)
        }
        Some("number") => match whole("minimum").or(whole("exclusiveMinimum").map(|n| n + 1.0)) {
            Some(low) => Json::from(low),
            None => Json::from(1),
        },
        Some("boolean") => Json::Bool(false),
        Some("null") => Json::Null,
        Some("array") => {
            let least = schema.get("minItems").and_then(Json::as_i64).unwrap_or(0).clamp(0, 3);
            let item = |_| {
                schema
                    .get("items")
                    .map_or(Json::from("x"), |items| sample_at(root, items, depth + 1))
            };
            Json::Array((0..least).map(item).collect())
        }
        Some("object") => sample_object(root, schema, depth),
        _ if schema.get("properties").is_some() => sample_object(root, schema, depth),
        _ => Json::from("x"),
    }
}

fn sample_object(root: &Json, schema: &Json, depth: usize) -> Json {
    let mut out = Json::object();
    if depth > DEEPEST {
        return out;
    }
    for name in schema.get("required").map_or(&[][..], Json::items).iter().filter_map(Json::as_str)
    {
        let property = schema.get("properties").and_then(|properties| properties.get(name));
        out.push(
            name,
            property.map_or(Json::from("x"), |property| sample_at(root, property, depth + 1)),
        );
    }
    out
}

fn sample_text(schema: &Json) -> Json {
    let text = match schema.text_at("format") {
        Some("uri" | "url") => "https://example.invalid/",
        Some("date") => "2026-01-01",
        Some("date-time") => "2026-01-01T00:00:00Z",
        Some("email") => "a@example.invalid",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ => "x",
    };
    let least = schema.get("minLength").and_then(Json::as_i64).unwrap_or(0).clamp(0, 4096) as usize;
    let missing = least.saturating_sub(text.len());
    Json::from(format!("{text}{}", "x".repeat(missing)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    fn read(text: &str) -> Json {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn parameters_at_every_depth() {
        let schema = read(
            r##"{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/t"},"b":{"type":"array","items":{"type":"object","properties":{"c":{}}}}},"$defs":{"t":{"type":"string","enum":["x"]}}}"##,
        );
        let found = parameters(&schema);
        let paths: Vec<_> = found.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(paths, ["a", "b", "b[].c"]);
        assert!(found[0].required && found[0].types == ["string"]);
        assert_eq!(found[2].looseness(), ["no type", "no description"]);
    }

    #[test]
    fn circles_and_dead_ends_are_survived() {
        let schema = read(
            r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##,
        );
        assert!(parameters(&schema).is_empty());
        let tree = read(r##"{"type":"object","required":["n"],"properties":{"n":{"$ref":"#"}}}"##);
        assert!(parameters(&tree).len() < 20);
        sample(&tree, &tree);
    }

    #[test]
    fn samples_fit() {
        let schema = read(
            r#"{"type":"object","required":["s","n","e","u","l","f"],"properties":{"s":{"type":"string","minLength":3},"n":{"type":"integer","minimum":5},
            "e":{"enum":["q"]},"u":{"type":["null","boolean"]},"l":{"type":"array","minItems":1,"items":{"type":"number"}},"f":{"type":"string","format":"date"}}}"#,
        );
        assert_eq!(
            sample(&schema, &schema).to_string(),
            r#"{"s":"xxx","n":5,"e":"q","u":false,"l":[1],"f":"2026-01-01"}"#
        );
    }
}
