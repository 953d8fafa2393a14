//! Small facts about places: comments, decoding modes, entry points, protected
//! memory, relocations.

use crate::error::StoreError;
use crate::reader::{Fault, Reader};
use crate::sheet::{Cell, Sheet};
use crate::words::comment_kind;
use crate::writer::Writer;
use program::{
    Address, AddressRange, AddressSet, CommentKind, Program, Relocation, Table, table::Change,
};
use std::sync::Arc;

pub(crate) const COMMENTS: Sheet = Sheet {
    name: "comments",
    keys: 3,
    columns: &["space INTEGER", "offset INTEGER", "type TEXT", "text TEXT"],
};

pub(crate) const MODES: Sheet =
    Sheet { name: "modes", keys: 2, columns: &["space INTEGER", "offset INTEGER", "mode INTEGER"] };

pub(crate) const ENTRY_POINTS: Sheet =
    Sheet { name: "entry_points", keys: 2, columns: &["space INTEGER", "offset INTEGER"] };

pub(crate) const PROTECTED: Sheet = Sheet {
    name: "protected_ranges",
    keys: 2,
    columns: &["space INTEGER", "first INTEGER", "last INTEGER"],
};

pub(crate) const RELOCATIONS: Sheet = Sheet {
    name: "relocations",
    keys: 1,
    columns: &[
        "number INTEGER",
        "space INTEGER",
        "offset INTEGER",
        "type INTEGER",
        "symbol TEXT",
        "length INTEGER",
        "applied INTEGER",
    ],
};

/// What the tables say.
pub(super) struct Places {
    pub comments: Table<(Address, CommentKind), Arc<str>>,
    pub modes: Table<Address, u8>,
    pub entry_points: Table<Address, ()>,
    pub protected: AddressSet,
    pub relocations: Vec<Relocation>,
}

/// Writes the changed rows of a table of which each entry is one row.
fn save_table<K: Ord + Clone, V: Clone + PartialEq>(
    writer: &Writer<'_>,
    sheet: &'static Sheet,
    before: Option<&Table<K, V>>,
    now: &Table<K, V>,
    row: impl for<'a> Fn(&'a K, Option<&'a V>) -> Vec<Cell<'a>>,
) -> rusqlite::Result<()> {
    let none = Table::new();
    let mut sheet_writer = writer.open(sheet)?;
    for Change { key, before, after } in now.changes(before.unwrap_or(&none)) {
        if before.is_some() {
            sheet_writer.clear(&row(key, None)[..sheet.keys])?;
        }
        if after.is_some() {
            sheet_writer.put(&row(key, after))?;
        }
    }
    Ok(())
}

fn place<'a>(address: &Address) -> Vec<Cell<'a>> {
    vec![Cell::Int(address.space.0.into()), Cell::bits(address.offset)]
}

pub(super) fn save(
    writer: &Writer<'_>,
    before: Option<&Program>,
    now: &Program,
) -> rusqlite::Result<()> {
    let old = before.map(|program| &program.comments);
    save_table(writer, &COMMENTS, old, &now.comments, |(address, kind), text| {
        let mut row = place(address);
        row.push(Cell::Text(comment_kind::write(*kind)));
        row.extend(text.map(|text| Cell::Text(text)));
        row
    })?;
    let old = before.map(|program| &program.modes);
    save_table(writer, &MODES, old, &now.modes, |address, mode| {
        let mut row = place(address);
        row.extend(mode.map(|mode| Cell::Int((*mode).into())));
        row
    })?;
    let old = before.map(|program| &program.entry_points);
    save_table(writer, &ENTRY_POINTS, old, &now.entry_points, |address, _| place(address))?;
    if before.is_none_or(|before| before.protected != now.protected) {
        let mut sheet = writer.open(&PROTECTED)?;
        sheet.clear(&[])?;
        for AddressRange { start, end } in now.protected.ranges() {
            let mut row = place(start);
            row.push(Cell::bits(end.offset));
            sheet.put(&row)?;
        }
    }
    if before.is_none_or(|before| before.relocations != now.relocations) {
        save_relocations(writer, &now.relocations)?;
    }
    Ok(())
}

fn save_relocations(writer: &Writer<'_>, relocations: &[Relocation]) -> rusqlite::Result<()> {
    let mut sheet = writer.open(&RELOCATIONS)?;
    sheet.clear(&[])?;
    for (number, relocation) in (0..).zip(relocations) {
        let Relocation { address, kind, symbol, length, applied } = relocation;
        sheet.put(&[
            Cell::Int(number),
            Cell::Int(address.space.0.into()),
            Cell::bits(address.offset),
            Cell::Int((*kind).into()),
            Cell::Text(symbol),
            Cell::Int((*length).into()),
            Cell::flag(*applied),
        ])?;
    }
    Ok(())
}

pub(super) fn load(reader: &Reader<'_>) -> Result<Places, StoreError> {
    let mut comments = Vec::with_capacity(reader.rows(&COMMENTS));
    reader.each(&COMMENTS, |row| {
        let kind = row.word(2, comment_kind::read)?;
        comments.push(((row.address(0)?, kind), Arc::from(row.text(3)?)));
        Ok(())
    })?;
    let mut modes = Vec::new();
    reader.each(&MODES, |row| {
        modes.push((row.address(0)?, row.number(2)?));
        Ok(())
    })?;
    let mut entry_points = Vec::new();
    reader.each(&ENTRY_POINTS, |row| {
        entry_points.push((row.address(0)?, ()));
        Ok(())
    })?;
    let mut protected = AddressSet::new();
    reader.each(&PROTECTED, |row| {
        let start = row.address(0)?;
        let end = Address::new(start.space, row.bits(2)?);
        protected.insert(AddressRange::new(start, end).ok_or(Fault("a range is not one"))?);
        Ok(())
    })?;
    let mut relocations = Vec::with_capacity(reader.rows(&RELOCATIONS));
    reader.each(&RELOCATIONS, |row| {
        relocations.push(Relocation {
            address: row.address(1)?,
            kind: row.number(3)?,
            symbol: row.text(4)?.into(),
            length: row.number(5)?,
            applied: row.flag(6)?,
        });
        Ok(())
    })?;
    Ok(Places {
        comments: comments.into_iter().collect(),
        modes: modes.into_iter().collect(),
        entry_points: entry_points.into_iter().collect(),
        protected,
        relocations,
    })
}
