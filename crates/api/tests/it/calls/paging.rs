//! Pages joined are the whole list, whatever their size, also while the program changes.

use program::{Address, CommentKind, SourceType, SymbolId};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{bridge, bridge_over, good, sample};
use api::Bridge;

/// Every paged method with a request that lists something.
fn lists() -> Vec<(&'static str, Value)> {
    vec![
        ("address_space.list", json!({})),
        ("memory_block.list", json!({})),
        (
            "memory.search",
            json!({"filter": {"bytes": {"encoding": "hex", "data": "00", "length": 1}}}),
        ),
        ("code_unit.list", json!({})),
        ("data_unit.list", json!({})),
        ("global_variable.list", json!({})),
        ("instruction.list", json!({})),
        (
            "flow_override.list",
            json!({"filter": {
            "selector": {"kind": "range", "start": "1000", "end": "2000"}, "flow_overrides": ["none"]}}),
        ),
        ("function.list", json!({})),
        ("function_call.list", json!({"filter": {"entry": "main"}})),
        ("symbol.list", json!({})),
        ("reference.list", json!({"filter": {"direction": "from", "from": "1009"}})),
        ("comment.list", json!({})),
        ("data_type.list", json!({})),
        ("data_type_category.list", json!({})),
    ]
}

fn page(
    bridge: &Bridge,
    method: &str,
    params: &Value,
    limit: usize,
    cursor: Option<&Value>,
) -> Value {
    let mut params = params.clone();
    params["page"] = json!({ "limit": limit });
    if let Some(cursor) = cursor {
        params["page"]["cursor"] = cursor.clone();
    }
    good(bridge, method, params)
}

/// All rows, page by page; `between` runs after every page.
fn joined(
    bridge: &Bridge,
    method: &str,
    params: &Value,
    limit: usize,
    mut between: impl FnMut(&Bridge),
) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut cursor = None;
    for _ in 0..10_000 {
        let reply = page(bridge, method, params, limit, cursor.as_ref());
        let items = reply["items"].as_array().expect("has items").clone();
        assert!(items.len() <= limit);
        rows.extend(items);
        let complete = reply["scan"].get("complete").and_then(Value::as_bool);
        cursor = reply.get("next_cursor").cloned();
        assert_eq!(complete.unwrap_or(cursor.is_none()), cursor.is_none(), "{method}: {reply}");
        if cursor.is_none() {
            return rows;
        }
        between(bridge);
    }
    panic!("{method} never ends");
}

#[test]
fn every_paged_method_is_covered() {
    let mut paged: Vec<&str> =
        api::registry().methods().iter().filter(|m| m.paged()).map(api::Method::name).collect();
    let mut covered: Vec<&str> = lists().into_iter().map(|(name, _)| name).collect();
    paged.sort_unstable();
    covered.sort_unstable();
    assert_eq!(paged, covered);
}

#[test]
fn pages_of_any_size_join_to_the_whole() {
    let bridge = bridge();
    for (method, params) in lists() {
        let whole = joined(&bridge, method, &params, 1000, |_| {});
        for limit in [1, 2, 3, 7, whole.len().max(1), whole.len() + 1] {
            assert_eq!(
                joined(&bridge, method, &params, limit, |_| {}),
                whole,
                "{method} by {limit}"
            );
        }
    }
}

#[test]
fn equal_names_are_not_lost_between_pages() {
    let mut program = sample::program();
    for start in [0x5000, 0x6000, 0x7000] {
        let block =
            program::MemoryBlock::new("same", Address::ram(start), 4, program::BlockSource::Zero);
        program.memory.add_block(block).expect("is free");
    }
    let bridge = bridge_over(program);
    let params = json!({"filter": {"name": "same"}});
    let starts: Vec<Value> = joined(&bridge, "memory_block.list", &params, 1, |_| {})
        .iter()
        .map(|b| b["start"].clone())
        .collect();
    assert_eq!(starts, ["ram:00005000", "ram:00006000", "ram:00007000"]);
}

#[test]
fn pages_are_in_numeric_order() {
    let mut program = sample::program();
    for (n, at) in [0x2011u64, 0x1_0000_0000, 0x2012].into_iter().enumerate() {
        for copy in 0..12 {
            let name = format!("label_{n}_{copy}");
            program.add_label(Address::ram(at), &name, SymbolId::GLOBAL, SourceType::UserDefined);
        }
    }
    let bridge = bridge_over(program);
    let rows = joined(&bridge, "symbol.list", &json!({}), 5, |_| {});
    let key = |row: &Value| {
        let offset =
            row["address"].as_str().and_then(|text| text.rsplit(':').next()).expect("an address");
        let id = row["id"].as_str().expect("an id").parse::<u64>().expect("decimal");
        (u64::from_str_radix(offset, 16).expect("hex"), id)
    };
    let keys: Vec<_> = rows.iter().map(key).collect();
    assert!(keys.is_sorted(), "{keys:?}");
    assert_eq!(keys.last().map(|(at, _)| *at), Some(0x1_0000_0000));
}

#[test]
fn a_cursor_belongs_to_its_query() {
    let bridge = bridge();
    let first = page(&bridge, "symbol.list", &json!({}), 1, None);
    let cursor = &first["next_cursor"];
    let other = json!({"filter": {"name": "x"}, "page": {"cursor": cursor}});
    let fault = super::bad(&bridge, "symbol.list", other);
    assert_eq!(fault, (400, "invalid_cursor", "/params/page/cursor".to_owned()));
    let may_change = json!({"page": {"cursor": cursor, "limit": 9}, "scan": {"timeout_ms": 5000},
        "projection": {"fields": ["name"]}});
    assert!(
        !good(&bridge, "symbol.list", may_change)["items"].as_array().expect("items").is_empty()
    );
}

/// An edit between two pages.
#[derive(Debug, Clone, Copy)]
enum Change {
    Add(u64),
    Remove(u64),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![(0u64..0x40).prop_map(Change::Add), (0u64..0x40).prop_map(Change::Remove)]
}

fn apply(session: &engine::Session, change: Change) {
    let edit = |program: &mut program::Program| -> Result<(), api::BridgeError> {
        let at = |n: u64| Address::ram(0x1000 + n);
        match change {
            Change::Add(n) => {
                program.comments.insert((at(n), CommentKind::Pre), "added".into());
                program.add_label(at(n), "added", SymbolId::GLOBAL, SourceType::UserDefined);
            }
            Change::Remove(n) => {
                program.comments.remove(&(at(n), CommentKind::Pre));
                let added = program.symbols.at(at(n)).find(|(_, s)| &*s.name == "added");
                if let Some(id) = added.map(|(id, _)| id) {
                    program.symbols.remove(id);
                }
            }
        }
        Ok(())
    };
    session.write(edit).expect("nothing else writes");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Rows that are there from the first page to the last are seen exactly once.
    #[test]
    fn changes_under_the_reader_lose_nothing(
        limit in 1usize..6,
        changes in proptest::collection::vec(change(), 0..40),
        method in prop_oneof![Just("comment.list"), Just("symbol.list"), Just("function.list"), Just("code_unit.list")],
    ) {
        let session = super::session_of(sample::program());
        let bridge = super::serve(session.clone());
        let before = joined(&bridge, method, &json!({}), 1000, |_| {});
        let mut pending = changes.clone().into_iter();
        let seen = joined(&bridge, method, &json!({}), limit, |_| {
            if let Some(change) = pending.next() {
                apply(&session, change);
            }
        });
        for row in &before {
            let touched = row["text"] == "added" || row["name"] == "added";
            let times = seen.iter().filter(|other| *other == row).count();
            prop_assert!(touched || times == 1, "{method}: {row} was seen {times} times");
        }
        let mut keys: Vec<String> = seen.iter().map(|row| format!("{}{}{}", row["address"], row["entry"],
            if method == "symbol.list" { &row["id"] } else { &row["type"] })).collect();
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        prop_assert_eq!(keys.len(), all, "something was seen twice");
    }

    /// Any range gives the rows of the whole list that start in it.
    #[test]
    fn a_range_cuts_the_whole_list(a in 0u64..0x2030, b in 0u64..0x2030, limit in 1usize..50) {
        let (start, end) = (a.min(b), a.max(b));
        let bridge = bridge();
        let address = |row: &Value| row["address"].as_str()
            .and_then(|text| u64::from_str_radix(text.rsplit(':').next()?, 16).ok()).expect("an address");
        let whole = joined(&bridge, "code_unit.list", &json!({}), 1000, |_| {});
        let wanted: Vec<&Value> = whole.iter().filter(|row| (start..=end).contains(&address(row))).collect();
        let params = json!({"scan": {"range": {"start": format!("{start:x}"), "end": format!("{end:x}")}}});
        let got = joined(&bridge, "code_unit.list", &params, limit, |_| {});
        prop_assert_eq!(got.iter().collect::<Vec<_>>(), wanted);
    }
}
