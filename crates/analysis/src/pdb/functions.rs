//! Functions out of a PDB file: names, prototypes, variables.

use super::Applied;
use super::modules::{Function, Variable};
use super::types::Prototype;
use crate::debug_information::{ToldFunction, is_returned_by_pointer, unused};
use program::{Address, AddressSet, Program, SourceType, TypeId};
use std::collections::HashSet;

/// Makes a function with all that is told of it.
pub(super) fn define(applied: &mut Applied<'_, '_>, program: &mut Program, told: &Function) {
    let Some(at) = applied.address(program, told.place) else { return };
    if !program.memory.block_at(at).is_some_and(|block| block.permissions.execute) {
        return;
    }
    let prototype = applied.types.prototype(program, told.data_type, 0);
    // Its parts may have led to types whose members are still to be looked at.
    applied.types.finish(program);
    let member = prototype.as_ref().is_some_and(|prototype| prototype.member);
    applied.label(program, (at, told.place), &told.name, member);
    make(program, at);
    let open = program.functions.at(at).is_some_and(|function| {
        function.thunk_of.is_none() && function.signature.source < SourceType::Imported
    });
    let Some(prototype) = prototype.filter(|_| open) else { return };
    let types: Vec<TypeId> =
        told.variables.iter().map(|v| applied.types.of(program, v.data_type)).collect();
    let parameters = parameters(told, &prototype);
    let locals = locals(applied, program, at, (told, &types), &parameters);
    let names: Vec<String> =
        parameters.iter().map(|index| told.variables[*index].name.clone()).collect();
    apply(program, at, &prototype, &names, locals);
    if told.no_return {
        program.functions.edit(at, |function| function.no_return = true);
    }
}

/// Makes the place a function that bears its primary name; its body is found later.
pub(super) fn make(program: &mut Program, at: Address) {
    let primary = program.symbols.primary_at(at).map(|(id, _)| id);
    if program.functions.at(at).is_none() {
        program.add_function(at, AddressSet::new());
    } else if let Some(id) = primary {
        let former = program.functions.at(at).map(|function| function.symbol);
        if former != Some(id) {
            former.map(|former| {
                program.symbols.edit(former, |s| s.kind = program::SymbolKind::Label)
            });
            program.symbols.edit(id, |s| s.kind = program::SymbolKind::Function);
            program.functions.edit(at, |function| function.symbol = id);
        }
    }
}

/// Which variables are the parameters of the prototype, in order, `this` among them.
fn parameters(told: &Function, prototype: &Prototype) -> Vec<usize> {
    let count = prototype.parameters.len() + usize::from(prototype.this.is_some());
    let all = told.variables.iter().enumerate();
    // Where nothing tells, parameters come first.
    let found = all.filter(|(_, v)| v.parameter || !told.flagged).map(|(index, _)| index);
    found.take(count).collect()
}

/// Variables that stay in one place on the stack, below what the caller left there.
fn locals(
    applied: &Applied<'_, '_>,
    program: &Program,
    at: Address,
    (told, types): (&Function, &[TypeId]),
    parameters: &[usize],
) -> Vec<(String, TypeId, i64, u32)> {
    let frame = applied.frames.at(program, at);
    let mut names = HashSet::new();
    let mut found = Vec::new();
    for (index, variable) in told.variables.iter().enumerate() {
        let Variable { name, place, .. } = variable;
        let place = place.filter(|_| variable.parameter || !told.is_realigned());
        let place = place.and_then(|(register, offset)| frame.place(register, offset));
        let Some(offset) = place.filter(|offset| *offset < 0 && !name.is_empty()) else {
            continue;
        };
        let data_type = types[index];
        let Some(size) = program.types.length(data_type).filter(|size| *size > 0) else {
            continue;
        };
        let name = match parameters.contains(&index) {
            true => format!("{name}_local"),
            false => name.clone(),
        };
        found.push((unused(&mut names, name), data_type, offset, size));
    }
    found
}

fn apply(
    program: &mut Program,
    at: Address,
    prototype: &Prototype,
    names: &[String],
    locals: Vec<(String, TypeId, i64, u32)>,
) {
    let Prototype { returned, parameters, varargs, this, convention, .. } = prototype;
    let hidden = is_returned_by_pointer(program, *returned)
        .then(|| ("__return_storage_ptr__", program.types.pointer_to(*returned)));
    let automatic: Vec<(&str, TypeId)> =
        this.map(|this| ("this", this)).into_iter().chain(hidden).collect();
    let names = names.get(usize::from(this.is_some())..).unwrap_or_default();
    let written = parameters.iter().enumerate();
    let written = written.map(|(i, id)| (names.get(i).map_or("", String::as_str), *id));
    let written: Vec<(&str, TypeId)> = written.collect();
    let told = ToldFunction {
        returned: *returned,
        automatic,
        written,
        varargs: *varargs,
        convention: convention.clone(),
        variables: locals,
    };
    told.apply(program, at);
}
