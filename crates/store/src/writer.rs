//! Writing rows within one transaction, and keeping each table's sum with them.

use crate::schema::CHECKS;
use crate::sheet::{Cell, RowSum, Sheet, Sum};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ToSql, params_from_iter};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What each table comes to, by name.
pub(crate) type Sums = BTreeMap<&'static str, Sum>;

/// Writes the tables of one file.
pub(crate) struct Writer<'c> {
    connection: &'c Connection,
    sums: RefCell<Sums>,
    /// Whether the file holds nothing yet, so that nothing has to give way.
    fresh: bool,
}

impl<'c> Writer<'c> {
    /// A writer into a file whose tables come to `sums`; into an empty one when `None`.
    pub fn new(connection: &'c Connection, sums: Option<Sums>) -> Writer<'c> {
        let fresh = sums.is_none();
        Writer { connection, sums: RefCell::new(sums.unwrap_or_default()), fresh }
    }

    /// Opens one table.
    pub fn open(&self, sheet: &'static Sheet) -> rusqlite::Result<SheetWriter<'_>> {
        Ok(SheetWriter {
            writer: self,
            sheet,
            insert: self.connection.prepare_cached(&sheet.insert())?,
            sum: self.sums.borrow().get(sheet.name).copied().unwrap_or_default(),
            row: RowSum::default(),
        })
    }

    /// Writes down what the tables come to.
    pub fn finish(self) -> rusqlite::Result<Sums> {
        let sums = self.sums.into_inner();
        self.connection.execute("DELETE FROM checks", [])?;
        let mut insert = self.connection.prepare(&CHECKS.insert())?;
        for (name, Sum { rows, sum }) in &sums {
            insert.execute((name, rows, *sum as i64))?;
        }
        Ok(sums)
    }
}

/// Writes one table.
pub(crate) struct SheetWriter<'w> {
    writer: &'w Writer<'w>,
    sheet: &'static Sheet,
    insert: CachedStatement<'w>,
    sum: Sum,
    row: RowSum,
}

impl SheetWriter<'_> {
    /// Adds a row.
    pub fn put(&mut self, cells: &[Cell<'_>]) -> rusqlite::Result<()> {
        debug_assert_eq!(cells.len(), self.sheet.columns.len(), "{}", self.sheet.name);
        self.insert.execute(params_from_iter(cells))?;
        cells.iter().for_each(|cell| self.row.add(*cell));
        self.sum.add(self.row.take());
        Ok(())
    }

    /// Removes the rows whose keys begin with `keys`. They are read first: what
    /// they took part in the sum with is what stands in the file.
    pub fn clear(&mut self, keys: &[Cell<'_>]) -> rusqlite::Result<()> {
        if self.writer.fresh {
            return Ok(());
        }
        let condition = self.sheet.matching(keys.len());
        let connection = self.writer.connection;
        let mut select =
            connection.prepare_cached(&format!("{}{condition}", self.sheet.select()))?;
        let mut rows = select.query(params_from_iter(keys))?;
        let mut found = false;
        while let Some(row) = rows.next()? {
            for index in 0..self.sheet.columns.len() {
                self.row.add(Cell::from_value(row.get_ref(index)?));
            }
            self.sum.remove(self.row.take());
            found = true;
        }
        if found {
            let delete = format!("DELETE FROM \"{}\"{condition}", self.sheet.name);
            connection.prepare_cached(&delete)?.execute(params_from_iter(keys))?;
        }
        Ok(())
    }
}

impl Drop for SheetWriter<'_> {
    fn drop(&mut self) {
        self.writer.sums.borrow_mut().insert(self.sheet.name, self.sum);
    }
}

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Cell::Null => ValueRef::Null,
            Cell::Int(number) => ValueRef::Integer(*number),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
            Cell::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
