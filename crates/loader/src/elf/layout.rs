//! Decides which part of an ELF file goes where in memory.
//!
//! Sections and segments claim addresses; a later claim beats an earlier one,
//! sections beat segments. What a segment has left over becomes blocks of its
//! own, what cannot be placed becomes an overlay.

use super::file::{ElfFile, Section, Segment};
use super::{names, unallocated};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What claims memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    Segment(usize),
    Section(usize),
}

/// A block to be made.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) name: String,
    pub(crate) overlay: bool,
    /// Whether it is outside of the processor's memory.
    pub(crate) other: bool,
    pub(crate) start: u64,
    pub(crate) length: u64,
    /// File offset of its bytes; zeros are not stored.
    pub(crate) offset: Option<u64>,
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) execute: bool,
    pub(crate) comment: String,
}

/// Where a piece of a claim ended up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    /// The overlay block that holds it, if one does.
    pub(crate) overlay: Option<usize>,
    pub(crate) start: u64,
    pub(crate) length: u64,
}

/// The outcome.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    pub(crate) blocks: Vec<Block>,
    pub(crate) placed: HashMap<Owner, Vec<Piece>>,
    /// Addresses of sections, with those assigned that the file leaves open.
    pub(crate) section_address: Vec<u64>,
    pub(crate) warnings: Vec<String>,
}

/// One claim.
#[derive(Debug, Clone)]
struct Claim {
    owner: Owner,
    offset: Option<u64>,
    length: u64,
    other: bool,
    start: u64,
    name: String,
    read: bool,
    write: bool,
    execute: bool,
    comment: String,
    /// Whether it may be cut into pieces around others.
    divisible: bool,
}

/// What of a claim goes where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    Fresh,
    /// Another claim has placed the same bytes there.
    Same,
    Displaced,
}

/// Fillers of zeros up to this length between sections are dropped.
const FILLER: u64 = 0xff;

struct Planner<'a> {
    file: &'a ElfFile,
    /// What to add to the file's addresses.
    delta: u64,
    mask: u64,
    layout: Layout,
    /// Claimed memory by start: end and file offset.
    taken: BTreeMap<u64, (u64, Option<u64>)>,
    names: HashSet<String>,
    counts: HashMap<String, u32>,
}

/// Plans the blocks of a file that is loaded `delta` bytes above its own
/// addresses, in a memory of `bits` wide addresses.
pub(crate) fn plan(file: &ElfFile, delta: u64, bits: u32) -> Layout {
    let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    let mut planner = Planner {
        file,
        delta,
        mask,
        layout: Layout::default(),
        taken: BTreeMap::new(),
        names: HashSet::new(),
        counts: HashMap::new(),
    };
    planner.assign_sections();
    let mut loaded = Vec::new();
    let mut others = Vec::new();
    for claim in planner.segment_claims().into_iter().chain(planner.section_claims()) {
        if claim.other { others.push(claim) } else { loaded.push(claim) }
    }
    for claim in loaded.iter().rev().chain(others.iter().rev()) {
        planner.place(claim);
    }
    if file.sections.is_empty() {
        planner.zero_extend();
    }
    planner.header_blocks();
    planner.unallocated_blocks();
    planner.layout
}

impl Planner<'_> {
    fn warn(&mut self, text: String) {
        if self.layout.warnings.len() < 100 {
            self.layout.warnings.push(text);
        }
    }

    /// Packs the sections of an object file one after the other.
    fn assign_sections(&mut self) {
        let file = self.file;
        let mut addresses: Vec<u64> = file.sections.iter().map(|s| s.address).collect();
        if file.is_relocatable() {
            let mut next = file
                .sections
                .iter()
                .filter(|s| s.is_alloc() && s.address != 0)
                .map(|s| s.address.saturating_add(s.size))
                .max()
                .unwrap_or(0);
            if next > self.mask >> 1 {
                next = 0;
            }
            for (section, address) in file.sections.iter().zip(&mut addresses) {
                if section.is_alloc() && section.address == 0 && self.is_usable(section) {
                    *address = align(next, section.align);
                    next = address.saturating_add(self.usable_size(section));
                }
            }
        }
        self.layout.section_address = addresses;
    }

    fn file_size(&self) -> u64 {
        self.file.bytes.len() as u64
    }

    fn is_usable(&self, section: &Section) -> bool {
        section.kind != object::elf::SHT_NULL && self.usable_size(section) > 0
    }

    /// The size of a section as far as the file has it.
    fn usable_size(&self, section: &Section) -> u64 {
        if section.is_nobits() {
            return section.size;
        }
        section.size.min(self.file_size().saturating_sub(section.offset))
    }

    fn segment_claims(&mut self) -> Vec<Claim> {
        let file = self.file;
        if file.is_relocatable() {
            return Vec::new();
        }
        let mut claims = Vec::new();
        for (index, segment) in file.segments.iter().enumerate() {
            if segment.kind == object::elf::PT_NULL || segment.memory_size == 0 {
                continue;
            }
            if !segment.is_load() && self.is_covered(segment) {
                continue;
            }
            let length = segment.load_size().min(self.file_size().saturating_sub(segment.offset));
            if length < segment.load_size() {
                self.warn(format!(
                    "segment {index} takes 0x{:x} bytes at file offset 0x{:x}, the file has 0x{length:x}",
                    segment.load_size(),
                    segment.offset
                ));
            }
            if length > 0 {
                claims.extend(self.segment_claim(index, segment, length));
            }
        }
        claims
    }

    /// Whether a segment that is not loaded itself is part of what is.
    fn is_covered(&self, segment: &Segment) -> bool {
        let inside = |offset: u64, size: u64, length: u64| {
            segment.offset.checked_sub(offset).is_some_and(|at| {
                at < size && at.checked_add(length).is_some_and(|end| end <= size)
            })
        };
        let loads = self.file.segments.iter().filter(|s| s.is_load());
        segment.offset >= self.file_size()
            || loads.into_iter().any(|s| inside(s.offset, s.file_size, 0))
            || self
                .file
                .sections
                .iter()
                .any(|s| !s.is_nobits() && inside(s.offset, s.size, segment.file_size))
    }

    fn segment_claim(&mut self, index: usize, segment: &Segment, length: u64) -> Option<Claim> {
        let other = !segment.is_load() && segment.address == 0;
        let start = if other { 0 } else { segment.address.wrapping_add(self.delta) & self.mask };
        if start.checked_add(length - 1).is_none_or(|end| !other && end > self.mask) {
            self.warn(format!("segment {index} does not fit the address space"));
            return None;
        }
        // Where sections say what is code, the rest of a segment is not.
        let execute = segment.flags & object::elf::PF_X != 0;
        let sections_decide = self
            .file
            .sections
            .iter()
            .any(|s| s.is_alloc() && s.is_execute() && segment.contains(s.address));
        let description = names::segment_description(self.file.header.machine, segment.kind);
        let mut comment = range_comment(&description, segment.address, segment.memory_size, other);
        if execute && (sections_decide || !self.file.sections.is_empty()) {
            comment.push_str(" (disabled execute bit)");
        }
        Some(Claim {
            owner: Owner::Segment(index),
            offset: Some(segment.offset),
            length,
            other,
            start,
            name: format!("segment_{index}"),
            read: segment.flags & object::elf::PF_R != 0,
            write: segment.flags & object::elf::PF_W != 0,
            execute: execute && !sections_decide,
            comment,
            divisible: true,
        })
    }

    fn section_claims(&mut self) -> Vec<Claim> {
        let file = self.file;
        let mut claims = Vec::new();
        for (index, section) in file.sections.iter().enumerate() {
            if section.kind == object::elf::SHT_NULL || section.size == 0 {
                continue;
            }
            let length = self.usable_size(section);
            if length < section.size {
                self.warn(format!(
                    "section {} takes 0x{:x} bytes at file offset 0x{:x}, the file has 0x{length:x}",
                    section.name, section.size, section.offset
                ));
            }
            if length == 0 || (section.is_nobits() && !section.is_alloc()) {
                continue;
            }
            claims.extend(self.section_claim(index, section, length));
        }
        claims
    }

    fn section_claim(&mut self, index: usize, section: &Section, length: u64) -> Option<Claim> {
        let other = !section.is_alloc();
        let address = self.layout.section_address.get(index).copied().unwrap_or(0);
        let start = if other { address } else { address.wrapping_add(self.delta) & self.mask };
        if start.checked_add(length - 1).is_none_or(|end| !other && end > self.mask) {
            self.warn(format!("section {} does not fit the address space", section.name));
            return None;
        }
        let kind = names::section_type(self.file.header.machine, section.kind);
        let name = section.name.trim();
        Some(Claim {
            owner: Owner::Section(index),
            offset: (!section.is_nobits()).then_some(section.offset),
            length,
            other,
            start,
            name: if name.is_empty() { "NO-NAME".into() } else { name.into() },
            read: section.is_alloc(),
            write: section.is_write(),
            execute: section.is_execute(),
            comment: range_comment(&kind, address, length, other),
            divisible: false,
        })
    }

    fn place(&mut self, claim: &Claim) {
        let shares = if claim.other {
            vec![(claim.start, claim.length, Share::Displaced)]
        } else {
            self.shares(claim)
        };
        let mut pieces = Vec::with_capacity(shares.len());
        for &(start, length, share) in &shares {
            let count = self.counts.entry(claim.name.clone()).or_insert(0);
            *count += 1;
            let index = if *count == 1 && shares.len() == 1 { None } else { Some(*count) };
            let overlay = match share {
                Share::Same => None,
                Share::Displaced if claim.offset.is_none() => None,
                _ => self.make(claim, start, length, share, index),
            };
            pieces.push(Piece { overlay, start, length });
        }
        self.layout.placed.insert(claim.owner, pieces);
    }

    /// Makes one block of a claim; gives its index when it is an overlay.
    fn make(
        &mut self,
        claim: &Claim,
        start: u64,
        length: u64,
        share: Share,
        index: Option<u32>,
    ) -> Option<usize> {
        let at = start - claim.start;
        let offset = claim.offset.map(|o| o.saturating_add(at));
        let overlay = share == Share::Displaced;
        if !overlay {
            if self.is_filler(claim, offset, length) {
                return None;
            }
            self.taken.insert(start, (start + (length - 1), offset));
        }
        let mut comment = claim.comment.clone();
        if overlay && !claim.other {
            let winner = self.block_name_at(start);
            if let Some(winner) = winner {
                comment = format!("{comment} - displaced by {winner}");
            }
        }
        let name = self.unique_name(&claim.name, index);
        self.layout.blocks.push(Block {
            name,
            overlay,
            other: claim.other,
            start,
            length,
            offset,
            read: claim.read,
            write: claim.write,
            execute: claim.execute,
            comment,
        });
        overlay.then_some(self.layout.blocks.len() - 1)
    }

    fn block_name_at(&self, address: u64) -> Option<String> {
        let holds = |b: &&Block| !b.overlay && !b.other && address.wrapping_sub(b.start) < b.length;
        self.layout.blocks.iter().find(holds).map(|b| b.name.clone())
    }

    fn is_filler(&self, claim: &Claim, offset: Option<u64>, length: u64) -> bool {
        let (Owner::Segment(_), Some(offset)) = (claim.owner, offset) else { return false };
        if self.file.sections.is_empty() || length > FILLER {
            return false;
        }
        let bytes = usize::try_from(offset).ok().and_then(|o| self.file.bytes.get(o..));
        let bytes = bytes.and_then(|b| b.get(..length as usize));
        bytes.is_some_and(|b| b.iter().all(|b| *b == 0))
    }

    fn unique_name(&mut self, base: &str, index: Option<u32>) -> String {
        let mut next = index;
        loop {
            let name = match next {
                Some(n) => format!("{base}.{n}"),
                None => base.to_owned(),
            };
            if self.names.insert(name.clone()) {
                return name;
            }
            next = Some(next.unwrap_or(0) + 1);
        }
    }

    /// Splits a claim where others have memory already.
    fn shares(&self, claim: &Claim) -> Vec<(u64, u64, Share)> {
        let end = claim.start + (claim.length - 1);
        let before = self.taken.range(..claim.start).next_back();
        let conflicts: Vec<(u64, u64, Option<u64>)> = before
            .into_iter()
            .chain(self.taken.range(claim.start..=end))
            .filter(|(_, (last, _))| *last >= claim.start)
            .map(|(start, (last, offset))| {
                let from = (*start).max(claim.start);
                (from, (*last).min(end), offset.map(|o| o.saturating_add(from - start)))
            })
            .collect();
        if conflicts.is_empty() {
            return vec![(claim.start, claim.length, Share::Fresh)];
        }
        if !claim.divisible {
            return vec![(claim.start, claim.length, Share::Displaced)];
        }
        let mut shares: Vec<(u64, u64, Share)> = Vec::new();
        let mut next = Some(claim.start);
        for (from, last, offset) in conflicts {
            let Some(at) = next else { break };
            if at < from {
                shares.push((at, from - at, Share::Fresh));
            }
            let expected = claim.offset.map(|o| o.saturating_add(from - claim.start));
            let share = match expected {
                Some(_) if offset == expected => Share::Same,
                Some(_) => Share::Displaced,
                None => Share::Same,
            };
            match shares.last_mut() {
                Some((start, length, Share::Displaced))
                    if share == Share::Displaced && *start + *length == from =>
                {
                    *length += last - from + 1;
                }
                _ => shares.push((from, last - from + 1, share)),
            }
            next = last.checked_add(1);
        }
        if let Some(at) = next.filter(|at| *at <= end) {
            shares.push((at, end - at + 1, Share::Fresh));
        }
        shares
    }

    /// Without sections, the zero-filled ends of segments become memory too.
    fn zero_extend(&mut self) {
        for (index, segment) in self.file.segments.iter().enumerate() {
            let loaded = segment.load_size().min(self.file_size().saturating_sub(segment.offset));
            if !segment.is_load() || segment.memory_size <= loaded {
                continue;
            }
            let start = segment.address.wrapping_add(self.delta) & self.mask;
            let Some(from) = start.checked_add(loaded) else { continue };
            let room = self.mask.saturating_sub(from).saturating_add(1);
            let next = self.taken.range(from..).next().map_or(u64::MAX, |(s, _)| s - from);
            let length = (segment.memory_size - loaded).min(room).min(next);
            let before = self.taken.range(..from).next_back();
            let free = before.is_none_or(|(_, (end, _))| *end < from);
            if length == 0 || !free || from > self.mask {
                continue;
            }
            self.extend_segment(index, segment, from, length);
        }
    }

    fn extend_segment(&mut self, index: usize, segment: &Segment, from: u64, length: u64) {
        let end = from + (length - 1);
        let tail = self
            .layout
            .blocks
            .iter_mut()
            .find(|b| !b.overlay && !b.other && b.start.checked_add(b.length) == Some(from));
        if let Some(block) = tail.filter(|_| segment.file_size > 0) {
            self.taken.insert(block.start, (end, block.offset));
            block.length += length;
            block.comment.push_str(" (zero-extended)");
            return;
        }
        self.taken.insert(from, (end, None));
        let name = self.unique_name(&format!("segment_{index}"), None);
        self.layout.blocks.push(Block {
            name,
            overlay: false,
            other: false,
            start: from,
            length,
            offset: None,
            read: segment.flags & object::elf::PF_R != 0,
            write: segment.flags & object::elf::PF_W != 0,
            execute: segment.flags & object::elf::PF_X != 0,
            comment: "Zero-initialized segment".into(),
        });
    }

    /// Blocks for those headers that no other block holds.
    fn header_blocks(&mut self) {
        let header = &self.file.header;
        let segments = self.file.segments.len() as u64 * header.segment_size;
        let sections = self.file.sections.len() as u64 * header.section_size;
        let wanted = [
            ("_elfHeader", "Elf File Header", 0, header.size),
            ("_elfProgramHeaders", "Elf Program Headers", header.segment_table, segments),
            ("_elfSectionHeaders", "Elf Section Headers", header.section_table, sections),
        ];
        for (name, comment, offset, size) in wanted {
            let length = size.min(self.file_size().saturating_sub(offset));
            if length == 0 || self.layout.find(self.file, offset, size).is_some() {
                continue;
            }
            let name = self.unique_name(name, None);
            self.layout.blocks.push(Block {
                name,
                overlay: true,
                other: true,
                start: 0,
                length,
                offset: Some(offset),
                read: false,
                write: false,
                execute: false,
                comment: comment.into(),
            });
        }
    }

    /// Blocks for what nobody claims.
    fn unallocated_blocks(&mut self) {
        for (index, (offset, length)) in unallocated::parts(self.file).into_iter().enumerate() {
            let name = self.unique_name(&format!("unallocated_{index}"), None);
            self.layout.blocks.push(Block {
                name,
                overlay: true,
                other: true,
                start: 0,
                length,
                offset: Some(offset),
                read: false,
                write: false,
                execute: false,
                comment: String::new(),
            });
        }
    }
}

impl Layout {
    /// Where byte `at` of a claim ended up.
    pub(crate) fn locate(&self, owner: Owner, mut at: u64) -> Option<Piece> {
        let pieces = self.placed.get(&owner)?;
        for piece in pieces {
            if at < piece.length {
                let start = piece.start + at;
                return Some(Piece { start, length: piece.length - at, ..*piece });
            }
            at -= piece.length;
        }
        None
    }

    /// Where a run of file bytes ended up: in a section if one has all of it,
    /// else in a segment.
    pub(crate) fn find(&self, file: &ElfFile, offset: u64, size: u64) -> Option<Piece> {
        let last = offset.checked_add(size.max(1) - 1)?;
        let inside = |start: u64, length: u64| {
            length > 0
                && offset >= start
                && start.checked_add(length - 1).is_some_and(|e| last <= e)
        };
        let sections = file
            .sections
            .iter()
            .enumerate()
            .filter(|(_, s)| !s.is_nobits() && inside(s.offset, s.size));
        for (index, section) in sections {
            if let Some(piece) = self.locate(Owner::Section(index), offset - section.offset) {
                return Some(piece);
            }
        }
        let mut found = None;
        for (index, segment) in file.segments.iter().enumerate() {
            if segment.kind == object::elf::PT_NULL || !inside(segment.offset, segment.file_size) {
                continue;
            }
            found = self.locate_segment(file, index, offset - segment.offset);
            if found.is_some() && segment.is_load() {
                return found;
            }
        }
        found
    }

    /// Where byte `at` of a segment ended up, through the loaded segment
    /// around it if it was not placed itself.
    pub(crate) fn locate_segment(&self, file: &ElfFile, index: usize, at: u64) -> Option<Piece> {
        if let Some(piece) = self.locate(Owner::Segment(index), at) {
            return Some(piece);
        }
        let address = file.segments.get(index)?.address.checked_add(at)?;
        let load = file.load_around(address)?;
        let start = file.segments.get(load)?.address;
        if let Some(piece) = self.locate(Owner::Segment(load), address - start) {
            return Some(piece);
        }
        let section = file.sections.iter().position(|s| s.contains(address))?;
        self.locate(Owner::Section(section), address - file.sections.get(section)?.address)
    }
}

fn align(value: u64, to: u64) -> u64 {
    if to < 2 { value } else { value.checked_next_multiple_of(to).unwrap_or(value) }
}

fn range_comment(description: &str, address: u64, length: u64, other: bool) -> String {
    if other {
        return format!("{description} [not-loaded]");
    }
    let end = u128::from(address) + u128::from(length) - 1;
    format!("{description}  [0x{address:x} - 0x{end:x}]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn file(segments: Vec<Segment>, sections: Vec<Section>) -> ElfFile {
        ElfFile {
            bytes: vec![0u8; 0x1000].into(),
            header: super::super::file::Header { is_64: true, size: 64, ..Default::default() },
            segments,
            sections,
            dynamic: None,
            dynamic_strings: None,
            strings: Vec::new(),
            symbol_tables: Vec::new(),
            reloc_tables: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn load(offset: u64, address: u64, file_size: u64, memory_size: u64) -> Segment {
        Segment { kind: object::elf::PT_LOAD, flags: 7, offset, address, file_size, memory_size }
    }

    fn section(name: &str, kind: u32, address: u64, offset: u64, size: u64) -> Section {
        Section {
            name: Arc::from(name),
            kind,
            flags: 2,
            address,
            offset,
            size,
            ..Section::default()
        }
    }

    fn map(layout: &Layout) -> Vec<(String, u64, u64, bool)> {
        let mut all: Vec<_> =
            layout.blocks.iter().map(|b| (b.name.clone(), b.start, b.length, b.overlay)).collect();
        all.sort_by_key(|b| (b.3, b.1));
        all
    }

    #[test]
    fn a_segment_keeps_what_its_sections_leave() {
        let sections = vec![section(".text", 1, 0x1100, 0x100, 0x80)];
        let layout = plan(&file(vec![load(0, 0x1000, 0x400, 0x400)], sections), 0, 64);
        let expected = [
            ("segment_0.1".to_owned(), 0x1000, 0x100, false),
            (".text".to_owned(), 0x1100, 0x80, false),
            // The middle piece was counted, though the section has it.
            ("segment_0.3".to_owned(), 0x1180, 0x280, false),
        ];
        assert_eq!(map(&layout), expected);
    }

    #[test]
    fn what_nobody_claims_is_apart_unless_it_is_zero() {
        let sections = vec![section(".text", 1, 0x1000, 0x100, 0x80)];
        let mut file = file(Vec::new(), sections);
        let mut bytes = vec![0u8; 0x1000];
        bytes[0xffe] = 1;
        file.bytes = bytes.into();
        let layout = plan(&file, 0, 64);
        let apart = layout.blocks.last().expect("a block");
        assert_eq!((apart.name.as_str(), apart.length), ("unallocated_0", 0x1000 - 0x180));
        assert_eq!(apart.offset, Some(0x180));
        assert!(apart.other && apart.overlay);
    }

    #[test]
    fn without_sections_segments_end_in_zeros_and_never_overlap() {
        let segments = vec![load(0, 0x1000, 0x100, 0x5000), load(0x100, 0x2000, 0x10, 0x10)];
        let layout = plan(&file(segments, Vec::new()), 0x100, 32);
        let expected = [
            ("segment_0".to_owned(), 0x1100, 0x1000, false),
            ("segment_1".to_owned(), 0x2100, 0x10, false),
        ];
        assert_eq!(map(&layout), expected);
        assert!(layout.blocks.iter().all(|b| b.execute));
    }

    #[test]
    fn overlapping_sections_become_overlays_and_sizes_end_with_the_file() {
        let sections = vec![
            section(".a", 1, 0x1000, 0x0, 0x100),
            section(".b", 1, 0x1080, 0xf00, u64::MAX / 2),
        ];
        let layout = plan(&file(Vec::new(), sections), 0, 64);
        let blocks = map(&layout);
        assert_eq!(blocks[0], (".b".to_owned(), 0x1080, 0x100, false));
        assert_eq!(blocks[1], (".a".to_owned(), 0x1000, 0x100, true));
        assert!(layout.warnings[0].contains(".b"));
    }
}
