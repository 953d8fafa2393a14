//! Why a project could not be opened or saved, in words that people can act on.

use crate::lock::Holder;
use std::path::{Path, PathBuf};

/// Why a project could not be opened or saved.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has it.
    #[error("the project {} is in use by {holder}", path.display())]
    Held {
        /// The project file.
        path: PathBuf,
        /// Who has it.
        holder: Holder,
    },
    /// The file is something else.
    #[error("{} is not a project file; it is left as it is", path.display())]
    NotAProject {
        /// The file.
        path: PathBuf,
    },
    /// A later version of this program wrote it.
    #[error(
        "the project {} has format {version}, and this version reads up to {}: open it with a newer ghidra-bridge",
        path.display(),
        crate::schema::VERSION
    )]
    TooNew {
        /// The project file.
        path: PathBuf,
        /// Its format.
        version: i64,
    },
    /// It is not what was saved.
    #[error(
        "the project {} is damaged ({what}); it is left as it is, so use a copy of it from before",
        path.display()
    )]
    Damaged {
        /// The project file.
        path: PathBuf,
        /// Where it shows.
        what: String,
    },
    /// The system refused to read it.
    #[error("the project {} cannot be read: {reason}", path.display())]
    Read {
        /// The project file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// The system refused to write it. What was saved before is still there.
    #[error(
        "the project {} cannot be saved: {reason}{}",
        path.display(),
        if path.exists() { "; what was saved before is still there" } else { "" }
    )]
    Write {
        /// The project file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
}

impl StoreError {
    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: path.to_owned(), what: what.into() }
    }

    /// The meaning of a failed read.
    pub(crate) fn reading(path: &Path, error: &rusqlite::Error) -> StoreError {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseLocked, PermissionDenied, ReadOnly, SystemIoFailure,
        };
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => StoreError::NotAProject { path },
            Some(
                CannotOpen | DatabaseBusy | DatabaseLocked | PermissionDenied | ReadOnly
                | SystemIoFailure,
            ) => StoreError::Read { path, reason: reason(error) },
            _ => StoreError::Damaged { path, what: reason(error) },
        }
    }

    /// The meaning of a failed write.
    pub(crate) fn writing(path: &Path, error: &rusqlite::Error) -> StoreError {
        StoreError::Write { path: path.to_owned(), reason: reason(error) }
    }

    pub(crate) fn system(path: &Path, error: &std::io::Error) -> StoreError {
        StoreError::Write { path: path.to_owned(), reason: plain(error) }
    }
}

/// The system's words without its numbers.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

fn reason(error: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, PermissionDenied,
        ReadOnly, SystemIoFailure,
    };
    let text = match error.sqlite_error_code() {
        Some(DiskFull) => "the disk is full",
        Some(DatabaseBusy | DatabaseLocked) => "another program is writing to it",
        Some(ReadOnly | PermissionDenied) => "it may not be written here",
        Some(CannotOpen) => "it cannot be opened here",
        Some(SystemIoFailure) => "the disk refused, perhaps because it is full",
        Some(DatabaseCorrupt) => "its pages do not fit together",
        _ => return error.to_string(),
    };
    text.to_owned()
}
