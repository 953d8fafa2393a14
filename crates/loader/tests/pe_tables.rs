//! Imports and exports of PE files: by name and by number, at first use, passed on to others.

mod make;

use loader::{LoadOptions, load};
use make::Pe;
use program::{Address, Program, SpaceId, SymbolKind};

const BASE: u64 = 0x1_4000_0000;

/// One section at 0x1000 with some texts and numbers in it.
fn open(directory: (usize, u32, u32), parts: &[(usize, &[u8])]) -> Program {
    let mut data = vec![0u8; 0x400];
    for (at, bytes) in parts {
        data[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    let pe = Pe {
        file_alignment: 0x200,
        directories: vec![directory],
        sections: vec![(".text", 0x1000, 0x400, 0x400, data)],
    };
    load("test", "test", pe.build().into(), &LoadOptions::default()).expect("it loads")
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn longs(longs: &[u64]) -> Vec<u8> {
    longs.iter().flat_map(|long| long.to_le_bytes()).collect()
}

/// What the slot at an offset refers to: a library and a name in it.
fn bound(program: &Program, slot: u64) -> (String, String) {
    let slot = Address::ram(BASE + slot);
    let to = program.references.from(slot).find(|r| r.to.space == SpaceId::EXTERNAL);
    let to = to.expect("a reference to another file").to;
    let library = program.symbol_name(program.function_namespace(to));
    (library, program.function_name(to))
}

/// Type and length of the data at an offset.
fn data(program: &Program, at: u64) -> (String, u32) {
    let unit = program.listing.data.get(&Address::ram(BASE + at)).expect("data");
    (program.types.name(unit.data_type).to_owned(), unit.length)
}

#[test]
fn functions_are_imported_by_name_and_by_number() {
    let lookup = longs(&[0x1200, 1 << 63 | 0x17, 0x1210, 0]);
    let program = open(
        (1, 0x1000, 0x28),
        &[
            (0, &words(&[0x1100, 0, 0, 0x1180, 0x1140])),
            (0x100, &lookup),
            (0x140, &lookup),
            (0x180, b"thing.dll\0"),
            (0x200, b"\x05\0Open\0"),
            (0x210, b"\0\0?area@Square@geo@@UEBAHXZ\0"),
        ],
    );
    let library = || "THING.DLL".to_owned();
    assert_eq!(bound(&program, 0x1140), (library(), "Open".to_owned()));
    assert_eq!(bound(&program, 0x1148), (library(), "Ordinal_23".to_owned()));
    assert_eq!(bound(&program, 0x1150).1, "area");
    assert_eq!(program.functions.len(), 3);
}

#[test]
fn libraries_loaded_at_first_use_count_as_well() {
    for base in [0u32, BASE as u32] {
        // Older tables hold addresses, newer ones offsets, and a bit says which.
        let at = |offset: u32| offset.wrapping_add(base);
        let head = [u32::from(base == 0), at(0x1180), 0, at(0x1140), at(0x1100), 0, 0, 0];
        let program = open(
            (13, 0x1000, 0x40),
            &[
                (0, &words(&head)),
                (0x100, &longs(&[0x1200, 1 << 63 | 9, 0])),
                (0x140, &longs(&[BASE + 0x1300, BASE + 0x1310, 0])),
                (0x180, b"late.dll\0"),
                (0x200, b"\0\0Later\0"),
            ],
        );
        assert_eq!(bound(&program, 0x1140), ("late.dll".to_owned(), "Later".to_owned()));
        assert_eq!(bound(&program, 0x1148).1, "Ordinal_9");
        let name = |at: u64| {
            let symbol = program.symbols.primary_at(Address::ram(BASE + at));
            symbol.map_or(String::new(), |(_, symbol)| symbol.name.to_string())
        };
        assert_eq!(name(0x1000), "ImgDelayDescr_140001000");
        assert_eq!(name(0x1140), "ImgDelayDescr_IAT_140001140");
        assert_eq!(name(0x1100), "ImgDelayDescr_INT_140001100");
        assert_eq!(data(&program, 0x1000), ("ImgDelayDescr".to_owned(), 32));
        assert_eq!(data(&program, 0x1140), ("pointer".to_owned(), 8));
        assert_eq!(data(&program, 0x1150), ("qword".to_owned(), 8), "the end of a table");
        assert_eq!(data(&program, 0x1100), ("ImageBaseOffset64".to_owned(), 8));
        assert_eq!(data(&program, 0x1200), ("IMAGE_IMPORT_BY_NAME_6".to_owned(), 8));
        let (_, loads_it) = program.symbols.named("DelayLoad_Later").next().expect("a function");
        assert_eq!(loads_it.address, Address::ram(BASE + 0x1300));
        assert_eq!(loads_it.kind, SymbolKind::Function);
    }
}

#[test]
fn an_export_that_another_library_has_is_a_text_with_its_name() {
    let program = open(
        (0, 0x1000, 0x100),
        &[
            (0, &words(&[0, 0, 0, 0x10c0, 5, 2, 2, 0x1028, 0x1030, 0x1038])),
            (0x28, &words(&[0x1200, 0x10a0])),
            (0x30, &words(&[0x1080, 0x1090])),
            (0x38, &[0, 0, 1, 0]),
            (0x80, b"Here\0"),
            (0x90, b"There\0"),
            (0xa0, b"OTHER.Real\0"),
            (0xc0, b"test.dll\0"),
            (0x200, &[0xc3]),
        ],
    );
    let named = |name: &str| program.symbols.named(name).next().expect("a symbol").1.clone();
    assert_eq!(named("Here").address, Address::ram(BASE + 0x1200));
    assert_eq!(named("Ordinal_5").address, Address::ram(BASE + 0x1200));
    let there = Address::ram(BASE + 0x10a0);
    assert_eq!((named("There").address, named("Ordinal_6").address), (there, there));
    assert!(program.entry_points.contains_key(&there));
    assert_eq!(named("Here").kind, program::SymbolKind::Function);
    assert_eq!(named("There").kind, program::SymbolKind::Label, "a text is no code");
    assert_eq!(data(&program, 0x10a0), ("TerminatedCString".to_owned(), 11));
    let other = program.references.from(there).find(|r| r.to.space == SpaceId::EXTERNAL);
    let (library, real) =
        program.symbols.primary_at(other.expect("what it leads to").to).expect("");
    assert_eq!((&*real.name, real.kind), ("Real", SymbolKind::Label), "{library:?}");
    assert_eq!(program.symbol_name(real.parent), "OTHER.DLL");
}

#[test]
fn the_tables_of_exports_are_marked_up() {
    let program = open(
        (0, 0x1000, 0x100),
        &[
            (0, &words(&[0, 0, 0, 0x10c0, 5, 3, 2, 0x1028, 0x1034, 0x103c])),
            // The second has no name, and no function is behind the third.
            (0x28, &words(&[0x1200, 0x1210, 0])),
            (0x34, &words(&[0x1080, 0x1090])),
            (0x3c, &[0, 0, 0, 0]),
            (0x80, b"First\0"),
            (0x90, b"Also\0"),
            (0xc0, b"test.dll\0"),
            (0x200, &[0xc3]),
        ],
    );
    assert_eq!(data(&program, 0x1000), ("IMAGE_DIRECTORY_ENTRY_EXPORT".to_owned(), 40));
    assert_eq!(data(&program, 0x10c0), ("TerminatedCString".to_owned(), 9));
    assert_eq!(data(&program, 0x102c), ("dword".to_owned(), 4));
    assert_eq!(data(&program, 0x103e), ("word".to_owned(), 2));
    assert_eq!(data(&program, 0x1090), ("TerminatedCString".to_owned(), 5));
    let refers = |at: u64| {
        let mut all = program.references.from(Address::ram(BASE + at));
        all.next().map(|reference| reference.to.offset - BASE)
    };
    assert_eq!((refers(0x1028), refers(0x102c)), (Some(0x1200), Some(0x1210)));
    assert_eq!((refers(0x1034), refers(0x1038)), (Some(0x1080), Some(0x1090)));
    // One name for each function: the first that the table has.
    let names = |at: u64| -> Vec<String> {
        let all = program.symbols.at(Address::ram(BASE + at));
        all.map(|(_, symbol)| symbol.name.to_string()).collect()
    };
    assert_eq!(names(0x1200), ["First", "Ordinal_5"]);
    assert_eq!(names(0x1210), ["Ordinal_6"]);
}

#[test]
fn what_sections_are_for_is_told_by_name() {
    let program = open((1, 0x1000, 0x28), &[]);
    let named = |name: &str| {
        let id = program.types.named(name).next().expect(name);
        program.types.get(id).expect(name).kind.clone()
    };
    let program::TypeKind::Enum { values } = named("SectionFlags") else { panic!("no names") };
    let value = |name: &str| values.iter().find(|(known, ..)| &**known == name).map(|v| v.1);
    assert_eq!(value("IMAGE_SCN_MEM_EXECUTE"), Some(0x2000_0000));
    assert_eq!(value("IMAGE_SCN_ALIGN_8192BYTES"), Some(0xe0_0000));
    let program::TypeKind::Struct { fields, .. } = named("IMAGE_SECTION_HEADER") else {
        panic!("no structure")
    };
    let last = fields.last().expect("it has members");
    assert_eq!(program.types.name(last.data_type), "SectionFlags");
}

#[test]
fn the_handler_that_unwinding_calls_is_referred_to() {
    let program = open(
        (3, 0x1000, 0x18),
        &[
            (0, &words(&[0x1100, 0x1110, 0x1040, 0x1110, 0x1120, 0x1050])),
            // One code, rounded up, then the handler.
            (0x40, &[0x09, 4, 1, 0, 4, 0x42, 0, 0, 0x80, 0x11, 0, 0]),
            // The same without a handler.
            (0x50, &[0x01, 4, 1, 0, 4, 0x42, 0, 0, 0x80, 0x11, 0, 0]),
        ],
    );
    let referred = |at: u64| {
        let mut found = program.references.from(Address::ram(BASE + at));
        found.next().map(|reference| reference.to.offset - BASE)
    };
    assert_eq!(referred(0x1048), Some(0x1180));
    assert_eq!(referred(0x1058), None);
}
