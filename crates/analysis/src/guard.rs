//! Isolation of passes: a panic is caught, and a pass that takes more time or memory than its
//! bounds allow is ended at its next question whether to go on.

use crate::pass::{Bounds, Monitor, PassReport, Stopped};
use program::Program;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Why a pass's findings are left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It panicked; the text is the panic's, cut to a line.
    #[error("failed ({0})")]
    Panicked(String),
    /// It did not end in time.
    #[error("took longer than {} s", .0.as_secs_f32())]
    TooLong(Duration),
    /// The process grew by more bytes than a pass may take.
    #[error("took more than {0} bytes of memory")]
    TooLarge(u64),
}

/// How often a pass's memory is looked at.
const MEMORY_INTERVAL: Duration = Duration::from_millis(20);
/// Longest text of a panic that is shown.
const LONGEST_REASON: usize = 200;

/// Runs a pass under the monitor's bounds. `Ok` holds its own outcome.
pub(crate) fn guarded(
    monitor: &mut dyn Monitor,
    run: impl FnOnce(&mut dyn Monitor) -> Result<(), Stopped>,
) -> Result<Result<(), Stopped>, Failure> {
    let mut bounded = Bounded::new(monitor);
    let outcome = catch_unwind(AssertUnwindSafe(|| run(&mut bounded)));
    match (outcome, bounded.exceeded.take()) {
        (Err(panic), _) => Err(Failure::Panicked(reason(&*panic))),
        (Ok(Err(Stopped::Cancelled)), Some(failure)) => Err(failure),
        (Ok(outcome), _) => Ok(outcome),
    }
}

/// What a panic says, on one line.
fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let line = text.unwrap_or("no reason given").lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(LONGEST_REASON).collect()
}

/// A monitor that also asks a pass to end when it has exceeded its bounds.
struct Bounded<'a> {
    inner: &'a mut dyn Monitor,
    bounds: Bounds,
    began: Instant,
    /// Memory at the start, in bytes.
    held: u64,
    looked: Cell<Instant>,
    exceeded: Cell<Option<Failure>>,
}

impl<'a> Bounded<'a> {
    fn new(inner: &'a mut dyn Monitor) -> Bounded<'a> {
        let (bounds, held, now) =
            (inner.bounds(), inner.memory().unwrap_or_default(), Instant::now());
        Bounded {
            inner,
            bounds,
            began: now,
            held,
            looked: Cell::new(now),
            exceeded: Cell::new(None),
        }
    }

    fn failure(&self) -> Option<Failure> {
        if self.began.elapsed() > self.bounds.time {
            return Some(Failure::TooLong(self.bounds.time));
        }
        if self.bounds.memory == u64::MAX || self.looked.get().elapsed() < MEMORY_INTERVAL {
            return None;
        }
        self.looked.set(Instant::now());
        let grown = self.inner.memory()?.saturating_sub(self.held);
        (grown > self.bounds.memory).then_some(Failure::TooLarge(self.bounds.memory))
    }
}

impl Monitor for Bounded<'_> {
    fn phase(&mut self, name: &'static str, done: usize, total: usize) {
        self.inner.phase(name, done, total);
    }

    fn progress(&mut self, fraction: f32) {
        self.inner.progress(fraction);
    }

    fn cancelled(&self) -> bool {
        if self.inner.cancelled() {
            return true;
        }
        let failure = self.failure();
        let exceeded = failure.is_some();
        if exceeded {
            self.exceeded.set(failure);
        }
        exceeded
    }

    fn publish(&mut self, program: &Program) {
        self.inner.publish(program);
    }

    fn finished(&mut self, report: PassReport, program: &Program) {
        self.inner.finished(report, program);
    }

    fn memory(&self) -> Option<u64> {
        self.inner.memory()
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }
}
