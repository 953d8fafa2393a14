//! Windows type library: types of the Windows programming interface, and prototypes of imported
//! functions by library and name.

use std::collections::HashMap;
use std::sync::LazyLock;

use declarations::{Prototype, parse_prototype};
use program::data_type::DataTypes;
use program::{Address, Function, SourceType};

use crate::pass::{Analysis, Stopped};
use crate::prototypes::{apply, declare};

const TYPES: &str = include_str!("prototypes/windows.h");
const FUNCTIONS: &str = include_str!("prototypes/windows_functions.h");
/// A type that is there once all are.
const MARK: &str = "/windef.h/DWORD";

/// Bytes of a word on the stack of 32-bit programs.
const WORD: u32 = 4;

/// Functions of some libraries.
struct Group {
    convention: &'static str,
    /// How the names of the libraries begin, in lower case.
    libraries: Vec<&'static str>,
    /// Prototypes by name.
    prototypes: HashMap<String, String>,
}

static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
    let sections = FUNCTIONS.split("//@ ").skip(2).filter_map(|section| section.split_once('\n'));
    sections.map(|(head, lines)| group(head, lines)).collect()
});

fn group(head: &'static str, lines: &'static str) -> Group {
    let mut words = head.split_ascii_whitespace();
    let convention = words.next().unwrap_or_default();
    let mut prototypes = HashMap::new();
    for line in lines.lines().filter(|line| !line.is_empty() && !line.starts_with("//")) {
        for text in spellings(line) {
            let name = text.split('(').next().unwrap_or_default();
            let name = name.rsplit([' ', '*']).next().unwrap_or_default().to_owned();
            prototypes.insert(name, text);
        }
    }
    Group { convention, libraries: words.collect(), prototypes }
}

/// A declaration for each width of characters that it stands for.
fn spellings(line: &str) -> Vec<String> {
    let wide = |letter: &str, infix: &str, character: &str| {
        line.replace("LPCTSTR", &format!("LPC{infix}STR"))
            .replace("LPTSTR", &format!("LP{infix}STR"))
            .replace("TCHAR", character)
            .replace('@', letter)
    };
    match line.contains('@') {
        true => vec![wide("A", "", "CHAR"), wide("W", "W", "WCHAR")],
        false => vec![line.to_owned()],
    }
}

/// Makes the types of the Windows programming interface known to a program for Windows, without
/// counting them as used. Does nothing for other programs, or when they are known already.
pub fn offer_windows_types(types: &mut DataTypes) {
    let windows = types.organization().compiler.rules.is_windows();
    if !windows || types.at_path(MARK).is_some() {
        return;
    }
    let sections = TYPES.split("//@").skip(2).filter_map(|section| section.split_once('\n'));
    declare(types, sections);
}

/// Gives functions that a program for Windows imports from libraries of Windows their prototypes,
/// unless they have one already. Cost: linear in the imports.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let program = &mut *analysis.program;
    if !program.types.organization().compiler.rules.is_windows() {
        return Ok(());
    }
    let wanted: Vec<(Address, &'static str, &'static str)> = program
        .functions
        .iter()
        .filter(|f| is_open(f))
        .filter_map(|f| {
            let library = program.symbol_name(program.function_namespace(f.entry));
            let (text, convention) = known(&library, &program.function_name(f.entry))?;
            Some((f.entry, text, convention))
        })
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    offer_windows_types(&mut program.types);
    let conventions = analysis.language.calling_conventions();
    for (entry, text, convention) in wanted {
        match parse_prototype(text, &mut program.types) {
            Ok(mut prototype) => {
                // Only the caller can take away arguments that the function does not count.
                let own = if prototype.function.varargs { "__cdecl" } else { convention };
                let narrow = program.info.address_bits == 32;
                let has = narrow && conventions.iter().any(|known| known == own);
                prototype.function.convention = has.then(|| own.into());
                let purge = narrow.then(|| purge(&program.types, &prototype, own));
                apply(program, analysis.language, entry, &prototype);
                program.functions.edit(entry, |f| f.stack_purge = purge);
            }
            Err(error) => tracing::error!(%error, text, "built-in prototype"),
        }
    }
    Ok(())
}

/// The bytes that a 32-bit function takes off the stack, each argument in whole words.
fn purge(types: &DataTypes, prototype: &Prototype, convention: &str) -> i32 {
    if convention == "__cdecl" {
        return 0;
    }
    let words = |id| types.length(id).unwrap_or(WORD).div_ceil(WORD);
    let hidden = types.length(prototype.function.return_type).is_some_and(|n| n > 2 * WORD);
    let parameters = prototype.function.parameters.iter().map(|p| words(p.data_type));
    let words = parameters.fold(u32::from(hidden), u32::saturating_add);
    i32::try_from(words.saturating_mul(WORD)).unwrap_or(0)
}

/// Whether an import has no prototype yet.
fn is_open(function: &Function) -> bool {
    function.is_external() && function.signature.source == SourceType::Default
}

/// The prototype of a library's function and how it is called.
fn known(library: &str, name: &str) -> Option<(&'static str, &'static str)> {
    let library = library.to_ascii_lowercase();
    GROUPS
        .iter()
        .filter(|group| group.libraries.iter().any(|start| library.starts_with(start)))
        .find_map(|group| Some((group.prototypes.get(name)?.as_str(), group.convention)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::data_type::{DataOrganization, TypeKind};
    use program::{Program, ProgramInfo};

    fn types(bits: u32) -> DataTypes {
        let info = ProgramInfo {
            language_id: format!("x86:LE:{bits}:default"),
            compiler_spec_id: "windows".to_owned(),
            processor: "x86".to_owned(),
            address_bits: bits,
            ..ProgramInfo::default()
        };
        let sizes = DataOrganization {
            pointer: bits / 8,
            long: 4,
            wide_char: 2,
            long_double: 8,
            ..DataOrganization::default()
        };
        Program::new(info, false, sizes).types
    }

    #[test]
    fn types_of_windows_have_the_sizes_of_windows() {
        for (bits, sizes) in [
            (32, [4, 8, 8, 716, 80, 72, 68, 60, 472, 24, 592, 48, 16, 16, 20, 400, 28, 36, 28]),
            (
                64,
                [
                    8, 16, 16, 1232, 152, 136, 104, 112, 712, 40, 592, 80, 24, 16, 32, 408, 48, 48,
                    48,
                ],
            ),
        ] {
            let mut types = types(bits);
            let before = types.iter().filter(|(_, known)| known.used).count();
            offer_windows_types(&mut types);
            let after = types.iter().filter(|(_, known)| known.used).count();
            assert_eq!(before, after, "what is offered is not used yet");
            let names = [
                "HANDLE",
                "UNICODE_STRING",
                "LIST_ENTRY",
                "CONTEXT",
                "EXCEPTION_RECORD",
                "LDR_DATA_TABLE_ENTRY",
                "STARTUPINFOW",
                "SHELLEXECUTEINFOA",
                "PEB",
                "RTL_CRITICAL_SECTION",
                "WIN32_FIND_DATAW",
                "WNDCLASSEXW",
                "PROCESS_INFORMATION",
                "sockaddr_in",
                "OVERLAPPED",
                "WSADATA",
                "MEMORY_BASIC_INFORMATION",
                "SYSTEM_INFO",
                "MSG",
            ];
            for (name, size) in names.iter().zip(sizes) {
                let id = types.named(name).next().unwrap_or_else(|| panic!("no {name}"));
                assert_eq!(types.length(id), Some(size), "{name} of {bits} bits");
            }
        }
        let mut unix = DataTypes::new(DataOrganization::default());
        offer_windows_types(&mut unix);
        assert!(unix.named("DWORD").next().is_none());
    }

    #[test]
    fn every_prototype_of_windows_can_be_read() {
        for bits in [32, 64] {
            let mut types = types(bits);
            offer_windows_types(&mut types);
            let mut count = 0;
            for group in GROUPS.iter() {
                for (name, text) in &group.prototypes {
                    let prototype =
                        parse_prototype(text, &mut types).unwrap_or_else(|e| panic!("{text}: {e}"));
                    assert_eq!(prototype.name, *name);
                    count += 1;
                }
            }
            assert!(count > 1_000, "{count}");
            // Nothing was made up on the way.
            let opaque: Vec<String> = types
                .iter()
                .filter(|(_, t)| &*t.category == "/" && t.length.is_none())
                .filter(|(_, t)| matches!(t.kind, TypeKind::Struct { .. } | TypeKind::Union { .. }))
                .map(|(_, t)| t.path())
                .collect();
            assert!(opaque.is_empty(), "{opaque:?}");
        }
    }

    #[test]
    fn functions_are_known_by_library_and_name() {
        let (text, convention) = known("KERNEL32.DLL", "CreateFileW").unwrap();
        assert!(text.contains("LPCWSTR lpFileName"), "{text}");
        assert_eq!(convention, "__stdcall");
        assert_eq!(known("msvcrt.dll", "memcpy").unwrap().1, "__cdecl");
        assert_eq!(known("USER32.dll", "wsprintfA").unwrap().1, "__cdecl");
        assert!(known("mine.dll", "send").is_none(), "another library's function");
    }
}
