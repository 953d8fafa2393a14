//! The members of a structure or union while they are changed.

use std::sync::Arc;

use crate::data_type::{DataType, DataTypes, Field, TypeId, TypeKind};
use crate::layout::{Arrangement, MAX_LENGTH, Member, lay_out};

/// Why a member cannot be changed or added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemberFault {
    /// The type has no length and none was given.
    #[error("the type has no length of its own; give one, or a pointer to the type")]
    NoLength,
    /// A length was given that the type does not have; its own.
    #[error("the type takes {0} bytes, and no fewer")]
    TooShort(u32),
    /// An array has the length of its elements.
    #[error("an array's length follows from its elements; leave the length out")]
    ArrayLength,
    /// What comes after leaves fewer bytes; how many.
    #[error("there are only {0} bytes before the next member")]
    NoRoom(u32),
    /// The type holds the one that is changed.
    #[error("a type cannot contain itself; use a pointer to it")]
    Circular,
    /// The whole gets too large.
    #[error("a type has at most {MAX_LENGTH} bytes")]
    TooLarge,
    /// A bit-field keeps its type.
    #[error("a bit-field's type cannot be changed; remove the bit-field and add a member")]
    BitField,
}

/// How the members lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// At fixed places.
    Fixed,
    /// Where rules put them.
    Ruled(Arrangement),
    /// All at the start, without filler at the end.
    Union,
}

/// A structure or union being changed; [`Composite::store`] makes it so.
#[derive(Debug, Clone)]
pub struct Composite {
    id: TypeId,
    old: Arc<DataType>,
    fields: Vec<Field>,
    length: u32,
    alignment: u32,
    shape: Shape,
}

impl Composite {
    /// The structure or union of that id.
    pub fn of(types: &DataTypes, id: TypeId) -> Option<Composite> {
        let old = Arc::clone(types.get(id)?);
        let (fields, shape) = match &old.kind {
            TypeKind::Struct { fields, packed: false } => (fields.clone(), Shape::Fixed),
            TypeKind::Struct { fields, packed: true } => {
                let length = old.length.unwrap_or(0);
                let arrangement = types.arrangement(fields, false, length, old.alignment);
                (fields.clone(), arrangement.map_or(Shape::Fixed, Shape::Ruled))
            }
            TypeKind::Union { fields } if old.alignment == 1 => (fields.clone(), Shape::Union),
            TypeKind::Union { fields } => (fields.clone(), Shape::Ruled(Arrangement::UNION)),
            _ => return None,
        };
        let (length, alignment) = (old.length.unwrap_or(0), old.alignment);
        Some(Composite { id, old, fields, length, alignment, shape })
    }

    /// The members, by offset.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Removes members by their place in the list; what follows moves up.
    pub fn remove(&mut self, types: &DataTypes, doomed: &[usize]) -> Result<(), MemberFault> {
        let mut gone = 0;
        let mut kept = Vec::with_capacity(self.fields.len());
        for (index, mut field) in std::mem::take(&mut self.fields).into_iter().enumerate() {
            if !doomed.contains(&index) {
                field.offset = field.offset.saturating_sub(gone);
                kept.push(field);
            } else if field.bits.is_none() {
                // The bytes of a bit-field may be those of others as well.
                gone = gone.saturating_add(field.length);
            }
        }
        self.fields = kept;
        if self.shape == Shape::Fixed {
            self.length = self.length.saturating_sub(gone);
        }
        self.settle(types)
    }

    /// Gives a member another name.
    pub fn rename(&mut self, index: usize, name: &str) {
        if let Some(field) = self.fields.get_mut(index) {
            field.name = name.into();
        }
    }

    /// Gives a member another type in its place; the last one may move the end.
    pub fn retype(
        &mut self,
        types: &DataTypes,
        index: usize,
        data_type: TypeId,
        length: Option<u32>,
    ) -> Result<(), MemberFault> {
        let length = self.length_of(types, data_type, length)?;
        let next = self.fields.get(index + 1).map(|next| next.offset);
        let Some(field) = self.fields.get_mut(index) else { return Ok(()) };
        if field.bits.is_some() {
            return Err(MemberFault::BitField);
        }
        if self.shape == Shape::Fixed {
            let end = field.offset.checked_add(length).ok_or(MemberFault::TooLarge)?;
            match next {
                Some(next) if end > next => {
                    return Err(MemberFault::NoRoom(next - field.offset));
                }
                Some(_) => {}
                None if field.offset + field.length == self.length => self.length = end,
                None => self.length = self.length.max(end),
            }
        }
        (field.data_type, field.length) = (data_type, length);
        self.settle(types)
    }

    /// Adds a member at the end; a longer `length` than that of its type leaves filler after it.
    pub fn append(
        &mut self,
        types: &DataTypes,
        name: &str,
        data_type: TypeId,
        length: Option<u32>,
    ) -> Result<(), MemberFault> {
        let own = self.length_of(types, data_type, length)?;
        let offset = if self.shape == Shape::Fixed { self.length } else { 0 };
        self.fields.push(member(name, data_type, offset, own));
        if self.shape == Shape::Fixed {
            let taken = own.max(length.unwrap_or(0));
            self.length = offset.checked_add(taken).ok_or(MemberFault::TooLarge)?;
        }
        self.settle(types)
    }

    /// Adds a member at an offset; what lies there, and all that follows, moves down.
    pub fn insert(
        &mut self,
        types: &DataTypes,
        name: &str,
        data_type: TypeId,
        length: Option<u32>,
        offset: u32,
    ) -> Result<(), MemberFault> {
        let own = self.length_of(types, data_type, length)?;
        let covers = |field: &Field| u64::from(field.offset) + u64::from(field.length.max(1));
        let index = self.fields.partition_point(|field| covers(field) <= u64::from(offset));
        if self.shape == Shape::Fixed {
            self.length = self.length.max(offset);
            let inside = self.fields.get(index).map_or(0, |f| offset.saturating_sub(f.offset));
            let shift = own.checked_add(inside).ok_or(MemberFault::TooLarge)?;
            self.length = self.length.checked_add(shift).ok_or(MemberFault::TooLarge)?;
            for field in self.fields.iter_mut().skip(index) {
                field.offset = field.offset.checked_add(shift).ok_or(MemberFault::TooLarge)?;
            }
        }
        self.fields.insert(index, member(name, data_type, offset, own));
        self.settle(types)
    }

    /// What a member of a type takes here.
    fn length_of(
        &self,
        types: &DataTypes,
        data_type: TypeId,
        given: Option<u32>,
    ) -> Result<u32, MemberFault> {
        let base = types.resolve(data_type);
        let array = matches!(types.get(base).map(|t| &t.kind), Some(TypeKind::Array { .. }));
        if array && given.is_some() {
            return Err(MemberFault::ArrayLength);
        }
        if data_type == self.id || types.holds(data_type, self.id) {
            return Err(MemberFault::Circular);
        }
        match (types.member_length(data_type), given) {
            (Some(0), _) | (None, None) => Err(MemberFault::NoLength),
            (None, Some(given)) => Ok(given),
            (Some(own), Some(given)) if given < own => Err(MemberFault::TooShort(own)),
            (Some(own), _) => Ok(own),
        }
    }

    /// Puts the members where the rules want them.
    fn settle(&mut self, types: &DataTypes) -> Result<(), MemberFault> {
        match self.shape {
            Shape::Fixed => {}
            Shape::Union => {
                self.length = self.fields.iter().map(|field| field.length).max().unwrap_or(0);
            }
            Shape::Ruled(arrangement) => {
                let members = self.fields.iter().map(|field| Member::of(types, field)).collect();
                let layout = lay_out(types, members, arrangement).ok_or(MemberFault::TooLarge)?;
                (self.fields, self.length) = (layout.fields, layout.length);
                self.alignment = layout.alignment;
            }
        }
        if self.length > MAX_LENGTH { Err(MemberFault::TooLarge) } else { Ok(()) }
    }

    /// Stores the changed type; its members' types count as used. What holds it is for
    /// [`crate::Program::settle_types`] to bring up to date.
    pub fn store(self, types: &mut DataTypes) {
        let used: Vec<TypeId> = self.fields.iter().map(|field| field.data_type).collect();
        let mut new = DataType::clone(&self.old);
        new.length = Some(self.length);
        new.alignment = self.alignment;
        match &mut new.kind {
            TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => *fields = self.fields,
            _ => {}
        }
        types.replace(self.id, new);
        used.into_iter().for_each(|id| types.mark_used(id));
    }
}

fn member(name: &str, data_type: TypeId, offset: u32, length: u32) -> Field {
    Field { offset, data_type, length, name: name.into(), comment: "".into(), bits: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataOrganization;

    /// A structure of `(name, type, offset)`.
    fn structure(
        types: &mut DataTypes,
        packed: bool,
        length: u32,
        fields: &[(&str, &str, u32)],
    ) -> TypeId {
        let fields = fields.iter().map(|(name, data_type, offset)| {
            let id = types.builtin(data_type);
            member(name, id, *offset, types.length(id).unwrap_or(0))
        });
        let fields: Vec<Field> = fields.collect();
        let alignment = if packed { 4 } else { 1 };
        types.add(DataType {
            category: "/".into(),
            name: "S".into(),
            length: Some(length),
            alignment,
            description: "".into(),
            kind: TypeKind::Struct { fields, packed },
            used: true,
        })
    }

    fn shown(composite: &Composite) -> (Vec<(&str, u32)>, u32) {
        let fields = composite.fields.iter().map(|field| (&*field.name, field.offset));
        (fields.collect(), composite.length)
    }

    #[test]
    fn members_at_fixed_places_are_moved_only_by_removal_and_insertion() {
        let mut types = DataTypes::new(DataOrganization::default());
        let id = structure(&mut types, false, 16, &[("a", "int", 0), ("b", "int", 8)]);
        let (int, long) = (types.builtin("int"), types.builtin("long"));
        let mut s = Composite::of(&types, id).unwrap();
        s.append(&types, "c", int, Some(6)).unwrap();
        assert_eq!(shown(&s), (vec![("a", 0), ("b", 8), ("c", 16)], 22));
        s.insert(&types, "d", int, None, 4).unwrap();
        assert_eq!(shown(&s), (vec![("a", 0), ("d", 4), ("b", 12), ("c", 20)], 26));
        s.insert(&types, "e", types.builtin("char"), None, 14).unwrap();
        assert_eq!(shown(&s).0, [("a", 0), ("d", 4), ("e", 14), ("b", 15), ("c", 23)]);
        s.remove(&types, &[1]).unwrap();
        assert_eq!(shown(&s), (vec![("a", 0), ("e", 10), ("b", 11), ("c", 19)], 25));
        assert_eq!(s.retype(&types, 2, long, None), Ok(()), "there is filler after b");
        assert_eq!(s.retype(&types, 1, long, None), Err(MemberFault::NoRoom(1)));
        assert_eq!(s.length, 25);
        s.insert(&types, "z", int, None, 100).unwrap();
        assert_eq!((s.fields.last().map(|f| f.offset), s.length), (Some(100), 104));
    }

    #[test]
    fn the_last_member_moves_the_end_when_it_reaches_it() {
        let mut types = DataTypes::new(DataOrganization::default());
        let id = structure(&mut types, false, 8, &[("a", "int", 0), ("b", "int", 4)]);
        let (long, byte) = (types.builtin("long"), types.builtin("byte"));
        let mut s = Composite::of(&types, id).unwrap();
        s.retype(&types, 1, long, None).unwrap();
        assert_eq!(s.length, 12);
        s.retype(&types, 1, byte, None).unwrap();
        assert_eq!(s.length, 5);
    }

    #[test]
    fn members_under_the_rules_of_c_are_laid_out_again() {
        let mut types = DataTypes::new(DataOrganization::default());
        let id = structure(&mut types, true, 8, &[("a", "char", 0), ("b", "int", 4)]);
        let (char_type, long) = (types.builtin("char"), types.builtin("long"));
        let mut s = Composite::of(&types, id).unwrap();
        s.insert(&types, "c", char_type, None, 1).unwrap();
        assert_eq!(shown(&s), (vec![("a", 0), ("c", 1), ("b", 4)], 8));
        s.append(&types, "d", long, None).unwrap();
        assert_eq!(shown(&s), (vec![("a", 0), ("c", 1), ("b", 4), ("d", 8)], 16));
        s.remove(&types, &[2, 3]).unwrap();
        assert_eq!(shown(&s), (vec![("a", 0), ("c", 1)], 2));
        s.append(&types, "text", types.builtin("string"), Some(5)).unwrap();
        assert_eq!(shown(&s).1, 7, "a text takes what it was given");
    }

    #[test]
    fn members_that_cannot_be_are_refused() {
        let mut types = DataTypes::new(DataOrganization::default());
        let id = structure(&mut types, false, 4, &[("a", "int", 0)]);
        let int = types.builtin("int");
        let (own, ints) = (types.array_of(id, 2), types.array_of(int, 2));
        let mut s = Composite::of(&types, id).unwrap();
        let mut add = |data_type, length| s.append(&types, "x", data_type, length);
        assert_eq!(add(id, None), Err(MemberFault::Circular));
        assert_eq!(add(own, None), Err(MemberFault::Circular));
        assert_eq!(add(ints, Some(8)), Err(MemberFault::ArrayLength));
        assert_eq!(add(int, Some(2)), Err(MemberFault::TooShort(4)));
        assert_eq!(add(types.builtin("void"), None), Err(MemberFault::NoLength));
        assert_eq!(add(types.builtin("string"), None), Err(MemberFault::NoLength));
        assert_eq!(add(int, Some(MAX_LENGTH)), Err(MemberFault::TooLarge));
    }
}
