//! C++ exceptions of Windows programs: what their descriptions are, what they refer to, and the
//! functions that handle an exception.

use crate::rtti::{file_offset, shuffle};
use crate::windows::{analysed, bytes};
use program::{Address, Program, SourceType};

const PASS: &str = "Windows x86 PE Exception Handling";

fn at(offset: u64) -> Address {
    Address::ram(offset)
}

/// Type, length and elements of the data at a place.
fn data(program: &Program, offset: u64) -> String {
    match program.listing.data.get(&at(offset)) {
        Some(unit) => format!("{} {}", program.types.name(unit.data_type), unit.length),
        None => "nothing".to_owned(),
    }
}

/// What a place refers to.
fn target(program: &Program, offset: u64) -> Option<u64> {
    program.references.from(at(offset)).next().map(|reference| reference.to.offset)
}

/// Addresses and names of the functions that handle exceptions.
fn handlers(program: &Program) -> Vec<String> {
    let named = |name: &str| name.starts_with("Unwind") || name.starts_with("Catch");
    let all = program.functions.iter().map(|f| (f.entry, program.function_name(f.entry)));
    let ours = all.filter(|(_, name)| named(name));
    ours.map(|(entry, name)| {
        let (_, symbol) = program.symbols.primary_at(entry).expect("a symbol");
        assert_eq!(symbol.source, SourceType::Analysis, "{name}");
        name
    })
    .collect()
}

#[test]
fn handlers_of_exceptions_become_functions() {
    let program = analysed(bytes("rescue.x64.exe"), None);
    let expected = [
        "Unwind@140001110",
        "Catch@140001140",
        "Catch@140001170",
        "Catch_All@1400011a0",
        "Unwind@1400011d0",
        "Unwind@140001230",
    ];
    assert_eq!(handlers(&program), expected);
    let program = analysed(bytes("rescue.x86.exe"), None);
    let expected = [
        "Unwind@00401150",
        "Catch@00401170",
        "Catch@00401190",
        "Catch_All@004011b0",
        "Unwind@004011d0",
        "Unwind@00401250",
    ];
    assert_eq!(handlers(&program), expected);
    assert!(program.functions.iter().all(|function| !function.body.is_empty()), "all have code");
    assert_eq!(handlers(&analysed(bytes("rescue.arm64.exe"), None)).len(), 6);
}

#[test]
fn descriptions_of_functions_that_catch_lead_to_their_maps() {
    let program = analysed(bytes("rescue.x64.exe"), Some(&[PASS]));
    assert_eq!(data(&program, 0x1400020ec), "FuncInfo 40");
    assert_eq!(data(&program, 0x1400021d0), "FuncInfo 40");
    assert_eq!(data(&program, 0x140002114), "UnwindMapEntry[4] 32");
    assert_eq!(data(&program, 0x1400021f8), "UnwindMapEntry 8");
    assert_eq!(data(&program, 0x140002134), "TryBlockMapEntry 20");
    assert_eq!(data(&program, 0x140002148), "HandlerType[3] 60");
    assert_eq!(data(&program, 0x140002184), "IPToStateMapEntry[6] 48");
    let refers = |place: u64| target(&program, place).map(|to| to - 0x1_4000_0000);
    assert_eq!(refers(0x1400020ec + 8), Some(0x2114), "its unwind map");
    assert_eq!(refers(0x1400020ec + 16), Some(0x2134), "its blocks");
    assert_eq!(refers(0x1400020ec + 24), Some(0x2184), "its places");
    assert_eq!(refers(0x1400020ec + 32), None, "it may let out everything");
    assert_eq!(refers(0x140002114 + 4), Some(0x11d0), "what destroys the first object");
    assert_eq!(refers(0x140002114 + 12), None);
    assert_eq!(refers(0x140002148 + 4), Some(0x3020), "the type that is caught");
    assert_eq!(refers(0x140002148 + 12), Some(0x1140), "the handler");
    assert_eq!(refers(0x140002184 + 8), Some(0x10e3), "the second place");
}

#[test]
fn descriptions_of_32_bit_programs_hold_addresses() {
    let program = analysed(bytes("rescue.x86.exe"), Some(&[PASS]));
    assert_eq!(data(&program, 0x402078), "FuncInfo 36");
    assert_eq!(data(&program, 0x40209c), "UnwindMapEntry[4] 32");
    assert_eq!(data(&program, 0x4020d0), "HandlerType[3] 48");
    assert_eq!(target(&program, 0x402078 + 8), Some(0x40209c));
    assert_eq!(target(&program, 0x4020d0 + 12), Some(0x401170));
    let action = program.types.at_path("/ehdata.h/functions/action");
    assert!(action.is_some(), "what destroys objects has a type");
}

#[test]
fn types_that_are_caught_are_described() {
    let program = analysed(bytes("rescue.x64.exe"), Some(&[PASS]));
    for (place, name) in [(0x140003000, 8), (0x140003020, 16)] {
        assert_eq!(data(&program, place), "TypeDescriptor 16");
        assert_eq!(data(&program, place + 16), format!("char[{name}] {name}"));
    }
    let (_, class) = program.symbols.primary_at(at(0x140003020)).expect("a class has a name");
    assert_eq!(&*class.name, "RTTI_Type_Descriptor");
    assert_eq!(program.symbols.path(class.parent).join("::"), "sea::Fault");
    assert!(program.symbols.primary_at(at(0x140003000)).is_none(), "int is no class");
}

#[test]
fn symbols_of_the_file_keep_their_names() {
    let mut program = loader::load(
        "program.exe",
        "",
        bytes("rescue.x64.exe").into(),
        &loader::LoadOptions::default(),
    )
    .expect("loads");
    let global = program::SymbolId::GLOBAL;
    program.add_label(at(0x140001140), "known", global, SourceType::Imported);
    let info = &program.info;
    let language = decompiler::Language::open(&info.language_id, &info.compiler_spec_id);
    let passes = [PASS.to_owned()];
    let language = language.expect("is built in");
    analysis::run(&mut program, &language, Some(&passes), &mut crate::image::Quiet).expect("runs");
    assert_eq!(program.function_name(at(0x140001140)), "known");
    assert_eq!(program.symbols.at(at(0x140001140)).count(), 1);
}

/// The 64-bit program with four bytes changed.
fn changed(place: u64, value: u32) -> Program {
    let mut bytes = bytes("rescue.x64.exe");
    let offset = file_offset(&bytes, place);
    bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    analysed(bytes, Some(&[PASS]))
}

#[test]
fn descriptions_that_do_not_hold_together_are_left_alone() {
    const FUNCTION: u64 = 0x1400020ec;
    let is_described = |place, value| data(&changed(place, value), FUNCTION) != "nothing";
    assert!(is_described(FUNCTION, 0xf993_0522), "three bits say something else");
    assert!(!is_described(FUNCTION, 0x1993_0523));
    for count in [16001, u32::MAX, 0x8000_0000, 0] {
        assert!(!is_described(FUNCTION + 4, count), "{count:x} states");
    }
    assert!(!is_described(FUNCTION + 8, 0), "a count without a map");
    assert!(!is_described(FUNCTION + 8, 0x1000), "a map in another block");
    assert!(!is_described(FUNCTION + 8, 0xffff_0000), "a map nowhere");
    // Counts that leave the block, and handlers that are none: only that map is left alone.
    let long = changed(FUNCTION + 4, 16000);
    assert_eq!(data(&long, FUNCTION), "FuncInfo 40");
    assert_eq!(data(&long, 0x140002114), "nothing");
    assert!(!handlers(&long).iter().any(|name| name == "Unwind@140001110"));
    let data_as_code = changed(0x140002148 + 12, 0x20ec);
    assert_eq!(data(&data_as_code, 0x140002148), "nothing");
    assert_eq!(handlers(&data_as_code).len(), 3, "of unwinding");
    // A type that is none is not described.
    let nameless = changed(0x140003030, 0);
    assert_eq!(data(&nameless, 0x140003020), "nothing");
}

#[test]
fn one_map_for_many_functions_is_read_once() {
    // Descriptions side by side, which all lead to the same map of many entries.
    let mut bytes = bytes("rescue.x64.exe");
    let start = file_offset(&bytes, 0x1400020ec);
    let function = bytes[start..start + 40].to_vec();
    for index in 0..4 {
        let at = start + 40 * index;
        bytes[at..at + 40].copy_from_slice(&function);
    }
    let program = analysed(bytes, Some(&[PASS]));
    assert_eq!(data(&program, 0x1400020ec), "FuncInfo 40");
}

#[test]
fn random_descriptions_of_exceptions_harm_nobody() {
    shuffle("rescue.x64.exe", 0x1400020ec, 0x50, PASS);
}
