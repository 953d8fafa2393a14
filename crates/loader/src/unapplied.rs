//! Says which relocations of a file were not applied.

use program::{Program, Relocation};
use std::collections::BTreeMap;

/// Types of relocations that are told one by one.
const TOLD: usize = 16;

/// Warns of what was not applied: how many of each type, and where the first one is. Object files
/// of some processors pack several types into one number; `types` takes them apart.
pub(crate) fn warn(program: &mut Program, types: impl Fn(u32) -> String) {
    let mut left: BTreeMap<u32, (usize, &Relocation)> = BTreeMap::new();
    for relocation in program.relocations.iter().filter(|r| !r.applied) {
        left.entry(relocation.kind).or_insert((0, relocation)).0 += 1;
    }
    let count: usize = left.values().map(|(count, _)| *count).sum();
    if count == 0 {
        return;
    }
    let mut told: Vec<String> = Vec::new();
    for (kind, (times, first)) in left.iter().take(TOLD) {
        let symbol: String = first.symbol.chars().filter(|c| !c.is_control()).take(80).collect();
        let symbol = if symbol.is_empty() { symbol } else { format!(" for {symbol}") };
        let place = program.address_in_stored_name(first.address);
        let more = if *times > 1 { ", the first" } else { "" };
        told.push(format!("{times} of type {}{more} at {place}{symbol}", types(*kind)));
    }
    if left.len() > TOLD {
        told.push(format!("{} types more", left.len() - TOLD));
    }
    let all = program.relocations.len();
    let told = told.join("; ");
    program.warn(format!("{count} of {all} relocations were not applied: {told}"));
}
