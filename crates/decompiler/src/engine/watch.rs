//! Stopping a run: a caller's request, a deadline, a bound on memory.
//!
//! The engine has no such notion of its own. Three hooks look at one [`Watch`]: reading memory,
//! a rule among the engine's rules, and the start of every action.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use ghidra_decompiler::action::{ActionGroupList, Rule, RuleBase};
use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::error::{Error, Result};
use ghidra_decompiler::funcdata::Funcdata;
use ghidra_decompiler::op::OpId;
use ghidra_decompiler::opcodes::OpCode;
use parking_lot::Mutex;

/// What one decompilation may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Wall time.
    pub timeout: Duration,
    /// Bytes by which the process may grow meanwhile, where the system tells.
    pub memory: u64,
    /// Instructions of one function.
    pub instructions: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { timeout: Duration::from_secs(30), memory: 1 << 30, instructions: 100_000 }
    }
}

/// Why a run was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Cancelled,
    TimedOut,
    OutOfMemory,
}

/// How often the rule hook looks, in calls.
const CALLS_BETWEEN_LOOKS: u32 = 64;
/// How often the size of the process is asked for.
const MEMORY_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Default)]
struct Run {
    cancel: Option<Arc<AtomicBool>>,
    deadline: Option<Instant>,
    memory_limit: u64,
    next_memory_look: Option<Instant>,
}

/// The state that the hooks of one engine share with the run in progress.
#[derive(Default)]
pub(crate) struct Watch {
    /// 0 while the run may go on, else a [`Stop`] plus one.
    stopped: AtomicU8,
    run: Mutex<Run>,
}

impl Watch {
    pub(crate) fn start(&self, limits: &Limits, cancel: &Arc<AtomicBool>) {
        let now = Instant::now();
        *self.run.lock() = Run {
            cancel: Some(Arc::clone(cancel)),
            deadline: now.checked_add(limits.timeout),
            memory_limit: resident_bytes().unwrap_or(0).saturating_add(limits.memory),
            next_memory_look: Some(now + MEMORY_INTERVAL),
        };
        self.stopped.store(0, Ordering::Relaxed);
    }

    pub(crate) fn finish(&self) {
        *self.run.lock() = Run::default();
        self.stopped.store(0, Ordering::Relaxed);
    }

    /// Looks at clock and flag; tells why to stop, again and again once it said so.
    pub(crate) fn look(&self) -> Option<Stop> {
        if let Some(stop) = self.stop() {
            return Some(stop);
        }
        let mut run = self.run.lock();
        let now = Instant::now();
        let stop = if run.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            Stop::Cancelled
        } else if run.deadline.is_some_and(|deadline| now >= deadline) {
            Stop::TimedOut
        } else if run.next_memory_look.is_some_and(|next| now >= next) {
            run.next_memory_look = Some(now + MEMORY_INTERVAL);
            if resident_bytes().unwrap_or(0) <= run.memory_limit {
                return None;
            }
            Stop::OutOfMemory
        } else {
            return None;
        };
        self.stopped.store(stop as u8 + 1, Ordering::Relaxed);
        Some(stop)
    }

    /// Why the run was stopped, if it was.
    pub(crate) fn stop(&self) -> Option<Stop> {
        match self.stopped.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Stop::Cancelled),
            2 => Some(Stop::TimedOut),
            _ => Some(Stop::OutOfMemory),
        }
    }

    /// An error for the engine once the run is to stop.
    pub(crate) fn check(&self) -> Result<()> {
        match self.look() {
            Some(_) => Err(Error::Lowlevel("stopped".to_string())),
            None => Ok(()),
        }
    }
}

/// The resident size of this process.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(4096))
}

/// A rule that changes nothing and looks at the watch.
pub(crate) struct WatchRule {
    base: RuleBase,
    watch: Arc<Watch>,
    calls: u32,
}

impl WatchRule {
    pub(crate) fn new(watch: Arc<Watch>) -> WatchRule {
        WatchRule { base: RuleBase::new("analysis", 0, "watch"), watch, calls: 0 }
    }
}

impl Rule for WatchRule {
    fn base(&self) -> &RuleBase {
        &self.base
    }

    fn base_mut(&mut self) -> &mut RuleBase {
        &mut self.base
    }

    fn clone_rule(&self, _groups: &ActionGroupList) -> Option<Box<dyn Rule>> {
        Some(Box::new(WatchRule::new(Arc::clone(&self.watch))))
    }

    fn get_op_list(&self, list: &mut Vec<OpCode>) {
        // Operations that every function has and every simplification visits.
        list.extend([OpCode::Copy, OpCode::IntAdd, OpCode::Multiequal, OpCode::Indirect]);
    }

    fn apply_op(
        &mut self,
        _op: OpId,
        _data: &mut Funcdata,
        _glb: &mut Architecture,
    ) -> Result<i32> {
        self.calls = self.calls.wrapping_add(1);
        if self.calls.is_multiple_of(CALLS_BETWEEN_LOOKS) {
            self.watch.check()?;
        }
        Ok(0)
    }
}
