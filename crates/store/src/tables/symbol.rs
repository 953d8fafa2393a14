//! Symbols and namespaces.

use crate::error::StoreError;
use crate::reader::Reader;
use crate::sheet::{Cell, Sheet};
use crate::words::{source, symbol_kind};
use crate::writer::Writer;
use program::{Program, Symbol, SymbolId, Symbols, Table};

pub(crate) const SYMBOLS: Sheet = Sheet {
    name: "symbols",
    keys: 1,
    columns: &[
        "id INTEGER",
        "space INTEGER",
        "offset INTEGER",
        "name TEXT",
        "kind TEXT",
        "parent INTEGER",
        "source TEXT",
        "is_primary INTEGER",
        "external_entry INTEGER",
        "pinned INTEGER",
    ],
};

pub(super) fn save(
    writer: &Writer<'_>,
    before: Option<&Program>,
    now: &Program,
) -> rusqlite::Result<()> {
    let none = Table::new();
    let old = before.map_or(&none, |program| program.symbols.table());
    let mut sheet = writer.open(&SYMBOLS)?;
    for change in now.symbols.table().changes(old) {
        let id = Cell::bits(change.key.0);
        if change.before.is_some() {
            sheet.clear(&[id])?;
        }
        if let Some(symbol) = change.after {
            let Symbol { name, address, kind, parent, source: by, primary, external_entry, pinned } =
                symbol;
            sheet.put(&[
                id,
                Cell::Int(address.space.0.into()),
                Cell::bits(address.offset),
                Cell::Text(name),
                Cell::Text(symbol_kind::write(*kind)),
                Cell::bits(parent.0),
                Cell::Text(source::write(*by)),
                Cell::flag(*primary),
                Cell::flag(*external_entry),
                Cell::flag(*pinned),
            ])?;
        }
    }
    Ok(())
}

pub(super) fn load(reader: &Reader<'_>, last_id: u64) -> Result<Symbols, StoreError> {
    let mut symbols = Vec::with_capacity(reader.rows(&SYMBOLS));
    reader.each(&SYMBOLS, |row| {
        let symbol = Symbol {
            address: row.address(1)?,
            name: row.text(3)?.into(),
            kind: row.word(4, symbol_kind::read)?,
            parent: SymbolId(row.number(5)?),
            source: row.word(6, source::read)?,
            primary: row.flag(7)?,
            external_entry: row.flag(8)?,
            pinned: row.flag(9)?,
        };
        symbols.push((SymbolId(row.number(0)?), symbol));
        Ok(())
    })?;
    Symbols::restore(symbols.into_iter().collect(), last_id)
        .ok_or_else(|| reader.damaged(&SYMBOLS, "the ids do not fit"))
}
