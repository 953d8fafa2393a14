//! Our schemas against the reference contract, difference by difference.
//!
//! The reference lies beside the checkout and is not part of it. Without it
//! the test says so and passes, unless `CI=true`.

use std::collections::BTreeSet;
use std::path::Path;

use api::registry;
use serde_json::{Map, Value, json};

/// Differences we want, as patterns of the printed lines (`*` stands for anything), each with its reason.
const ACCEPTED: &[(&str, &str)] = &[
    ("interface.get result/properties/methods/m*Items: 53 became 56", "three methods more"),
    ("*/oneOf/4 + {*[\"c\"]*", "types may be written as C text"),
    (
        "data_type.create params/properties/resource/oneOf/5 + {*[\"c\"]*",
        "definitions may be C text",
    ),
    (
        "data_type.upsert params/properties/resource/*",
        "definitions may be C text, so there are alternatives",
    ),
    ("data_type.* result/*properties/items + *", "the types made from C text"),
    ("data_type.* params/*fields/items/enum + \"item*\"", "the types made from C text"),
    ("data_type.* result/*properties/item_count + *", "the types made from C text"),
    ("data_type.* params/*fields/items/enum + \"variables\"", "what C text declares beside types"),
    ("data_type.* result/*properties/variables + *", "what C text declares beside types"),
    ("* result/*properties/truncated + *", "long nested lists are cut, not refused"),
    ("* params/*fields/items/enum + \"truncated\"", "long nested lists are cut, not refused"),
    ("program.get result/properties/* + *", "identity of the file and state of the program"),
    ("program.get params/*fields/items/enum + *", "identity of the file and state of the program"),
    ("memory.read result/required + *", "the address is always answered"),
    (
        "data_unit.list params/properties/filter/properties/* + *",
        "strings and types can be asked for",
    ),
    ("function* result/*properties/id + *", "variables have an id that survives renames"),
    (
        "function.* params/*fields/items/enum + \"*.id\"",
        "variables have an id that survives renames",
    ),
    (
        "function_local_variable.patch params/properties/selector/*",
        "the id may stand in place of the name",
    ),
    (
        "function.patch params/properties/patch/properties/prototype + *",
        "a whole prototype in one step",
    ),
    ("analysis.* result/properties/* + *", "what analysis does and what went wrong"),
    ("analysis.get params/*fields/items/enum + *", "what analysis does and what went wrong"),
    ("decompilation.get params/properties/lines + *", "long C text can be read in parts"),
    ("decompilation.get result/properties/*line* + *", "long C text can be read in parts"),
    ("decompilation.get params/*fields/items/enum + \"line*", "long C text can be read in parts"),
    ("decompilation.get result/properties/parameters + *", "the variables of the text have rows"),
    ("decompilation.get result/properties/local* + *", "the variables of the text have rows"),
    ("decompilation.get params/*fields/items/enum + \"loc*", "the variables of the text have rows"),
    ("decompilation.get params/*fields/items/enum + \"par*", "the variables of the text have rows"),
    ("reference.list params/properties/filter/properties/type/*", "several types may be asked for"),
    ("* result/properties/analysis + *", "answers say that analysis still runs"),
    ("* params/properties/scan + {*wait_ms*", "reads can wait for the end of analysis"),
    ("* params/properties/scan/properties/wait_ms + *", "reads can wait for the end of analysis"),
    ("analysis.get params/properties/wait_ms + *", "reads can wait for the end of analysis"),
    ("address.resolve *namesake*", "a symbol is called as the address reads"),
    ("data_unit.list params/*fields/items/enum + *", "names of data, and where it points"),
    ("data_unit.list result/properties/items/items/properties/* + *", "names and targets of data"),
    ("instruction.list params/properties/filter/properties/function + *", "by function"),
    ("symbol.list params/properties/filter/properties/* + *", "imports and exports are listed"),
    ("symbol.* *entry_point*", "exports are listed"),
    ("reference.list params/properties/filter/properties/*_function + *", "by function"),
    ("reference.list params/properties/filter/required - *", "the given end is the direction"),
    ("reference.list params/*fields/items/enum + *", "functions, names and texts at the ends"),
    ("reference.list result/properties/items/items/properties/* + *", "what is at the ends"),
    ("* result/*/required - *", "a projection of nested members leaves the others out"),
    ("*instruction.* params/*fields/items/enum + \"text\"", "instructions as listing lines"),
    ("*instruction.* result/*properties/text + *", "instructions as listing lines"),
    ("flow_override.* params/*fields/items/enum + \"text\"", "instructions as listing lines"),
    ("flow_override.* result/*properties/text + *", "instructions as listing lines"),
    ("batch.execute result/*/error/required + *", "an error always has its five members"),
];

#[test]
fn schemas_equal_the_reference_but_for_listed_differences() {
    let Some(reference) = reference() else { return };
    let mut found = Vec::new();
    for theirs in reference["methods"].as_array().expect("a list of methods") {
        let name = theirs["name"].as_str().expect("has a name");
        let Some(ours) = registry().find(name) else {
            found.push(format!("{name}: missing"));
            continue;
        };
        compare(&reference, name, "params", &theirs["params"], ours.input_schema(), &mut found);
        compare(&reference, name, "result", &theirs["result"], ours.output_schema(), &mut found);
        if Value::Object(ours.effects().to_json()) != theirs["effects"] {
            found.push(format!("{name}: effects differ"));
        }
        if theirs["batchable"] != ours.batchable() {
            found.push(format!("{name}: batchable differs"));
        }
        if theirs["operation"].as_str().is_some_and(|operation| operation != ours.operation()) {
            found.push(format!("{name}: operation is {}", ours.operation()));
        }
    }
    let mut used = BTreeSet::new();
    let unexpected: Vec<&String> =
        found.iter().filter(|line| accept(line, &mut used).is_none()).collect();
    for (pattern, _) in ACCEPTED {
        assert!(
            used.contains(pattern),
            "nothing differs any more by {pattern}; strike it off the list"
        );
    }
    assert!(unexpected.is_empty(), "{} differences:\n{unexpected:#?}", unexpected.len());
}

#[test]
fn methods_stand_in_the_reference_order() {
    let Some(reference) = reference() else { return };
    let theirs: Vec<&str> = reference["methods"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|m| m["name"].as_str())
        .collect();
    let ours: Vec<&str> = registry()
        .methods()
        .iter()
        .map(api::Method::name)
        .filter(|name| theirs.contains(name))
        .collect();
    assert_eq!(ours, theirs);
}

fn accept(line: &str, used: &mut BTreeSet<&str>) -> Option<()> {
    let mut fits = false;
    for (pattern, _) in ACCEPTED {
        if matches(pattern, line) {
            used.insert(pattern);
            fits = true;
        }
    }
    fits.then_some(())
}

/// A pattern in which `*` stands for any text.
fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    for (index, part) in parts.iter().enumerate() {
        if index + 1 == parts.len() && !part.is_empty() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    parts.last().is_some_and(|last| last.is_empty()) || rest.is_empty()
}

fn reference() -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/contract/methods.json");
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).expect("the reference is JSON")),
        Err(fault) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "no reference contract: {fault}");
            println!("skipped: no reference contract beside the checkout ({fault})");
            None
        }
    }
}

/// The alternatives of a batch repeat the other methods' schemas, which are compared where they stand.
fn without_alternatives(mut schema: Value) -> Value {
    if let Some(items) = schema.pointer_mut("/properties/items/items")
        && items["oneOf"][0]["properties"].get("method").is_some()
    {
        *items = json!({ "type": "object" });
    }
    schema
}

fn compare(
    document: &Value,
    name: &str,
    part: &str,
    theirs: &Value,
    ours: &Value,
    found: &mut Vec<String>,
) {
    let theirs = normal(theirs, document, 0);
    let ours = normal(ours, ours, 0);
    let (theirs, ours) = (without_alternatives(theirs), without_alternatives(ours));
    differences(&format!("{name} {part}"), &theirs, &ours, found);
}

/// Both schemas with references followed (types nest only so deep here) and without what says nothing.
fn normal(schema: &Value, document: &Value, depth: u32) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
        let recursive = reference.ends_with("/data_type_reference");
        if recursive && depth > 0 {
            return json!({ "$ref": "data_type_reference" });
        }
        let target = document.pointer(&reference[1..]).expect("the reference leads somewhere");
        return normal(target, document, depth + u32::from(recursive));
    }
    let mut result = Map::new();
    for (keyword, value) in members {
        let plain = match (keyword.as_str(), value) {
            ("description" | "$defs" | "maxLength", _) => continue,
            ("minItems", count) if count == 0 => continue,
            ("maxItems", count) if count == i32::MAX => continue,
            ("properties", Value::Object(inner)) => Value::Object(
                inner.iter().map(|(k, v)| (k.clone(), normal(v, document, depth))).collect(),
            ),
            ("oneOf", Value::Array(inner)) => {
                inner.iter().map(|v| normal(v, document, depth)).collect()
            }
            ("items", inner) => normal(inner, document, depth),
            (_, other) => other.clone(),
        };
        result.insert(keyword.clone(), plain);
    }
    Value::Object(result)
}

fn differences(at: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys().filter(|key| !left.contains_key(*key))) {
                let at = format!("{at}/{key}");
                match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => differences(&at, left, right, found),
                    (Some(left), None) => found.push(format!("{at} - {}", short(left))),
                    (None, Some(right)) => found.push(format!("{at} + {}", short(right))),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(left), Value::Array(right))
            if left.iter().all(Value::is_object) && !left.is_empty() =>
        {
            for index in 0..left.len().max(right.len()) {
                let at = format!("{at}/{index}");
                match (left.get(index), right.get(index)) {
                    (Some(left), Some(right)) => differences(&at, left, right, found),
                    (Some(left), None) => found.push(format!("{at} - {}", short(left))),
                    (None, Some(right)) => found.push(format!("{at} + {}", short(right))),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            let missing = left.iter().filter(|value| !right.contains(value));
            found.extend(missing.map(|value| format!("{at} - {}", short(value))));
            let added = right.iter().filter(|value| !left.contains(value));
            found.extend(added.map(|value| format!("{at} + {}", short(value))));
        }
        (Value::Number(left), Value::Number(right)) if left.as_f64() == right.as_f64() => {}
        (left, right) if left == right => {}
        (left, right) => found.push(format!("{at}: {} became {}", short(left), short(right))),
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    text.chars().take(120).collect()
}
