//! Function starts that the exception table of 64-bit PE files states (`.pdata`).

use program::{Address, Program};

/// Bytes of one entry: start, end and unwind information, as distances from the image base.
const ENTRY: u64 = 12;
/// Entries read at most.
const ENTRIES: u64 = 1 << 20;
/// In the unwind information's first byte: the entry only continues another one.
const CHAINED: u8 = 0x20;

/// The starts of the functions, in table order. Cost: linear in the table.
pub(crate) fn starts(program: &Program) -> Vec<u64> {
    let Some(block) = program.memory.block_named(".pdata").filter(|b| !b.permissions.execute)
    else {
        return Vec::new();
    };
    let base = program.info.image_base;
    let count = (block.length / ENTRY).min(ENTRIES);
    let entries = (0..count).map(|index| block.start.wrapping_add(index * ENTRY));
    entries.filter_map(|at| start(program, base, at)).collect()
}

fn start(program: &Program, base: u64, entry: Address) -> Option<u64> {
    let field = |offset: u64| program.memory.read_uint(entry.checked_add(offset)?, 4);
    let (begin, end, unwind) = (field(0)?, field(4)?, field(8)?);
    let at = base.checked_add(begin)?;
    let code = program.memory.block_at(Address::ram(at))?.permissions.execute;
    let [flags] = program.memory.read_array::<1>(Address::ram(base.checked_add(unwind)?))?;
    (code && begin < end && flags & CHAINED == 0).then_some(at)
}
