//! PowerPC files: functions with two entries, the base of their table of pointers, and stubs that
//! take their pointer by a register of their caller.

mod make;

use loader::{LoadOptions, load};
use make::{Elf, Section};
use program::{Address, Program, SpaceId, SymbolKind};

const PPC: u16 = 20;
const PPC64: u16 = 21;

fn section(name: &'static str, kind: u32, flags: u64, address: u64, data: Vec<u8>) -> Section {
    Section { name, kind, flags, address, data, ..Section::default() }
}

fn loaded(elf: &Elf) -> Program {
    load("t", "t", elf.build().into(), &LoadOptions::default()).expect("it loads")
}

#[test]
fn a_function_with_two_entries_passes_on_from_the_first() {
    let mut elf = Elf { flags: 2, ..Elf::new(true, 2, PPC64) };
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    let mut two = elf.symbol(1, 0x1000, 0x20, 0x12, 3);
    // The upper bits of the sixth byte say how far the second entry is away.
    two[5] = 3 << 5;
    symbols.extend(two);
    symbols.extend(elf.symbol(5, 0x1010, 0x10, 0x12, 3));
    let link = |kind, data, link, entry_size| Section {
        name: ".symtab",
        kind,
        data,
        link,
        entry_size,
        ..Section::default()
    };
    elf.sections = vec![
        section(".strtab", 3, 0, 0, b"\0two\0one\0".to_vec()),
        link(2, symbols, 1, 24),
        section(".text", 1, 6, 0x1000, vec![0; 0x20]),
        section(".got", 1, 3, 0x1020, vec![0; 0x20]),
    ];
    let program = loaded(&elf);
    let name = |at| program.functions.at(Address::ram(at)).map(|_| ());
    assert_eq!(program.function_name(Address::ram(0x1000)), "two");
    assert_eq!(program.function_name(Address::ram(0x1008)), ".two");
    let first = program.functions.at(Address::ram(0x1000)).expect("a function");
    assert_eq!(first.thunk_of, Some(Address::ram(0x1008)));
    assert!(name(0x1018).is_none(), "the other function has one entry");
    let base = program.symbols.named("TOC_BASE").next().map(|(_, s)| s.address);
    assert_eq!(base, Some(Address::ram(0x9020)));
}

#[test]
fn stubs_are_named_by_the_pointers_that_their_callers_lead_them_to() {
    let mut elf = Elf { big: true, ..Elf::new(false, 2, PPC) };
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    symbols.extend(elf.symbol(1, 0, 0, 0x12, 0));
    symbols.extend(elf.symbol(6, 0, 0, 0x12, 0));
    let code = [
        0x429f_0005, // 1000 bcl 20,31,1004
        0x93c1_0008, // 1004 stw r30,8(r1)
        0x7fc8_02a6, // 1008 mflr r30
        0x3fde_0001, // 100c addis r30,r30,1
        0x3bde_8ffc, // 1010 addi r30,r30,-7004h (a000)
        0x4800_0011, // 1014 bl 1024
        0x4800_001d, // 1018 bl 1034
        0x4800_002d, // 101c bl 1048
        0x4e80_0020, // 1020 blr
        0x817e_8000, // 1024 lwz r11,-8000h(r30) (2000)
        0x7d69_03a6, // 1028 mtctr r11
        0x4e80_0420, // 102c bctr
        0x6000_0000, // 1030 nop
        0x3d7e_0000, // 1034 addis r11,r30,0
        0x816b_8004, // 1038 lwz r11,-7ffch(r11) (2004)
        0x7d69_03a6, // 103c mtctr r11
        0x4e80_0420, // 1040 bctr
        0x6000_0000, // 1044 nop
        0x817e_9000, // 1048 lwz r11,-7000h(r30) (3000: no slot)
        0x7d69_03a6, // 104c mtctr r11
        0x4e80_0420, // 1050 bctr
    ];
    let text: Vec<u8> = code.iter().flat_map(|word: &u32| word.to_be_bytes()).collect();
    let mut relocs = elf.reloc(0x2000, 1, 21, Some(0));
    relocs.extend(elf.reloc(0x2004, 2, 21, Some(0)));
    elf.sections = vec![
        section(".text", 1, 6, 0x1000, text),
        section(".plt", 1, 3, 0x2000, vec![0; 8]),
        section(".dynstr", 3, 2, 0x4100, b"\0puts\0exit\0".to_vec()),
        Section { link: 3, entry_size: 16, ..section(".dynsym", 11, 2, 0x4200, symbols) },
        Section { link: 4, entry_size: 12, ..section(".rela.plt", 4, 2, 0x4300, relocs) },
    ];
    let program = loaded(&elf);
    let stub = program.functions.at(Address::ram(0x1024)).expect("a stub");
    let target = stub.thunk_of.expect("it passes on");
    assert_eq!(target.space, SpaceId::EXTERNAL);
    assert_eq!(program.function_name(stub.entry), "puts");
    assert_eq!(program.function_name(Address::ram(0x1034)), "exit");
    assert!(program.functions.at(Address::ram(0x1048)).is_none(), "no import has that pointer");
}

#[test]
fn descriptors_name_the_functions_that_they_lead_to() {
    let mut elf = Elf { big: true, flags: 1, entry: 0x2018, ..Elf::new(true, 2, PPC64) };
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    symbols.extend(elf.symbol(1, 0x2000, 0x18, 0x12, 4));
    let table: [u64; 9] = [0x1000, 0x9000, 0, 0x1010, 0x9000, 0, 0x1018, 0x9000, 0];
    elf.sections = vec![
        section(".strtab", 3, 0, 0, b"\0one\0".to_vec()),
        Section { link: 1, entry_size: 24, ..section(".symtab", 2, 0, 0, symbols) },
        section(".text", 1, 6, 0x1000, vec![0; 0x20]),
        section(".opd", 1, 3, 0x2000, table.iter().flat_map(|word| word.to_be_bytes()).collect()),
    ];
    let program = loaded(&elf);
    let name = |at| {
        let symbol = program.symbols.primary_at(Address::ram(at)).map(|(_, s)| s);
        symbol.map(|s| (s.name.to_string(), s.kind == SymbolKind::Function))
    };
    let function = |name: &str| Some((name.to_owned(), true));
    assert_eq!(name(0x1000), function("one"));
    assert_eq!(name(0x1010), function("entry"));
    assert_eq!(name(0x1018), function(".opd.FUN_00001018"));
    assert_eq!(name(0x2000), None, "a descriptor is no function");
    let leads = program.references.from(Address::ram(0x2018)).next().map(|r| r.to);
    assert_eq!(leads, Some(Address::ram(0x1010)));
}
