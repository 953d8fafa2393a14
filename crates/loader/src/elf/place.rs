//! Makes the memory blocks of a layout and finds places in them.

use super::layout::{Owner, Piece};
use super::{Loader, SOURCE};
use program::{Address, AddressRange, BlockSource, MemoryBlock, Permissions, SpaceId};
use std::sync::Arc;

impl Loader {
    pub(super) fn make_blocks(&mut self) {
        self.make_spaces();
        let source: Arc<str> = SOURCE.into();
        for (index, planned) in self.layout.blocks.iter().enumerate() {
            let space = self.spaces.get(index).copied().unwrap_or(SpaceId::RAM);
            let start = Address::new(space, planned.start);
            let bytes = match planned.offset {
                Some(offset) => BlockSource::Bytes {
                    bytes: Arc::clone(&self.file.bytes),
                    offset: usize::try_from(offset).unwrap_or(usize::MAX),
                    length: usize::try_from(planned.length).unwrap_or(usize::MAX),
                },
                None if planned.comment.starts_with("Zero") => BlockSource::Zero,
                None => BlockSource::Uninitialized,
            };
            let mut block = MemoryBlock::new(&*planned.name, start, planned.length, bytes);
            block.permissions = Permissions {
                read: planned.read,
                write: planned.write,
                execute: planned.execute,
                ..Permissions::default()
            };
            block.loaded = !planned.other;
            block.source_name = Arc::clone(&source);
            block.comment = planned.comment.as_str().into();
            if self.program.memory.add_block(block).is_err() {
                let name = planned.name.clone();
                self.program.warn(format!("block {name} overlaps another and was left out"));
            }
        }
    }

    /// Overlay spaces in the order of their names, so that blocks sort by it.
    fn make_spaces(&mut self) {
        self.spaces = vec![SpaceId::RAM; self.layout.blocks.len()];
        let mut overlays: Vec<usize> = (0..self.layout.blocks.len())
            .filter(|i| self.layout.blocks.get(*i).is_some_and(|b| b.overlay))
            .collect();
        let key = |i: &usize| self.layout.blocks.get(*i).map(|b| (b.other, b.name.as_str()));
        overlays.sort_by(|a, b| key(a).cmp(&key(b)));
        let spaces = Arc::make_mut(&mut self.program.spaces);
        for index in overlays {
            let Some(block) = self.layout.blocks.get(index) else { continue };
            let base = if block.other { SpaceId::OTHER } else { SpaceId::RAM };
            let made = spaces.add_overlay(&block.name, base);
            if let (Some(space), Some(slot)) = (made, self.spaces.get_mut(index)) {
                *slot = space;
            }
        }
    }

    fn address_of(&self, piece: Piece) -> Address {
        let space = piece.overlay.and_then(|index| self.spaces.get(index).copied());
        Address::new(space.unwrap_or(SpaceId::RAM), piece.start)
    }

    /// Where byte `at` of a section is.
    pub(super) fn section_place(&self, index: usize, at: u64) -> Option<Address> {
        if let Some(piece) = self.layout.locate(Owner::Section(index), at) {
            return Some(self.address_of(piece));
        }
        let section = self.file.sections.get(index)?;
        if !section.is_alloc() {
            return None;
        }
        let address = self.layout.section_address.get(index)?.wrapping_add(at);
        Some(self.ram(address))
    }

    /// Where byte `at` of a segment is.
    pub(super) fn segment_place(&self, index: usize, at: u64) -> Option<Address> {
        let piece = self.layout.locate_segment(&self.file, index, at)?;
        Some(self.address_of(piece))
    }

    /// Where a run of file bytes is.
    pub(super) fn file_place(&self, offset: u64, size: u64) -> Option<Address> {
        let piece = self.layout.find(&self.file, offset, size)?;
        Some(self.address_of(piece))
    }

    /// The start of the block of that name.
    pub(super) fn block_start(&self, name: &str) -> Option<Address> {
        self.program.memory.block_named(name).map(|b| b.start)
    }

    /// Marks memory that does not change after loading.
    pub(super) fn protect(&mut self) {
        let relro: Vec<(u64, u64)> = self
            .file
            .segments
            .iter()
            .filter(|s| s.kind == object::elf::PT_GNU_RELRO && s.memory_size > 0)
            .map(|s| (s.address, s.memory_size))
            .collect();
        for (start, length) in relro {
            let Some(range) = AddressRange::with_length(self.ram(start), length) else { continue };
            self.program.protected.insert(range);
            let inside: Vec<Address> = self
                .program
                .memory
                .blocks()
                .iter()
                .filter(|b| range.contains(b.start) && range.contains(b.end()))
                .map(|b| b.start)
                .collect();
            for block in inside {
                self.program.memory.edit_block(block, |b| b.permissions.write = false);
            }
            if self.file.sections.is_empty() {
                self.protect_segment(start);
            }
        }
    }

    /// Without sections, the whole segment around such memory counts.
    fn protect_segment(&mut self, address: u64) {
        let Some(index) = self.file.load_around(address) else { return };
        let Some(place) = self.segment_place(index, 0) else { return };
        if let Some(block) = self.program.memory.block_at(place).map(|b| b.start) {
            self.program.memory.edit_block(block, |b| b.permissions.write = false);
        }
    }
}
