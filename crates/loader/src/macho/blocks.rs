//! Memory blocks of a Mach-O file: segments, cut where their sections begin.

use super::{Loader, SOURCE};
use object::macho as m;
use program::{Address, BlockSource, MemoryBlock, Permissions, SpaceId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Pieces that sections may touch, all together: each of a file's many sections may lie over all.
const TOUCHED: usize = 1 << 20;

/// A part of memory that becomes a block.
#[derive(Clone)]
struct Piece {
    name: Arc<str>,
    comment: Arc<str>,
    length: u64,
    /// Where its bytes are in the file; without one it has none.
    offset: Option<u64>,
    permissions: Permissions,
    /// Whether a section says that it holds code.
    code: bool,
}

impl Piece {
    /// Shortens the piece to `length`; gives back the rest.
    fn cut(&mut self, length: u64) -> Piece {
        let mut rest = self.clone();
        rest.length = self.length - length;
        rest.offset = self.offset.map(|offset| offset.saturating_add(length));
        self.length = length;
        rest
    }
}

/// The pieces by their address.
#[derive(Default)]
struct Pieces {
    all: BTreeMap<u64, Piece>,
    touched: usize,
}

impl Pieces {
    /// Adds a piece; where others lie, they are cut and take over its name instead: a section has
    /// its segment's bytes. What follows a section in the piece that it begins in is left with
    /// it, up to the next section: Ghidra has padding in the block before it. False when too many
    /// were touched.
    fn lay(&mut self, start: u64, piece: &Piece) -> bool {
        let Some(end) = start.checked_add(piece.length - 1) else { return true };
        let mut over: Vec<u64> = Vec::new();
        for (at, known) in self.all.range(..=end).rev() {
            if known.length - 1 < start.saturating_sub(*at) {
                break;
            }
            over.push(*at);
        }
        self.touched += over.len();
        let (Some(first), Some(last)) = (over.last().copied(), over.first().copied()) else {
            self.all.insert(start, piece.clone());
            return true;
        };
        let whole = first >= start || first != last;
        if first < start {
            self.cut(first, start);
        }
        let ends_inside = |known: &Piece| known.length - 1 > end - last;
        if whole && end >= last && self.all.get(&last).is_some_and(ends_inside) {
            self.cut(last, end + 1);
        }
        for at in over.into_iter().chain([start]).filter(|at| *at >= start) {
            if let Some(known) = self.all.get_mut(&at) {
                known.name = Arc::clone(&piece.name);
                known.comment = Arc::clone(&piece.comment);
                known.permissions = piece.permissions;
                known.code = piece.code;
            }
        }
        self.touched < TOUCHED
    }

    fn cut(&mut self, at: u64, place: u64) {
        if let Some(known) = self.all.get_mut(&at) {
            let rest = known.cut(place - at);
            self.all.insert(place, rest);
        }
    }
}

impl Loader {
    pub(super) fn make_blocks(&mut self) {
        let mut pieces = Pieces::default();
        self.lay_segments(&mut pieces);
        self.lay_sections(&mut pieces);
        for (start, piece) in pieces.all {
            self.add_piece(start, piece);
        }
    }

    fn lay_segments(&mut self, pieces: &mut Pieces) {
        let file = Arc::clone(&self.file);
        for segment in &file.segments {
            if segment.file_size == 0 || segment.size == 0 {
                continue;
            }
            let room = (file.bytes.len() as u64).saturating_sub(segment.offset);
            let bytes = segment.file_size.min(room);
            if bytes < segment.file_size {
                self.warn(format!(
                    "{} takes 0x{:x} bytes at file offset 0x{:x}, the file has 0x{room:x}",
                    segment.name, segment.file_size, segment.offset
                ));
            }
            let piece = |length, offset| Piece {
                name: segment.name.as_str().into(),
                comment: segment.name.as_str().into(),
                length,
                offset,
                permissions: Permissions {
                    read: segment.protection & m::VM_PROT_READ != 0,
                    write: segment.protection & m::VM_PROT_WRITE != 0,
                    execute: segment.protection & m::VM_PROT_EXECUTE != 0,
                    ..Permissions::default()
                },
                code: false,
            };
            let start = self.ram(segment.address).offset;
            if bytes > 0 {
                pieces.lay(start, &piece(bytes, Some(segment.offset)));
            }
            let behind = start.checked_add(bytes).filter(|_| segment.size > bytes);
            if let Some(behind) = behind {
                pieces.lay(behind, &piece(segment.size - bytes, None));
            }
        }
    }

    fn lay_sections(&mut self, pieces: &mut Pieces) {
        let file = Arc::clone(&self.file);
        for section in &file.sections {
            // Others without bytes are a part of what their segment has besides its bytes.
            let zeros = section.kind() == m::S_ZEROFILL;
            if section.size == 0 || (section.offset == 0 && !zeros) {
                continue;
            }
            let piece = Piece {
                name: section.name.as_str().into(),
                comment: section.segment_name.as_str().into(),
                length: section.size,
                offset: (!section.is_zero_fill()).then_some(section.offset),
                permissions: Permissions {
                    read: true,
                    write: section.is_writable(),
                    execute: section.has_code(),
                    ..Permissions::default()
                },
                code: section.has_code(),
            };
            if !pieces.lay(self.ram(section.address).offset, &piece) {
                self.warn("the file has too many sections over each other");
                break;
            }
        }
    }

    fn add_piece(&mut self, start: u64, piece: Piece) {
        let room = (self.mask - start.min(self.mask)).saturating_add(1);
        let mut length = piece.length.min(room);
        let source = match piece.offset {
            Some(offset) => {
                length = length.min((self.file.bytes.len() as u64).saturating_sub(offset));
                BlockSource::Bytes {
                    bytes: Arc::clone(&self.file.bytes),
                    offset: usize::try_from(offset).unwrap_or(usize::MAX),
                    length: usize::try_from(length).unwrap_or(usize::MAX),
                }
            }
            None => BlockSource::Uninitialized,
        };
        if length < piece.length {
            self.warn(format!("{} ends where the file or the memory does", piece.name));
        }
        if length == 0 {
            return;
        }
        let mut block = MemoryBlock::new(&*piece.name, Address::ram(start), length, source);
        block.permissions = piece.permissions;
        block.source_name = self.program.info.name.as_str().into();
        block.comment = Arc::clone(&piece.comment);
        if self.program.memory.add_block(block).is_err() {
            self.warn(format!("{} overlaps another block and was left out", piece.name));
        } else if piece.code {
            self.code.insert(start, start + (length - 1));
        }
    }

    /// Whether a section with code is at a place.
    pub(super) fn is_code(&self, place: Address) -> bool {
        let before = self.code.range(..=place.offset).next_back();
        place.space == SpaceId::RAM && before.is_some_and(|(_, end)| place.offset <= *end)
    }

    /// Adds memory that no file has, behind all other; gives back where it starts.
    pub(super) fn add_made_up(
        &mut self,
        name: &str,
        length: u64,
        permissions: Permissions,
        comment: &str,
    ) -> Option<u64> {
        let start = self.room()?;
        let place = Address::ram(start);
        let mut block = MemoryBlock::new(name, place, length, BlockSource::Uninitialized);
        block.permissions = permissions;
        if permissions.artificial {
            block.source_name = SOURCE.into();
        }
        block.comment = comment.into();
        if self.program.memory.add_block(block).is_err() {
            self.warn(format!("there is no room for the {name} block"));
            return None;
        }
        Some(start)
    }

    /// The first boundary after all memory.
    fn room(&self) -> Option<u64> {
        let ram = self.program.memory.blocks().iter().filter(|b| b.start.space == SpaceId::RAM);
        let end = ram.map(|block| block.end().offset).max().unwrap_or(super::ALIGNMENT - 1);
        let start = end.checked_add(1)?.checked_next_multiple_of(super::ALIGNMENT)?;
        (start < self.mask - (1 << 28)).then_some(start)
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
