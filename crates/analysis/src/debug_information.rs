//! What debug information of every kind is made into: signatures and variables of functions, and
//! members of structures.

mod data;
mod returned;
mod types;

pub(crate) use data::define_data;
pub(crate) use returned::Returned;
pub(crate) use types::{FunctionShape, alignment, member};

use program::{Address, LocalVariable, Parameter, Program, Signature, SourceType, Storage, TypeId};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// What is told of a function that the program has.
pub(crate) struct ToldFunction<'a> {
    pub(crate) returned: TypeId,
    /// Parameters that nobody wrote down, such as `this`, in order.
    pub(crate) automatic: Vec<(&'a str, TypeId)>,
    /// Those that follow them.
    pub(crate) written: Vec<(&'a str, TypeId)>,
    pub(crate) varargs: bool,
    pub(crate) convention: Option<Arc<str>>,
    /// Variables on the stack: name, type, offset from the stack pointer at entry, bytes.
    pub(crate) variables: Vec<(String, TypeId, i64, u32)>,
}

impl ToldFunction<'_> {
    /// Gives it to the function at an entry.
    pub(crate) fn apply(self, program: &mut Program, entry: Address) {
        let void = program.types.length(self.returned) == Some(0);
        program.functions.edit(entry, |f| {
            let automatic = self.automatic.iter().map(|p| (p, true, SourceType::Analysis));
            let written = self.written.iter().map(|p| (p, false, SourceType::Imported));
            let parameters = automatic
                .chain(written)
                .map(|((name, data_type), automatic, source)| Parameter {
                    name: (*name).into(),
                    data_type: *data_type,
                    storage: Storage::Unassigned,
                    source,
                    automatic,
                    id: f.new_variable_id(),
                })
                .collect();
            f.signature = Signature {
                return_type: self.returned,
                return_storage: if void { Storage::Void } else { Storage::Unassigned },
                parameters,
                varargs: self.varargs,
                convention: self.convention,
                custom_storage: false,
                source: SourceType::Imported,
            };
            let mut taken = BTreeMap::new();
            for (name, data_type, offset, size) in self.variables {
                if !takes(&mut taken, offset, size) {
                    continue;
                }
                let id = f.new_variable_id();
                f.locals.push(LocalVariable {
                    name: name.into(),
                    data_type,
                    storage: Storage::at(Address::stack(offset), size),
                    first_use: 0,
                    hash: 0,
                    source: SourceType::Imported,
                    type_locked: true,
                    id,
                });
            }
        });
    }
}

/// Whether a variable has a place of its own. Blocks may share the places of theirs: the first one
/// has it, as in Ghidra. `taken` has where places end, by where they begin.
fn takes(taken: &mut BTreeMap<i64, i64>, offset: i64, size: u32) -> bool {
    let end = offset.saturating_add(i64::from(size));
    let before = taken.range(..end).next_back();
    if before.is_some_and(|(_, last)| *last > offset) {
        return false;
    }
    taken.insert(offset, end);
    true
}

/// A name that no other variable of the function has.
pub(crate) fn unused(names: &mut HashSet<String>, name: String) -> String {
    let mut candidate = name.clone();
    let mut number = 0;
    while !names.insert(candidate.clone()) {
        number += 1;
        candidate = format!("{name}_{number}");
    }
    candidate
}

/// Whether a value comes back in memory that the caller provides.
pub(crate) fn is_returned_by_pointer(program: &Program, returned: TypeId) -> bool {
    use program::TypeKind::{Struct, Union};
    let types = &program.types;
    let kind = types.get(types.resolve(returned)).map(|t| &t.kind);
    if !matches!(kind, Some(Struct { .. } | Union { .. })) {
        return false;
    }
    let length = types.length(returned).unwrap_or(0);
    let pointer = types.organization().pointer;
    match program.info.compiler_spec_id.as_str() {
        "windows" | "clangwindows" => !matches!(length, 1 | 2 | 4 | 8),
        _ if pointer == 4 && program.info.language_id.starts_with("x86:") => true,
        _ => length > 2 * pointer,
    }
}

/// Tells of what is missing or damaged, once.
pub(crate) fn warn(program: &mut Program, warning: String) {
    if !program.info.warnings.contains(&warning) {
        program.warn(warning);
    }
}

#[cfg(test)]
mod tests {
    use super::takes;
    use std::collections::BTreeMap;

    #[test]
    fn variables_of_blocks_that_share_a_place_have_it_once() {
        let mut taken = BTreeMap::new();
        let each = [(-40, 32), (-40, 32), (-44, 8), (-8, 4), (-16, 16), (-48, 8), (-4, 4)];
        let found: Vec<bool> =
            each.into_iter().map(|(offset, size)| takes(&mut taken, offset, size)).collect();
        assert_eq!(found, [true, false, false, true, false, true, true]);
    }
}
