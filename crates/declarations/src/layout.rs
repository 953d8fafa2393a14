//! Where members of structures and unions lie.

use program::TypeId;
use program::data_type::{DataType, DataTypes, Field, TypeKind};
use std::sync::Arc;

/// A member as declared.
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    pub(crate) data_type: TypeId,
    /// Width of a bit-field.
    pub(crate) bits: Option<u8>,
}

/// The content of a structure or union.
pub(crate) struct Layout {
    pub(crate) fields: Vec<Field>,
    pub(crate) length: u32,
    pub(crate) alignment: u32,
}

/// Lays out a structure (one member after the other) or a union (all at the
/// start). `pack` caps the alignment of members. `None` when it gets too large
/// or a member has no length.
pub(crate) fn lay_out(
    types: &DataTypes,
    members: Vec<Member>,
    union: bool,
    pack: u32,
) -> Option<Layout> {
    let mut layout = Layout { fields: Vec::new(), length: 0, alignment: 1 };
    // Bits used of the storage unit that the last bit-field opened.
    let mut open: Option<(u32, u32, u32)> = None;
    for member in members {
        let data_type = types.get(member.data_type)?;
        let length = data_type.length?;
        let alignment = data_type.alignment.clamp(1, pack);
        if let Some(width) = member.bits {
            let width = u32::from(width);
            let unit = match open {
                Some((offset, size, used))
                    if size == length && used + width <= size * 8 && width > 0 && !union =>
                {
                    open = Some((offset, size, used + width));
                    (offset, used)
                }
                _ if width == 0 => {
                    open = None;
                    continue;
                }
                _ => {
                    let offset = if union { 0 } else { layout.length.next_multiple_of(alignment) };
                    open = Some((offset, length, width));
                    layout.length = layout.length.max(offset.checked_add(length)?);
                    (offset, 0)
                }
            };
            layout.alignment = layout.alignment.max(alignment);
            layout.fields.push(Field {
                offset: unit.0,
                data_type: member.data_type,
                length,
                name: member.name,
                comment: "".into(),
                bits: Some((unit.1 as u8, width as u8)),
            });
            continue;
        }
        open = None;
        let offset = if union { 0 } else { layout.length.next_multiple_of(alignment) };
        layout.length = layout.length.max(offset.checked_add(length)?);
        layout.alignment = layout.alignment.max(alignment);
        layout.fields.push(Field {
            offset,
            data_type: member.data_type,
            length,
            name: member.name,
            comment: "".into(),
            bits: None,
        });
    }
    layout.length = layout.length.max(1).checked_next_multiple_of(layout.alignment)?;
    (layout.length <= i32::MAX as u32).then_some(layout)
}

/// A structure or union type of a layout.
pub(crate) fn composite(category: &str, name: &str, layout: Layout, union: bool) -> DataType {
    let Layout { fields, length, alignment } = layout;
    DataType {
        category: category.into(),
        name: name.into(),
        length: Some(length),
        alignment,
        description: "".into(),
        kind: if union {
            TypeKind::Union { fields }
        } else {
            TypeKind::Struct { fields, packed: true }
        },
        used: true,
    }
}
