//! Jump tables in small hand-made functions, whose assembly stands beside their bytes.

use std::sync::Arc;

use analysis::Monitor;
use decompiler::Language;
use program::{
    Address, BlockSource, DataOrganization, MemoryBlock, Permissions, Program, ProgramInfo, RefType,
};

/// The address of the table stays in a register over a loop that calls another function.
const KEPT: (u64, &str) = (
    0x1000,
    "41 55  4c 8d 2d f7 0f 00 00 \
     e8 32 00 00 00  83 e8 61  83 f8 03  77 13  49 63 44 85 00  4c 01 e8  ff e0  \
     90 eb e6  90 90 eb e2  eb e0  41 5d c3",
    // 1000 push r13; lea r13,[2000]
    // 1009 call 1040; sub eax,61h; cmp eax,3; ja 1029; movsxd rax,[r13+rax*4]; add rax,r13; 101e jmp rax
    // 1020 nop; jmp 1009   1023 nop; nop; jmp 1009   1027 jmp 1009   1029 pop r13; ret
);
/// What the loop calls: `mov eax,[rdi]; ret`.
const CALLED: (u64, &str) = (0x1040, "8b 07 c3");
/// The index runs from -5 to -1.
const NEGATIVE: (u64, &str) = (
    0x1060,
    "8d 47 05  83 ff fb  72 1c  48 8d 15 a1 0f 00 00  48 63 04 82  48 01 d0  ff e0 \
     b8 01 00 00 00 c3  b8 02 00 00 00 c3  31 c0 c3",
    // lea eax,[rdi+5]; cmp edi,-5; jb 1084; lea rdx,[2010]; movsxd rax,[rdx+rax*4]; add rax,rdx
    // 1076 jmp rax   1078 mov eax,1; ret   107e mov eax,2; ret   1084 xor eax,eax; ret
);
/// Nothing bounds the index.
const UNGUARDED: (u64, &str) = (
    0x10a0,
    "48 8d 15 69 0f 00 00  89 ff  48 63 04 ba  48 01 d0  ff e0",
    // lea rdx,[2010]; mov edi,edi; movsxd rax,[rdx+rdi*4]; add rax,rdx; 10b0 jmp rax
);
/// A case of the table ends in a jump through a pointer.
const NESTED: (u64, &str) = (
    0x10c0,
    "83 ff 03  77 1a  48 8d 15 64 0f 00 00  89 ff  48 63 04 ba  48 01 d0  ff e0 \
     48 8b 06 ff e0  31 c0 c3  31 c0 c3",
    // cmp edi,3; ja 10df; lea rdx,[2030]; mov edi,edi; movsxd rax,[rdx+rdi*4]; add rax,rdx
    // 10d5 jmp rax   10d7 mov rax,[rsi]; jmp rax   10dc xor eax,eax; ret   10df xor eax,eax; ret
);
/// Passes on to what a pointer leads to: `mov rax,[rdi]; jmp rax`.
const PASSES_ON: (u64, &str) = (0x1100, "48 8b 07 ff e0");
/// Distances from 2000 to 1020, 1023, 1027, 1020; from 2010 to 1078, 107e, 1078, 107e, 107e;
/// from 2030 to 10d7, 10dc, 10d7, 10dc.
const TABLES: (u64, &str) = (
    0x2000,
    "20 f0 ff ff 23 f0 ff ff 27 f0 ff ff 20 f0 ff ff \
     68 f0 ff ff 6e f0 ff ff 68 f0 ff ff 6e f0 ff ff 6e f0 ff ff 00 00 00 00 00 00 00 00 00 00 00 00 \
     a7 f0 ff ff ac f0 ff ff a7 f0 ff ff ac f0 ff ff",
);

struct Quiet;

impl Monitor for Quiet {
    fn phase(&mut self, _name: &'static str, _done: usize, _total: usize) {}
    fn progress(&mut self, _fraction: f32) {}
    fn cancelled(&self) -> bool {
        false
    }
    fn publish(&mut self, _program: &Program) {}
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.split_whitespace();
    digits.map(|byte| u8::from_str_radix(byte, 16).expect("is hexadecimal")).collect()
}

fn analysed() -> Program {
    let info = ProgramInfo {
        name: "tables".to_owned(),
        language_id: "x86:LE:64:default".to_owned(),
        compiler_spec_id: "gcc".to_owned(),
        address_bits: 64,
        ..ProgramInfo::default()
    };
    let mut program = Program::new(info, false, DataOrganization::default());
    for (start, hex) in [KEPT, CALLED, NEGATIVE, UNGUARDED, NESTED, PASSES_ON, TABLES] {
        let bytes: Arc<[u8]> = bytes(hex).into();
        let length = bytes.len();
        let source = BlockSource::Bytes { bytes, offset: 0, length };
        let mut block =
            MemoryBlock::new(format!("b{start:x}"), Address::ram(start), length as u64, source);
        block.permissions =
            Permissions { read: true, execute: start != TABLES.0, ..Permissions::default() };
        program.memory.add_block(block).expect("blocks do not overlap");
        if start != TABLES.0 {
            program.entry_points.insert(Address::ram(start), ());
        }
    }
    let language = Language::open("x86:LE:64:default", "gcc").expect("is built in");
    analysis::run(&mut program, &language, None, &mut Quiet).expect("runs to its end");
    program
}

/// Where a computed jump leads.
fn destinations(program: &Program, jump: u64) -> Vec<u64> {
    let found = program.references.from(Address::ram(jump));
    let found = found.filter(|r| matches!(r.info.kind, RefType::Flow(flow) if flow.is_jump()));
    found.map(|reference| reference.to.offset).collect()
}

#[test]
fn a_table_is_found_whose_address_a_register_keeps_over_calls() {
    let program = analysed();
    assert_eq!(destinations(&program, 0x101e), [0x1020, 0x1023, 0x1027]);
    for case in [0x1020, 0x1023, 0x1027] {
        assert!(program.listing.instructions.contains_key(&Address::ram(case)), "{case:x}");
    }
}

#[test]
fn a_table_is_found_whose_index_starts_below_zero() {
    let program = analysed();
    assert_eq!(destinations(&program, 0x1076), [0x1078, 0x107e]);
    let name = program.label_at(Address::ram(0x1078)).unwrap_or_default();
    assert_eq!(name, "caseD_fffffffb");
}

#[test]
fn no_table_is_made_up_where_nothing_bounds_the_index() {
    assert_eq!(destinations(&analysed(), 0x10b0), [0u64; 0]);
}

#[test]
fn a_function_that_passes_on_to_a_pointer_returns_while_other_jumps_are_looked_at() {
    let program = analysed();
    assert_eq!(destinations(&program, 0x10d5), [0x10d7, 0x10dc]);
    for entry in [NESTED.0, PASSES_ON.0] {
        let function = program.functions.at(Address::ram(entry)).expect("is an entry");
        assert!(!function.no_return, "{entry:x}");
    }
}
