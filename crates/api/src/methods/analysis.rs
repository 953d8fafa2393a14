//! Automatic analysis: its state, and starting it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::shapes::{GetOnly, Reply, Request};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<GetOnly, Analysis>(
            "analysis.get",
            "Report the state of automatic analysis.",
        ),
        Method::pending_write::<StartRequest, Analysis>(
            "analysis.start",
            "Start automatic analysis in the background, all of it or chosen analyzers.",
        )
        .outside_transactions(),
    ]
}

/// The state of analysis.
#[derive(Debug, Serialize, JsonSchema)]
struct Analysis {
    /// Who started it: `bridge` for a task started by a call, `ghidra` for the program's own.
    kind: &'static str,
    /// `idle`, `running`, `completed`, `cancelled` or `failed`.
    status: &'static str,
    /// True once a whole analysis has ended.
    analyzed: bool,
    /// The task's id.
    task_id: Option<String>,
    /// When the task started, in UTC.
    started_at: Option<String>,
    /// When the task ended, in UTC.
    finished_at: Option<String>,
    /// How far the task is, in percent.
    #[schemars(range(min = 0.0, max = 100.0))]
    progress: Option<f64>,
    /// What it is doing.
    phase: Option<String>,
    /// Why it failed.
    message: Option<String>,
    /// What the loader repaired or left out, and what analysis could not do.
    warnings: Vec<String>,
}

impl Reply for Analysis {
    const IDENTITY: &'static [&'static str] = &["kind"];
}

/// Which analyzers to run.
#[derive(Debug, Deserialize, JsonSchema)]
struct StartRequest {
    /// The analyzers to run; all when absent.
    #[schemars(length(min = 1, max = 1000), inner(length(min = 1)))]
    analyzers: Option<Vec<String>>,
}

impl Request for StartRequest {}
