//! Data that debug information gives types to.

use crate::strings::{clear, is_undefined};
use program::data_type::Builtin;
use program::{Address, AddressRange, Program, RefType, SourceType, TypeId, TypeKind};

/// Pointers of one variable that become references.
const POINTERS: usize = 1 << 14;
/// Types nested deeper than this are not looked into.
const NESTED: usize = 8;

/// Gives a place its type, unless something else is there, with the references of its pointers.
pub(crate) fn define_data(program: &mut Program, at: Address, data_type: TypeId) {
    let length = program.types.length(data_type).filter(|length| *length > 0);
    let range = length.and_then(|length| AddressRange::with_length(at, u64::from(length)));
    let (Some(length), Some(range)) = (length, range) else { return };
    if is_undefined(program, &range) {
        clear(program, &range);
        if program.define_data(at, data_type, length) {
            let mut left = POINTERS;
            refer(program, at, data_type, &mut left, 0);
        }
    }
}

/// The references that the pointers in a variable are.
fn refer(program: &mut Program, at: Address, data_type: TypeId, left: &mut usize, depth: usize) {
    let id = program.types.resolve(data_type);
    let Some(kind) = program.types.get(id).map(|t| t.kind.clone()) else { return };
    if depth > NESTED || *left == 0 {
        return;
    }
    match kind {
        TypeKind::Pointer(_) | TypeKind::Builtin(Builtin::Pointer) => {
            *left -= 1;
            let size = program.types.organization().pointer;
            let target = program.memory.read_uint(at, size).map(Address::ram);
            if let Some(to) = target.filter(|to| to.offset != 0 && program.memory.contains(*to)) {
                program.add_reference(at, to, RefType::Data, 0, SourceType::Default);
            }
        }
        TypeKind::Array { element, count } => {
            let size = u64::from(program.types.length(element).unwrap_or(0));
            if !holds_pointers(program, element, 0) {
                return;
            }
            for index in 0..u64::from(count) {
                let Some(at) = at.checked_add(index * size) else { return };
                refer(program, at, element, left, depth + 1);
                if *left == 0 {
                    return;
                }
            }
        }
        TypeKind::Struct { fields, .. } => {
            for field in fields.iter().filter(|field| field.bits.is_none()) {
                let Some(at) = at.checked_add(u64::from(field.offset)) else { return };
                refer(program, at, field.data_type, left, depth + 1);
            }
        }
        _ => {}
    }
}

/// Whether a type has pointers in it.
fn holds_pointers(program: &Program, data_type: TypeId, depth: usize) -> bool {
    let id = program.types.resolve(data_type);
    match program.types.get(id).map(|t| &t.kind) {
        Some(TypeKind::Pointer(_) | TypeKind::Builtin(Builtin::Pointer)) => true,
        Some(TypeKind::Array { element, .. }) if depth < NESTED => {
            holds_pointers(program, *element, depth + 1)
        }
        Some(TypeKind::Struct { fields, .. }) if depth < NESTED => {
            fields.iter().any(|field| holds_pointers(program, field.data_type, depth + 1))
        }
        _ => false,
    }
}
