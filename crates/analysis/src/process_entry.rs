//! The function that a new process starts at: nobody calls it, and its arguments lie where the
//! system puts them.

use decompiler::Language;
use program::{Address, Program};

/// The convention of such functions, where the compiler specification has one.
const CONVENTION: &str = "processEntry";
/// Where an ELF header names the entry.
const ENTRY_FIELD: u64 = 24;

/// Gives the entry of an ELF program its convention.
pub(crate) fn mark(program: &mut Program, language: &Language) {
    let known = language.calling_conventions().iter().any(|name| name == CONVENTION);
    // Code in another instruction set is entered through a stub of the system's.
    let entry = find(program).filter(|entry| known && program.mode_at(*entry) == 0);
    if let Some(entry) = entry {
        program.functions.edit(entry, |function| {
            if function.signature.convention.is_none() {
                function.signature.convention = Some(CONVENTION.into());
            }
        });
    }
}

/// The entry of an ELF program, as its header states it.
pub(crate) fn find(program: &Program) -> Option<Address> {
    if !program.info.executable_format.contains("ELF") {
        return None;
    }
    // Object files have code of their own where the header of a program would be.
    let base = Address::ram(program.info.image_base);
    if program.memory.read_array::<4>(base) != Some(*b"\x7fELF") {
        return None;
    }
    let field = program.info.image_base.checked_add(ENTRY_FIELD)?;
    program.references.from(Address::ram(field)).next().map(|reference| reference.to)
}
