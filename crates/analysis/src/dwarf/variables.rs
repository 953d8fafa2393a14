//! Global variables out of debug information.

use super::around::{Around, namespace};
use super::types::Types;
use super::{Bytes, Entry};
use crate::strings::{clear, is_undefined};
use gimli::Operation;
use program::data_type::Builtin;
use program::{Address, AddressRange, Program, RefType, SourceType, SymbolId, TypeId, TypeKind};

/// Pointers of one variable that become references.
const POINTERS: usize = 1 << 14;
/// Types nested deeper than this are not looked into.
const NESTED: usize = 8;

/// Gives the place of a variable its type and, if it has none, its name.
pub(super) fn define<'a>(
    program: &mut Program,
    types: &mut Types<'_, 'a>,
    entry: &Entry<'_, 'a>,
    around: &[Around],
) {
    let Some(at) = address(types, entry) else { return };
    if !program.memory.contains(at) {
        return;
    }
    let Some(data_type) = types.of(program, entry) else { return };
    let Some(length) = program.types.length(data_type).filter(|n| *n > 0) else { return };
    if let Some(name) = types.source.name(entry) {
        name_variable(program, at, &name, around);
    }
    let Some(range) = AddressRange::with_length(at, u64::from(length)) else { return };
    if is_undefined(program, &range) {
        clear(program, &range);
        if program.define_data(at, data_type, length) {
            let mut left = POINTERS;
            refer(program, at, data_type, &mut left, 0);
        }
    }
}

/// Names a variable that has no symbol, and one of a function, whose symbol bears a number, by
/// what it is called there.
fn name_variable(program: &mut Program, at: Address, name: &str, around: &[Around]) {
    let known = program.symbols.primary_at(at).map(|(_, symbol)| symbol.source);
    if known == Some(SourceType::UserDefined) {
        return;
    }
    let inside = namespace(program, around);
    if known.is_none() || inside.is_some() {
        let parent = inside.unwrap_or(SymbolId::GLOBAL);
        let label = program.add_label(at, name, parent, SourceType::Imported);
        program.symbols.make_primary(label);
    }
}

/// The references that the pointers in a variable are.
pub(crate) fn refer(
    program: &mut Program,
    at: Address,
    data_type: TypeId,
    left: &mut usize,
    depth: usize,
) {
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

/// The fixed place of a variable, if it has one.
fn address<'a>(types: &Types<'_, 'a>, entry: &Entry<'_, 'a>) -> Option<Address> {
    let source = &types.source;
    match operation(types, entry, None)? {
        Operation::Address { address } => Some(source.shifted(address)),
        Operation::AddressIndex { index } => {
            let address = source.here.dwarf().address(&source.here.unit, index).ok()?;
            Some(source.shifted(address))
        }
        _ => None,
    }
}

/// The one operation that a variable's location consists of; that of a list is the one in force
/// at a place.
pub(super) fn operation<'a>(
    types: &Types<'_, 'a>,
    entry: &Entry<'_, 'a>,
    at: Option<u64>,
) -> Option<Operation<Bytes<'a>>> {
    single(types, entry, gimli::DW_AT_location, at)
}

/// The one operation of an attribute that is an expression, or a list of them.
pub(super) fn single<'a>(
    types: &Types<'_, 'a>,
    entry: &Entry<'_, 'a>,
    name: gimli::DwAt,
    at: Option<u64>,
) -> Option<Operation<Bytes<'a>>> {
    let expression = types.source.expression(entry, name, at)?;
    let mut operations = expression.operations(types.source.here.unit.encoding());
    let found = operations.next().ok()??;
    matches!(operations.next(), Ok(None)).then_some(found)
}
