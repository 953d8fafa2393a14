//! Memory blocks of a PE file: its headers, then its sections.

use super::Loader;
use program::{Address, AddressRange, BlockSource, MemoryBlock, Permissions, SpaceId};
use std::sync::Arc;

/// Sections kept in spaces of their own at most; no honest file has as many that overlap.
const MOST_APART: usize = 256;

impl Loader {
    pub(super) fn make_blocks(&mut self) {
        let file = Arc::clone(&self.file);
        let size = file.bytes.len() as u64;
        // Headers end where the first section begins at the latest.
        let first = file.sections.iter().map(|s| u64::from(s.address)).filter(|a| *a > 0).min();
        let headers = u64::from(file.headers_size).max(0x200).min(size);
        let headers = headers.min(first.unwrap_or(u64::MAX)).max(1);
        let read = Permissions { read: true, ..Permissions::default() };
        self.add_block("Headers", self.place(0), headers, Some((0, headers)), read);
        for (index, section) in file.sections.iter().enumerate() {
            let unit = file.alignment();
            let wanted = if section.virtual_size == 0 {
                u64::from(section.raw_size).min(size)
            } else {
                u64::from(section.virtual_size)
            };
            let Some(length) = wanted.checked_next_multiple_of(unit).filter(|n| *n > 0) else {
                continue;
            };
            let bytes = self.raw_part(section, length);
            let permissions = Permissions {
                read: section.flags & object::pe::IMAGE_SCN_MEM_READ != 0,
                write: section.flags & object::pe::IMAGE_SCN_MEM_WRITE != 0,
                execute: section.flags & object::pe::IMAGE_SCN_MEM_EXECUTE != 0,
                ..Permissions::default()
            };
            let nameless = section.name.trim().is_empty();
            let name = if nameless { format!("SECTION.{index}") } else { section.name.clone() };
            self.add_block(&name, self.place(section.address), length, bytes, permissions);
        }
    }

    /// File offset and length of a section's bytes, as far as they reach into
    /// its memory. The system reads whole file units.
    fn raw_part(&mut self, section: &super::file::Section, length: u64) -> Option<(u64, u64)> {
        let size = self.file.bytes.len() as u64;
        let offset = u64::from(section.raw_offset);
        if section.raw_size == 0 || offset == 0 {
            return None;
        }
        let unit = u64::from(self.file.file_alignment).clamp(1, 0x1_0000);
        let raw = u64::from(section.raw_size).next_multiple_of(unit).min(length);
        let available = size.saturating_sub(offset);
        if u64::from(section.raw_size) > available {
            let (name, raw) = (&section.name, section.raw_size);
            let text = format!(
                "section {name} takes 0x{raw:x} bytes at file offset 0x{offset:x}, the file has 0x{available:x}"
            );
            self.warn(text);
        }
        (available > 0).then_some((offset, raw.min(available)))
    }

    fn add_block(
        &mut self,
        name: &str,
        start: Address,
        length: u64,
        bytes: Option<(u64, u64)>,
        permissions: Permissions,
    ) {
        let room = (self.mask - start.offset).saturating_add(1);
        let length = length.min(room);
        let place = self.free_place(name, start, length);
        let source = match bytes {
            Some((offset, length)) => BlockSource::Bytes {
                bytes: Arc::clone(&self.file.bytes),
                offset: usize::try_from(offset).unwrap_or(usize::MAX),
                length: usize::try_from(length).unwrap_or(usize::MAX),
            },
            None => BlockSource::Uninitialized,
        };
        let mut block = MemoryBlock::new(name, place, length, source);
        block.permissions = permissions;
        if self.program.memory.add_block(block).is_err() {
            self.warn(format!("section {name} overlaps another one and was left out"));
        }
    }

    /// Where a section can be: its own place, or the same one of a space apart where something is
    /// there already.
    fn free_place(&mut self, name: &str, start: Address, length: u64) -> Address {
        let Some(range) = AddressRange::with_length(start, length) else { return start };
        if !self.program.memory.blocks().iter().any(|block| block.range().intersects(&range)) {
            return start;
        }
        let blocks = self.program.memory.blocks().iter();
        if blocks.filter(|block| block.is_overlay()).count() >= MOST_APART {
            return start;
        }
        let apart = Arc::make_mut(&mut self.program.spaces).add_overlay(name, SpaceId::RAM);
        let Some(apart) = apart else { return start };
        self.warn(format!("section {name} overlaps another one and is in a space of its own"));
        Address::new(apart, start.offset)
    }
}
