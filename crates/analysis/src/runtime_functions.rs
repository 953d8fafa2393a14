//! Function starts that the exception table of 64-bit PE files states (`.pdata`).

use program::{Address, Program};

/// Bytes of one entry for x86-64: start, end and unwind information, as distances from the image
/// base.
const ENTRY: u64 = 12;
/// Bytes of one entry for AArch64: start, and what unwinding takes or where it stands.
const ENTRY_ARM: u64 = 8;
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
    let arm = program.info.language_id.starts_with("AARCH64:");
    let size = if arm { ENTRY_ARM } else { ENTRY };
    let count = (block.length / size).min(ENTRIES);
    let entries = (0..count).map(|index| block.start.wrapping_add(index * size));
    let start = |at| if arm { start_arm(program, base, at) } else { start(program, base, at) };
    entries.filter_map(start).collect()
}

/// The start that an entry for AArch64 states, unless it is of a function's part without a prologue.
fn start_arm(program: &Program, base: u64, entry: Address) -> Option<u64> {
    /// The kind of an entry, in its lowest bits: unwinding stands elsewhere, or here for a part.
    const ELSEWHERE: u64 = 0;
    const PART: u64 = 2;
    let field = |offset: u64| program.memory.read_uint(entry.checked_add(offset)?, 4);
    let (begin, unwind) = (field(0)?, field(4)?);
    let at = base.checked_add(begin)?;
    let code = program.memory.block_at(Address::ram(at))?.permissions.execute;
    let whole = match unwind & 3 {
        ELSEWHERE => !is_part(program, Address::ram(base.checked_add(unwind)?)),
        kind => kind != PART,
    };
    (code && begin != 0 && begin % 4 == 0 && whole).then_some(at)
}

/// Whether what unwinding takes says that there is no prologue: its codes begin with the one that
/// ends a prologue which another part of the function has.
fn is_part(program: &Program, unwind: Address) -> bool {
    const END_OF_ANOTHER: u8 = 0xe5;
    let Some(head) = program.memory.read_uint(unwind, 4) else { return true };
    let (one_epilogue, epilogues, words) = (head >> 21 & 1, head >> 22 & 0x1f, head >> 27);
    // Larger counts stand in a second word.
    let (heads, epilogues) = match (epilogues, words) {
        (0, 0) => {
            let second = unwind.checked_add(4).and_then(|at| program.memory.read_uint(at, 4));
            (8, second.unwrap_or(0) & 0xffff)
        }
        _ => (4, epilogues),
    };
    let scopes = if one_epilogue == 1 { 0 } else { 4 * epilogues };
    let codes = unwind.checked_add(heads + scopes);
    codes.and_then(|at| program.memory.read_array(at)) == Some([END_OF_ANOTHER])
}

fn start(program: &Program, base: u64, entry: Address) -> Option<u64> {
    let field = |offset: u64| program.memory.read_uint(entry.checked_add(offset)?, 4);
    let (begin, end, unwind) = (field(0)?, field(4)?, field(8)?);
    let at = base.checked_add(begin)?;
    let code = program.memory.block_at(Address::ram(at))?.permissions.execute;
    let [flags] = program.memory.read_array::<1>(Address::ram(base.checked_add(unwind)?))?;
    (code && begin < end && flags & CHAINED == 0).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::{BlockSource, DataOrganization, MemoryBlock, Permissions, ProgramInfo};

    /// A program for AArch64 with code at 0x1000, unwinding at 0x2000 and these entries.
    fn program(entries: &[u32], unwind: &[u8]) -> Program {
        let info =
            ProgramInfo { language_id: "AARCH64:LE:64:v8A".to_owned(), ..ProgramInfo::default() };
        let mut program = Program::new(info, false, DataOrganization::default());
        let table: Vec<u8> = entries.iter().flat_map(|word| word.to_le_bytes()).collect();
        let blocks: [(&str, u64, &[u8], bool); 3] = [
            (".text", 0x1000, &[0; 0x100], true),
            (".xdata", 0x2000, unwind, false),
            (".pdata", 0x3000, &table, false),
        ];
        for (name, start, bytes, execute) in blocks {
            let length = bytes.len();
            let source = BlockSource::Bytes { bytes: bytes.into(), offset: 0, length };
            let mut block = MemoryBlock::new(name, Address::ram(start), length as u64, source);
            block.permissions = Permissions { read: true, execute, ..Permissions::default() };
            program.memory.add_block(block).unwrap();
        }
        program
    }

    #[test]
    fn entries_for_aarch64_have_two_words() {
        // One code word, one epilogue in the head: what follows are the codes.
        let head = (1u32 << 27 | 1 << 21 | 8).to_le_bytes();
        let whole = [&head[..], &[0x81, 0xe4, 0xe4, 0xe4]].concat();
        let part = [&head[..], &[0xe5, 0x81, 0xe4, 0xe4]].concat();
        let unwind = [whole, part].concat();
        // Packed; by unwinding elsewhere; parts in both ways; outside of the code.
        let entries =
            [0x1000, 0x11, 0x1020, 0x2000, 0x1040, 0x2008, 0x1060, 0x12, 0x2000, 0x11, 0, 0];
        assert_eq!(starts(&program(&entries, &unwind)), [0x1000, 0x1020]);
    }
}
