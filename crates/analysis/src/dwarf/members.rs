//! The members of structures and unions, and the values of enumerations.

use super::types::Types;
use super::{Bytes, Entry};
use crate::debug_information::member;
use gimli::{AttributeValue, EntriesTreeNode};
use program::data_type::{Builtin, Field};
use program::{Program, TypeId, TypeKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Members of one type that are kept.
const MEMBERS: usize = 1 << 14;

/// Name, value and comment.
pub(super) type Value = (Arc<str>, i64, Arc<str>);

/// Members by their offset and first bit.
type Placed = BTreeMap<(u32, u8), Field>;

impl<'a> Types<'_, 'a> {
    pub(super) fn values(&self, node: EntriesTreeNode<'_, '_, '_, Bytes<'a>>) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::new();
        let mut children = node.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if entry.tag() != gimli::DW_TAG_enumerator || values.len() >= MEMBERS {
                continue;
            }
            let value = match entry.attr_value(gimli::DW_AT_const_value) {
                Ok(Some(value)) => number(&value),
                _ => None,
            };
            if let (Some(name), Some(value)) = (self.source.name(entry), value) {
                values.push((Arc::from(name), value, Arc::from("")));
            }
        }
        values.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        values
    }

    /// The members of a structure or union of a size. Those of the type itself come before what it
    /// inherits: bases without members take no room of their own.
    pub(super) fn fields(
        &mut self,
        program: &mut Program,
        node: EntriesTreeNode<'_, '_, '_, Bytes<'a>>,
        (size, union): (u64, bool),
        depth: usize,
    ) -> Vec<Field> {
        let mut listed: Vec<Field> = Vec::new();
        let mut placed = Placed::new();
        let mut bases = Vec::new();
        let mut children = node.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            match entry.tag() {
                gimli::DW_TAG_inheritance => bases.push(entry.offset()),
                gimli::DW_TAG_member if listed.len() + placed.len() < MEMBERS => {
                    let number = listed.len() + placed.len();
                    let Some(field) = self.field(program, entry, number, size, depth) else {
                        continue;
                    };
                    match union {
                        true => listed.push(Field { offset: 0, ..field }),
                        false => place(program, &mut placed, field, size),
                    }
                }
                _ => {}
            }
        }
        if union {
            return listed;
        }
        let here = std::rc::Rc::clone(&self.source.here);
        for at in bases.into_iter().take(MEMBERS) {
            let Ok(entry) = here.unit.entry(at) else { continue };
            if let Some(field) = self.field(program, &entry, placed.len(), size, depth) {
                place(program, &mut placed, field, size);
            }
        }
        widened(program, placed, size)
    }

    fn field(
        &mut self,
        program: &mut Program,
        entry: &Entry<'_, 'a>,
        number: usize,
        size: u64,
        depth: usize,
    ) -> Option<Field> {
        if self.source.attribute(entry, gimli::DW_AT_external).is_some() {
            return None;
        }
        self.source.type_of(entry)?;
        let data_type = self.inner(program, entry, depth);
        let data_type = by_pointer(program, data_type);
        self.complete_inner(program, data_type, depth + 1);
        let name = self.source.name(entry).unwrap_or_else(|| match entry.tag() {
            gimli::DW_TAG_inheritance => format!("super_{}", program.types.name(data_type)),
            _ => format!("field_{number}"),
        });
        let place = self.source.member_place(entry)?;
        let bits = match self.source.number(entry, gimli::DW_AT_bit_size) {
            Some(width) => Some(self.bits(program, entry, data_type, place, (width, size))?),
            None => None,
        };
        member(program, data_type, name, place.unwrap_or(0), bits)
    }

    /// Where a bit-field begins and how wide it is. Bits are counted from the lowest one of the
    /// first byte; in big-endian programs, what is counted from the highest one is turned round.
    fn bits(
        &self,
        program: &Program,
        entry: &Entry<'_, 'a>,
        data_type: TypeId,
        place: Option<u64>,
        (width, size): (u64, u64),
    ) -> Option<(u64, u64)> {
        let types = &program.types;
        let resolved = types.get(types.resolve(data_type)).map(|t| &t.kind);
        let may_hold_bits = match resolved {
            Some(TypeKind::Enum { .. }) => true,
            Some(TypeKind::Builtin(kind)) => matches!(
                kind,
                Builtin::Bool
                    | Builtin::Char
                    | Builtin::WideChar
                    | Builtin::Unsigned
                    | Builtin::Signed
            ),
            _ => false,
        };
        if !may_hold_bits {
            return None;
        }
        let own = u64::from(types.length(data_type)?);
        let told = self.source.number(entry, gimli::DW_AT_byte_size).filter(|bytes| *bytes > 0);
        let container = if place.is_some() { told.unwrap_or(own) } else { size };
        let start = place.unwrap_or(0).checked_mul(8)?;
        let container = container.checked_mul(8)?;
        let big = program.memory.big_endian();
        let first = match self.source.number(entry, gimli::DW_AT_data_bit_offset) {
            Some(first) => first,
            // Older versions count from the highest bit of what holds it.
            None => {
                let from_highest = self.source.number(entry, gimli::DW_AT_bit_offset)?;
                let from_lowest = container.checked_sub(from_highest)?.checked_sub(width)?;
                start.checked_add(if big { from_highest } else { from_lowest })?
            }
        };
        if !big {
            return Some((first, width));
        }
        let bytes = (first % 8).checked_add(width)?.div_ceil(8);
        let low = (bytes * 8).checked_sub(first % 8)?.checked_sub(width)?;
        Some(((first / 8).checked_mul(8)?.checked_add(low)?, width))
    }
}

/// Functions are in data by pointers only.
pub(super) fn by_pointer(program: &mut Program, data_type: TypeId) -> TypeId {
    match program.types.get(data_type).map(|t| &t.kind) {
        Some(TypeKind::Function(_)) => program.types.pointer_to(data_type),
        _ => data_type,
    }
}

/// A number as it is written: negative only if its form says so.
fn number(value: &AttributeValue<Bytes<'_>>) -> Option<i64> {
    match value {
        AttributeValue::Sdata(number) => Some(*number),
        value => {
            let unsigned = value.udata_value().map(|number| number as i64);
            unsigned.or_else(|| value.sdata_value())
        }
    }
}

/// Puts a member where it belongs, without what pads its end, if there is room.
fn place(program: &Program, placed: &mut Placed, field: Field, size: u64) {
    let mut field = field;
    if field.bits.is_none() {
        field.length = field.length.min(used(program, field.data_type));
    }
    let end = u64::from(field.offset) + u64::from(field.length);
    if field.length == 0 || end > size {
        return;
    }
    let key = (field.offset, field.bits.map_or(0, |(low, _)| low));
    let apart = |before: &Field, after: &Field| {
        let bits = |f: &Field| {
            let start = u64::from(f.offset) * 8;
            match f.bits {
                Some((low, width)) => (start + u64::from(low), u64::from(width)),
                None => (start, u64::from(f.length) * 8),
            }
        };
        let ((first, width), (next, _)) = (bits(before), bits(after));
        first + width <= next
    };
    let before = placed.range(..key).next_back().is_none_or(|(_, known)| apart(known, &field));
    let after = placed.range(key..).next().is_none_or(|(_, known)| apart(&field, known));
    if before && after {
        placed.insert(key, field);
    }
}

/// Bytes of a type up to the end of its last member.
fn used(program: &Program, data_type: TypeId) -> u32 {
    let id = program.types.resolve(data_type);
    let length = program.types.length(id).unwrap_or(0);
    match program.types.get(id).map(|t| &t.kind) {
        Some(TypeKind::Struct { fields, .. }) => {
            fields.last().map_or(length, |last| last.offset.saturating_add(last.length))
        }
        _ => length,
    }
}

/// Gives members their whole length again, as far as there is room.
fn widened(program: &Program, placed: Placed, size: u64) -> Vec<Field> {
    let mut fields: Vec<Field> = placed.into_values().collect();
    let mut next = u32::try_from(size).unwrap_or(u32::MAX);
    for field in fields.iter_mut().rev() {
        let whole = program.types.length(field.data_type).unwrap_or(0);
        if field.bits.is_none() && field.length < whole {
            field.length = whole.min(next.saturating_sub(field.offset)).max(field.length);
        }
        next = field.offset;
    }
    fields
}
