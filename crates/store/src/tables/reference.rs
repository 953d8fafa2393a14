//! References, and what their type numbers mean.

use crate::error::StoreError;
use crate::reader::{Fault, Reader};
use crate::sheet::{Cell, Sheet};
use crate::words::{reference_type, source_number};
use crate::writer::Writer;
use program::{Program, ReferenceInfo, References, Table};

pub(crate) const REFERENCES: Sheet = Sheet {
    name: "references",
    keys: 5,
    columns: &[
        "from_space INTEGER",
        "from_offset INTEGER",
        "operand INTEGER",
        "to_space INTEGER",
        "to_offset INTEGER",
        "type INTEGER",
        "source INTEGER",
        "is_primary INTEGER",
    ],
};

pub(crate) const TYPES: Sheet =
    Sheet { name: "reference_types", keys: 1, columns: &["number INTEGER", "name TEXT"] };

pub(super) fn save(
    writer: &Writer<'_>,
    before: Option<&Program>,
    now: &Program,
) -> rusqlite::Result<()> {
    let none = Table::new();
    let old = before.map_or(&none, |program| program.references.table());
    let mut sheet = writer.open(&REFERENCES)?;
    for change in now.references.table().changes(old) {
        let (from, operand, to) = *change.key;
        let key = [
            Cell::Int(from.space.0.into()),
            Cell::bits(from.offset),
            Cell::Int(operand.into()),
            Cell::Int(to.space.0.into()),
            Cell::bits(to.offset),
        ];
        if change.before.is_some() {
            sheet.clear(&key)?;
        }
        if let Some(ReferenceInfo { kind, source, primary }) = change.after {
            let [a, b, c, d, e] = key;
            let kind = Cell::Int(reference_type::write(*kind));
            let source = Cell::Int(source_number::write(*source));
            sheet.put(&[a, b, c, d, e, kind, source, Cell::flag(*primary)])?;
        }
    }
    if before.is_none() {
        let mut sheet = writer.open(&TYPES)?;
        for (number, kind) in reference_type::all() {
            sheet.put(&[Cell::Int(number), Cell::Text(kind.name())])?;
        }
    }
    Ok(())
}

pub(super) fn load(reader: &Reader<'_>) -> Result<References, StoreError> {
    let mut references = Vec::with_capacity(reader.rows(&REFERENCES));
    reader.each(&REFERENCES, |row| {
        let info = ReferenceInfo {
            kind: reference_type::read(row.int(5)?).ok_or(Fault("a type is not known"))?,
            source: source_number::read(row.int(6)?).ok_or(Fault("a source is not known"))?,
            primary: row.flag(7)?,
        };
        references.push(((row.address(0)?, row.number(2)?, row.address(3)?), info));
        Ok(())
    })?;
    // Names for people: nothing is read from them, but they must be intact.
    reader.each(&TYPES, |_| Ok(()))?;
    Ok(References::restore(references.into_iter().collect()))
}
