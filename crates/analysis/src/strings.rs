//! Texts that nothing refers to: runs of printable characters that end in a
//! zero, are long enough, and look like words.
//!
//! Every byte of loaded memory is looked at once.

mod model;

use crate::pass::{Analysis, Stopped};
use program::{Address, AddressRange, Memory, Program, TypeId, TypeKind};

/// Fewest characters of a text.
const SHORTEST: u64 = 5;
/// Texts are padded to a multiple of this many bytes where zeros follow.
const ALIGNMENT: u64 = 4;
/// Bytes read at a time.
const WINDOW: usize = 1 << 16;
/// Longer runs of characters are no text anybody wrote.
const LONGEST: usize = 1 << 20;

/// How the characters of a text are stored.
struct Kind {
    /// Bytes of a character.
    width: usize,
    /// Where the first one may begin, in bytes from the start of a block.
    first: usize,
    data_type: &'static str,
}

/// Characters of one, two and four bytes, which may begin anywhere.
const KINDS: [Kind; 7] = [
    Kind { width: 1, first: 0, data_type: "string" },
    Kind { width: 2, first: 0, data_type: "unicode" },
    Kind { width: 2, first: 1, data_type: "unicode" },
    Kind { width: 4, first: 0, data_type: "unicode32" },
    Kind { width: 4, first: 2, data_type: "unicode32" },
    Kind { width: 4, first: 1, data_type: "unicode32" },
    Kind { width: 4, first: 3, data_type: "unicode32" },
];

/// Whether texts may hold that byte.
pub(crate) fn is_character(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')
}

/// Runs the pass.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let blocks: Vec<AddressRange> = searched_blocks(&analysis.program.memory).collect();
    let total = blocks.len().max(1) as f32;
    for (done, block) in blocks.into_iter().enumerate() {
        analysis.step(done as f32 / total)?;
        let memory = analysis.program.memory.clone();
        let big_endian = memory.big_endian();
        for kind in &KINDS {
            let monitor = &*analysis.monitor;
            let program = &mut *analysis.program;
            let go_on = || !monitor.cancelled();
            for_each_candidate(&memory, block, kind, big_endian, go_on, |start, text| {
                if model::is_text(text) {
                    let length = (text.len() + 1) * kind.width;
                    define(program, start, length as u64, kind.data_type);
                }
            });
            analysis.check()?;
        }
    }
    Ok(())
}

/// The blocks with bytes that a running program could touch.
pub(crate) fn searched_blocks(memory: &Memory) -> impl Iterator<Item = AddressRange> {
    memory
        .blocks()
        .iter()
        .filter(|b| b.loaded && b.is_initialized() && !b.is_overlay())
        .filter(|b| b.permissions.read || b.permissions.write || b.permissions.execute)
        .map(|b| b.range())
}

/// Calls `found` with the characters of every run of them in a block that a zero ends, as long as
/// `go_on` says so.
fn for_each_candidate(
    memory: &Memory,
    block: AddressRange,
    kind: &Kind,
    big_endian: bool,
    go_on: impl Fn() -> bool,
    mut found: impl FnMut(Address, &[u8]),
) {
    let width = kind.width;
    let mut text: Vec<u8> = Vec::new();
    let mut window = vec![0u8; WINDOW];
    let mut at = block.start.wrapping_add(kind.first as u64);
    let mut left = block.len().saturating_sub(kind.first as u64);
    while left >= width as u64 && go_on() {
        let want = left.min(WINDOW as u64) as usize;
        let read = memory.read(at, &mut window[..want]).unwrap_or(0) / width * width;
        if read == 0 {
            break;
        }
        for (index, bytes) in window[..read].chunks_exact(width).enumerate() {
            let (low, high) = match big_endian {
                true => (bytes[width - 1], &bytes[..width - 1]),
                false => (bytes[0], &bytes[1..]),
            };
            let plain = high.iter().all(|byte| *byte == 0);
            if plain && is_character(low) {
                if text.len() <= LONGEST {
                    text.push(low);
                }
                continue;
            }
            let ends = plain && low == 0;
            if ends && text.len() as u64 >= SHORTEST && text.len() <= LONGEST {
                let end = at.offset + (index * width) as u64;
                found(Address::new(at.space, end - (text.len() * width) as u64), &text);
            }
            text.clear();
        }
        left -= read as u64;
        at = at.wrapping_add(read as u64);
    }
}

/// Makes a text, unless something else stands in its way. A shorter text at
/// its end, made for a reference into it, gives way.
fn define(program: &mut Program, start: Address, length: u64, data_type: &str) {
    let Some(range) = AddressRange::with_length(start, length) else { return };
    if !is_undefined(program, &range) && !ends_in_text(program, &range, data_type) {
        return;
    }
    let padded = length + padding(program, range.end);
    let text = program.types.builtin(data_type);
    clear(program, &range);
    program.define_data(start, text, padded as u32);
}

/// Whether nothing but undefined data is in the range, or reaches into it.
pub(crate) fn is_undefined(program: &Program, range: &AddressRange) -> bool {
    let listing = &program.listing;
    if listing.instruction_containing(range.start).is_some()
        || listing.instructions.range(range.start..=range.end).next().is_some()
    {
        return false;
    }
    let before = listing.data_containing(range.start).map(|(_, unit)| unit);
    let inside = listing.data.range(range.start..=range.end).map(|(_, unit)| *unit);
    before.into_iter().chain(inside).all(|unit| is_undefined_type(program, unit.data_type))
}

/// Whether the type only reserves bytes: undefined ones, or an array of them.
pub(crate) fn is_undefined_type(program: &Program, id: TypeId) -> bool {
    match program.types.get(id).map(|known| &known.kind) {
        Some(TypeKind::Array { element, .. }) => program.types.is_undefined(*element),
        _ => program.types.is_undefined(id),
    }
}

/// Removes the data in the range, and what reaches into it.
pub(crate) fn clear(program: &mut Program, range: &AddressRange) {
    if let Some((start, _)) = program.listing.data_containing(range.start) {
        program.listing.data.remove(&start);
    }
    program.listing.data.remove_where(range.start..=range.end, |_, _| true);
}

fn ends_in_text(program: &Program, range: &AddressRange, data_type: &str) -> bool {
    let Some((start, unit)) = program.listing.data_containing(range.end) else { return false };
    if start <= range.start || program.types.name(unit.data_type) != data_type {
        return false;
    }
    let ahead = start.checked_sub(1).and_then(|last| AddressRange::new(range.start, last));
    ahead.is_some_and(|ahead| is_undefined(program, &ahead))
}

/// Zeros after a text that count as its own.
fn padding(program: &Program, last: Address) -> u64 {
    let Some(next) = last.checked_add(1) else { return 0 };
    let padding = next.offset.wrapping_neg() % ALIGNMENT;
    let free = |offset| {
        let at = next.wrapping_add(offset);
        program.memory.read_array(at) == Some([0u8])
            && program.listing.unit_containing(at).is_none()
    };
    if (0..padding).all(free) { padding } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::{BlockSource, DataOrganization, DataUnit, MemoryBlock, Permissions, ProgramInfo};

    fn program(bytes: &[u8]) -> Program {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut program = Program::new(info, false, DataOrganization::default());
        let source = BlockSource::Bytes { bytes: bytes.into(), offset: 0, length: bytes.len() };
        let mut block =
            MemoryBlock::new(".rodata", Address::ram(0x1000), bytes.len() as u64, source);
        block.permissions = Permissions { read: true, ..block.permissions };
        block.loaded = true;
        program.memory.add_block(block).unwrap();
        program
    }

    fn texts(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        texts_of(&KINDS[0], false, bytes)
    }

    fn texts_of(kind: &Kind, big_endian: bool, bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let program = program(bytes);
        let mut found = Vec::new();
        for block in searched_blocks(&program.memory) {
            for_each_candidate(
                &program.memory,
                block,
                kind,
                big_endian,
                || true,
                |at, text| {
                    found.push((at.offset, text.to_vec()));
                },
            );
        }
        found
    }

    #[test]
    fn only_terminated_runs_of_five_are_candidates() {
        let found = texts(b"abcd\0hello\0\x01world\x02there\x03\0again");
        assert_eq!(found, [(0x1005, b"hello".to_vec())]);
    }

    #[test]
    fn wide_characters_make_texts_as_well() {
        let mut wide: Vec<u8> = vec![7];
        wide.extend(b"de-DE\0".iter().flat_map(|byte| [*byte, 0]));
        assert_eq!(texts_of(&KINDS[2], false, &wide), [(0x1001, b"de-DE".to_vec())]);
        assert!(texts_of(&KINDS[1], false, &wide).is_empty(), "at the other half");
        assert!(texts_of(&KINDS[2], true, &wide).is_empty(), "the other byte first");
        let quad: Vec<u8> = b"hello\0".iter().flat_map(|byte| [0, 0, 0, *byte]).collect();
        assert_eq!(texts_of(&KINDS[3], true, &quad), [(0x1000, b"hello".to_vec())]);
    }

    #[test]
    fn candidates_cross_windows() {
        let mut bytes = vec![1u8; WINDOW - 3];
        bytes.extend(b"across\0");
        assert_eq!(texts(&bytes), [(0x1000 + WINDOW as u64 - 3, b"across".to_vec())]);
    }

    #[test]
    fn a_text_takes_its_padding_and_the_text_at_its_end() {
        let mut program = program(b"not found\0\0\0\x07");
        let text = program.types.builtin("string");
        program.define_data(Address::ram(0x1004), text, 6);
        define(&mut program, Address::ram(0x1000), 10, "string");
        let all: Vec<_> = program.listing.data.iter().map(|(a, u)| (a.offset, *u)).collect();
        assert_eq!(all, [(0x1000, DataUnit { data_type: text, length: 12 })]);
    }

    #[test]
    fn defined_data_stays() {
        let mut program = program(b"not found\0\0\0\x07");
        let word = program.types.builtin("word");
        program.define_data(Address::ram(0x1002), word, 2);
        define(&mut program, Address::ram(0x1000), 10, "string");
        assert_eq!(program.listing.data.len(), 1);
    }
}
