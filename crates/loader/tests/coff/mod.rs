//! COFF object files made by the test: sections, symbols, relocations, members of libraries.

use loader::{LoadError, LoadOptions, load};
use program::{Address, Program, SymbolKind};

const CODE: u32 = 0x6000_0020;
const DATA: u32 = 0xc000_0040;
const ZEROS: u32 = 0xc000_0080;
const AMD64: u16 = 0x8664;

/// A section: name, flags, bytes, relocations of (offset, symbol, kind).
type Section<'a> = (&'a str, u32, Vec<u8>, &'a [(u32, u32, u16)]);
/// A symbol: name, value, section, type, class.
type Symbol<'a> = (&'a str, u32, i16, u16, u8);

fn object(machine: u16, sections: &[Section], symbols: &[Symbol]) -> Vec<u8> {
    let (mut headers, mut data) = (Vec::new(), Vec::new());
    let start = 20 + 40 * sections.len();
    for (name, flags, bytes, relocations) in sections {
        let zeros = *flags == ZEROS;
        let at = if zeros { 0 } else { (start + data.len()) as u32 };
        data.extend(if zeros { &[] } else { bytes.as_slice() });
        let relocations_at = (start + data.len()) as u32;
        for (offset, symbol, kind) in *relocations {
            data.extend(offset.to_le_bytes());
            data.extend(symbol.to_le_bytes());
            data.extend(kind.to_le_bytes());
        }
        let mut short = name.as_bytes().to_vec();
        short.resize(8, 0);
        headers.extend(short);
        for value in [0, 0, bytes.len() as u32, at, relocations_at, 0] {
            headers.extend(u32::to_le_bytes(value));
        }
        headers.extend((relocations.len() as u16).to_le_bytes());
        headers.extend([0, 0]);
        headers.extend(flags.to_le_bytes());
    }
    let mut out = machine.to_le_bytes().to_vec();
    out.extend((sections.len() as u16).to_le_bytes());
    for value in [0u32, (start + data.len()) as u32, symbols.len() as u32, 0] {
        out.extend(value.to_le_bytes());
    }
    out.extend(headers);
    out.extend(data);
    for (name, value, section, kind, class) in symbols {
        let mut short = name.as_bytes().to_vec();
        short.resize(8, 0);
        out.extend(short);
        out.extend(value.to_le_bytes());
        out.extend(section.to_le_bytes());
        out.extend(kind.to_le_bytes());
        out.extend([*class, 0]);
    }
    out.extend(4u32.to_le_bytes());
    out
}

/// Calls `other` and takes the address of `number`, which points to `main`.
fn program_of(machine: u16, code: Vec<u8>, relocations: [&[(u32, u32, u16)]; 2]) -> Vec<u8> {
    let [text, data] = relocations;
    let sections = [
        (".text", CODE, code, text),
        (".data", DATA, vec![4, 0, 0, 0, 0, 0, 0, 0], data),
        (".bss", ZEROS, vec![0; 0x20], &[][..]),
        (".text", CODE, vec![0xc3; 8], &[]),
    ];
    let symbols = [
        ("main", 0, 1, 0x20, 2),
        ("number", 0, 2, 0, 2),
        ("other", 0, 0, 0x20, 2),
        ("second", 4, 4, 0x20, 3),
        ("@feat.00", 0x11, -1, 0, 3),
    ];
    object(machine, &sections, &symbols)
}

fn open(bytes: Vec<u8>) -> Program {
    load("test", "test", bytes.into(), &LoadOptions::default()).expect("it loads")
}

fn place(program: &Program, name: &str) -> u64 {
    let mut found = program.symbols.named(name).filter(|(_, s)| s.is_in_memory());
    found.next().expect("is named").1.address.offset
}

fn value(program: &Program, at: u64, size: u32) -> u64 {
    program.memory.read_uint(Address::ram(at), size).expect("bytes")
}

#[test]
fn sections_of_one_name_lie_together() {
    let program = open(program_of(AMD64, vec![0x90; 0x10], [&[], &[]]));
    assert_eq!(program.info.executable_format, "Common Object File Format (COFF)");
    assert_eq!(
        (&*program.info.language_id, &*program.info.compiler_spec_id),
        ("x86:LE:64:default", "gcc")
    );
    assert!(program.info.warnings.iter().any(|w| w.contains("x86:LE:64:default:windows")));
    let blocks: Vec<(&str, u64, u64, bool)> = program
        .memory
        .blocks()
        .iter()
        .map(|b| (&*b.name, b.start.offset, b.length, b.is_initialized()))
        .collect();
    let expected = [
        (".bss", 0x2000, 0x20, false),
        (".data", 0x2100, 8, true),
        (".text", 0x2200, 0x10, true),
        (".text", 0x2210, 8, true),
        ("EXTERNAL", 0x3218, 8, false),
    ];
    assert_eq!(blocks, expected);
    let text = program.memory.block_at(Address::ram(0x2200)).expect("code").permissions;
    assert!(text.execute && !text.write);
    assert_eq!((place(&program, "main"), place(&program, "second")), (0x2200, 0x2214));
    assert!(program.entry_points.contains_key(&Address::ram(0x2200)));
    assert!(!program.entry_points.contains_key(&Address::ram(0x2214)), "of this file alone");
}

#[test]
fn a_file_with_directives_is_of_microsofts_compilers() {
    let sections = [(".drectve", 0x10_0a00, b"/DEFAULTLIB:LIBCMT".to_vec(), &[][..])];
    let program = open(object(AMD64, &sections, &[]));
    assert_eq!(program.info.executable_format, "MS Common Object File Format (COFF)");
    assert_eq!(&*program.info.compiler_spec_id, "windows");
}

#[test]
fn calls_and_pointers_lead_to_their_symbols() {
    // call other; lea rax,[number]
    let code = vec![0xe8, 0, 0, 0, 0, 0x48, 0x8d, 0x05, 0, 0, 0, 0];
    let program = open(program_of(AMD64, code, [&[(1, 2, 4), (8, 1, 4)], &[(0, 0, 1)]]));
    let to = |at: u64| (at + 4).wrapping_add(value(&program, at, 4) as u32 as i32 as u64);
    assert_eq!(to(0x2201), place(&program, "other"));
    assert_eq!(to(0x2208), place(&program, "number"));
    assert_eq!(value(&program, 0x2100, 8), 0x2204, "main+4");
    let other = program.functions.at(Address::ram(place(&program, "other"))).expect("is called");
    assert_eq!(program.function_name(other.thunk_of.expect("is another file's")), "other");
    assert_eq!(program.symbols.named("number").next().expect("data").1.kind, SymbolKind::Label);
}

#[test]
fn aarch64_instructions_lead_to_their_symbols() {
    // bl other; adrp x0,number; add x0,x0,number; ldr x0,[x0,number+8]
    let code = [0x9400_0000u32, 0x9000_0000, 0x9100_0000, 0xf940_0400];
    let code = code.iter().flat_map(|code| code.to_le_bytes()).collect();
    let program =
        open(program_of(0xaa64, code, [&[(0, 2, 3), (4, 1, 4), (8, 1, 6), (12, 1, 7)], &[]]));
    let code = |n: u64| value(&program, 0x2200 + 4 * n, 4);
    assert_eq!(code(0), 0x9400_0000 | ((place(&program, "other") - 0x2200) / 4));
    assert_eq!(code(1), 0x9000_0000, "the same page");
    assert_eq!(code(2) >> 10 & 0xfff, 0x100);
    assert_eq!(code(3) >> 10 & 0xfff, 0x108 / 8);
}

#[test]
fn thumb_instructions_lead_to_their_symbols() {
    // bl other; movw r0,number+4; movt r0,number; b.w other; bne.w main
    let code = [0xf000, 0xd000, 0xf240, 0x0004, 0xf2c0, 0x0000, 0xf000, 0xb800, 0xf040, 0x8000];
    let code: Vec<u8> = code.iter().flat_map(|half: &u16| half.to_le_bytes()).collect();
    let text = [(0, 2, 0x14), (4, 1, 0x11), (12, 2, 0x14), (16, 0, 0x12)];
    let program = open(program_of(0x1c4, code, [&text, &[(4, 2, 0x0f)]]));
    let half = |n: u64| value(&program, 0x2200 + 2 * n, 2) as u32;
    assert_eq!(&*program.info.language_id, "ARM:LE:32:v8T");
    // Other files' symbols are less than 4 KiB and a page away.
    let far = |at: u64| (place(&program, "other") - (0x2200 + at + 4)) as u32;
    let branch = |at: u64, low: u32| (0xf000 | far(at) >> 12, low | far(at) >> 1 & 0x7ff);
    assert_eq!((half(0), half(1)), branch(0, 0xf800), "bl other");
    assert_eq!((half(6), half(7)), branch(12, 0xb800), "b.w other");
    assert_eq!((half(2), half(3)), (0xf242, 0x1004), "movw r0,2104h");
    assert_eq!((half(4), half(5)), (0xf2c0, 0), "movt r0,0");
    // Back by 14h: the sign, two copies of it, and the distance in halves.
    assert_eq!((half(8), half(9)), (0xf47f, 0xaff6), "bne.w main");
    let told = "1 of 5 relocations were not applied: 1 of type 15 at 00002104 for other";
    assert!(program.info.warnings.iter().any(|w| w.contains(told)), "{:?}", program.info.warnings);
}

#[test]
fn an_import_of_a_library_is_no_program() {
    // Machine, time, size of names, ordinal, kind.
    let mut bytes = vec![0, 0, 0xff, 0xff, 0, 0, 0x64, 0x86, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 4, 0];
    bytes.extend(b"open\0a.dll\0\0");
    let error = load("t", "t", bytes.into(), &LoadOptions::default()).expect_err("has no code");
    let LoadError::Malformed { format: "COFF", what } = error else { panic!("{error}") };
    assert!(what.contains("open") && what.contains("a.dll"), "{what}");
}

#[test]
fn huge_numbers_in_any_field_stay_harmless() {
    let good = program_of(AMD64, vec![0xe8; 16], [&[(1, 2, 4)], &[(0, 0, 1)]]);
    for at in 0..good.len() - 4 {
        for pattern in [0u32, 1, 0x7fff_ffff, u32::MAX] {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&pattern.to_le_bytes());
            if let Ok(program) = load("t", "t", bytes.into(), &LoadOptions::default()) {
                assert!(program.symbols.len() < 100, "at {at:#x} with {pattern:#x}");
                assert!(program.relocations.len() <= good.len());
            }
        }
    }
}

#[test]
fn texts_are_defined_by_the_names_that_compilers_give_them() {
    let long = ["??_C@_02DPKJAMEF@?$CFd?$AA@", "??_C@_15ACEOLGFP@?$AAh?$AAi?$AA?$AA@"];
    let sections = [(".rdata", 0x4000_0040, b"%d\0\0h\0i\0\0\0".to_vec(), &[][..])];
    let mut bytes = object(AMD64, &sections, &[("", 0, 1, 0, 2), ("", 4, 1, 0, 2)]);
    // Names of more than eight bytes stand behind the symbols.
    let table = bytes.len() - 4 - 2 * 18;
    let mut offset = 4u32;
    for (index, name) in long.iter().enumerate() {
        let at = table + 18 * index;
        bytes[at + 4..at + 8].copy_from_slice(&offset.to_le_bytes());
        bytes.extend(name.bytes().chain([0]));
        offset += name.len() as u32 + 1;
    }
    let strings = table + 2 * 18;
    bytes[strings..strings + 4].copy_from_slice(&offset.to_le_bytes());
    let program = open(bytes);
    let block = program.memory.block_named(".rdata").expect("a block").start;
    let shown = |offset: u64| {
        let at = block.checked_add(offset).expect("in memory");
        let unit = program.listing.data.get(&at).expect("data");
        let (_, symbol) = program.symbols.primary_at(at).expect("a symbol");
        (symbol.name.to_string(), program.types.name(unit.data_type).to_owned(), unit.length)
    };
    assert_eq!(shown(0), ("s_%d".to_owned(), "TerminatedCString".to_owned(), 3));
    assert_eq!(shown(4), ("u_hi".to_owned(), "TerminatedUnicode".to_owned(), 6));
}
