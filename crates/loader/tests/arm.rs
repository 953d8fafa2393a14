//! ARM files: what mapping symbols say about the bytes behind them.

mod make;

use loader::{LoadOptions, load};
use make::{Elf, Section, Segment};
use program::Address;

#[test]
fn a_mark_of_data_defines_one_byte_of_it() {
    const ARM: u16 = 40;
    let mut elf = Elf::new(false, 2, ARM);
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    symbols.extend(elf.symbol(1, 0x1000, 0, 0, 3));
    symbols.extend(elf.symbol(4, 0x1008, 0, 0, 3));
    elf.segments.push(Segment {
        kind: 1,
        flags: 5,
        offset: 0,
        address: 0x1000,
        file_size: 0x20,
        memory_size: 0x20,
    });
    let section = |name, kind, flags, address, data: Vec<u8>, link| {
        let entry_size = if kind == 2 { 16 } else { 0 };
        Section { name, kind, flags, address, data, link, entry_size, ..Section::default() }
    };
    elf.sections = vec![
        section(".strtab", 3, 0, 0, b"\0$a\0$d.1\0".to_vec(), 0),
        section(".symtab", 2, 0, 0, symbols, 1),
        section(".text", 1, 6, 0x1000, vec![0; 0x20], 0),
    ];
    let program = load("t", "t", elf.build().into(), &LoadOptions::default()).expect("it loads");
    let unit = program.listing.data.get(&Address::ram(0x1008)).expect("data");
    assert_eq!((unit.length, program.types.is_undefined(unit.data_type)), (1, true));
    assert!(program.listing.data.get(&Address::ram(0x1000)).is_none());
    assert_eq!(program.symbols.named("$d.1").count(), 0);
}

#[test]
fn an_odd_entry_says_that_thumb_code_is_there_and_nothing_of_what_follows() {
    const ARM: u16 = 40;
    let mut elf = Elf::new(false, 2, ARM);
    elf.entry = 0x1005;
    elf.segments.push(Segment {
        kind: 1,
        flags: 5,
        offset: 0,
        address: 0x1000,
        file_size: 0x20,
        memory_size: 0x20,
    });
    let text = vec![0; 0x20];
    let text = Section {
        name: ".text",
        kind: 1,
        flags: 6,
        address: 0x1000,
        data: text,
        ..Section::default()
    };
    elf.sections = vec![text];
    let program = load("t", "t", elf.build().into(), &LoadOptions::default()).expect("it loads");
    let modes = [0x1000, 0x1004, 0x1010].map(|at| program.mode_at(Address::ram(at)));
    assert_eq!(modes, [0, 1, 0]);
}
