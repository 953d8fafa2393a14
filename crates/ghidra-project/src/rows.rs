//! The rows of a table, with values by the names of their columns: versions of a table differ in
//! which columns they have and where.

use ghidra_db::{Database, Record, Table, Value};

/// A table that was read, or nothing where the database has none.
#[derive(Default)]
pub(crate) struct Rows {
    columns: Vec<String>,
    records: Vec<Record>,
}

/// One row.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    rows: &'a Rows,
    record: &'a Record,
}

impl Rows {
    /// Reads a table; one that cannot be read is named in `notices` and left out.
    pub(crate) fn read(database: &Database, name: &str, notices: &mut Vec<String>) -> Rows {
        database.table(name).map(|table| Rows::of(database, table, notices)).unwrap_or_default()
    }

    pub(crate) fn of(database: &Database, table: &Table, notices: &mut Vec<String>) -> Rows {
        match database.read(table) {
            Ok(records) => {
                let columns = table.schema.columns.iter().map(|column| column.name.clone());
                Rows { columns: columns.collect(), records }
            }
            Err(error) => {
                notices.push(format!("{error}; the table is left out."));
                Rows::default()
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.records.iter().map(|record| Row { rows: self, record })
    }
}

impl<'a> Row<'a> {
    /// The key where it is a number, else 0.
    pub(crate) fn key(self) -> i64 {
        self.record.long_key().unwrap_or(0)
    }

    /// The key where it is text.
    pub(crate) fn key_text(self) -> &'a str {
        self.record.key.text().unwrap_or_default()
    }

    fn value(self, column: &str) -> Option<&'a Value> {
        let place = self.rows.columns.iter().position(|name| name == column)?;
        self.record.values.get(place)
    }

    /// The number in a column, where there is one.
    pub(crate) fn number(self, column: &str) -> Option<i64> {
        self.value(column)?.number()
    }

    /// The number in a column, else 0.
    pub(crate) fn int(self, column: &str) -> i64 {
        self.number(column).unwrap_or(0)
    }

    /// Text in a column, where there is any.
    pub(crate) fn text(self, column: &str) -> Option<&'a str> {
        self.value(column)?.text()
    }

    /// Text in a column, else nothing.
    pub(crate) fn word(self, column: &str) -> &'a str {
        self.text(column).unwrap_or_default()
    }

    /// Bytes in a column, else none.
    pub(crate) fn bytes(self, column: &str) -> &'a [u8] {
        self.value(column).and_then(Value::binary).unwrap_or_default()
    }
}
