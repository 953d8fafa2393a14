//! Which compiler made a program, as far as the small DOS program at its start tells: that decides
//! about the compiler specification.

use super::file::PeFile;
use object::pe;

/// Where the DOS program begins, and how much of it is looked at.
const CODE: usize = 0x40;
const LOOKED_AT: usize = 0x100;
/// What it usually does: print its message and end.
const USUAL: [u8; 14] =
    [0x0e, 0x1f, 0xba, 0x0e, 0x00, 0xb4, 0x09, 0xcd, 0x21, 0xb8, 0x01, 0x4c, 0xcd, 0x21];
/// How Borland's does the same.
const BORLAND: [u8; 16] = [
    0xba, 0x10, 0x00, 0x0e, 0x1f, 0xb4, 0x09, 0xcd, 0x21, 0xb8, 0x01, 0x4c, 0xcd, 0x21, 0x90, 0x90,
];
const MESSAGE: &[u8] = b"This program cannot be run in DOS mode.\r\r\n$";
const CLANG_MESSAGE: &[u8] = b"This program cannot be run in DOS mode.$";
const BORLAND_MESSAGE: &[u8] = b"This program must be run under Win32\r\n$";
/// Where linkers put the new header.
const USUAL_HEADER: u32 = 0x80;
const CLANG_HEADER: u32 = 0x78;
const PASCAL_HEADER: u32 = 0x100;
const CPP_HEADER: u32 = 0x200;
const FARTHEST_HEADER: u32 = 0x300;
/// Two words that are this apart begin the list of tools that Microsoft's linker leaves behind.
const TOOLS: u32 = 0x536e_6144;

/// Compilers with specifications of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    Clang,
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

fn maker(file: &PeFile) -> Maker {
    let header = file.signature;
    let is_managed = file.directory(pe::IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR).is_some();
    if is_managed || (header > USUAL_HEADER && has_tools(file)) || header > FARTHEST_HEADER {
        return Maker::Other;
    }
    let code = file.bytes.get(CODE..).unwrap_or_default();
    let code = code.get(..code.len().min(LOOKED_AT)).unwrap_or_default();
    let usual = code.starts_with(&USUAL);
    let message = code.windows(4).position(|text| text == b"This");
    let message = message.and_then(|at| code.get(at..)).unwrap_or_default();
    let by_borland = message.starts_with(BORLAND_MESSAGE);
    match header {
        PASCAL_HEADER if by_borland => return Maker::Pascal,
        CPP_HEADER if by_borland => return Maker::Cpp,
        _ => {}
    }
    if usual
        && !message.is_empty()
        && (header == CLANG_HEADER || message.starts_with(CLANG_MESSAGE))
    {
        return Maker::Clang;
    }
    let known = usual || code.starts_with(&BORLAND);
    let told = by_borland || message.starts_with(MESSAGE) || message.starts_with(CLANG_MESSAGE);
    if !known || !told {
        return Maker::Other;
    }
    if by_borland || code.starts_with(&BORLAND) {
        return Maker::Cpp;
    }
    let has = |name: &str| file.sections.iter().any(|section| section.name == name);
    match (has("CODE"), has(".bss"), has(".idata") && has(".tls")) {
        (true, ..) => Maker::Pascal,
        (false, false, true) => Maker::Cpp,
        _ => Maker::Other,
    }
}

fn has_tools(file: &PeFile) -> bool {
    let word = |at: usize| -> Option<u32> {
        let bytes = file.bytes.get(at..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*bytes))
    };
    let header = USUAL_HEADER as usize;
    let tools = word(header).zip(word(header + 4));
    tools.is_some_and(|(a, b)| a != 0 && b != 0 && a ^ b == TOOLS)
}
