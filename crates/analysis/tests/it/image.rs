//! Small images of code, analysed.

use analysis::Monitor;
use decompiler::Language;
use program::{
    Address, AddressRange, BlockSource, DataOrganization, MemoryBlock, Permissions, Program,
    ProgramInfo, RefType,
};

/// Nobody watches.
pub struct Quiet;

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

/// A small program to analyse.
pub struct Image {
    pub program: Program,
    language: Language,
}

impl Image {
    /// An empty program of a processor.
    pub fn new(language_id: &str, compiler_spec_id: &str) -> Image {
        let language = Language::open(language_id, compiler_spec_id).expect("is built in");
        let wide = language.pointer_size() == 8;
        let big_endian = language_id.contains(":BE:");
        let info = ProgramInfo {
            name: "image".to_owned(),
            processor: language.processor().to_owned(),
            language_id: language_id.to_owned(),
            compiler_spec_id: compiler_spec_id.to_owned(),
            address_bits: if wide { 64 } else { 32 },
            ..ProgramInfo::default()
        };
        let organization =
            DataOrganization { pointer: if wide { 8 } else { 4 }, ..DataOrganization::default() };
        Image { program: Program::new(info, big_endian, organization), language }
    }

    /// Adds a block that can be read; code can be executed as well.
    pub fn block(&mut self, name: &str, start: u64, bytes: &[u8], execute: bool) {
        let length = bytes.len();
        let source = BlockSource::Bytes { bytes: bytes.into(), offset: 0, length };
        let mut block = MemoryBlock::new(name, Address::ram(start), length as u64, source);
        block.permissions = Permissions { read: true, execute, ..Permissions::default() };
        self.program.memory.add_block(block).expect("blocks do not overlap");
    }

    /// Adds a pointer in memory of its own that the program may change.
    pub fn changing_pointer(&mut self, at: u64, to: u64) {
        let bytes = (to as u32).to_le_bytes();
        let source = BlockSource::Bytes { bytes: bytes[..].into(), offset: 0, length: 4 };
        let mut block = MemoryBlock::new(".data", Address::ram(at), 4, source);
        block.permissions = Permissions { read: true, write: true, ..Permissions::default() };
        self.program.memory.add_block(block).expect("blocks do not overlap");
    }

    /// Adds made-up memory in which imported functions have their places.
    pub fn imports(&mut self, start: u64, places: &[u64]) {
        let source = BlockSource::Uninitialized;
        let mut block = MemoryBlock::new("EXTERNAL", Address::ram(start), 0x100, source);
        block.permissions = Permissions { read: true, artificial: true, ..Permissions::default() };
        self.program.memory.add_block(block).expect("blocks do not overlap");
        for place in places {
            let body = AddressRange::with_length(Address::ram(*place), 1).into_iter().collect();
            self.program.add_function(Address::ram(*place), body);
        }
    }

    /// Marks a place as known to the outside.
    pub fn entry(&mut self, at: u64) {
        self.program.entry_points.insert(Address::ram(at), ());
    }

    /// The program, analysed.
    pub fn analysed(mut self) -> Program {
        analysis::run(&mut self.program, &self.language, None, &mut Quiet)
            .expect("runs to its end");
        self.program
    }
}

/// The analysed program of these blocks of x86-64; those with an entry in them are code.
pub fn analysed(blocks: &[(u64, Vec<u8>)], entries: &[u64]) -> Program {
    let mut image = Image::new("x86:LE:64:default", "gcc");
    for (start, bytes) in blocks {
        let execute = entries.iter().any(|e| (*start..*start + bytes.len() as u64).contains(e));
        image.block(&format!("b{start:x}"), *start, bytes, execute);
    }
    for entry in entries {
        image.entry(*entry);
    }
    image.analysed()
}

/// Where a computed jump leads.
pub fn destinations(program: &Program, jump: u64) -> Vec<u64> {
    let found = program.references.from(Address::ram(jump));
    let found = found.filter(|r| matches!(r.info.kind, RefType::Flow(flow) if flow.is_jump()));
    found.map(|reference| reference.to.offset).collect()
}
