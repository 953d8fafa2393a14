//! Every language of every processor: it opens, decodes, and decompiles without falling over.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use decompiler::{Decoder, Decompiler, Endian, Language, Limits};
use program::{
    Address, AddressRange, BlockSource, DataOrganization, MemoryBlock, Permissions, Program,
    ProgramInfo,
};

/// One describes data only; the other decodes packets by a context that code of Ghidra's own sets.
const SILENT: [&str; 2] = ["DATA:", "Hexagon:"];

/// Bytes without a pattern, the same in each run.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..4096).map(|_| next()).collect()
}

/// A program of these bytes, all one function at address 0.
fn program(language: &Language, code: &[u8]) -> Program {
    let info = ProgramInfo {
        language_id: language.language_id().to_string(),
        compiler_spec_id: language.compiler_spec_id().to_string(),
        address_bits: language.address_bits(),
        ..ProgramInfo::default()
    };
    let big = language.endian() == Endian::Big;
    let mut program = Program::new(info, big, DataOrganization::default());
    let source = BlockSource::Bytes { bytes: code.into(), offset: 0, length: code.len() };
    let mut block = MemoryBlock::new("ram", Address::ram(0), code.len() as u64, source);
    block.permissions = Permissions { read: true, execute: true, ..Permissions::default() };
    program.memory.add_block(block).expect("it fits");
    let body = AddressRange::new(Address::ram(0), Address::ram(code.len() as u64 - 1));
    program.add_function(Address::ram(0), body.into_iter().collect());
    program
}

#[test]
fn every_language_opens_decodes_and_decompiles() {
    let languages = Language::available();
    assert!(languages.len() > 180, "only {} languages are built in", languages.len());
    for (id, compilers) in languages {
        // The engine crate cannot build these: their descriptions name a register that is not there.
        if id.starts_with("V850:") {
            assert!(Language::open(&id, &compilers[0]).is_err(), "{id} can be built now");
            continue;
        }
        let language = Language::open(&id, &compilers[0]).expect(&id);
        let mut decoder = Decoder::new(&language);
        let bytes = noise(id.len() as u64);
        let step = language.instruction_alignment() as usize;
        let context = language.default_context();
        let decoded = (0..2048)
            .step_by(step)
            .filter(|at| decoder.decode(&bytes[*at..], *at as u64, context).is_ok())
            .count();
        let decompiler = Decompiler::new();
        let limits = Limits::default();
        let running = Arc::new(AtomicBool::new(false));
        let program = program(&language, &bytes);
        let result = decompiler.decompile(&program, Address::ram(0), &limits, &running);
        println!(
            "{id}: {decoded} of {} decode, completed: {} {:?}",
            2048 / step,
            result.completed,
            result.warnings
        );
        assert_eq!(decoded == 0, SILENT.iter().any(|silent| id.starts_with(silent)), "{id}");
        assert!(result.completed || !result.warnings.is_empty(), "{id} says nothing");
    }
}
