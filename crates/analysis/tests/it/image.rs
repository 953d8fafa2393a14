//! Small images of x86-64 code, analysed.

use std::sync::Arc;

use analysis::Monitor;
use decompiler::Language;
use program::{
    Address, BlockSource, DataOrganization, MemoryBlock, Permissions, Program, ProgramInfo, RefType,
};

struct Quiet;

impl Monitor for Quiet {
    fn phase(&mut self, _name: &'static str, _done: usize, _total: usize) {}
    fn progress(&mut self, _fraction: f32) {}
    fn cancelled(&self) -> bool {
        false
    }
    fn publish(&mut self, _program: &Program) {}
}

/// Bytes of two hexadecimal digits each.
pub fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.split_whitespace();
    digits.map(|byte| u8::from_str_radix(byte, 16).expect("is hexadecimal")).collect()
}

/// The analysed program of these blocks; those with an entry in them are code.
pub fn analysed(blocks: &[(u64, Vec<u8>)], entries: &[u64]) -> Program {
    let info = ProgramInfo {
        name: "image".to_owned(),
        language_id: "x86:LE:64:default".to_owned(),
        compiler_spec_id: "gcc".to_owned(),
        address_bits: 64,
        ..ProgramInfo::default()
    };
    let mut program = Program::new(info, false, DataOrganization::default());
    for (start, bytes) in blocks {
        let bytes: Arc<[u8]> = bytes.as_slice().into();
        let length = bytes.len();
        let source = BlockSource::Bytes { bytes, offset: 0, length };
        let name = format!("b{start:x}");
        let mut block = MemoryBlock::new(name, Address::ram(*start), length as u64, source);
        let execute = entries.iter().any(|e| (*start..*start + length as u64).contains(e));
        block.permissions = Permissions { read: true, execute, ..Permissions::default() };
        program.memory.add_block(block).expect("blocks do not overlap");
    }
    for entry in entries {
        program.entry_points.insert(Address::ram(*entry), ());
    }
    let language = Language::open("x86:LE:64:default", "gcc").expect("is built in");
    analysis::run(&mut program, &language, None, &mut Quiet).expect("runs to its end");
    program
}

/// Where a computed jump leads.
pub fn destinations(program: &Program, jump: u64) -> Vec<u64> {
    let found = program.references.from(Address::ram(jump));
    let found = found.filter(|r| matches!(r.info.kind, RefType::Flow(flow) if flow.is_jump()));
    found.map(|reference| reference.to.offset).collect()
}
