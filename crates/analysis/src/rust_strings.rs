//! Texts of Rust programs: they end in no zero and lie one behind the other, so that a search for
//! ended texts finds many as one. Whatever is referred to inside of a text splits it, as Ghidra
//! splits them.
//!
//! The cost is linear in the texts and in the references that lead into them.

use crate::pass::{Analysis, Stopped};
use crate::strings;
use memchr::memmem;
use program::{Address, AddressRange, Memory, Program};

/// What the standard library leaves in every program.
const SIGNS: [&[u8]; 3] = [b"RUST_BACKTRACE", b"/rustc/", b"RUST_MIN_STACK"];

/// Runs the pass.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    if !is_rust(&analysis.program.memory) {
        return Ok(());
    }
    let program = &mut *analysis.program;
    let texts: Vec<AddressRange> =
        program.listing.data.iter().filter_map(|(at, _)| text_at(program, *at)).collect();
    texts.into_iter().for_each(|text| split(program, text));
    analysis.check()
}

/// Whether the standard library of Rust is part of the program.
fn is_rust(memory: &Memory) -> bool {
    let blocks = strings::searched_blocks(memory);
    let blocks =
        blocks.filter(|b| memory.block_at(b.start).is_some_and(|b| !b.permissions.execute));
    let runs: Vec<&[u8]> = blocks.map(|block| memory.run(block.start)).collect();
    SIGNS.iter().any(|sign| runs.iter().any(|run| memmem::find(run, sign).is_some()))
}

/// The text that starts at a place.
fn text_at(program: &Program, at: Address) -> Option<AddressRange> {
    let unit = program.listing.data.get(&at)?;
    let is_text = program.types.name(unit.data_type) == "string";
    is_text.then(|| AddressRange::with_length(at, unit.length.into()))?
}

/// Splits a text wherever something refers to its inside.
fn split(program: &mut Program, text: AddressRange) {
    let Some(second) = text.start.checked_add(1) else { return };
    let inside: Vec<Address> = program.references.destinations(second, text.end).collect();
    if inside.is_empty() {
        return;
    }
    strings::clear(program, &text);
    let ends = inside.iter().map(|at| at.checked_sub(1).unwrap_or(*at)).chain([text.end]);
    for (start, end) in [text.start].iter().chain(&inside).zip(ends) {
        let Some(part) = AddressRange::new(*start, end) else { continue };
        let string = program.types.builtin("string");
        if let Ok(length) = u32::try_from(part.len()) {
            program.define_data(part.start, string, length);
        }
    }
}
