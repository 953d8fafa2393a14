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
    let expected = [
        ("__TEXT", 0, 0x800),
        ("__text", 0x800, 0x20),
        ("__TEXT", 0x820, 0x20),
        ("__stubs", 0x840, 6),
        ("__TEXT", 0x846, 0xba),
        ("__cstring", 0x900, 6),
        ("__TEXT", 0x906, 0x6fa),
        ("__la_symbol_ptr", 0x1000, 8),
        ("__DATA", 0x1008, 0xf8),
    ];
    let expected: Vec<_> = expected.iter().map(|(n, a, l)| (n.to_string(), *a, *l)).collect();
    assert_eq!(blocks[..expected.len()], expected);
    assert!(blocks.iter().any(|b| b.0 == "EXTERNAL"));
    let text = program.memory.block_named("__text").expect("code");
    assert!(text.permissions.execute && !text.permissions.write);
}

#[test]
fn imports_and_entries_are_named_and_bound_in_both_ways() {
    for chained in [false, true] {
        let program = open(program_file(0x0100_0007, chained));
        let main = Address::ram(BASE + 0x800);
        assert_eq!(named(&program, "_main"), [(main, SymbolKind::Label)]);
        assert_eq!(named(&program, "entry"), [(main, SymbolKind::Function)]);
        assert!(program.entry_points.contains_key(&main));
        let slot = program.memory.read_uint(Address::ram(BASE + 0x1000), 8).expect("the slot");
        let function = program.functions.at(Address::ram(slot)).expect("a thunk");
        assert_eq!(program.function_name(function.entry), "_puts");
        let library = program.function_namespace(function.entry);
        assert_eq!(program.symbol_name(library), "/usr/lib/libSystem.dylib");
        let stub = program.symbols.primary_at(Address::ram(BASE + 0x840)).expect("a stub").1;
        assert_eq!((&*stub.name, stub.kind), ("_puts", SymbolKind::Function));
        assert!(program.listing.data.contains_key(&Address::ram(BASE + 0x900)), "the text");
        assert!(program.symbols.primary_at(Address::ram(BASE + 0x810)).is_some(), "a start");
        assert_eq!(program.relocations.len(), 1, "chained: {chained}");
    }
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
