//! Runs our engine over a file, the way the product does.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use decompiler::{Decompiler, Limits};
use engine::{AnalysisKind, AnalysisState, OpenOptions, Session};
use program::{Address, Program};

use crate::ours::address_text;

/// How long the analysis of one file may take.
const LIMIT: Duration = Duration::from_secs(600);

/// How far the engine runs before it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Loading alone.
    Loaded,
    /// Loading and the whole analysis.
    Analysed,
}

/// Knows what the dumps were made without: types and prototypes of Windows.
const BEYOND_DUMPS: &str = "Windows API Prototypes";

/// The passes whose findings the dumps can be compared with.
fn passes() -> Vec<String> {
    let names = engine::PASSES.iter().map(|pass| pass.name.to_owned());
    names.filter(|name| name != BEYOND_DUMPS).collect()
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
        Self::open_as(path, depth, None)
    }

    /// The same with the language that a file is of which does not say it.
    pub fn open_as(path: &Path, depth: Depth, language: Option<String>) -> Result<Self> {
        let mut options = OpenOptions::default();
        options.load.language = language;
        let session = Session::open(path, &options)?;
        if depth == Depth::Analysed {
            session.start_analysis(AnalysisKind::Ghidra, Some(passes()))?;
            ensure!(session.wait_for_analysis(LIMIT), "analysis still runs after {LIMIT:?}");
            let status = session.analysis_status();
            let message = status.message.as_deref().unwrap_or("no reason given");
            let completed = status.state == AnalysisState::Completed;
            ensure!(completed, "analysis ended as {:?}: {message}", status.state);
        }
        Ok(Self { program: session.snapshot() })
    }

    /// Decompiles every function in memory, `jobs` at a time: the C text by the
    /// entry as dumps write it. Functions that fail have none.
    pub fn decompile_all(&self, jobs: usize) -> Result<HashMap<String, String>> {
        let functions = self.program.functions.iter().filter(|f| !f.is_external());
        let entries: Vec<Address> = functions.map(|f| f.entry).collect();
        let next = AtomicUsize::new(0);
        let decompiler = Decompiler::new();
        let work = || {
            let mut texts = Vec::new();
            while let Some(entry) = entries.get(next.fetch_add(1, Ordering::Relaxed)) {
                let cancel = Arc::new(AtomicBool::new(false));
                let result =
                    decompiler.decompile(&self.program, *entry, &Limits::default(), &cancel);
                if result.completed {
                    texts.push((address_text(&self.program, *entry), result.c));
                }
            }
            texts
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
            let mut texts = HashMap::new();
            for worker in workers {
                texts.extend(worker.join().ok().context("a decompiling thread failed")?);
            }
            Ok(texts)
        })
    }
}
