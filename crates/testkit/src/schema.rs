//! A checker for the part of JSON Schema that the bridge publishes. It shares no
//! code with the bridge, and a keyword it does not know is an error, not a pass.

use serde_json::{Map, Value};

/// Deepest nesting that is followed.
const MAX_DEPTH: usize = 64;

/// Says the first way in which `value` breaks `schema`, with the place in it.
pub fn check(schema: &Value, value: &Value) -> Result<(), String> {
    Checker { root: schema }.check(schema, value, "", 0)
}

struct Checker<'a> {
    root: &'a Value,
}

impl Checker<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("{at}: nested too deeply"));
        }
        let keywords = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Bool(false) => return Err(format!("{at}: nothing is allowed here")),
            Value::Object(keywords) => keywords,
            other => return Err(format!("{at}: {other} is no schema")),
        };
        for (keyword, rule) in keywords {
            self.check_keyword(keyword, rule, keywords, value, at, depth)?;
        }
        Ok(())
    }

    fn check_keyword(
        &self,
        keyword: &str,
        rule: &Value,
        keywords: &Map<String, Value>,
        value: &Value,
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        match keyword {
            "$ref" => {
                let target = self.target(rule).ok_or(format!("{at}: {rule} leads nowhere"))?;
                self.check(target, value, at, depth + 1)
            }
            "oneOf" => self.check_alternatives(rule, value, at, depth, true),
            "anyOf" => self.check_alternatives(rule, value, at, depth, false),
            "allOf" => {
                let mut all = rule.as_array().into_iter().flatten();
                all.try_for_each(|schema| self.check(schema, value, at, depth + 1))
            }
            "properties"
            | "required"
            | "additionalProperties"
            | "minProperties"
            | "maxProperties" => match value {
                Value::Object(members) => {
                    self.check_members(keyword, rule, keywords, members, at, depth)
                }
                _ => Ok(()),
            },
            "items" | "minItems" | "maxItems" | "uniqueItems" => match value {
                Value::Array(items) => self.check_items(keyword, rule, items, at, depth),
                _ => Ok(()),
            },
            _ => check_plain(keyword, rule, value, at),
        }
    }

    fn target(&self, reference: &Value) -> Option<&Value> {
        self.root.pointer(reference.as_str()?.strip_prefix('#')?)
    }

    fn check_alternatives(
        &self,
        rule: &Value,
        value: &Value,
        at: &str,
        depth: usize,
        exactly_one: bool,
    ) -> Result<(), String> {
        let mut reasons = Vec::new();
        let mut fitting = 0;
        for schema in rule.as_array().into_iter().flatten() {
            match self.check(schema, value, at, depth + 1) {
                Ok(()) => fitting += 1,
                Err(reason) => reasons.push(reason),
            }
        }
        match fitting {
            0 => Err(format!("{at}: fits no alternative ({})", reasons.join("; "))),
            1 => Ok(()),
            _ if exactly_one => Err(format!("{at}: fits {fitting} alternatives, not one")),
            _ => Ok(()),
        }
    }

    fn check_members(
        &self,
        keyword: &str,
        rule: &Value,
        keywords: &Map<String, Value>,
        members: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        let known = keywords.get("properties").and_then(Value::as_object);
        match keyword {
            "properties" => {
                for (name, schema) in rule.as_object().into_iter().flatten() {
                    if let Some(member) = members.get(name) {
                        self.check(schema, member, &format!("{at}/{name}"), depth + 1)?;
                    }
                }
                Ok(())
            }
            "required" => {
                let names = rule.as_array().into_iter().flatten().filter_map(Value::as_str);
                match names.into_iter().find(|name| !members.contains_key(*name)) {
                    Some(name) => Err(format!("{at}: {name} is missing")),
                    None => Ok(()),
                }
            }
            "additionalProperties" => {
                let others = members.iter();
                for (name, member) in
                    others.filter(|(n, _)| known.is_none_or(|k| !k.contains_key(*n)))
                {
                    let place = format!("{at}/{name}");
                    if rule == &Value::Bool(false) {
                        return Err(format!("{place}: not in the schema"));
                    }
                    self.check(rule, member, &place, depth + 1)?;
                }
                Ok(())
            }
            "minProperties" => at_least(members.len(), rule, at),
            _ => at_most(members.len(), rule, at),
        }
    }

    fn check_items(
        &self,
        keyword: &str,
        rule: &Value,
        items: &[Value],
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        match keyword {
            "items" => items.iter().enumerate().try_for_each(|(index, item)| {
                self.check(rule, item, &format!("{at}/{index}"), depth + 1)
            }),
            "minItems" => at_least(items.len(), rule, at),
            "maxItems" => at_most(items.len(), rule, at),
            _ => {
                let twice = items.iter().enumerate().any(|(i, item)| items[..i].contains(item));
                if twice && rule == &Value::Bool(true) {
                    return Err(format!("{at}: an item stands twice"));
                }
                Ok(())
            }
        }
    }
}

/// Keywords that look at one value without going deeper.
fn check_plain(keyword: &str, rule: &Value, value: &Value, at: &str) -> Result<(), String> {
    let text = value.as_str();
    let fine = match keyword {
        "type" => match rule {
            Value::Array(names) => names.iter().any(|name| has_type(value, name)),
            name => has_type(value, name),
        },
        "enum" => rule.as_array().is_some_and(|values| values.contains(value)),
        "const" => rule == value,
        "minimum" => number(value).is_none_or(|n| number(rule).is_some_and(|limit| n >= limit)),
        "maximum" => number(value).is_none_or(|n| number(rule).is_some_and(|limit| n <= limit)),
        "minLength" => match text {
            Some(text) => return at_least(text.chars().count(), rule, at),
            None => true,
        },
        "maxLength" => match text {
            Some(text) => return at_most(text.chars().count(), rule, at),
            None => true,
        },
        // Notes, and patterns: their meaning is tested where they are made.
        "title" | "description" | "default" | "examples" | "$schema" | "$defs" | "definitions"
        | "shared_defs" | "pattern" | "format" => true,
        unknown => return Err(format!("{at}: the keyword {unknown} is not known here")),
    };
    if fine { Ok(()) } else { Err(format!("{at}: {value} breaks {keyword} {rule}")) }
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        _ => false,
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn at_least(count: usize, rule: &Value, at: &str) -> Result<(), String> {
    match rule.as_u64() {
        Some(limit) if (count as u64) >= limit => Ok(()),
        _ => Err(format!("{at}: {count} is fewer than {rule}")),
    }
}

fn at_most(count: usize, rule: &Value, at: &str) -> Result<(), String> {
    match rule.as_u64() {
        Some(limit) if (count as u64) <= limit => Ok(()),
        _ => Err(format!("{at}: {count} is more than {rule}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reason(schema: Value, value: Value) -> String {
        check(&schema, &value).expect_err("must not fit")
    }

    #[test]
    fn members_are_checked_with_their_place() {
        let schema = json!({
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "integer", "minimum": 1}}},
            "required": ["a"],
            "additionalProperties": false,
        });
        assert_eq!(check(&schema, &json!({"a": [1, 2]})), Ok(()));
        assert_eq!(reason(schema.clone(), json!({"a": [1, 0]})), "/a/1: 0 breaks minimum 1");
        assert_eq!(reason(schema.clone(), json!({})), ": a is missing");
        assert_eq!(reason(schema.clone(), json!({"a": [], "b": 1})), "/b: not in the schema");
        assert_eq!(reason(schema, json!(7)), ": 7 breaks type \"object\"");
    }

    #[test]
    fn references_and_alternatives_are_followed() {
        let schema = json!({
            "$defs": {"word": {"type": "string", "minLength": 1}},
            "oneOf": [{"$ref": "#/$defs/word"}, {"type": "integer"}],
        });
        assert_eq!(check(&schema, &json!("a")), Ok(()));
        assert_eq!(check(&schema, &json!(3)), Ok(()));
        assert!(reason(schema, json!("")).contains("fits no alternative"));
        let both = json!({"oneOf": [{"type": "number"}, {"type": "integer"}]});
        assert!(reason(both, json!(1)).contains("fits 2"));
        assert!(reason(json!({"$ref": "#/x"}), json!(1)).contains("leads nowhere"));
    }

    #[test]
    fn an_unknown_keyword_is_no_pass() {
        assert!(reason(json!({"multipleOf": 2}), json!(4)).contains("multipleOf"));
        assert!(check(&json!({"$defs": {}, "$ref": "#"}), &json!(1)).is_err(), "endless");
    }
}
