//! Mach-O files made by the test: blocks, names, imports, fixups, fat slices.

use loader::{LoadOptions, load};
use program::{Address, Program, SymbolKind};

const BASE: u64 = 0x1_0000_0000;

fn word(out: &mut Vec<u8>, value: u32) {
    out.extend(value.to_le_bytes());
}

fn long(out: &mut Vec<u8>, value: u64) {
    out.extend(value.to_le_bytes());
}

fn name(out: &mut Vec<u8>, text: &str) {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(16, 0);
    out.extend(bytes);
}

struct Part {
    section: &'static str,
    address: u64,
    size: u64,
    offset: u32,
    flags: u32,
    reserved: [u32; 2],
}

/// A segment command with its sections.
fn segment(
    title: &str,
    address: u64,
    offset: u64,
    size: u64,
    protection: u32,
    parts: &[Part],
) -> Vec<u8> {
    let mut out = Vec::new();
    word(&mut out, 0x19);
    word(&mut out, 72 + 80 * parts.len() as u32);
    name(&mut out, title);
    for value in [address, size, offset, size] {
        long(&mut out, value);
    }
    for value in [protection, protection, parts.len() as u32, 0] {
        word(&mut out, value);
    }
    for part in parts {
        name(&mut out, part.section);
        name(&mut out, title);
        long(&mut out, part.address);
        long(&mut out, part.size);
        for value in [part.offset, 4, 0, 0, part.flags, part.reserved[0], part.reserved[1], 0] {
            word(&mut out, value);
        }
    }
    out
}

fn symbol(name_at: u32, kind: u8, section: u8, description: u16, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    word(&mut out, name_at);
    out.extend([kind, section]);
    out.extend(description.to_le_bytes());
    long(&mut out, value);
    out
}

/// Code at 0x800, a stub at 0x840, its pointer at 0x1000, link data at 0x1100.
fn program_file(cpu: u32, chained: bool) -> Vec<u8> {
    let text = [
        Part {
            section: "__text",
            address: BASE + 0x800,
            size: 0x20,
            offset: 0x800,
            flags: 0x8000_0400,
            reserved: [0, 0],
        },
        Part {
            section: "__stubs",
            address: BASE + 0x840,
            size: 6,
            offset: 0x840,
            flags: 0x8000_0408,
            reserved: [0, 6],
        },
        Part {
            section: "__cstring",
            address: BASE + 0x900,
            size: 6,
            offset: 0x900,
            flags: 2,
            reserved: [0, 0],
        },
    ];
    let data = [Part {
        section: "__la_symbol_ptr",
        address: BASE + 0x1000,
        size: 8,
        offset: 0x1000,
        flags: 7,
        reserved: [1, 0],
    }];
    let mut link = Vec::new();
    link.extend(symbol(1, 0x0f, 1, 0, BASE + 0x800));
    link.extend(symbol(7, 0x01, 0, 0x100, 0));
    let strings_at = 0x1100 + link.len() as u32;
    link.extend(b"\0_main\0_puts\0");
    while link.len() % 8 != 0 {
        link.push(0);
    }
    let indirect_at = 0x1100 + link.len() as u32;
    word(&mut link, 1);
    word(&mut link, 1);
    let bind_at = 0x1100 + link.len() as u32;
    let program: Vec<u8> =
        [&[0x11, 0x40][..], b"_puts\0", &[0x51, 0x71, 0x00, 0x90, 0x00]].concat();
    link.extend(&program);
    while link.len() % 8 != 0 {
        link.push(0);
    }
    let starts_at = 0x1100 + link.len() as u32;
    link.extend([0x80, 0x10, 0x10, 0, 0, 0, 0, 0]);
    let fixups_at = 0x1100 + link.len() as u32;
    // Header, starts of two segments, one page, one import.
    for value in [0u32, 28, 60, 64, 1, 1, 0, 2, 0, 12] {
        word(&mut link, value);
    }
    for value in [24u32, 0x0006_1000, 0x1000, 0, 0, 0x0000_0001] {
        word(&mut link, value);
    }
    let import = link.len() - 4;
    link[import..].copy_from_slice(&[0, 0, 0, 0]);
    let header = fixups_at as usize - 0x1100;
    let fix = |link: &mut Vec<u8>, at: usize, value: u32| {
        link[header + at..header + at + 4].copy_from_slice(&value.to_le_bytes());
    };
    // page_count = 1, first page starts at 0; imports and names behind.
    let end = link.len() - header;
    fix(&mut link, 8, end as u32);
    fix(&mut link, 12, end as u32 + 4);
    let pages = 28 + 12 + 20;
    link[header + pages..header + pages + 4].copy_from_slice(&[1, 0, 0, 0]);
    word(&mut link, 1);
    link.extend(b"_puts\0\0\0");

    let mut commands = vec![
        segment("__TEXT", BASE, 0, 0x1000, 5, &text),
        segment("__DATA", BASE + 0x1000, 0x1000, 0x100, 3, &data),
        segment("__LINKEDIT", BASE + 0x2000, 0x1100, link.len() as u64, 1, &[]),
    ];
    let plain =
        |values: &[u32]| -> Vec<u8> { values.iter().flat_map(|v| v.to_le_bytes()).collect() };
    commands.push(plain(&[2, 24, 0x1100, 2, strings_at, 13]));
    let mut dynamic = vec![0u32; 20];
    dynamic[0] = 11;
    dynamic[1] = 80;
    dynamic[14] = indirect_at;
    dynamic[15] = 2;
    commands.push(plain(&dynamic));
    if chained {
        commands.push(plain(&[0x8000_0034, 16, fixups_at, link.len() as u32 - header as u32]));
    } else {
        commands.push(plain(&[
            0x8000_0022,
            48,
            0,
            0,
            bind_at,
            program.len() as u32,
            0,
            0,
            0,
            0,
            0,
            0,
        ]));
    }
    commands.push(plain(&[0x26, 16, starts_at, 8]));
    commands.push(plain(&[0x8000_0028, 24, 0x800, 0, 0, 0]));
    let mut library = plain(&[12, 48, 24, 0, 0, 0]);
    library.extend(b"/usr/lib/libSystem.dylib");
    commands.push(library);

    let size: usize = commands.iter().map(Vec::len).sum();
    let mut out = Vec::new();
    for value in [0xfeed_facf, cpu, 3, 2, commands.len() as u32, size as u32, 0x85, 0] {
        word(&mut out, value);
    }
    commands.iter().for_each(|c| out.extend(c));
    out.resize(0x800, 0);
    out.resize(0x900, 0x90);
    out.extend(b"hello\0");
    out.resize(0x1000, 0);
    if chained {
        // Bind to import 0, last of its chain.
        long(&mut out, 1 << 63);
    } else {
        long(&mut out, 0);
    }
    out.resize(0x1100, 0);
    out.extend(link);
    out
}

fn open(bytes: Vec<u8>) -> Program {
    load("test", "test", bytes.into(), &LoadOptions::default()).expect("it loads")
}

fn named(program: &Program, name: &str) -> Vec<(Address, SymbolKind)> {
    program.symbols.named(name).map(|(_, s)| (s.address, s.kind)).collect()
}

#[test]
fn blocks_are_sections_and_what_segments_have_besides() {
    let program = open(program_file(0x0100_0007, false));
    assert_eq!(program.info.language_id, "x86:LE:64:default");
    assert_eq!(program.info.image_base, BASE);
    let blocks: Vec<(String, u64, u64)> = program
        .memory
        .blocks()
        .iter()
        .map(|b| (b.name.to_string(), b.start.offset - BASE, b.length))
        .collect();
    // What is behind a section up to the next one stays with it, as in Ghidra.
    let expected = [
        ("__TEXT", 0, 0x800),
        ("__text", 0x800, 0x40),
        ("__stubs", 0x840, 0xc0),
        ("__cstring", 0x900, 0x700),
        ("__la_symbol_ptr", 0x1000, 8),
        ("__DATA", 0x1008, 0xf8),
    ];
    let expected: Vec<_> = expected.iter().map(|(n, a, l)| (n.to_string(), *a, *l)).collect();
    assert_eq!(blocks[..expected.len()], expected);
    let permissions = |name| program.memory.block_named(name).expect("is there").permissions;
    assert!(permissions("__text").execute && !permissions("__text").write);
    assert!(!permissions("__cstring").execute);
    let header = program.listing.data.get(&Address::ram(BASE)).expect("the header");
    assert_eq!((program.types.name(header.data_type), header.length), ("mach_header", 32));
    let commands = program.listing.data.iter().filter(|(at, _)| at.offset < BASE + 0x800);
    let commands = commands.map(|(_, unit)| program.types.name(unit.data_type).to_owned());
    let sections = commands.clone().filter(|name| name == "section").count();
    assert_eq!((sections, commands.filter(|name| name.ends_with("_command")).count()), (4, 9));
}

#[test]
fn imports_and_entries_are_named_and_bound_in_both_ways() {
    for chained in [false, true] {
        let program = open(program_file(0x0100_0007, chained));
        let main = Address::ram(BASE + 0x800);
        assert_eq!(named(&program, "_main"), [(main, SymbolKind::Label)]);
        assert_eq!(named(&program, "entry"), [(main, SymbolKind::Function)]);
        assert!(program.entry_points.contains_key(&main));
        // The pointer of a stub leads to it: it stands for the function.
        let stub = Address::ram(BASE + 0x840);
        assert_eq!(program.memory.read_uint(Address::ram(BASE + 0x1000), 8), Some(stub.offset));
        let function = program.functions.at(stub).expect("a thunk");
        assert_eq!(program.function_name(function.entry), "_puts");
        let library = program.function_namespace(function.thunk_of.expect("is one"));
        assert_eq!(program.symbol_name(library), "/usr/lib/libSystem.dylib");
        assert!(program.memory.block_named("EXTERNAL").is_none(), "nothing is left for it");
        assert!(program.listing.data.contains_key(&Address::ram(BASE + 0x900)), "the text");
        assert!(program.symbols.primary_at(Address::ram(BASE + 0x810)).is_some(), "a start");
        assert_eq!(program.relocations.len(), 1, "chained: {chained}");
    }
}

#[test]
fn programs_for_the_dynamic_linker_are_laid_out() {
    let program = open(program_file(0x0100_0007, false));
    let units = program.listing.data.iter().filter(|(at, _)| at.offset >= BASE + 0x2000);
    let laid: Vec<(&str, u32)> = units
        .map(|(_, unit)| (program.types.name(unit.data_type), unit.length))
        .skip_while(|(name, _)| *name != "bind_opcode")
        .take(8)
        .collect();
    // Library 1; the name; a pointer; segment 1 at 0; bind; done.
    let expected = [
        ("bind_opcode", 1),
        ("bind_opcode", 1),
        ("string", 6),
        ("bind_opcode", 1),
        ("bind_opcode", 1),
        ("uleb128", 1),
        ("bind_opcode", 1),
        ("bind_opcode", 1),
    ];
    assert_eq!(laid, expected);
    let titles = program.comments.iter().map(|(_, text)| text.to_string());
    assert!(titles.into_iter().any(|text| text.starts_with("LC_DYLD_INFO_ONLY (bind) - ")));
    assert_eq!(named(&program, "MACH_HEADER"), [(Address::ram(BASE), SymbolKind::Label)]);
}

#[test]
fn of_a_fat_file_the_wanted_slice_is_opened() {
    let slices = [
        (0x0100_0007u32, program_file(0x0100_0007, false)),
        (0x0100_000c, program_file(0x0100_000c, true)),
    ];
    let mut bytes = Vec::new();
    bytes.extend(0xcafe_babeu32.to_be_bytes());
    bytes.extend(2u32.to_be_bytes());
    let mut at = 0x1000u32;
    for (cpu, data) in &slices {
        for value in [*cpu, 3, at, data.len() as u32, 12] {
            bytes.extend(value.to_be_bytes());
        }
        at += 0x4000;
    }
    for (index, (_, data)) in slices.iter().enumerate() {
        bytes.resize(0x1000 + 0x4000 * index, 0);
        bytes.extend(data);
    }
    let language = |id: &str| {
        let options = LoadOptions { language: Some(id.to_owned()), ..LoadOptions::default() };
        load("fat", "fat", bytes.clone().into(), &options).expect("it loads").info
    };
    assert_eq!(language("x86:LE:64:default").processor, "x86");
    let info = language("AARCH64:LE:64:AppleSilicon");
    assert_eq!(info.processor, "AARCH64");
    assert!(info.warnings.iter().any(|w| w.contains("x86-64, AArch64")), "{:?}", info.warnings);
}

#[test]
fn huge_numbers_in_any_field_stay_harmless() {
    for chained in [false, true] {
        let good = program_file(0x0100_0007, chained);
        let ranges = (0..0x500usize).chain(0x1100..good.len() - 4).step_by(2);
        for at in ranges {
            for pattern in [0u32, 1, 0x7fff_ffff, u32::MAX] {
                let mut bytes = good.clone();
                bytes[at..at + 4].copy_from_slice(&pattern.to_le_bytes());
                if let Ok(program) = load("t", "t", bytes.into(), &LoadOptions::default()) {
                    assert!(program.symbols.len() < 3000, "at {at:#x} with {pattern:#x}");
                }
            }
        }
    }
}

const UNDEFINED: u8 = 0x01;
const DEFINED: u8 = 0x0f;

/// An object file: 16 bytes of code, 32 of data behind it, 8 more without bytes; relocations of
/// both, symbols `_f` in the code, `_d` in the data and `_g` elsewhere.
fn object_file(cpu: u32, code: &[u8], data: &[u8], relocations: [&[(u32, u32)]; 2]) -> Vec<u8> {
    let part = |section, address, size, offset, flags| Part {
        section,
        address,
        size,
        offset,
        flags,
        reserved: [0, 0],
    };
    let parts = [
        part("__text", 0, 16, 0x400, 0x8000_0400),
        part("__data", 16, 32, 0x410, 0),
        part("__bss", 48, 8, 0, 1),
    ];
    let mut command = segment("", 0, 0x400, 48, 7, &parts);
    command[32..40].copy_from_slice(&56u64.to_le_bytes());
    let mut tail = Vec::new();
    for (index, list) in relocations.iter().enumerate() {
        let at = 0x430 + tail.len() as u32;
        let header = 72 + 80 * index;
        command[header + 56..header + 60].copy_from_slice(&at.to_le_bytes());
        command[header + 60..header + 64].copy_from_slice(&(list.len() as u32).to_le_bytes());
        for (place, what) in *list {
            word(&mut tail, *place);
            word(&mut tail, *what);
        }
        // The segments that the sections will be in.
        let title: &[u8] = if index == 0 { b"__TEXT" } else { b"__DATA" };
        command[header + 16..header + 22].copy_from_slice(title);
    }
    let symbols_at = 0x430 + tail.len() as u32;
    tail.extend(symbol(1, DEFINED, 1, 0, 8));
    tail.extend(symbol(4, DEFINED, 2, 0, 16));
    tail.extend(symbol(7, UNDEFINED, 0, 0, 0));
    let strings_at = 0x430 + tail.len() as u32;
    tail.extend(b"\0_f\0_d\0_g\0");
    let mut out = Vec::new();
    for value in [0xfeed_facf, cpu, 3, 1, 2, command.len() as u32 + 24, 0, 0] {
        word(&mut out, value);
    }
    out.extend(&command);
    for value in [2, 24, symbols_at, 3, strings_at, 10] {
        word(&mut out, value);
    }
    out.resize(0x400, 0);
    out.extend(code);
    out.resize(0x410, 0);
    out.extend(data);
    out.resize(0x430, 0);
    out.extend(tail);
    out
}

/// The second word of a relocation.
fn relocation(symbol: u32, relative: bool, size_log: u32, external: bool, kind: u32) -> u32 {
    symbol | u32::from(relative) << 24 | size_log << 25 | u32::from(external) << 27 | kind << 28
}

fn value(program: &Program, at: u64, size: u32) -> u64 {
    program.memory.read_uint(Address::ram(at), size).expect("bytes")
}

fn named_at(program: &Program, name: &str) -> u64 {
    named(program, name).first().expect("is named").0.offset
}

#[test]
fn an_object_file_has_its_sections_and_a_header_apart() {
    let program = open(object_file(0x0100_0007, &[0xc3; 16], &[], [&[], &[]]));
    let blocks: Vec<(&str, u64, u64, bool)> = program
        .memory
        .blocks()
        .iter()
        .map(|b| (&*b.name, b.start.offset, b.length, b.is_initialized()))
        .collect();
    let expected = [
        ("__text", 0, 16, true),
        ("__data", 16, 32, true),
        ("__bss", 48, 8, false),
        ("EXTERNAL", 0x1000, 0x100, false),
        ("HEADER", 0, 0x400, true),
    ];
    assert_eq!(blocks, expected);
    let data = program.memory.block_named("__data").expect("data").permissions;
    assert!(data.write && !data.execute);
    assert!(!program.memory.block_named("__text").expect("code").permissions.write);
    assert_eq!(named(&program, "_f"), [(Address::ram(8), SymbolKind::Function)]);
}

#[test]
fn calls_and_pointers_of_an_object_file_lead_to_their_symbols() {
    // call _g; lea rax,[_d]   _d: pointer to _f+4; difference of _d and _f
    let code = [0xe8, 0, 0, 0, 0, 0x48, 0x8d, 0x05, 0, 0, 0, 0];
    let mut data = vec![0u8; 32];
    data[0] = 4;
    let text = [(1, relocation(2, true, 2, true, 2)), (8, relocation(1, true, 2, true, 1))];
    let rest = [
        (0, relocation(0, false, 3, true, 0)),
        (8, relocation(0, false, 2, true, 5)),
        (8, relocation(1, false, 2, true, 0)),
    ];
    for base in [0, 0x10_0000] {
        let bytes = object_file(0x0100_0007, &code, &data, [&text, &rest]);
        let options = LoadOptions { base: Some(base), ..LoadOptions::default() };
        let program = load("t", "t", bytes.into(), &options).expect("it loads");
        let to = |at: u64| at.wrapping_add(4).wrapping_add(value(&program, at, 4)) as u32;
        assert_eq!(to(base + 1), named_at(&program, "_g") as u32);
        assert_eq!(to(base + 8), named_at(&program, "_d") as u32);
        assert_eq!(value(&program, base + 16, 8), named_at(&program, "_f") + 4);
        assert_eq!(value(&program, base + 24, 4), 8);
        let stub = program.functions.at(Address::ram(named_at(&program, "_g")));
        let import = stub.and_then(|stub| stub.thunk_of).expect("what is called is a function");
        assert_eq!(program.function_name(import), "_g");
        assert_eq!(program.relocations.len(), 4);
        assert!(program.relocations.iter().all(|r| r.applied));
    }
}

#[test]
fn instructions_of_aarch64_objects_lead_to_their_symbols() {
    // bl _g; adrp x0,_d; ldr x0,[x0,_d+8]; add x0,x0,_d
    let code: Vec<u8> = [0x9400_0000u32, 0x9000_0000, 0xf940_0400, 0x9100_0000]
        .iter()
        .flat_map(|code| code.to_le_bytes())
        .collect();
    let text = [
        (0, relocation(2, true, 2, true, 2)),
        (4, relocation(1, true, 2, true, 3)),
        (8, relocation(1, false, 2, true, 4)),
        (12, relocation(5, false, 2, false, 10)),
        (12, relocation(1, false, 2, true, 4)),
    ];
    let bytes = object_file(0x0100_000c, &code, &[], [&text, &[]]);
    let options = LoadOptions { base: Some(0x7_0000), ..LoadOptions::default() };
    let program = load("t", "t", bytes.into(), &options).expect("it loads");
    let code = |n: u64| value(&program, 0x7_0000 + 4 * n, 4);
    let call = (named_at(&program, "_g") - 0x7_0000) / 4;
    assert_eq!(code(0), 0x9400_0000 | call);
    assert_eq!(code(1), 0x9000_0000, "the same page");
    assert_eq!(code(2) >> 10 & 0xfff, (0x10 + 8) / 8);
    assert_eq!(code(3) >> 10 & 0xfff, 0x10 + 5, "with the addend before it");
}

#[test]
fn what_is_exported_is_named_by_the_tree() {
    // `_x` at 0x810 stands in the tree alone; the symbol table keeps `_main` for itself.
    let mut bytes = program_file(0x0100_0007, false);
    let command = bytes.windows(8).position(|w| *w == [0x22, 0, 0, 0x80, 48, 0, 0, 0]);
    let command = command.expect("the command");
    let tree = [&[0u8, 1][..], b"_x\0", &[6], &[3, 0, 0x90, 0x10, 0]].concat();
    let at = bytes.len() as u32;
    bytes.extend(&tree);
    bytes[command + 40..command + 44].copy_from_slice(&at.to_le_bytes());
    bytes[command + 44..command + 48].copy_from_slice(&(tree.len() as u32).to_le_bytes());
    let program = open(bytes);
    let exported = Address::ram(BASE + 0x810);
    assert_eq!(named(&program, "_x"), [(exported, SymbolKind::Function)]);
    assert!(program.entry_points.contains_key(&exported));
    assert_eq!(named(&program, "_main"), []);
}

#[test]
fn a_thread_starts_where_its_registers_say() {
    let mut bytes = program_file(0x0100_0007, false);
    // In place of the command that gives an offset: registers of a 64-bit thread.
    let command = bytes.windows(8).position(|w| *w == [0x28, 0, 0, 0x80, 24, 0, 0, 0]);
    bytes[command.expect("the command")] = 0x99;
    let mut thread = Vec::new();
    for value in [5u32, 16 + 21 * 8, 4, 42] {
        word(&mut thread, value);
    }
    (0..21).for_each(|n| long(&mut thread, if n == 16 { BASE + 0x804 } else { 0 }));
    let size = u32::from_le_bytes(bytes[20..24].try_into().expect("four")) as usize;
    bytes[32 + size..32 + size + thread.len()].copy_from_slice(&thread);
    bytes[16] += 1;
    let program = open(bytes);
    assert_eq!(named(&program, "entry"), [(Address::ram(BASE + 0x804), SymbolKind::Function)]);
}

/// Entries of a table of relocations.
type Relocations<'a> = &'a [(u32, u32)];

/// A 32-bit file of one section, with relocations of that, or external and local ones of the file;
/// `_g` is elsewhere.
fn narrow_file(cpu: u32, start: u32, code: &[u8], lists: [Relocations; 3]) -> Vec<u8> {
    let size = code.len() as u32;
    let at = |number: usize| {
        let before: usize = lists.iter().take(number).map(|list| list.len()).sum();
        0x200 + size + 8 * before as u32
    };
    let count = |number: usize| lists[number].len() as u32;
    let kind = if start == 0 { 1 } else { 2 };
    let mut out = Vec::new();
    for value in [0xfeed_face, cpu, 9, kind, 3, 228, 0, 1, 124] {
        word(&mut out, value);
    }
    name(&mut out, "");
    for value in [start, size, 0x200, size, 7, 7, 1, 0] {
        word(&mut out, value);
    }
    name(&mut out, "__text");
    name(&mut out, "__TEXT");
    for value in [start, size, 0x200, 1, at(0), count(0), 0x8000_0400, 0, 0] {
        word(&mut out, value);
    }
    for value in [2, 24, at(3), 1, at(3) + 12, 4, 11, 80] {
        word(&mut out, value);
    }
    out.extend([0; 14 * 4]);
    for value in [at(1), count(1), at(2), count(2)] {
        word(&mut out, value);
    }
    out.resize(0x200, 0);
    out.extend(code);
    for (place, what) in lists.into_iter().flatten() {
        word(&mut out, *place);
        word(&mut out, *what);
    }
    for value in [1, u32::from(UNDEFINED), 0] {
        word(&mut out, value);
    }
    out.extend(b"\0_g\0");
    out
}

fn open_at(bytes: Vec<u8>, base: u64) -> Program {
    let options = LoadOptions { base: Some(base), ..LoadOptions::default() };
    load("t", "t", bytes.into(), &options).expect("it loads")
}

#[test]
fn calls_of_thumb_code_lead_to_their_symbols() {
    // bl to address 0 as the compiler leaves it.
    let call = [(0, relocation(0, true, 2, true, 6))];
    let program = open(narrow_file(12, 0, &[0xff, 0xf7, 0xfe, 0xff], [&call, &[], &[]]));
    assert_eq!(program.info.language_id, "ARM:LE:32:v8");
    assert_eq!(named_at(&program, "_g"), 0x1000);
    assert_eq!(value(&program, 0, 4), 0xfffe_f000, "bl 1000");
}

#[test]
fn halves_of_addresses_in_arm_code_lead_to_their_symbols() {
    // movw r0,_g+4; movt r0,_g+4, and the same in Thumb; a distance of two places.
    let code = [0xe300_0004u32, 0xe340_0000, 0x0004_f240, 0x0000_f2c0, 8];
    let code: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let half = |length| relocation(0, false, length, true, 8);
    let pair = |length| relocation(0xff_ffff, false, length, false, 1);
    let scattered = |kind: u32, at: u32| 0xa000_0000 | kind << 24 | at;
    let text = [
        (0, half(0)),
        (0, pair(0)),
        (4, half(1)),
        (4, pair(1)),
        (8, half(2)),
        (0, pair(2)),
        (12, half(3)),
        (4, pair(3)),
        (scattered(2, 16), 8),
        (scattered(1, 0), 0),
    ];
    let program = open_at(narrow_file(12, 0, &code, [&text, &[], &[]]), 0x12_0000);
    assert_eq!(named_at(&program, "_g"), 0x12_1000);
    let code = |n: u64| value(&program, 0x12_0000 + 4 * n, 4);
    assert_eq!((code(0), code(1)), (0xe301_0004, 0xe340_0012));
    assert_eq!((code(2), code(3)), (0x0004_f241, 0x0012_f2c0));
    assert_eq!(code(4), 8, "both ends move together");
    assert_eq!(program.relocations.len(), 5);
    assert!(program.relocations.iter().all(|r| r.applied));
}

#[test]
fn old_linked_files_have_relocations_of_their_own() {
    let data = [0x10, 0, 0, 0, 4, 0x10, 0, 0];
    let outside = [(0, relocation(0, false, 2, true, 0)), (4, relocation(0, false, 2, true, 5))];
    let inside = [(4, relocation(1, false, 2, false, 0))];
    let program = open_at(narrow_file(7, 0x1000, &data, [&[], &outside, &inside]), 0x3000);
    assert_eq!(value(&program, 0x3000, 4), named_at(&program, "_g") + 0x10);
    assert_eq!(value(&program, 0x3004, 4), 0x3004, "it moved with the file");
    let told = "1 of 3 relocations were not applied: 1 of type 5 at 00003004 for _g";
    assert!(program.info.warnings.iter().any(|w| w.contains(told)), "{:?}", program.info.warnings);
}

#[test]
fn many_commands_over_the_same_bytes_are_read_once_or_twice() {
    // Each segment has the whole file as texts, each symbol command the whole file as symbols.
    let size = 0x8000u64;
    let mut commands: Vec<Vec<u8>> = (0..100u64)
        .map(|n| {
            let address = 0x10_0000 * (n + 1);
            let part =
                Part { section: "__cstring", address, size, offset: 1, flags: 2, reserved: [0, 0] };
            segment(&format!("S{n}"), address, 0, size, 3, &[part])
        })
        .collect();
    let words =
        |values: &[u32]| -> Vec<u8> { values.iter().flat_map(|v| v.to_le_bytes()).collect() };
    for _ in 0..100 {
        commands.push(words(&[2, 24, 0x6000, 0x200, 0x6000, 0x2000]));
        commands.push(words(&[0x8000_0033, 16, 0x7000, 0x1000]));
    }
    let total: usize = commands.iter().map(Vec::len).sum();
    let mut out =
        words(&[0xfeed_facf, 0x0100_0007, 3, 2, commands.len() as u32, total as u32, 0, 0]);
    commands.iter().for_each(|command| out.extend(command));
    assert!(out.len() < 0x6000);
    out.resize(0x7000, b'a');
    out.resize(size as usize, 0);
    let program = open(out);
    assert!(program.memory.blocks().len() >= 100);
    let units = program.listing.data.len() as u64;
    assert!(units <= 3 * size, "{units} data units of {size} bytes");
    assert!(program.symbols.len() <= 0x400, "{}", program.symbols.len());
}
