//! The project file: everything known about one program in one SQLite file, which
//! people can query by hand. `docs/project-format.md` describes its tables.
//!
//! A [`Project`] is the place of such a file. It is claimed by one process at a
//! time, loaded as a whole or not at all, and saved so that a crash at any instant
//! leaves the state saved last or the one before. What it holds is checked
//! against sums when it is read: a damaged file is refused, never half read.

mod error;
mod lock;
mod project;
mod reader;
mod record;
mod schema;
mod sheet;
mod tables;
mod words;
mod writer;

pub use error::StoreError;
pub use lock::Holder;
pub use project::{Project, Summary, holder, is_project, peek};
pub use record::{AnalysisRecord, LoadRecord, Record};
