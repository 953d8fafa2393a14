//! What a project remembers beside the program itself.

use std::time::SystemTime;

/// How the file was told to be loaded, where it was not left to detection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadRecord {
    /// SHA-256 of the file that was opened, lower-case hex. The program may be
    /// only a part of it, as a member of an archive is.
    pub file_sha256: String,
    /// The language asked for.
    pub language: Option<String>,
    /// The compiler specification asked for.
    pub compiler_spec: Option<String>,
    /// The image base asked for.
    pub base: Option<u64>,
    /// The format asked for.
    pub format: Option<String>,
    /// The member of an archive asked for.
    pub member: Option<String>,
    /// What tells the PDB file asked for from others.
    pub pdb: Option<String>,
}

/// The last analysis.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AnalysisRecord {
    /// Whether the program has been analysed to the end at least once.
    pub analyzed: bool,
    /// Who started it; empty when none ran yet.
    pub kind: String,
    /// How it ended; empty when none ran yet.
    pub state: String,
    /// Its id.
    pub task_id: Option<String>,
    /// When it began.
    pub started: Option<SystemTime>,
    /// When it ended.
    pub finished: Option<SystemTime>,
    /// Why it failed.
    pub message: Option<String>,
    /// What it had done when it was interrupted: the names of the analyzers that were over.
    pub done: Vec<String>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// The last analysis.
    pub analysis: AnalysisRecord,
    /// How the file was loaded.
    pub load: LoadRecord,
}
