//! What analysis finds in MIPS code, with its delay slots. The assembly stands beside its words.

use program::Address;

use crate::image::{Image, destinations};

/// An interpreter of single bytes: a switch in a loop, as GCC compiles it.
const INTERPRETER: [u32; 36] = [
    0x18a0_0014, // 1000 blez a1,1054
    0x2402_ffff, // 1004 li v0,-1
    0x3c09_0000, // 1008 lui t1,0x0
    0x0000_3025, // 100c move a2,zero
    0x0000_1025, // 1010 move v0,zero
    0x2529_2000, // 1014 addiu t1,t1,8192
    0x0086_3821, // 1018 addu a3,a0,a2
    0x90e3_0000, // 101c lbu v1,0(a3)
    0x2c68_0006, // 1020 sltiu t0,v1,6
    0x1100_000a, // 1024 beqz t0,1050
    0x0003_1880, // 1028 sll v1,v1,0x2
    0x0123_1821, // 102c addu v1,t1,v1
    0x8c63_0000, // 1030 lw v1,0(v1)
    0x0060_0008, // 1034 jr v1
    0x0000_0000, // 1038 nop
    0x0002_1023, // 103c negu v0,v0
    0x24c6_0001, // 1040 addiu a2,a2,1
    0x00c5_182a, // 1044 slt v1,a2,a1
    0x1460_fff4, // 1048 bnez v1,101c
    0x0086_3821, // 104c addu a3,a0,a2
    0x2402_ffff, // 1050 li v0,-1
    0x03e0_0008, // 1054 jr ra
    0x0000_0000, // 1058 nop
    0x0002_1040, // 105c sll v0,v0,0x1
    0x1000_fff8, // 1060 b 1044
    0x24c6_0001, // 1064 addiu a2,a2,1
    0x2442_ffff, // 1068 addiu v0,v0,-1
    0x1000_fff5, // 106c b 1044
    0x24c6_0001, // 1070 addiu a2,a2,1
    0x2442_0001, // 1074 addiu v0,v0,1
    0x1000_fff2, // 1078 b 1044
    0x24c6_0001, // 107c addiu a2,a2,1
    0x90e3_0001, // 1080 lbu v1,1(a3)
    0x2463_0002, // 1084 addiu v1,v1,2
    0x1000_ffee, // 1088 b 1044
    0x00c3_3021, // 108c addu a2,a2,v1
];
const TABLE: [u32; 6] = [0x1054, 0x1074, 0x1068, 0x105c, 0x103c, 0x1080];

fn big(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

#[test]
fn cases_of_a_switch_in_a_loop_are_named_by_their_values() {
    let mut image = Image::new("MIPS:BE:32:default", "default");
    image.block(".text", 0x1000, &big(&INTERPRETER), true);
    image.block(".rodata", 0x2000, &big(&TABLE), false);
    image.entry(0x1000);
    let program = image.analysed();
    let mut wanted = TABLE.map(u64::from);
    wanted.sort_unstable();
    assert_eq!(destinations(&program, 0x1034), wanted);
    let named = |at| program.symbols.at(Address::ram(at)).map(|(_, s)| s.name.to_string());
    for (value, target) in TABLE.iter().enumerate() {
        let name = format!("caseD_{value:x}");
        assert!(named(u64::from(*target)).any(|found| found == name), "{name}");
    }
    assert!(named(0x1050).any(|name| name == "default"));
}
