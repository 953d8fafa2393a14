//! Automatic analysis: its state, and starting it.

use engine::{AnalysisKind, AnalysisState, AnalysisStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bridge::Bridge;
use crate::context::CallContext;
use crate::error::{BridgeError, ErrorCode};
use crate::instant::utc;
use crate::method::{Answer, Effects, Method};
use crate::shapes::{Projection, Reply, Request};
use crate::view::View;

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "analysis.get",
            "Report the state of automatic analysis; `wait_ms` waits for its end.",
            get,
        ),
        Method::control(
            "analysis.start",
            "Start automatic analysis in the background, all of it or chosen analyzers; one that was interrupted goes on.",
            Effects::TASK,
            start,
        )
        .gating_itself(),
    ]
}

fn get(view: &View<'_>, _request: AnalysisRequest) -> Answer<Analysis> {
    Ok(Analysis::of(view.bridge, view.bridge.session().analysis_status()))
}

fn start(bridge: &Bridge, _cx: &CallContext, request: StartRequest) -> Answer<Analysis> {
    let analyzers = request.analyzers.map(|names| tidy(&names)).transpose()?;
    let started = bridge.session().start_analysis(AnalysisKind::Bridge, analyzers);
    let status = started.map_err(|busy| already_runs(busy.progress))?;
    Ok(Analysis::of(bridge, status))
}

/// The names without surrounding blanks, each once.
fn tidy(names: &[String]) -> Answer<Vec<String>> {
    let mut tidied: Vec<String> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let name = name.trim();
        if name.is_empty() {
            let message = "an analyzer's name is blank; leave it out or give a name";
            return Err(BridgeError::new(ErrorCode::InvalidValue, message)
                .at(&format!("/analyzers/{index}")));
        }
        if !tidied.iter().any(|known| known == name) {
            tidied.push(name.to_owned());
        }
    }
    Ok(tidied)
}

/// The refusal of a second analysis.
pub(crate) fn already_runs(progress: f32) -> BridgeError {
    let message = "analysis runs already; analysis.get tells how far it is";
    BridgeError::new(ErrorCode::AnalysisAlreadyRunning, message)
        .at_method()
        .with("progress", f64::from(progress))
}

/// The one analysis there is, perhaps after its end.
#[derive(Debug, Deserialize, JsonSchema)]
struct AnalysisRequest {
    /// First waits up to this many milliseconds for the end of analysis; a batch does not.
    #[allow(dead_code)] // read from the JSON before decoding
    #[schemars(range(min = 0, max = 60000))]
    wait_ms: Option<u32>,
    /// Which members to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    projection: Option<Projection>,
}

impl Request for AnalysisRequest {}

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
    /// Why it failed, or how one that was interrupted goes on.
    message: Option<String>,
    /// How far an analysis got that has not come to its end yet.
    interrupted: Option<Interrupted>,
    /// What the loader repaired or left out, and what analysis could not do.
    warnings: Vec<String>,
}

impl Analysis {
    fn of(bridge: &Bridge, status: AnalysisStatus) -> Analysis {
        let program = bridge.session().snapshot();
        let (told, runs) = (status.interrupted.as_ref(), status.is_running());
        Analysis {
            kind: match status.kind {
                AnalysisKind::Bridge => "bridge",
                AnalysisKind::Ghidra => "ghidra",
            },
            status: match status.state {
                AnalysisState::Idle => "idle",
                AnalysisState::Running => "running",
                AnalysisState::Completed => "completed",
                AnalysisState::Cancelled => "cancelled",
                AnalysisState::Failed => "failed",
            },
            analyzed: status.analyzed,
            task_id: status.task_id,
            started_at: status.started.map(utc),
            finished_at: status.finished.map(utc),
            progress: status.progress.map(|progress| f64::from(progress.clamp(0.0, 100.0))),
            phase: status.phase.map(str::to_owned),
            message: status.message.or_else(|| told.filter(|_| !runs).map(Interrupted::message)),
            interrupted: told.map(Interrupted::of),
            warnings: program.info.warnings.clone(),
        }
    }
}

/// An analysis of the whole program that began and has not come to its end.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "interrupted_analysis")]
struct Interrupted {
    /// The analyzers that are over; what they found is kept.
    done: Vec<String>,
    /// Those that are left, in their order.
    left: Vec<&'static str>,
}

impl Interrupted {
    fn of(interrupted: &engine::Interrupted) -> Interrupted {
        Interrupted { done: interrupted.done.clone(), left: interrupted.left().collect() }
    }

    fn message(interrupted: &engine::Interrupted) -> String {
        let left: Vec<&str> = interrupted.left().collect();
        format!(
            "it was interrupted: what {} of {} analyzers found is kept, and analysis.start goes on with {}",
            engine::PASSES.len() - left.len(),
            engine::PASSES.len(),
            left.first().unwrap_or(&"nothing more")
        )
    }
}

impl Reply for Analysis {
    const IDENTITY: &'static [&'static str] = &["kind"];
}

/// What is said of the analyzers: which there are.
fn analyzers_text() -> String {
    let names: Vec<&str> = engine::PASSES.iter().map(|pass| pass.name).collect();
    format!(
        "The analyzers to run; when absent all, or those that are left of an analysis that was interrupted. \
         There are {}.",
        names.join(", ")
    )
}

/// Which analyzers to run.
#[derive(Debug, Deserialize, JsonSchema)]
struct StartRequest {
    /// The analyzers to run; when absent all, or those that are left of an analysis that was interrupted.
    #[schemars(
        length(min = 1, max = 1000),
        inner(length(min = 1)),
        extend("description" = analyzers_text())
    )]
    analyzers: Option<Vec<String>>,
}

impl Request for StartRequest {}
