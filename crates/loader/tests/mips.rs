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

#[test]
fn options_tell_the_base_that_distances_were_stored_with() {
    const MIPS: u16 = 8;
    let elf = Elf { big: true, ..Elf::new(true, 1, MIPS) };
    // Padding of 16 bytes, then register information; its last number is the base.
    let mut options = vec![3, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 40];
    options.resize(16 + 32, 0);
    options.extend(0x1234u64.to_be_bytes());
    let section =
        |name, kind, flags, data| Section { name, kind, flags, data, ..Section::default() };
    let sections = vec![
        section(".text", 1, 6, vec![0; 16]),
        section(".MIPS.options", 0x7000_000d, 2, options),
    ];
    let program = load("t", "t", Elf { sections, ..elf }.build().into(), &LoadOptions::default());
    let program = program.expect("it loads");
    let named = program.symbols.named("_mips_gp0_value").next().map(|(_, s)| s.address);
    assert_eq!(named, Some(Address::ram(0x1234)));
    let start = program.memory.block_named(".MIPS.options").expect("a block").start;
    let lengths = [0, 8, 16, 24].map(|at| {
        let unit = program.listing.data.get(&start.wrapping_add(at)).expect("data");
        program.types.length(unit.data_type)
    });
    assert_eq!(lengths, [Some(8), Some(8), Some(8), Some(32)]);
}
