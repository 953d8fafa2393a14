//! MIPS files: what imported functions' stubs are called.

mod make;

use loader::{LoadOptions, load};
use make::{Elf, Section, Segment};
use program::{Address, SpaceId};

#[test]
fn stubs_stand_for_the_functions_whose_symbols_have_their_place() {
    const MIPS: u16 = 8;
    let mut elf = Elf { big: true, ..Elf::new(false, 3, MIPS) };
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    symbols.extend(elf.symbol(1, 0x1010, 0, 0x12, 0));
    symbols.extend(elf.symbol(6, 0, 0, 0x12, 0));
    symbols.extend(elf.symbol(11, 0x9999_0000, 0, 0x12, 0));
    let section = |name, kind, flags, address, data: Vec<u8>, link| {
        let entry_size = if kind == 11 { 16 } else { 0 };
        Section { name, kind, flags, address, data, link, entry_size, ..Section::default() }
    };
    elf.segments.push(Segment {
        kind: 1,
        flags: 5,
        offset: 0,
        address: 0x1000,
        file_size: 0x20,
        memory_size: 0x20,
    });
    elf.sections = vec![
        section(".dynstr", 3, 2, 0x2100, b"\0puts\0exit\0far\0".to_vec(), 0),
        section(".dynsym", 11, 2, 0x2200, symbols, 1),
        section(".MIPS.stubs", 1, 6, 0x1000, vec![0; 0x20], 0),
    ];
    let program = load("t", "t", elf.build().into(), &LoadOptions::default()).expect("it loads");
    let stubs = program.memory.block_named(".MIPS.stubs").expect("a block").start;
    let stub = program.functions.at(stubs.wrapping_add(0x10)).expect("a stub");
    let target = stub.thunk_of.expect("it passes on");
    assert_eq!(target.space, SpaceId::EXTERNAL);
    assert_eq!(program.function_name(target), "puts");
    assert_eq!(program.function_name(stub.entry), "puts");
    assert!(program.functions.at(Address::ram(0x9999_0000)).is_none());
    assert!(program.functions.at(stubs).is_none());
}

#[test]
fn pointers_of_the_offset_table_may_lead_out_of_memory() {
    const MIPS: u16 = 8;
    let mut elf = Elf { big: true, ..Elf::new(false, 2, MIPS) };
    let table = [0x8000_0000u32, 0, u32::MAX, 0x2004];
    let section = |name, address, data: Vec<u8>| {
        let (kind, flags) = (1, 3);
        Section { name, kind, flags, address, data, ..Section::default() }
    };
    elf.segments.push(Segment {
        kind: 1,
        flags: 6,
        offset: elf.body_offset(),
        address: 0x2000,
        file_size: 16,
        memory_size: 16,
    });
    let bytes = table.iter().flat_map(|word| word.to_be_bytes()).collect();
    elf.sections = vec![section(".got", 0x2000, bytes)];
    let program = load("t", "t", elf.build().into(), &LoadOptions::default()).expect("it loads");
    let leads: Vec<Option<u64>> = [0x2000, 0x2004, 0x2008, 0x200c]
        .map(|at| program.references.from(Address::ram(at)).next().map(|r| r.to.offset))
        .into();
    assert_eq!(leads, [Some(0x8000_0000), None, None, Some(0x2004)]);
}
