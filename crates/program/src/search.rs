//! Searching memory for byte patterns, piece by piece so that a caller can stop at any time.

use crate::address::{Address, AddressRange};
use crate::memory::{Memory, MemoryBlock};
use memchr::memmem;
use std::collections::VecDeque;

/// Start addresses that are looked at between two reports of progress.
const CHUNK: u64 = 1 << 16;

/// How a searched text is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextEncoding {
    /// UTF-8.
    Utf8,
    /// UTF-16, low byte first.
    Utf16Le,
    /// UTF-16, high byte first.
    Utf16Be,
}

impl TextEncoding {
    /// Bytes of one unit.
    fn unit(self) -> usize {
        match self {
            TextEncoding::Utf8 => 1,
            TextEncoding::Utf16Le | TextEncoding::Utf16Be => 2,
        }
    }

    /// The unit that some bytes hold.
    fn value(self, bytes: &[u8]) -> u16 {
        match (self, bytes) {
            (TextEncoding::Utf16Le, [a, b]) => u16::from_le_bytes([*a, *b]),
            (TextEncoding::Utf16Be, [a, b]) => u16::from_be_bytes([*a, *b]),
            _ => bytes.first().copied().unwrap_or(0).into(),
        }
    }

    /// Text out of whole units; what is none is shown as such.
    fn decode(self, bytes: &[u8]) -> String {
        match self {
            TextEncoding::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
            _ => {
                let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| self.value(pair)).collect();
                String::from_utf16_lossy(&units)
            }
        }
    }
}

/// Whether text goes on over a unit: blanks are part of it, other control characters end it.
fn goes_on(unit: u16) -> bool {
    matches!(unit, 0x09 | 0x0a | 0x0d) || unit >= 0x20 && unit != 0x7f
}

/// Bytes to find, and which of their bits count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BytePattern {
    bytes: Vec<u8>,
    mask: Vec<u8>,
}

impl BytePattern {
    /// A pattern of at least one byte; `None` when the mask has another length.
    pub fn new(mut bytes: Vec<u8>, mask: Option<Vec<u8>>) -> Option<BytePattern> {
        let mask = mask.unwrap_or_else(|| vec![0xff; bytes.len()]);
        if bytes.is_empty() || mask.len() != bytes.len() {
            return None;
        }
        bytes.iter_mut().zip(&mask).for_each(|(byte, mask)| *byte &= mask);
        Some(BytePattern { bytes, mask })
    }

    /// The pattern of a text; without `case_sensitive` ASCII letters match in both cases.
    pub fn of_text(
        text: &str,
        encoding: TextEncoding,
        case_sensitive: bool,
    ) -> Option<BytePattern> {
        let (mut bytes, mut mask) = (Vec::new(), Vec::new());
        let either = |letter: bool| if letter && !case_sensitive { !0x20u8 } else { 0xff };
        let letter = |unit: u16| u8::try_from(unit).is_ok_and(|unit| unit.is_ascii_alphabetic());
        match encoding {
            TextEncoding::Utf8 => {
                bytes.extend(text.bytes());
                mask.extend(text.bytes().map(|byte| either(byte.is_ascii_alphabetic())));
            }
            TextEncoding::Utf16Le | TextEncoding::Utf16Be => {
                for unit in text.encode_utf16() {
                    let mut pair = [(unit as u8, either(letter(unit))), ((unit >> 8) as u8, 0xff)];
                    if encoding == TextEncoding::Utf16Be {
                        pair.reverse();
                    }
                    bytes.extend(pair.map(|(byte, _)| byte));
                    mask.extend(pair.map(|(_, mask)| mask));
                }
            }
        }
        BytePattern::new(bytes, Some(mask))
    }

    /// Number of bytes, at least one.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    fn find_all(&self, haystack: &[u8], found: impl FnMut(usize)) {
        // The longest run of bytes that count whole is searched for fast.
        let (from, anchor) = self.anchor();
        let mut found = found;
        let mut check = |at: usize| {
            let Some(window) = haystack.get(at..at + self.bytes.len()) else { return };
            let mut pairs = window.iter().zip(self.bytes.iter().zip(&self.mask));
            if pairs.all(|(byte, (wanted, mask))| byte & mask == *wanted) {
                found(at);
            }
        };
        if anchor.is_empty() {
            (0..haystack.len()).for_each(check);
            return;
        }
        let finder = memmem::Finder::new(anchor);
        let mut at = from;
        while let Some(hit) = haystack.get(at..).and_then(|rest| finder.find(rest)) {
            check(at + hit - from);
            at += hit + 1;
        }
    }

    fn anchor(&self) -> (usize, &[u8]) {
        let mut best = (0, 0);
        let mut start = 0;
        for at in 0..=self.mask.len() {
            if self.mask.get(at) != Some(&0xff) {
                if at - start > best.1 - best.0 {
                    best = (start, at);
                }
                start = at + 1;
            }
        }
        (best.0, &self.bytes[best.0..best.1])
    }
}

/// One step of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchStep {
    /// The pattern starts here.
    Match(Address),
    /// Everything up to here was looked at.
    Walked(Address),
}

impl SearchStep {
    /// How far the search came with this step.
    pub fn address(&self) -> Address {
        match self {
            SearchStep::Match(address) | SearchStep::Walked(address) => *address,
        }
    }
}

/// A search in progress: matches in address order, with a report after every 64 KiB.
#[derive(Debug)]
pub struct Search<'a> {
    memory: &'a Memory,
    pattern: &'a BytePattern,
    alignment: u64,
    /// Where matches may start, the next part first, each with the end of its run of memory.
    parts: VecDeque<(AddressRange, Address)>,
    pending: VecDeque<SearchStep>,
    buffer: Vec<u8>,
}

impl Memory {
    /// How many of the `wanted` bytes right before an address can be read in one piece with it.
    pub fn readable_before(&self, address: Address, wanted: u64) -> u64 {
        let is_readable = |back: &u64| {
            let mut byte = [0u8; 1];
            address.checked_sub(*back).is_some_and(|at| self.read(at, &mut byte).is_ok())
        };
        (1..=wanted).take_while(is_readable).last().unwrap_or(0)
    }

    /// The text that a match lies in: up to `most` units before and behind it, to where no text
    /// can be.
    pub fn text_around(
        &self,
        address: Address,
        length: usize,
        encoding: TextEncoding,
        most: usize,
    ) -> String {
        let unit = encoding.unit();
        let before = self.readable_before(address, (most * unit) as u64) as usize / unit * unit;
        let start = address.wrapping_add((before as u64).wrapping_neg());
        let mut bytes = vec![0; before + length + most * unit];
        let read = self.read(start, &mut bytes).unwrap_or(0);
        bytes.truncate(read);
        let (head, rest) = bytes.split_at(before.min(bytes.len()));
        let (found, tail) = rest.split_at(length.min(rest.len()));
        let is_text = |chunk: &&[u8]| goes_on(encoding.value(chunk));
        let head_units = head.rchunks_exact(unit).take_while(is_text).count();
        let tail_units = tail.chunks_exact(unit).take_while(is_text).count();
        let mut from = before - head_units * unit;
        // A character that the limit cuts is left out.
        if head_units == most && encoding == TextEncoding::Utf8 {
            while from < before && bytes[from] & 0xc0 == 0x80 {
                from += 1;
            }
        }
        let mut to = before + found.len() + tail_units * unit;
        if tail_units == most && encoding == TextEncoding::Utf8 {
            while to > before + found.len() && bytes.get(to).is_some_and(|b| b & 0xc0 == 0x80) {
                to -= 1;
            }
        }
        encoding.decode(&bytes[from..to])
    }

    /// Searches the initialised blocks that `accept` lets through for matches that start in
    /// `range`. A match may reach over adjoining blocks, but never over a hole.
    pub fn search<'a>(
        &'a self,
        pattern: &'a BytePattern,
        range: AddressRange,
        alignment: u64,
        accept: impl Fn(&MemoryBlock) -> bool,
    ) -> Search<'a> {
        let mut runs: Vec<AddressRange> = Vec::new();
        for block in self.blocks().iter().filter(|b| b.is_initialized() && accept(b)) {
            match runs.last_mut() {
                Some(run) if run.end.checked_add(1) == Some(block.start) => run.end = block.end(),
                _ => runs.push(block.range()),
            }
        }
        let clipped = runs.into_iter().filter_map(|run| {
            let start = run.start.max(range.start);
            Some((AddressRange::new(start, run.end.min(range.end))?, run.end))
        });
        Search {
            memory: self,
            pattern,
            alignment: alignment.max(1),
            parts: clipped.collect(),
            pending: VecDeque::new(),
            buffer: Vec::new(),
        }
    }
}

impl Iterator for Search<'_> {
    type Item = SearchStep;

    fn next(&mut self) -> Option<SearchStep> {
        while self.pending.is_empty() {
            let (part, run_end) = self.parts.pop_front()?;
            let count = part.len().min(CHUNK);
            let last = Address::new(part.start.space, part.start.offset + (count - 1));
            if last < part.end
                && let Some(next) = last.checked_add(1)
                && let Some(rest) = AddressRange::new(next, part.end)
            {
                self.parts.push_front((rest, run_end));
            }
            self.look(part.start, count, run_end);
            self.pending.push_back(SearchStep::Walked(last));
        }
        self.pending.pop_front()
    }
}

impl Search<'_> {
    fn look(&mut self, start: Address, count: u64, run_end: Address) {
        let to_end = run_end.offset - start.offset;
        let wanted = (count - 1).saturating_add(self.pattern.length() as u64 - 1).min(to_end) + 1;
        self.buffer.resize(wanted as usize, 0);
        let read = self.memory.read(start, &mut self.buffer).unwrap_or(0);
        let (alignment, pending) = (self.alignment, &mut self.pending);
        self.pattern.find_all(&self.buffer[..read], |at| {
            let address = start.wrapping_add(at as u64);
            if (at as u64) < count && address.offset.is_multiple_of(alignment) {
                pending.push_back(SearchStep::Match(address));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockSource, SpaceId};
    use proptest::prelude::*;

    fn memory(blocks: &[(u64, Vec<u8>)]) -> Memory {
        let mut memory = Memory::new(false);
        for (start, bytes) in blocks {
            let length = bytes.len();
            let source = BlockSource::Bytes { bytes: bytes.clone().into(), offset: 0, length };
            let block = MemoryBlock::new("b", Address::ram(*start), length as u64, source);
            memory.add_block(block).expect("blocks do not overlap");
        }
        memory
    }

    fn all(memory: &Memory, pattern: &BytePattern, alignment: u64) -> Vec<u64> {
        let everything = AddressRange { start: Address::ram(0), end: Address::ram(u64::MAX) };
        let steps = memory.search(pattern, everything, alignment, |_| true);
        let matches = steps.filter_map(|step| match step {
            SearchStep::Match(address) => Some(address.offset),
            SearchStep::Walked(_) => None,
        });
        matches.collect()
    }

    fn exact(bytes: &[u8]) -> BytePattern {
        BytePattern::new(bytes.to_vec(), None).expect("is not empty")
    }

    #[test]
    fn matches_overlap_and_cross_adjoining_blocks_but_no_holes() {
        let memory =
            memory(&[(0x10, b"aaa".to_vec()), (0x13, b"ab".to_vec()), (0x20, b"b".to_vec())]);
        assert_eq!(all(&memory, &exact(b"aa"), 1), [0x10, 0x11, 0x12]);
        assert_eq!(all(&memory, &exact(b"aa"), 2), [0x10, 0x12]);
        assert_eq!(all(&memory, &exact(b"bb"), 1), [0u64; 0]);
    }

    #[test]
    fn texts_match_in_their_encoding_and_case() {
        let mut bytes = b"Hello hELLO ".to_vec();
        bytes.extend("Hi".encode_utf16().flat_map(u16::to_le_bytes));
        bytes.extend("hi".encode_utf16().flat_map(u16::to_be_bytes));
        let memory = memory(&[(0, bytes)]);
        let find = |text, encoding, case| {
            all(&memory, &BytePattern::of_text(text, encoding, case).expect("is not empty"), 1)
        };
        assert_eq!(find("Hello", TextEncoding::Utf8, true), [0]);
        assert_eq!(find("Hello", TextEncoding::Utf8, false), [0, 6]);
        assert_eq!(find("hi", TextEncoding::Utf16Le, true), [0u64; 0]);
        assert_eq!(find("hi", TextEncoding::Utf16Le, false), [12]);
        assert_eq!(find("HI", TextEncoding::Utf16Be, false), [16]);
        assert_eq!(BytePattern::of_text("", TextEncoding::Utf8, true), None);
    }

    #[test]
    fn the_text_around_a_match_ends_where_no_text_can_be() {
        let mut bytes = b"\x01Too many arguments: %s\n\0next\0".to_vec();
        let utf16 = bytes.len() as u64;
        bytes.extend("\u{1}wide text\0".encode_utf16().flat_map(u16::to_le_bytes));
        let memory = memory(&[(0x10, bytes)]);
        let around = |at, length, encoding, most| {
            memory.text_around(Address::ram(at), length, encoding, most)
        };
        let whole = "Too many arguments: %s\n";
        assert_eq!(around(0x10 + 5, 4, TextEncoding::Utf8, 200), whole);
        assert_eq!(around(0x10 + 5, 4, TextEncoding::Utf8, 3), "oo many ar");
        assert_eq!(around(0x10 + utf16 + 12, 8, TextEncoding::Utf16Le, 200), "wide text");
        assert_eq!(memory.readable_before(Address::ram(0x12), 9), 2, "to where memory begins");
    }

    #[test]
    fn matches_across_chunk_borders_are_found_once() {
        let mut bytes = vec![0u8; 3 * CHUNK as usize];
        let border = CHUNK as usize;
        bytes[border - 2..border + 2].copy_from_slice(b"edge");
        let memory = memory(&[(0x1000, bytes)]);
        assert_eq!(all(&memory, &exact(b"edge"), 1), [0x1000 + CHUNK - 2]);
    }

    #[test]
    fn the_end_of_the_address_space_is_no_trap() {
        let memory = memory(&[(u64::MAX - 3, b"abab".to_vec())]);
        assert_eq!(all(&memory, &exact(b"ab"), 1), [u64::MAX - 3, u64::MAX - 1]);
        let range = AddressRange::new(Address::ram(u64::MAX), Address::ram(u64::MAX)).expect("one");
        assert_eq!(memory.search(&exact(b"ab"), range, 1, |_| true).count(), 1);
        assert_eq!(memory.blocks()[0].start.space, SpaceId::RAM);
    }

    proptest! {
        #[test]
        fn equals_a_plain_search(
            // A block has at least one byte.
            bytes in proptest::collection::vec(0u8..4, 1..200),
            wanted in proptest::collection::vec(0u8..4, 1..4),
            mask in proptest::collection::vec(prop_oneof![Just(0xffu8), Just(1), Just(0)], 3),
        ) {
            let mask = mask[..wanted.len()].to_vec();
            let pattern = BytePattern::new(wanted.clone(), Some(mask.clone())).expect("lengths agree");
            let fits = |at: &usize| bytes[*at..].len() >= wanted.len()
                && wanted.iter().zip(&mask).zip(&bytes[*at..]).all(|((w, m), b)| w & m == b & m);
            let plain: Vec<u64> = (0..bytes.len()).filter(fits).map(|at| at as u64).collect();
            let memory = memory(&[(0, bytes.clone())]);
            prop_assert_eq!(all(&memory, &pattern, 1), plain);
        }
    }
}
