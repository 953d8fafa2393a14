//! Parameters: inserted, changed, removed, and those that only the decompiler knew.

use serde_json::{Value, json};

use crate::fixture::{Fixture, open, renamed, words};

fn int() -> Value {
    json!({"kind": "named", "name": "int"})
}

fn create(entry: &str, resource: Value) -> Value {
    json!({"selector": {"entry": entry}, "resource": resource})
}

fn patch(entry: &str, ordinal: u32, patch: Value) -> Value {
    json!({"selector": {"entry": entry, "ordinal": ordinal}, "patch": patch})
}

fn delete(entry: &str, ordinal: u32) -> Value {
    json!({"selector": {"entry": entry, "ordinal": ordinal}})
}

/// A function with two parameters that were set on purpose.
fn declared() -> (Fixture, &'static str) {
    let f = open("inventory.x64.O2");
    let prototype = json!({"prototype": "unsigned weight_of(int kind, unsigned count)"});
    f.good("function.patch", json!({"selector": {"entry": "weight_of"}, "patch": prototype}));
    (f, "weight_of")
}

fn names(f: &Fixture, entry: &str) -> Vec<String> {
    let row = f.good("function.get", json!({"selector": {"entry": entry}}));
    let rows = row["parameters"].as_array().expect("is a list").clone();
    rows.iter().map(|row| row["name"].as_str().expect("is text").to_owned()).collect()
}

#[test]
fn parameters_are_inserted_changed_and_removed() {
    let (f, entry) = declared();
    let before = f.good("function.get", json!({"selector": {"entry": entry}}));
    let resource =
        json!({"ordinal": 1, "name": "unit", "data_type": {"kind": "c", "declaration": "char *"}});
    let made = f.good("function_parameter.create", create(entry, resource));
    assert_eq!((&made["ordinal"], &made["name"]), (&json!(1), &json!("unit")));
    assert_eq!(made["storage"]["serialization"], "register:00000030:8");
    assert_eq!(names(&f, entry), ["kind", "unit", "count"]);
    let text = f.text(entry);
    assert!(text.contains("weight_of(int kind,char *unit,uint count)"), "{text}");
    let now = f.good("function.get", json!({"selector": {"entry": entry}}));
    assert_eq!(now["parameters"][2]["id"], before["parameters"][1]["id"], "identity moves along");
    assert_eq!(now["parameters"][2]["storage"]["serialization"], "register:00000010:4");
    let change = json!({"name": "scale", "data_type": {"kind": "named", "name": "long"}});
    let changed = f.good("function_parameter.patch", patch(entry, 1, change));
    assert_eq!((&changed["name"], &changed["id"]), (&json!("scale"), &made["id"]));
    assert_eq!(f.good("function_parameter.delete", delete(entry, 1)), json!({"deleted": true}));
    assert_eq!(names(&f, entry), ["kind", "count"]);
    for _ in 0..2 {
        f.good("function_parameter.delete", delete(entry, 0));
    }
    assert!(f.text(entry).contains("weight_of(void)"));
    let fault = f.bad("function_parameter.delete", delete(entry, 0));
    assert_eq!(fault, (404, "not_found", "/params/selector/ordinal".to_owned()));
}

#[test]
fn storage_by_hand_keeps_all_others_in_place() {
    let (f, entry) = declared();
    let storage = json!({"kind": "register", "register": "R9D"});
    let moved = f.good("function_parameter.patch", patch(entry, 0, json!({"storage": storage})));
    assert_eq!(moved["storage"]["serialization"], "register:00000088:4");
    let row = f.good("function.get", json!({"selector": {"entry": entry}}));
    assert_eq!(row["has_custom_variable_storage"], true);
    assert_eq!(row["parameters"][1]["storage"]["serialization"], "register:00000030:4");
    let stack = json!({"kind": "serialization", "serialization": "Stack[0x8]:4"});
    let resource = json!({"ordinal": 2, "name": "spare", "data_type": int(), "storage": stack});
    let made = f.good("function_parameter.create", create(entry, resource));
    assert_eq!(made["storage"]["serialization"], "Stack[0x8]:4");
    let long = json!({"data_type": {"kind": "named", "name": "long"}});
    let fault = f.bad("function_parameter.patch", patch(entry, 0, long));
    assert_eq!(fault, (400, "invalid_request", "/params/patch/data_type".to_owned()));
}

#[test]
fn a_parameter_that_only_the_decompiler_knew_is_renamed_by_its_name_only() {
    let f = open("inventory.x64.O2.stripped");
    let mut renames = 0;
    for entry in f.entries() {
        let before = f.decompiled(&entry);
        let rows = before["parameters"].as_array().expect("is a list").clone();
        let Some(first) = rows.first() else { continue };
        if f.good("function.get", json!({"selector": {"entry": entry}}))["parameter_count"] != 0 {
            continue;
        }
        let old = first["name"].as_str().expect("is text");
        let row = f.good("function_parameter.patch", patch(&entry, 0, json!({"name": "given"})));
        assert_eq!((&row["name"], &row["id"]), (&json!("given"), &first["id"]));
        let after = f.decompiled(&entry);
        let text = |reply: &Value| reply["c"].as_str().expect("is text").to_owned();
        let expected = renamed(&text(&before), old, "given");
        assert_eq!(words(&text(&after)), expected, "{entry}\n{}", text(&after));
        let again = after["parameters"].as_array().expect("is a list");
        assert_eq!(again.len(), rows.len());
        assert!(again.iter().zip(&rows).all(|(new, old)| new["id"] == old["id"]));
        renames += 1;
    }
    assert!(renames >= 4, "{renames} parameters were renamed");
}

#[test]
fn a_retyped_parameter_takes_the_others_for_granted() {
    let f = open("inventory.x64.O2.stripped");
    let full = open("inventory.x64.O2");
    let found = full.good("function.get", json!({"selector": {"entry": "by_weight"}}));
    let entry = found["entry"].as_str().expect("is text");
    let pointer = json!({"kind": "c", "declaration": "unsigned int *"});
    // It is only pointed at, so without symbols it is code, and no function yet.
    f.good("function.create", json!({"resource": {"entry": entry}}));
    f.good("function_parameter.patch", patch(entry, 1, json!({"data_type": pointer})));
    let row = f.good("function.get", json!({"selector": {"entry": entry}}));
    assert_eq!(row["parameter_count"], 2);
    let text = f.text(entry);
    assert!(text.contains("uint *param_2)"), "{text}");
}

#[test]
fn refusals_say_where_and_why() {
    let (f, entry) = declared();
    let resource = |ordinal: u32, name: &str, data_type: Value| {
        create(entry, json!({"ordinal": ordinal, "name": name, "data_type": data_type}))
    };
    let void = json!({"kind": "named", "name": "void"});
    let stored = |storage: Value| {
        create(entry, json!({"ordinal": 0, "name": "x", "data_type": int(), "storage": storage}))
    };
    let text = |text: &str| json!({"kind": "serialization", "serialization": text});
    let request = "invalid_request";
    let serialization = "/params/resource/storage/serialization";
    for (params, code, target) in [
        (resource(3, "x", int()), request, "/params/resource/ordinal"),
        (resource(0, "two words", int()), request, "/params/resource/name"),
        (resource(0, "count", int()), request, "/params/resource/name"),
        (resource(0, "x", void.clone()), "invalid_data_type", "/params/resource/data_type"),
        (
            resource(0, "x", json!({"kind": "named", "name": "nix"})),
            "invalid_data_type",
            "/params/resource/data_type/name",
        ),
        (
            stored(json!({"kind": "register", "register": "RAX"})),
            request,
            "/params/resource/storage/register",
        ),
        (stored(text("register:00000038:8")), request, serialization),
        (stored(text("register:000fffff:4")), request, serialization),
        (stored(text("<UNASSIGNED>")), request, serialization),
        (stored(text("OTHER:00000000:4")), request, serialization),
    ] {
        let shown = params.to_string();
        let fault = f.bad("function_parameter.create", params);
        assert_eq!(fault, (400, code, target.to_owned()), "{shown}");
    }
    for (params, status, code, target) in [
        (patch(entry, 0, json!({})), 400, "invalid_count", "/params/patch"),
        (patch(entry, 0, json!({"name": "count"})), 400, request, "/params/patch/name"),
        (patch(entry, 0, json!({"name": "a b"})), 400, request, "/params/patch/name"),
        (
            patch(entry, 0, json!({"data_type": void})),
            400,
            "invalid_data_type",
            "/params/patch/data_type",
        ),
        (
            patch(entry, 0, json!({"storage": {"kind": "register", "register": "AL"}})),
            400,
            request,
            "/params/patch/storage/register",
        ),
        (patch(entry, 2, json!({"name": "x"})), 404, "not_found", "/params/selector/ordinal"),
        (patch("9999", 0, json!({"name": "x"})), 404, "not_found", "/params/selector/entry"),
    ] {
        let shown = params.to_string();
        let fault = f.bad("function_parameter.patch", params);
        assert_eq!(fault, (status, code, target.to_owned()), "{shown}");
    }
    let fault = f.fault("function_parameter.patch", patch(entry, 9, json!({"name": "x"})));
    assert_eq!(fault.details["resource"], "function_parameter");
}

#[test]
fn what_the_convention_adds_is_not_for_editing() {
    let (f, entry) = declared();
    let this = json!({"calling_convention": "__thiscall"});
    let row = f.good("function.patch", json!({"selector": {"entry": entry}, "patch": this}));
    assert_eq!(row["parameters"][0]["name"], "this");
    assert_eq!(row["parameter_count"], 3);
    let ordinal = "/params/selector/ordinal".to_owned();
    let fault = f.bad("function_parameter.delete", delete(entry, 0));
    assert_eq!(fault, (400, "invalid_request", ordinal.clone()));
    let fault = f.bad("function_parameter.patch", patch(entry, 0, json!({"name": "self"})));
    assert_eq!(fault, (400, "invalid_request", ordinal));
    let resource = json!({"ordinal": 0, "name": "x", "data_type": int()});
    let fault = f.bad("function_parameter.create", create(entry, resource));
    assert_eq!(fault, (400, "invalid_request", "/params/resource/ordinal".to_owned()));
}
