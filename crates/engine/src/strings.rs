//! Strings: the texts among the defined data, and who refers to them.

use std::collections::BTreeSet;

use program::data_type::{Builtin, Charset};
use program::{Address, DataUnit, Function, Program, Reference, TypeId, TypeKind};

/// A text in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundString {
    /// Its content, up to its end or 64 KiB.
    pub text: String,
    /// How it is encoded: `ascii`, `utf8`, `utf16` or `utf32`.
    pub encoding: &'static str,
    /// True when the content is only the beginning.
    pub is_cut: bool,
}

/// The text of a data item; `None` when it is not text.
pub fn string_of(program: &Program, address: Address, unit: &DataUnit) -> Option<FoundString> {
    let charset = charset_of(program, unit.data_type)?;
    Some(FoundString {
        text: program.data_value(address, unit.data_type, unit.length),
        encoding: match charset {
            Charset::Ascii => "ascii",
            Charset::Utf8 => "utf8",
            Charset::Utf16 => "utf16",
            Charset::Utf32 => "utf32",
        },
        is_cut: program.is_text_cut(address, unit.data_type, unit.length),
    })
}

/// The strings that the code of a function refers to, to their beginning or into them. Cost:
/// the references of the function.
pub fn strings_used_in(program: &Program, function: &Function) -> BTreeSet<Address> {
    let ranges = function.body.ranges().iter();
    let references = ranges.flat_map(|range| program.references.between(range.start, range.end));
    let units = references.filter_map(|reference| program.listing.data_containing(reference.to));
    let texts = units.filter(|(_, unit)| program.is_text_type(unit.data_type));
    texts.map(|(address, _)| address).collect()
}

/// References to a data item, to its beginning or into it, in order of their destinations.
pub fn references_into(
    program: &Program,
    address: Address,
    length: u32,
) -> impl Iterator<Item = Reference> {
    let last = address.checked_add(u64::from(length.max(1)) - 1).unwrap_or(address);
    let destinations = program.references.destinations(address, last);
    destinations.flat_map(|place| program.references.to(place))
}

fn charset_of(program: &Program, data_type: TypeId) -> Option<Charset> {
    let id = program.types.resolve(data_type);
    match program.types.get(id)?.kind {
        TypeKind::Builtin(Builtin::String(charset)) => Some(charset),
        TypeKind::Array { element, .. } => {
            let element = program.types.resolve(element);
            match (program.types.as_builtin(element)?, program.types.length(element)?) {
                (Builtin::Char, _) => Some(Charset::Ascii),
                (Builtin::WideChar, 2) => Some(Charset::Utf16),
                (Builtin::WideChar, _) => Some(Charset::Utf32),
                _ => None,
            }
        }
        _ => None,
    }
}
