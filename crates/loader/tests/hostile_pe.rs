//! Broken and odd PE files.

mod make;

use loader::{LoadOptions, load};
use make::Pe;
use program::{Address, Program};

const BASE: u64 = 0x1_4000_0000;

fn open(pe: &Pe) -> Program {
    load("test", "test", pe.build().into(), &LoadOptions::default()).expect("it loads")
}

fn code(raw_size: u32, data: Vec<u8>) -> Pe {
    Pe {
        file_alignment: 0x200,
        directories: Vec::new(),
        sections: vec![(".text", 0x1000, 0x800, raw_size, data)],
    }
}

#[test]
fn bytes_up_to_the_file_unit_are_visible() {
    let program = open(&code(0x210, vec![0xcc; 0x400]));
    let byte = |at| program.memory.read_uint(Address::ram(BASE + 0x1000 + at), 1);
    assert_eq!((byte(0x20f), byte(0x3ff), byte(0x400)), (Some(0xcc), Some(0xcc), Some(0)));
}

#[test]
fn impossible_raw_sizes_end_with_the_file() {
    for raw in [u32::MAX, 0x7fff_ffff, 0x10_0000] {
        let program = open(&code(raw, vec![0xcc; 0x100]));
        let block = program.memory.block_named(".text").expect("a block");
        assert_eq!(block.length, 0x1000);
        assert_eq!(program.memory.read_uint(block.start, 1), Some(0xcc));
        assert!(program.info.warnings.iter().any(|w| w.contains(".text")));
    }
}

#[test]
fn raw_bytes_behind_the_end_of_the_file_are_zeros() {
    for at in [0x600u32, 0x7fff_fe00, u32::MAX - 0x1ff] {
        let mut bytes = code(0x200, vec![0xcc; 0x200]).build();
        // Where the section's raw bytes begin.
        let field = 64 + 24 + 240 + 20;
        bytes[field..field + 4].copy_from_slice(&at.to_le_bytes());
        let program = load("t", "t", bytes.into(), &LoadOptions::default()).expect("it loads");
        let block = program.memory.block_at(Address::ram(BASE + 0x1000)).expect("a block");
        assert_eq!((&*block.name, block.permissions.execute), (".text", true));
        assert_ne!(program.memory.read_uint(block.start, 1), Some(0xcc), "{at:x}");
        assert!(program.info.warnings.iter().any(|w| w.contains(".text")), "{at:x}");
    }
}

#[test]
fn a_file_alignment_of_zero_is_survived() {
    let program = open(&Pe { file_alignment: 0, ..code(0x100, vec![0xcc; 0x100]) });
    assert_eq!(program.memory.read_uint(Address::ram(BASE + 0x1000), 1), Some(0xcc));
}

#[test]
fn import_tables_without_names_end_quietly() {
    let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
    let mut data = vec![0u8; 0x200];
    // A library, then one whose name is at nothing: the table ends there.
    let table = words(&[0x1080, 0, 0, 0x10c0, 0x1100, 0x1080, 0, 0, 0, 0x1120]);
    data[..table.len()].copy_from_slice(&table);
    data[0x80..0x88].copy_from_slice(&0x10d0u64.to_le_bytes());
    data[0xc0..0xc6].copy_from_slice(b"a.dll\0");
    data[0xd2..0xd7].copy_from_slice(b"open\0");
    data[0x100..0x108].copy_from_slice(&0x10d0u64.to_le_bytes());
    data[0x120..0x128].copy_from_slice(&0x10d0u64.to_le_bytes());
    let mut pe = code(0x200, data);
    pe.directories = vec![(1, 0x1000, 0x3c)];
    let program = open(&pe);
    let names: Vec<String> =
        program.functions.iter().map(|f| program.function_name(f.entry)).collect();
    assert_eq!(names, ["open"]);
}

#[test]
fn exports_without_names_and_far_directories_are_survived() {
    let mut data = vec![0u8; 0x200];
    // One function, no names.
    data[16..20].copy_from_slice(&1u32.to_le_bytes());
    data[20..24].copy_from_slice(&1u32.to_le_bytes());
    data[28..32].copy_from_slice(&0x1080u32.to_le_bytes());
    data[0x80..0x84].copy_from_slice(&0x1100u32.to_le_bytes());
    let mut pe = code(0x200, data);
    pe.directories = vec![(0, 0x1000, 0x40), (3, 0x7fff_f000, 0x1000), (9, 0xffff_fff0, 0x28)];
    let program = open(&pe);
    let (_, symbol) = program.symbols.named("Ordinal_1").next().expect("the export");
    assert_eq!(symbol.address, Address::ram(BASE + 0x1100));
    assert!(program.info.warnings.iter().any(|w| w.contains("exception directory")));
}

#[test]
fn huge_numbers_in_any_field_stay_harmless() {
    let mut pe = code(0x200, vec![0x90; 0x200]);
    pe.directories = (0..16).map(|n| (n, 0x1000 + 16 * n as u32, 0x100)).collect();
    let good = pe.build();
    for at in (2..0x700.min(good.len() - 4)).step_by(2) {
        for pattern in [0u32, 1, 0x1000, 0x7fff_ffff, u32::MAX] {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&pattern.to_le_bytes());
            if let Ok(program) = load("t", "t", bytes.into(), &LoadOptions::default()) {
                assert!(program.symbols.len() < 5000, "at {at:#x} with {pattern:#x}");
            }
        }
    }
}

#[test]
fn relocations_end_with_the_file_though_memory_goes_on() {
    let mut data = vec![0u8; 0x200];
    data[4..8].copy_from_slice(&0x3fff_fff0u32.to_le_bytes());
    let mut pe = code(0x200, data);
    pe.sections[0].2 = 0x4000_0000;
    pe.directories = vec![(5, 0x1000, 0x3fff_fff0)];
    let size = pe.build().len();
    let program = open(&pe);
    assert!(program.listing.data.len() < size, "{} data units", program.listing.data.len());
    assert!(program.relocations.len() <= size);
}

#[test]
fn many_libraries_with_the_same_slots_are_not_all_believed() {
    let mut data = vec![0x80u8; 0x20000];
    for library in 0..1000 {
        // Lookup table, no time, no chain, a name, slots: the same for all.
        let words = [0x9000u32, 0, 0, 0x8000, 0x9000];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        data[20 * library..20 * library + 20].copy_from_slice(&bytes);
    }
    data[0x7000..0x7004].copy_from_slice(b"a.x\0");
    let mut pe = code(0x20000, data);
    pe.sections[0].2 = 0x20000;
    pe.directories = vec![(1, 0x1000, 20_000)];
    let size = pe.build().len();
    let program = open(&pe);
    assert!(program.symbols.len() <= size / 4, "{} symbols", program.symbols.len());
    assert!(program.references.len() <= size / 4, "{} references", program.references.len());
}

#[test]
fn resources_are_no_more_than_the_file_has_room_for() {
    let mut data = vec![0u8; 0x200];
    // A directory that announces 65,535 names and as many numbers.
    data[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut pe = code(0x200, data);
    pe.sections[0].2 = 0x20_0000;
    pe.directories = vec![(2, 0x1000, 0x20_0000)];
    let size = pe.build().len();
    let program = open(&pe);
    assert!(program.listing.data.len() < size, "{} data units", program.listing.data.len());
    assert!(program.info.warnings.iter().any(|w| w.contains("not all resources")));
}

#[test]
fn tables_of_guarded_imports_are_no_longer_than_the_file() {
    let mut data = vec![0u8; 0x200];
    let mut put = |at: usize, value: u64| data[at..at + 8].copy_from_slice(&value.to_le_bytes());
    put(0, 0xc0);
    // Control flow guard is on, and its table has 65,536 entries.
    put(0x90, 0x500);
    put(0xa0, BASE + 0x1100);
    put(0xa8, 0x1_0000);
    let mut pe = code(0x200, data);
    pe.sections[0].2 = 0x20_0000;
    pe.directories = vec![(10, 0x1000, 0xc0)];
    let size = pe.build().len();
    let program = open(&pe);
    assert!(program.listing.data.len() < size, "{} data units", program.listing.data.len());
    assert!(program.info.warnings.iter().any(|w| w.contains("larger than the file")));
}

#[test]
fn exports_are_no_more_than_the_file_has_room_for() {
    let mut data = vec![0u8; 0x200];
    // As many functions and names as there are ordinals, in tables behind the file's bytes.
    for (at, value) in
        [(20, 0x1_0000u32), (24, 0x1_0000), (28, 0x2000), (32, 0x5_0000), (36, 0xa_0000)]
    {
        data[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    let mut pe = code(0x200, data);
    pe.sections[0].2 = 0x20_0000;
    pe.directories = vec![(0, 0x1000, 0x28)];
    let size = pe.build().len();
    let program = open(&pe);
    assert!(program.listing.data.len() < size, "{} data units", program.listing.data.len());
    assert!(program.info.warnings.iter().any(|w| w.contains("room")));
}
