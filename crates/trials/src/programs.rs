//! Programs that nobody vouches for: files of every format, and random code.

use engine::{AnalysisKind, AnalysisState, Format, LoadOptions, Session};
use std::time::Duration;

/// Larger inputs say nothing that smaller ones do not.
const MOST_BYTES: usize = 1 << 20;

/// A file of any content, as what it seems to be and as every format in turn. It
/// loads or is refused; what loads can be opened.
pub fn files(bytes: &[u8]) {
    let bytes: std::sync::Arc<[u8]> = bytes[..bytes.len().min(MOST_BYTES)].into();
    for format in [Format::Auto, Format::Elf, Format::Pe, Format::MachO, Format::IntelHex] {
        let options = LoadOptions { format, ..LoadOptions::default() };
        if let Ok(program) = loader::load("trial", "trial", bytes.clone(), &options) {
            let _ = Session::from_program(program);
        }
    }
}

const LANGUAGES: [(&str, &str); 6] = [
    ("x86:LE:64:default", "gcc"),
    ("x86:LE:32:default", "gcc"),
    ("AARCH64:LE:64:v8A", "default"),
    ("ARM:LE:32:v8", "default"),
    ("MIPS:BE:32:default", "default"),
    ("RISCV:LE:64:RV64GC", "gcc"),
];

/// Random code of the processor that the first byte chooses: analysis ends, and
/// does not fail.
pub fn code(bytes: &[u8]) {
    let Some((choice, code)) = bytes.split_first() else { return };
    let code = &code[..code.len().min(4096)];
    if code.is_empty() {
        return;
    }
    let (language, compiler) = LANGUAGES[usize::from(*choice) % LANGUAGES.len()];
    let options = LoadOptions {
        language: Some(language.into()),
        compiler_spec: Some(compiler.into()),
        base: Some(0x1000),
        format: Format::Raw,
        ..LoadOptions::default()
    };
    let program = loader::load("trial", "trial", code.into(), &options).expect("bytes are bytes");
    let session = Session::from_program(program)
        .unwrap_or_else(|error| panic!("{language} {compiler}: {error}"));
    session.start_analysis(AnalysisKind::Ghidra, None).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(60)), "analysis ends");
    let status = session.analysis_status();
    assert_eq!(status.state, AnalysisState::Completed, "{:?}", status.message);
}
