//! Why a database, or a part of it, cannot be read.

use std::path::PathBuf;

/// What went wrong, and where.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system could not read a file or folder.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The bytes are no packed file, or their content cannot be unpacked.
    #[error("packed Ghidra file: {0}")]
    Packed(&'static str),
    /// The bytes are no buffer file, or one of an unknown format.
    #[error("Ghidra buffer file: {0}")]
    File(String),
    /// A buffer is outside the file, free, or not what it should be.
    #[error("buffer {buffer}: {problem}")]
    Buffer {
        /// The buffer's index in the file.
        buffer: i32,
        /// What does not hold.
        problem: &'static str,
    },
    /// A table has a schema that cannot be understood.
    #[error("schema: {0}")]
    Schema(String),
    /// A record does not hold what its schema says.
    #[error("buffer {buffer}, record {index}: {problem}")]
    Record {
        /// The buffer of the leaf that holds the record.
        buffer: i32,
        /// The record's place in that leaf.
        index: usize,
        /// What does not hold.
        problem: &'static str,
    },
    /// Something in a table.
    #[error("table \"{table}\": {source}")]
    Table {
        /// The table's name.
        table: String,
        /// What is wrong with it.
        source: Box<Error>,
    },
    /// A project folder is not laid out as one.
    #[error("Ghidra project {}: {problem}", path.display())]
    Project {
        /// The project's folder.
        path: PathBuf,
        /// What does not hold.
        problem: String,
    },
}

impl Error {
    pub(crate) fn in_table(self, table: &str) -> Self {
        match self {
            Self::Table { .. } => self,
            source => Self::Table { table: table.to_owned(), source: Box::new(source) },
        }
    }

    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}
