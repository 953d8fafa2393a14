//! Pointers that lie behind what they refer to, as those to a table of virtual functions do.

use program::{Address, AddressRange, DataType, Program, TypeKind};

/// Defines one `offset` bytes behind its target, whatever was defined there. Gives whether it is
/// there.
pub(crate) fn define(program: &mut Program, place: Address, offset: i64) -> bool {
    let pointer = program.types.builtin("pointer");
    let Some(length) = program.types.length(pointer) else { return false };
    let Some(range) = AddressRange::with_length(place, u64::from(length)) else { return false };
    let sign = if offset < 0 { "-" } else { "" };
    let name = format!("pointer __((offset({sign}0x{:x})))", offset.unsigned_abs());
    let typed = program.types.add(DataType {
        category: "/".into(),
        name: name.into(),
        length: Some(length),
        alignment: 1,
        description: "".into(),
        kind: TypeKind::Typedef(pointer),
        used: false,
    });
    program.listing.data.remove_where(range.start..=range.end, |_, _| true);
    program.define_data(place, typed, length)
}
