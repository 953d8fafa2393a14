//! Address spaces, memory blocks, and the pages of them that differ from the file.

use super::contents;
use crate::error::StoreError;
use crate::reader::{Checked, Fault, Reader, Row};
use crate::sheet::{Cell, Sheet};
use crate::words::{block_kind, space_kind};
use crate::writer::Writer;
use program::memory::PAGE;
use program::{
    Address, AddressSpace, AddressSpaces, BlockSource, Memory, MemoryBlock, Permissions, Program,
    SpaceId, Table,
};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const SPACES: Sheet = Sheet {
    name: "spaces",
    keys: 1,
    columns: &[
        "id INTEGER",
        "name TEXT",
        "kind TEXT",
        "bits INTEGER",
        "unit INTEGER",
        "overlay_of INTEGER",
    ],
};

pub(crate) const BLOCKS: Sheet = Sheet {
    name: "blocks",
    keys: 2,
    columns: &[
        "space INTEGER",
        "start INTEGER",
        "length INTEGER",
        "name TEXT",
        "read INTEGER",
        "write INTEGER",
        "execute INTEGER",
        "volatile INTEGER",
        "artificial INTEGER",
        "kind TEXT",
        "loaded INTEGER",
        "source_name TEXT",
        "comment TEXT",
        "source TEXT",
        "content INTEGER",
        "content_offset INTEGER",
        "content_length INTEGER",
    ],
};

pub(crate) const PAGES: Sheet = Sheet {
    name: "changed_pages",
    keys: 3,
    columns: &["space INTEGER", "block INTEGER", "page INTEGER", "data BLOB"],
};

type Pages = Table<u64, Arc<[u8; PAGE]>>;

pub(super) fn save(
    writer: &Writer<'_>,
    before: Option<&Program>,
    now: &Program,
) -> rusqlite::Result<()> {
    if before.is_none_or(|before| before.spaces != now.spaces) {
        save_spaces(writer, &now.spaces)?;
    }
    if before.is_some_and(|before| before.memory.same(&now.memory)) {
        return Ok(());
    }
    let contents = contents::of(now);
    let old_contents = before.map(contents::of);
    contents::save(writer, old_contents.as_deref(), &contents)?;
    let before = before.map(|program| &program.memory);
    let now = &now.memory;
    let mut sheet = writer.open(&BLOCKS)?;
    sheet.clear(&[])?;
    for block in now.blocks() {
        put_block(&mut |cells| sheet.put(cells), block, &contents)?;
    }
    save_pages(writer, before, now)
}

fn save_spaces(writer: &Writer<'_>, spaces: &AddressSpaces) -> rusqlite::Result<()> {
    let mut sheet = writer.open(&SPACES)?;
    sheet.clear(&[])?;
    for AddressSpace { id, name, kind, bits, unit, overlay_of } in spaces.iter() {
        sheet.put(&[
            Cell::Int(id.0.into()),
            Cell::Text(name),
            Cell::Text(space_kind::write(*kind)),
            Cell::Int((*bits).into()),
            Cell::Int((*unit).into()),
            Cell::maybe_int(overlay_of.map(|base| base.0)),
        ])?;
    }
    Ok(())
}

fn put_block(
    put: &mut impl FnMut(&[Cell<'_>]) -> rusqlite::Result<()>,
    block: &MemoryBlock,
    contents: &[&Arc<[u8]>],
) -> rusqlite::Result<()> {
    let Permissions { read, write, execute, volatile, artificial } = block.permissions;
    let (source, part) = match block.source() {
        BlockSource::Zero => ("zero", None),
        BlockSource::Uninitialized => ("uninitialized", None),
        BlockSource::Bytes { bytes, offset, length } => {
            let id = contents::index(contents, bytes).unwrap_or_default();
            ("bytes", Some([id, *offset, *length]))
        }
    };
    let part = part.map_or([Cell::Null; 3], |part| part.map(|n| Cell::Int(n as i64)));
    put(&[
        Cell::Int(block.start.space.0.into()),
        Cell::bits(block.start.offset),
        Cell::bits(block.length),
        Cell::Text(&block.name),
        Cell::flag(read),
        Cell::flag(write),
        Cell::flag(execute),
        Cell::flag(volatile),
        Cell::flag(artificial),
        Cell::Text(block_kind::write(block.kind)),
        Cell::flag(block.loaded),
        Cell::Text(&block.source_name),
        Cell::Text(&block.comment),
        Cell::Text(source),
        part[0],
        part[1],
        part[2],
    ])
}

fn save_pages(writer: &Writer<'_>, before: Option<&Memory>, now: &Memory) -> rusqlite::Result<()> {
    let mut sheet = writer.open(&PAGES)?;
    let none = Pages::new();
    let key = |start: Address| [Cell::Int(start.space.0.into()), Cell::bits(start.offset)];
    let old = |start: Address| before?.blocks().iter().find(|block| block.start == start);
    for block in before.map_or(&[][..], Memory::blocks) {
        if !now.blocks().iter().any(|kept| kept.start == block.start) {
            sheet.clear(&key(block.start))?;
        }
    }
    for block in now.blocks() {
        let before = old(block.start).map_or(&none, MemoryBlock::changed_pages);
        for change in block.changed_pages().changes(before) {
            let [space, start] = key(block.start);
            let page = Cell::bits(*change.key);
            if change.before.is_some() {
                sheet.clear(&[space, start, page])?;
            }
            if let Some(bytes) = change.after {
                sheet.put(&[space, start, page, Cell::Blob(&contents::pack(&bytes[..]))])?;
            }
        }
    }
    Ok(())
}

pub(super) fn load_spaces(reader: &Reader<'_>) -> Result<AddressSpaces, StoreError> {
    let mut spaces = Vec::new();
    reader.each(&SPACES, |row| {
        spaces.push(AddressSpace {
            id: SpaceId(row.number(0)?),
            name: row.text(1)?.into(),
            kind: row.word(2, space_kind::read)?,
            bits: row.number(3)?,
            unit: row.number(4)?,
            overlay_of: row.maybe_number(5)?.map(SpaceId),
        });
        Ok(())
    })?;
    AddressSpaces::restore(spaces)
        .ok_or_else(|| reader.damaged(&SPACES, "the address spaces do not fit together"))
}

pub(super) fn load(
    reader: &Reader<'_>,
    big_endian: bool,
    contents: &[Arc<[u8]>],
) -> Result<Memory, StoreError> {
    let mut blocks = Vec::new();
    reader.each(&BLOCKS, |row| {
        blocks.push(block(row, contents)?);
        Ok(())
    })?;
    let mut pages: BTreeMap<Address, Pages> = BTreeMap::new();
    reader.each(&PAGES, |row| {
        let bytes = contents::unpack(row.blob(3)?, PAGE)?;
        let bytes = <[u8; PAGE]>::try_from(bytes).map_err(|_| Fault("a page has a wrong size"))?;
        pages.entry(row.address(0)?).or_default().insert(row.bits(2)?, Arc::new(bytes));
        Ok(())
    })?;
    let mut memory = Memory::new(big_endian);
    for mut block in blocks {
        if let Some(pages) = pages.remove(&block.start)
            && !block.restore_pages(pages)
        {
            return Err(reader.damaged(&PAGES, "a page lies outside of its block"));
        }
        let overlaps = |_| reader.damaged(&BLOCKS, "blocks overlap");
        memory.add_block(block).map_err(overlaps)?;
    }
    if !pages.is_empty() {
        return Err(reader.damaged(&PAGES, "a page belongs to no block"));
    }
    Ok(memory)
}

fn block(row: &Row<'_>, contents: &[Arc<[u8]>]) -> Checked<MemoryBlock> {
    let source = match row.text(13)? {
        "zero" => BlockSource::Zero,
        "uninitialized" => BlockSource::Uninitialized,
        "bytes" => {
            let bytes = contents.get(row.number::<usize>(14)?).ok_or(Fault("no such content"))?;
            let (offset, length): (usize, usize) = (row.number(15)?, row.number(16)?);
            if offset.checked_add(length).is_none_or(|end| end > bytes.len()) {
                return Err(Fault("a block goes beyond its bytes"));
            }
            BlockSource::Bytes { bytes: Arc::clone(bytes), offset, length }
        }
        _ => return Err(Fault("a word is not known")),
    };
    let start = row.address(0)?;
    let length = row.bits(2)?;
    if length == 0 || start.offset.checked_add(length - 1).is_none() {
        return Err(Fault("a block has no length or too much of it"));
    }
    let mut block = MemoryBlock::new(row.text(3)?, start, length, source);
    block.permissions = Permissions {
        read: row.flag(4)?,
        write: row.flag(5)?,
        execute: row.flag(6)?,
        volatile: row.flag(7)?,
        artificial: row.flag(8)?,
    };
    block.kind = row.word(9, block_kind::read)?;
    block.loaded = row.flag(10)?;
    block.source_name = row.text(11)?.into();
    block.comment = row.text(12)?.into();
    Ok(block)
}
