//! Texts of Rust programs: they end in no zero and lie one behind the other, so that a search for
//! ended texts finds many as one. A pointer with a length behind it proves where one ends; what
//! else is referred to inside a text splits it.
//!
//! The cost is linear in the references and in the texts that they lead to.

use crate::pass::{Analysis, Stopped};
use crate::strings;
use memchr::memmem;
use program::{Address, AddressRange, Memory, Program, SpaceId};

/// Shortest text that a pointer and a number are taken for.
const SHORTEST: u64 = 3;
/// Longest one.
const LONGEST: u64 = 1 << 16;
/// What the standard library leaves in every program.
const SIGNS: [&[u8]; 3] = [b"RUST_BACKTRACE", b"/rustc/", b"RUST_MIN_STACK"];

/// Runs the pass.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    if !is_rust(&analysis.program.memory) {
        return Ok(());
    }
    for slice in slices(analysis.program) {
        cut_out(analysis.program, slice);
    }
    analysis.check()?;
    split(analysis.program);
    Ok(())
}

/// Whether the standard library of Rust is part of the program.
fn is_rust(memory: &Memory) -> bool {
    let blocks = strings::searched_blocks(memory);
    let blocks =
        blocks.filter(|b| memory.block_at(b.start).is_some_and(|b| !b.permissions.execute));
    let runs: Vec<&[u8]> = blocks.map(|block| memory.run(block.start)).collect();
    SIGNS.iter().any(|sign| runs.iter().any(|run| memmem::find(run, sign).is_some()))
}

/// The texts that a pointer in constant data and the length behind it tell of.
fn slices(program: &Program) -> Vec<AddressRange> {
    let word = program.types.organization().pointer;
    let mut found = Vec::new();
    for reference in program.references.iter() {
        let (from, to) = (reference.from, reference.to);
        let in_data = from.space == SpaceId::RAM
            && to.space == SpaceId::RAM
            && crate::explore::is_constant(program, from)
            && program.listing.instruction_containing(from).is_none();
        if !in_data || program.memory.read_uint(from, word) != Some(to.offset) {
            continue;
        }
        let length = from.checked_add(word.into());
        let length = length.and_then(|at| program.memory.read_uint(at, word));
        let length = length.filter(|length| (SHORTEST..=LONGEST).contains(length));
        let range = length.and_then(|length| AddressRange::with_length(to, length));
        found.extend(range.filter(|range| holds_text(program, range)));
    }
    found
}

fn holds_text(program: &Program, range: &AddressRange) -> bool {
    let Some(block) = program.memory.block_at(range.start) else { return false };
    if block.permissions.execute || !crate::explore::is_constant(program, range.start) {
        return false;
    }
    let bytes = program.memory.run(range.start);
    let bytes = usize::try_from(range.len()).ok().and_then(|length| bytes.get(..length));
    let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.is_some_and(|text| text.chars().all(|c| !c.is_control() || c.is_whitespace()))
}

/// The text that a place belongs to.
fn text_around(program: &Program, at: Address) -> Option<AddressRange> {
    let (start, unit) = program.listing.data_containing(at)?;
    let is_text = program.types.name(unit.data_type) == "string";
    is_text.then(|| AddressRange::with_length(start, unit.length.into()))?
}

/// Makes a text of its own; what stands before and behind it in a longer one stays text.
fn cut_out(program: &mut Program, slice: AddressRange) {
    let around = text_around(program, slice.start);
    if around == Some(slice) {
        return;
    }
    let fits = match around {
        Some(around) => around.end >= slice.end,
        None => strings::is_undefined(program, &slice),
    };
    if !fits {
        return;
    }
    strings::clear(program, &slice);
    define(program, slice);
    let Some(around) = around else { return };
    let head = slice.start.checked_sub(1).and_then(|end| AddressRange::new(around.start, end));
    let tail = slice.end.checked_add(1).and_then(|start| AddressRange::new(start, around.end));
    [head, tail].into_iter().flatten().for_each(|part| define(program, part));
}

/// Splits every text where something refers to its inside.
fn split(program: &mut Program) {
    let texts = program.listing.data.iter().filter_map(|(at, _)| text_around(program, *at));
    let texts: Vec<AddressRange> = texts.collect();
    for text in texts {
        let Some(second) = text.start.checked_add(1) else { continue };
        let inside: Vec<Address> = program.references.destinations(second, text.end).collect();
        let mut end = text.end;
        for at in inside.into_iter().rev() {
            let Some(part) = AddressRange::new(at, end) else { continue };
            if holds_text_but_for_its_end(program, &part) {
                cut_out(program, part);
                end = at.checked_sub(1).unwrap_or(at);
            }
        }
    }
}

fn holds_text_but_for_its_end(program: &Program, range: &AddressRange) -> bool {
    let bytes = program.memory.run(range.start);
    let bytes = usize::try_from(range.len()).ok().and_then(|length| bytes.get(..length));
    let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.is_some_and(|text| !text.trim_end_matches('\0').is_empty())
}

fn define(program: &mut Program, range: AddressRange) {
    let text = program.types.builtin("string");
    if let Ok(length) = u32::try_from(range.len()) {
        program.define_data(range.start, text, length);
    }
}
