//! Why a database gives no program.

use decompiler::LanguageError;

/// What was found instead of a program that can be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The database itself cannot be read.
    #[error(transparent)]
    Database(#[from] ghidra_db::Error),
    /// It holds something else, such as an archive of data types.
    #[error("the database holds no program: it has no table \"{0}\"")]
    NoProgram(&'static str),
    /// A table is laid out as no known Ghidra did.
    #[error(
        "table \"{table}\" has version {found}; versions {oldest} to {newest} are known (Ghidra 10.0 to 12.2). \
         The database was written by Ghidra {ghidra}"
    )]
    UnknownVersion {
        /// The table's name.
        table: String,
        /// Its version.
        found: i32,
        /// The oldest version that is read.
        oldest: i32,
        /// The newest version that is read.
        newest: i32,
        /// What wrote it, as it says.
        ghidra: String,
    },
    /// Its processor's language is not built in.
    #[error(transparent)]
    Language(#[from] LanguageError),
}
