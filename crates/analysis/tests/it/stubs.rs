//! Linkage stubs of several processors, and code that jumps to them. The assembly stands beside its
//! bytes.

use program::{Address, FlowType, RefType};

use crate::image::Image;

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
