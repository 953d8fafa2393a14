//! Global variables out of debug information.

use super::namespaces::forget_readable;
use super::types::Types;
use super::units::Place;
use super::{Bytes, Entry};
use crate::debug_information::define_data;
use gimli::Operation;
use program::{Address, CommentKind, Program, SourceType};

/// Gives the place of a variable its name and type.
pub(super) fn define<'a>(program: &mut Program, types: &mut Types<'_, 'a>, entry: &Entry<'_, 'a>) {
    let Some(at) = address(types, entry) else { return };
    if !program.memory.contains(at) {
        return;
    }
    let Some(data_type) = types.of(program, entry) else { return };
    if program.types.length(data_type).is_none_or(|length| length == 0) {
        return;
    }
    name_variable(program, types, at, entry);
    define_data(program, at, data_type);
}

/// Names a variable as it was declared, in the namespace that it was declared in: that of a
/// function has a symbol that bears a number.
fn name_variable<'a>(
    program: &mut Program,
    types: &mut Types<'_, 'a>,
    at: Address,
    entry: &Entry<'_, 'a>,
) {
    let known = program.symbols.primary_at(at).map(|(_, symbol)| symbol.source);
    let Some(name) = types.source.name(entry) else { return };
    if known == Some(SourceType::UserDefined) {
        return;
    }
    let place = Place { unit: types.source.here.number, offset: entry.offset() };
    let parent = types.namespace_of(program, place);
    if known == Some(SourceType::Analysis) {
        forget_readable(program, at);
        program.comments.remove(&(at, CommentKind::Plate));
    }
    let label = program.add_label(at, &name, parent, SourceType::Imported);
    program.symbols.make_primary(label);
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
