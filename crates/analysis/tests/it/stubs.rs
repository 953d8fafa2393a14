//! Linkage stubs of several processors, and code that jumps to them. The assembly stands beside its
//! bytes.

use program::{Address, AddressSet, FlowType, RefType};

use crate::image::{Image, bytes};

fn little(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A table of ARM: its head, the word that the head reads, two stubs.
const ARM_TABLE: [u32; 11] = [
    0xe52d_e004, // 2000 str lr,[sp,#-4]!
    0xe59f_e004, // 2004 ldr lr,[2010]
    0xe08f_e00e, // 2008 add lr,pc,lr
    0xe5be_f008, // 200c ldr pc,[lr,#8]!
    0xe1a0_0000, // 2010 a distance that could be decoded
    0xe28f_c600, // 2014 adr r12,201c
    0xe28c_ca01, // 2018 add r12,r12,#1000h
    0xe5bc_f0e4, // 201c ldr pc,[r12,#e4h]! (3100)
    0xe28f_c600, // 2020 adr r12,2028
    0xe28c_ca01, // 2024 add r12,r12,#1000h
    0xe5bc_f0dc, // 2028 ldr pc,[r12,#dch]! (3104)
];
/// Calls the first stub, and jumps to the second.
const ARM_CODE: [u32; 6] = [
    0xe92d_4008, // 1000 push {r3,lr}
    0xeb00_0402, // 1004 bl 2014
    0xe350_0000, // 1008 cmp r0,#0
    0x18bd_8008, // 100c popne {r3,pc}
    0xe8bd_4008, // 1010 pop {r3,lr}
    0xea00_0401, // 1014 b 2020
];

fn arm() -> program::Program {
    let mut image = Image::new("ARM:LE:32:v8", "default");
    image.block(".text", 0x1000, &little(&ARM_CODE), true);
    image.block(".plt", 0x2000, &little(&ARM_TABLE), true);
    image.block(".got", 0x3100, &little(&[0x4000, 0x4004]), false);
    image.imports(0x4000, &[0x4000, 0x4004]);
    let undefined = image.program.types.undefined(1);
    assert!(image.program.define_data(Address::ram(0x2010), undefined, 1));
    image.entry(0x1000);
    image.analysed()
}

#[test]
fn stubs_of_arm_are_functions_only_where_they_are_called() {
    let program = arm();
    let is_function = |at| program.functions.at(Address::ram(at)).is_some();
    assert!(is_function(0x1000) && is_function(0x2014));
    assert!(!is_function(0x2000), "the head of the table");
    assert!(!is_function(0x2020), "a stub that is only jumped to");
    let body = &program.functions.at(Address::ram(0x1000)).expect("a function").body;
    assert!(body.contains(Address::ram(0x2028)), "it is a part of what jumps to it");
    assert!(program.listing.instructions.contains_key(&Address::ram(0x2000)));
    assert!(!program.listing.instructions.contains_key(&Address::ram(0x2010)), "it is data");
}

#[test]
fn a_stub_inside_of_a_function_ends_it() {
    let program = arm();
    let leads = |from, to| {
        let found = program.references.from(Address::ram(from));
        found.filter(|r| r.to == Address::ram(to)).map(|r| r.info.kind).collect::<Vec<_>>()
    };
    assert_eq!(leads(0x2028, 0x4004), [RefType::Flow(FlowType::ComputedCallTerminator)]);
    assert_eq!(leads(0x201c, 0x4000), [RefType::Flow(FlowType::ComputedCall)]);
}

/// A stub of 64-bit PowerPC saves the base of the table of pointers and takes one from there.
const POWERPC_TABLE: [u32; 4] = [
    0xf841_0018, // 2000 std r2,24(r1)
    0xe982_8100, // 2004 ld r12,-7f00h(r2) (3100)
    0x7d89_03a6, // 2008 mtctr r12
    0x4e80_0420, // 200c bctr
];
/// Finds the base by its own address, and calls the stub.
const POWERPC_CODE: [u32; 9] = [
    0x3c4c_0001, // 1000 addis r2,r12,1
    0x3842_a000, // 1004 addi r2,r2,-6000h (b000)
    0x7c08_02a6, // 1008 mflr r0
    0xf801_0010, // 100c std r0,16(r1)
    0xe862_8108, // 1010 ld r3,-7ef8h(r2) (3108)
    0x4800_0fed, // 1014 bl 2000
    0xe841_0018, // 1018 ld r2,24(r1)
    0x4e80_0020, // 101c blr
    0x6000_0000, // 1020 nop
];

#[test]
fn stubs_of_powerpc_find_their_pointers_by_the_base_of_the_table() {
    let mut image = Image::new("PowerPC:LE:64:default", "default");
    image.block(".text", 0x1000, &little(&POWERPC_CODE), true);
    image.block(".stubs", 0x2000, &little(&POWERPC_TABLE), true);
    let pointers: Vec<u8> = [0x4000u64, 0x1234].iter().flat_map(|p| p.to_le_bytes()).collect();
    image.block(".got", 0x3100, &pointers, false);
    image.imports(0x4000, &[0x4000]);
    let global = program::SymbolId::GLOBAL;
    let source = program::SourceType::Imported;
    image.program.add_label(Address::ram(0xb000), "TOC_BASE", global, source);
    image.entry(0x1000);
    let program = image.analysed();
    let stub = program.functions.at(Address::ram(0x2000)).expect("a stub");
    assert_eq!(stub.thunk_of, Some(Address::ram(0x4000)));
    let read = program.references.from(Address::ram(0x1010)).find(|r| r.info.kind == RefType::Read);
    assert_eq!(read.map(|r| r.to), Some(Address::ram(0x3108)));
}

/// As a Mach-O file is loaded: the pointer that a stub takes leads to the stub, which stands for the
/// imported function.
#[test]
fn a_stub_whose_pointer_leads_back_to_it_returns() {
    // 1000 call 1010; xor eax,eax; ret; fillers   1010 jmp [2000]
    let code = "e8 0b 00 00 00 31 c0 c3 cc cc cc cc cc cc cc cc  ff 25 ea 0f 00 00";
    let mut image = Image::new("x86:LE:64:default", "gcc");
    image.block("__text", 0x1000, &bytes(code), true);
    image.block("__la_symbol_ptr", 0x2000, &0x1010u64.to_le_bytes(), false);
    let import = Address::external(1);
    image.program.add_function(import, AddressSet::new());
    image.program.add_function(Address::ram(0x1010), AddressSet::new());
    image.program.functions.edit(Address::ram(0x1010), |stub| stub.thunk_of = Some(import));
    image.entry(0x1000);
    let program = image.analysed();
    let function = |at| program.functions.at(Address::ram(at)).expect("a function");
    assert!(!function(0x1010).no_return && !function(0x1000).no_return);
    assert_eq!(function(0x1000).body.len(), 8);
}

#[test]
fn fillers_behind_the_head_of_a_table_of_aarch64_are_code() {
    let table = [
        0xa9bf_7bf0, // 2000 stp x16,x30,[sp,#-16]!
        0xb000_0010, // 2004 adrp x16,3000
        0xf940_0211, // 2008 ldr x17,[x16]
        0x9100_0210, // 200c add x16,x16,#0
        0xd61f_0220, // 2010 br x17
        0xd503_201f, // 2014 nop
        0xd503_201f, // 2018 nop
        0xd503_201f, // 201c nop
        0xb000_0010, // 2020 adrp x16,3000
        0xf940_0611, // 2024 ldr x17,[x16,#8]
        0x9100_2210, // 2028 add x16,x16,#8
        0xd61f_0220, // 202c br x17
    ];
    let mut image = Image::new("AARCH64:LE:64:v8A", "default");
    image.block(".plt", 0x2000, &little(&table), true);
    let slots: Vec<u8> = [0u64, 0x4000].iter().flat_map(|slot| slot.to_le_bytes()).collect();
    image.block(".got", 0x3000, &slots, false);
    image.imports(0x4000, &[0x4000]);
    let program = image.analysed();
    let is_code = |at| program.listing.instructions.contains_key(&Address::ram(at));
    assert!([0x2014, 0x2018, 0x201c, 0x2020].into_iter().all(is_code));
    let is_function = |at| program.functions.at(Address::ram(at)).is_some();
    assert!(is_function(0x2020) && !is_function(0x2014));
}

/// Thumb code reaches a stub of ARM code by `bx pc`; the pointer leads to Thumb code of the program's
/// own, by an odd number.
#[test]
fn stubs_between_thumb_and_arm_pass_on_to_the_program_s_own_functions() {
    let thumb = |halves: &[u16]| halves.iter().flat_map(|h| h.to_le_bytes()).collect::<Vec<u8>>();
    // 1000 push {r3,lr}; bl 2000; pop {r3,pc}   1010 adds r0,#1; bx lr
    let mut code = thumb(&[0xb508, 0xf000, 0xfffd, 0xbd08]);
    code.resize(0x10, 0);
    code.extend(thumb(&[0x3001, 0x4770]));
    // 2000 bx pc; nop   2004 adr r12,200c; add r12,r12,#1000h; ldr pc,[r12,#f4h]!
    let mut stub = thumb(&[0x4778, 0x46c0]);
    stub.extend(little(&[0xe28f_c600, 0xe28c_ca01, 0xe5bc_f0f4]));
    let mut image = Image::new("ARM:LE:32:v8", "default");
    image.block(".text", 0x1000, &code, true);
    image.block(".plt", 0x2000, &stub, true);
    image.block(".got", 0x3100, &little(&[0x1011]), false);
    let start = Address::ram(0x1000);
    image.program.set_mode(program::AddressRange { start, end: start }, 1);
    image.entry(0x1000);
    let program = image.analysed();
    let passes_on = |at| program.functions.at(Address::ram(at)).map(|f| f.thunk_of);
    assert_eq!(passes_on(0x2000), Some(Some(Address::ram(0x2004))));
    assert_eq!(passes_on(0x2004), Some(Some(Address::ram(0x1010))));
    assert_eq!(passes_on(0x1010), Some(None));
    let modes: Vec<u8> = [0x2000, 0x2004, 0x1010]
        .iter()
        .map(|at| program.listing.instructions.get(&Address::ram(*at)).expect("is code").mode)
        .collect();
    assert_eq!(modes, [1, 0, 1]);
}
