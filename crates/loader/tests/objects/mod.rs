//! Relocations of ELF object files made by the tests: tables of pointers that no linker has made
//! yet, several types at one place, and what remains.

use crate::make::{Elf, Section};
use loader::{LoadOptions, load};
use program::{Address, Program};

const MIPS: u16 = 8;
const PPC64: u16 = 21;
const X86_64: u16 = 62;
/// Flags of sections: in memory and code, in memory and written.
const CODE: u64 = 6;
const DATA: u64 = 3;

/// A section with the relocations of it.
type Part = (&'static str, u64, Vec<u8>, Vec<u8>);

/// An object file of the sections given, which are numbered from 1 on; `relas` says whether their
/// relocations have addends.
fn object(
    mut elf: Elf,
    parts: Vec<Part>,
    symbols: Vec<u8>,
    strings: &[u8],
    relas: bool,
) -> Vec<u8> {
    let count = parts.len() as u32;
    let tables = parts.iter().filter(|part| !part.3.is_empty()).count() as u32;
    let symbols_at = count + tables + 1;
    let word = if elf.wide { 8 } else { 4 };
    let section =
        |name, kind, flags, data| Section { name, kind, flags, data, ..Section::default() };
    let mut relocations = Vec::new();
    for (number, (name, flags, data, list)) in (1..).zip(parts) {
        elf.sections.push(Section { align: 8, ..section(name, 1, flags, data) });
        if !list.is_empty() {
            let kind = if relas { 4 } else { 9 };
            let entry_size = if relas { 3 * word } else { 2 * word };
            let table = section(".relocations", kind, 0, list);
            relocations.push(Section { link: symbols_at, info: number, entry_size, ..table });
        }
    }
    elf.sections.extend(relocations);
    let entry_size = if elf.wide { 24 } else { 16 };
    let table = section(".symtab", 2, 0, symbols);
    elf.sections.push(Section { link: symbols_at + 1, entry_size, ..table });
    elf.sections.push(section(".strtab", 3, 0, strings.to_vec()));
    elf.build()
}

fn open(bytes: Vec<u8>) -> Program {
    load("t", "t", bytes.into(), &LoadOptions::default()).expect("it loads")
}

fn words(big: bool, words: &[u32]) -> Vec<u8> {
    let bytes = |word: &u32| if big { word.to_be_bytes() } else { word.to_le_bytes() };
    words.iter().flat_map(bytes).collect()
}

fn block(program: &Program, name: &str) -> u64 {
    program.memory.block_named(name).unwrap_or_else(|| panic!("no block {name}")).start.offset
}

fn value(program: &Program, at: u64, size: u32) -> u64 {
    program.memory.read_uint(Address::ram(at), size).expect("bytes")
}

/// The lower half of a word as a signed number.
fn low(program: &Program, at: u64) -> i64 {
    i64::from(value(program, at, 4) as u16 as i16)
}

/// The address that two instructions with an upper and a lower half make.
fn joined(program: &Program, upper: u64, lower: u64) -> u64 {
    ((i64::from(value(program, upper, 4) as u16 as i16) << 16) + low(program, lower)) as u64
}

/// Where the function of another file is that bears a name.
fn external(program: &Program, name: &str) -> u64 {
    let mut functions = program.functions.iter().filter(|f| f.thunk_of.is_some());
    let found = functions.find(|f| program.function_name(f.entry) == name);
    found.expect("a function of another file").entry.offset
}

fn warned(program: &Program, text: &str) -> bool {
    program.info.warnings.iter().any(|warning| warning.contains(text))
}

/// A function of MIPS that finds data, a function and one of another file over its table.
fn mips64_file(big: bool) -> Vec<u8> {
    let elf = Elf { big, ..Elf::new(true, 1, MIPS) };
    // The three types of an entry stand in the same order in both kinds of files.
    let reloc = |at: u64, symbol: u32, types: [u32; 3], addend: i64| {
        let kind = types[0] | types[1] << 8 | types[2] << 16;
        let (upper, lower) = if big { (symbol, kind) } else { (kind.swap_bytes(), symbol) };
        elf.reloc(at, upper, lower, Some(addend))
    };
    let code = [
        0x3c1c_0000, // lui gp,%hi(%neg(%gp_rel(f)))
        0x0399_e02d, // daddu gp,gp,t9
        0x679c_0000, // daddiu gp,gp,%lo(%neg(%gp_rel(f)))
        0xdf84_0000, // ld a0,%got_page(.data+8)(gp)
        0x6484_0000, // daddiu a0,a0,%got_ofst(.data+8)
        0xdf99_0000, // ld t9,%call16(far)(gp)
        0x0320_f809, // jalr t9
        0,
        0xdf85_0000, // ld a1,%got_disp(f)(gp)
        0x3c06_0000, // lui a2,%highest(f+9000h)
        0x3c06_0000, // lui a2,%higher(f+9000h)
    ];
    let text: Vec<u8> = [
        reloc(0x00, 2, [7, 24, 5], 0),
        reloc(0x08, 2, [7, 24, 6], 0),
        reloc(0x0c, 1, [20, 0, 0], 8),
        reloc(0x10, 1, [21, 0, 0], 8),
        reloc(0x14, 3, [11, 0, 0], 0),
        reloc(0x18, 3, [37, 0, 0], 0),
        reloc(0x20, 2, [19, 0, 0], 0),
        reloc(0x24, 2, [29, 0, 0], 0),
        reloc(0x28, 2, [28, 0, 0], 0),
    ]
    .concat();
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    symbols.extend(elf.symbol(0, 0, 0, 3, 2));
    symbols.extend(elf.symbol(1, 0, 0x2c, 0x12, 1));
    symbols.extend(elf.symbol(3, 0, 0, 0x10, 0));
    symbols.extend(elf.symbol(0, 0, 0, 3, 1));
    let table = reloc(0, 4, [12, 18, 0], 0x10);
    let thread = reloc(8, 2, [42, 0, 0], 0);
    let parts = vec![
        (".text", CODE, words(big, &code), text),
        (".data", DATA, vec![0; 16], Vec::new()),
        (".rodata", 2, vec![0; 16], [table, thread].concat()),
    ];
    object(elf, parts, symbols, b"\0f\0far\0", true)
}

#[test]
fn mips64_objects_get_a_table_of_pointers_and_its_base() {
    for big in [true, false] {
        let program = open(mips64_file(big));
        let start = block(&program, ".text");
        let base = block(&program, "%got.text") + 0x7ff0;
        assert_eq!(start.wrapping_add(joined(&program, start, start + 8)), base);
        let slot =
            |at: u64| value(&program, base.wrapping_add(low(&program, start + at) as u64), 8);
        let data = slot(0x0c).wrapping_add(low(&program, start + 0x10) as u64);
        assert_eq!(data, block(&program, ".data") + 8);
        let far = external(&program, "far");
        assert_eq!(slot(0x14), far);
        assert_eq!(value(&program, start + 0x18, 4), 0x0c00_0000 | far >> 2, "jal far");
        assert_eq!(slot(0x20), start);
        assert_eq!((low(&program, start + 0x24), low(&program, start + 0x28)), (0, 0));
        let entry = value(&program, block(&program, ".rodata"), 8);
        assert_eq!(entry.wrapping_add(base), start + 0x10, "an entry of a table of jumps");
        assert!(warned(&program, "1 of 11 relocations were not applied: 1 of type 42 at 0010"));
    }
}

#[test]
fn upper_halves_of_mips_objects_wait_for_the_lower_ones() {
    let elf = Elf { big: true, ..Elf::new(false, 1, MIPS) };
    let code = [
        0x3c1c_0000, // lui gp,%hi(_gp_disp)
        0x279c_0000, // addiu gp,gp,%lo(_gp_disp)
        0x8f84_0000, // lw a0,%got(.data+4)(gp)
        0x2484_0004, // addiu a0,a0,%lo(.data+4)
        0x3c05_0001, // lui a1,%hi(.data+1fffch)
        0x24a5_fffc, // addiu a1,a1,%lo(.data+1fffch)
        0x3c06_0000, // lui a2,%hi(f), of which there is no lower half
    ];
    let list = [(0, 3, 5), (4, 3, 6), (8, 1, 9), (12, 1, 6), (16, 1, 5), (20, 1, 6), (24, 2, 5)];
    let list: Vec<u8> =
        list.iter().flat_map(|(at, s, kind)| elf.reloc(*at, *s, *kind, None)).collect();
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    symbols.extend(elf.symbol(0, 0, 0, 3, 2));
    symbols.extend(elf.symbol(1, 0, 0x1c, 0x12, 1));
    symbols.extend(elf.symbol(3, 0, 0, 0x10, 0));
    let parts =
        vec![(".text", CODE, words(true, &code), list), (".data", DATA, vec![0; 16], Vec::new())];
    let program = open(object(elf, parts, symbols, b"\0f\0_gp_disp\0", false));
    let (start, data) = (block(&program, ".text"), block(&program, ".data"));
    let base = block(&program, "%got.text") + 0x7ff0;
    assert_eq!(start + joined(&program, start, start + 4), base);
    let slot = base.wrapping_add(low(&program, start + 8) as u64);
    let page = value(&program, slot, 4);
    assert_eq!(page.wrapping_add(low(&program, start + 12) as u64), data + 4);
    assert_eq!(joined(&program, start + 16, start + 20), data + 0xfffc);
    assert_eq!(value(&program, start + 24, 4), 0x3c06_0000);
    assert!(warned(&program, "1 of 7 relocations were not applied: 1 of type 5 at 00010018 for f"));
}

/// A call of a described function, and a load from the table of pointers.
fn described_file() -> Vec<u8> {
    let elf = Elf { big: true, flags: 1, ..Elf::new(true, 1, PPC64) };
    let code = [
        0x4800_0001, // bl f
        0x6000_0000, // nop
        0x3d22_0000, // addis r9,r2,x@toc@ha
        0xe929_0000, // ld r9,x@toc@l(r9)
        0x4e80_0020, // blr, the code of f
    ];
    let text = [
        elf.reloc(0, 1, 10, Some(0)),
        elf.reloc(10, 2, 50, Some(8)),
        elf.reloc(14, 2, 64, Some(8)),
    ]
    .concat();
    let described = [elf.reloc(0, 3, 38, Some(16)), elf.reloc(8, 0, 51, Some(0))].concat();
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    symbols.extend(elf.symbol(1, 0, 24, 0x12, 3));
    symbols.extend(elf.symbol(0, 0, 0, 3, 2));
    symbols.extend(elf.symbol(0, 0, 0, 3, 1));
    let parts = vec![
        (".text", CODE, words(true, &code), text),
        (".toc", DATA, vec![0; 16], Vec::new()),
        (".opd", DATA, vec![0; 24], described),
    ];
    object(elf, parts, symbols, b"\0f\0", true)
}

#[test]
fn calls_of_described_functions_lead_to_their_code() {
    let program = open(described_file());
    let start = block(&program, ".text");
    assert_eq!(value(&program, start, 4), 0x4800_0011, "bl to the code, not to the descriptor");
    assert_eq!(value(&program, start + 8, 8), 0x3d22_0000_e929_0008, "counted from the table");
    let described = block(&program, ".opd");
    assert_eq!(value(&program, described, 8), start + 16);
    assert_eq!(value(&program, described + 8, 8), block(&program, ".toc"));
    let named = program.symbols.primary_at(Address::ram(start + 16)).map(|(_, s)| &*s.name);
    assert_eq!(named, Some("f"));
    assert!(program.relocations.iter().all(|r| r.applied));
}

#[test]
fn detours_over_pointers_of_x86_64_objects_are_cut_short() {
    let elf = Elf::new(true, 1, X86_64);
    let code = [
        &[0x48, 0x8b, 0x05, 0, 0, 0, 0][..], // 00 mov rax,[far@gotpcrel]
        &[0xff, 0x15, 0, 0, 0, 0],           // 07 call [far@gotpcrel]
        &[0xff, 0x25, 0, 0, 0, 0],           // 0d jmp [far@gotpcrel]
        &[0x48, 0x8d, 0x1d, 0, 0, 0, 0],     // 13 lea rbx,[the table]
        &[0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0], // 1a mov rax,f@gotoff
        &[0x48, 0x3b, 0x05, 0, 0, 0, 0],     // 24 cmp rax,[far@gotpcrel]
        &[0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0], // 2b mov rax,fs:[t@tpoff]
    ]
    .concat();
    let text = [
        elf.reloc(0x03, 2, 42, Some(-4)),
        elf.reloc(0x09, 2, 41, Some(-4)),
        elf.reloc(0x0f, 2, 41, Some(-4)),
        elf.reloc(0x16, 0, 26, Some(-4)),
        elf.reloc(0x1c, 1, 25, Some(0)),
        elf.reloc(0x27, 2, 42, Some(-4)),
        elf.reloc(0x30, 3, 23, Some(0)),
    ]
    .concat();
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    symbols.extend(elf.symbol(1, 4, 8, 0x12, 1));
    symbols.extend(elf.symbol(3, 0, 0, 0x12, 0));
    symbols.extend(elf.symbol(7, 0, 4, 0x16, 2));
    let parts = vec![(".text", CODE, code, text), (".tdata", 0x403, vec![0; 8], Vec::new())];
    let program = open(object(elf, parts, symbols, b"\0f\0far\0t\0", true));
    let (start, far) = (block(&program, ".text"), external(&program, "far"));
    let to = |at: u64| (start + at + 4).wrapping_add(value(&program, start + at, 4) as i32 as u64);
    assert_eq!((value(&program, start + 1, 1), to(3)), (0x8d, far), "lea rax,[far]");
    assert_eq!((value(&program, start + 7, 2), to(9)), (0xe867, far), "call far");
    assert_eq!((value(&program, start + 0xd, 1), to(0xe)), (0xe9, far), "jmp far");
    assert_eq!(value(&program, start + 0x12, 1), 0x90);
    let table = block(&program, "%got");
    assert_eq!(to(0x16), table);
    assert_eq!(table.wrapping_add(value(&program, start + 0x1c, 8)), start + 4);
    assert_eq!(value(&program, to(0x27), 8), far, "what has no shorter form goes over the table");
    assert!(warned(
        &program,
        "1 of 10 relocations were not applied: 1 of type 23 at 00100030 for t"
    ));
}

#[test]
fn small_data_of_powerpc_objects_is_found_by_a_register() {
    let elf = Elf { big: true, ..Elf::new(false, 1, 20) };
    // lwz r3,x@sda21; bl far, for code whose own table is 8000h away
    let text = [elf.reloc(0, 1, 109, Some(0)), elf.reloc(4, 2, 18, Some(0x8000))].concat();
    let mut symbols = elf.symbol(0, 0, 0, 0, 0);
    symbols.extend(elf.symbol(1, 4, 4, 0x11, 2));
    symbols.extend(elf.symbol(3, 0, 0, 0x12, 0));
    let parts = vec![
        (".text", CODE, words(true, &[0x8060_0000, 0x4800_0001]), text),
        (".sdata", DATA, vec![0; 8], Vec::new()),
    ];
    let program = open(object(elf, parts, symbols, b"\0x\0far\0", true));
    let start = block(&program, ".text");
    assert_eq!(value(&program, start, 4), 0x806d_0004, "lwz r3,4(r13)");
    let base = program.symbols.named("_SDA_BASE_").next().map(|(_, s)| s.address.offset);
    assert_eq!(base, Some(block(&program, ".sdata")));
    let far = external(&program, "far");
    assert_eq!(value(&program, start + 4, 4), 0x4800_0001 | (far - (start + 4)));
}

#[test]
fn huge_numbers_in_any_field_stay_harmless() {
    for good in [mips64_file(true), mips64_file(false), described_file()] {
        for at in (0..good.len() - 4).step_by(2) {
            for pattern in [1u32, 0x7fff_ffff, u32::MAX] {
                let mut bytes = good.clone();
                bytes[at..at + 4].copy_from_slice(&pattern.to_le_bytes());
                if let Ok(program) = load("t", "t", bytes.into(), &LoadOptions::default()) {
                    assert!(program.symbols.len() < 200, "at {at:#x} with {pattern:#x}");
                    assert!(program.relocations.len() <= good.len());
                }
            }
        }
    }
}

#[test]
fn pointers_of_further_processors_are_filled_in() {
    // Machine, wide, big, and the types of a pointer, a distance and of something else.
    let machines = [
        (4, false, true, 1, Some(4), 43),  // 68000
        (2, false, true, 3, Some(6), 7),   // SPARC
        (43, true, true, 32, None, 7),     // SPARC with 64 bits
        (42, false, false, 1, Some(2), 3), // SuperH
        (94, false, false, 1, None, 20),   // Xtensa
        (164, false, false, 6, None, 1),   // Hexagon
        (258, true, false, 2, None, 66),   // LoongArch
        (15, false, true, 1, None, 3),     // PA-RISC
    ];
    for (machine, wide, big, pointer, distance, other) in machines {
        let elf = Elf { big, ..Elf::new(wide, 1, machine) };
        let size = if wide { 8 } else { 4 };
        let mut list = elf.reloc(0, 1, pointer, Some(0x10));
        list.extend(elf.reloc(8, 1, distance.unwrap_or(other), Some(4)));
        list.extend(elf.reloc(16, 1, other, Some(0)));
        let mut symbols = elf.symbol(0, 0, 0, 0, 0);
        symbols.extend(elf.symbol(1, 4, 0, 0x11, 1));
        let parts = vec![(".data", DATA, vec![0xff; 32], list)];
        let program = open(object(elf, parts, symbols, b"\0x\0", true));
        let data = block(&program, ".data");
        assert_eq!(value(&program, data, size), data + 0x14, "machine {machine}");
        if distance.is_some() {
            assert_eq!(value(&program, data + 8, 4), 0, "machine {machine}");
        }
        let left = if distance.is_some() { 1 } else { 2 };
        assert!(
            warned(&program, &format!("{left} of 3 relocations were not applied")),
            "{machine}"
        );
    }
}

#[test]
fn slots_of_further_processors_take_one_pointer_whatever_stood_there() {
    // Machine, byte order, type: LoongArch with 32 bits, 68000, SuperH.
    for (machine, big, kind) in [(258, false, 5), (4, true, 21), (42, false, 164)] {
        for addend in [Some(0), None] {
            let elf = Elf { big, ..Elf::new(false, 1, machine) };
            let list = elf.reloc(0, 1, kind, addend);
            let mut symbols = elf.symbol(0, 0, 0, 0, 0);
            symbols.extend(elf.symbol(1, 4, 0, 0x11, 1));
            let parts = vec![(".data", DATA, vec![0x11; 16], list)];
            let program = open(object(elf, parts, symbols, b"\0x\0", addend.is_some()));
            let data = block(&program, ".data");
            assert_eq!(value(&program, data, 4), data + 4, "machine {machine} {addend:?}");
            assert_eq!(value(&program, data + 4, 4), 0x1111_1111, "machine {machine}");
        }
    }
}
