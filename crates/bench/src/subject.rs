//! Runs our engine over a file, the way the product does.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use loader::LoadOptions;
use program::Program;

/// How far the engine runs before it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Loading alone.
    Loaded,
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
        match depth {
            Depth::Loaded => load(path),
        }
    }

    /// The C text of every function in memory, by the entry as dumps write it.
    pub fn decompile_all(&self) -> HashMap<String, String> {
        HashMap::new()
    }
}

fn load(path: &Path) -> Result<Opened> {
    let bytes =
        std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let full = path.to_string_lossy();
    let program = loader::load(&name, &full, bytes.into(), &LoadOptions::default())?;
    Ok(Opened { program: Arc::new(program) })
}
