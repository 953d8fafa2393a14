//! The bytes that memory blocks are parts of: the file, or what was made of it.
//! They are packed with zlib, in parts of bearable size.

use crate::error::StoreError;
use crate::reader::{Checked, Fault, Reader, Row};
use crate::sheet::{Cell, Sheet};
use crate::writer::Writer;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use program::{BlockSource, Program};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

pub(crate) const CONTENTS: Sheet = Sheet {
    name: "contents",
    keys: 2,
    columns: &["id INTEGER", "part INTEGER", "length INTEGER", "hash INTEGER", "data BLOB"],
};

/// Bytes of one part before it is packed.
const PART: usize = 16 << 20;

/// Largest content that is read; files above this size are not opened either.
const MAX_CONTENT: usize = 4 << 30;

/// Each content that blocks are parts of, once, in the order of the blocks, and the file that the
/// program was taken over from.
pub(super) fn of(program: &Program) -> Vec<&Arc<[u8]>> {
    let mut contents: Vec<&Arc<[u8]>> = Vec::new();
    for block in program.memory.blocks() {
        if let BlockSource::Bytes { bytes, .. } = block.source()
            && index(&contents, bytes).is_none()
        {
            contents.push(bytes);
        }
    }
    let origin = program.origin.as_ref();
    contents.extend(origin.filter(|bytes| index(&contents, bytes).is_none()));
    contents
}

/// Which of the contents these bytes are.
pub(super) fn index(contents: &[&Arc<[u8]>], bytes: &Arc<[u8]>) -> Option<usize> {
    contents.iter().position(|known| Arc::ptr_eq(known, bytes))
}

pub(super) fn save(
    writer: &Writer<'_>,
    before: Option<&[&Arc<[u8]>]>,
    contents: &[&Arc<[u8]>],
) -> rusqlite::Result<()> {
    let same = |before: &[&Arc<[u8]>]| {
        before.len() == contents.len()
            && before.iter().zip(contents).all(|(a, b)| Arc::ptr_eq(a, b))
    };
    if before.is_some_and(same) {
        return Ok(());
    }
    let mut sheet = writer.open(&CONTENTS)?;
    sheet.clear(&[])?;
    for (id, bytes) in (0i64..).zip(contents) {
        // An empty content still has one part, so that it is there.
        let parts = bytes.chunks(PART).chain(bytes.is_empty().then_some(&[][..]));
        for (part, bytes) in (0i64..).zip(parts) {
            let packed = pack(bytes);
            sheet.put(&[
                Cell::Int(id),
                Cell::Int(part),
                Cell::Int(bytes.len() as i64),
                Cell::bits(xxh3_64(bytes)),
                Cell::Blob(&packed),
            ])?;
        }
    }
    Ok(())
}

/// A content while its parts are read.
#[derive(Default)]
struct Growing {
    bytes: Vec<u8>,
    length: usize,
    parts: i64,
    /// Whether every part so far was one of the bytes at hand, so that none was unpacked.
    at_hand: bool,
}

impl Growing {
    fn add(&mut self, row: &Row<'_>, known: Option<&Arc<[u8]>>) -> Checked<()> {
        let length: usize = row.number(2)?;
        let end = self.length + length.min(PART + 1);
        if row.int(1)? != self.parts || length > PART || end > MAX_CONTENT {
            return Err(Fault("a part is missing or too large"));
        }
        let hash = row.bits(3)?;
        if self.at_hand {
            let there = known.and_then(|known| known.get(self.length..end));
            if there.is_none_or(|bytes| xxh3_64(bytes) != hash) {
                self.at_hand = false;
                let before = known.and_then(|known| known.get(..self.length));
                self.bytes.extend_from_slice(before.unwrap_or_default());
            }
        }
        if !self.at_hand {
            self.bytes.extend(unpack(row.blob(4)?, length)?);
        }
        self.length = end;
        self.parts += 1;
        Ok(())
    }

    fn finish(mut self, known: Option<&Arc<[u8]>>) -> Arc<[u8]> {
        match known.filter(|_| self.at_hand) {
            Some(known) if known.len() == self.length => Arc::clone(known),
            Some(known) => known[..self.length].into(),
            None => std::mem::take(&mut self.bytes).into(),
        }
    }
}

/// Reads the contents by id. Where one equals the bytes at hand, those are used.
pub(super) fn load(
    reader: &Reader<'_>,
    known: Option<&Arc<[u8]>>,
) -> Result<Vec<Arc<[u8]>>, StoreError> {
    let mut contents: Vec<Growing> = Vec::new();
    reader.each(&CONTENTS, |row| {
        let id: usize = row.number(0)?;
        if id == contents.len() {
            contents.push(Growing { at_hand: known.is_some(), ..Growing::default() });
        }
        match contents.last_mut() {
            Some(content) => content.add(row, known),
            None => Err(Fault("a part is missing")),
        }
    })?;
    Ok(contents.into_iter().map(|content| content.finish(known)).collect())
}

pub(super) fn pack(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec_zlib(bytes, 6)
}

/// Unpacks exactly `length` bytes.
pub(super) fn unpack(packed: &[u8], length: usize) -> Result<Vec<u8>, Fault> {
    let bytes = decompress_to_vec_zlib_with_limit(packed, length)
        .map_err(|_| Fault("packed bytes cannot be unpacked"))?;
    if bytes.len() == length { Ok(bytes) } else { Err(Fault("packed bytes have another length")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_bytes_come_back_and_no_more_of_them_than_were_announced() {
        let bytes: Vec<u8> = (0..100_000u32).map(|n| (n / 7) as u8).collect();
        let packed = pack(&bytes);
        assert!(packed.len() < bytes.len() / 4);
        assert_eq!(unpack(&packed, bytes.len()), Ok(bytes.clone()));
        assert!(unpack(&packed, bytes.len() - 1).is_err());
        assert!(unpack(&packed, bytes.len() + 1).is_err());
        assert!(unpack(&packed[..packed.len() - 5], bytes.len()).is_err());
        assert_eq!(unpack(&pack(&[]), 0), Ok(Vec::new()));
    }
}
