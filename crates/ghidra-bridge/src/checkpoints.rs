//! Checkpoints of a running analysis: what the analyzers found that are over is written to the
//! project from time to time, so that whatever ends the process, the next start goes on from there.

use crate::say;
use engine::{AnalysisState, Session};
use std::time::{Duration, Instant};

/// Shortest time between two: an analysis that is shorter is kept at its end only.
const PAUSE: Duration = Duration::from_secs(5);

/// How much longer than a save the time before the next one is.
const SHARE: u32 = 20;

/// Looks now and then whether it is time to save.
pub struct Checkpoints {
    over: usize,
    saved: Instant,
    pause: Duration,
}

impl Checkpoints {
    pub fn new() -> Checkpoints {
        Checkpoints { over: 0, saved: Instant::now(), pause: PAUSE }
    }

    /// Saves when analyzers are over that were not at the last checkpoint.
    pub fn look(&mut self, session: &Session) {
        if self.saved.elapsed() < self.pause || !session.has_claimed_project() {
            return;
        }
        let over = session.analysis_status().passes.len();
        if over == self.over {
            return;
        }
        let began = Instant::now();
        // What fails is tried again, and told, at the end.
        let _ = session.save_at_end();
        *self =
            Checkpoints { over, saved: Instant::now(), pause: PAUSE.max(began.elapsed() * SHARE) };
    }
}

/// Writes a finished analysis to the project at once: whatever ends this process, the next start
/// and whoever looks in read-only find it there.
pub fn keep(session: &Session) {
    let done = session.analysis_status().state == AnalysisState::Completed;
    if !done || !session.has_claimed_project() {
        return;
    }
    if let Err(error) = session.save_at_end() {
        say(&format!("The analysis is not kept: {error}."));
    }
}

/// Says how an analysis that was not at its end goes on, when there is one.
pub fn say_interrupted(session: &Session) {
    let status = session.analysis_status();
    // One that did not hear in time that it should end is as unfinished as one that did.
    if !matches!(status.state, AnalysisState::Cancelled | AnalysisState::Running) {
        return;
    }
    let keeps = session.has_claimed_project() && !session.has_unsaved_changes();
    say(&match status.interrupted.filter(|_| keeps) {
        Some(interrupted) => {
            let (all, left) = (engine::PASSES.len(), interrupted.left().count());
            let over = all - left;
            format!(
                "The analysis was not at its end: {over} of {all} analyzers are over and kept, and the next start goes \
                 on from there."
            )
        }
        None => "The analysis was not at its end: it begins anew at the next start.".to_owned(),
    });
}
