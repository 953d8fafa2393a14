//! The project file of a session: which one it is, what of the session goes into
//! it, and when there is nothing to save.

use crate::Session;
use crate::analysis_task::{AnalysisKind, AnalysisState, AnalysisStatus, Interrupted};
use parking_lot::Mutex;
use program::Program;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use store::{AnalysisRecord, LoadRecord, Project, Record, StoreError};

/// Where the project of an opened file is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ProjectChoice {
    /// Nowhere: edits last as long as the session.
    #[default]
    None,
    /// In this folder, one file per content.
    Folder(PathBuf),
    /// In this file.
    File(PathBuf),
}

/// Why a session was not saved. It goes on as it was.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// It has no project file.
    #[error("no project file is kept; start without project=none, or with project=FILE, to save")]
    NoProject,
    /// It was opened to look only.
    #[error("it was started with read_only=true, so the project is not written")]
    ReadOnly,
    /// The project cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The project side of a session.
#[derive(Debug, Default)]
pub(crate) struct Keeping {
    /// Held while a save runs.
    project: Mutex<Option<Project>>,
    path: Option<PathBuf>,
    claimed: bool,
    read_only: bool,
    load: LoadRecord,
    pub(crate) pdb: Option<PathBuf>,
    /// What needs no saving: the state saved last, or the one that loading the
    /// file gives. Apart from `project`, so that asking never waits for a save.
    known: Mutex<Option<(Program, AnalysisRecord)>>,
    /// The state to keep of an analysis that has not come to its end: that after the last pass that
    /// was over, or that before all of them.
    unfinished: Mutex<Option<(Arc<Program>, AnalysisRecord)>>,
    notices: Vec<String>,
    restored: bool,
    /// Whether anything was edited that is not saved; analysis can be done again.
    edited: AtomicBool,
}

/// What opening found out about a session's project.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    pub project: Option<Project>,
    pub read_only: bool,
    pub load: LoadRecord,
    /// The PDB file to analyse the program with.
    pub pdb: Option<PathBuf>,
    /// The analysis of a restored program.
    pub restored: Option<AnalysisRecord>,
    pub notices: Vec<String>,
}

impl Keeping {
    pub fn new(opened: Opened, program: &Program) -> Keeping {
        if let Some(project) = &opened.project {
            project.describe(&program.info.name);
        }
        let analysis = opened.restored.clone().unwrap_or_default();
        Keeping {
            path: opened.project.as_ref().map(|project| project.path().to_owned()),
            claimed: opened.project.as_ref().is_some_and(Project::is_claimed),
            project: Mutex::new(opened.project),
            read_only: opened.read_only,
            load: opened.load,
            pdb: opened.pdb,
            known: Mutex::new(Some((program.clone(), analysis))),
            unfinished: Mutex::new(None),
            notices: opened.notices,
            restored: opened.restored.is_some(),
            edited: AtomicBool::new(false),
        }
    }

    /// Notes that the program was edited.
    pub fn edit_happened(&self) {
        self.edited.store(true, Ordering::Release);
        self.analysis_counts();
    }

    /// Notes the state that an analysis begins with.
    pub fn analysis_begins(&self, program: Arc<Program>, status: &AnalysisStatus) {
        *self.unfinished.lock() = Some((program, to_record(status)));
    }

    /// Notes the state that the passes leave which are over.
    pub fn analysis_reaches(&self, program: Arc<Program>, status: &AnalysisStatus) {
        let (state, finished) = (AnalysisState::Cancelled, Some(SystemTime::now()));
        let kept = to_record(&AnalysisStatus { state, finished, ..status.clone() });
        *self.unfinished.lock() = Some((program, kept));
    }

    /// The analysis has ended by itself, or the program was edited after it.
    pub fn analysis_counts(&self) {
        *self.unfinished.lock() = None;
    }
}

impl Session {
    /// Writes the program to its project file. Of an analysis that has not come to
    /// its end the passes that are over count: it goes on from there when the project
    /// is opened again.
    /// True when there was something to write.
    pub fn save(&self) -> Result<bool, SaveError> {
        let keeping = self.keeping();
        if keeping.read_only {
            return Err(SaveError::ReadOnly);
        }
        let mut project = keeping.project.lock();
        let project = project.as_mut().ok_or(SaveError::NoProject)?;
        // Before the state is taken: what is edited from here on may not be in it.
        let edited = keeping.edited.swap(false, Ordering::AcqRel);
        let (program, analysis) = self.state_to_save();
        let record = Record { analysis, load: keeping.load.clone() };
        // Somebody else may have written to one that is not claimed.
        if project.is_claimed() && project.exists() && project.holds(&program, &record) {
            return Ok(false);
        }
        project.save(&program, &record).inspect_err(|_| {
            keeping.edited.fetch_or(edited, Ordering::AcqRel);
        })?;
        *keeping.known.lock() = Some((Program::clone(&program), record.analysis));
        Ok(true)
    }

    /// Saves when the session ends: nothing happens when nothing changed, or when
    /// it has no project to write.
    pub fn save_at_end(&self) -> Result<bool, SaveError> {
        let keeping = self.keeping();
        if keeping.read_only || keeping.path.is_none() || !self.has_unsaved_changes() {
            return Ok(false);
        }
        self.save()
    }

    /// Whether the program is another than the one saved last or loaded. Edits
    /// that were undone may still count.
    pub fn has_unsaved_changes(&self) -> bool {
        let (program, analysis) = self.state_to_save();
        let same = |(known, record): &(Program, AnalysisRecord)| {
            known.same(&program) && *record == analysis
        };
        !self.keeping().known.lock().as_ref().is_some_and(same)
    }

    /// Whether anything was edited since the last save, analysis apart.
    pub fn has_unsaved_edits(&self) -> bool {
        self.keeping().edited.load(Ordering::Acquire)
    }

    /// Gives the project up, so that another process may have it. Nothing is saved from here on.
    pub fn release_project(&self) {
        *self.keeping().project.lock() = None;
    }

    /// The project file, if the session has one.
    pub fn project_path(&self) -> Option<&Path> {
        self.keeping().path.as_deref()
    }

    /// Whether the project was nobody else's when it was opened. What is
    /// edited is not kept otherwise, unless a save succeeds later.
    pub fn has_claimed_project(&self) -> bool {
        self.keeping().claimed
    }

    /// Whether the program came from its project, edits and analysis included.
    pub fn is_restored(&self) -> bool {
        self.keeping().restored
    }

    /// What people should know about the project.
    pub fn project_notices(&self) -> &[String] {
        &self.keeping().notices
    }

    /// Waits for a save that runs. True when one did.
    pub fn wait_for_save(&self) -> bool {
        let keeping = self.keeping();
        let busy = keeping.project.try_lock().is_none();
        if busy {
            drop(keeping.project.lock());
        }
        busy
    }

    fn state_to_save(&self) -> (Arc<Program>, AnalysisRecord) {
        if let Some(state) = &*self.keeping().unfinished.lock() {
            return state.clone();
        }
        (self.snapshot(), to_record(&self.analysis_status()))
    }
}

const STATES: [(AnalysisState, &str); 4] = [
    (AnalysisState::Idle, ""),
    (AnalysisState::Completed, "completed"),
    (AnalysisState::Cancelled, "cancelled"),
    (AnalysisState::Failed, "failed"),
];

fn to_record(status: &AnalysisStatus) -> AnalysisRecord {
    let state =
        STATES.iter().find(|(state, _)| *state == status.state).map_or("", |(_, word)| word);
    let kind = match (state, status.kind) {
        ("", _) => "",
        (_, AnalysisKind::Bridge) => "bridge",
        (_, AnalysisKind::Ghidra) => "ghidra",
    };
    AnalysisRecord {
        analyzed: status.analyzed,
        kind: kind.to_owned(),
        state: state.to_owned(),
        task_id: status.task_id.clone(),
        started: status.started,
        finished: status.finished,
        message: status.message.clone(),
        done: status.interrupted.clone().unwrap_or_default().done,
    }
}

/// The status of an analysis that an earlier session ran.
pub(crate) fn from_record(record: &AnalysisRecord) -> AnalysisStatus {
    let state = STATES.iter().find(|(_, word)| *word == record.state);
    let state = state.map_or(AnalysisState::Idle, |(state, _)| *state);
    let interrupted = Interrupted { done: record.done.clone() };
    let share = 100.0 * record.done.len() as f32 / analysis::PASSES.len() as f32;
    AnalysisStatus {
        kind: match record.kind.as_str() {
            "bridge" => AnalysisKind::Bridge,
            _ => AnalysisKind::Ghidra,
        },
        state,
        analyzed: record.analyzed,
        task_id: record.task_id.clone(),
        started: record.started,
        finished: record.finished,
        progress: match state {
            AnalysisState::Completed => Some(100.0),
            AnalysisState::Cancelled => Some(share.min(100.0)),
            _ => None,
        },
        phase: None,
        message: record.message.clone(),
        passes: Vec::new(),
        interrupted: Some(interrupted).filter(|interrupted| !interrupted.done.is_empty()),
    }
}
