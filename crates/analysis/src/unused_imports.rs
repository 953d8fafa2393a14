//! Imports of Windows programs that are no functions as far as anybody sees: variables, and what the
//! linker brought in though nothing calls it.

use crate::pass::{Analysis, Stopped};
use program::{Address, Program, RefType, SpaceId};
use std::collections::HashSet;

/// Longest name of an import that is compared.
const LONGEST: usize = 4096;

/// Leaves those imports as places whose kind is not known, with their full names. Cost: linear in
/// the functions and in the references to imports.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let program = &mut *analysis.program;
    if !program.info.executable_format.contains("(PE)") {
        return Ok(());
    }
    let thunked: HashSet<Address> = program.functions.iter().filter_map(|f| f.thunk_of).collect();
    let imports = program.functions.iter().map(|f| f.entry);
    let unused: Vec<Address> = imports
        .filter(|at| at.space == SpaceId::EXTERNAL && !thunked.contains(at))
        .filter(|at| !program.references.to(*at).any(|r| r.info.kind.is_call()))
        .collect();
    for import in unused {
        leave(program, import);
    }
    Ok(())
}

/// Makes a plain place of an import, unless its mangled name tells that it is a function.
fn leave(program: &mut Program, import: Address) {
    let Some((symbol, name)) =
        program.symbols.primary_at(import).map(|(id, s)| (id, s.name.clone()))
    else {
        return;
    };
    let full = full_name(program, import);
    if full.as_deref().is_some_and(is_mangled_function) {
        return;
    }
    program.remove_function(import);
    let bits = program.info.address_bits;
    let is_decorated =
        |full: &String| demangler::plain(full, bits).is_some_and(|p| *p.name == *name);
    if let Some(full) = full.filter(is_decorated) {
        program.symbols.edit(symbol, |s| s.name = full.as_str().into());
    }
}

/// The name by which the file asks for an import: the slot leads to it until the system fills it.
fn full_name(program: &Program, import: Address) -> Option<String> {
    let mut slots = program.references.to(import).filter(|r| r.info.kind == RefType::Data);
    let slot = slots.find(|r| r.from.space == SpaceId::RAM)?.from;
    let hint = program.memory.read_uint(slot, 4)?;
    let place = Address::ram(program.info.image_base.checked_add(hint)?.checked_add(2)?);
    let text = program.memory.run(place);
    let text = text.get(..text.len().min(LONGEST))?.split(|byte| *byte == 0).next()?;
    String::from_utf8(text.to_vec()).ok().filter(|text| !text.is_empty())
}

fn is_mangled_function(name: &str) -> bool {
    demangler::demangled(name).is_some_and(|text| text.contains('('))
}
