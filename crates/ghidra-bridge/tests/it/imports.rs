//! Imports as clients find them, on each format: listed as external functions and as symbols of
//! EXTERNAL, which is among the address spaces, and named at the slots that hold their addresses.

use crate::world::program;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testkit::bridge::Bridge;
use testkit::client::McpClient;

/// Every value of a member in a list.
fn all(
    client: &mut McpClient,
    tool: &str,
    operation: &str,
    params: Value,
    of: &str,
) -> Vec<String> {
    let mut params = params;
    params["page"] = json!({"limit": 1000});
    let answer = client.call(tool, operation, params).expect("it is served");
    assert!(answer["next_cursor"].is_null(), "one page is enough");
    let rows = answer["items"].as_array().expect("rows");
    rows.iter().filter_map(|row| row[of].as_str().map(str::to_owned)).collect()
}

#[test]
fn imports_are_listed_and_named_at_their_slots() {
    for (fixture, import) in [
        ("inventory.x64.O2", "strlen"),
        ("inventory.aarch64.O2.stripped", "strlen"),
        ("../agents/beacon.exe", "LoadLibraryA"),
        ("../windows/latch.x64.exe", "open_latch"),
        ("../windows/latch.x86.exe", "open_latch"),
    ] {
        let file = testkit::fixture(fixture);
        let bridge = Bridge::serve(program(), &file, &["analysis=wait"]).expect("it starts");
        let mut client = bridge.mcp().expect("a client");
        let spaces = all(&mut client, "ghidra.address", "space.list", json!({}), "name");
        assert!(spaces.iter().any(|name| name == "EXTERNAL"), "{fixture}: {spaces:?}");
        let filter = json!({"filter": {"external": true}});
        let functions = all(&mut client, "ghidra.function", "list", filter, "name");
        println!("{fixture}: {functions:?}");
        assert!(functions.iter().any(|name| name == import), "{fixture}: {functions:?}");
        let range = json!({"scan": "EXTERNAL:0..EXTERNAL:ffffff"});
        let symbols = all(&mut client, "ghidra.symbol", "list", range, "name");
        let symbols: BTreeSet<String> = symbols.into_iter().collect();
        let missing: Vec<&String> = functions.iter().filter(|n| !symbols.contains(*n)).collect();
        assert!(missing.is_empty(), "{fixture}: {missing:?} are no symbols of EXTERNAL");
        let rows = json!({"projection": "name, target", "page": {"limit": 1000}});
        let units = client.call("ghidra.listing", "data_unit.list", rows).expect("it is served");
        // The first slot of a table that is filled at first use bears the table's name.
        let leads_to = |unit: &Value, name: &str| {
            let target = unit["target"]["name"].as_str().unwrap_or_default();
            target.rsplit("::").next() == Some(name) && unit["name"].is_string()
        };
        let is_named = |unit: &Value, name: &str| {
            let own = unit["name"].as_str().unwrap_or_default();
            own.starts_with(&format!("PTR_{name}_")) || leads_to(unit, name)
        };
        let units = units["items"].as_array().expect("rows");
        let slot = |name: &String| units.iter().any(|unit| is_named(unit, name));
        let unnamed: Vec<&String> = functions.iter().filter(|name| !slot(name)).collect();
        assert!(unnamed.is_empty(), "{fixture}: no slot is named after {unnamed:?}");
    }
}
