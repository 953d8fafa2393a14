//! Memory blocks: each made of parts that are bytes of a file, bytes of their own, nothing yet, or
//! other memory seen in another way.

use std::collections::HashMap;
use std::sync::Arc;

use ghidra_db::ChainedBuffer;
use program::{Address, BlockKind, BlockSource, MemoryBlock, Permissions};

use crate::import::Importer;

const BIT_MAPPED: i64 = 0;
const BYTE_MAPPED: i64 = 1;
const BUFFER: i64 = 2;
const FILE_BYTES: i64 = 4;

/// Bytes that are moved at once.
const CHUNK: usize = 1 << 14;
/// Mapped blocks are copied this far.
const MOST_MAPPED: u64 = 16 << 20;

/// A part of a block.
struct Part {
    kind: i64,
    length: u64,
    offset: u64,
    source: i64,
    place: i64,
}

/// The bytes of an imported file: as they were, and what was changed in them.
struct File<'a> {
    bytes: Arc<[u8]>,
    changes: Option<ChainedBuffer<'a>>,
}

impl<'a> Importer<'a> {
    /// Takes over memory. Cost: linear in the bytes stored.
    pub(crate) fn memory(&mut self) {
        let files = self.files();
        let mut parts: HashMap<i64, Vec<Part>> = HashMap::new();
        for row in self.rows("Sub Memory Blocks").iter() {
            let number = |column| u64::try_from(row.int(column)).unwrap_or(0);
            parts.entry(row.int("Parent ID")).or_default().push(Part {
                kind: row.int("Type"),
                length: number("Length"),
                offset: number("Starting Offset"),
                source: row.int("Source ID"),
                place: row.int("Source Address/Offset"),
            });
        }
        let mut mapped = Vec::new();
        for row in self.rows("Memory Blocks").iter() {
            let name = row.word("Name");
            let length = u64::try_from(row.int("Length")).unwrap_or(0);
            let Some(start) = self.addresses.decode(row.int("Start Address")) else {
                self.notices.push(format!("The memory block {name} has no address we know."));
                continue;
            };
            let mut parts = parts.remove(&row.key()).unwrap_or_default();
            parts.sort_by_key(|part| part.offset);
            let source = self.whole_buffer(&parts).unwrap_or_else(|| source_of(&parts, &files));
            let mut block = MemoryBlock::new(name, start, length, source);
            let flags = row.int("Flags");
            block.permissions = Permissions {
                read: flags & 4 != 0,
                write: flags & 2 != 0,
                execute: flags & 1 != 0,
                volatile: flags & 8 != 0,
                artificial: flags & 16 != 0,
            };
            block.kind = match parts.first().map(|part| part.kind) {
                Some(BIT_MAPPED) => BlockKind::BitMapped,
                Some(BYTE_MAPPED) => BlockKind::ByteMapped,
                _ => BlockKind::Default,
            };
            let space = self.program.spaces.get(start.space);
            block.loaded = space.is_none_or(|space| space.kind != program::SpaceKind::NonLoaded);
            block.comment = row.word("Comments").into();
            block.source_name = row.word("Source Name").into();
            if self.program.memory.add_block(block).is_err() {
                self.notices.push(format!("The memory block {name} lies over another."));
                continue;
            }
            self.fill(start, &parts, &files);
            if let (true, [part]) = (parts.iter().all(|p| p.kind < BUFFER), &parts[..]) {
                mapped.push((start, part.kind, part.length, part.source, part.place));
            }
        }
        for (start, kind, length, scheme, place) in mapped {
            self.copy_mapped(start, kind, length, scheme, place);
        }
    }

    /// The files that the program was imported from.
    fn files(&mut self) -> HashMap<i64, File<'a>> {
        let mut files = HashMap::new();
        for row in self.rows("File Bytes").iter() {
            let mut bytes = Vec::new();
            let ids = numbers(row.bytes("Chain Buffer IDs"));
            let whole = ids.iter().try_for_each(|&id| {
                bytes.extend(self.database.chained(id)?.to_vec()?);
                Ok::<(), ghidra_db::Error>(())
            });
            if let Err(error) = whole {
                let name = row.word("Filename");
                self.notices.push(format!("The bytes of {name} cannot be read whole: {error}."));
            }
            // Files beyond one chain's length, a gigabyte, keep changes in several; the first has
            // all that we are asked to open.
            let changes = numbers(row.bytes("Layered Chain Buffer IDs"));
            let changes = match &changes[..] {
                [id] => self.database.chained(*id).ok(),
                _ => None,
            };
            files.insert(row.key(), File { bytes: bytes.into(), changes });
        }
        files
    }

    /// The bytes of a block that has all of its own.
    fn whole_buffer(&self, parts: &[Part]) -> Option<BlockSource> {
        let [part] = parts else { return None };
        let chain = self.database.chained(buffer_of(part)).ok().filter(|_| part.kind == BUFFER)?;
        let bytes: Arc<[u8]> = chain.to_vec().ok()?.into();
        let length = bytes.len();
        Some(BlockSource::Bytes { bytes, offset: 0, length })
    }

    /// Writes what does not come from a block's source: changed bytes, and parts behind others.
    fn fill(&mut self, start: Address, parts: &[Part], files: &HashMap<i64, File<'_>>) {
        for part in parts {
            let result = match part.kind {
                FILE_BYTES => match files.get(&part.source) {
                    Some(file) => self.fill_from_file(start, part, file, parts.len() > 1),
                    None => Ok(()),
                },
                BUFFER => self.fill_from_buffer(start, part, parts.len() > 1),
                _ => Ok(()),
            };
            if let Err(error) = result {
                self.notices.push(format!("Bytes of memory are missing: {error}."));
            }
        }
    }

    fn fill_from_file(
        &mut self,
        start: Address,
        part: &Part,
        file: &File<'_>,
        all: bool,
    ) -> Result<(), ghidra_db::Error> {
        let from = usize::try_from(part.place).unwrap_or(usize::MAX).min(file.bytes.len());
        let original = &file.bytes[from..];
        let length = usize::try_from(part.length).unwrap_or(usize::MAX).min(original.len());
        let mut done = 0;
        while done < length {
            let before = &original[done..length.min(done + CHUNK)];
            let mut now = before.to_vec();
            if let Some(changes) = &file.changes {
                let there = now.len().min(changes.len().saturating_sub(from + done));
                changes.read_over(from + done, &mut now[..there])?;
            }
            let place = start.wrapping_add(part.offset + done as u64);
            if all {
                let _ = self.program.memory.write(place, &now);
            } else {
                self.write_changes(place, before, &now);
            }
            done += before.len();
        }
        Ok(())
    }

    /// Writes the bytes that differ, run by run.
    fn write_changes(&mut self, place: Address, before: &[u8], now: &[u8]) {
        let mut at = 0;
        while let Some(first) = (at..now.len()).find(|&at| before[at] != now[at]) {
            let end = (first..now.len()).find(|&at| before[at] == now[at]).unwrap_or(now.len());
            let _ = self.program.memory.write(place.wrapping_add(first as u64), &now[first..end]);
            at = end;
        }
    }

    fn fill_from_buffer(
        &mut self,
        start: Address,
        part: &Part,
        all: bool,
    ) -> Result<(), ghidra_db::Error> {
        let chain = self.database.chained(buffer_of(part))?;
        if !all && chain.is_whole() {
            return Ok(());
        }
        let length = chain.len().min(usize::try_from(part.length).unwrap_or(usize::MAX));
        let mut done = 0;
        while let Some(written) = chain.written_from(done).filter(|range| range.start < length) {
            let end = written.end.min(length).min(written.start + CHUNK);
            let mut bytes = vec![0; end - written.start];
            chain.read(written.start, &mut bytes)?;
            let place = start.wrapping_add(part.offset + written.start as u64);
            let _ = self.program.memory.write(place, &bytes);
            done = end;
        }
        Ok(())
    }

    /// Gives a block that shows other memory the bytes which that has now.
    fn copy_mapped(&mut self, start: Address, kind: i64, length: u64, scheme: i64, place: i64) {
        let Some(source) = self.addresses.decode(place) else { return };
        let length = length.min(MOST_MAPPED);
        let mut bytes = Vec::new();
        // A scheme other than 0 takes the first so many bytes out of every so many.
        let (taken, of) = match (scheme as u64 >> 7 & 0x7f, scheme as u64 & 0x7f) {
            (taken, of) if taken > 0 && of >= taken => (taken, of),
            _ => (1, 1),
        };
        for at in 0..length {
            let mut byte = [0];
            let (from, shift) = match kind {
                BIT_MAPPED => (at / 8, at % 8),
                _ => (at / taken * of + at % taken, 0),
            };
            let read = self.program.memory.read(source.wrapping_add(from), &mut byte);
            if read != Ok(1) {
                break;
            }
            bytes.push(if kind == BIT_MAPPED { byte[0] >> shift & 1 } else { byte[0] });
        }
        self.program.memory.edit_block(start, program::MemoryBlock::initialize);
        let _ = self.program.memory.write(start, &bytes);
    }
}

/// Where a block's unchanged bytes are, or nothing where parts of several kinds make it up.
fn source_of(parts: &[Part], files: &HashMap<i64, File<'_>>) -> BlockSource {
    match parts {
        [part] if part.kind == FILE_BYTES => match files.get(&part.source) {
            Some(file) => BlockSource::Bytes {
                bytes: Arc::clone(&file.bytes),
                offset: usize::try_from(part.place).unwrap_or(usize::MAX),
                length: usize::try_from(part.length).unwrap_or(usize::MAX),
            },
            None => BlockSource::Uninitialized,
        },
        parts if parts.iter().any(|part| part.kind == BUFFER || part.kind == FILE_BYTES) => {
            BlockSource::Zero
        }
        _ => BlockSource::Uninitialized,
    }
}

fn buffer_of(part: &Part) -> i32 {
    i32::try_from(part.source).unwrap_or(-1)
}

/// A column of several numbers: their kind, whether there are none, then four bytes each.
fn numbers(bytes: &[u8]) -> Vec<i32> {
    match bytes {
        [4, 0, numbers @ ..] => {
            numbers.chunks_exact(4).map(|n| i32::from_be_bytes([n[0], n[1], n[2], n[3]])).collect()
        }
        _ => Vec::new(),
    }
}
