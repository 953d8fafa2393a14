//! `export`: the same tables in every form.

use super::{fixture, name, printed, refused};
use serde_json::Value;
use std::collections::BTreeMap;

fn inventory() -> String {
    fixture("bin/inventory.x64.O0")
}

#[test]
fn tables_agree_in_json_lines_and_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |format: &str| {
        let place = folder.path().join(format);
        printed(&["export", &inventory(), "-f", format, "-o", name(&place), "--with-c"]);
        place
    };
    let json = std::fs::read_to_string(write("json")).expect("a file");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let tables = json.as_object().expect("an object");
    let lines = std::fs::read_to_string(write("jsonl")).expect("a file");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        *counts.entry(row["table"].as_str().expect("a table").to_owned()).or_default() += 1;
    }
    let database = rusqlite::Connection::open(write("sqlite")).expect("a database");
    for (table, count) in &counts {
        assert_eq!(tables[table].as_array().map(Vec::len), Some(*count), "{table}");
        let sql = format!("SELECT count(*) FROM {table}");
        let stored: i64 = database.query_row(&sql, [], |row| row.get(0)).expect("a count");
        assert_eq!(stored, *count as i64, "{table}");
    }
    assert!(counts["functions"] > 20 && counts["xrefs"] > 50 && counts["calls"] > 10, "{counts:?}");
    let (size, c): (i64, String) = database
        .query_row("SELECT size, c FROM functions WHERE name = 'weight_of'", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .expect("a row");
    assert!(size == 209 && c.contains("give_up"), "{c}");
    let callers =
        "SELECT count(*) FROM calls JOIN functions ON entry = callee WHERE name = 'weight_of'";
    let callers: i64 = database.query_row(callers, [], |row| row.get(0)).expect("a count");
    assert_eq!(callers, 2, "add_item and by_weight");
}

#[test]
fn c_and_calls_are_written_too() {
    let folder = tempfile::tempdir().expect("a folder");
    for (format, part) in
        [("c", "uint weight_of("), ("dot", "\"weight_of\\l"), ("svg", ">weight_of</text>")]
    {
        let place = folder.path().join(format);
        printed(&["export", &inventory(), "-f", format, "-o", name(&place)]);
        let text = std::fs::read_to_string(&place).expect("a file");
        assert!(text.contains(part), "{format}: {text}");
    }
    assert!(
        refused(&["export", &inventory(), "-f", "sqlite", "-o", "/nonexistent/x"])
            .contains("cannot be written")
    );
    assert!(
        refused(&["export", &inventory(), "-f", "jsn", "-o", "x"]).contains("did you mean json")
    );
}
