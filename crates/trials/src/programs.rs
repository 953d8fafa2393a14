//! Programs that nobody vouches for: files of every format, and random code.

use engine::{AnalysisKind, AnalysisState, Format, LoadOptions, Session};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Larger inputs say nothing that smaller ones do not.
const MOST_BYTES: usize = 1 << 20;

/// Loads bytes as a file of one format. It loads or is refused; what loads can be opened, and
/// has no more in it than the bytes can justify.
fn load_as(bytes: &[u8], format: Format, language: Option<&str>) {
    let bytes: Arc<[u8]> = bytes[..bytes.len().min(MOST_BYTES)].into();
    let most = bytes.len().saturating_mul(4).saturating_add(1 << 14);
    let options =
        LoadOptions { format, language: language.map(str::to_owned), ..LoadOptions::default() };
    let Ok(program) = loader::load("trial", "trial", bytes, &options) else { return };
    assert!(program.symbols.len() <= most, "{} symbols", program.symbols.len());
    assert!(program.relocations.len() <= most, "{} relocations", program.relocations.len());
    assert!(program.listing.data.len() <= most, "{} data units", program.listing.data.len());
    let _ = Session::from_program(program);
}

/// A file of any content, as what it seems to be and as every format in turn.
pub fn files(bytes: &[u8]) {
    for trial in [elf, pe, mach_o, records, archive] {
        trial(bytes);
    }
    load_as(bytes, Format::Auto, None);
}

/// A file of any content, as an ELF file.
pub fn elf(bytes: &[u8]) {
    load_as(bytes, Format::Elf, None);
}

/// A file of any content, as a PE file.
pub fn pe(bytes: &[u8]) {
    load_as(bytes, Format::Pe, None);
}

/// A file of any content, as a Mach-O file.
pub fn mach_o(bytes: &[u8]) {
    load_as(bytes, Format::MachO, None);
}

/// A file of any content, as texts of records and as the bytes it is.
pub fn records(bytes: &[u8]) {
    for format in [Format::IntelHex, Format::SRecord, Format::Raw] {
        load_as(bytes, format, Some("ARM:LE:32:v8"));
    }
}

/// A file of any content, as an archive.
pub fn archive(bytes: &[u8]) {
    load_as(bytes, Format::Archive, None);
}

/// The program that PDB files are tried on.
static SHOP: LazyLock<Session> = LazyLock::new(|| {
    let bytes: Arc<[u8]> = include_bytes!("../../../fixtures/pdb/shop.x64.exe").as_slice().into();
    let program = loader::load("shop", "shop", bytes, &LoadOptions::default());
    Session::from_program(program.expect("the fixture loads")).expect("its language is built in")
});

/// A PDB file of any content. It is applied or refused, and brings no more than its bytes can
/// justify.
pub fn pdb(bytes: &[u8]) {
    let bytes: Arc<[u8]> = bytes[..bytes.len().min(MOST_BYTES)].into();
    let before = SHOP.snapshot();
    let mut program = before.as_ref().clone();
    let most = bytes.len().saturating_add(1 << 14);
    let _ = analysis::pdb::apply_bytes(&mut program, SHOP.language(), "trial.pdb", bytes);
    let types = program.types.iter().count();
    assert!(types <= most, "{types} types");
    assert!(program.symbols.len() <= most, "{} symbols", program.symbols.len());
    assert!(program.functions.len() <= most, "{} functions", program.functions.len());
    let locals: usize = program.functions.iter().map(|f| f.locals.len()).sum();
    assert!(locals <= most, "{locals} variables");
}

/// A symbol's name of any content. What it is read as stays short.
pub fn names(bytes: &[u8]) {
    let name = String::from_utf8_lossy(bytes);
    if let Some(readable) = demangler::demangled(&name) {
        assert!(readable.len() <= 1 << 14, "{} bytes", readable.len());
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
