//! Memory blocks and their bytes.
//!
//! Bytes come straight from the shared file contents; only pages that
//! relocations or edits changed are kept apart, so that a snapshot costs
//! nothing and a query copies no more than it asks for.

use crate::address::{Address, AddressRange, SpaceId};
use crate::table::Table;
use std::sync::Arc;

/// Bytes of a page: the unit in which changed memory is kept.
pub const PAGE: usize = 4096;

/// What may be done with a block's memory, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Permissions {
    /// Readable.
    pub read: bool,
    /// Writable.
    pub write: bool,
    /// Executable.
    pub execute: bool,
    /// Changes by itself.
    pub volatile: bool,
    /// Made up by the loader, not part of the image.
    pub artificial: bool,
}

/// How a block's bytes come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BlockKind {
    /// Its own bytes.
    #[default]
    Default,
    /// Bits of another block.
    BitMapped,
    /// Bytes of another block.
    ByteMapped,
}

/// Where the unchanged bytes of a block are.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockSource {
    /// A part of shared bytes (the file, or a decompressed copy). Bytes of the
    /// block beyond that part read as zero.
    Bytes {
        /// The shared bytes.
        bytes: Arc<[u8]>,
        /// Start of the part.
        offset: usize,
        /// Length of the part; clamped to what exists.
        length: usize,
    },
    /// Zeros.
    Zero,
    /// No bytes at all: reading fails.
    Uninitialized,
}

/// One memory block.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryBlock {
    /// Its name, unique only by custom.
    pub name: Arc<str>,
    /// First address.
    pub start: Address,
    /// Number of bytes, at least 1.
    pub length: u64,
    /// Permissions and marks.
    pub permissions: Permissions,
    /// How its bytes come about.
    pub kind: BlockKind,
    /// Whether the processor sees it.
    pub loaded: bool,
    /// Which loader made it.
    pub source_name: Arc<str>,
    /// A note about it.
    pub comment: Arc<str>,
    source: BlockSource,
    changed: Table<u64, Arc<[u8; PAGE]>>,
}

impl MemoryBlock {
    /// A block over `source` with everything else at its plainest.
    pub fn new(
        name: impl Into<Arc<str>>,
        start: Address,
        length: u64,
        source: BlockSource,
    ) -> MemoryBlock {
        let source = match source {
            BlockSource::Bytes { bytes, offset, length: wanted } => {
                let offset = offset.min(bytes.len());
                let length = wanted.min(bytes.len() - offset);
                BlockSource::Bytes { bytes, offset, length }
            }
            other => other,
        };
        MemoryBlock {
            name: name.into(),
            start,
            length: length.max(1),
            permissions: Permissions::default(),
            kind: BlockKind::Default,
            loaded: true,
            source_name: "".into(),
            comment: "".into(),
            source,
            changed: Table::new(),
        }
    }

    /// The last address.
    pub fn end(&self) -> Address {
        Address::new(self.start.space, self.start.offset.saturating_add(self.length - 1))
    }

    /// All addresses.
    pub fn range(&self) -> AddressRange {
        AddressRange { start: self.start, end: self.end() }
    }

    /// Where the unchanged bytes are.
    pub fn source(&self) -> &BlockSource {
        &self.source
    }

    /// Pages that differ from the source, by their number in the block.
    pub fn changed_pages(&self) -> &Table<u64, Arc<[u8; PAGE]>> {
        &self.changed
    }

    /// Puts changed pages back (a saved program); false when one lies outside.
    pub fn restore_pages(&mut self, pages: Table<u64, Arc<[u8; PAGE]>>) -> bool {
        let last = (self.length - 1) / PAGE as u64;
        let fits = pages.last().is_none_or(|(page, _)| *page <= last);
        if fits && (self.is_initialized() || pages.is_empty()) {
            self.changed = pages;
            return true;
        }
        false
    }

    /// Whether reading can succeed.
    pub fn is_initialized(&self) -> bool {
        !matches!(self.source, BlockSource::Uninitialized)
    }

    /// Gives a block without bytes zeros instead.
    pub fn initialize(&mut self) {
        if !self.is_initialized() {
            self.source = BlockSource::Zero;
        }
    }

    /// Whether the block lies in an overlay space.
    pub fn is_overlay(&self) -> bool {
        self.start.space.is_overlay()
    }

    /// Whether the unchanged bytes are the same ones.
    pub(crate) fn has_source_of(&self, other: &MemoryBlock) -> bool {
        match (&self.source, &other.source) {
            (
                BlockSource::Bytes { bytes, offset, length },
                BlockSource::Bytes { bytes: others, offset: from, length: other },
            ) => Arc::ptr_eq(bytes, others) && (offset, length) == (from, other),
            (BlockSource::Zero, BlockSource::Zero)
            | (BlockSource::Uninitialized, BlockSource::Uninitialized) => true,
            _ => false,
        }
    }

    /// The pages whose bytes may differ from those of another state: offset and length.
    pub(crate) fn pages_unlike(&self, other: &MemoryBlock) -> Vec<(u64, usize)> {
        let pages = self.changed.differences(&other.changed, Arc::ptr_eq).into_iter();
        let all = pages.map(|page| {
            let offset = page * PAGE as u64;
            (offset, self.length.saturating_sub(offset).min(PAGE as u64) as usize)
        });
        all.filter(|(_, length)| *length > 0).collect()
    }

    /// The longest run of bytes at `at` that can be lent without a copy; empty
    /// when the place is a hole, zero fill or past the end (see `copy_to`).
    fn run(&self, at: u64) -> &[u8] {
        let page = at / PAGE as u64;
        if let Some(bytes) = self.changed.get(&page) {
            let from = (at % PAGE as u64) as usize;
            let to = PAGE.min(from + (self.length - at).min(PAGE as u64) as usize);
            return &bytes[from..to];
        }
        let BlockSource::Bytes { bytes, offset, length } = &self.source else { return &[] };
        if at >= *length as u64 || at >= self.length {
            return &[];
        }
        let until = match self.changed.at_or_above(&page) {
            Some((next, _)) => (next * PAGE as u64).min(*length as u64),
            None => *length as u64,
        };
        &bytes[offset + at as usize..offset + until.min(self.length) as usize]
    }

    /// Copies initialised bytes from offset `at` on; returns how many.
    pub(crate) fn copy_to(&self, at: u64, out: &mut [u8]) -> usize {
        if !self.is_initialized() || at >= self.length {
            return 0;
        }
        let wanted = (out.len() as u64).min(self.length - at) as usize;
        let mut done = 0;
        while done < wanted {
            let here = at + done as u64;
            let run = self.run(here);
            let n = if run.is_empty() {
                // Zero fill up to the next page that may hold other bytes.
                let n = (PAGE - (here % PAGE as u64) as usize).min(wanted - done);
                out[done..done + n].fill(0);
                n
            } else {
                let n = run.len().min(wanted - done);
                out[done..done + n].copy_from_slice(&run[..n]);
                n
            };
            done += n;
        }
        wanted
    }

    /// Overwrites bytes from offset `at` on, which must lie inside.
    fn write(&mut self, at: u64, data: &[u8]) {
        let mut done = 0;
        while done < data.len() {
            let here = at + done as u64;
            let page = here / PAGE as u64;
            let from = (here % PAGE as u64) as usize;
            let n = (PAGE - from).min(data.len() - done);
            if !self.changed.contains_key(&page) {
                let mut bytes = [0u8; PAGE];
                self.copy_to(page * PAGE as u64, &mut bytes);
                self.changed.insert(page, Arc::new(bytes));
            }
            if let Some(bytes) = self.changed.get_mut(&page) {
                Arc::make_mut(bytes)[from..from + n].copy_from_slice(&data[done..done + n]);
            }
            done += n;
        }
    }
}

/// Why memory could not be read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// No block covers the address.
    #[error("no memory block covers the address")]
    Unmapped(Address),
    /// The block there has no bytes.
    #[error("the memory block there is uninitialised")]
    Uninitialized(Address),
}

/// The memory of one program: blocks sorted by start, never overlapping.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    blocks: Arc<Vec<MemoryBlock>>,
    big_endian: bool,
}

impl Memory {
    /// Empty memory of the given byte order.
    pub fn new(big_endian: bool) -> Memory {
        Memory { blocks: Arc::default(), big_endian }
    }

    /// Whether numbers are stored most significant byte first.
    pub fn big_endian(&self) -> bool {
        self.big_endian
    }

    /// Whether both share their storage, so that no byte differs.
    pub fn same(&self, other: &Memory) -> bool {
        Arc::ptr_eq(&self.blocks, &other.blocks)
    }

    /// The blocks in address order.
    pub fn blocks(&self) -> &[MemoryBlock] {
        &self.blocks
    }

    /// Adds a block; refused when it would overlap another.
    pub fn add_block(&mut self, block: MemoryBlock) -> Result<(), AddressRange> {
        let at = self.blocks.partition_point(|b| b.start <= block.start);
        let clash = [at.checked_sub(1), Some(at)]
            .into_iter()
            .flatten()
            .filter_map(|i| self.blocks.get(i))
            .find(|b| b.range().intersects(&block.range()));
        if let Some(other) = clash {
            return Err(other.range());
        }
        Arc::make_mut(&mut self.blocks).insert(at, block);
        Ok(())
    }

    /// Changes one block's attributes through `edit`.
    pub fn edit_block(&mut self, start: Address, edit: impl FnOnce(&mut MemoryBlock)) -> bool {
        let Ok(at) = self.blocks.binary_search_by(|b| b.start.cmp(&start)) else { return false };
        edit(&mut Arc::make_mut(&mut self.blocks)[at]);
        true
    }

    /// The block that covers `address`. O(log blocks).
    pub fn block_at(&self, address: Address) -> Option<&MemoryBlock> {
        let after = self.blocks.partition_point(|b| b.start <= address);
        let block = self.blocks.get(after.checked_sub(1)?)?;
        (address <= block.end()).then_some(block)
    }

    /// The first block of that exact name.
    pub fn block_named(&self, name: &str) -> Option<&MemoryBlock> {
        self.blocks.iter().find(|b| &*b.name == name)
    }

    /// Whether any block covers `address`.
    pub fn contains(&self, address: Address) -> bool {
        self.block_at(address).is_some()
    }

    /// The lowest and the highest address of the default space's blocks.
    pub fn bounds(&self) -> Option<(Address, Address)> {
        let mut ram = self.blocks.iter().filter(|b| b.start.space == SpaceId::RAM);
        let first = ram.next()?;
        Some((first.start, ram.next_back().unwrap_or(first).end()))
    }

    /// Bytes at `address` without a copy, as far as they lie in one run;
    /// empty in holes, zero fill and uninitialised memory.
    pub fn run(&self, address: Address) -> &[u8] {
        match self.block_at(address) {
            Some(block) => block.run(address.offset - block.start.offset),
            None => &[],
        }
    }

    /// Reads up to `out.len()` bytes across adjoining blocks; returns how many
    /// could be read before the first hole. Zero is an error that says why.
    pub fn read(&self, address: Address, out: &mut [u8]) -> Result<usize, MemoryError> {
        let mut done = 0;
        while done < out.len() {
            let Some(here) = address.checked_add(done as u64) else { break };
            let block = match self.block_at(here) {
                Some(block) if block.is_initialized() => block,
                _ if done > 0 => break,
                Some(_) => return Err(MemoryError::Uninitialized(here)),
                None => return Err(MemoryError::Unmapped(here)),
            };
            done += block.copy_to(here.offset - block.start.offset, &mut out[done..]);
        }
        Ok(done)
    }

    /// Reads exactly `N` bytes.
    pub fn read_array<const N: usize>(&self, address: Address) -> Option<[u8; N]> {
        let mut bytes = [0u8; N];
        if let Some(run) = self.run(address).get(..N) {
            bytes.copy_from_slice(run);
            return Some(bytes);
        }
        (self.read(address, &mut bytes) == Ok(N)).then_some(bytes)
    }

    /// Reads an unsigned number of 1 to 8 bytes in the program's byte order.
    pub fn read_uint(&self, address: Address, size: u32) -> Option<u64> {
        let size = size as usize;
        let mut bytes = [0u8; 8];
        if size == 0 || size > 8 {
            return None;
        }
        if self.read(address, &mut bytes[..size]) != Ok(size) {
            return None;
        }
        Some(if self.big_endian {
            bytes[..size].iter().fold(0, |n, b| n << 8 | u64::from(*b))
        } else {
            u64::from_le_bytes(bytes)
        })
    }

    /// Overwrites bytes; checks the whole range before it changes any.
    pub fn write(&mut self, address: Address, data: &[u8]) -> Result<(), MemoryError> {
        let mut pieces = Vec::new();
        let mut done = 0u64;
        while done < data.len() as u64 {
            let here = address.checked_add(done).ok_or(MemoryError::Unmapped(address))?;
            let after = self.blocks.partition_point(|b| b.start <= here);
            let index = after.checked_sub(1).ok_or(MemoryError::Unmapped(here))?;
            let block = &self.blocks[index];
            if here > block.end() {
                return Err(MemoryError::Unmapped(here));
            }
            if !block.is_initialized() {
                return Err(MemoryError::Uninitialized(here));
            }
            let at = here.offset - block.start.offset;
            let n = (block.length - at).min(data.len() as u64 - done);
            pieces.push((index, at, done as usize, n as usize));
            done += n;
        }
        let blocks = Arc::make_mut(&mut self.blocks);
        for (index, at, from, n) in pieces {
            blocks[index].write(at, &data[from..from + n]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(name: &str, start: u64, length: u64, bytes: &[u8]) -> MemoryBlock {
        let source = BlockSource::Bytes { bytes: bytes.into(), offset: 0, length: bytes.len() };
        MemoryBlock::new(name, Address::ram(start), length, source)
    }

    #[test]
    fn reads_cross_adjoining_blocks_and_stop_at_holes() {
        let mut memory = Memory::new(false);
        memory.add_block(block("a", 0x10, 4, &[1, 2, 3, 4])).unwrap();
        memory.add_block(block("b", 0x14, 4, &[5, 6])).unwrap();
        let mut out = [9; 16];
        assert_eq!(memory.read(Address::ram(0x12), &mut out), Ok(6));
        assert_eq!(out[..6], [3, 4, 5, 6, 0, 0]);
        assert_eq!(
            memory.read(Address::ram(0x18), &mut out),
            Err(MemoryError::Unmapped(Address::ram(0x18)))
        );
        assert_eq!(memory.read_uint(Address::ram(0x10), 4), Some(0x04030201));
    }

    #[test]
    fn overlapping_blocks_are_refused() {
        let mut memory = Memory::new(false);
        memory.add_block(block("a", 0x10, 0x10, &[1])).unwrap();
        assert!(memory.add_block(block("b", 0x1f, 1, &[1])).is_err());
        assert!(memory.add_block(block("c", 0, 0x11, &[1])).is_err());
        memory.add_block(block("d", 0x20, 1, &[1])).unwrap();
    }

    #[test]
    fn a_write_is_all_or_nothing_and_invisible_to_snapshots() {
        let mut memory = Memory::new(true);
        let zeros = vec![0u8; 3 * PAGE];
        memory.add_block(block("a", 0x1000, zeros.len() as u64, &zeros)).unwrap();
        let snapshot = memory.clone();
        let edge = Address::ram(0x1000 + PAGE as u64 - 2);
        memory.write(edge, &[1, 2, 3, 4]).unwrap();
        assert_eq!(memory.read_uint(edge, 4), Some(0x01020304));
        assert_eq!(snapshot.read_uint(edge, 4), Some(0));
        assert!(memory.run(Address::ram(0x1000)).len() >= PAGE - 2);
        let end = Address::ram(0x1000 + 3 * PAGE as u64 - 1);
        assert!(memory.write(end, &[7, 7]).is_err());
        assert_eq!(memory.read_uint(end, 1), Some(0));
    }

    #[test]
    fn a_source_beyond_its_bytes_is_clamped() {
        let source =
            BlockSource::Bytes { bytes: vec![1u8, 2].into(), offset: 1, length: usize::MAX };
        let mut memory = Memory::new(false);
        memory.add_block(MemoryBlock::new("x", Address::ram(0), 4, source)).unwrap();
        assert_eq!(memory.read_array(Address::ram(0)), Some([2, 0, 0, 0]));
    }
}
