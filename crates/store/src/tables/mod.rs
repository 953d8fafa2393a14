//! The tables, a file per kind of fact: how each is written and read.

mod contents;
mod data_type;
mod function;
pub(crate) mod info;
mod listing;
mod memory;
mod place;
mod reference;
mod symbol;

use crate::error::StoreError;
use crate::reader::Reader;
use crate::record::Record;
use crate::sheet::Sheet;
use crate::writer::Writer;
use program::Program;
use std::sync::Arc;

/// Every table that holds part of a program.
pub(crate) const ALL: &[&Sheet] = &[
    &info::INFO,
    &info::WARNINGS,
    &memory::SPACES,
    &contents::CONTENTS,
    &memory::BLOCKS,
    &memory::PAGES,
    &listing::INSTRUCTIONS,
    &listing::OVERRIDES,
    &listing::DATA,
    &symbol::SYMBOLS,
    &function::FUNCTIONS,
    &function::RANGES,
    &function::PARAMETERS,
    &function::VARIABLES,
    &function::TAGS,
    &reference::REFERENCES,
    &reference::TYPES,
    &place::COMMENTS,
    &place::MODES,
    &place::ENTRY_POINTS,
    &place::PROTECTED,
    &place::RELOCATIONS,
    &data_type::TYPES,
    &data_type::FIELDS,
    &data_type::VALUES,
    &data_type::PARAMETERS,
];

/// Writes what changed since `before`; everything when there is no state before.
pub(crate) fn save(
    writer: &Writer<'_>,
    before: Option<(&Program, &Record)>,
    program: &Program,
    record: &Record,
) -> rusqlite::Result<()> {
    info::save(writer, before, program, record)?;
    let before = before.map(|(program, _)| program);
    memory::save(writer, before, program)?;
    listing::save(writer, before, program)?;
    symbol::save(writer, before, program)?;
    function::save(writer, before, program)?;
    reference::save(writer, before, program)?;
    place::save(writer, before, program)?;
    data_type::save(writer, before, program)
}

/// Reads the whole program. `known` are bytes that may stand for the ones stored,
/// when they are the same file: they need no unpacking then.
pub(crate) fn load(
    reader: &Reader<'_>,
    known: Option<(&Arc<[u8]>, &str)>,
) -> Result<(Program, Record), StoreError> {
    let info = info::load(reader)?;
    let same_file = |sha256: &str| sha256 == info.record.load.file_sha256;
    let known = known.filter(|(_, sha256)| same_file(sha256)).map(|(bytes, _)| bytes);
    let types = data_type::load(reader, info.organization, info.last_type)?;
    let spaces = memory::load_spaces(reader)?;
    let contents = contents::load(reader, known)?;
    let memory = memory::load(reader, info.big_endian, &contents)?;
    let origin = info.origin.map(|at| contents.get(at).cloned());
    let no_origin = || reader.damaged(&contents::CONTENTS, "the file of its origin is missing");
    let origin = origin.map(|bytes| bytes.ok_or_else(no_origin)).transpose()?;
    let symbols = symbol::load(reader, info.last_symbol)?;
    let functions = function::load(reader)?;
    let listing = listing::load(reader)?;
    let references = reference::load(reader)?;
    let places = place::load(reader)?;
    let program = Program {
        info: Arc::new(info.program),
        spaces: Arc::new(spaces),
        memory,
        listing,
        symbols,
        functions,
        references,
        comments: places.comments,
        types,
        modes: places.modes,
        relocations: Arc::new(places.relocations),
        entry_points: places.entry_points,
        protected: places.protected,
        origin,
    };
    Ok((program, info.record))
}
