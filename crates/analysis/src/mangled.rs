//! Data that mangled names of the Itanium C++ ABI describe: tables of virtual
//! functions and the names of types.
//!
//! Each symbol is looked at once, each table up to its end.

use crate::pass::{Analysis, Stopped};
use crate::referenced::define_pointer;
use crate::strings::{clear, is_undefined, is_undefined_type};
use program::{Address, AddressRange, Program, SymbolKind};

/// Longest name of a type, in bytes.
const LONGEST_NAME: usize = 1 << 12;
/// Most entries of a table.
const LONGEST_TABLE: u64 = 1 << 14;

/// Runs the pass.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let program = &mut *analysis.program;
    let symbols = program.symbols.clone();
    for (_, symbol) in symbols.iter().filter(|(_, s)| s.kind == SymbolKind::Label) {
        match symbol.name.as_bytes().get(..4) {
            Some(b"_ZTS") => name_of_type(program, symbol.address),
            Some(b"_ZTV" | b"_ZTT" | b"_ZTC") => table(program, symbol.address),
            _ => {}
        }
    }
    Ok(())
}

fn name_of_type(program: &mut Program, at: Address) {
    let mut bytes = [0u8; LONGEST_NAME];
    let read = program.memory.read(at, &mut bytes).unwrap_or(0);
    let Some(end) = bytes[..read].iter().position(|b| *b == 0).filter(|end| *end > 0) else {
        return;
    };
    let length = end as u64 + 1;
    let Some(range) = AddressRange::with_length(at, length) else { return };
    if is_undefined(program, &range) {
        clear(program, &range);
        let text = program.types.builtin("TerminatedCString");
        program.define_data(at, text, length as u32);
    }
}

/// Pointers up to the first number that is none; zeros are left out.
fn table(program: &mut Program, start: Address) {
    let size = u64::from(program.types.organization().pointer);
    let end = end_of(program, start, size);
    let pointer = program.types.builtin("pointer");
    let mut at = start;
    while at < end {
        let Some(value) = program.memory.read_uint(at, size as u32) else { break };
        let target = Address::new(start.space, value);
        if value != 0 {
            let range = AddressRange::with_length(at, size);
            let free = range.filter(|range| is_undefined(program, range));
            let (Some(range), true) = (free, program.memory.contains(target)) else { break };
            clear(program, &range);
            define_pointer(program, at, pointer, target);
        }
        let Some(next) = at.checked_add(size) else { break };
        at = next;
    }
}

/// Where a table ends: as long as its symbol says, else at the next symbol.
fn end_of(program: &Program, start: Address, size: u64) -> Address {
    let reserved = program.listing.data.get(&start);
    let reserved = reserved.filter(|unit| is_undefined_type(program, unit.data_type));
    let most = start.wrapping_add(size.saturating_mul(LONGEST_TABLE)).max(start);
    let end = match reserved {
        Some(unit) => start.checked_add(u64::from(unit.length)),
        None => {
            let next = start.checked_add(1).map(|from| (from, program::SymbolId(0)));
            next.and_then(|from| program.symbols.in_order(from, most).next())
                .map(|(_, symbol)| symbol.address)
        }
    };
    end.unwrap_or(most).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::{BlockSource, DataOrganization, MemoryBlock, ProgramInfo, SourceType, SymbolId};

    fn program(words: &[u64]) -> Program {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut program = Program::new(info, false, DataOrganization::default());
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let length = bytes.len();
        let source = BlockSource::Bytes { bytes: bytes.into(), offset: 0, length };
        let block = MemoryBlock::new(".data", Address::ram(0x1000), length as u64, source);
        program.memory.add_block(block).unwrap();
        program
    }

    #[test]
    fn a_table_skips_zeros_and_ends_at_other_numbers() {
        let mut program = program(&[0, 0x1008, 0, 0x1000, u64::MAX - 15, 0x1000]);
        table(&mut program, Address::ram(0x1000));
        let all: Vec<u64> = program.listing.data.keys().map(|a| a.offset).collect();
        assert_eq!(all, [0x1008, 0x1018]);
    }

    #[test]
    fn a_table_ends_at_the_next_symbol() {
        let mut program = program(&[0x1000, 0x1000, 0x1000]);
        let global = SymbolId::GLOBAL;
        program.add_label(Address::ram(0x1010), "next", global, SourceType::Imported);
        table(&mut program, Address::ram(0x1000));
        assert_eq!(program.listing.data.len(), 2);
        assert_eq!(program.references.len(), 2);
    }
}
