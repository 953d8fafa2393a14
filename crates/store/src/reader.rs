//! Reading rows as what they claim to be, and checking each table's sum.

use crate::error::StoreError;
use crate::sheet::{Cell, RowSum, Sheet, Sum};
use crate::tables;
use crate::writer::Sums;
use program::{Address, SpaceId};
use rusqlite::Connection;
use std::path::Path;

/// What is wrong with a row, as part of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault(pub &'static str);

/// What a row says, or why it cannot be true.
pub(crate) type Checked<T> = Result<T, Fault>;

/// Reads the tables of one file.
pub(crate) struct Reader<'c> {
    connection: &'c Connection,
    path: &'c Path,
    sums: Sums,
}

impl<'c> Reader<'c> {
    /// A reader over a file whose layout was checked.
    pub fn new(connection: &'c Connection, path: &'c Path) -> Result<Reader<'c>, StoreError> {
        let failed = |error: rusqlite::Error| StoreError::reading(path, &error);
        let mut sums = Sums::new();
        let mut statement =
            connection.prepare("SELECT rows, sum FROM checks WHERE name = ?").map_err(failed)?;
        for sheet in tables::ALL {
            let sum = statement.query_row([sheet.name], |row| {
                Ok(Sum { rows: row.get(0)?, sum: row.get::<_, i64>(1)? as u64 })
            });
            let missing = |_| StoreError::damaged(path, "its sums are not there");
            sums.insert(sheet.name, sum.map_err(missing)?);
        }
        Ok(Reader { connection, path, sums })
    }

    /// What the tables come to.
    pub fn into_sums(self) -> Sums {
        self.sums
    }

    /// How many rows a table has; a size hint, checked only when it is read.
    pub fn rows(&self, sheet: &Sheet) -> usize {
        let rows = self.sums.get(sheet.name).map_or(0, |sum| sum.rows);
        usize::try_from(rows).unwrap_or(0).min(1 << 20)
    }

    /// Reads a table in the order of its keys. What `each` made of the rows counts
    /// only when this succeeds.
    pub fn each(
        &self,
        sheet: &Sheet,
        mut each: impl FnMut(&Row<'_>) -> Checked<()>,
    ) -> Result<(), StoreError> {
        let failed = |error: rusqlite::Error| StoreError::reading(self.path, &error);
        let mut statement = self.connection.prepare(&sheet.select()).map_err(failed)?;
        let mut rows = statement.raw_query();
        let (mut sum, mut row_sum) = (Sum::default(), RowSum::default());
        while let Some(row) = rows.next().map_err(failed)? {
            for index in 0..sheet.columns.len() {
                row_sum.add(Cell::from_value(row.get_ref(index).map_err(failed)?));
            }
            sum.add(row_sum.take());
            each(&Row { row }).map_err(|Fault(what)| self.damaged(sheet, what))?;
        }
        if self.sums.get(sheet.name) != Some(&sum) {
            return Err(self.damaged(sheet, "its rows do not come to the sum written with them"));
        }
        Ok(())
    }

    /// The error that a table is not what was saved.
    pub fn damaged(&self, sheet: &Sheet, what: &str) -> StoreError {
        StoreError::damaged(self.path, format!("table {}: {what}", sheet.name))
    }
}

/// One row.
pub(crate) struct Row<'r> {
    row: &'r rusqlite::Row<'r>,
}

impl<'r> Row<'r> {
    pub fn cell(&self, index: usize) -> Checked<Cell<'r>> {
        self.row.get_ref(index).map(Cell::from_value).map_err(|_| Fault("a column is missing"))
    }

    pub fn int(&self, index: usize) -> Checked<i64> {
        match self.cell(index)? {
            Cell::Int(number) => Ok(number),
            _ => Err(Fault("a number is not one")),
        }
    }

    /// A number of a narrower type.
    pub fn number<T: TryFrom<i64>>(&self, index: usize) -> Checked<T> {
        T::try_from(self.int(index)?).map_err(|_| Fault("a number is out of range"))
    }

    /// A number of a narrower type, or none.
    pub fn maybe_number<T: TryFrom<i64>>(&self, index: usize) -> Checked<Option<T>> {
        match self.cell(index)? {
            Cell::Null => Ok(None),
            _ => self.number(index).map(Some),
        }
    }

    /// All 64 bits.
    pub fn bits(&self, index: usize) -> Checked<u64> {
        Ok(self.int(index)? as u64)
    }

    pub fn flag(&self, index: usize) -> Checked<bool> {
        match self.int(index)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Fault("a truth value is neither 0 nor 1")),
        }
    }

    pub fn text(&self, index: usize) -> Checked<&'r str> {
        match self.cell(index)? {
            Cell::Text(text) => Ok(text),
            _ => Err(Fault("a text is not one")),
        }
    }

    pub fn maybe_text(&self, index: usize) -> Checked<Option<&'r str>> {
        match self.cell(index)? {
            Cell::Null => Ok(None),
            Cell::Text(text) => Ok(Some(text)),
            _ => Err(Fault("a text is not one")),
        }
    }

    pub fn blob(&self, index: usize) -> Checked<&'r [u8]> {
        match self.cell(index)? {
            Cell::Blob(bytes) => Ok(bytes),
            _ => Err(Fault("bytes are not bytes")),
        }
    }

    /// A word that `read` knows.
    pub fn word<T>(&self, index: usize, read: impl FnOnce(&'r str) -> Option<T>) -> Checked<T> {
        read(self.text(index)?).ok_or(Fault("a word is not known"))
    }

    /// An address from a space and the offset behind it.
    pub fn address(&self, index: usize) -> Checked<Address> {
        Ok(Address::new(SpaceId(self.number(index)?), self.bits(index + 1)?))
    }
}
