//! Data types as C declarations, from the rows that describe them.

use super::program::{Program, text};
use serde_json::{Value, json};
use std::fmt::Write;

/// Kinds of types that have a declaration.
pub const DECLARED: [&str; 5] = ["struct", "union", "enum", "typedef", "function"];

/// Deepest nesting of pointers and arrays that is spelled out.
const DEEPEST: usize = 64;

/// Types with all their members, of those that have a declaration.
pub fn described(program: &Program, filter: Value) -> anyhow::Result<Vec<Value>> {
    let rows = program.all("data_type.list", json!({ "filter": filter }))?;
    let declared = rows.iter().filter(|row| DECLARED.contains(&text(row, "kind")));
    let whole =
        |row: &Value| program.call("data_type.get", json!({ "selector": { "path": row["path"] } }));
    declared.map(whole).collect()
}

/// The declaration of a type that has one in C: a struct, union, enum, typedef or function type.
pub fn declaration(row: &Value) -> Option<String> {
    let name = c_name(text(row, "name"));
    match text(row, "kind") {
        kind @ ("struct" | "union") => Some(composite(kind, &name, row)),
        "enum" => Some(enumeration(&name, row)),
        "typedef" if row["base_type"].is_null() => None,
        "typedef" => Some(format!("typedef {};", declarator(&row["base_type"], &name))),
        "function" => function(&name, row),
        _ => None,
    }
}

fn composite(kind: &str, name: &str, row: &Value) -> String {
    let mut out = format!("{kind} {name} {{\n");
    for field in row["fields"].as_array().into_iter().flatten() {
        let offset = field["offset"].as_u64().unwrap_or_default();
        let called = match field["name"].as_str() {
            Some(name) => name.to_owned(),
            None => format!("field_{offset:#x}"),
        };
        let member = match field["is_undefined"] == true {
            true => filler(field, &called),
            false if is_text(&field["data_type"]) => format!("char {called}[{}]", field["length"]),
            false => declarator(&field["data_type"], &called),
        };
        let _ = writeln!(out, "    {member}; /* {offset:#x} */");
    }
    if row["truncated"] == true {
        out.push_str("    /* and more */\n");
    }
    let size = row["size"].as_u64().or(row["length"].as_u64()).unwrap_or_default();
    let _ = write!(out, "}}; /* {size} bytes */");
    out
}

/// A type's name; those made from prototypes hold what C takes for more than a name.
pub fn c_name(name: &str) -> String {
    name.replace(['(', ')', '*', '&', ' '], "_")
}

/// Whether a member is a text of fixed length.
fn is_text(data_type: &Value) -> bool {
    text(data_type, "name").trim_start_matches('/') == "string"
}

/// Bytes of a struct of which nothing is known.
fn filler(field: &Value, name: &str) -> String {
    match field["length"].as_u64() {
        Some(1) | None => format!("undefined1 {name}"),
        Some(length) => format!("undefined1 {name}[{length}]"),
    }
}

fn enumeration(name: &str, row: &Value) -> String {
    let mut out = format!("enum {name} {{\n");
    for value in row["values"].as_array().into_iter().flatten() {
        let _ = writeln!(out, "    {} = {},", text(value, "name"), value["value"]);
    }
    out.push_str("};");
    out
}

fn function(name: &str, row: &Value) -> Option<String> {
    let signature = &row["signature"];
    if let Some(text) = signature.as_str() {
        return Some(format!("typedef {};", text.trim_end_matches(';')));
    }
    let parameters = signature["parameters"].as_array()?;
    let mut taken: Vec<String> = parameters
        .iter()
        .map(|parameter| declarator(&parameter["data_type"], text(parameter, "name")))
        .collect();
    if signature["has_var_args"] == true {
        taken.push("...".to_owned());
    }
    if taken.is_empty() {
        taken.push("void".to_owned());
    }
    let called = format!("{name}({})", taken.join(", "));
    Some(format!("typedef {};", declarator(&signature["return_type"], &called)))
}

/// A type around a name, as C writes it: `char *name[4]`.
fn declarator(data_type: &Value, name: &str) -> String {
    let (mut data_type, mut name) = (data_type, name.to_owned());
    for _ in 0..DEEPEST {
        match text(data_type, "kind") {
            "pointer" => {
                name = format!("*{name}");
                data_type = &data_type["target"];
            }
            "untyped_pointer" => return format!("void *{name}"),
            "array" => {
                let inner = if name.starts_with('*') { format!("({name})") } else { name };
                name = format!("{inner}[{}]", data_type["count"]);
                data_type = &data_type["element"];
            }
            _ => break,
        }
    }
    let base = text(data_type, "name");
    let base = &c_name(base.rsplit('/').next().unwrap_or(base));
    // A field of bits has its width behind its type.
    match base.split_once(':') {
        Some((base, bits)) if bits.parse::<u8>().is_ok() => format!("{base} {name}:{bits}"),
        _ if name.is_empty() => base.to_owned(),
        _ => format!("{base} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::declaration;
    use serde_json::json;

    #[test]
    fn pointers_and_arrays_stand_around_the_name() {
        let named = |name: &str| json!({ "kind": "named", "name": name });
        let row = |base| json!({ "kind": "typedef", "name": "t", "base_type": base });
        let of = |base| declaration(&row(base)).expect("a declaration");
        let pointer = |target| json!({ "kind": "pointer", "target": target });
        let array = |element| json!({ "kind": "array", "element": element, "count": 4 });
        assert_eq!(of(pointer(named("/shop/item"))), "typedef item *t;");
        assert_eq!(of(array(pointer(named("/char")))), "typedef char *t[4];");
        assert_eq!(of(pointer(array(named("/char")))), "typedef char (*t)[4];");
    }
}
