//! Memory blocks of a Mach-O file: sections, and what their segments have
//! besides them.

use super::{Loader, SOURCE};
use object::macho as m;
use program::{Address, AddressRange, AddressSet, BlockSource, MemoryBlock, Permissions, SpaceId};
use std::sync::Arc;

/// What one block takes of the file.
struct Claim<'a> {
    name: &'a str,
    comment: &'a str,
    /// File address and length.
    address: u64,
    length: u64,
    offset: Option<u64>,
    protection: u32,
}

impl Loader {
    pub(super) fn make_blocks(&mut self) {
        let file = Arc::clone(&self.file);
        let object = file.kind == m::MH_OBJECT;
        for section in &file.sections {
            let Some(segment) = file.segments.get(section.segment) else { continue };
            if section.size == 0 || (section.address == 0 && !object) {
                continue;
            }
            let code = if section.has_code() { m::VM_PROT_EXECUTE } else { 0 };
            let protection = (segment.protection & !m::VM_PROT_EXECUTE) | code;
            self.add_claim(&Claim {
                name: &section.name,
                comment: &segment.name,
                address: section.address,
                length: section.size,
                offset: (!section.is_zero_fill()).then_some(section.offset),
                protection,
            });
        }
        for segment in &file.segments {
            if segment.file_size == 0 || (segment.address == 0 && !object) {
                continue;
            }
            self.add_rest(segment);
        }
    }

    /// Blocks for the parts of a segment that no section took: those with
    /// bytes of the file, then those without.
    fn add_rest(&mut self, segment: &super::file::Segment) {
        let start = self.ram(segment.address);
        let Some(range) = AddressRange::with_length(start, segment.size) else { return };
        if range.end.offset > self.mask {
            self.warn(format!("segment {} does not fit the address space", segment.name));
            return;
        }
        let mut free: AddressSet = [range].into_iter().collect();
        for block in self.program.memory.blocks() {
            if block.start.space == SpaceId::RAM {
                free.remove(&block.range());
            }
        }
        for part in free.ranges().to_vec() {
            let at = part.start.offset - start.offset;
            let bytes = segment.file_size.saturating_sub(at).min(part.len());
            let claim = Claim {
                name: &segment.name,
                comment: &segment.name,
                address: segment.address.wrapping_add(at),
                length: bytes,
                offset: segment.offset.checked_add(at),
                protection: segment.protection,
            };
            if bytes > 0 {
                self.add_claim(&claim);
            }
            if bytes < part.len() {
                self.add_claim(&Claim {
                    address: claim.address.wrapping_add(bytes),
                    length: part.len() - bytes,
                    offset: None,
                    ..claim
                });
            }
        }
    }

    fn add_claim(&mut self, claim: &Claim) {
        let start = self.ram(claim.address);
        let room = (self.mask - start.offset).saturating_add(1);
        let mut length = claim.length.min(room);
        let source = match claim.offset {
            Some(offset) => {
                let available = (self.file.bytes.len() as u64).saturating_sub(offset);
                if available < length {
                    let text = format!(
                        "{} takes 0x{length:x} bytes at file offset 0x{offset:x}, the file has 0x{available:x}",
                        claim.name
                    );
                    self.warn(text);
                    length = available;
                }
                BlockSource::Bytes {
                    bytes: Arc::clone(&self.file.bytes),
                    offset: usize::try_from(offset).unwrap_or(usize::MAX),
                    length: usize::try_from(length).unwrap_or(usize::MAX),
                }
            }
            None => BlockSource::Uninitialized,
        };
        if length == 0 {
            return;
        }
        let mut block = MemoryBlock::new(claim.name, start, length, source);
        block.permissions = Permissions {
            read: claim.protection & m::VM_PROT_READ != 0,
            write: claim.protection & m::VM_PROT_WRITE != 0,
            execute: claim.protection & m::VM_PROT_EXECUTE != 0,
            ..Permissions::default()
        };
        block.source_name = SOURCE.into();
        block.comment = claim.comment.into();
        if self.program.memory.add_block(block).is_err() {
            self.warn(format!("{} overlaps another block and was left out", claim.name));
        }
    }

    /// The segment of that number, as its address and size.
    pub(super) fn segment(&self, index: usize) -> Option<(u64, u64)> {
        self.file.segments.get(index).map(|s| (s.address, s.size))
    }

    /// Where the text segment starts, from which offsets of code count.
    pub(super) fn text_start(&self) -> Option<u64> {
        let named = self.file.segments.iter().find(|s| s.name == "__TEXT");
        named.or_else(|| self.file.segments.iter().find(|s| s.file_size > 0)).map(|s| s.address)
    }

    /// An address that is known to be memory.
    pub(super) fn in_memory(&self, place: Address) -> bool {
        self.program.memory.contains(place)
    }
}
