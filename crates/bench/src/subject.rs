//! Runs our engine over a file, the way the product does.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use decompiler::{Decompiler, Limits};
use engine::{AnalysisKind, AnalysisState, OpenOptions, Session};
use program::{Address, AddressSet, Function, Program, SourceType, SymbolId};

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

/// What the dumps were made without: types and prototypes of Windows; and a name that Ghidra does
/// not give.
const BEYOND_DUMPS: [&str; 2] = ["Windows API Prototypes", "Main Function"];

/// The passes whose findings the dumps can be compared with.
fn passes() -> Vec<String> {
    let names = engine::PASSES.iter().map(|pass| pass.name.to_owned());
    names.filter(|name| !BEYOND_DUMPS.contains(&name.as_str())).collect()
}

/// What someone states about a file before it is analysed.
#[derive(Debug, Clone, Default)]
pub struct Stated {
    /// The language of a file that does not say it.
    pub language: Option<String>,
    /// Functions that return, whatever their code tells.
    pub returning: BTreeSet<Address>,
    /// Imports of which no prototype is known.
    pub unknown: BTreeSet<Address>,
    /// Stubs of which nobody knows what they stand for.
    pub nameless: BTreeSet<Address>,
}

fn forget_prototype(program: &mut Program, entry: Address) {
    let undefined = program.types.undefined(1);
    program.functions.edit(entry, |function| {
        let nothing = Function::new(entry, function.symbol, AddressSet::new(), undefined);
        function.signature = nothing.signature;
    });
}

fn forget_import(program: &mut Program, entry: Address) {
    let Some(symbol) = program.functions.at(entry).map(|function| function.symbol) else { return };
    program.functions.edit(entry, |function| function.thunk_of = None);
    program.symbols.edit(symbol, |symbol| {
        symbol.name = "".into();
        symbol.source = SourceType::Default;
        symbol.parent = SymbolId::GLOBAL;
    });
    forget_prototype(program, entry);
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
        Self::open_as(path, depth, &Stated::default())
    }

    /// The same with what someone states about it.
    pub fn open_as(path: &Path, depth: Depth, stated: &Stated) -> Result<Self> {
        let mut options = OpenOptions::default();
        options.load.language = stated.language.clone();
        let session = Session::open(path, &options)?;
        let state = |program: &mut Program| -> Result<()> {
            stated.returning.iter().for_each(|entry| program.set_no_return(*entry, false));
            Ok(())
        };
        session.write(state).context("functions are stated to return")?;
        if depth == Depth::Analysed {
            session.start_analysis(AnalysisKind::Ghidra, Some(passes()))?;
            ensure!(session.wait_for_analysis(LIMIT), "analysis still runs after {LIMIT:?}");
            let status = session.analysis_status();
            let message = status.message.as_deref().unwrap_or("no reason given");
            let completed = status.state == AnalysisState::Completed;
            ensure!(completed, "analysis ended as {:?}: {message}", status.state);
        }
        session.write(|program| -> Result<()> {
            stated.nameless.iter().for_each(|entry| forget_import(program, *entry));
            stated.unknown.iter().for_each(|entry| forget_prototype(program, *entry));
            Ok(())
        })?;
        Ok(Self { program: session.snapshot() })
    }

    /// Decompiles every function in memory, `jobs` at a time: the C text by the
    /// entry as dumps write it. Functions that fail have none.
    pub fn decompile_all(&self, jobs: usize) -> Result<HashMap<String, String>> {
        self.decompile(jobs, |_| true)
    }

    /// The same for those functions whose entries, as dumps write them, are wanted.
    pub fn decompile(
        &self,
        jobs: usize,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<HashMap<String, String>> {
        let functions = self.program.functions.iter().filter(|f| !f.is_external());
        let entries: Vec<Address> = functions
            .map(|f| f.entry)
            .filter(|entry| is_wanted(&address_text(&self.program, *entry)))
            .collect();
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
