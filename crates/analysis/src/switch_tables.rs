//! What Ghidra shows of a jump table: labels at the jump, at each case and at
//! the table, in a namespace of their own, and the entries of the table as data.
//!
//! The cost is linear in the entries of the tables.

use crate::referenced::define_pointer;
use crate::strings::{clear, is_undefined};
use decompiler::JumpTable;
use program::{Address, AddressRange, Program, SourceType, SymbolId, SymbolKind};
use std::collections::BTreeSet;

/// Most entries of one table that are marked.
const LONGEST: u32 = 1 << 16;
/// The value of a case that following flow alone does not tell.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// Marks a table whose destinations are known. A jump to a single place is none,
/// and a case whose value is unknown gets no label.
pub(crate) fn mark(program: &mut Program, table: &JumpTable) {
    if table.cases.len() < 2 {
        return;
    }
    let name = format!("switchD_{}", program.address_in_stored_name(table.from));
    let space = program.symbols.namespace(&name, SymbolId::GLOBAL, SymbolKind::Namespace);
    program.symbols.edit(space, |symbol| symbol.source = SourceType::Analysis);
    let label = |program: &mut Program, at: Address, name: &str| {
        program.add_label(at, name, space, SourceType::Analysis);
    };
    label(program, table.from, "switchD");
    for (value, target) in table.cases.iter().filter(|(value, _)| *value != UNKNOWN) {
        // Names show as much of a value as fits into 32 bits.
        label(program, *target, &format!("caseD_{:x}", *value as u32));
    }
    if let Some(target) = table.default {
        label(program, target, "default");
    }
    let targets: BTreeSet<u64> = table.cases.iter().map(|(_, target)| target.offset).collect();
    for entries in &table.tables {
        let (first, ..) = entries;
        if mark_entries(program, *entries, &targets) > 0 {
            let name = format!("switchdataD_{}", program.address_in_stored_name(*first));
            label(program, *first, &name);
        }
    }
}

/// Defines the entries of a table; returns how many. They are pointers if each is a destination of
/// the jump, and else what destinations are calculated from.
fn mark_entries(
    program: &mut Program,
    (first, size, count): (Address, u32, u32),
    targets: &BTreeSet<u64>,
) -> u32 {
    let pointer_size = program.types.organization().pointer;
    let name = match size {
        1 => "byte",
        2 => "ushort",
        4 => "uint",
        8 => "ulonglong",
        _ => return 0,
    };
    let place = |index: u32| first.checked_add(u64::from(index) * u64::from(size));
    let read = |program: &Program, index| program.memory.read_uint(place(index)?, size);
    let count = count.min(LONGEST);
    let leads_on = |index| read(program, index).is_some_and(|value| targets.contains(&value));
    let is_pointer = size == pointer_size && (0..count).all(leads_on);
    let data_type = program.types.builtin(if is_pointer { "pointer" } else { name });
    let mut defined = 0;
    for index in 0..count {
        let Some(at) = place(index) else { break };
        let Some(value) = read(program, index) else { break };
        let range = AddressRange::with_length(at, u64::from(size));
        let Some(range) = range.filter(|range| is_undefined(program, range)) else { continue };
        clear(program, &range);
        let done = if is_pointer {
            define_pointer(program, at, data_type, Address::new(at.space, value))
        } else {
            program.define_data(at, data_type, size)
        };
        defined += u32::from(done);
    }
    defined
}
