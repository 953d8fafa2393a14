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
