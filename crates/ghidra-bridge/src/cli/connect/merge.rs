//! An entry merged into a configuration file: everything else stays as it is, comments included.

use super::clients::{Client, Format};
use anyhow::{Context, bail};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::{Value, json};
use toml_edit::{Array, DocumentMut, Item, Table, value};

/// JSON as the clients read it: with comments and commas at the end, and nothing else besides.
const DIALECT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The entry as a file of its own.
pub fn alone(client: &Client, name: &str, entry: &Value) -> anyhow::Result<String> {
    match client.format {
        Format::Json => Ok(pretty(&json!({ client.servers: { name: entry } }), 0)),
        Format::Toml => toml("", client.servers, name, entry),
    }
}

/// JSON as people write it: lists of words on one line.
fn pretty(value: &Value, depth: usize) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let indent = "  ".repeat(depth + 1);
            let line = |(name, value): (&String, &Value)| {
                format!("{indent}{}: {}", Value::from(name.as_str()), pretty(value, depth + 1))
            };
            let lines: Vec<String> = members.iter().map(line).collect();
            format!("{{\n{}\n{}}}", lines.join(",\n"), "  ".repeat(depth))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| pretty(item, depth + 1)).collect();
            format!("[{}]", items.join(", "))
        }
        value => value.to_string(),
    }
}

/// A JSON file, with or without comments, with the entry in it.
pub fn json(old: &str, servers: &str, name: &str, entry: &Value) -> anyhow::Result<String> {
    let root = CstRootNode::parse(old, &DIALECT)
        .map_err(|error| anyhow::anyhow!("it is not JSON: {error}"))?;
    let object = root.object_value_or_create().context("it holds no JSON object")?;
    let Some(list) = object.object_value_or_create(servers) else {
        bail!("its member {servers} is not an object");
    };
    match list.get(name) {
        Some(known) if known.value().is_some_and(|known| same(&known.to_string(), entry)) => {}
        Some(known) => known.set_value(input(entry)),
        None => {
            list.append(name, input(entry));
        }
    }
    let text = root.to_string();
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}

fn same(text: &str, entry: &Value) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|known| known == *entry)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => CstInputValue::Object(
            members.iter().map(|(name, value)| (name.clone(), input(value))).collect(),
        ),
    }
}

/// A TOML file with the entry in it.
pub fn toml(old: &str, servers: &str, name: &str, entry: &Value) -> anyhow::Result<String> {
    let mut document: DocumentMut = old.parse().map_err(|error: toml_edit::TomlError| {
        anyhow::anyhow!("it is not TOML: {}", error.message())
    })?;
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let list = document.entry(servers).or_insert_with(implicit);
    let Some(list) = list.as_table_like_mut() else { bail!("its member {servers} is no table") };
    let known = list.entry(name).or_insert_with(|| Item::Table(Table::new()));
    let Some(known) = known.as_table_like_mut() else {
        bail!("its member {servers}.{name} is no table")
    };
    for (member, wanted) in entry.as_object().into_iter().flatten() {
        let item = match wanted {
            Value::String(text) => value(text.as_str()),
            Value::Bool(flag) => value(*flag),
            Value::Array(words) => value(words.iter().filter_map(Value::as_str).collect::<Array>()),
            _ => bail!("{member} has no form in TOML"),
        };
        known.insert(member, item);
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::{json, toml};

    #[test]
    fn comments_and_other_servers_stay() {
        let entry = json!({ "command": "/x/ghidra-bridge", "args": ["stdio", "/bin/ls"] });
        let old = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}, // keep\n  },\n}\n";
        let new = json(old, "mcpServers", "ghidra", &entry).expect("it merges");
        assert!(
            new.contains("// mine") && new.contains("// keep") && new.contains("\"other\""),
            "{new}"
        );
        assert!(new.contains("\"/x/ghidra-bridge\""), "{new}");
        assert_eq!(
            json(&new, "mcpServers", "ghidra", &entry).expect("again"),
            new,
            "twice is once"
        );
        let old = "# mine\nmodel = \"x\"\n\n[mcp_servers.other] # keep\ncommand = \"x\"\n";
        let new = toml(old, "mcp_servers", "ghidra", &entry).expect("it merges");
        assert!(new.starts_with(old) && new.contains("[mcp_servers.ghidra]\ncommand ="), "{new}");
        assert_eq!(
            toml(&new, "mcp_servers", "ghidra", &entry).expect("again"),
            new,
            "twice is once"
        );
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        let entry = json!({ "command": "x" });
        for old in ["{", "[]", "3", "{\"mcpServers\": []}", "{} {}"] {
            assert!(json(old, "mcpServers", "ghidra", &entry).is_err(), "{old}");
        }
        for old in ["a", "mcp_servers = 3", "[mcp_servers]\nghidra = 3"] {
            assert!(toml(old, "mcp_servers", "ghidra", &entry).is_err(), "{old}");
        }
        assert!(json("", "mcpServers", "ghidra", &entry).expect("a new file").contains("\"x\""));
    }
}
