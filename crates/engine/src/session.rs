//! One open program: snapshots for readers, one writer, background analysis.

use crate::analysis_task::{
    AnalysisKind, AnalysisState, AnalysisStatus, Plan, TaskMonitor, bounds_for,
};
use crate::debug_files::Around;
use crate::project::{Keeping, Opened, from_record};
use crate::put_back::put_back;
use crate::worker::Worker;
use analysis::{PassReport, Stopped};
use arc_swap::ArcSwap;
use decompiler::{Decompilation, Decompiler, Language, LanguageError, Limits};
use parking_lot::{Condvar, Mutex};
use program::{Address, Program};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// Refused because an analysis runs.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("an analysis runs ({progress:.0} % done)")]
pub struct Busy {
    /// How far it is, 0 to 100.
    pub progress: f32,
}

/// Why a write did not happen.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WriteError<E> {
    /// An analysis runs.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The edit itself refused; nothing was changed.
    #[error("{0}")]
    Refused(E),
}

struct Inner {
    current: ArcSwap<Program>,
    language: Language,
    decompiler: Decompiler,
    /// Held by whoever may replace `current`: one edit, or an analysis.
    writer: Mutex<()>,
    status: Mutex<AnalysisStatus>,
    ended: Condvar,
    cancel: Mutex<Arc<AtomicBool>>,
    keeping: Keeping,
    worker: Worker,
}

/// An open program. Clones are handles to the same one.
#[derive(Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("program", &self.snapshot().info.name).finish()
    }
}

impl Session {
    /// A session over nothing, for a server that was started before a file was named.
    pub fn empty() -> Result<Session, LanguageError> {
        let info = program::ProgramInfo {
            language_id: "x86:LE:64:default".into(),
            compiler_spec_id: "gcc".into(),
            address_bits: 64,
            ..program::ProgramInfo::default()
        };
        Session::from_program(Program::new(info, false, program::DataOrganization::default()))
    }

    /// A session over a program that is already loaded. It has no project.
    pub fn from_program(program: Program) -> Result<Session, LanguageError> {
        Session::with_project(program, Opened::default(), Worker::default())
    }

    pub(crate) fn with_project(
        program: Program,
        opened: Opened,
        worker: Worker,
    ) -> Result<Session, LanguageError> {
        let status = opened.restored.as_ref().map_or_else(AnalysisStatus::idle, from_record);
        let language = Language::open(&program.info.language_id, &program.info.compiler_spec_id)?;
        let inner = Inner {
            keeping: Keeping::new(opened, &program),
            current: ArcSwap::from_pointee(program),
            language,
            decompiler: Decompiler::new(),
            writer: Mutex::new(()),
            status: Mutex::new(status),
            ended: Condvar::new(),
            cancel: Mutex::new(Arc::new(AtomicBool::new(false))),
            worker,
        };
        Ok(Session { inner: Arc::new(inner) })
    }

    /// The program as it is now; later writes do not show in it. O(1), never
    /// waits.
    pub fn snapshot(&self) -> Arc<Program> {
        self.inner.current.load_full()
    }

    pub(crate) fn keeping(&self) -> &Keeping {
        &self.inner.keeping
    }

    /// The program's processor.
    pub fn language(&self) -> &Language {
        &self.inner.language
    }

    /// Runs one edit on a copy and publishes it if the edit succeeds; an edit
    /// that fails (or panics) leaves no trace. Edits run one at a time, and
    /// not while an analysis runs.
    pub fn write<T, E>(
        &self,
        edit: impl FnOnce(&mut Program) -> Result<T, E>,
    ) -> Result<T, WriteError<E>> {
        // Asked twice: an analysis holds the writer's place to its end, and an
        // edit must be refused then, not wait.
        self.busy()?;
        let _writer = self.inner.writer.lock();
        self.busy()?;
        let mut copy = Program::clone(&self.snapshot());
        let answer = edit(&mut copy).map_err(WriteError::Refused)?;
        if cfg!(debug_assertions) {
            let violations = copy.verify();
            assert!(violations.is_empty(), "the edit leaves {violations:?}");
        }
        self.inner.current.store(Arc::new(copy));
        self.inner.keeping.edit_happened();
        Ok(answer)
    }

    /// Decompiles a function of a snapshot. Whatever goes wrong is told by the
    /// answer; other calls are not disturbed. Set `cancel` to end it early.
    pub fn decompile(
        &self,
        program: &Program,
        entry: Address,
        limits: &Limits,
        cancel: &Arc<AtomicBool>,
    ) -> Decompilation {
        self.inner.decompiler.decompile(program, entry, limits, cancel)
    }

    /// Runs a function of a snapshot over a copy of its memory. The answer says how it ended.
    ///
    /// # Errors
    /// When code of the program's processor cannot be emulated.
    pub fn emulate(
        &self,
        program: &Program,
        request: &emulator::Request,
        limits: &emulator::Limits,
    ) -> Result<emulator::Outcome, emulator::UnsupportedLanguage> {
        Ok(emulator::Emulator::new(program, self.language())?.run(request, limits))
    }

    /// How many decompilations were done, those apart that a kept result answered.
    pub fn decompilations(&self) -> u64 {
        self.inner.decompiler.runs()
    }

    fn busy(&self) -> Result<(), Busy> {
        let status = self.inner.status.lock();
        if status.is_running() {
            return Err(Busy { progress: status.progress.unwrap_or(0.0) });
        }
        Ok(())
    }

    /// The running or the last analysis.
    pub fn analysis_status(&self) -> AnalysisStatus {
        self.inner.status.lock().clone()
    }

    /// Whether an analysis should begin by itself: none came to its end, and the program is not one
    /// that was taken over as Ghidra left it.
    pub fn wants_analysis(&self) -> bool {
        let status = self.analysis_status();
        status.interrupted.is_some() || !status.analyzed && self.snapshot().origin.is_none()
    }

    /// Starts an analysis in the background: exactly the named passes, or all. Of an analysis
    /// that was interrupted those that were over are not run again. Unknown names make the task
    /// fail, not the call.
    pub fn start_analysis(
        &self,
        kind: AnalysisKind,
        passes: Option<Vec<String>>,
    ) -> Result<AnalysisStatus, Busy> {
        let cancel = Arc::new(AtomicBool::new(false));
        let (plan, status) = {
            self.busy()?;
            let _writer = self.inner.writer.lock();
            self.busy()?;
            let mut status = self.inner.status.lock();
            self.inner.keeping.analysis_begins(self.snapshot(), &status);
            let plan = Plan::new(passes, status.interrupted.as_ref());
            *status = AnalysisStatus {
                kind,
                state: AnalysisState::Running,
                analyzed: status.analyzed,
                task_id: Some(uuid::Uuid::new_v4().to_string()),
                started: Some(SystemTime::now()),
                progress: Some(100.0 * plan.before as f32 / analysis::PASSES.len() as f32),
                interrupted: status.interrupted.take(),
                ..AnalysisStatus::idle()
            };
            *self.inner.cancel.lock() = Arc::clone(&cancel);
            (plan, status.clone())
        };
        let session = self.clone();
        if let Err(error) =
            self.inner.worker.begin(c"analysis", move || session.analyse(&plan, cancel))
        {
            self.finish(AnalysisState::Failed, Some(format!("no thread: {error}")));
        }
        Ok(status)
    }

    /// The body of the background task.
    fn analyse(&self, plan: &Plan, cancel: Arc<AtomicBool>) {
        let _writer = self.inner.writer.lock();
        let before = self.snapshot();
        let mut working = Program::clone(&before);
        let settled = |program: &Program| {
            let mut found = program.clone();
            if before.origin.is_some() {
                put_back(&before, &mut found);
            }
            found
        };
        let publish = |program: &Program| self.inner.current.store(Arc::new(settled(program)));
        let report = |phase: Option<&'static str>, progress: f32| {
            let mut status = self.inner.status.lock();
            status.progress = Some(progress);
            status.phase = phase.or(status.phase);
        };
        let finished = |report: PassReport, program: &Program| {
            self.reach(plan, report, &settled(program));
        };
        let now = std::time::Instant::now();
        let mut monitor = TaskMonitor {
            cancel,
            publish: &publish,
            report: &report,
            finished: &finished,
            bounds: bounds_for(working.info.file_size),
            before: plan.before,
            pass: 0,
            passes: 1,
            started: now,
            published: now,
        };
        let files = Around::new(&working.info.executable_path, self.inner.keeping.pdb.clone());
        let run = catch_unwind(AssertUnwindSafe(|| {
            let passes = plan.passes.as_deref();
            analysis::run_with_files(&mut working, self.language(), passes, &files, &mut monitor)
        }));
        match run {
            Ok(outcome) => {
                // What was found stays when a prototype defeats the convention.
                let laid_out = catch_unwind(AssertUnwindSafe(|| self.laid_out(working.clone())));
                publish(laid_out.as_ref().unwrap_or(&working));
                if plan.whole && outcome.is_ok() {
                    self.inner.status.lock().interrupted = None;
                }
                match outcome {
                    Ok(()) => self.finish(AnalysisState::Completed, None),
                    Err(Stopped::Cancelled) => self.finish(AnalysisState::Cancelled, None),
                    Err(reason) => self.finish(AnalysisState::Failed, Some(reason.to_string())),
                }
            }
            // The working copy may be half edited; the last published one stays.
            Err(_) => {
                let message = "an analyzer failed; what it had published so far is kept";
                self.finish(AnalysisState::Failed, Some(message.into()));
            }
        }
    }

    /// Notes that a pass is over: should the analysis be interrupted, it goes on from there.
    fn reach(&self, plan: &Plan, report: PassReport, program: &Program) {
        let mut status = self.inner.status.lock();
        if plan.whole {
            let interrupted = status.interrupted.get_or_insert_default();
            interrupted.done.push(report.name.to_owned());
        }
        status.passes.push(report);
        self.inner.keeping.analysis_reaches(Arc::new(program.clone()), &status);
    }

    fn finish(&self, state: AnalysisState, message: Option<String>) {
        let mut status = self.inner.status.lock();
        if state != AnalysisState::Cancelled {
            self.inner.keeping.analysis_counts();
        }
        status.state = state;
        status.message = message;
        status.finished = Some(SystemTime::now());
        status.phase = None;
        if state == AnalysisState::Completed {
            status.analyzed |= status.interrupted.is_none();
            status.progress = Some(100.0);
        }
        self.inner.ended.notify_all();
    }

    /// Asks a running analysis to end; it keeps what it found.
    pub fn cancel_analysis(&self) {
        self.inner.cancel.lock().store(true, Ordering::Relaxed);
    }

    /// Waits until no analysis runs; false when `limit` passes first.
    pub fn wait_for_analysis(&self, limit: Duration) -> bool {
        let deadline = std::time::Instant::now() + limit;
        let mut status = self.inner.status.lock();
        while status.is_running() {
            if self.inner.ended.wait_until(&mut status, deadline).timed_out() {
                return !status.is_running();
            }
        }
        true
    }

    /// Cancels a running analysis and waits for its end.
    pub fn close(&self) {
        self.cancel_analysis();
        self.wait_for_analysis(Duration::from_secs(30));
    }
}
