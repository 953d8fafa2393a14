//! What the reading methods answer about the sample.

use serde_json::{Value, json};

use super::{bridge, good};

#[test]
fn the_session_and_the_program_describe_themselves() {
    let bridge = bridge();
    assert_eq!(
        good(&bridge, "session.get", Value::Null),
        json!({"id": "s1", "status": "active", "program_name": "sample"})
    );
    let program = good(&bridge, "program.get", json!({}));
    assert_eq!(program["image_base"], "ram:00001000");
    assert_eq!(program["min_address"], "ram:00001000");
    assert_eq!(program["max_address"], ".comment:00000002");
    assert_eq!(program["function_count"], 2);
    assert_eq!(program["analyzed"], false);
    assert!(program.get("md5").is_none(), "unknown values are left out");
    let language =
        good(&bridge, "program_language.get", json!({"projection": {"fields": ["endian"]}}));
    assert_eq!(language, json!({"language_id": "x86:LE:64:default", "endian": "little"}));
}

#[test]
fn the_contract_lists_itself() {
    let interface = good(&bridge(), "interface.get", json!({}));
    assert_eq!(interface["interface_version"], "1.0.0");
    assert_eq!(interface["methods"].as_array().map(Vec::len), Some(56));
    assert_eq!(interface["methods"][0]["effects"].as_object().map(serde_json::Map::len), Some(6));
}

#[test]
fn spaces_and_addresses() {
    let bridge = bridge();
    let spaces = good(&bridge, "address_space.list", json!({"filter": {}}));
    let names: Vec<&str> = items(&spaces).iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, [".comment", "EXTERNAL", "OTHER", "ram"]);
    let place = good(&bridge, "address.resolve", json!({"selector": {"address": "main+4"}}));
    assert_eq!(place["address"], "ram:00001004");
    assert_eq!(place["memory_block"]["name"], ".text");
    assert_eq!(place["function"], json!({"entry": "ram:00001000", "name": "main"}));
    assert!(place.get("symbol").is_none());
    let greeting = good(&bridge, "address.resolve", json!({"selector": {"address": "2000"}}));
    assert_eq!(greeting["symbol"]["name"], "s_Hello,_world!_00002000");
    let id = greeting["symbol"]["id"].clone();
    let symbol = good(&bridge, "symbol.get", json!({"selector": {"id": id}}));
    assert_eq!(symbol["address"], "ram:00002000");
    let nowhere = good(&bridge, "address.resolve", json!({"selector": {"address": "ram:9"}}));
    assert_eq!(nowhere, json!({"address": "ram:00000009", "valid": true, "in_memory": false}));
}

#[test]
fn blocks_and_bytes() {
    let bridge = bridge();
    let blocks = good(&bridge, "memory_block.list", json!({"filter": {"name": "A"}}));
    assert_eq!(items(&blocks).len(), 1);
    assert_eq!(blocks["items"][0]["end"], "ram:0000201b");
    let block = good(&bridge, "memory_block.get", json!({"selector": {"name": ".bss"}}));
    assert_eq!(block["initialized"], false);
    let bytes = good(&bridge, "memory.read", json!({"selector": {"address": "main"}, "length": 4}));
    assert_eq!(
        bytes,
        json!({"address": "ram:00001000", "bytes": {"encoding": "hex", "data": "554889e5", "length": 4}})
    );
    let coded = json!({"selector": {"address": "main"}, "length": 4, "encoding": "base64",
        "projection": {"fields": ["bytes.data"]}});
    let bytes = good(&bridge, "memory.read", coded);
    assert_eq!(bytes, json!({"address": "ram:00001000", "bytes": {"data": "VUiJ5Q=="}}));
}

#[test]
fn memory_is_searched_for_bytes_and_texts() {
    let bridge = bridge();
    let find = |filter: Value| {
        let found = good(&bridge, "memory.search", json!({ "filter": filter }));
        assert_eq!(found["scan"]["complete"], true);
        let rows = items(&found).iter();
        rows.filter_map(|row| row["address"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let hex = |data: &str| json!({"encoding": "hex", "data": data, "length": data.len() / 2});
    assert_eq!(find(json!({"bytes": hex("c3")})), ["ram:0000100d", "ram:00001020"]);
    assert_eq!(find(json!({"bytes": hex("c3"), "alignment": 32})), ["ram:00001020"]);
    assert_eq!(find(json!({"bytes": hex("8900"), "mask": hex("ff00")})), ["ram:00001002"]);
    assert_eq!(find(json!({"text": "WORLD", "case_sensitive": false})), ["ram:00002007"]);
    assert_eq!(find(json!({"text": "gcc", "case_sensitive": false})), [".comment:00000000"]);
    assert!(find(json!({"text": "Hello", "executable": true})).is_empty());
    assert_eq!(find(json!({"text": "Hello", "memory_block": ".data"})), ["ram:00002000"]);
}

#[test]
fn instructions_have_text_and_flow() {
    let bridge = bridge();
    let call = good(&bridge, "instruction.get", json!({"selector": {"address": "1004"}}));
    assert_eq!(call["mnemonic"], "CALL");
    assert_eq!(call["operands"], json!(["0x00001020"]));
    assert_eq!(call["flow_type"], "UNCONDITIONAL_CALL");
    assert_eq!(call["fall_through"], "ram:00001009");
    assert_eq!(call["bytes"]["data"], "e817000000");
    let all = good(&bridge, "instruction.list", json!({}));
    let text: Vec<String> = items(&all).iter().map(|row| row["mnemonic"].to_string()).collect();
    assert_eq!(text.len(), 7);
    assert_eq!(all["items"][0]["operands"], json!(["RBP"]));
    assert!(all["items"][6].get("fall_through").is_none());
}

#[test]
fn code_units_cover_memory_without_gaps() {
    let bridge = bridge();
    let units = good(&bridge, "code_unit.list", json!({"page": {"limit": 1000}}));
    let rows = items(&units);
    let kinds = |kind: &str| rows.iter().filter(|row| row["kind"] == kind).count();
    assert_eq!((kinds("instruction"), kinds("data")), (7, 3));
    let bytes: u64 = rows.iter().filter_map(|row| row["length"].as_u64()).sum();
    assert_eq!(bytes, 0x21 + 0x1c + 0x10);
    let with_bytes = rows.iter().filter(|row| row.get("bytes").is_none()).count();
    assert_eq!(with_bytes, 0x10, "only .bss has no bytes");
    let data = good(&bridge, "code_unit.list", json!({"filter": {"kind": "data"}}));
    let texts: Vec<&str> = items(&data).iter().filter_map(|row| row["text"].as_str()).collect();
    assert_eq!(texts, ["ds \"Hello, world!\"", "int 2Ah", "int * 00001020"]);
}

/// Once the rows of long items were cut without a word.
#[test]
fn long_items_say_that_they_are_cut() {
    let over = |text, length| {
        let mut program = super::sample::program();
        super::sample::add_long_item(&mut program, text, length);
        super::bridge_over(program)
    };
    let range = json!({"scan": {"range": {"start": "10000"}}});
    let cases = [(true, 2048, false), (true, 2050, true), (true, 70_000, true)];
    for (text, length, cut) in cases.into_iter().chain([(false, 4096, false), (false, 4097, true)])
    {
        let bridge = over(text, length);
        for method in ["data_unit.list", "code_unit.list"] {
            let row = good(&bridge, method, range.clone())["items"][0].clone();
            assert_eq!(row["length"], length, "{method}");
            assert_eq!(row.get("truncated"), cut.then_some(&json!(true)), "{method} {length}");
        }
    }
    let bridge = over(false, 5000);
    let mut asked = range.clone();
    asked["projection"] = json!({"fields": ["value", "truncated"]});
    let row = &good(&bridge, "data_unit.list", asked)["items"][0];
    assert!(row.get("truncated").is_none(), "bytes that are not asked for are not cut: {row}");
    let variable =
        good(&over(true, 2050), "global_variable.get", json!({"selector": {"address": "10000"}}));
    assert_eq!(variable["truncated"], true);
}

#[test]
fn data_and_global_variables() {
    let bridge = bridge();
    let strings = good(&bridge, "data_unit.list", json!({"filter": {"string": true}}));
    assert_eq!(items(&strings).len(), 1);
    assert_eq!(strings["items"][0]["value"], "Hello, world!");
    let ints = good(&bridge, "data_unit.list", json!({"filter": {"data_type": "int"}}));
    assert_eq!(ints["items"][0]["value"], "0x2a");
    let pointer = good(&bridge, "data_unit.list", json!({"filter": {"data_type": "int *"}}));
    assert_eq!(
        pointer["items"][0]["data_type"],
        json!({"kind": "pointer", "target": {"kind": "named", "name": "/int"}})
    );
    let answer = good(&bridge, "global_variable.get", json!({"selector": {"address": "answer"}}));
    assert_eq!(
        (&answer["name"], &answer["source_type"]),
        (&json!("answer"), &json!("USER_DEFINED"))
    );
    let named = good(&bridge, "global_variable.list", json!({"filter": {"name": "HELLO"}}));
    assert_eq!(items(&named).len(), 1);
    let exact = json!({"filter": {"name": "HELLO", "case_sensitive": true}});
    assert!(items(&good(&bridge, "global_variable.list", exact)).is_empty());
}

#[test]
fn functions_and_their_calls() {
    let bridge = bridge();
    let main = good(&bridge, "function.get", json!({"selector": {"entry": "main"}}));
    assert_eq!(main["signature"], "undefined main()");
    assert_eq!(
        main["body"],
        json!({"start": "ram:00001000", "end": "ram:0000100d", "num_addresses": 14})
    );
    assert_eq!(main["comment"], "The entry");
    let named = good(&bridge, "function.list", json!({"filter": {"name": "fun_"}}));
    assert_eq!(named["items"][0]["name"], "FUN_00001020");
    assert_eq!(named["scan"].get("requested_end"), None);
    let inside = good(&bridge, "function.list", json!({"filter": {"contains": "1005"}}));
    assert_eq!(inside["items"][0]["entry"], "ram:00001000");
    let one = good(&bridge, "function.list", json!({"filter": {"entry": "1020"}}));
    assert_eq!((items(&one).len(), &one["scan"]["requested_end"]), (1, &json!("ram:00001020")));
    let callees = good(&bridge, "function_call.list", json!({"filter": {"entry": "main"}}));
    assert_eq!(
        callees["items"],
        json!([{"entry": "ram:00001020", "name": "FUN_00001020", "call_site": "ram:00001004", "direction": "callees"}])
    );
    let callers = json!({"filter": {"entry": "FUN_00001020", "direction": "callers"}});
    assert_eq!(good(&bridge, "function_call.list", callers)["items"][0]["name"], "main");
}

#[test]
fn symbols_references_and_comments() {
    let bridge = bridge();
    let symbols = good(&bridge, "symbol.list", json!({"filter": {"type": "function"}}));
    let names: Vec<&str> = items(&symbols).iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, ["main", "FUN_00001020"]);
    let at = good(&bridge, "symbol.list", json!({"filter": {"address": "answer"}}));
    assert_eq!(at["items"][0]["namespace"], "Global");
    let from = json!({"filter": {"direction": "from", "from": "1009"}});
    let from = good(&bridge, "reference.list", from);
    assert_eq!(items(&from).len(), 2);
    assert_eq!(from["items"][1]["to"], "Stack[-0x14]");
    let to = json!({"filter": {"direction": "to", "to": "2000", "type": ["write", "read"]}});
    assert_eq!(good(&bridge, "reference.list", to)["items"][0]["operand_index"], 1);
    let none = json!({"filter": {"direction": "to", "to": "2000", "type": "WRITE"}});
    assert!(items(&good(&bridge, "reference.list", none)).is_empty());
    let comments = good(&bridge, "comment.list", json!({}));
    let types: Vec<&str> = items(&comments).iter().filter_map(|row| row["type"].as_str()).collect();
    assert_eq!(types, ["eol", "plate", "pre"]);
    let later = good(&bridge, "comment.list", json!({"filter": {"address": "1001"}}));
    assert_eq!(items(&later).len(), 1);
}

#[test]
fn data_types_and_categories() {
    let bridge = bridge();
    let types = good(&bridge, "data_type.list", json!({}));
    let paths: Vec<&str> = items(&types).iter().filter_map(|row| row["path"].as_str()).collect();
    assert_eq!(paths, ["/int", "/int *", "/string"]);
    let int = good(&bridge, "data_type.get", json!({"selector": {"path": "int"}}));
    assert_eq!((&int["kind"], &int["length"]), (&json!("builtin"), &json!(4)));
    let categories = good(&bridge, "data_type_category.list", json!({}));
    assert!(items(&categories).is_empty());
}

#[test]
fn analysis_is_idle_at_first() {
    let state = good(&bridge(), "analysis.get", json!({}));
    assert_eq!(
        state,
        json!({"kind": "ghidra", "status": "idle", "analyzed": false, "warnings": []})
    );
}

#[test]
fn overrides_are_found_in_their_scope() {
    let mut program = super::sample::program();
    let at = program::Address::ram(0x1004);
    if let Some(call) = program.listing.instructions.get_mut(&at) {
        call.flow_override = program::FlowOverride::Branch;
    }
    let bridge = super::bridge_over(program);
    for selector in [
        json!({"kind": "address", "address": "1004"}),
        json!({"kind": "function", "entry": "main"}),
        json!({"kind": "range", "start": "1000", "end": "2000"}),
    ] {
        let found = good(&bridge, "flow_override.list", json!({"filter": {"selector": selector}}));
        assert_eq!(found["items"][0]["flow_override"], "branch");
        assert_eq!(found["items"][0]["flow_type"], "UNCONDITIONAL_JUMP");
        assert_eq!(found["items"][0]["default_flow_type"], "UNCONDITIONAL_CALL");
        assert!(found["items"][0].get("bytes").is_none());
    }
    let elsewhere = json!({"filter": {"selector": {"kind": "function", "entry": "1020"}}});
    assert!(items(&good(&bridge, "flow_override.list", elsewhere)).is_empty());
}

fn items(page: &Value) -> &[Value] {
    page["items"].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn functions_decompile_to_text_and_tokens() {
    let bridge = bridge();
    let get = |more: Value| {
        let mut params = json!({"selector": {"entry": "main"}});
        params
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        good(&bridge, "decompilation.get", params)
    };
    let text = get(json!({}));
    assert_eq!((&text["completed"], &text["format"]), (&json!(true), &json!("text")), "{text}");
    let c = text["c"].as_str().expect("a text");
    assert!(c.contains("main(") && !c.starts_with('\n') && c.ends_with('}'), "{c}");
    assert_eq!(text["line_count"], c.lines().count());
    assert!(text.get("tokens").is_none() && text.get("lines").is_none());

    let tokens = get(json!({"format": "tokens"}));
    assert!(tokens.get("c").is_none());
    let pieces = tokens["tokens"].as_array().expect("tokens");
    let joined: String = pieces.iter().filter_map(|token| token["text"].as_str()).collect();
    assert_eq!(joined.trim(), c);
    let name = pieces.iter().find(|token| token["kind"] == "function" && token["text"] == "main");
    let header = c.lines().position(|line| line.contains("main(")).expect("has a header") + 1;
    assert_eq!(name.expect("the name is a token")["line"], header);

    let cut = get(json!({"lines": {"start": 2, "count": 2}}));
    let wanted: Vec<&str> = c.lines().skip(1).take(2).collect();
    assert_eq!(cut["c"], wanted.join("\n"));
    assert_eq!(cut["lines"], json!({"start": 2, "count": 2}));
    assert_eq!(cut["line_count"], text["line_count"]);
    let beyond = get(json!({"lines": {"start": 1000, "count": 2}}));
    assert_eq!((&beyond["c"], &beyond["lines"]["count"]), (&json!(""), &json!(0)));
}
