//! Tables as tab-separated values: one line a row, so that a list costs few tokens.

use serde_json::{Map, Value};
use std::fmt::Write as _;

/// From so many rows on, a column that says the same in each is told once above the table.
const WORTH_HOISTING: usize = 4;

/// A text of several lines that is no longer than this still fits into a cell, quoted.
const CELL: usize = 200;

type Cells = Vec<(String, String)>;

/// Whether rows fit into a table: objects that hold no lists of objects and no long texts.
pub(super) fn fits(rows: &[Value]) -> bool {
    rows.iter().all(|row| row.as_object().is_some_and(|row| row.values().all(is_short)))
}

fn is_short(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() <= CELL || !text.contains('\n'),
        Value::Array(items) => !items.iter().any(|item| item.is_object() || item.is_array()),
        Value::Object(members) => members.values().all(is_short),
        _ => true,
    }
}

/// Appends rows as a table with a line of names above it.
pub(super) fn write(rows: &[Value], out: &mut String) {
    let flat: Vec<Cells> = rows.iter().map(cells).collect();
    let mut columns: Vec<&str> = Vec::new();
    for (name, _) in flat.iter().flatten() {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    let (once, shown): (Vec<&str>, Vec<&str>) =
        columns.into_iter().partition(|column| is_same_in_all(&flat, column));
    for name in once {
        let text = flat.first().map(|row| cell(row, name)).unwrap_or_default();
        let _ = writeln!(out, "in every row {name}: {text}");
    }
    if shown.is_empty() {
        let _ = writeln!(out, "{} rows", rows.len());
        return;
    }
    let _ = writeln!(out, "{}", shown.join("\t"));
    for row in &flat {
        let line: Vec<&str> = shown.iter().map(|name| cell(row, name)).collect();
        let _ = writeln!(out, "{}", line.join("\t").trim_end_matches('\t'));
    }
}

fn cell<'a>(row: &'a Cells, column: &str) -> &'a str {
    row.iter().find(|(name, _)| name == column).map_or("", |(_, text)| text)
}

fn is_same_in_all(rows: &[Cells], column: &str) -> bool {
    let Some(first) = rows.first().map(|row| cell(row, column)) else { return false };
    rows.len() >= WORTH_HOISTING && rows.iter().all(|row| cell(row, column) == first)
}

/// The members of a row by their paths.
fn cells(row: &Value) -> Cells {
    let mut cells = Vec::new();
    if let Some(members) = row.as_object() {
        collect("", members, &mut cells);
    }
    cells
}

fn collect(prefix: &str, members: &Map<String, Value>, cells: &mut Cells) {
    for (name, value) in members {
        match value {
            Value::Object(inner) if !inner.is_empty() && !is_tagged(inner) => {
                collect(&format!("{prefix}{name}."), inner, cells);
            }
            value => cells.push((format!("{prefix}{name}"), plain(value))),
        }
    }
}

/// Objects in several kinds have other members from row to row; they stay in one column.
fn is_tagged(members: &Map<String, Value>) -> bool {
    members.contains_key("kind")
}

/// A value in one cell or on one line. Texts stand as they are where that cannot be misread.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if reads_as_itself(text) => text.clone(),
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => {
            items.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        Value::Object(members) if is_tagged(members) => {
            members.values().map(plain).collect::<Vec<_>>().join(" ")
        }
        value => value.to_string(),
    }
}

fn reads_as_itself(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table(rows: Value) -> String {
        let mut out = String::new();
        write(rows.as_array().expect("rows"), &mut out);
        out
    }

    #[test]
    fn a_row_is_a_line_and_nested_members_are_columns() {
        let rows = json!([
            {"entry": "ram:1", "body": {"size": 5}, "tags": ["a", "b"]},
            {"entry": "ram:2", "name": "main"},
        ]);
        assert_eq!(table(rows), "entry\tbody.size\ttags\tname\nram:1\t5\ta, b\nram:2\t\t\tmain\n");
    }

    #[test]
    fn what_every_row_says_is_said_once() {
        let rows: Vec<Value> = (0..4).map(|at| json!({"at": at, "type": "DATA"})).collect();
        let wanted = "in every row type: DATA\nat\n0\n1\n2\n3\n";
        assert_eq!(table(Value::Array(rows)), wanted);
    }

    #[test]
    fn texts_that_could_be_misread_are_quoted() {
        let rows = json!([{"a": "x\ty", "b": "", "c": " z", "d": "\u{1b}[2J"}]);
        assert_eq!(table(rows), "a\tb\tc\td\n\"x\\ty\"\t\"\"\t\" z\"\t\"\\u001b[2J\"\n");
    }

    #[test]
    fn types_stay_in_one_column() {
        let int = json!({"kind": "named", "name": "/int"});
        let rows = json!([{"t": {"kind": "pointer", "target": int}}, {"t": int}]);
        assert_eq!(table(rows), "t\npointer named /int\nnamed /int\n");
    }
}
