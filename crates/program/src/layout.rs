//! Where members of structures and unions lie by the rules of C.

use std::sync::Arc;

use crate::data_type::{DataTypes, Field, TypeId, TypeKind};

/// Largest size of a type, in bytes.
pub const MAX_LENGTH: u32 = i32::MAX as u32;
/// No compiler aligns members of its own to more.
const WIDEST: u32 = 16;

/// A member as declared, without its place.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name; empty when it has none.
    pub name: Arc<str>,
    /// A note; empty when there is none.
    pub comment: Arc<str>,
    /// Its type.
    pub data_type: TypeId,
    /// Its length where the type has none of its own.
    pub length: Option<u32>,
    /// Width of a bit-field.
    pub bits: Option<u8>,
}

impl Member {
    /// A member that was laid out before.
    pub(crate) fn of(types: &DataTypes, field: &Field) -> Member {
        Member {
            name: Arc::clone(&field.name),
            comment: Arc::clone(&field.comment),
            data_type: field.data_type,
            length: types.length(field.data_type).is_none().then_some(field.length),
            bits: field.bits.map(|(_, width)| width),
        }
    }
}

/// The content of a structure or union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The members with their places.
    pub fields: Vec<Field>,
    /// Length in bytes.
    pub length: u32,
    /// Alignment in bytes.
    pub alignment: u32,
}

/// How members share the room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// One after the other, aligned to at most so many bytes.
    Structure(u32),
    /// All at the start.
    Union,
}

impl Arrangement {
    /// A structure as compilers lay it out unless told otherwise.
    pub const STRUCTURE: Arrangement = Arrangement::Structure(WIDEST);
    /// A structure without filler.
    pub const PACKED: Arrangement = Arrangement::Structure(1);

    fn cap(self) -> u32 {
        match self {
            Arrangement::Structure(cap) => cap.max(1),
            Arrangement::Union => WIDEST,
        }
    }
}

/// Lays out members. `None` when that gets too large or a member has no length.
pub fn lay_out(
    types: &DataTypes,
    members: Vec<Member>,
    arrangement: Arrangement,
) -> Option<Layout> {
    let mut layout = Layout { fields: Vec::with_capacity(members.len()), length: 0, alignment: 1 };
    // Offset, size and used bits of the storage unit that the last bit-field opened.
    let mut open: Option<(u32, u32, u32)> = None;
    for member in members {
        let data_type = types.get(member.data_type)?;
        let length = member.length.or(types.member_length(member.data_type))?;
        let alignment = data_type.alignment.clamp(1, arrangement.cap());
        let (offset, bits) = match member.bits {
            Some(width) => {
                let width = u32::from(width);
                match open {
                    Some((offset, size, used))
                        if size == length
                            && used + width <= size.saturating_mul(8)
                            && width > 0
                            && arrangement != Arrangement::Union =>
                    {
                        open = Some((offset, size, used + width));
                        (offset, Some((used as u8, width as u8)))
                    }
                    _ if width == 0 => {
                        open = None;
                        continue;
                    }
                    _ => {
                        let offset = layout.place(length, alignment, arrangement)?;
                        open = Some((offset, length, width));
                        (offset, Some((0, width as u8)))
                    }
                }
            }
            None => {
                open = None;
                (layout.place(length, alignment, arrangement)?, None)
            }
        };
        layout.alignment = layout.alignment.max(alignment);
        layout.fields.push(Field {
            offset,
            data_type: member.data_type,
            length,
            name: member.name,
            comment: member.comment,
            bits,
        });
    }
    layout.length = layout.length.max(1).checked_next_multiple_of(layout.alignment)?;
    (layout.length <= MAX_LENGTH).then_some(layout)
}

impl Layout {
    /// Makes room for a member; where it lies.
    fn place(&mut self, length: u32, alignment: u32, arrangement: Arrangement) -> Option<u32> {
        let offset = match arrangement {
            Arrangement::Union => 0,
            Arrangement::Structure(_) => self.length.checked_next_multiple_of(alignment)?,
        };
        self.length = self.length.max(offset.checked_add(length)?);
        Some(offset)
    }
}

impl DataTypes {
    /// How the members of a structure of that alignment were laid out: with the widest cap that
    /// explains where they lie.
    pub(crate) fn arrangement(&self, fields: &[Field], own: u32) -> Option<Arrangement> {
        let fits = |cap: &u32| {
            let mut widest = 1;
            let aligned = fields.iter().all(|field| {
                let alignment = self.get(field.data_type).map_or(1, |known| known.alignment);
                let alignment = alignment.clamp(1, *cap);
                widest = widest.max(alignment);
                field.offset.is_multiple_of(alignment)
            });
            aligned && widest == own
        };
        [WIDEST, 8, 4, 2, 1].into_iter().find(fits).map(Arrangement::Structure)
    }

    /// Length that a type takes as a member: even a structure without members takes a byte.
    pub fn member_length(&self, id: TypeId) -> Option<u32> {
        let known = self.get(id)?;
        let composite = matches!(known.kind, TypeKind::Struct { .. } | TypeKind::Union { .. });
        known.length.map(|length| length.max(u32::from(composite)))
    }
}
