//! Decorated names of C functions in small Windows programs.

use crate::image::{Image, bytes};
use program::{Address, CommentKind, Program, SourceType, SymbolId, SymbolKind};

/// Functions with these names, each of which only returns, analysed.
fn analysed(language: (&str, &str), format: &str, names: &[&str]) -> Program {
    let mut image = Image::new(language.0, language.1);
    std::sync::Arc::make_mut(&mut image.program.info).executable_format = format.to_owned();
    let code: Vec<u8> = names.iter().flat_map(|_| bytes("31 c0 c3 cc cc cc cc cc")).collect();
    image.block(".text", 0x1000, &code, true);
    for (index, name) in names.iter().enumerate() {
        let at = 0x1000 + 8 * index as u64;
        let source = SourceType::Imported;
        image.program.add_label(Address::ram(at), name, SymbolId::GLOBAL, source);
        image.entry(at);
    }
    image.analysed()
}

const WINDOWS: (&str, &str) = ("x86:LE:32:default", "windows");

#[test]
fn functions_are_shown_under_their_plain_names() {
    let program = analysed(
        WINDOWS,
        "Portable Executable (PE)",
        &["_main", "_at_exit@8", "@mix@4", "___main"],
    );
    let shown = |at: u64| {
        let at = Address::ram(at);
        let function = program.functions.at(at).expect("a function");
        let others = program.symbols.at(at).filter(|(_, s)| s.kind == SymbolKind::Label);
        let others: Vec<String> = others.map(|(_, s)| s.name.to_string()).collect();
        let comment = program.comments.get(&(at, CommentKind::Plate));
        (
            program.function_name(at),
            function.signature.convention.as_deref().unwrap_or("").to_owned(),
            others.join(" "),
            comment.map_or("", |text| text).to_owned(),
        )
    };
    let expect = |name: &str, convention: &str, label: &str, comment: &str| {
        (name.to_owned(), convention.to_owned(), label.to_owned(), comment.to_owned())
    };
    assert_eq!(shown(0x1000), expect("main", "__cdecl", "_main", "main"));
    let text = "__stdcall at_exit,8";
    assert_eq!(shown(0x1008), expect("at_exit", "__stdcall", "_at_exit@8", text));
    assert_eq!(shown(0x1010), expect("mix", "__fastcall", "@mix@4", "__fastcall mix,4"));
    assert_eq!(shown(0x1018).0, "___main", "the compiler's own");
}

#[test]
fn names_of_other_programs_stay() {
    for (language, format) in [
        (("x86:LE:64:default", "windows"), "Portable Executable (PE)"),
        (("x86:LE:32:default", "gcc"), "Executable and Linking Format (ELF)"),
    ] {
        let program = analysed(language, format, &["_main"]);
        assert_eq!(program.function_name(Address::ram(0x1000)), "_main");
    }
}

#[test]
fn a_stub_with_a_name_of_its_own_is_a_function_of_its_own() {
    let mut image = Image::new(WINDOWS.0, WINDOWS.1);
    std::sync::Arc::make_mut(&mut image.program.info).executable_format =
        "Portable Executable (PE)".to_owned();
    image.block(
        ".text",
        0x1000,
        &bytes("e9 0b 00 00 00 90 90 90 e9 03 00 00 00 90 90 90 31 c0 c3"),
        true,
    );
    for (at, name) in [(0x1000, "_stub"), (0x1008, "plain_stub")] {
        image.program.add_label(Address::ram(at), name, SymbolId::GLOBAL, SourceType::Imported);
        image.entry(at);
    }
    image.entry(0x1010);
    let program = image.analysed();
    let thunk = |at: u64| program.functions.at(Address::ram(at)).expect("a function").thunk_of;
    assert_eq!(program.function_name(Address::ram(0x1000)), "stub");
    assert_eq!(thunk(0x1000), None);
    assert_eq!(thunk(0x1008), Some(Address::ram(0x1010)));
}
