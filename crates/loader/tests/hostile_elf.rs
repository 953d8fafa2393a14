//! Broken and odd ELF files: what the processor would run is loaded, the rest
//! is a warning.

mod make;

use loader::{LoadError, LoadOptions, load};
use make::{Elf, Section, Segment};
use program::{Address, Program, SymbolKind};

const X86_64: u16 = 62;
const AARCH64: u16 = 183;
const I386: u16 = 3;
const ARM: u16 = 40;

const EXEC: u16 = 2;
const DYN: u16 = 3;
const REL: u16 = 1;

fn open(bytes: Vec<u8>) -> Program {
    load("test", "test", bytes.into(), &LoadOptions::default()).expect("it loads")
}

fn code_segment(elf: &Elf, address: u64) -> Segment {
    let (offset, size) = (0, elf.body_offset() + 0x100);
    Segment { kind: 1, flags: 5, offset, address, file_size: size, memory_size: size }
}

/// A program of one segment with 0x100 bytes of code.
fn one_segment() -> Elf {
    let mut elf = Elf::new(true, EXEC, X86_64);
    elf.segments.push(Segment::default());
    elf.segments[0] = code_segment(&elf, 0x40_0000);
    elf.body = vec![0xc3; 0x100];
    elf.entry = 0x40_0000 + elf.body_offset();
    elf
}

fn text(address: u64, data: Vec<u8>) -> Section {
    Section { name: ".text", kind: 1, flags: 6, address, data, align: 16, ..Section::default() }
}

fn executable_at(program: &Program, address: u64) -> bool {
    program.memory.block_at(Address::ram(address)).is_some_and(|b| b.permissions.execute)
}

fn name_at(program: &Program, address: Address) -> String {
    program.symbols.primary_at(address).map_or(String::new(), |(id, _)| program.symbol_name(id))
}

#[test]
fn a_file_without_sections_runs_from_its_segments() {
    let elf = one_segment();
    let program = open(elf.build());
    assert!(executable_at(&program, elf.entry));
    assert_eq!(name_at(&program, Address::ram(elf.entry)), "entry");
    assert_eq!(program.info.image_base, 0x40_0000);
}

#[test]
fn a_section_table_outside_of_the_file_is_only_a_warning() {
    let elf = one_segment();
    let mut bytes = elf.build();
    bytes[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
    bytes[60] = 9;
    let program = open(bytes);
    assert!(executable_at(&program, elf.entry));
    assert!(program.info.warnings.iter().any(|w| w.contains("section header")));
}

#[test]
fn wrong_section_counts_and_names_are_survived() {
    let mut elf = one_segment();
    elf.sections.push(text(elf.entry, vec![0xc3; 16]));
    let good = elf.build();
    for (count, names) in [(0xffffu16, 2u16), (3, 0xfffe), (1, 0), (0xfff0, 0xffff)] {
        let mut bytes = good.clone();
        bytes[60..62].copy_from_slice(&count.to_le_bytes());
        bytes[62..64].copy_from_slice(&names.to_le_bytes());
        let program = open(bytes);
        assert!(executable_at(&program, elf.entry), "{count} {names}");
    }
}

#[test]
fn code_without_an_executable_section_stays_executable() {
    let mut elf = one_segment();
    elf.sections.push(Section {
        name: ".comment",
        kind: 1,
        data: b"made by hand\0".to_vec(),
        ..Section::default()
    });
    let program = open(elf.build());
    assert!(executable_at(&program, elf.entry));
}

#[test]
fn bss_needs_no_bytes_of_the_file() {
    let mut elf = one_segment();
    elf.sections.push(text(elf.entry, vec![0xc3; 16]));
    let bss = Section { name: ".bss", kind: 8, flags: 3, address: 0x50_0000, ..Section::default() };
    elf.sections.push(Section { size: Some(0x2000), ..bss });
    let mut bytes = elf.build();
    // Its file offset lies behind the end.
    let at = bytes.len() - 2 * 64 + 24;
    bytes[at..at + 8].copy_from_slice(&0x7fff_ffff_0000u64.to_le_bytes());
    let program = open(bytes);
    let block = program.memory.block_named(".bss").expect("a block");
    assert_eq!((block.length, block.is_initialized()), (0x2000, false));
}

#[test]
fn overlapping_segments_both_load() {
    let mut elf = one_segment();
    let first = elf.segments[0];
    elf.segments.push(Segment { address: first.address + 0x20, ..first });
    elf.body = vec![0xc3; 0x200];
    let program = open(elf.build());
    assert!(program.memory.contains(Address::ram(0x40_0000)));
    assert!(program.memory.blocks().iter().all(|b| b.length <= 0x400));
}

#[test]
fn empty_and_cut_files_say_what_is_missing() {
    let error = |bytes: Vec<u8>| {
        load("t", "t", bytes.into(), &LoadOptions::default()).expect_err("it is broken")
    };
    assert_eq!(error(Vec::new()), LoadError::Empty);
    let whole = one_segment().build();
    assert!(matches!(error(whole[..20].to_vec()), LoadError::Truncated { have: 20, .. }));
    assert!(matches!(error(whole[..5].to_vec()), LoadError::Truncated { .. }));
    let mut machine = whole.clone();
    machine[18..20].copy_from_slice(&22u16.to_le_bytes());
    let text = error(machine).to_string();
    assert!(text.contains("S/390") && text.contains("x86-64"), "{text}");
    assert!(matches!(error(b"\x00\x01\x02".to_vec()), LoadError::UnknownFormat { .. }));
    for length in 64..whole.len() {
        // Whatever is left is loaded or refused, never a panic.
        let _ = load("t", "t", whole[..length].to_vec().into(), &LoadOptions::default());
    }
}

/// A dynamic i386 file with two imports in its jump slots.
#[test]
fn jump_slots_name_their_own_imports() {
    let mut elf = Elf::new(false, DYN, I386);
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    symbols.extend(elf.symbol(1, 0, 0, 0x12, 0));
    symbols.extend(elf.symbol(6, 0, 0, 0x12, 0));
    let mut relocs = elf.reloc(0x3000, 2, 7, None);
    relocs.extend(elf.reloc(0x3004, 1, 7, None));
    elf.segments.push(Segment {
        kind: 1,
        flags: 6,
        offset: 0,
        address: 0x1000,
        file_size: 0x10,
        memory_size: 0x10,
    });
    let section = |name, kind, flags, address, data: Vec<u8>, link, entry_size| Section {
        name,
        kind,
        flags,
        address,
        data,
        link,
        entry_size,
        ..Section::default()
    };
    elf.sections = vec![
        section(".dynstr", 3, 2, 0x1100, b"\0puts\0exit\0".to_vec(), 0, 0),
        section(".dynsym", 11, 2, 0x1200, symbols, 1, 16),
        section(".rel.plt", 9, 2, 0x1300, relocs, 2, 8),
        section(".got.plt", 1, 3, 0x3000, vec![0; 8], 0, 0),
    ];
    let program = open(elf.build());
    let slot = |at: u64| {
        let value = program.memory.read_uint(Address::ram(at), 4).expect("bytes");
        program.function_name(Address::ram(value))
    };
    let base = program.info.image_base - 0x1000 + 0x1000;
    let moved = |address: u64| address.wrapping_sub(0x1000).wrapping_add(base);
    assert_eq!((slot(moved(0x3000)), slot(moved(0x3004))), ("exit".into(), "puts".into()));
    assert_eq!(program.relocations.len(), 2);
}

/// An object file with one code section, one symbol and one relocation.
fn object(
    machine: u16,
    wide: bool,
    code: Vec<u8>,
    reloc: (u32, Option<i64>),
    value: u64,
) -> Program {
    let mut elf = Elf::new(wide, REL, machine);
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    symbols.extend(elf.symbol(1, value, 0, 0x10, 2));
    let relocs = elf.reloc(0, 1, reloc.0, reloc.1);
    let kind = if reloc.1.is_some() { 4 } else { 9 };
    elf.sections = vec![
        text(0, code),
        Section {
            name: ".data",
            kind: 1,
            flags: 3,
            data: vec![0; 0x100],
            align: 0x100,
            ..Section::default()
        },
        Section { name: ".rel", kind, data: relocs, link: 4, info: 1, ..Section::default() },
        Section { name: ".symtab", kind: 2, data: symbols, link: 5, ..Section::default() },
        Section { name: ".strtab", kind: 3, data: b"\0thing\0".to_vec(), ..Section::default() },
    ];
    open(elf.build())
}

fn code_of(program: &Program, length: usize) -> (u64, Vec<u8>) {
    let block = program.memory.block_named(".text").expect("code");
    let mut bytes = vec![0; length];
    program.memory.read(block.start, &mut bytes).expect("bytes");
    (block.start.offset, bytes)
}

fn thing(program: &Program) -> u64 {
    program.symbols.named("thing").next().expect("the symbol").1.address.offset
}

#[test]
fn a_call_in_an_object_file_is_four_bytes() {
    let program =
        object(X86_64, true, vec![0, 0, 0, 0, 0x11, 0x22, 0x33, 0x44], (4, Some(-4)), 0x10);
    let (start, bytes) = code_of(&program, 8);
    let distance = i32::from_le_bytes(bytes[..4].try_into().expect("four"));
    assert_eq!(start as i64 + i64::from(distance) + 4, thing(&program) as i64);
    assert_eq!(bytes[4..], [0x11, 0x22, 0x33, 0x44]);
}

#[test]
fn aarch64_move_wide_takes_each_part() {
    let kinds = [(263u32, 0), (264, 0), (265, 16), (266, 16), (267, 32), (268, 32), (269, 48)];
    for (kind, shift) in kinds {
        // movz x0, #0
        let code = 0xd280_0000u32.to_le_bytes().to_vec();
        let program = object(AARCH64, true, code, (kind, Some(0x1234_5678_9abc_0000)), 0x24);
        let value = thing(&program).wrapping_add(0x1234_5678_9abc_0000);
        let (_, bytes) = code_of(&program, 4);
        let code = u32::from_le_bytes(bytes.try_into().expect("four"));
        assert_eq!(u64::from(code >> 5 & 0xffff), value >> shift & 0xffff, "{kind}");
        assert_eq!(code & 0xffe0_001f, 0xd280_0000);
    }
}

#[test]
fn arm_words_and_halves_are_patched() {
    for kind in [2u32, 38] {
        let program = object(ARM, false, 5u32.to_le_bytes().to_vec(), (kind, None), 0x20);
        let (_, bytes) = code_of(&program, 4);
        let value = u32::from_le_bytes(bytes.try_into().expect("four"));
        assert_eq!(u64::from(value), thing(&program) + 5, "{kind}");
    }
    // The second target: a distance, where data describes what it throws.
    let program = object(ARM, false, 5u32.to_le_bytes().to_vec(), (41, None), 0x20);
    let (start, bytes) = code_of(&program, 4);
    let value = u32::from_le_bytes(bytes.try_into().expect("four"));
    assert_eq!(start + u64::from(value), thing(&program) + 5);
    for (kind, code, shift) in [(43u32, 0xe300_0000u32, 0), (44, 0xe340_0000, 16)] {
        let program = object(ARM, false, code.to_le_bytes().to_vec(), (kind, None), 0x20);
        let (_, bytes) = code_of(&program, 4);
        let code = u32::from_le_bytes(bytes.try_into().expect("four"));
        let value = (code >> 4 & 0xf000) | (code & 0xfff);
        assert_eq!(u64::from(value), thing(&program) >> shift & 0xffff, "{kind}");
    }
}

#[test]
fn an_init_array_is_moved_once() {
    let mut elf = one_segment();
    elf.kind = DYN;
    elf.entry -= 0x40_0000;
    let size = elf.segments[0].file_size;
    elf.segments[0] = Segment { address: 0, flags: 7, ..elf.segments[0] };
    let array = size - 16;
    let at = (array - elf.body_offset()) as usize;
    elf.body[at..at + 8].copy_from_slice(&elf.entry.to_le_bytes());
    let relocs = elf.reloc(array, 0, 8, Some(elf.entry as i64));
    let reloc = Section { name: ".rela.dyn", kind: 4, data: relocs, ..Section::default() };
    elf.sections.push(reloc);
    let options = LoadOptions { base: Some(0x70_0000), ..LoadOptions::default() };
    let program = load("t", "t", elf.build().into(), &options).expect("it loads");
    let value = program.memory.read_uint(Address::ram(0x70_0000 + array), 8);
    assert_eq!(value, Some(0x70_0000 + elf.entry));
}

/// The words themselves hold what is added, and both the dynamic section and a section header lead
/// to the same relocation.
#[test]
fn an_init_array_whose_relocation_is_found_twice_is_moved_once() {
    let mut elf = Elf::new(false, DYN, I386);
    elf.segments = vec![Segment::default(); 2];
    elf.body = vec![0xc3; 0x100];
    let start = elf.body_offset();
    let array = start + 0x80;
    let mut body = elf.body.clone();
    body[0x80..0x84].copy_from_slice(&(start as u32).to_le_bytes());
    body[0xa0..0xa8].copy_from_slice(&elf.reloc(array, 0, 8, None));
    let mut dynamic = Vec::new();
    for (tag, value) in [(17u64, start + 0xa0), (18, 8), (19, 8), (25, array), (27, 4), (0, 0)] {
        elf.long(&mut dynamic, tag);
        elf.long(&mut dynamic, value);
    }
    body[0xb0..0xb0 + dynamic.len()].copy_from_slice(&dynamic);
    elf.body = body;
    let size = start + 0x100;
    elf.segments[0] =
        Segment { kind: 1, flags: 7, file_size: size, memory_size: size, ..Segment::default() };
    elf.segments[1] = Segment {
        kind: 2,
        flags: 6,
        offset: start + 0xb0,
        address: start + 0xb0,
        file_size: dynamic.len() as u64,
        memory_size: dynamic.len() as u64,
    };
    elf.sections = vec![
        Section {
            name: ".init_array",
            kind: 14,
            flags: 3,
            address: array,
            data: (start as u32).to_le_bytes().to_vec(),
            ..Section::default()
        },
        Section {
            name: ".rel.dyn",
            kind: 9,
            flags: 2,
            address: start + 0xa0,
            data: elf.reloc(array, 0, 8, None),
            entry_size: 8,
            ..Section::default()
        },
    ];
    let base = 0x70_0000;
    let options = LoadOptions { base: Some(base), ..LoadOptions::default() };
    let program = load("t", "t", elf.build().into(), &options).expect("it loads");
    let moved = Address::ram(base + array);
    assert_eq!(program.memory.read_uint(moved, 4), Some(base + start));
    assert_eq!(program.relocations.iter().filter(|r| r.address == moved).count(), 1);
}

#[test]
fn an_offset_table_tag_before_the_table_does_no_harm() {
    let mut elf = one_segment();
    let mut dynamic = Vec::new();
    for (tag, value) in [(3u64, 0), (23, 0x40_0000), (2, 0x18), (25, u64::MAX - 8), (27, u64::MAX)]
    {
        elf.long(&mut dynamic, tag);
        elf.long(&mut dynamic, value);
    }
    dynamic.extend([0; 16]);
    elf.segments.push(Segment { kind: 2, flags: 6, ..Segment::default() });
    elf.segments[0] = code_segment(&elf, 0x40_0000);
    let offset = elf.body_offset();
    let table = 0x40_0000 + offset + 0x80;
    let before = 0x40_0000 + offset + 0x60;
    dynamic[8..16].copy_from_slice(&before.to_le_bytes());
    elf.body[0x90..0x90 + dynamic.len()].copy_from_slice(&dynamic);
    elf.body[0x60..0x68].copy_from_slice(&0x1122_3344u64.to_le_bytes());
    elf.body[0x80..0x88].copy_from_slice(&table.to_le_bytes());
    elf.segments[1] = Segment {
        kind: 2,
        flags: 6,
        offset: offset + 0x90,
        address: 0x40_0000 + offset + 0x90,
        file_size: dynamic.len() as u64,
        memory_size: dynamic.len() as u64,
    };
    let got = Section {
        name: ".got",
        kind: 1,
        flags: 3,
        address: table,
        data: elf.body[0x80..0x90].to_vec(),
        entry_size: 8,
        ..Section::default()
    };
    elf.sections.push(got);
    let program = open(elf.build());
    assert!(program.symbols.named("_DYNAMIC").next().is_some());
    let word = |at| program.memory.read_uint(Address::ram(at), 8);
    assert_eq!((word(before), word(table)), (Some(0x1122_3344), Some(table)));
    assert_eq!(program.memory.block_named(".got").map(|b| b.length), Some(16));
}

#[test]
fn huge_numbers_in_any_header_field_stay_harmless() {
    let mut elf = one_segment();
    elf.sections.push(text(elf.entry, vec![0xc3; 16]));
    let symbols = elf.symbol(1, elf.entry, 4, 0x12, 1);
    elf.sections.push(Section {
        name: ".symtab",
        kind: 2,
        data: symbols,
        link: 3,
        ..Section::default()
    });
    elf.sections.push(Section {
        name: ".strtab",
        kind: 3,
        data: b"\0main\0".to_vec(),
        ..Section::default()
    });
    let good = elf.build();
    let patterns =
        [0u64, 1, 0x7f, u64::from(u32::MAX), u64::MAX / 2, u64::MAX, 0x8000_0000_0000_0000];
    for at in (16..good.len().min(0x400)).step_by(2) {
        for pattern in patterns {
            let mut bytes = good.clone();
            let end = (at + 8).min(bytes.len());
            bytes[at..end].copy_from_slice(&pattern.to_le_bytes()[..end - at]);
            if let Ok(program) = load("t", "t", bytes.into(), &LoadOptions::default()) {
                let symbols = program.symbols.len();
                assert!(symbols < 100, "{symbols} symbols from {} bytes", good.len());
            }
        }
    }
}

#[test]
fn functions_keep_their_kind_when_names_pile_up() {
    let mut elf = one_segment();
    elf.sections.push(text(elf.entry, vec![0xc3; 16]));
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    symbols.extend(elf.symbol(1, elf.entry, 0, 0x10, 1));
    symbols.extend(elf.symbol(6, elf.entry, 4, 0x12, 1));
    elf.sections.push(Section {
        name: ".symtab",
        kind: 2,
        data: symbols,
        link: 3,
        ..Section::default()
    });
    let strings = b"\0here\0main\0".to_vec();
    elf.sections.push(Section { name: ".strtab", kind: 3, data: strings, ..Section::default() });
    let program = open(elf.build());
    let all: Vec<_> = program
        .symbols
        .at(Address::ram(elf.entry))
        .map(|(_, s)| (s.name.to_string(), s.kind, s.primary))
        .collect();
    let expected = [
        ("here".to_owned(), SymbolKind::Label, false),
        ("main".to_owned(), SymbolKind::Function, true),
    ];
    assert_eq!(all, expected);
}

#[test]
fn many_tables_over_the_same_bytes_are_read_once_or_twice() {
    // Each of these sections claims the whole file: as strings, as symbols, as relocations.
    let mut elf = one_segment();
    elf.body = vec![0; 0x8000];
    for kind in [2u32, 3, 4, 9, 11, 19] {
        let claims =
            Section { name: ".x", kind, size: Some(0x8000), link: 1, ..Section::default() };
        elf.sections.extend(std::iter::repeat_n(claims, 200));
    }
    let mut bytes = elf.build();
    let size = bytes.len();
    let table = size - 64 * (elf.sections.len() + 2);
    for header in 1..=elf.sections.len() {
        let at = table + 64 * header + 24;
        bytes[at..at + 8].copy_from_slice(&elf.body_offset().to_le_bytes());
    }
    let program = open(bytes);
    let units = program.listing.data.len();
    assert!(units <= 3 * size, "{units} data units of {size} bytes");
    let symbols = program.symbols.len();
    assert!(symbols <= size / 4, "{symbols} symbols of {size} bytes");
    assert!(program.relocations.len() <= size, "{}", program.relocations.len());
    let told = |w: &String| w.contains("claim the same bytes");
    assert!(program.info.warnings.iter().any(told), "{:?}", program.info.warnings);
}

#[test]
fn one_long_name_for_many_symbols_is_not_copied_for_each() {
    let mut elf = one_segment();
    elf.sections.push(text(elf.entry, vec![0xc3; 16]));
    let symbols: Vec<u8> =
        (0..20_000).flat_map(|n| elf.symbol(1, elf.entry + n % 16, 0, 0x10, 1)).collect();
    elf.sections.push(Section {
        name: ".symtab",
        kind: 2,
        data: symbols,
        link: 3,
        ..Section::default()
    });
    let strings = [&[0][..], &[b'a'; 15_000], &[0]].concat();
    elf.sections.push(Section { name: ".strtab", kind: 3, data: strings, ..Section::default() });
    let bytes = elf.build();
    let size = bytes.len();
    let program = open(bytes);
    let names: usize = program.symbols.iter().map(|(_, s)| s.name.len()).sum();
    let comments: usize = program.comments.iter().map(|(_, text)| text.len()).sum();
    assert!(names + comments < 20 * size, "{names} and {comments} of {size} bytes");
    let told = |w: &String| w.contains("lost theirs");
    assert!(program.info.warnings.iter().any(told), "{:?}", program.info.warnings);
}
