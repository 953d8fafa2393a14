//! Batches: checked as a whole, run in order, undone as a whole on request.

use serde_json::{Value, json};

use super::{bridge, call, good};
use api::{CallContext, Transport};

fn item(id: &str, method: &str, arguments: Value) -> Value {
    json!({"id": id, "method": method, "arguments": arguments})
}

fn comment(address: &str, text: &str) -> Value {
    json!({"resource": {"address": address, "type": "eol", "text": text}})
}

#[test]
fn each_call_for_itself() {
    let bridge = bridge();
    let reply = good(
        &bridge,
        "batch.execute",
        json!({"items": [
            item("a", "comment.create", comment("1001", "x")),
            item("b", "comment.create", comment("1001", "y")),
            item("c", "comment.get", json!({"selector": {"address": "1001", "type": "eol"}, "projection": {"fields": ["text"]}})),
        ]}),
    );
    let rows = reply["items"].as_array().expect("rows");
    assert_eq!(rows[0]["result"]["text"], "x");
    assert_eq!(rows[1]["error"]["code"], "comment_exists");
    assert_eq!(rows[1]["error"].as_object().map(serde_json::Map::len), Some(5));
    assert_eq!(rows[2]["result"], json!({"address": "ram:00001001", "type": "eol", "text": "x"}));
}

#[test]
fn all_or_none_undoes_everything() {
    let bridge = bridge();
    let get = json!({"selector": {"address": "1001", "type": "eol"}});
    let failing = json!({"transaction_mode": "all_or_none", "items": [
        item("a", "comment.create", comment("1001", "x")),
        item("b", "comment.get", get.clone()),
        item("c", "comment.create", comment("1001", "y")),
    ]});
    let error = call(&bridge, "batch.execute", failing).expect_err("c fails");
    assert_eq!(
        (error.status(), error.code.as_str(), error.target.as_str()),
        (409, "batch_rolled_back", "/params/items")
    );
    assert_eq!(error.details["failed_item"], "c");
    assert_eq!(error.details["cause"]["code"], "comment_exists");
    assert_eq!(super::bad(&bridge, "comment.get", get.clone()).0, 404, "a was undone");
    let passing = json!({"transaction_mode": "all_or_none", "items": [
        item("a", "comment.create", comment("1001", "x")),
        item("b", "comment.get", get.clone()),
    ]});
    let reply = good(&bridge, "batch.execute", passing);
    assert_eq!(reply["items"][1]["result"]["text"], "x", "later items see earlier ones");
    assert_eq!(good(&bridge, "comment.get", get)["text"], "x");
}

#[test]
fn every_fault_is_found_before_anything_runs() {
    let bridge = bridge();
    let error = call(
        &bridge,
        "batch.execute",
        json!({"transaction_mode": "both", "extra": 1, "items": [
            item("a", "comment.create", comment("1001", "x")),
            item("a", "memory.read", json!({"selector": {"address": ""}})),
            item(" ", "batch.execute", json!({})),
            {"id": "d", "method": 1},
            7,
            {"id": "f", "method": "session.get", "arguments": {}, "more": 1},
        ]}),
    )
    .expect_err("has faults");
    assert_eq!(
        (error.code.as_str(), error.target.as_str()),
        ("validation_failed", "/params/items")
    );
    let violations = error.details["violations"].as_array().expect("a list");
    let found: Vec<(&str, &str)> = violations
        .iter()
        .map(|v| (v["target"].as_str().expect("text"), v["code"].as_str().expect("text")))
        .collect();
    assert_eq!(
        found,
        [
            ("/params/transaction_mode", "invalid_enum"),
            ("/params/extra", "unknown_field"),
            ("/params/items/1/id", "duplicate_id"),
            ("/params/items/1/arguments/selector/address", "invalid_value"),
            ("/params/items/2/id", "invalid_type"),
            ("/params/items/2/method", "invalid_method"),
            ("/params/items/3/method", "invalid_type"),
            ("/params/items/3/arguments", "missing_field"),
            ("/params/items/4", "invalid_type"),
            ("/params/items/5/more", "unknown_field"),
        ]
    );
    assert_eq!(
        super::bad(&bridge, "comment.get", json!({"selector": {"address": "1001", "type": "eol"}}))
            .0,
        404
    );
}

#[test]
fn empty_and_missing_lists_are_faults() {
    let bridge = bridge();
    for (params, code) in [
        (json!({}), "missing_field"),
        (json!({"items": 1}), "invalid_type"),
        (json!({"items": []}), "invalid_count"),
    ] {
        let error = call(&bridge, "batch.execute", params).expect_err("is a fault");
        assert_eq!(error.details["violations"][0]["code"], code);
        assert_eq!(error.details["violations"][0]["target"], "/params/items");
    }
}

#[test]
fn a_thousand_comments_take_well_under_a_second() {
    let bridge = bridge();
    let one = |index: usize| {
        let resource =
            json!({"address": format!("{:x}", 0x1000 + index), "type": "eol", "text": "x"});
        item(&index.to_string(), "comment.upsert", json!({"resource": resource}))
    };
    let items: Vec<Value> = (0..1000).map(one).collect();
    for mode in ["per_item", "all_or_none"] {
        let request = json!({"items": items, "transaction_mode": mode});
        let began = std::time::Instant::now();
        let reply = bridge.call("batch.execute", request, &CallContext::new(Transport::WebSocket));
        let took = began.elapsed();
        let rows = reply.expect("all are written");
        let done =
            rows["items"].as_array().into_iter().flatten().filter(|r| r["result"].is_object());
        assert_eq!(done.count(), 1000);
        println!("{mode}: {took:?}");
        assert!(took.as_millis() < 1000, "{mode}: {took:?}");
    }
}

#[test]
fn a_batch_that_nobody_waits_for_does_not_run() {
    let bridge = bridge();
    let cx = CallContext::new(Transport::Mcp);
    cx.cancel.cancel();
    for mode in ["per_item", "all_or_none"] {
        let items = json!([item("a", "comment.create", comment("1001", "x"))]);
        let request = json!({"items": items, "transaction_mode": mode});
        let error = bridge.call("batch.execute", request, &cx).expect_err("is given up");
        assert_eq!((error.status(), error.code.as_str()), (499, "cancelled"));
        let get = json!({"selector": {"address": "1001", "type": "eol"}});
        assert_eq!(super::bad(&bridge, "comment.get", get).0, 404, "{mode}");
    }
}
