//! The background analysis task of a session: its state, and the monitor that
//! carries progress out and cancellation in.

use analysis::{Bounds, PassReport};
use program::Program;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Who started an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnalysisKind {
    /// A task started through the interface.
    Bridge,
    /// The engine's own, started when the file was opened.
    Ghidra,
}

/// How far an analysis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnalysisState {
    /// None ran yet.
    Idle,
    /// It runs.
    Running,
    /// It ended by itself.
    Completed,
    /// It was asked to end.
    Cancelled,
    /// It could not go on.
    Failed,
}

/// What is known about the running or the last analysis.
#[derive(Debug, Clone)]
pub struct AnalysisStatus {
    /// Who started it.
    pub kind: AnalysisKind,
    /// How far it is.
    pub state: AnalysisState,
    /// Whether the program has been analysed to the end at least once.
    pub analyzed: bool,
    /// The task's id (a UUID).
    pub task_id: Option<String>,
    /// When it began.
    pub started: Option<SystemTime>,
    /// When it ended.
    pub finished: Option<SystemTime>,
    /// 0 to 100 while it runs, 100 when completed.
    pub progress: Option<f32>,
    /// The pass that runs.
    pub phase: Option<&'static str>,
    /// Why it failed.
    pub message: Option<String>,
    /// How each pass that is over went, in the order they ran.
    pub passes: Vec<PassReport>,
    /// Set while an analysis of the whole program has begun and not come to its end.
    pub interrupted: Option<Interrupted>,
}

impl AnalysisStatus {
    /// The status before any analysis.
    pub(crate) fn idle() -> AnalysisStatus {
        AnalysisStatus {
            kind: AnalysisKind::Ghidra,
            state: AnalysisState::Idle,
            analyzed: false,
            task_id: None,
            started: None,
            finished: None,
            progress: None,
            phase: None,
            message: None,
            passes: Vec::new(),
            interrupted: None,
        }
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.state == AnalysisState::Running
    }
}

/// Where an analysis that is resumed goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interrupted {
    /// The passes that were over; what they found is in the program.
    pub done: Vec<String>,
}

impl Interrupted {
    /// The passes that are left, in their order.
    pub fn left(&self) -> impl Iterator<Item = &'static str> + '_ {
        let names = analysis::PASSES.iter().map(|pass| pass.name);
        names.filter(|name| !self.done.iter().any(|done| done == name))
    }
}

/// What a run is to do.
pub(crate) struct Plan {
    /// The passes to run; all when absent.
    pub(crate) passes: Option<Vec<String>>,
    /// Whether the analysis is whole when they are over.
    pub(crate) whole: bool,
    /// How many were over before.
    pub(crate) before: usize,
}

impl Plan {
    /// The named passes; without names what is left of an analysis that was interrupted, or all.
    pub(crate) fn new(named: Option<Vec<String>>, interrupted: Option<&Interrupted>) -> Plan {
        match (named, interrupted) {
            (None, Some(interrupted)) => {
                let left: Vec<String> = interrupted.left().map(str::to_owned).collect();
                let before = analysis::PASSES.len() - left.len();
                Plan { passes: Some(left), whole: true, before }
            }
            (named, _) => Plan { whole: named.is_none(), passes: named, before: 0 },
        }
    }
}

/// Carries a run's progress into the session.
pub(crate) struct TaskMonitor<'a> {
    pub(crate) cancel: Arc<AtomicBool>,
    pub(crate) publish: &'a dyn Fn(&Program),
    pub(crate) report: &'a dyn Fn(Option<&'static str>, f32),
    pub(crate) finished: &'a dyn Fn(PassReport, &Program),
    pub(crate) bounds: Bounds,
    /// Passes that an earlier run did.
    pub(crate) before: usize,
    pub(crate) pass: usize,
    pub(crate) passes: usize,
    pub(crate) started: Instant,
    /// Publishing takes a copy of what changes next, and of lists as long as the program: it is
    /// rationed to a share of the time that the run took so far.
    pub(crate) published: Instant,
}

impl analysis::Monitor for TaskMonitor<'_> {
    fn phase(&mut self, name: &'static str, done: usize, total: usize) {
        (self.pass, self.passes) = (self.before + done, (self.before + total).max(1));
        (self.report)(Some(name), 100.0 * done as f32 / self.passes as f32);
    }

    fn progress(&mut self, fraction: f32) {
        let done = self.pass as f32 + fraction.clamp(0.0, 1.0);
        (self.report)(None, 100.0 * done / self.passes as f32);
    }

    fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    fn publish(&mut self, program: &Program) {
        let pause = (self.started.elapsed() / 16).max(Duration::from_millis(50));
        if self.published.elapsed() >= pause {
            (self.publish)(program);
            self.published = Instant::now();
        }
    }

    fn finished(&mut self, report: PassReport, program: &Program) {
        (self.finished)(report, program);
    }

    fn memory(&self) -> Option<u64> {
        resident_memory()
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }
}

/// What a pass over a file of that many bytes may take: far more than any pass over real programs
/// takes (a second and 60 MB for a megabyte), so that only what runs away is ended.
pub(crate) fn bounds_for(file_size: u64) -> Bounds {
    let megabytes = file_size >> 20;
    Bounds {
        time: Duration::from_secs(600 + 60 * megabytes.min(600)),
        memory: (4 << 30) + file_size.min(1 << 30) * 128,
    }
}

/// Bytes of memory that the process holds.
#[cfg(target_os = "linux")]
fn resident_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Elsewhere, only time bounds a pass.
#[cfg(not(target_os = "linux"))]
fn resident_memory() -> Option<u64> {
    None
}
