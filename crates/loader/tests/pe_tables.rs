//! Imports and exports of PE files: by name and by number, at first use, passed on to others.

mod make;

use loader::{LoadOptions, load};
use make::Pe;
use program::{Address, CommentKind, Program, SpaceId, SymbolKind};

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

#[test]
fn what_unwinding_goes_on_with_is_referred_to() {
    let program = open(
        (3, 0x1000, 0x18),
        &[
            (0, &words(&[0x1100, 0x1110, 0x1040, 0x1110, 0x1120, 0x1060])),
            // No code, then the entry of another function.
            (0x40, &[0x21, 4, 0, 0, 0x80, 0x11, 0, 0, 0x90, 0x11, 0, 0, 0xa0, 0x11, 0, 0]),
            // The same with a handler, which comes first.
            (0x60, &[0x29, 4, 0, 0, 0x80, 0x11, 0, 0, 0x90, 0x11, 0, 0, 0xa0, 0x11, 0, 0]),
        ],
    );
    let from = |at: u64| -> Vec<u64> {
        (0..3).flat_map(|index| referred(&program, at + 4 * index)).collect()
    };
    assert_eq!(from(0x1044), [0x1180, 0x1190, 0x11a0]);
    assert_eq!(data(&program, 0x1040).1, 16);
    assert_eq!(from(0x1064), [0x1180]);
    assert_eq!(data(&program, 0x1060).1, 8);
}

#[test]
fn only_handlers_in_memory_are_marked_up() {
    let comments = |table: u64, count: u64| {
        let mut config = vec![0u8; 0x70];
        config[..4].copy_from_slice(&0x70u32.to_le_bytes());
        config[0x60..0x68].copy_from_slice(&table.to_le_bytes());
        config[0x68..0x70].copy_from_slice(&count.to_le_bytes());
        let program = open((10, 0x1000, 0x70), &[(0, &config), (0x200, &longs(&[0x1300]))]);
        let at = Address::ram(table);
        let comment = program.comments.get(&(at, CommentKind::Plate)).map(|text| text.to_string());
        (comment, program.listing.data.contains_key(&at))
    };
    let known = Some("SEHandlerTable (0x1 entries)".to_owned());
    assert_eq!(comments(BASE + 0x1200, 1), (known, true));
    assert_eq!(comments(0x7_0000, 1), (None, false));
    assert_eq!(comments(BASE + 0x1200, 1 << 40), (None, false));
}

/// Names of the symbols at an offset, in order.
fn names(program: &Program, at: u64) -> Vec<String> {
    let all = program.symbols.at(Address::ram(BASE + at));
    all.map(|(_, symbol)| symbol.name.to_string()).collect()
}

/// Where references from an offset lead, as offsets.
fn referred(program: &Program, at: u64) -> Vec<u64> {
    let all = program.references.from(Address::ram(BASE + at));
    all.map(|reference| reference.to.offset - BASE).collect()
}

#[test]
fn control_flow_guard_tells_functions() {
    let mut config = vec![0u8; 0xc0];
    let mut put = |at: usize, value: u64| config[at..at + 8].copy_from_slice(&value.to_le_bytes());
    put(0, 0xc0);
    put(0x58, BASE + 0x1380);
    put(0x70, BASE + 0x1300);
    put(0x80, BASE + 0x1320);
    put(0x88, 2);
    // One more byte behind each offset.
    put(0x90, 0x1000_0500);
    put(0xa0, BASE + 0x1340);
    put(0xa8, 1);
    let program = open(
        (10, 0x1000, 0xc0),
        &[
            (0, &config),
            (0x300, &longs(&[BASE + 0x1200])),
            (0x320, &[0x10, 0x12, 0, 0, 0, 0x20, 0x12, 0, 0, 2]),
            (0x340, &words(&[0x1390])),
        ],
    );
    assert_eq!(data(&program, 0x1000), ("IMAGE_LOAD_CONFIG_DIRECTORY64".to_owned(), 0xc0));
    assert_eq!(referred(&program, 0x1058), [0x1380], "where the cookie is");
    assert_eq!(names(&program, 0x1320), ["GuardCFFunctionTable"]);
    assert_eq!(data(&program, 0x1320), ("GuardCfgTableEntry[2]".to_owned(), 10));
    assert_eq!(referred(&program, 0x1325), [0x1220]);
    assert_eq!(names(&program, 0x1340), ["GuardCFAddressTakenIatTable"]);
    assert_eq!(data(&program, 0x1340), ("ImageBaseOffset32".to_owned(), 4));
    let starts: Vec<u64> = [0x1200, 0x1210, 0x1220, 0x1230]
        .into_iter()
        .filter(|at| {
            let symbol = program.symbols.primary_at(Address::ram(BASE + at));
            symbol.is_some_and(|(_, symbol)| symbol.kind == SymbolKind::Function)
        })
        .collect();
    assert_eq!(starts, [0x1200, 0x1210, 0x1220]);
    assert_eq!(names(&program, 0x1200), ["_guard_check_icall"]);
}

#[test]
fn resources_are_named_by_kind_name_and_language() {
    let directory = |named: u16, numbered: u16, entries: &[u32]| -> Vec<u8> {
        let counts = u32::from(named) | u32::from(numbered) << 16;
        [words(&[0, 0, 0, counts]), words(entries)].concat()
    };
    const DOWN: u32 = 1 << 31;
    let program = open(
        (2, 0x1000, 0x200),
        &[
            (0, &directory(1, 1, &[DOWN | 0x100, DOWN | 0x20, 24, DOWN | 0x50])),
            (0x20, &directory(0, 1, &[7, DOWN | 0x38])),
            (0x38, &directory(0, 1, &[0x409, 0x80])),
            (0x50, &directory(0, 1, &[1, DOWN | 0x68])),
            // A directory that leads back to the first one ends there.
            (0x68, &directory(0, 2, &[0, 0x90, 9, DOWN])),
            (0x80, &words(&[0x1280, 5, 0, 0])),
            (0x90, &words(&[0x1290, 9, 0, 0])),
            (0x100, b"\x04\0D\0A\0T\0A\0"),
            (0x280, b"bytes"),
            (0x290, b"<assembly>\0"),
        ],
    );
    assert_eq!(data(&program, 0x1000), ("IMAGE_RESOURCE_DIRECTORY".to_owned(), 16));
    assert_eq!(data(&program, 0x1018), ("IMAGE_RESOURCE_DIRECTORY_ENTRY".to_owned(), 8));
    assert_eq!(data(&program, 0x1080), ("IMAGE_RESOURCE_DATA_ENTRY".to_owned(), 16));
    assert_eq!(data(&program, 0x1100), ("IMAGE_RESOURCE_DIR_STRING_U_8".to_owned(), 10));
    assert_eq!(names(&program, 0x1280), ["Rsrc_DATA_7_409"]);
    assert_eq!(data(&program, 0x1280), ("byte[5]".to_owned(), 5));
    assert_eq!(names(&program, 0x1290), ["Rsrc_Manifest_1_0"]);
    assert_eq!(data(&program, 0x1290), ("TerminatedCString".to_owned(), 11));
}

#[test]
fn version_resources_are_laid_out() {
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let part = |key: &str, values: u16, value: Vec<u8>| -> Vec<u8> {
        let mut out = [vec![0, 0], values.to_le_bytes().to_vec(), vec![1, 0], wide(key)].concat();
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(value);
        let length = out.len() as u16;
        out[..2].copy_from_slice(&length.to_le_bytes());
        out.resize(out.len().next_multiple_of(4), 0);
        out
    };
    let text = part("Name\0", 5, wide("tool\0"));
    let table = part("040904b0\0", 0, text);
    let languages = part("Translation\0", 4, vec![9, 4, 0xb0, 4]);
    let numbers = vec![0u8; 52];
    let tail = [numbers, part("StringFileInfo\0", 0, table), part("VarFileInfo\0", 0, languages)];
    let version = part("VS_VERSION_INFO\0", 52, tail.concat());
    let directory = |id: u32, to: u32| [words(&[0, 0, 0, 1 << 16]), words(&[id, to])].concat();
    const DOWN: u32 = 1 << 31;
    let size = version.len() as u32;
    let program = open(
        (2, 0x1000, 0x100),
        &[
            (0, &directory(16, DOWN | 0x20)),
            (0x20, &directory(1, DOWN | 0x40)),
            (0x40, &directory(0x409, 0x60)),
            (0x60, &words(&[0x1100, size, 0, 0])),
            (0x100, &version),
        ],
    );
    let laid: Vec<(String, u32)> = program
        .listing
        .data
        .range(Address::ram(BASE + 0x1100)..)
        .map(|(_, unit)| (program.types.name(unit.data_type).to_owned(), unit.length))
        .collect();
    let expected = [
        ("VS_VERSION_INFO", 92),
        ("StringFileInfo", 6),
        ("TerminatedUnicode", 30),
        ("StringTable", 6),
        ("TerminatedUnicode", 18),
        ("StringInfo", 6),
        ("TerminatedUnicode", 10),
        ("TerminatedUnicode", 10),
        ("VarFileInfo", 6),
        ("TerminatedUnicode", 24),
        ("Var", 6),
        ("TerminatedUnicode", 24),
        ("dword", 4),
    ];
    let expected: Vec<_> = expected.iter().map(|(name, size)| (name.to_string(), *size)).collect();
    assert_eq!(laid, expected);
}

#[test]
fn the_debug_directory_leads_to_the_name_of_a_pdb_file() {
    let code_view = [b"RSDS".as_slice(), &[7; 16], &[1, 0, 0, 0], b"D:\\out\\a.pdb\0"].concat();
    let program = open(
        (6, 0x1000, 56),
        &[
            (0, &words(&[0, 0, 0, 2, code_view.len() as u32, 0x1100, 0x500])),
            // What is no kind ends the directory.
            (28, &words(&[0, 0, 0, 77, 0, 0, 0])),
            (0x100, &code_view),
        ],
    );
    assert_eq!(data(&program, 0x1000), ("IMAGE_DEBUG_DIRECTORY".to_owned(), 28));
    assert!(!program.listing.data.contains_key(&Address::ram(BASE + 0x101c)));
    assert_eq!(data(&program, 0x1100), ("DotNetPdbInfo".to_owned(), 24 + 5));
}

/// A file with one section, changed and loaded.
fn changed(directory: (usize, u32, u32), data: Vec<u8>, change: impl Fn(&mut [u8])) -> Program {
    let pe = Pe {
        file_alignment: 0x200,
        directories: vec![directory],
        sections: vec![(".text", 0x1000, 0x400, 0x400, data)],
    };
    let mut bytes = pe.build();
    change(&mut bytes);
    load("test", "test", bytes.into(), &LoadOptions::default()).expect("it loads")
}

#[test]
fn exception_tables_of_arm_programs_hold_or_lead_to_what_unwinding_takes() {
    let mut data_of = vec![0u8; 0x400];
    data_of[..24].copy_from_slice(&words(&[0x1200, 0x1100, 0x1210, 0x0041_0021, 0, 0]));
    let program = changed((3, 0x1000, 24), data_of, |bytes| {
        bytes[68..70].copy_from_slice(&0xaa64u16.to_le_bytes());
    });
    assert_eq!(program.info.language_id, "AARCH64:LE:64:v8A");
    assert_eq!(data(&program, 0x1000), ("_IMAGE_RUNTIME_FUNCTION_ENTRY".to_owned(), 8));
    assert_eq!(data(&program, 0x1008), ("_IMAGE_RUNTIME_FUNCTION_ENTRY_2".to_owned(), 8));
    assert_eq!(referred(&program, 0x1000), [0x1200]);
    assert_eq!(referred(&program, 0x1004), [0x1100]);
    assert_eq!(referred(&program, 0x1008), [0x1210]);
    assert!(referred(&program, 0x100c).is_empty(), "no offset");
    assert!(!program.listing.data.contains_key(&Address::ram(BASE + 0x1010)), "zeros end it");
}

#[test]
fn the_small_dos_program_tells_the_compiler() {
    let code = [0x0e, 0x1f, 0xba, 0x0e, 0, 0xb4, 9, 0xcd, 0x21, 0xb8, 1, 0x4c, 0xcd, 0x21];
    let specification = |message: &[u8]| {
        let program = changed((1, 0, 0), vec![0; 0x400], |bytes| {
            // The new header moves behind the DOS program.
            let header = bytes[64..0x340].to_vec();
            bytes[64..0x78].fill(0);
            bytes[0xc0..0xc0 + header.len()].copy_from_slice(&header);
            bytes[60..64].copy_from_slice(&0xc0u32.to_le_bytes());
            bytes[64..64 + code.len()].copy_from_slice(&code);
            bytes[0x4e..0x4e + message.len()].copy_from_slice(message);
        });
        program.info.compiler_spec_id.clone()
    };
    assert_eq!(specification(b"This program cannot be run in DOS mode.$"), "clangwindows");
    assert_eq!(specification(b"This program cannot be run in DOS mode.\r\r\n$"), "windows");
}

/// A COFF symbol of the first section.
fn symbol(name: &str, value: u32, kind: u16, class: u8) -> Vec<u8> {
    let mut short = name.as_bytes().to_vec();
    short.resize(8, 0);
    let value = value.to_le_bytes();
    [short.as_slice(), &value, &[1, 0], &kind.to_le_bytes(), &[class, 0]].concat()
}

/// A program with these symbols, in which unwinding knows a function at 0x20.
fn with_symbols(symbols: &[Vec<u8>], subsystem: u16) -> Program {
    let mut data = vec![0u8; 0x400];
    data[..12].copy_from_slice(&words(&[0x1020, 0x1030, 0x1100]));
    let table = symbols.concat();
    data[0x200..0x200 + table.len()].copy_from_slice(&table);
    changed((3, 0x1000, 12), data, |bytes| {
        bytes[76..84].copy_from_slice(&words(&[0x600, symbols.len() as u32]));
        bytes[156..158].copy_from_slice(&subsystem.to_le_bytes());
    })
}

#[test]
fn the_last_symbol_that_is_no_sections_is_shown() {
    const FUNCTION: u16 = 0x20;
    let symbols = [
        symbol("nothing", 0, FUNCTION, 2),
        symbol(".text", 0x40, 0, 3),
        symbol("helper", 0x40, FUNCTION, 3),
        symbol("public", 0x40, FUNCTION, 2),
        symbol(".text$a", 0x40, 0, 3),
        symbol(".text", 0x20, 0, 3),
        symbol("unwound", 0x20, FUNCTION, 2),
    ];
    let program = with_symbols(&symbols, 3);
    let shown = |at: u64| {
        let (_, symbol) = program.symbols.primary_at(Address::ram(BASE + at)).expect("a symbol");
        (symbol.name.to_string(), symbol.kind == SymbolKind::Function)
    };
    assert_eq!(names(&program, 0x1040), [".text", "helper", "public", ".text$a"]);
    assert_eq!(shown(0x1040), ("public".to_owned(), true));
    assert_eq!(shown(0x1020), (".text".to_owned(), true), "its function is known before");
    assert_eq!(names(&program, 0x1000), ["entry"]);
}

#[test]
fn a_library_without_an_entry_is_entered_at_its_beginning() {
    const ENTRY: usize = 64 + 24 + 16;
    let pe = Pe {
        file_alignment: 0x200,
        directories: Vec::new(),
        sections: vec![(".rdata", 0x1000, 0x10, 0x200, vec![0; 0x200])],
    };
    let mut bytes = pe.build();
    bytes[ENTRY..ENTRY + 4].fill(0);
    let program = load("test", "test", bytes.into(), &LoadOptions::default()).expect("it loads");
    assert_eq!(names(&program, 0), ["entry"]);
    assert!(program.entry_points.contains_key(&Address::ram(BASE)));
    assert_eq!(program.functions.len(), 0, "no code is there");
}

#[test]
fn symbols_of_drivers_count_from_the_image_base() {
    const NATIVE: u16 = 1;
    let program = with_symbols(&[symbol("start", 0x1050, 0x20, 2)], NATIVE);
    assert_eq!(names(&program, 0x1050), ["start"]);
}

#[test]
fn what_mingw_takes_from_libraries_has_places() {
    for (machine, word) in [("x64", 8u32), ("x86", 4)] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/windows");
        let bytes = std::fs::read(format!("{folder}/borrowed.{machine}.exe")).expect("a fixture");
        let options = LoadOptions::default();
        let program = load("test", "test", bytes.into(), &options).expect("it loads");
        let block = program.memory.block_named("EXTERNAL").expect("made-up memory");
        assert_eq!((block.start.offset, block.length), (0x1000_0000, 2 * u64::from(word)));
        let place = |name: &str| {
            let mut all = program.symbols.named(name).map(|(_, symbol)| symbol.address);
            let place = all.next().expect(name);
            assert_eq!((place.space, all.next()), (SpaceId::RAM, None), "{name}");
            place
        };
        let (number, table) = (place("number"), place("table"));
        assert!(block.range().contains(number) && block.range().contains(table));
        let comment = program.comments.get(&(number, CommentKind::Plate)).map(|text| &**text);
        assert_eq!(comment, Some("External Location: DATA.DLL::number"));
        // The first pointer leads to a number, the second one eight bytes behind a table's start.
        let pointers = program.memory.block_named(".rdata").expect("a block").start;
        let second = pointers.checked_add(u64::from(word)).expect("in memory");
        let value = |at| program.memory.read_uint(at, word).expect("in memory");
        assert_eq!(value(pointers), number.offset);
        assert_eq!(value(second), table.offset + 8);
        let unit = program.listing.data.get(&second).expect("a pointer");
        assert_eq!(program.types.name(unit.data_type), "pointer __((offset(0x8)))");
        let to: Vec<Address> = program.references.from(second).map(|r| r.to).collect();
        assert_eq!(to, [table]);
        let list = place("__RUNTIME_PSEUDO_RELOC_LIST__");
        let item = program.listing.data.get(&list.checked_add(12).expect("in memory"));
        let item = item.expect("the entries");
        assert!(program.types.name(item.data_type).starts_with("pseudoRelocItemV2["));
        assert_eq!(program.functions.iter().filter(|f| f.is_external()).count(), 0);
    }
}

#[test]
fn mangled_names_are_read_behind_those_of_sections() {
    let symbols = [
        symbol(".text$a", 0x20, 0, 3),
        symbol("_Z1fv", 0x20, 0x20, 2),
        symbol("_Z1gv", 0x20, 0, 2),
    ];
    let program = with_symbols(&symbols, 3);
    let (id, shown) = program.symbols.primary_at(Address::ram(BASE + 0x1020)).expect("a symbol");
    assert_eq!((&*shown.name, shown.kind), ("f", SymbolKind::Function));
    let others = program.symbols.at(Address::ram(BASE + 0x1020)).filter(|(other, _)| *other != id);
    let others: Vec<(String, SymbolKind)> =
        others.map(|(_, s)| (s.name.to_string(), s.kind)).collect();
    let label = |name: &str| (name.to_owned(), SymbolKind::Label);
    assert_eq!(others, [label(".text$a"), label("_Z1fv"), label("_Z1gv"), label("g")]);
}

#[test]
fn a_program_for_net_shows_its_header_and_says_what_is_not_read() {
    let head = words(&[72, 0x5_0002, 0x1100, 0x60, 1, 0x0600_0001, 0x1180, 0x10]);
    let metadata = [
        words(&[0x424a_5342, 0x1_0001, 0, 12]),
        b"v4.0.30319\0\0".to_vec(),
        vec![0, 0, 2, 0],
        words(&[0x40, 8]),
        b"#~\0\0".to_vec(),
        words(&[0x48, 4]),
        b"#Strings\0\0\0\0".to_vec(),
    ]
    .concat();
    let program = open((14, 0x1000, 72), &[(0, &head), (0x100, &metadata)]);
    assert_eq!(data(&program, 0x1000), ("IMAGE_COR20_HEADER".to_owned(), 72));
    assert_eq!(data(&program, 0x1100), ("CLI_METADATA_HEADER".to_owned(), 64));
    assert_eq!(names(&program, 0x1100), ["CLI_METADATA_HEADER"]);
    assert_eq!(names(&program, 0x1140), ["CLI_Stream_#~"]);
    assert_eq!(names(&program, 0x1148), ["CLI_Stream_#Strings"]);
    let resources = program.references.from(Address::ram(BASE + 0x1018)).next();
    assert_eq!(resources.map(|r| r.to), Some(Address::ram(BASE + 0x1180)));
    let said = &program.info.warnings;
    assert!(said.iter().any(|warning| warning.contains("not read")), "{said:?}");
    assert_eq!(program.info.compiler_spec_id, "windows");
}

#[test]
fn metadata_of_net_that_lead_nowhere_harm_nobody() {
    let head = |at: u32| words(&[72, 0, at, 0x60, 0x10, 0xffff_fff0, 0xffff_ffff, 1]);
    for (at, version, count) in [
        (0xffff_fff0, 12, 2),
        (0x1100, 0xffff_fff0, 2),
        (0x1100, 0x300, 0xffff),
        (0x1100, 12, 0xffff),
        (0x13f0, 12, 1),
    ] {
        let metadata = [words(&[0x424a_5342, 0, 0, version]), vec![0; 12], vec![0, 0]].concat();
        let metadata = [metadata, (count as u16).to_le_bytes().to_vec()].concat();
        let program = open((14, 0x1000, 72), &[(0, &head(at)), (0x100, &metadata)]);
        assert_eq!(data(&program, 0x1000), ("IMAGE_COR20_HEADER".to_owned(), 72));
        for (place, unit) in program.listing.data.iter() {
            assert!(program.memory.contains(place.wrapping_add(u64::from(unit.length) - 1)));
        }
    }
}

#[test]
fn a_section_over_another_one_is_in_a_space_of_its_own() {
    let section = |name, address, bytes: u8| (name, address, 0x200, 0x200, vec![bytes; 0x200]);
    let pe = Pe {
        file_alignment: 0x200,
        directories: Vec::new(),
        sections: vec![section(".text", 0x1000, 1), section(".sbat", 0x1000, 2)],
    };
    let program =
        load("test", "test", pe.build().into(), &LoadOptions::default()).expect("it loads");
    let apart = program.memory.block_named(".sbat").expect("it is kept");
    assert!(apart.is_overlay());
    assert_eq!(apart.start.offset, BASE + 0x1000);
    assert_eq!(program.memory.read_uint(apart.start, 1), Some(2));
    assert_eq!(program.memory.read_uint(Address::ram(BASE + 0x1000), 1), Some(1));
}

#[test]
fn sections_without_a_name_are_numbered() {
    let section = |name, address| (name, address, 0x10, 0x200, vec![0; 0x200]);
    let pe = Pe {
        file_alignment: 0x200,
        directories: Vec::new(),
        sections: vec![section(".text", 0x1000), section("", 0x2000), section(" ", 0x3000)],
    };
    let program = load("test", "test", pe.build().into(), &LoadOptions::default()).expect("loads");
    let names: Vec<_> =
        program.memory.blocks().iter().map(|block| block.name.to_string()).collect();
    assert_eq!(names, ["Headers", ".text", "SECTION.1", "SECTION.2"]);
}
