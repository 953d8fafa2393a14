//! What mangled names tell of functions: their conventions, parameters, and that they are no thunks.

use crate::image::Image;
use program::{Address, AddressRange, Program, SourceType, Storage, SymbolId};

/// Jumps to 1010, which returns.
const PASSES_ON: [u8; 17] = [
    0xe9, 0x0b, 0, 0, 0, // 1000 jmp 1010
    0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, // 1005 nops
    0xc3, // 1010 ret
];

/// Two functions of these names, the first of which passes on to the second.
fn passing_on(language: &str, comment: &str, names: [&str; 2], code: &[u8]) -> Program {
    let mut image =
        Image::new(language, if language.starts_with("x86") { "gcc" } else { "default" });
    image.block(".text", 0x1000, code, true);
    image.block(".comment", 0x2000, comment.as_bytes(), false);
    for (at, name) in [0x1000, 0x1010].into_iter().zip(names) {
        let at = Address::ram(at);
        let symbol = image.program.add_label(at, name, SymbolId::GLOBAL, SourceType::Imported);
        image.program.symbols.make_primary(symbol);
        let body = AddressRange::with_length(at, 1).into_iter().collect();
        image.program.add_function(at, body);
        image.entry(at.offset);
    }
    demangler::apply(&mut image.program);
    image.analysed()
}

/// Whether a function is a thunk, how it is called and what it takes.
fn told(program: &Program, at: u64) -> (bool, String, Vec<String>) {
    let function = program.functions.at(Address::ram(at)).expect("a function");
    let signature = &function.signature;
    let convention = signature.convention.as_deref().unwrap_or("").to_owned();
    let parameter =
        |p: &program::Parameter| format!("{} {}", program.types.name(p.data_type), p.name);
    (function.thunk_of.is_some(), convention, signature.parameters.iter().map(parameter).collect())
}

#[test]
fn functions_with_mangled_names_are_no_thunks() {
    let program = passing_on("x86:LE:64:default", "GCC", ["_ZN1A1fEi", "plain"], &PASSES_ON);
    assert!(!told(&program, 0x1000).0, "its name says what it is");
    let program = passing_on("x86:LE:64:default", "GCC", ["passes", "plain"], &PASSES_ON);
    assert!(told(&program, 0x1000).0);
}

#[test]
fn functions_of_rust_are_called_its_way_on_every_processor() {
    let names = ["_RNvC6_123foo3bar", "plain"];
    let arm64 =
        [0x04, 0, 0, 0x14, 0x1f, 0x20, 0x03, 0xd5, 0x1f, 0x20, 0x03, 0xd5, 0x1f, 0x20, 0x03];
    let mut code = arm64.to_vec(); // b 1010; nop; nop; nop
    code.extend([0xd5, 0xc0, 0x03, 0x5f, 0xd6]); // ret
    let language = "AARCH64:LE:64:v8A";
    let program = passing_on(language, "rustc version 1.80.0\0", names, &code);
    assert_eq!(told(&program, 0x1000).1, "__rustcall");
    assert_eq!(told(&program, 0x1010).1, "");
    let program = passing_on(language, "GCC", names, &code);
    assert_eq!(told(&program, 0x1000).1, "", "only programs of Rust");
}

#[test]
fn one_parameter_of_unknown_size_leaves_the_others() {
    let names = ["_ZN1AC1EPKcN1B4KindEi", "plain"];
    let program = passing_on("x86:LE:64:default", "GCC", names, &PASSES_ON);
    let (_, convention, parameters) = told(&program, 0x1000);
    assert_eq!(convention, "__thiscall");
    assert_eq!(parameters, ["A * this", "char * ", "Kind ", "int "]);
    let function = program.functions.at(Address::ram(0x1000)).expect("a function");
    let places: Vec<bool> =
        function.signature.parameters.iter().map(|p| p.storage != Storage::Unassigned).collect();
    assert!(!places[2] && !places[3], "nobody can say where they pass");
}
