//! The tables of a project file as data: their columns, their keys, and the sum
//! that a row adds to its table's.

use rusqlite::types::ValueRef;
use xxhash_rust::xxh3::xxh3_64;

/// One table of the file. The first `keys` columns are its primary key.
#[derive(Debug)]
pub(crate) struct Sheet {
    pub name: &'static str,
    pub keys: usize,
    /// Column names with their SQL types.
    pub columns: &'static [&'static str],
}

impl Sheet {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|column| column.split(' ').next().unwrap_or(column))
    }

    /// The statement that makes the table; also what an intact file shows.
    pub fn create(&self) -> String {
        let keys: Vec<&str> = self.names().take(self.keys).collect();
        format!(
            "CREATE TABLE \"{}\" ({}, PRIMARY KEY ({})) WITHOUT ROWID",
            self.name,
            self.columns.join(", "),
            keys.join(", ")
        )
    }

    pub fn select(&self) -> String {
        format!("SELECT {} FROM \"{}\"", self.names().collect::<Vec<_>>().join(", "), self.name)
    }

    pub fn insert(&self) -> String {
        let marks = vec!["?"; self.columns.len()].join(", ");
        format!("INSERT INTO \"{}\" VALUES ({marks})", self.name)
    }

    /// The condition that the first `count` keys are given ones.
    pub fn matching(&self, count: usize) -> String {
        let keys: Vec<String> =
            self.names().take(count.min(self.keys)).map(|key| format!("{key} = ?")).collect();
        if keys.is_empty() { String::new() } else { format!(" WHERE {}", keys.join(" AND ")) }
    }
}

/// One value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

impl<'a> Cell<'a> {
    /// A value as SQLite gives it. Texts that are no UTF-8 and real numbers are
    /// never written; as bytes they change the sum, and that is what counts.
    pub fn from_value(value: ValueRef<'a>) -> Cell<'a> {
        match value {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(number) => Cell::Int(number),
            ValueRef::Real(number) => Cell::Int(number.to_bits() as i64 ^ i64::MIN),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Cell::Text(text),
                Err(_) => Cell::Blob(bytes),
            },
            ValueRef::Blob(bytes) => Cell::Blob(bytes),
        }
    }

    /// Text, or null when there is none.
    pub fn maybe(text: Option<&'a str>) -> Cell<'a> {
        text.map_or(Cell::Null, Cell::Text)
    }

    /// A number, or null when there is none.
    pub fn maybe_int(number: Option<impl Into<i64>>) -> Cell<'a> {
        number.map_or(Cell::Null, |number| Cell::Int(number.into()))
    }

    pub fn flag(value: bool) -> Cell<'a> {
        Cell::Int(i64::from(value))
    }

    /// All 64 bits, as SQLite's signed number.
    pub fn bits(value: u64) -> Cell<'a> {
        Cell::Int(value as i64)
    }
}

/// Collects the values of a row into the number that stands for it. Sums of such
/// numbers do not depend on the order of rows, so that a save that changes a few
/// rows need not read the others.
#[derive(Debug, Default)]
pub(crate) struct RowSum(Vec<u8>);

impl RowSum {
    pub fn add(&mut self, cell: Cell<'_>) {
        match cell {
            Cell::Null => self.0.push(0),
            Cell::Int(number) => {
                self.0.push(1);
                self.0.extend_from_slice(&number.to_le_bytes());
            }
            Cell::Text(text) => self.bytes(2, text.as_bytes()),
            Cell::Blob(bytes) => self.bytes(3, bytes),
        }
    }

    fn bytes(&mut self, tag: u8, bytes: &[u8]) {
        self.0.push(tag);
        self.0.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    /// The row's number; empties the collection for the next row.
    pub fn take(&mut self) -> u64 {
        let sum = xxh3_64(&self.0);
        self.0.clear();
        sum
    }
}

/// What a table's rows come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sum {
    pub rows: i64,
    pub sum: u64,
}

impl Sum {
    pub fn add(&mut self, row: u64) {
        self.rows = self.rows.wrapping_add(1);
        self.sum = self.sum.wrapping_add(row);
    }

    pub fn remove(&mut self, row: u64) {
        self.rows = self.rows.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(row);
    }
}
