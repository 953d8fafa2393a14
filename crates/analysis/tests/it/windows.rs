//! Whole Windows programs and programs for firmware, of every processor: what they import and
//! export, and what runs before their entry.

use crate::image::Quiet;
use decompiler::Language;
use loader::LoadOptions;
use program::{Address, Program, SpaceId, SymbolKind};

/// The bytes of one of the Windows fixtures.
pub(crate) fn bytes(name: &str) -> Vec<u8> {
    let path = testkit::fixture(&format!("../windows/{name}"));
    std::fs::read(path).expect("the fixture can be read")
}

/// The analysed program; only by some passes if they are named.
pub(crate) fn analysed(bytes: Vec<u8>, passes: Option<&[&str]>) -> Program {
    let mut program =
        loader::load("program.exe", "", bytes.into(), &LoadOptions::default()).expect("loads");
    let info = &program.info;
    let language = Language::open(&info.language_id, &info.compiler_spec_id).expect("is built in");
    let passes: Option<Vec<String>> =
        passes.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    analysis::run(&mut program, &language, passes.as_deref(), &mut Quiet).expect("runs to its end");
    program
}

const PROCESSORS: [&str; 4] = ["x64", "x86", "arm64", "arm"];

/// Offset from the image base and name of every function of the program's own, with the library of
/// what it stands for.
fn functions(program: &Program) -> Vec<String> {
    let own = program.functions.iter().filter(|f| f.entry.space == SpaceId::RAM);
    own.map(|function| {
        let offset = function.entry.offset - program.info.image_base;
        let library = program.symbol_name(program.function_namespace(function.entry));
        let of = if function.thunk_of.is_some() { format!(" of {library}") } else { String::new() };
        format!("{offset:x} {}{of}", program.function_name(function.entry))
    })
    .collect()
}

/// The symbols of a place, the one shown first.
fn names(program: &Program, offset: u64) -> Vec<String> {
    let place = Address::ram(program.info.image_base + offset);
    let mut all: Vec<_> = program.symbols.at(place).map(|(_, s)| s.clone()).collect();
    all.sort_by_key(|symbol| !symbol.primary);
    all.into_iter().map(|symbol| symbol.name.to_string()).collect()
}

/// What a slot is bound to: a library and a name in it.
fn bound(program: &Program, offset: u64) -> String {
    let slot = Address::ram(program.info.image_base + offset);
    let to = program.references.from(slot).find(|r| r.to.space == SpaceId::EXTERNAL);
    let to = to.expect("a reference to another file").to;
    let (_, symbol) = program.symbols.primary_at(to).expect("a name");
    format!("{}::{}", program.symbol_name(symbol.parent), symbol.name)
}

/// Where a symbol is, from the image base.
fn place(program: &Program, name: &str) -> u64 {
    let (_, symbol) = program.symbols.named(name).next().expect(name);
    symbol.address.offset - program.info.image_base
}

/// What every program has, in the order of addresses; the names that the linker's map has for what
/// is nameless here are `__delayLoadHelper2`, `twice` and `thrice`. Thumb code of ARM's begins at
/// even addresses; there a piece that several jumps share is no function.
const LATCH: [(&str, [u64; 4], &str); 11] = [
    ("nameless", [0x1000, 0x1000, 0x1000, 0x1000], ""),
    ("tls_callback_0", [0x1010, 0x1010, 0x1008, 0x1004], ""),
    ("guard_check_icall", [0x1020, 0x1020, 0x1020, 0x1016], ""),
    ("nameless", [0x1030, 0x1030, 0x1024, 0x1018], ""),
    ("nameless", [0x1040, 0x1040, 0x102c, 0x101c], ""),
    ("entry", [0x1050, 0x1050, 0x1034, 0x1024], ""),
    ("close_latch", [0x10f0, 0x10e2, 0x10f4, 0x10d0], " of LATCH.DLL"),
    ("Ordinal_33", [0x1100, 0x10e8, 0x1100, 0x10e0], " of late.dll"),
    ("DelayLoad_Ordinal_33", [0x1106, 0x10ee, 0x110c, 0x10ec], ""),
    ("DelayLoad_show", [0x1112, 0x10f8, 0x1118, 0x10f8], ""),
    ("nameless", [0x111e, 0x1102, 0x1124, 0], ""),
];

#[test]
fn programs_of_every_processor_have_the_functions_that_their_tables_lead_to() {
    for (index, processor) in PROCESSORS.into_iter().enumerate() {
        let program = analysed(bytes(&format!("latch.{processor}.exe")), None);
        assert!(program.info.warnings.is_empty(), "{processor}: {:?}", program.info.warnings);
        let wide = program.info.address_bits == 64;
        let there = LATCH.iter().filter(|(_, places, _)| places[index] != 0);
        let expected: Vec<String> = there
            .map(|(name, places, of)| {
                let at = places[index];
                let name = match *name {
                    "nameless" if wide => format!("FUN_{:09x}", 0x1_4000_0000 + at),
                    "nameless" => format!("FUN_{:08x}", 0x40_0000 + at),
                    // C names of 32-bit programs bear an underscore, whichever the processor is.
                    "guard_check_icall" if wide => "_guard_check_icall".to_owned(),
                    name => name.to_owned(),
                };
                format!("{at:x} {name}{of}")
            })
            .collect();
        assert_eq!(functions(&program), expected, "{processor}");
        for name in ["entry", "tls_callback_0"] {
            let entered = Address::ram(program.info.image_base + place(&program, name));
            assert!(program.entry_points.contains_key(&entered), "{processor} {name}");
        }
    }
}

#[test]
fn slots_of_every_processor_are_bound_to_the_libraries_that_fill_them() {
    for processor in PROCESSORS {
        let program = analysed(bytes(&format!("latch.{processor}.exe")), Some(&[]));
        let from = |library: &str| {
            let bound = program.references.iter().filter(|r| r.to.space == SpaceId::EXTERNAL);
            let names = bound.filter_map(|r| program.symbols.primary_at(r.to).map(|(_, s)| s));
            let names = names.filter(|s| program.symbol_name(s.parent) == library);
            names.map(|s| s.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(from("LATCH.DLL"), ["close_latch", "latches", "Ordinal_5", "open_latch"]);
        assert_eq!(from("late.dll"), ["Ordinal_33", "show"], "{processor}");
    }
}

#[test]
fn libraries_of_every_processor_show_what_they_export() {
    for processor in PROCESSORS {
        let program = analysed(bytes(&format!("hatch.{processor}.dll")), None);
        let names: Vec<String> =
            program.functions.iter().map(|f| program.function_name(f.entry)).collect();
        let own = names.iter().filter(|name| *name != "Sleep" && *name != "#12");
        let own: Vec<&String> = own.collect();
        assert_eq!(own, ["add", "by_number", "Ordinal_9", "length", "entry"], "{processor}");
        let both = |name: &str| self::names(&program, place(&program, name));
        assert_eq!(both("by_number"), ["by_number", "Ordinal_7"], "{processor}");
        assert_eq!(both("Ordinal_9"), ["Ordinal_9"], "{processor}");
        assert_eq!(both("hatches"), ["hatches", "Ordinal_13"], "{processor}");
        let hatches = Address::ram(program.info.image_base + place(&program, "hatches"));
        assert!(program.entry_points.contains_key(&hatches), "{processor}");
        assert!(program.functions.at(hatches).is_none(), "{processor}: data");
    }
    let program = analysed(bytes("hatch.arm64.dll"), Some(&[]));
    let passed_on = |name: &str| bound(&program, place(&program, name));
    assert_eq!(passed_on("doze"), "KERNEL32.DLL::Sleep");
    assert_eq!(passed_on("other"), "OTHER.DLL::#12");
}

#[test]
fn programs_for_firmware_are_read_as_those_for_windows() {
    let ids = [
        ("x64", "x86:LE:64:default", "clangwindows"),
        ("x86", "x86:LE:32:default", "clangwindows"),
        ("arm64", "AARCH64:LE:64:v8A", "windows"),
        ("arm", "ARM:LE:32:v8T", "windows"),
    ];
    for (processor, language, compiler) in ids {
        let program = analysed(bytes(&format!("boot.{processor}.efi")), None);
        assert_eq!(program.info.language_id, language);
        assert_eq!(program.info.compiler_spec_id, compiler);
        assert_eq!(functions(&program).len(), 3, "{processor}");
        assert_eq!(names(&program, 0x1000), ["entry"], "{processor}");
        let cases = ["caseD_0", "caseD_5", "default"];
        let known = cases.map(|case| program.symbols.named(case).count());
        assert_eq!(known, [1; 3], "{processor}: a table of jumps");
        let texts = program.listing.data.iter().filter(|(_, unit)| {
            ["unicode", "TerminatedUnicode"].contains(&program.types.name(unit.data_type))
        });
        assert_eq!(texts.count(), 1, "{processor}: the greeting");
    }
}

#[test]
fn a_stub_of_thumb_code_that_jumps_through_a_slot_is_a_thunk() {
    let program = analysed(bytes("latch.arm.exe"), None);
    let stub = program.functions.at(Address::ram(0x4010d0)).expect("a function");
    let target = stub.thunk_of.expect("movw r12; movt r12; ldr.w pc,[r12]");
    assert_eq!(target.space, SpaceId::EXTERNAL);
    let (_, symbol) = program.symbols.primary_at(target).expect("a name");
    assert_eq!((&*symbol.name, symbol.kind), ("close_latch", SymbolKind::Function));
}

#[test]
fn thumb_code_moves_with_its_image() {
    let options = LoadOptions { base: Some(0x2000_0000), ..LoadOptions::default() };
    let moved = loader::load("moved.exe", "", bytes("latch.arm.exe").into(), &options);
    let moved = moved.expect("loads");
    let read = |at: u64| moved.memory.read_array::<8>(Address::ram(0x2000_0000 + at));
    // movw r12,215ch; movt r12,40h of the stub of `close_latch`, now 2000h.
    let stub = [0x42, 0xf2, 0x5c, 0x1c, 0xc2, 0xf2, 0x00, 0x0c];
    assert_eq!(read(0x10d0), Some(stub));
    assert!(moved.info.warnings.is_empty(), "{:?}", moved.info.warnings);
}
