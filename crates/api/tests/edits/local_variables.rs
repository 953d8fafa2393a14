//! Local variables: renamed, retyped, found again.

use serde_json::{Value, json};

use crate::fixture::{Fixture, open, renamed, words};

fn rows(decompiled: &Value, list: &str) -> Vec<(String, Option<String>)> {
    let rows = decompiled[list].as_array().expect("is a list");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    rows.iter().map(|row| (text(&row["name"]).expect("has a name"), text(&row["id"]))).collect()
}

fn rename(entry: &str, selector: (&str, &str), name: &str) -> Value {
    json!({"selector": {"entry": entry, selector.0: selector.1}, "patch": {"name": name}})
}

/// Renames every variable of every function, one after the other.
fn every_rename_changes_the_name_only(fixture: &str, at_least: u32) {
    let f = open(fixture);
    let mut renames = 0;
    for entry in f.entries() {
        let mut before = f.decompiled(&entry);
        let variables = rows(&before, "local_variables");
        for (index, (name, id)) in variables.iter().enumerate() {
            let Some(id) = id else { continue };
            let new = format!("given_{index}");
            // By name and by id in turn.
            let by = if index % 2 == 0 { ("name", name.as_str()) } else { ("id", id.as_str()) };
            let reply = f.good("function_local_variable.patch", rename(&entry, by, &new));
            assert_eq!((&reply["name"], &reply["id"]), (&json!(new), &json!(id)));
            let after = f.decompiled(&entry);
            let text = |reply: &Value| reply["c"].as_str().expect("is text").to_owned();
            assert_eq!(
                words(&text(&after)),
                renamed(&text(&before), name, &new),
                "{fixture} {entry}: {name} as {new}\n{}\n{}",
                text(&before),
                text(&after)
            );
            let expected: Vec<_> = rows(&before, "local_variables")
                .into_iter()
                .map(|(shown, id)| (if shown == *name { new.clone() } else { shown }, id))
                .collect();
            let mut now = rows(&after, "local_variables");
            let mut expected = expected;
            now.sort();
            expected.sort();
            assert_eq!(now, expected, "{fixture} {entry}: identities");
            before = after;
            renames += 1;
        }
    }
    assert!(renames >= at_least, "{fixture}: {renames} variables were renamed");
}

#[test]
fn renaming_changes_the_name_only_in_optimised_code() {
    every_rename_changes_the_name_only("inventory.x64.O2", 15);
    // Without symbols nothing says that `main` is a function, as in Ghidra.
    every_rename_changes_the_name_only("inventory.x64.O2.stripped", 14);
}

#[test]
fn renaming_changes_the_name_only_on_the_stack() {
    every_rename_changes_the_name_only("inventory.aarch64.O0", 15);
}

/// A function with several local variables, and one of them that a register of this size holds.
fn variable_of_size(f: &Fixture, size: u32) -> (String, String) {
    for entry in f.entries() {
        let decompiled = f.decompiled(&entry);
        let rows = decompiled["local_variables"].as_array().expect("is a list");
        for row in rows.iter().filter(|_| rows.len() > 1) {
            let storage = row["storage"]["serialization"].as_str().expect("is text");
            if storage.starts_with("register:") && storage.ends_with(&format!(":{size}")) {
                return (entry, row["name"].as_str().expect("is text").to_owned());
            }
        }
    }
    panic!("no variable of {size} bytes in a register");
}

#[test]
fn a_retyped_variable_keeps_name_and_identity() {
    let f = open("inventory.x64.O2.stripped");
    let (entry, name) = variable_of_size(&f, 8);
    let before = f.decompiled(&entry);
    let pointer = json!({"kind": "c", "declaration": "unsigned short *"});
    let patch =
        json!({"selector": {"entry": entry, "name": name}, "patch": {"data_type": pointer}});
    let reply = f.good("function_local_variable.patch", patch.clone());
    assert_eq!(reply["name"], json!(name));
    let after = f.decompiled(&entry);
    let text = after["c"].as_str().expect("is text");
    assert!(text.contains(&format!("ushort *{name};")), "{text}");
    let id = |reply: &Value| {
        rows(reply, "local_variables").into_iter().find(|(shown, _)| *shown == name)
    };
    assert_eq!(id(&after), id(&before));
    assert_eq!(f.good("function_local_variable.patch", patch), reply, "twice is once");
    let kept = f.good("function.get", json!({"selector": {"entry": entry}}));
    assert!(rows(&kept, "local_variables").contains(&id(&after).expect("is there")));
}

#[test]
fn a_retyped_place_of_the_stack_takes_the_room_that_it_needs() {
    let f = open("inventory.aarch64.O0");
    let mut retyped = 0;
    for entry in f.entries() {
        let row = f.good("function.get", json!({"selector": {"entry": entry}}));
        for local in row["local_variables"].as_array().expect("is a list") {
            let storage = local["storage"]["serialization"].as_str().expect("is text");
            let name = local["name"].as_str().expect("is text");
            if !storage.ends_with(":4") || !f.text(&entry).contains(&format!("{name};")) {
                continue;
            }
            let float = json!({"kind": "named", "name": "float"});
            let patch =
                json!({"selector": {"entry": entry, "name": name}, "patch": {"data_type": float}});
            f.good("function_local_variable.patch", patch);
            let text = f.text(&entry);
            assert!(text.contains(&format!("float {name};")), "{entry} {name}\n{text}");
            let huge = json!({"kind": "c", "declaration": "char[65536]"});
            let patch =
                json!({"selector": {"entry": entry, "name": name}, "patch": {"data_type": huge}});
            let fault = f.bad("function_local_variable.patch", patch);
            assert_eq!(fault, (400, "invalid_request", "/params/patch/data_type".to_owned()));
            retyped += 1;
            break;
        }
    }
    assert!(retyped >= 2, "{retyped} variables were retyped");
}

#[test]
fn refusals_say_where_and_why() {
    let f = open("inventory.x64.O2.stripped");
    let (entry, name) = variable_of_size(&f, 8);
    let other = rows(&f.decompiled(&entry), "local_variables");
    let other = other.iter().find(|(shown, _)| *shown != name).expect("has several").0.clone();
    let params = |selector: Value, patch: Value| json!({"selector": selector, "patch": patch});
    let named = json!({"entry": entry, "name": name});
    let x = json!({"name": "x"});
    let typed = |name: &str| json!({"data_type": {"kind": "named", "name": name}});
    let name_target = "/params/patch/name";
    let type_target = "/params/patch/data_type";
    for (params, status, code, target) in [
        (params(named.clone(), json!({})), 400, "invalid_count", "/params/patch"),
        (params(json!({"entry": entry}), x.clone()), 400, "missing_field", "/params/selector/name"),
        (
            params(json!({"entry": entry, "name": "a", "id": "1"}), x.clone()),
            400,
            "invalid_request",
            "/params/selector",
        ),
        (
            params(json!({"entry": entry, "id": "x"}), x.clone()),
            400,
            "invalid_id",
            "/params/selector/id",
        ),
        (
            params(json!({"entry": entry, "id": "4000000000"}), x.clone()),
            404,
            "not_found",
            "/params/selector/id",
        ),
        (
            params(json!({"entry": entry, "name": "nix"}), x.clone()),
            404,
            "not_found",
            "/params/selector/name",
        ),
        (
            params(json!({"entry": "9999", "name": "nix"}), x),
            404,
            "not_found",
            "/params/selector/entry",
        ),
        (params(named.clone(), json!({"name": "a b"})), 400, "invalid_request", name_target),
        (params(named.clone(), json!({"name": other})), 400, "invalid_request", name_target),
        (params(named.clone(), typed("int")), 400, "invalid_request", type_target),
        (params(named.clone(), typed("void")), 400, "invalid_data_type", type_target),
        (params(named, typed("nix")), 400, "invalid_data_type", "/params/patch/data_type/name"),
    ] {
        let shown = params.to_string();
        let fault = f.bad("function_local_variable.patch", params);
        assert_eq!(fault, (status, code, target.to_owned()), "{shown}");
    }
    let missing = json!({"selector": {"entry": entry, "name": "nix"}, "patch": {"name": "x"}});
    let fault = f.fault("function_local_variable.patch", missing);
    assert_eq!(fault.details["resource"], "local_variable");
}
