//! Programs that nobody vouches for: files of every format, and random code.

use analysis::{DebugFiles, Monitor, OpenFile, PassReport, Sought};
use engine::decompiler::Language;
use engine::program::Program;
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
    for trial in [elf, pe, coff, mach_o, records, archive] {
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

/// A file of any content, as a COFF object file.
pub fn coff(bytes: &[u8]) {
    load_as(bytes, Format::Coff, None);
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
    let bytes = &bytes[..bytes.len().min(MOST_BYTES)];
    let before = SHOP.snapshot();
    let mut program = before.as_ref().clone();
    let most = bytes.len().saturating_add(1 << 14);
    run_one("PDB Universal", &mut program, SHOP.language(), bytes);
    let failed = |text: &String| text.contains("its reader failed");
    assert!(!program.info.warnings.iter().any(failed), "{:?}", program.info.warnings);
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

/// Runs the one pass that reads debug information; it ends, and does not fail.
fn read_debug_information(program: Program) {
    let Ok(session) = Session::from_program(program) else { return };
    let pass = vec!["DWARF".to_owned()];
    session.start_analysis(AnalysisKind::Ghidra, Some(pass)).expect("nothing runs yet");
    assert!(session.wait_for_analysis(Duration::from_secs(60)), "analysis ends");
    let status = session.analysis_status();
    assert_eq!(status.state, AnalysisState::Completed, "{:?}", status.message);
    status.passes.iter().for_each(assert_sound);
    assert_eq!(session.snapshot().verify(), []);
}

/// A program of any content, whose debug information is read.
pub fn debug(bytes: &[u8]) {
    let bytes: Arc<[u8]> = bytes[..bytes.len().min(MOST_BYTES)].into();
    let options = LoadOptions { format: Format::Elf, ..LoadOptions::default() };
    if let Ok(program) = loader::load("trial", "", bytes, &options) {
        read_debug_information(program);
    }
}

/// Files of any content where a program has its debug information: split off it, shared with
/// others, and apart as a whole.
pub fn debug_files(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(MOST_BYTES)];
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/debug");
    for name in ["split5/post", "clang/post", "shared4/post", "inventory.bare"] {
        let path = format!("{fixtures}/{name}");
        let program: Arc<[u8]> = std::fs::read(&path).expect("a fixture").into();
        let loaded = loader::load("trial", "", program, &LoadOptions::default());
        let mut program = loaded.expect("a fixture loads");
        let (language, compiler) = (&program.info.language_id, &program.info.compiler_spec_id);
        let language = Language::open(language, compiler).expect("is built in");
        run_one("DWARF", &mut program, &language, bytes);
    }
}

/// Runs one pass to which every file has the same content.
fn run_one(pass: &str, program: &mut Program, language: &Language, content: &[u8]) {
    let (pass, files) = ([pass.to_owned()], Anywhere(content));
    analysis::run_with_files(program, language, Some(&pass), &files, &mut Unwatched)
        .expect("runs to its end");
}

/// One content for every file.
struct Anywhere<'a>(&'a [u8]);

impl DebugFiles for Anywhere<'_> {
    fn candidates(&self, _: &Sought<'_>) -> Vec<String> {
        vec!["trial".to_owned()]
    }

    fn chosen_pdb(&self) -> Option<String> {
        Some("trial.pdb".to_owned())
    }

    fn open(&self, _: &str) -> std::io::Result<OpenFile> {
        let content = Box::new(std::io::Cursor::new(self.0.to_vec()));
        Ok(OpenFile { content, length: self.0.len() as u64 })
    }

    fn read(&self, _: &str) -> Option<Vec<u8>> {
        Some(self.0.to_vec())
    }

    fn load(&self, path: &str, content: Vec<u8>, _: &Program) -> Option<Program> {
        loader::load("trial", path, content.into(), &LoadOptions::default()).ok()
    }
}

struct Unwatched;

impl Monitor for Unwatched {
    fn phase(&mut self, _: &'static str, _: usize, _: usize) {}
    fn progress(&mut self, _: f32) {}
    fn cancelled(&self) -> bool {
        false
    }
    fn publish(&mut self, _: &Program) {}
    fn finished(&mut self, report: PassReport, _: &Program) {
        assert_sound(&report);
    }
}

/// A pass that fails costs its own findings only; here, it is a fault.
fn assert_sound(report: &PassReport) {
    assert!(report.failure.is_none(), "{}: {:?}", report.name, report.failure);
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
    status.passes.iter().for_each(assert_sound);
    assert_eq!(session.snapshot().verify(), []);
}
