//! What the writing methods change, and that a refused write changes nothing.

use serde_json::{Value, json};

use super::{bad, bridge, good};

#[test]
fn a_comment_lives_through_create_patch_upsert_and_delete() {
    let bridge = bridge();
    let selector = json!({"address": "main", "type": "post"});
    let resource =
        |text: &str| json!({"resource": {"address": "main", "type": "post", "text": text}});
    assert_eq!(
        good(&bridge, "comment.create", resource("one")),
        json!({"address": "ram:00001000", "type": "post", "text": "one"})
    );
    assert_eq!(
        bad(&bridge, "comment.create", resource("two")),
        (409, "comment_exists", "/params/resource".to_owned())
    );
    let patch = json!({"selector": selector, "patch": {"text": "t\0wo"}});
    assert_eq!(good(&bridge, "comment.patch", patch)["text"], "two");
    assert_eq!(good(&bridge, "comment.upsert", resource("three"))["text"], "three");
    assert_eq!(good(&bridge, "comment.get", json!({"selector": selector}))["text"], "three");
    assert_eq!(
        good(&bridge, "comment.delete", json!({"selector": selector})),
        json!({"deleted": true})
    );
    for (method, params) in [
        ("comment.delete", json!({"selector": selector})),
        ("comment.patch", json!({"selector": selector, "patch": {"text": "x"}})),
    ] {
        assert_eq!(bad(&bridge, method, params), (404, "not_found", "/params/selector".to_owned()));
    }
}

#[test]
fn a_symbol_keeps_its_id_when_it_is_renamed() {
    let bridge = bridge();
    let listed = good(&bridge, "symbol.list", json!({"filter": {"address": "answer"}}));
    let id = listed["items"][0]["id"].clone();
    let rename = |name: &str| json!({"selector": {"id": id}, "patch": {"name": name}});
    let renamed = good(&bridge, "symbol.patch", rename("question"));
    assert_eq!((&renamed["id"], &renamed["name"]), (&id, &json!("question")));
    let found = good(&bridge, "address.resolve", json!({"selector": {"address": "question"}}));
    assert_eq!(found["address"], "ram:00002010");
    assert_eq!(bad(&bridge, "symbol.patch", rename("two words")).1, "invalid_request");
    assert_eq!(good(&bridge, "symbol.get", json!({"selector": {"id": id}}))["name"], "question");
}

#[test]
fn bytes_are_written_over_data_but_not_over_code() {
    let bridge = bridge();
    let write = |address: &str, data: &str, length: usize| {
        json!({"selector": {"address": address},
            "patch": {"bytes": {"encoding": "hex", "data": data, "length": length}}})
    };
    assert_eq!(
        good(&bridge, "memory.write", write("2000", "4A", 1)),
        json!({"start": "ram:00002000", "length": 1})
    );
    let text = good(&bridge, "data_unit.list", json!({"filter": {"string": true}}));
    assert_eq!(text["items"][0]["value"], "Jello, world!");
    for (params, code, target) in [
        (write("1002", "90", 1), "invalid_request", "/params/selector/address"),
        (write("2000", "9", 1), "invalid_byte_data", "/params/patch/bytes/data"),
        (write("2000", "90", 2), "length_mismatch", "/params/patch/bytes/length"),
        (write("2000", "", 0), "invalid_value", "/params/patch/bytes/length"),
        (write("201b", "9090", 2), "invalid_request", "/params/selector/address"),
        (write("3000", "90", 1), "invalid_request", "/params/selector/address"),
    ] {
        assert_eq!(
            bad(&bridge, "memory.write", params.clone()),
            (400, code, target.to_owned()),
            "{params}"
        );
    }
    let end = good(&bridge, "memory.read", json!({"selector": {"address": "201b"}, "length": 1}));
    assert_eq!(end["bytes"]["data"], "00", "a refused write leaves no trace");
}

#[test]
fn readers_keep_the_state_they_began_with() {
    let session = super::session_of(super::sample::program());
    let bridge = super::serve(session.clone());
    let before = session.snapshot();
    let upsert = json!({"resource": {"address": "1020", "type": "eol", "text": "new"}});
    good(&bridge, "comment.upsert", upsert);
    assert_eq!(before.comments.len() + 1, session.snapshot().comments.len());
    let _: Value = good(&bridge, "comment.list", json!({}));
}

#[test]
fn a_global_variable_is_defined_changed_and_removed() {
    let bridge = bridge();
    let int = json!({"kind": "named", "name": "int"});
    let resource = |address: &str, name: &str, data_type: &Value| json!({"resource": {"address": address, "name": name, "data_type": data_type}});
    let made = good(
        &bridge,
        "global_variable.create",
        resource("200e", "short_one", &json!({"kind": "c", "declaration": "unsigned char"})),
    );
    assert_eq!(
        (&made["name"], &made["value"], &made["length"]),
        (&json!("short_one"), &json!("0x0"), &json!(1))
    );
    for (params, code, target) in [
        (resource("2010", "x", &int), "global_variable_exists", "/params/resource/address"),
        (resource("200f", "x", &int), "global_variable_exists", "/params/resource/address"),
        (resource("1001", "x", &int), "global_variable_exists", "/params/resource/address"),
        (resource("9999", "x", &int), "global_variable_exists", "/params/resource/address"),
    ] {
        assert_eq!(bad(&bridge, "global_variable.create", params), (409, code, target.to_owned()));
    }
    let wrong = [
        (json!({"kind": "named", "name": "nix"}), "/params/resource/data_type/name"),
        (json!({"kind": "named", "name": "/int *"}), "/params/resource/data_type/name"),
        (json!({"kind": "named", "name": "void"}), "/params/resource/data_type"),
        (
            json!({"kind": "array", "element": {"kind": "named", "name": "nix"}, "count": 2}),
            "/params/resource/data_type/element/name",
        ),
        (
            json!({"kind": "array", "element": int, "count": 2_000_000_000}),
            "/params/resource/data_type/count",
        ),
        (json!({"kind": "c", "declaration": "int ("}), "/params/resource/data_type/declaration"),
    ];
    for (data_type, target) in wrong {
        let fault = bad(&bridge, "global_variable.create", resource("200f", "x", &data_type));
        assert_eq!(fault, (400, "invalid_data_type", target.to_owned()), "{data_type}");
    }
    let chars = json!({"kind": "array", "element": {"kind": "named", "name": "char"}, "count": 4});
    let changed = good(&bridge, "global_variable.upsert", resource("2010", "letters", &chars));
    assert_eq!((&changed["name"], &changed["value"]), (&json!("letters"), &json!("*")));
    let patch = |data_type: Value| json!({"selector": {"address": "2010"}, "patch": {"data_type": data_type}});
    let wide = json!({"kind": "array", "element": int, "count": 2});
    assert_eq!(
        bad(&bridge, "global_variable.patch", patch(wide)),
        (409, "global_variable_conflict", "/params/patch/data_type".to_owned())
    );
    assert_eq!(good(&bridge, "global_variable.patch", patch(int.clone()))["value"], "0x2a");
    let delete = json!({"selector": {"address": "letters"}, "delete_symbol": true});
    good(&bridge, "global_variable.delete", delete.clone());
    assert_eq!(
        bad(&bridge, "global_variable.delete", delete).1,
        "invalid_address",
        "the name is gone"
    );
    let again = json!({"selector": {"address": "2010"}});
    assert_eq!(bad(&bridge, "global_variable.delete", again).0, 404);
}

#[test]
fn flow_is_corrected_and_restored() {
    let bridge = bridge();
    let patch = |kind: &str, expected: Value| {
        let mut patch = json!({"flow_override": kind});
        if !expected.is_null() {
            patch["expected_flow_overrides"] = expected;
        }
        json!({"selector": {"kind": "address", "address": "1004"}, "patch": patch})
    };
    let changed = good(&bridge, "flow_override.patch", patch("branch", Value::Null));
    assert_eq!(changed["items"][0]["flow_type"], "UNCONDITIONAL_JUMP");
    assert!(changed["items"][0].get("bytes").is_none());
    let reference = json!({"filter": {"direction": "from", "from": "1004"}});
    assert_eq!(
        good(&bridge, "reference.list", reference)["items"][0]["type"],
        "UNCONDITIONAL_JUMP"
    );
    assert_eq!(
        bad(&bridge, "flow_override.patch", patch("call", json!(["none"]))),
        (409, "flow_override_conflict", "/params/patch/expected_flow_overrides".to_owned())
    );
    let skipped = json!({"selector": {"kind": "function", "entry": "main"},
        "patch": {"flow_override": "return", "expected_flow_overrides": ["call"]}});
    let skipped = good(&bridge, "flow_override.patch", skipped);
    assert_eq!(
        skipped["items"][0]["flow_override"], "branch",
        "what is not expected is left alone"
    );
    assert_eq!(
        good(&bridge, "flow_override.patch", patch("none", Value::Null))["items"],
        json!([])
    );
    let nowhere = json!({"selector": {"kind": "address", "address": "1005"}, "patch": {"flow_override": "none"}});
    assert_eq!(
        bad(&bridge, "flow_override.patch", nowhere),
        (404, "not_found", "/params/selector/address".to_owned())
    );
}

#[test]
fn a_deleted_function_leaves_its_code_and_its_given_name() {
    let bridge = bridge();
    let delete = |entry: &str| json!({"selector": {"entry": entry}});
    good(&bridge, "function.delete", delete("main"));
    assert_eq!(bad(&bridge, "function.delete", delete("main")).0, 404);
    good(&bridge, "instruction.get", json!({"selector": {"address": "main"}}));
    let symbol = good(&bridge, "symbol.list", json!({"filter": {"address": "main"}}));
    assert_eq!(
        (&symbol["items"][0]["name"], &symbol["items"][0]["type"]),
        (&json!("main"), &json!("Label"))
    );
    good(&bridge, "function.delete", delete("1020"));
    assert_eq!(good(&bridge, "program.get", json!({}))["function_count"], 0);
}

#[test]
fn data_types_are_defined_from_parts_and_from_c() {
    let bridge = bridge();
    let create =
        |resource: Value| good(&bridge, "data_type.create", json!({ "resource": resource }));
    let made =
        create(json!({"kind": "struct", "name": "S", "category_path": "/mine/own", "size": 16}));
    assert_eq!(
        (&made["path"], &made["size"], &made["fields"]),
        (&json!("/mine/own/S"), &json!(16), &json!([]))
    );
    assert_eq!(create(json!({"kind": "union", "name": "U"}))["kind"], "union");
    assert_eq!(create(json!({"kind": "enum", "name": "E"}))["length"], 4);
    let alias = create(
        json!({"kind": "typedef", "name": "T", "base_type": {"kind": "c", "declaration": "struct S *"}}),
    );
    assert_eq!(alias["base_type"]["kind"], "pointer");
    let signature = json!({"return_type": {"kind": "named", "name": "int"}, "calling_convention": "default",
        "parameters": [{"name": "count", "data_type": {"kind": "named", "name": "uint"}}],
        "has_var_args": true, "has_no_return": false});
    let function = json!({"kind": "function", "name": "F", "signature": signature});
    assert_eq!(create(function.clone())["signature"]["parameters"][0]["name"], "count");

    let taken =
        bad(&bridge, "data_type.create", json!({"resource": {"kind": "union", "name": "U"}}));
    assert_eq!(taken, (409, "data_type_exists", "/params/resource".to_owned()));
    let builtin =
        bad(&bridge, "data_type.create", json!({"resource": {"kind": "union", "name": "int"}}));
    assert_eq!(builtin.1, "data_type_exists");
    for (member, value, code, target) in [
        (
            "calling_convention",
            json!("nonsense"),
            "validation_failed",
            "/params/resource/signature/calling_convention",
        ),
        (
            "return_type",
            json!({"kind": "named", "name": "nix"}),
            "invalid_data_type",
            "/params/resource/signature/return_type/name",
        ),
    ] {
        let mut wrong = function.clone();
        wrong["signature"][member] = value;
        wrong["name"] = json!("G");
        assert_eq!(
            bad(&bridge, "data_type.create", json!({ "resource": wrong })),
            (400, code, target.to_owned())
        );
    }
    let mut wider = function.clone();
    wider["signature"]["has_var_args"] = json!(false);
    assert_eq!(
        good(&bridge, "data_type.upsert", json!({ "resource": wider }))["signature"]["has_var_args"],
        false
    );
    let mut other = function;
    other["name"] = json!("U");
    assert_eq!(bad(&bridge, "data_type.upsert", json!({ "resource": other })).1, "invalid_request");

    let c = create(
        json!({"kind": "c", "source": "struct P { int x; struct P *next; }; typedef struct P P_t; int sum(struct P *p);"}),
    );
    let items: Vec<&str> =
        c["items"].as_array().expect("items").iter().filter_map(|i| i["path"].as_str()).collect();
    assert!(
        items.contains(&"/P") && items.contains(&"/P_t") && items.contains(&"/sum"),
        "{items:?}"
    );
    let found = good(&bridge, "data_type.get", json!({"selector": {"path": "P"}}));
    assert_eq!((&found["size"], &found["fields"][1]["name"]), (&json!(16), &json!("next")));
    let again = json!({"resource": {"kind": "c", "source": "struct P { int x; };"}});
    assert_eq!(bad(&bridge, "data_type.create", again.clone()).1, "data_type_exists");
    assert_eq!(good(&bridge, "data_type.upsert", again)["size"], 4);
    let broken = json!({"resource": {"kind": "c", "source": "struct {"}});
    assert_eq!(
        bad(&bridge, "data_type.create", broken),
        (400, "invalid_request", "/params/resource/source".to_owned())
    );

    let categories = good(&bridge, "data_type_category.list", json!({}));
    assert_eq!(categories["items"][0]["path"], "/mine");
    let delete = |path: &str| json!({"selector": {"path": path}});
    good(&bridge, "data_type.delete", delete("/mine/own/S"));
    assert_eq!(bad(&bridge, "data_type.delete", delete("/mine/own/S")).0, 404);
    assert_eq!(
        bad(&bridge, "data_type.get", delete("T")).0,
        404,
        "the typedef of its pointer went with it"
    );
    assert_eq!(
        bad(&bridge, "data_type.delete", delete("/int")),
        (409, "data_type_not_removed", "/params/selector".to_owned())
    );
}
