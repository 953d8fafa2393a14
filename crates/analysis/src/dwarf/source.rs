//! What the entries of one unit say, together with those that they stand for or complete.

use super::units::{Opened, Place, Units};
use super::{Bytes, Entry};
use gimli::{AttributeValue, DwAt, DwLang, EntriesTreeNode, Expression, Operation, Range};
use program::Address;
use std::rc::Rc;

/// Entries that speak of one another in a chain.
const CHAIN: usize = 20;
/// Ranges or locations of one entry that are looked at.
const RANGES: usize = 256;

/// Where facts are read from.
pub(super) struct Source<'u, 'a> {
    pub(super) units: &'u Units<'a>,
    pub(super) here: Rc<Opened<'a>>,
}

impl Clone for Source<'_, '_> {
    fn clone(&self) -> Self {
        Source { units: self.units, here: Rc::clone(&self.here) }
    }
}

/// An attribute, and the unit in which its value makes sense.
pub(super) struct Found<'a> {
    pub(super) value: AttributeValue<Bytes<'a>>,
    pub(super) unit: Rc<Opened<'a>>,
}

impl Found<'_> {
    pub(super) fn text(&self) -> Option<String> {
        let text = self.unit.dwarf().attr_string(&self.unit.unit, self.value).ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        (!text.is_empty() && text.len() < 4096).then_some(text)
    }
}

impl<'u, 'a> Source<'u, 'a> {
    /// An attribute of an entry, or of the one that it stands for or completes.
    pub(super) fn attribute(&self, entry: &Entry<'_, 'a>, name: DwAt) -> Option<Found<'a>> {
        if let Ok(Some(value)) = entry.attr_value(name) {
            return Some(Found { value, unit: Rc::clone(&self.here) });
        }
        let mut at = self.original(entry)?;
        for _ in 0..CHAIN {
            let unit = self.units.open(at.unit)?;
            let other = unit.unit.entry(at.offset).ok()?;
            if let Ok(Some(value)) = other.attr_value(name) {
                return Some(Found { value, unit: Rc::clone(&unit) });
            }
            at = original(self.units, &unit, &other)?;
        }
        None
    }

    /// The entry that one stands for or completes.
    pub(super) fn original(&self, entry: &Entry<'_, 'a>) -> Option<Place> {
        original(self.units, &self.here, entry)
    }

    /// The place that an attribute speaks of.
    fn place(&self, found: &Found<'a>) -> Option<Place> {
        self.units.place(&found.unit, &found.value)
    }

    /// The name of an entry as it is.
    pub(super) fn plain_name(&self, entry: &Entry<'_, 'a>) -> Option<String> {
        self.attribute(entry, gimli::DW_AT_name)?.text()
    }

    /// A text of an entry, or of the one that it stands for or completes.
    pub(super) fn attribute_text(&self, entry: &Entry<'_, 'a>, name: DwAt) -> Option<String> {
        Some(self.attribute(entry, name)?.text()?.replace(' ', "_"))
    }

    /// The entry that declares what the one at a place stands for or completes.
    pub(super) fn declaration(&self, at: Place, entry: &Entry<'_, 'a>) -> Place {
        let mut found = at;
        let mut next = self.original(entry);
        for _ in 0..CHAIN {
            let Some(at) = next else { break };
            found = at;
            let Some(unit) = self.units.open(at.unit) else { break };
            let Ok(other) = unit.unit.entry(at.offset) else { break };
            next = original(self.units, &unit, &other);
        }
        found
    }

    /// The offset of a member in bytes. Nothing inside if it has none of its own, nothing at all if
    /// only the object itself can tell it.
    pub(super) fn member_place(&self, entry: &Entry<'_, 'a>) -> Option<Option<u64>> {
        let Some(found) = self.attribute(entry, gimli::DW_AT_data_member_location) else {
            return Some(None);
        };
        if let Some(number) = found.value.udata_value() {
            return Some(Some(number));
        }
        let expression = found.value.exprloc_value()?;
        let mut operations = expression.operations(found.unit.unit.encoding());
        match (operations.next(), operations.next()) {
            (Ok(Some(Operation::PlusConstant { value })), Ok(None)) => Some(Some(value)),
            (Ok(Some(Operation::UnsignedConstant { value })), Ok(None)) => Some(Some(value)),
            _ => None,
        }
    }

    /// The name of an entry, as Ghidra spells it.
    pub(super) fn name(&self, entry: &Entry<'_, 'a>) -> Option<String> {
        Some(self.plain_name(entry)?.replace(' ', "_"))
    }

    /// Where the entry of the type of an entry is.
    pub(super) fn type_of(&self, entry: &Entry<'_, 'a>) -> Option<Place> {
        self.place(&self.attribute(entry, gimli::DW_AT_type)?)
    }

    /// The type that an entry only announces, and that has a unit of its own.
    pub(super) fn announced(&self, entry: &Entry<'_, 'a>) -> Option<Place> {
        let value = entry.attr_value(gimli::DW_AT_signature).ok()??;
        self.units.place(&self.here, &value)
    }

    /// The parameter of a method that is the object.
    pub(super) fn object(&self, entry: &Entry<'_, 'a>) -> Option<Place> {
        self.place(&self.attribute(entry, gimli::DW_AT_object_pointer)?)
    }

    pub(super) fn number(&self, entry: &Entry<'_, 'a>, name: DwAt) -> Option<u64> {
        self.attribute(entry, name).and_then(|found| found.value.udata_value())
    }

    pub(super) fn flag(&self, entry: &Entry<'_, 'a>, name: DwAt) -> bool {
        let found = self.attribute(entry, name);
        matches!(found.map(|found| found.value), Some(AttributeValue::Flag(true)))
    }

    /// An address as the file says it.
    fn address(&self, value: AttributeValue<Bytes<'a>>) -> Option<u64> {
        self.here.dwarf().attr_address(&self.here.unit, value).ok().flatten()
    }

    /// The ranges of an entry's code, as the file says them, in its order.
    pub(super) fn stated_ranges(&self, entry: &Entry<'_, 'a>) -> Vec<Range> {
        if let Some(only) = self.stated_range(entry) {
            return vec![only];
        }
        let Ok(Some(value)) = entry.attr_value(gimli::DW_AT_ranges) else { return Vec::new() };
        let ranges = self.here.dwarf().attr_ranges(&self.here.unit, value);
        let Ok(Some(mut ranges)) = ranges else { return Vec::new() };
        let ranges = std::iter::from_fn(|| ranges.next().ok().flatten()).take(RANGES);
        ranges.filter(|range| range.begin < range.end).collect()
    }

    /// The only range of an entry's code.
    fn stated_range(&self, entry: &Entry<'_, 'a>) -> Option<Range> {
        let low = self.address(entry.attr_value(gimli::DW_AT_low_pc).ok()??)?;
        let high = match entry.attr_value(gimli::DW_AT_high_pc).ok()?? {
            AttributeValue::Addr(_) | AttributeValue::DebugAddrIndex(_) => {
                self.address(entry.attr_value(gimli::DW_AT_high_pc).ok()??)?
            }
            size => low.checked_add(size.udata_value()?)?,
        };
        (low < high).then_some(Range { begin: low, end: high })
    }

    /// Where the code of a function or a block begins, as the file says it: other parts of it may
    /// lie before.
    pub(super) fn stated_start(&self, entry: &Entry<'_, 'a>) -> Option<u64> {
        self.stated_ranges(entry).first().map(|range| range.begin)
    }

    /// Where a block begins: compilers put an empty range first to say that it holds from there on,
    /// before its own code.
    pub(super) fn block_start(&self, entry: &Entry<'_, 'a>) -> Option<Address> {
        let stated = match self.stated_range(entry) {
            Some(range) => range.begin,
            None => self.first_range(entry.attr_value(gimli::DW_AT_ranges).ok()??)?,
        };
        Some(self.shifted(stated))
    }

    /// Where the first range of a list begins, be it empty.
    fn first_range(&self, value: AttributeValue<Bytes<'a>>) -> Option<u64> {
        use gimli::RawRngListEntry::*;
        let (dwarf, unit) = (self.here.dwarf(), &self.here.unit);
        let offset = dwarf.attr_ranges_offset(unit, value).ok()??;
        let mut ranges = dwarf.raw_ranges(unit, offset).ok()?;
        let mut base = unit.low_pc;
        for _ in 0..RANGES {
            match ranges.next().ok()?? {
                BaseAddress { addr } => base = addr,
                BaseAddressx { addr } => base = dwarf.address(unit, addr).ok()?,
                StartxEndx { begin, .. } | StartxLength { begin, .. } => {
                    return dwarf.address(unit, begin).ok();
                }
                AddressOrOffsetPair { begin, .. } | OffsetPair { begin, .. } => {
                    return Some(base.wrapping_add(begin));
                }
                StartEnd { begin, .. } | StartLength { begin, .. } => return Some(begin),
            }
        }
        None
    }

    /// The lowest place of an entry's code.
    pub(super) fn lowest(&self, entry: &Entry<'_, 'a>) -> Option<Address> {
        let lowest = self.stated_ranges(entry).into_iter().map(|range| range.begin).min();
        lowest.map(|start| self.shifted(start))
    }

    /// Where what the file speaks of is in the program.
    pub(super) fn shifted(&self, stated: u64) -> Address {
        Address::ram(stated.wrapping_add(self.units.shift))
    }

    /// Whether the unit was written in Go.
    pub(super) fn is_go(&self) -> bool {
        self.written_in() == Some(gimli::DW_LANG_Go)
    }

    /// Whether the unit was written in Rust.
    pub(super) fn is_rust(&self) -> bool {
        self.written_in() == Some(gimli::DW_LANG_Rust)
    }

    fn written_in(&self) -> Option<DwLang> {
        let root = gimli::UnitOffset(self.here.unit.header.size_of_header());
        let root = self.here.unit.entry(root).ok()?;
        match root.attr_value(gimli::DW_AT_language) {
            Ok(Some(AttributeValue::Language(language))) => Some(language),
            _ => None,
        }
    }

    /// The expression of an attribute that holds at a place: the only one, or the one of a list
    /// that is in force there.
    pub(super) fn expression(
        &self,
        entry: &Entry<'_, 'a>,
        name: DwAt,
        at: Option<u64>,
    ) -> Option<Expression<Bytes<'a>>> {
        match entry.attr_value(name).ok()?? {
            AttributeValue::Exprloc(expression) => Some(expression),
            _ => self.listed(entry, name, at?),
        }
    }

    /// The expression of an attribute that is a list, as it is in force at a place.
    pub(super) fn listed(
        &self,
        entry: &Entry<'_, 'a>,
        name: DwAt,
        at: u64,
    ) -> Option<Expression<Bytes<'a>>> {
        let value = entry.attr_value(name).ok()??;
        let mut list = self.here.dwarf().attr_locations(&self.here.unit, value).ok()??;
        for _ in 0..RANGES {
            let location = list.next().ok()??;
            if (location.range.begin..location.range.end).contains(&at) {
                return Some(location.data);
            }
        }
        None
    }

    /// The name of the source file that declares an entry.
    pub(super) fn file(&self, entry: &Entry<'_, 'a>) -> Option<String> {
        let found = self.attribute(entry, gimli::DW_AT_decl_file)?;
        let index = match found.value {
            AttributeValue::FileIndex(index) => index,
            value => value.udata_value()?,
        };
        found.unit.file_name(index)
    }

    /// Calls a function with each child of an entry of this unit, until it says that it is enough.
    pub(super) fn children(
        &self,
        entry: &Entry<'_, 'a>,
        mut each: impl FnMut(EntriesTreeNode<'_, '_, '_, Bytes<'a>>) -> bool,
    ) {
        let Ok(mut tree) = self.here.unit.entries_tree(Some(entry.offset())) else { return };
        let Ok(root) = tree.root() else { return };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            if !each(child) {
                return;
            }
        }
    }
}

/// The entry that one stands for or completes.
fn original<'a>(units: &Units<'a>, unit: &Opened<'a>, entry: &Entry<'_, 'a>) -> Option<Place> {
    [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification].into_iter().find_map(|name| {
        let value = entry.attr_value(name).ok()??;
        units.place(unit, &value)
    })
}
