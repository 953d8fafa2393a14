//! The functions of Go programs without symbols, in every layout that their table has had.

use program::{Address, CommentKind, Program};

use crate::image::Image;

const CODE: u64 = 0x1000;
const BUILD: u64 = 0x9000;
/// Functions one behind the other, each `ret` and some padding.
const NAMES: [&str; 3] = ["main.main", "main.(*Rect).Area", "internal/cpu.Initialize"];

fn word(bytes: &mut Vec<u8>, value: u64) {
    bytes.extend(value.to_le_bytes());
}

fn short(bytes: &mut Vec<u8>, value: u64) {
    bytes.extend((value as u32).to_le_bytes());
}

/// The names one behind the other, and where each begins.
fn names() -> (Vec<u8>, Vec<u64>) {
    let mut bytes = vec![0];
    let mut places = Vec::new();
    for name in NAMES {
        places.push(bytes.len() as u64);
        bytes.extend(name.bytes().chain([0]));
    }
    (bytes, places)
}

fn entry(index: usize) -> u64 {
    CODE + 0x10 * index as u64
}

/// The table as Go 1.18 (`0xfffffff0`) and 1.20 lay it down, or 1.16 (`0xfffffffa`).
fn table(magic: u32) -> Vec<u8> {
    let (text, places) = names();
    let distances = magic != 0xffff_fffa;
    let mut bytes = Vec::new();
    short(&mut bytes, magic.into());
    bytes.extend([0, 0, 1, 8]);
    let header = if distances { 0x48 } else { 0x40 };
    let first = (header + text.len() as u64).next_multiple_of(8);
    word(&mut bytes, NAMES.len() as u64);
    word(&mut bytes, 0);
    if distances {
        word(&mut bytes, CODE);
    }
    for offset in [header, 0, 0, 0, first] {
        word(&mut bytes, offset);
    }
    bytes.extend(&text);
    bytes.resize(first as usize, 0);
    let put = if distances { short } else { word };
    let size = if distances { 4 } else { 8 };
    let base = if distances { CODE } else { 0 };
    let facts = |index: usize| size * 2 * (NAMES.len() as u64 + 1) + 16 * index as u64;
    for index in 0..NAMES.len() {
        put(&mut bytes, entry(index) - base);
        put(&mut bytes, facts(index));
    }
    put(&mut bytes, entry(NAMES.len()) - base);
    put(&mut bytes, 0);
    for (index, place) in places.iter().enumerate() {
        bytes.resize((first + facts(index)) as usize, 0);
        put(&mut bytes, entry(index) - base);
        short(&mut bytes, *place);
    }
    bytes
}

/// The table as Go 1.2 lays it down.
fn first_table() -> Vec<u8> {
    let (text, places) = names();
    let mut bytes = Vec::new();
    short(&mut bytes, 0xffff_fffb);
    bytes.extend([0, 0, 1, 8]);
    word(&mut bytes, NAMES.len() as u64);
    let facts = |index: usize| 0x100 + 16 * index as u64;
    for index in 0..NAMES.len() {
        word(&mut bytes, entry(index));
        word(&mut bytes, facts(index));
    }
    word(&mut bytes, entry(NAMES.len()));
    for (index, place) in places.iter().enumerate() {
        bytes.resize(facts(index) as usize, 0);
        word(&mut bytes, entry(index));
        short(&mut bytes, 0x200 + place);
    }
    bytes.resize(0x200, 0);
    bytes.extend(&text);
    bytes
}

fn program(table: &[u8]) -> Program {
    let code: Vec<u8> = [0xc3].iter().chain(&[0xcc; 15]).copied().cycle().take(0x40).collect();
    let mut data = vec![0; 0x10];
    data.extend(table);
    data.resize(0xc00, 0);
    let mut build = b"\xff Go buildinf:\x08\x02".to_vec();
    build.resize(32, 0);
    for text in ["go1.20.1", &format!("{}path\texample{}", "x".repeat(16), "y".repeat(16))] {
        build.push(text.len() as u8);
        build.extend(text.bytes());
    }
    let mut image = Image::new("x86:LE:64:default", "golang");
    image.block("text", CODE, &code, true);
    image.block("rodata", 0x8000, &data, false);
    image.block("data", BUILD, &build, false);
    image.analysed()
}

#[test]
fn functions_have_the_names_that_the_table_of_every_version_says() {
    let tables = [0xffff_fff0, 0xffff_fff1, 0xffff_fffa].map(table);
    for table in tables.iter().chain([&first_table()]) {
        let program = program(table);
        for (index, name) in NAMES.iter().enumerate() {
            let at = Address::ram(entry(index));
            assert!(program.functions.at(at).is_some_and(|f| !f.body.is_empty()), "{name}");
            assert_eq!(program.function_name(at), *name);
        }
        let space = program.function_namespace(Address::ram(entry(2)));
        assert_eq!(program.symbols.get(space).map(|s| &*s.name), Some("internal/cpu"));
    }
}

#[test]
fn a_table_that_counts_more_functions_than_there_is_room_for_is_read_as_far_as_it_goes() {
    let mut table = table(0xffff_fff1);
    table[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    let program = program(&table);
    assert_eq!(program.function_name(Address::ram(entry(1))), NAMES[1]);
}

#[test]
fn the_build_information_is_told_in_a_comment() {
    let program = program(&table(0xffff_fff1));
    let comment = program.comments.get(&(Address::ram(BUILD), CommentKind::Plate));
    assert_eq!(comment.map(|text| &**text), Some("go1.20.1\npath\texample"));
    assert_eq!(program.label_at(Address::ram(BUILD)).as_deref(), Some("go.buildinfo"));
}

#[test]
fn names_are_read_as_far_as_there_is_room_for_them() {
    let mut table = table(0xffff_fff1);
    let start = table.len();
    // Sixty entries that all lead to the facts of one function, whose name is 1,500 bytes long.
    let first = u64::from_le_bytes(table[0x40..0x48].try_into().expect("eight bytes")) as usize;
    let names = u64::from_le_bytes(table[0x20..0x28].try_into().expect("eight bytes")) as usize;
    table.resize(first + 60 * 8, 0);
    for index in 0..60 {
        let entry = [(index as u32).to_le_bytes(), (60_u32 * 8).to_le_bytes()].concat();
        table[first + index * 8..][..8].copy_from_slice(&entry);
    }
    table[8..16].copy_from_slice(&60_u64.to_le_bytes());
    let long = table.len() + 8 - names;
    table.extend(0_u32.to_le_bytes());
    table.extend((long as u32).to_le_bytes());
    table.extend([b'm'; 1500]);
    table.push(0);
    assert!(table.len() > start);
    let program = program(&table);
    assert!(program.info.warnings.iter().any(|text| text.contains("names are too long")));
}

/// Debug information of a unit in Go that has a variable `handler` of a type `func(int)` at 0x2000.
fn unit_with_handler() -> (Vec<u8>, Vec<u8>) {
    let abbreviations: Vec<u8> = [
        [1, 0x11, 1, 0x13, 0x0b, 0, 0].as_slice(),
        &[2, 0x24, 0, 3, 8, 0x0b, 0x0b, 0x3e, 0x0b, 0, 0],
        &[3, 0x15, 1, 3, 8, 0x0b, 0x0b, 0, 0],
        &[4, 5, 0, 0x49, 0x13, 0, 0],
        &[5, 0x34, 0, 3, 8, 0x49, 0x13, 2, 0x18, 0, 0, 0],
    ]
    .concat();
    let mut entries = vec![1, 0x16];
    entries.extend(b"\x02int\0\x08\x05");
    entries.extend(b"\x03func(int)\0\x08\x04\x0d\0\0\0\0");
    entries.extend(b"\x05handler\0\x14\0\0\0\x09\x03");
    word(&mut entries, 0x2000);
    entries.push(0);
    let mut unit = Vec::new();
    short(&mut unit, 7 + entries.len() as u64);
    unit.extend([4, 0, 0, 0, 0, 0, 8]);
    unit.extend(entries);
    (abbreviations, unit)
}

#[test]
fn a_function_in_a_variable_is_a_pointer_to_a_pointer_to_its_code() {
    let (abbreviations, unit) = unit_with_handler();
    let mut image = Image::new("x86:LE:64:default", "gcc");
    image.block(".data", 0x2000, &[0; 16], false);
    image.block(".debug_abbrev", 0x8000, &abbreviations, false);
    image.block(".debug_info", 0x9000, &unit, false);
    let program = image.analysed();
    let unit = program.listing.data.get(&Address::ram(0x2000)).expect("a variable");
    assert_eq!(program.types.name(unit.data_type), "func(int) * *");
}
