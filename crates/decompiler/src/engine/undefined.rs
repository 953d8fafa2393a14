//! Numbers that may point to bytes of which nothing is known. Ghidra's decompiler asks its program
//! for what stands at each number; this engine is told beforehand, which it cannot be of all bytes.

use std::collections::BTreeSet;

use ghidra_decompiler::funcdata::Funcdata;
use program::{Address as Place, Program};

use super::symbols::Symbols;

/// Numbers below are none that the engine takes for pointers.
const LOWEST: u64 = 0x100;
/// Nor are those whose bits change less often.
const FEWEST_CHANGES: u32 = 3;
/// Places that one function is told of.
const MOST: usize = 1 << 10;

/// The places in memory without code, data or a name that numbers of a finished run stand for.
pub(super) fn pointed_to(data: &Funcdata, program: &Program, symbols: &Symbols) -> Vec<Place> {
    let width = program.info.address_bits.div_ceil(8);
    let mut found = BTreeSet::new();
    for id in data.vbank.loc_range(&data.begin_loc(), &data.end_loc()) {
        let varnode = data.vn(id);
        let offset = varnode.get_offset();
        if !varnode.is_constant()
            || u32::try_from(varnode.get_size()) != Ok(width)
            || offset < LOWEST
            || changes(offset) < FEWEST_CHANGES
        {
            continue;
        }
        let place = Place::ram(offset);
        if program.memory.block_at(place).is_some_and(|block| block.is_initialized())
            && program.listing.unit_containing(place).is_none()
            && !symbols.is_named(place)
        {
            found.insert(place);
        }
        if found.len() >= MOST {
            break;
        }
    }
    found.into_iter().collect()
}

/// How often a bit differs from the one before it.
fn changes(offset: u64) -> u32 {
    (offset ^ (offset >> 1)).count_ones()
}
