//! Which compiler made a program, as far as the small DOS program at its start tells: that decides
//! about the compiler specification.

use super::file::PeFile;
use object::pe;
use program::DosStub;

/// Where Borland's linkers put the new header, by language.
const PASCAL_HEADER: u32 = 0x100;
const CPP_HEADER: u32 = 0x200;

/// Compilers with specifications of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    Clang,
    Gcc,
    Pascal,
    Cpp,
    Other,
}

/// The id of the compiler specification.
pub(super) fn specification(file: &PeFile) -> &'static str {
    match (file.machine, maker(file)) {
        (pe::IMAGE_FILE_MACHINE_I386 | pe::IMAGE_FILE_MACHINE_AMD64, Maker::Clang) => {
            "clangwindows"
        }
        (pe::IMAGE_FILE_MACHINE_I386, Maker::Pascal) => "borlanddelphi",
        (pe::IMAGE_FILE_MACHINE_I386, Maker::Cpp) => "borlandcpp",
        _ => "windows",
    }
}

/// Whether gcc made it, with symbols or without.
pub(super) fn is_gcc(file: &PeFile) -> bool {
    maker(file) == Maker::Gcc
}

fn maker(file: &PeFile) -> Maker {
    let is_managed = file.directory(pe::IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR).is_some();
    let Some(stub) = DosStub::read(&file.bytes).filter(|stub| !is_managed && !stub.has_tools())
    else {
        return Maker::Other;
    };
    match stub.header {
        PASCAL_HEADER if stub.speaks_as_borland() => return Maker::Pascal,
        CPP_HEADER if stub.speaks_as_borland() => return Maker::Cpp,
        _ => {}
    }
    if stub.is_by_clang() {
        return Maker::Clang;
    }
    if stub.is_by_borland() {
        return Maker::Cpp;
    }
    if !stub.is_plain() {
        return Maker::Other;
    }
    let has = |name: &str| file.sections.iter().any(|section| section.name == name);
    match (has("CODE"), has(".bss"), has(".idata") && has(".tls")) {
        (true, ..) => Maker::Pascal,
        (false, true, _) => Maker::Gcc,
        (false, false, true) => Maker::Cpp,
        _ => Maker::Other,
    }
}
