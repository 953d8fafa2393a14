//! The decompiler: a pool of engines, shared by all threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use program::{Address, Program};

use crate::cache::Cache;
use crate::engine::{
    Decompilation, Depends, Engine, JumpTable, Limits, Omission, Purpose, Stop, short,
};
use crate::language::Language;

/// Engines kept for later runs.
const MAX_IDLE: usize = 8;
/// The engine recurses over expressions and blocks; only what it touches of this is used.
const STACK: usize = 64 << 20;

/// Decompiles functions of any program. Calls from several threads run side by side, each with
/// an engine of its own. When the program changes, engines are told what differs, and results are
/// kept as long as nothing changes that they depend on.
#[derive(Default)]
pub struct Decompiler {
    idle: Mutex<Vec<Engine>>,
    cache: Mutex<Cache>,
    runs: AtomicU64,
    /// Whether code is kept that constants show never to run.
    keeps_unreachable: bool,
}

/// Why nothing came of a run.
enum Failure {
    Stopped(Stop),
    Said(String),
    /// The engine went down.
    Broke,
}

/// What an engine says about code rather than about what is known of it: leaving facts out does not
/// help.
const ABOUT_CODE: [&str; 3] = ["instruction count", "no memory", "No function starts"];

impl Failure {
    /// Whether something that the engine was told may be why.
    fn may_be_of_facts(&self) -> bool {
        match self {
            Failure::Stopped(_) => false,
            Failure::Said(text) => !ABOUT_CODE.iter().any(|about| text.contains(about)),
            Failure::Broke => true,
        }
    }
}

impl Decompiler {
    /// A decompiler without engines; they are made when needed.
    pub fn new() -> Decompiler {
        Decompiler::default()
    }

    /// A decompiler that keeps code of which constants show that it never runs: what is constant
    /// now may be filled in later, and a switch may not be known yet.
    pub fn keeping_unreachable() -> Decompiler {
        Decompiler { keeps_unreachable: true, ..Decompiler::default() }
    }

    /// Decompiles the function at `entry`. Whatever goes wrong is told by the answer: it is not
    /// completed, and a warning says why.
    pub fn decompile(
        &self,
        program: &Program,
        entry: Address,
        limits: &Limits,
        cancel: &Arc<AtomicBool>,
    ) -> Decompilation {
        let start = Instant::now();
        let known = self.cache.lock().get(program, entry);
        if let Some(known) = known {
            return Decompilation { elapsed: start.elapsed(), ..Decompilation::clone(&known) };
        }
        self.runs.fetch_add(1, Ordering::Relaxed);
        let run = |engine: &mut Engine| engine.decompile(program, entry, limits, cancel);
        let purpose = if self.keeps_unreachable { Purpose::Everything } else { Purpose::Text };
        let first = self.with_engine(program, purpose, entry, run);
        let outcome = match first {
            Err(failure) if failure.may_be_of_facts() => self
                .without_facts(program, purpose, entry, |engine| {
                    engine.decompile(program, entry, limits, cancel)
                })
                .ok_or(failure),
            other => other,
        };
        let mut result = match outcome {
            Ok((decompilation, depends)) => {
                let kept = Arc::new(decompilation);
                self.cache.lock().put(program, entry, &kept, depends);
                Arc::unwrap_or_clone(kept)
            }
            Err(Failure::Said(text)) => Decompilation::failed(text),
            Err(Failure::Broke) => Decompilation::failed("The decompiler failed on this function"),
            Err(Failure::Stopped(Stop::TimedOut)) => {
                let limit = limits.timeout.as_millis();
                Decompilation::failed(format!("Decompilation timed out after {limit} ms"))
            }
            Err(Failure::Stopped(Stop::Cancelled)) => {
                Decompilation::failed("Decompilation was cancelled")
            }
            Err(Failure::Stopped(Stop::OutOfMemory)) => {
                Decompilation::failed("Decompilation needs too much memory")
            }
        };
        result.elapsed = start.elapsed();
        result
    }

    /// The jump tables of the function at `entry`, found by following its flow only. Empty when
    /// that fails.
    pub fn jump_tables(
        &self,
        program: &Program,
        entry: Address,
        limits: &Limits,
        cancel: &Arc<AtomicBool>,
    ) -> Vec<JumpTable> {
        let run = |engine: &mut Engine| engine.jump_tables(program, entry, limits, cancel);
        self.with_engine(program, Purpose::Flow, entry, run).unwrap_or_default()
    }

    /// How many decompilations were asked for that no kept result could answer.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// Drops all engines and results, and the snapshots they hold.
    pub fn clear(&self) {
        self.idle.lock().clear();
        self.cache.lock().clear();
    }

    fn with_engine<T: Send>(
        &self,
        program: &Program,
        purpose: Purpose,
        entry: Address,
        run: impl FnOnce(&mut Engine) -> ghidra_decompiler::error::Result<T> + Send,
    ) -> Result<T, Failure> {
        // Said here, since an engine that fails is thrown away.
        if program.functions.at(entry).is_none() {
            return Err(Failure::Said("No function starts there".to_string()));
        }
        on_own_stack(|| self.with_engine_here(program, purpose, Omission::Nothing, run))
    }

    /// Decompiles with ever fewer facts until it works.
    fn without_facts(
        &self,
        program: &Program,
        purpose: Purpose,
        entry: Address,
        run: impl Fn(&mut Engine) -> ghidra_decompiler::error::Result<(Decompilation, Depends)> + Sync,
    ) -> Option<(Decompilation, Depends)> {
        program.functions.at(entry)?;
        Omission::TRIED.into_iter().find_map(|omission| {
            let run = &run;
            let found =
                on_own_stack(|| self.with_engine_here(program, purpose, omission, run)).ok();
            found.map(|(mut decompilation, depends)| {
                decompilation.warnings.extend(omission.warning().map(str::to_string));
                (decompilation, depends)
            })
        })
    }

    fn with_engine_here<T>(
        &self,
        program: &Program,
        purpose: Purpose,
        omission: Omission,
        run: impl FnOnce(&mut Engine) -> ghidra_decompiler::error::Result<T>,
    ) -> Result<T, Failure> {
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            let mut engine = match omission {
                Omission::Nothing => self.take(program, purpose)?,
                _ => build(program, purpose, omission)?,
            };
            let result = run(&mut engine);
            let stop = engine.stop();
            Ok((engine, result, stop))
        }));
        let (engine, result, stop) = match attempt {
            Ok(Ok(done)) => done,
            Ok(Err(said)) => return Err(Failure::Said(said)),
            // The engine went down with its locks; nothing of it is used again.
            Err(_) => return Err(Failure::Broke),
        };
        match result {
            Ok(value) => {
                self.put(engine);
                Ok(value)
            }
            Err(error) => match stop {
                Some(stop) => {
                    self.put(engine);
                    Err(Failure::Stopped(stop))
                }
                None => Err(Failure::Said(short(error.explain()))),
            },
        }
    }

    fn take(&self, program: &Program, purpose: Purpose) -> Result<Engine, String> {
        let mut idle = self.idle.lock();
        if let Some(index) = idle.iter().rposition(|engine| engine.knows(program, purpose)) {
            return Ok(idle.remove(index));
        }
        // The one put back last was told the most.
        let known = idle.iter().rposition(|engine| engine.is_of(program, purpose));
        let engine = known.map(|index| idle.remove(index));
        if purpose == Purpose::Flow {
            idle.retain(|engine| !engine.is_of(program, purpose));
        }
        drop(idle);
        // An engine that cannot follow is thrown away.
        if let Some(mut engine) = engine
            && purpose != Purpose::Flow
            && let Ok(true) = engine.update(program)
        {
            return Ok(engine);
        }
        build(program, purpose, Omission::Nothing)
    }

    fn put(&self, engine: Engine) {
        if engine.is_worn() {
            return;
        }
        let mut idle = self.idle.lock();
        if idle.len() >= MAX_IDLE {
            idle.remove(0);
        }
        idle.push(engine);
    }
}

/// An engine that knows a program, what is left out aside.
fn build(program: &Program, purpose: Purpose, omission: Omission) -> Result<Engine, String> {
    let info = &program.info;
    let language = Language::open(&info.language_id, &info.compiler_spec_id)
        .map_err(|error| error.to_string())?;
    Engine::build(&language, program, purpose, omission).map_err(|error| short(error.explain()))
}

/// Runs on a thread with room for the engine's recursion.
fn on_own_stack<T: Send>(body: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    let outcome = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("decompile".to_string())
            .stack_size(STACK)
            .spawn_scoped(scope, body);
        match thread {
            Ok(thread) => thread.join().ok(),
            Err(_) => None,
        }
    });
    outcome.unwrap_or_else(|| Err(Failure::Said("The decompiler could not run".to_string())))
}
