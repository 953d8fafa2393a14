//! Every kind of refusal, with its code and its target.

use serde_json::{Value, json};

use super::{bad, bridge, good};
use api::{Bridge, BridgeOptions, CallContext, Transport};

#[test]
fn schema_faults_come_with_the_exact_pointer() {
    let bridge = bridge();
    let cases = [
        ("memory.read", json!({}), "missing_field", "/params/selector"),
        ("memory.read", json!({"selector": null}), "invalid_type", "/params/selector"),
        (
            "memory.read",
            json!({"selector": {"address": "1", "x": 1}}),
            "unknown_field",
            "/params/selector/x",
        ),
        (
            "memory.read",
            json!({"selector": {"address": "1"}, "length": 0}),
            "invalid_value",
            "/params/length",
        ),
        (
            "memory.read",
            json!({"selector": {"address": "1"}, "encoding": "HEX"}),
            "invalid_enum",
            "/params/encoding",
        ),
        ("symbol.list", json!({"page": {"limit": 1001}}), "invalid_value", "/params/page/limit"),
        (
            "symbol.list",
            json!({"scan": {"timeout_ms": 99}}),
            "invalid_value",
            "/params/scan/timeout_ms",
        ),
        (
            "symbol.list",
            json!({"projection": {"fields": []}}),
            "invalid_count",
            "/params/projection/fields",
        ),
        (
            "symbol.list",
            json!({"projection": {"fields": ["nme"]}}),
            "invalid_enum",
            "/params/projection/fields/0",
        ),
        (
            "symbol.list",
            json!({"projection": {"fields": ["name", "name"]}}),
            "duplicate_field",
            "/params/projection/fields/1",
        ),
        (
            "function.patch",
            json!({"selector": {"entry": "1"}, "patch": {}}),
            "invalid_count",
            "/params/patch",
        ),
        (
            "data_type.create",
            json!({"resource": {"kind": "typedef", "name": "t"}}),
            "missing_field",
            "/params/resource/base_type",
        ),
        (
            "data_type.create",
            json!({"resource": {"kind": "class", "name": "t"}}),
            "invalid_union",
            "/params/resource/kind",
        ),
        ("session.get", json!([]), "invalid_type", "/params"),
    ];
    for (method, params, code, target) in cases {
        assert_eq!(bad(&bridge, method, params), (400, code, target.to_owned()), "{method}");
    }
}

#[test]
fn addresses_that_are_none_point_at_their_text() {
    let bridge = bridge();
    for (method, params, target) in [
        ("memory.read", json!({"selector": {"address": "nowhere"}}), "/params/selector/address"),
        ("memory.read", json!({"selector": {"address": " "}}), "/params/selector/address"),
        ("function.get", json!({"selector": {"entry": "ram:xyz"}}), "/params/selector/entry"),
        ("symbol.list", json!({"filter": {"address": "?"}}), "/params/filter/address"),
        ("symbol.list", json!({"scan": {"range": {"start": "?"}}}), "/params/scan/range/start"),
        ("reference.list", json!({"filter": {"direction": "to", "to": "?"}}), "/params/filter/to"),
    ] {
        assert_eq!(
            bad(&bridge, method, params),
            (400, "invalid_address", target.to_owned()),
            "{method}"
        );
    }
}

#[test]
fn missing_things_are_not_found_and_name_their_kind() {
    let bridge = bridge();
    for (method, params, kind, target) in [
        (
            "memory_block.get",
            json!({"selector": {"name": "x"}}),
            "memory_block",
            "/params/selector/name",
        ),
        (
            "instruction.get",
            json!({"selector": {"address": "1002"}}),
            "instruction",
            "/params/selector/address",
        ),
        (
            "function.get",
            json!({"selector": {"entry": "1001"}}),
            "function",
            "/params/selector/entry",
        ),
        ("function.list", json!({"filter": {"entry": "1001"}}), "function", "/params/filter/entry"),
        (
            "function_call.list",
            json!({"filter": {"entry": "2000"}}),
            "function",
            "/params/filter/entry",
        ),
        ("symbol.get", json!({"selector": {"id": "999"}}), "symbol", "/params/selector/id"),
        (
            "comment.get",
            json!({"selector": {"address": "1", "type": "eol"}}),
            "comment",
            "/params/selector",
        ),
        (
            "global_variable.get",
            json!({"selector": {"address": "2001"}}),
            "global_variable",
            "/params/selector/address",
        ),
        (
            "data_type.get",
            json!({"selector": {"path": "/none"}}),
            "data_type",
            "/params/selector/path",
        ),
        (
            "data_type_category.list",
            json!({"filter": {"path": "/a"}}),
            "data_type_category",
            "/params/filter/path",
        ),
    ] {
        let error = super::call(&bridge, method, params).expect_err(method);
        assert_eq!(
            (error.status(), error.code.as_str(), error.target.as_str()),
            (404, "not_found", target),
            "{method}"
        );
        assert_eq!(error.details["resource"], kind, "{method}");
    }
}

#[test]
fn requests_that_cannot_be_served_say_so() {
    let bridge = bridge();
    for (method, params, code, target) in [
        ("symbol.get", json!({"selector": {"id": "1x"}}), "invalid_id", "/params/selector/id"),
        ("symbol.get", json!({"selector": {"id": "-1"}}), "invalid_id", "/params/selector/id"),
        (
            "reference.list",
            json!({"filter": {"direction": "to"}}),
            "missing_field",
            "/params/filter/to",
        ),
        ("flow_override.list", json!({"filter": {}}), "missing_field", "/params/filter/selector"),
        ("memory.search", json!({"filter": {}}), "missing_field", "/params/filter/bytes"),
        (
            "memory.search",
            json!({"filter": {"text": "a", "mask": {"encoding": "hex", "data": "ff", "length": 1}}}),
            "invalid_union",
            "/params/filter/mask",
        ),
        (
            "memory.search",
            json!({"filter": {"bytes": {"encoding": "hex", "data": "", "length": 0}}}),
            "invalid_value",
            "/params/filter/bytes/length",
        ),
        (
            "memory.search",
            json!({"filter": {"bytes": {"encoding": "hex", "data": "f", "length": 1}}}),
            "invalid_byte_data",
            "/params/filter/bytes/data",
        ),
        (
            "memory.read",
            json!({"selector": {"address": "3000"}, "length": 1}),
            "invalid_request",
            "/params/selector/address",
        ),
        (
            "memory.read",
            json!({"selector": {"address": "2018"}, "length": 8}),
            "invalid_request",
            "/params/length",
        ),
        (
            "comment.list",
            json!({"filter": {"address": "1"}, "scan": {"range": {"start": "2"}}}),
            "conflicting_range",
            "/params/scan/range/start",
        ),
        (
            "code_unit.list",
            json!({"scan": {"range": {"start": "2", "end": "1"}}}),
            "invalid_request",
            "/params/scan/range/end",
        ),
        (
            "code_unit.list",
            json!({"scan": {"range": {"start": "2", "end": "OTHER:1"}}}),
            "invalid_request",
            "/params/scan/range/end",
        ),
        (
            "data_unit.list",
            json!({"filter": {"data_type": "nix"}}),
            "invalid_data_type",
            "/params/filter/data_type",
        ),
        ("analysis.start", json!({"analyzers": [" "]}), "invalid_value", "/params/analyzers/0"),
    ] {
        assert_eq!(bad(&bridge, method, params), (400, code, target.to_owned()), "{method}");
    }
}

#[test]
fn unknown_methods_are_named_with_the_nearest_known_one() {
    let bridge = bridge();
    let cx = CallContext::new(Transport::Mcp);
    let error = bridge.call("memory.raed", Value::Null, &cx).expect_err("no such method");
    assert_eq!(
        (error.status(), error.code.as_str(), error.target.as_str()),
        (404, "unknown_method", "/method")
    );
    assert!(error.message.contains("memory.read"), "{}", error.message);
    let error = bridge.call("interface.get", Value::Null, &cx).expect_err("WebSocket only");
    assert_eq!(error.code.as_str(), "unknown_method");
    assert_eq!(
        bridge.call("  ", Value::Null, &cx).expect_err("blank").code.as_str(),
        "missing_method"
    );
}

#[test]
fn a_read_only_bridge_changes_nothing() {
    let session = engine::Session::from_program(super::sample::program()).expect("opens");
    let bridge = Bridge::new(
        session,
        BridgeOptions { session_id: "s".to_owned(), read_only: true, ..BridgeOptions::default() },
    );
    let write = json!({"resource": {"address": "1", "type": "eol", "text": "t"}});
    assert_eq!(
        bad(&bridge, "comment.create", write.clone()),
        (403, "read_only", "/method".to_owned())
    );
    assert_eq!(bad(&bridge, "comment.create", json!({})).1, "missing_field", "faults come first");
    let batch = json!({"items": [{"id": "a", "method": "comment.create", "arguments": write}]});
    assert_eq!(bad(&bridge, "batch.execute", batch).1, "read_only");
    good(&bridge, "session.get", json!({}));
    good(&bridge, "session.shutdown", json!({}));
    assert!(bridge.is_shutting_down());
}

#[test]
fn objects_sent_as_text_are_read_over_mcp_only() {
    let bridge = bridge();
    let params = json!({"selector": "{\"address\": \"1000\"}", "length": 1});
    let mcp = bridge.call("memory.read", params.clone(), &CallContext::new(Transport::Mcp));
    assert_eq!(mcp.expect("is read")["bytes"]["data"], "55");
    assert_eq!(
        bad(&bridge, "memory.read", params),
        (400, "invalid_type", "/params/selector".to_owned())
    );
}

#[test]
fn what_lies_nowhere_cannot_be_renamed() {
    let mut program = super::sample::program();
    let library = program.symbols.add(program::Symbol {
        name: "libc.so.6".into(),
        address: program::Address::MAX,
        kind: program::SymbolKind::Library,
        parent: program::SymbolId::GLOBAL,
        source: program::SourceType::Imported,
        primary: true,
        external_entry: false,
        pinned: false,
    });
    let bridge = super::bridge_over(program);
    let patch = json!({"selector": {"id": library.0.to_string()}, "patch": {"name": "other"}});
    let refusal = (400, "invalid_request", "/params/selector/id".to_owned());
    assert_eq!(bad(&bridge, "symbol.patch", patch), refusal);
}

#[test]
fn no_more_than_a_thousand_flows_are_corrected_at_once() {
    let mut program = super::sample::program();
    let start = program::Address::ram(0x8000);
    let block = program::MemoryBlock::new("nops", start, 1001, program::BlockSource::Zero);
    program.memory.add_block(block).expect("is free");
    let (_, nop) = program.listing.instructions.iter().next().expect("has one");
    let nop = program::Instruction { length: 1, ..*nop };
    for offset in 0..1001 {
        program.listing.instructions.insert(program::Address::ram(0x8000 + offset), nop);
    }
    let bridge = super::bridge_over(program);
    let patch = |end: &str| {
        json!({"selector": {"kind": "range", "start": "8000", "end": end},
            "patch": {"flow_override": "return"}})
    };
    let refusal = (400, "invalid_request", "/params/selector".to_owned());
    assert_eq!(bad(&bridge, "flow_override.patch", patch("83e8")), refusal);
    let first = good(&bridge, "instruction.get", json!({"selector": {"address": "8000"}}));
    assert_eq!(first["flow_override"], "none", "nothing was changed");
    let changed = good(&bridge, "flow_override.patch", patch("83e7"));
    assert_eq!(changed["items"].as_array().map(Vec::len), Some(1000));
}
