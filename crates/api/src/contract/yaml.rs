//! JSON values as YAML, in block style with every text quoted.

use serde_json::Value;

/// The value as a YAML document.
pub(super) fn print(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                out.push_str(&" ".repeat(indent));
                out.push_str(&key(name));
                out.push(':');
                nested(member, indent + 2, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                out.push_str(&" ".repeat(indent));
                out.push('-');
                nested(item, indent + 2, out);
            }
        }
        other => {
            out.push_str(&" ".repeat(indent));
            out.push_str(&other.to_string());
            out.push('\n');
        }
    }
}

fn nested(value: &Value, indent: usize, out: &mut String) {
    let is_block = match value {
        Value::Object(members) => !members.is_empty(),
        // Short lists of plain values read best on one line.
        Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array()),
        _ => false,
    };
    if is_block {
        out.push('\n');
        block(value, indent, out);
    } else {
        // JSON is YAML.
        out.push(' ');
        out.push_str(&value.to_string());
        out.push('\n');
    }
}

fn key(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if plain { name.to_owned() } else { Value::from(name).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_nest_and_texts_are_quoted() {
        let value = json!({"a": {"$ref": "#/x", "n": [1, 2]}, "b": [{"c": "yes"}], "d": {}});
        let wanted = "a:\n  \"$ref\": \"#/x\"\n  n: [1,2]\nb:\n  -\n    c: \"yes\"\nd: {}\n";
        assert_eq!(print(&value), wanted);
    }
}
