//! Headers that mirror the body, so that machines in between need not read it.

use crate::json::Json;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// One argument that is mirrored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderRule {
    /// Member names from the arguments down to the value.
    pub path: Vec<String>,
    /// Name after `Mcp-Param-`.
    pub header: String,
}

const KEY: &str = "x-mcp-header";

/// The headers of every modern request.
pub fn standard(method: &str, params: &Json, version: &str) -> Vec<(String, String)> {
    let meta = params
        .at("_meta")
        .and_then(|meta| meta.text_at_name("io.modelcontextprotocol/protocolVersion"));
    let mut headers = vec![
        ("MCP-Protocol-Version".to_string(), meta.unwrap_or(version).to_string()),
        ("Mcp-Method".to_string(), encode(method)),
    ];
    let name = match method {
        "tools/call" | "prompts/get" => params.text_at("name"),
        "resources/read" => params.text_at("uri"),
        _ => None,
    };
    if let Some(name) = name {
        headers.push(("Mcp-Name".into(), encode(name)));
    }
    headers
}

impl Json {
    /// The text of a member whose name may hold slashes.
    fn text_at_name(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Json::as_str)
    }
}

/// A value as it may stand in a header: plain when it is safe, else in base64.
fn encode(value: &str) -> String {
    let plain = value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && value.trim() == value
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    if plain { value.to_string() } else { format!("=?base64?{}?=", STANDARD.encode(value)) }
}

/// Which arguments of a tool are mirrored; `Err` says why its declarations are
/// wrong, in which case a client must leave the tool out.
pub fn header_rules(tool: &Json) -> Result<Vec<HeaderRule>, String> {
    let mut rules = Vec::new();
    if let Some(schema) = tool.get("inputSchema") {
        walk(schema, &mut Vec::new(), true, &mut rules)?;
    }
    let mut seen = std::collections::HashSet::new();
    for rule in &rules {
        if !seen.insert(rule.header.to_ascii_lowercase()) {
            return Err(format!("the header {:?} is declared twice", rule.header));
        }
    }
    Ok(rules)
}

fn walk(
    schema: &Json,
    path: &mut Vec<String>,
    reachable: bool,
    rules: &mut Vec<HeaderRule>,
) -> Result<(), String> {
    if let Some(name) = schema.get(KEY) {
        rules.push(rule(schema, name, path, reachable)?);
    }
    for (key, value) in schema.members() {
        match key.as_str() {
            "properties" => {
                for (name, property) in value.members() {
                    path.push(name.as_str().into());
                    walk(property, path, reachable, rules)?;
                    path.pop();
                }
            }
            // Values, not schemas.
            "default" | "const" | "enum" | "examples" => {}
            _ => {
                for item in std::iter::once(value).chain(value.items()) {
                    if item.is_object() {
                        walk(item, path, false, rules)?;
                    }
                }
                if matches!(
                    key.as_str(),
                    "$defs" | "definitions" | "patternProperties" | "dependentSchemas"
                ) {
                    for (_, inner) in value.members() {
                        walk(inner, path, false, rules)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn rule(
    schema: &Json,
    name: &Json,
    path: &[String],
    reachable: bool,
) -> Result<HeaderRule, String> {
    let place = path.join(".");
    let Some(name) = name.as_str() else {
        return Err(format!("{KEY} at {place:?} is not text"));
    };
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Err(format!("{KEY} {name:?} at {place:?} is no header name"));
    }
    if path.is_empty() || !reachable {
        return Err(format!(
            "{KEY} {name:?} stands where no argument can be found without evaluating the schema"
        ));
    }
    match schema.text_at("type") {
        Some("string" | "integer" | "boolean") => {}
        other => {
            return Err(format!(
                "{KEY} {name:?} at {place:?} is on type {other:?}; only plain values can be mirrored"
            ));
        }
    }
    Ok(HeaderRule { path: path.to_vec(), header: name.into() })
}

/// The headers for one call. Absent and null arguments have none.
pub fn param_headers(rules: &[HeaderRule], arguments: &Json) -> Vec<(String, String)> {
    let value = |rule: &HeaderRule| {
        let value = rule.path.iter().try_fold(arguments, |here, name| here.get(name))?;
        let text = match value {
            Json::String(text) => text.as_str().to_string(),
            Json::Number(_) | Json::Bool(_) => value.to_string(),
            _ => return None,
        };
        Some((format!("Mcp-Param-{}", rule.header), encode(&text)))
    };
    rules.iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    fn rules(schema: &str) -> Result<Vec<HeaderRule>, String> {
        header_rules(&parse(format!("{{\"inputSchema\":{schema}}}").as_bytes()).unwrap())
    }

    #[test]
    fn arguments_are_mirrored() {
        let rules = rules(
            r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
            "o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}"#,
        )
        .unwrap();
        let headers =
            param_headers(&rules, &parse(r#"{"region":" é","o":{"n":3}}"#.as_bytes()).unwrap());
        assert_eq!(headers[0], ("Mcp-Param-Region".into(), "=?base64?IMOp?=".into()));
        assert_eq!(headers[1], ("Mcp-Param-N".into(), "3".into()));
        assert!(param_headers(&rules, &parse(br#"{"region":null}"#).unwrap()).is_empty());
    }

    #[test]
    fn wrong_declarations_are_refused() {
        for schema in [
            r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#,
            r#"{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
            r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#,
            r#"{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#,
        ] {
            assert!(rules(schema).is_err(), "{schema}");
        }
    }
}
