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
        let go_on = || !analysis.monitor.cancelled();
        for_each_candidate(&memory, block, go_on, |start, text| {
            if model::is_text(text) {
                define(analysis.program, start, text.len() as u64 + 1);
            }
        });
        analysis.check()?;
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

/// Calls `found` with every zero-terminated run of characters in a block, as long as `go_on` says
/// so.
fn for_each_candidate(
    memory: &Memory,
    block: AddressRange,
    go_on: impl Fn() -> bool,
    mut found: impl FnMut(Address, &[u8]),
) {
    let mut text: Vec<u8> = Vec::new();
    let mut window = vec![0u8; WINDOW];
    let mut at = block.start;
    let mut left = block.len();
    while left > 0 && go_on() {
        let want = left.min(WINDOW as u64) as usize;
        let read = memory.read(at, &mut window[..want]).unwrap_or(0);
        if read == 0 {
            break;
        }
        for (offset, byte) in window[..read].iter().enumerate() {
            if is_character(*byte) {
                if text.len() <= LONGEST {
                    text.push(*byte);
                }
                continue;
            }
            if *byte == 0 && text.len() as u64 >= SHORTEST && text.len() <= LONGEST {
                let end = at.offset + offset as u64;
                found(Address::new(at.space, end - text.len() as u64), &text);
            }
            text.clear();
        }
        left -= read as u64;
        at = at.wrapping_add(read as u64);
    }
}

/// Makes a text, unless something else stands in its way. A shorter text at
/// its end, made for a reference into it, gives way.
fn define(program: &mut Program, start: Address, length: u64) {
    let Some(range) = AddressRange::with_length(start, length) else { return };
    if !is_undefined(program, &range) && !ends_in_text(program, &range) {
        return;
    }
    let padded = length + padding(program, range.end);
    let text = program.types.builtin("string");
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

fn ends_in_text(program: &Program, range: &AddressRange) -> bool {
    let Some((start, unit)) = program.listing.data_containing(range.end) else { return false };
    if start <= range.start || program.types.name(unit.data_type) != "string" {
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
        let program = program(bytes);
        let mut found = Vec::new();
        for block in searched_blocks(&program.memory) {
            for_each_candidate(
                &program.memory,
                block,
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
        define(&mut program, Address::ram(0x1000), 10);
        let all: Vec<_> = program.listing.data.iter().map(|(a, u)| (a.offset, *u)).collect();
        assert_eq!(all, [(0x1000, DataUnit { data_type: text, length: 12 })]);
    }

    #[test]
    fn defined_data_stays() {
        let mut program = program(b"not found\0\0\0\x07");
        let word = program.types.builtin("word");
        program.define_data(Address::ram(0x1002), word, 2);
        define(&mut program, Address::ram(0x1000), 10);
        assert_eq!(program.listing.data.len(), 1);
    }
}
