//! How formats are told apart, and those that say nothing about a processor.

mod make;

mod archives;
mod coff;
mod objects;

use loader::{Format, LoadError, LoadOptions, load};
use make::{Elf, Section, Segment};
use program::{Address, Program};

fn with_language() -> LoadOptions {
    LoadOptions { language: Some("ARM:LE:32:v8".into()), ..LoadOptions::default() }
}

fn open(bytes: &[u8], options: &LoadOptions) -> Result<Program, LoadError> {
    load("test", "test", bytes.into(), options)
}

fn elf() -> Vec<u8> {
    let mut elf = Elf::new(true, 2, 62);
    elf.segments = vec![Segment::default()];
    let size = elf.body_offset() + 16;
    let address = 0x40_0000;
    elf.segments[0] =
        Segment { kind: 1, flags: 5, offset: 0, address, file_size: size, memory_size: size };
    elf.body = vec![0xc3; 16];
    elf.build()
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, data) in members {
        out.extend(
            format!(
                "{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
                format!("{name}/"),
                0,
                0,
                0,
                644,
                data.len()
            )
            .bytes(),
        );
        out.extend(*data);
        if data.len() % 2 != 0 {
            out.push(b'\n');
        }
    }
    out
}

#[test]
fn raw_bytes_need_a_language_and_take_a_base() {
    let bytes = [1u8, 2, 3, 4];
    let error = open(&bytes, &LoadOptions::default()).expect_err("nothing is known");
    assert!(error.to_string().contains("01 02 03 04"), "{error}");
    let forced = LoadOptions { format: Format::Raw, ..LoadOptions::default() };
    assert!(matches!(open(&bytes, &forced), Err(LoadError::LanguageNeeded { .. })));
    let options = LoadOptions { base: Some(0x8000), ..with_language() };
    let program = open(&bytes, &options).expect("it loads");
    assert_eq!(program.memory.read_uint(Address::ram(0x8000), 4), Some(0x0403_0201));
    assert_eq!(program.info.executable_format, "Raw Binary");
    // What does not fit the memory is left out.
    let options = LoadOptions { base: Some(0xffff_fffe), ..with_language() };
    let program = open(&bytes, &options).expect("it loads");
    assert_eq!(program.memory.blocks()[0].length, 2);
    assert_eq!(program.info.warnings.len(), 1);
}

#[test]
fn records_load_where_they_say() {
    let hex = b":0400000001020304F2\n:00000001FF\n";
    let program = open(hex, &with_language()).expect("it loads");
    assert_eq!(program.info.executable_format, "Intel Hex");
    assert_eq!(program.memory.read_uint(Address::ram(0), 4), Some(0x0403_0201));
    assert!(matches!(
        open(hex, &LoadOptions::default()),
        Err(LoadError::LanguageNeeded { format: "Intel Hex" })
    ));
    let records = b"S1051000AABB85\nS9031000EC\n";
    let program = open(records, &with_language()).expect("it loads");
    assert_eq!(program.info.executable_format, "Motorola Hex");
    assert!(program.entry_points.contains_key(&Address::ram(0x1000)));
}

#[test]
fn an_archive_opens_the_chosen_or_only_member() {
    let file = elf();
    let one = archive(&[("a.o", &file)]);
    let program = open(&one, &LoadOptions::default()).expect("the only one");
    assert_eq!(program.info.name, "a.o");
    let two = archive(&[("a.o", &file), ("b.o", &file)]);
    let error = open(&two, &LoadOptions::default()).expect_err("which one?");
    assert_eq!(error, LoadError::MemberNeeded { count: 2, members: "a.o, b.o".into() });
    let member = |name: &str| LoadOptions { member: Some(name.into()), ..LoadOptions::default() };
    assert_eq!(open(&two, &member("b.o")).expect("it is there").info.name, "b.o");
    assert!(matches!(open(&two, &member("c.o")), Err(LoadError::NoSuchMember { .. })));
}

#[test]
fn a_language_of_the_options_wins_and_a_bad_one_is_refused() {
    let options = LoadOptions {
        language: Some("x86:LE:64:default".into()),
        compiler_spec: Some("windows".into()),
        ..LoadOptions::default()
    };
    let program = open(&elf(), &options).expect("it loads");
    assert_eq!(program.info.compiler_spec_id, "windows");
    let options = LoadOptions { language: Some("x86".into()), ..LoadOptions::default() };
    assert!(matches!(open(&elf(), &options), Err(LoadError::BadLanguage { .. })));
}

/// The functions that a file takes from others if they are there, in the order of their numbers.
fn optional_functions(wide: bool, machine: u16) -> Vec<String> {
    let mut elf = Elf::new(wide, 3, machine);
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    for name in [1, 10, 25] {
        symbols.extend(elf.symbol(name, 0, 0, 0x20, 0));
    }
    let range =
        Segment { kind: 1, flags: 5, file_size: 0x20, memory_size: 0x20, ..Default::default() };
    elf.segments.push(Segment { address: 0x1000, ..range });
    let section = |name, kind, address, data: Vec<u8>, link| {
        let entry_size = if kind != 11 {
            0
        } else if wide {
            24
        } else {
            16
        };
        Section { name, kind, flags: 2, address, data, link, entry_size, ..Section::default() }
    };
    elf.sections = vec![
        section(".dynstr", 3, 0x1100, b"\0_ITM_one\0__gmon_start__\0_ITM_two\0".to_vec(), 0),
        section(".dynsym", 11, 0x1200, symbols, 1),
    ];
    let program = open(&elf.build(), &LoadOptions::default()).expect("it loads");
    let external = program.functions.iter().filter(|f| f.is_external());
    external.map(|f| program.function_name(f.entry)).collect()
}

#[test]
fn the_functions_that_code_may_call_are_numbered_by_their_names_or_from_the_first_call_on() {
    let names = ["_ITM_one", "_ITM_two", "__gmon_start__"];
    assert_eq!(optional_functions(true, 62), names);
    // 32-bit x86.
    assert_eq!(optional_functions(false, 3), [names[2], names[0], names[1]]);
}

#[test]
fn headers_name_the_languages_of_further_processors() {
    // Machine, flags, wide, big.
    let machines = [
        (4, 0, false, true, "68000:BE:32:Coldfire"),
        (18, 0, false, true, "sparc:BE:32:default"),
        (43, 0, true, true, "sparc:BE:64:default"),
        (42, 0, false, true, "SuperH4:BE:32:default"),
        (42, 0, false, false, "SuperH4:LE:32:default"),
        (87, 0, false, false, "V850:LE:32:default"),
        (87, 0xf000_0000, false, false, "V850:LE:32:v850e3v5"),
        (105, 0, false, false, "TI_MSP430:LE:16:default"),
        (105, 0x2d, false, false, "TI_MSP430X:LE:32:default"),
        (258, 0x43, true, false, "Loongarch:LE:64:lp64d"),
        (258, 0x42, true, false, "Loongarch:LE:64:lp64f"),
        (258, 0x41, false, false, "Loongarch:LE:32:ilp32f"),
    ];
    for (machine, flags, wide, big, language) in machines {
        let file = Elf { flags, big, ..Elf::new(wide, 2, machine) };
        let text =
            Section { name: ".text", kind: 1, flags: 6, address: 0x1000, ..Section::default() };
        let file = Elf { sections: vec![Section { data: vec![0; 16], ..text }], ..file };
        let program = open(&file.build(), &LoadOptions::default()).expect(language);
        assert_eq!(program.info.language_id, language);
        assert_eq!(program.info.compiler_spec_id, "default");
    }
    let unknown = open(&Elf::new(false, 2, 22).build(), &LoadOptions::default());
    let refused = unknown.expect_err("there is no such language").to_string();
    assert!(refused.contains("IBM S/390") && refused.contains("68000"), "{refused}");
}
