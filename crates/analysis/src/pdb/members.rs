//! The members of structures, unions and enumerations of a PDB file.

use super::records::{Member, Record};
use super::types::{Types, new_type, text};
use crate::debug_information::{alignment, member};
use program::data_type::{Builtin, Field};
use program::{Program, TypeId, TypeKind};
use std::sync::Arc;

/// Members that may share their bytes with others: those of larger types are taken as they come.
const MOST_OVERLAPS: usize = 1 << 12;

/// The values of an enumeration over a type.
pub(super) fn values(
    types: &Types<'_>,
    program: &Program,
    below: TypeId,
    list: u32,
) -> Vec<(Arc<str>, i64, Arc<str>)> {
    let bits = program.types.length(below).unwrap_or(8).clamp(1, 8) * 8;
    let signed = matches!(program.types.as_builtin(below), Some(Builtin::Signed | Builtin::Char));
    // Compilers write negative values as large ones, too.
    let cut = |value: i64| match signed {
        true => value << (64 - bits) >> (64 - bits),
        false => ((value as u64) << (64 - bits) >> (64 - bits)) as i64,
    };
    let members = types.records.members(list);
    let named = members.iter().filter_map(|member| match member {
        Member::Value { name, value } => Some((text(name).into(), cut(*value), "".into())),
        _ => None,
    });
    let mut values: Vec<(Arc<str>, i64, Arc<str>)> = named.collect();
    values.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    values.dedup_by(|a, b| a.0 == b.0);
    values
}

/// The members of a structure or union, as they are declared.
pub(super) fn fields(
    types: &mut Types<'_>,
    program: &mut Program,
    list: u32,
    depth: usize,
) -> Vec<Field> {
    let records = types.records;
    let mut fields = Vec::new();
    for part in records.members(list) {
        let field = match part {
            Member::Field { name, of, offset } => {
                let data_type = types.at(program, of, depth + 1);
                types.complete_inner(program, of, depth + 1);
                let bits = match records.get(of) {
                    Some(Record::Bits { low, width, .. }) => {
                        let first = offset.saturating_mul(8).saturating_add(u64::from(low));
                        Some((first, u64::from(width)))
                    }
                    _ => None,
                };
                member(program, data_type, text(name), offset, bits)
            }
            Member::Base { of, offset } => {
                let data_type = types.at(program, of, depth + 1);
                types.complete_inner(program, of, depth + 1);
                let name = format!("super_{}", program.types.name(data_type));
                let empty = is_empty(program, data_type);
                member(program, data_type, name, offset, None).filter(|_| !empty)
            }
            Member::Table { pointer, offset } => {
                let data_type = types.at(program, pointer, depth + 1);
                member(program, data_type, format!("VFTablePtr{offset}"), offset, None)
            }
            Member::Value { .. } => None,
        };
        fields.extend(field);
    }
    fields
}

/// Bases without members take no room of their own.
fn is_empty(program: &Program, data_type: TypeId) -> bool {
    let kind = program.types.get(data_type).map(|t| &t.kind);
    matches!(kind, Some(TypeKind::Struct { fields, .. }) if fields.is_empty())
        && program.types.length(data_type) == Some(1)
}

/// Where a member begins and ends, in bits.
fn extent(field: &Field) -> (u64, u64) {
    let start = u64::from(field.offset) * 8;
    match field.bits {
        Some((low, width)) => {
            let start = start + u64::from(low);
            (start, start + u64::from(width))
        }
        None => (start, start + u64::from(field.length) * 8),
    }
}

/// Unions without a name leave no trace but members that share their bytes: these become members
/// of unions again. `path` is that of the structure.
pub(super) fn without_overlaps(
    program: &mut Program,
    path: &str,
    mut fields: Vec<Field>,
) -> Vec<Field> {
    // Members of one place stay in the order of their declaration.
    let order: Vec<usize> = {
        let mut order: Vec<usize> = (0..fields.len()).collect();
        order.sort_by_key(|index| extent(&fields[*index]).0);
        order
    };
    let mut groups: Vec<(Vec<usize>, u64)> = Vec::new();
    for index in order {
        let (start, end) = extent(&fields[index]);
        match groups.last_mut() {
            Some((group, last)) if start < *last => {
                group.push(index);
                *last = end.max(*last);
            }
            _ => groups.push((vec![index], end)),
        }
    }
    if fields.len() > MOST_OVERLAPS {
        let firsts: Vec<usize> = groups.iter().map(|(group, _)| group[0]).collect();
        return firsts.into_iter().map(|index| fields[index].clone()).collect();
    }
    let mut whole = Vec::new();
    for (number, (mut group, _)) in groups.into_iter().enumerate() {
        if let [one] = group[..] {
            whole.push(fields[one].clone());
            continue;
        }
        group.sort_unstable();
        let shared: Vec<Field> = group.iter().map(|index| fields[*index].clone()).collect();
        whole.push(union_of(program, path, number, shared));
    }
    fields.clear();
    whole.sort_by_key(extent);
    whole
}

/// One member in place of those that share their bytes, given as they are declared.
fn union_of(program: &mut Program, path: &str, number: usize, shared: Vec<Field>) -> Field {
    let start = shared.iter().map(|field| field.offset).min().unwrap_or(0);
    let end = shared.iter().map(|field| u64::from(field.offset) + u64::from(field.length)).max();
    let length = end.unwrap_or(0).saturating_sub(u64::from(start)) as u32;
    // What follows one another without sharing belongs together.
    let mut alternatives: Vec<Vec<Field>> = Vec::new();
    for field in shared {
        let field = Field { offset: field.offset - start, ..field };
        let begin = extent(&field).0;
        match alternatives.last_mut() {
            Some(last) if last.last().is_some_and(|before| extent(before).1 <= begin) => {
                last.push(field);
            }
            _ => alternatives.push(vec![field]),
        }
    }
    let mut members = Vec::new();
    for (part, fields) in alternatives.into_iter().enumerate() {
        if let [one] = &fields[..]
            && one.offset == 0
        {
            members.push(one.clone());
            continue;
        }
        let length = fields.last().map_or(0, |last| last.offset + last.length);
        let name = format!("_struct_{number}_{part}");
        let alignment = alignment(program, &fields);
        let kind = TypeKind::Struct { fields, packed: true };
        let made = new_type(path.into(), name.into(), Some(length), alignment, kind);
        let data_type = program.types.add(made);
        members.push(plain(data_type, 0, length, format!("_{part}")));
    }
    let alignment = alignment(program, &members);
    let kind = TypeKind::Union { fields: members };
    let name = format!("_union_{number}");
    let data_type =
        program.types.add(new_type(path.into(), name.into(), Some(length), alignment, kind));
    plain(data_type, start, length, format!("field_{start:#x}"))
}

fn plain(data_type: TypeId, offset: u32, length: u32, name: String) -> Field {
    Field { offset, data_type, length, name: name.into(), comment: "".into(), bits: None }
}
