//! What analysis finds in ARM code of both kinds, without symbols. The assembly stands beside its
//! bytes.

use program::{Address, Program};

use crate::image::{Image, bytes};

/// Takes the address of Thumb code, with the bit that says so, and hands it to a function.
const TAKER: &str = "04 00 9f e5  01 00 00 eb  1e ff 2f e1  21 10 00 00  1e ff 2f e1 \
     00 00 00 00 00 00 00 00 00 00 00 00";
// 1000 ldr r0,[100c]; bl 1010; bx lr; 1021   1010 bx lr

/// Calls the same code through a pointer.
const CALLER: &str = "10 40 2d e9  04 30 9f e5  33 ff 2f e1  10 80 bd e8  21 10 00 00 \
     00 00 00 00 00 00 00 00 00 00 00 00";
// 1000 push {r4,lr}; ldr r3,[1010]; blx r3; pop {r4,pc}; 1021

const THUMB: &str = "01 20 02 30 70 47  10 b5 04 46 10 bd  00 00 00 00";
// 1020 movs r0,1; adds r0,2; bx lr   1026 push {r4,lr}; mov r4,r0; pop {r4,pc}

fn image(start: &str) -> Program {
    let code = [bytes(start), bytes(THUMB)].concat();
    assert_eq!(code.len(), 0x30);
    let mut image = Image::new("ARM:LE:32:v8", "default");
    image.block(".text", 0x1000, &code, true);
    image.entry(0x1000);
    image.analysed()
}

/// The decoding mode of the instruction at a place.
fn mode(program: &Program, at: u64) -> Option<u8> {
    program.listing.instructions.get(&Address::ram(at)).map(|instruction| instruction.mode)
}

fn is_function(program: &Program, at: u64) -> bool {
    program.functions.at(Address::ram(at)).is_some()
}

#[test]
fn the_lowest_bit_of_an_address_taken_chooses_thumb() {
    let program = image(TAKER);
    assert_eq!([0x1020, 0x1022, 0x1024].map(|at| mode(&program, at)), [Some(1); 3]);
    assert_eq!(mode(&program, 0x1010), Some(0));
    assert!(!is_function(&program, 0x1020), "its address is only taken");
}

#[test]
fn registers_pushed_behind_a_return_begin_a_thumb_function() {
    let program = image(TAKER);
    assert!(is_function(&program, 0x1026));
    assert_eq!(mode(&program, 0x1028), Some(1));
}

#[test]
fn a_call_through_a_pointer_goes_on_in_thumb_code() {
    let program = image(CALLER);
    assert!(is_function(&program, 0x1020));
    assert_eq!(mode(&program, 0x1022), Some(1));
}

#[test]
fn modes_found_by_flow_are_kept_for_the_decompiler() {
    let program = image(CALLER);
    let modes =
        [0x1000, 0x100c, 0x1020, 0x1024, 0x1028].map(|at| program.mode_at(Address::ram(at)));
    assert_eq!(modes, [0, 0, 1, 1, 1]);
}

#[test]
fn frames_behind_returns_begin_functions_on_other_processors() {
    // 1000 li r3,0; blr   1008 stwu r1,-32(r1); mflr r0; stw r0,36(r1); addi r1,r1,32; blr
    let power =
        "38 60 00 00 4e 80 00 20  94 21 ff e0 7c 08 02 a6 90 01 00 24 38 21 00 20 4e 80 00 20";
    // 1000 jr ra; nop   1008 lui gp,1; addiu gp,gp,16; jr ra; nop
    let mips = "03 e0 00 08 00 00 00 00  3c 1c 00 01 27 9c 00 10 03 e0 00 08 00 00 00 00";
    // 1000 mov w0,0; ret   1008 nop; stp x29,x30,[sp,-16]!; mov x29,sp; ldp x29,x30,[sp],16; ret
    let aarch64 =
        "00 00 80 52 c0 03 5f d6  1f 20 03 d5 fd 7b bf a9 fd 03 00 91 fd 7b c1 a8 c0 03 5f d6";
    let programs = [
        ("PowerPC:BE:32:default", power),
        ("MIPS:BE:32:default", mips),
        ("AARCH64:LE:64:v8A", aarch64),
    ];
    for (language, code) in programs {
        let mut image = Image::new(language, "default");
        image.block(".text", 0x1000, &bytes(code), true);
        image.entry(0x1000);
        assert!(is_function(&image.analysed(), 0x1008), "{language}");
    }
}

/// The data at places that code reads: their types and lengths.
fn read_places(language: &str, code: &str, data: &[u8]) -> Vec<Option<(String, u32)>> {
    let mut image = Image::new(language, "default");
    image.block(".text", 0x1000, &bytes(code), true);
    image.block(".data", 0x2000, data, false);
    image.imports(0x4000, &[]);
    let wide = image.program.types.undefined(8);
    assert!(image.program.define_data(Address::ram(0x2010), wide, 8));
    image.entry(0x1000);
    let program = image.analysed();
    let unit = |at| {
        let (_, unit) = program.listing.data_containing(Address::ram(at))?;
        Some((program.types.name(unit.data_type).to_owned(), unit.length))
    };
    vec![unit(0x2000), unit(0x2010), unit(0x4004)]
}

#[test]
fn what_arm_code_reads_gets_the_size_of_the_access() {
    // 1000 ldr r3,[101c]; ldr r0,[r3]; ldr r3,[1020]; ldr r1,[r3]; ldr r3,[1024]; ldr r2,[r3]; bx lr
    let code = "14 30 9f e5 00 00 93 e5 10 30 9f e5 00 10 93 e5 0c 30 9f e5 00 20 93 e5 1e ff 2f e1 \
                00 20 00 00 10 20 00 00 04 40 00 00";
    let mut data = vec![0; 0x20];
    data[..4].copy_from_slice(&0x2018_u32.to_le_bytes());
    let undefined = |length: u32| Some((format!("undefined{length}"), length));
    let found = read_places("ARM:LE:32:v8", code, &data);
    assert_eq!(found[0], undefined(4), "a number at a place that is read is no pointer");
    assert_eq!(found[1], undefined(8), "a symbol says that it is larger");
    assert_eq!(found[2], undefined(4), "an imported variable");
    // adrp x3,2000; ldr x0,[x3]; ret
    data[..8].copy_from_slice(&0x2018_u64.to_le_bytes());
    let found = read_places("AARCH64:LE:64:v8A", "03 00 00 b0 60 00 40 f9 c0 03 5f d6", &data);
    assert_eq!(found[0], Some(("pointer".to_owned(), 8)), "elsewhere it is");
}

#[test]
fn a_table_of_pointers_may_begin_where_the_file_marks_data() {
    let mut image = Image::new("ARM:LE:32:v8", "default");
    image.block(".text", 0x1000, &bytes("1e ff 2f e1 00 00 00 00"), true);
    let words = [0x1000_u32, 0x2010, 0x2014, 0, 0, 0, 0, 0];
    let table: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    image.block(".data", 0x2000, &table, false);
    let byte = image.program.types.undefined(1);
    assert!(image.program.define_data(Address::ram(0x2000), byte, 1));
    image.entry(0x1000);
    let program = image.analysed();
    let length = |at| program.listing.data.get(&Address::ram(at)).map(|unit| unit.length);
    assert_eq!([0x2000, 0x2004, 0x2008].map(length), [Some(4); 3]);
}
