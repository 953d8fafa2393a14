//! References, from the lists of where they come from.

use ghidra_db::Table;
use program::flow::FlowType;
use program::{Address, RefType, Reference, ReferenceInfo, SourceType};

use crate::addresses::ENTRY_POINTS;
use crate::import::Importer;
use crate::rows::Rows;
use crate::symbols::source;

/// Flags of a reference.
const PRIMARY: u8 = 2;
const HAS_OFFSET: u8 = 4;
const HAS_SYMBOL: u8 = 8;
const HAS_SHIFT: u8 = 0x10;

/// One reference of a list.
struct Entry {
    to: i64,
    flags: u8,
    kind: i8,
    operand: i8,
}

impl Importer<'_> {
    /// Takes over references and entry points.
    pub(crate) fn references(&mut self) {
        let mut unknown = 0_usize;
        for row in self.rows("FROM REFS").iter() {
            let entries = match row.bytes("Ref Data") {
                [] => self.long_list(row.key()),
                bytes => list(bytes),
            };
            if row.key() == ENTRY_POINTS {
                self.entry_points(&entries);
                continue;
            }
            let Some(from) = self.addresses.decode(row.key()) else { continue };
            for entry in entries {
                match self.reference(from, &entry) {
                    Some(reference) => self.program.references.add(reference),
                    None => unknown += 1,
                }
            }
        }
        if unknown > 0 {
            self.notices.push(format!("{unknown} references lead to no place that we know."));
        }
    }

    /// A list so long that it has a table of its own.
    fn long_list(&mut self, key: i64) -> Vec<Entry> {
        let name = format!("FromBigRefList_{key:x}");
        let table: Option<&Table> = self.database.table(&name);
        let rows = table.map(|table| Rows::of(self.database, table, &mut self.notices));
        let entries = rows.iter().flat_map(Rows::iter).map(|row| Entry {
            to: row.int("Address"),
            flags: row.int("Flags") as u8,
            kind: row.int("Type") as i8,
            operand: row.int("OpIndex") as i8,
        });
        entries.collect()
    }

    fn reference(&self, from: Address, entry: &Entry) -> Option<Reference> {
        let to = self.addresses.decode(entry.to)?;
        let kind = ref_type(entry.kind)?;
        let info = ReferenceInfo {
            kind,
            source: source_of(entry.flags),
            primary: entry.flags & PRIMARY != 0,
        };
        Some(Reference { from, to, operand: entry.operand, info })
    }

    fn entry_points(&mut self, entries: &[Entry]) {
        for entry in entries {
            let Some(at) = self.addresses.decode(entry.to) else { continue };
            self.program.entry_points.insert(at, ());
            let there: Vec<_> = self.program.symbols.at(at).map(|(id, _)| id).collect();
            for id in there {
                self.program.symbols.edit(id, |symbol| symbol.external_entry = true);
            }
        }
    }
}

fn list(bytes: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut rest = bytes;
    while let Some((place, [flags, kind, operand, more @ ..])) = rest.split_first_chunk() {
        entries.push(Entry {
            to: i64::from_be_bytes(*place),
            flags: *flags,
            kind: kind.cast_signed(),
            operand: operand.cast_signed(),
        });
        let extra = [HAS_SYMBOL, HAS_OFFSET | HAS_SHIFT];
        let extra = extra.iter().filter(|flag| flags & **flag != 0).count() * 8;
        rest = more.get(extra..).unwrap_or_default();
    }
    entries
}

fn source_of(flags: u8) -> SourceType {
    match i64::from(flags & 1 | flags >> 4 & 6) {
        // Lists have these two the other way round.
        0 => SourceType::Default,
        2 => SourceType::Analysis,
        number => source(number),
    }
}

fn ref_type(number: i8) -> Option<RefType> {
    let flow = |flow| Some(RefType::Flow(flow));
    match number {
        -2 => flow(FlowType::Invalid),
        -1 => flow(FlowType::Flow),
        0 => flow(FlowType::FallThrough),
        1 => flow(FlowType::UnconditionalJump),
        2 => flow(FlowType::ConditionalJump),
        3 => flow(FlowType::UnconditionalCall),
        4 => flow(FlowType::ConditionalCall),
        5 => flow(FlowType::Terminator),
        6 => flow(FlowType::ComputedJump),
        7 => flow(FlowType::ConditionalTerminator),
        8 => flow(FlowType::ComputedCall),
        9 => flow(FlowType::Indirection),
        10 => flow(FlowType::CallTerminator),
        11 => flow(FlowType::JumpTerminator),
        12 => flow(FlowType::ConditionalComputedJump),
        13 => flow(FlowType::ConditionalComputedCall),
        14 => flow(FlowType::ConditionalCallTerminator),
        15 => flow(FlowType::ComputedCallTerminator),
        16 => flow(FlowType::CallOverrideUnconditional),
        17 => flow(FlowType::JumpOverrideUnconditional),
        18 => flow(FlowType::CallotherOverrideCall),
        19 => flow(FlowType::CallotherOverrideJump),
        100 => Some(RefType::Data),
        101 | 110 => Some(RefType::Read),
        102 | 111 => Some(RefType::Write),
        103 => Some(RefType::ReadWrite),
        104 => Some(RefType::ReadInd),
        105 => Some(RefType::WriteInd),
        106 => Some(RefType::ReadWriteInd),
        107 => Some(RefType::Param),
        113 => Some(RefType::External),
        114 => Some(RefType::DataInd),
        127 => Some(RefType::Thunk),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_taken_apart_with_what_some_entries_have_more() {
        let entry = |flags: u8, extra: usize| {
            [vec![0, 0, 0, 0, 0, 0, 0, 7, flags, 100, 1], vec![9; extra]].concat()
        };
        let bytes =
            [entry(0, 0), entry(8, 8), entry(4 | 8, 16), entry(0x10, 8), entry(2, 0)].concat();
        let entries = list(&bytes);
        assert_eq!(entries.len(), 5);
        assert!(entries.iter().all(|e| (e.to, e.kind, e.operand) == (7, 100, 1)));
        assert_eq!(entries[4].flags, PRIMARY);
        assert_eq!(list(&bytes[..15]).len(), 1);
    }

    #[test]
    fn sources_of_references_have_numbers_of_their_own() {
        assert_eq!(source_of(0), SourceType::Default);
        assert_eq!(source_of(1), SourceType::UserDefined);
        assert_eq!(source_of(0x20), SourceType::Analysis);
        assert_eq!(source_of(0x21), SourceType::Imported);
    }
}
