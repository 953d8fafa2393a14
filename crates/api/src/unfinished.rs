//! Partial results: what answers carry while background analysis still runs, and holding a call
//! until it is over.
//!
//! The state of the analysis is read before the snapshot that a call sees. An analysis publishes
//! before it ends, so a snapshot taken after its end is whole: an answer from a partial snapshot
//! always carries the note.

use std::time::{Duration, Instant};

use engine::AnalysisStatus;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::bridge::Bridge;
use crate::context::CallContext;
use crate::error::{BridgeError, ErrorCode};
use crate::method::Method;

/// What clients are told about answers that come while analysis runs, in one sentence.
pub const WHILE_ANALYSIS_RUNS: &str = "While analysis runs, answers carry analysis.status=running and may lack \
     what is not found yet; scan.wait_ms (at most 60000) holds a read until analysis is over, and so does \
     wait_ms of analysis.get.";

/// Longest time that a call is held, in milliseconds.
pub(crate) const MAX_WAIT_MS: u32 = 60_000;

/// How often a held call looks whether its client is still there.
const LOOK: Duration = Duration::from_millis(50);

/// What an answer says while analysis runs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "running_analysis")]
pub(crate) struct RunningAnalysis {
    /// Always `running`; the member is absent once analysis is over.
    status: &'static str,
    /// What analysis is doing.
    phase: Option<&'static str>,
    /// How far it is, in percent.
    #[schemars(range(min = 0.0, max = 100.0))]
    progress: f64,
    /// What that means for this answer, in one sentence.
    note: &'static str,
}

impl RunningAnalysis {
    /// What to say, if analysis runs.
    pub(crate) fn of(status: &AnalysisStatus) -> Option<RunningAnalysis> {
        status.is_running().then(|| RunningAnalysis {
            status: "running",
            phase: status.phase,
            progress: percent(status),
            note: "Analysis still runs, so more will be found; scan.wait_ms waits for its end.",
        })
    }

    /// Puts it into an answer.
    pub(crate) fn mark(&self, reply: &mut Value) {
        if let (Some(members), Ok(mut note)) = (reply.as_object_mut(), serde_json::to_value(self)) {
            crate::projection::drop_nulls(&mut note);
            members.insert("analysis".to_owned(), note);
        }
    }

    /// Says in the refusal of a thing that is not there that it may still come.
    pub(crate) fn excuse(&self, mut error: BridgeError) -> BridgeError {
        let missing = match error.code {
            ErrorCode::NotFound => true,
            // Of several places none is missing.
            ErrorCode::InvalidAddress => !error.details.contains_key("candidates"),
            _ => false,
        };
        if !missing {
            return error;
        }
        error.message = format!(
            "{}; analysis is still running ({:.0} % done) and may find it yet",
            error.message, self.progress
        );
        match serde_json::to_value(self) {
            Ok(mut note) => {
                crate::projection::drop_nulls(&mut note);
                error.with("analysis", note)
            }
            Err(_) => error,
        }
    }
}

fn percent(status: &AnalysisStatus) -> f64 {
    let progress = f64::from(status.progress.unwrap_or(0.0).clamp(0.0, 100.0));
    (progress * 10.0).round() / 10.0
}

/// How long the parameters of a read ask it to be held.
fn asked(params: &Value) -> Option<Duration> {
    let wait = params.pointer("/scan/wait_ms").or_else(|| params.get("wait_ms"));
    let wait = u32::try_from(wait?.as_u64()?).ok()?;
    Some(Duration::from_millis(wait.min(MAX_WAIT_MS).into()))
}

impl Bridge {
    /// Until when a call wants to be held, if it does and analysis runs now. A transport may
    /// wait for that before it makes the call; the call waits for what is left of the time.
    #[must_use]
    pub fn held_until(&self, method: &str, params: &Value, cx: &CallContext) -> Option<Instant> {
        if !self.analysis_runs() {
            return None;
        }
        let method = self.registry().find(method)?;
        let params = crate::bridge::checked(method, params.clone(), cx.transport).ok()?;
        deadline(method, &params, cx)
    }

    /// Whether analysis runs.
    #[must_use]
    pub fn analysis_runs(&self) -> bool {
        self.session().analysis_status().is_running()
    }

    /// Holds a call whose parameters are checked until analysis is over, its time is up or its
    /// client is gone.
    pub(crate) fn hold(&self, method: &Method, params: &Value, cx: &CallContext) {
        let Some(deadline) = deadline(method, params, cx) else { return };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let over = left.is_zero() || cx.cancel.is_cancelled();
            if over || self.session().wait_for_analysis(left.min(LOOK)) {
                return;
            }
        }
    }
}

fn deadline(method: &Method, params: &Value, cx: &CallContext) -> Option<Instant> {
    let wait = if method.effects().read_only { asked(params) } else { None };
    cx.arrived.checked_add(wait?)
}
