//! Programs as the engine opens them.

use std::path::{Path, PathBuf};

use decompiler::Language;
use loader::LoadOptions;
use program::{Address, Program, SpaceId};

/// A folder of fixtures.
pub fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder)
}

/// Loads a file, without analysis.
pub fn load(path: &Path, language: Option<&str>) -> (Program, Language) {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    load_bytes(&path.display().to_string(), bytes, language)
}

/// Loads the bytes of a file.
pub fn load_bytes(name: &str, bytes: Vec<u8>, language: Option<&str>) -> (Program, Language) {
    let options = LoadOptions { language: language.map(str::to_string), ..LoadOptions::default() };
    let mut program = loader::load(name, name, bytes.into(), &options).expect("it loads");
    let info = &program.info;
    let language =
        Language::open(&info.language_id, &info.compiler_spec_id).expect("it is built in");
    language.settle_entries(&mut program);
    (program, language)
}

/// The place of a symbol in memory.
pub fn place(program: &Program, name: &str) -> u64 {
    let mut all = program.symbols.named(name).map(|(_, symbol)| symbol.address);
    let found = all.find(|at| at.space == SpaceId::RAM && program.memory.contains(*at));
    let found = found.unwrap_or_else(|| panic!("there is no {name}"));
    let Address { offset, .. } = found;
    offset
}
