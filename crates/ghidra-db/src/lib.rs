//! Ghidra's databases, read natively: a packed file or a project folder, the buffer file in it,
//! the tables in that, their records. Schemas come from the file itself, so every version of every
//! table can be read; what the columns mean is the reader's business.
//!
//! ```no_run
//! # fn main() -> Result<(), ghidra_db::Error> {
//! let packed = ghidra_db::Packed::read("program.gzf".as_ref())?;
//! let database = ghidra_db::Database::parse(packed.content)?;
//! for table in database.tables() {
//!     println!("{} version {}", table.name, table.schema.version);
//!     for record in database.records(table) {
//!         println!("{:?}", record?.values);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Files are taken as hostile. Nothing allocates more than the file can justify, walks are bounded
//! by the number of its buffers, and what does not hold is an [`Error`] that names table and buffer.
//! Nothing is ever written, locked or repaired.

mod buffer_file;
mod bytes;
mod chained;
mod database;
mod error;
mod node;
mod packed;
mod project;
mod property_file;
mod record;
mod schema;
mod version_file;

pub use buffer_file::BufferFile;
pub use chained::ChainedBuffer;
pub use database::{Database, Records, Table, Unreadable};
pub use error::Error;
pub use packed::Packed;
pub use project::{Item, Opened, Project, Storage};
pub use record::{Record, Value};
pub use schema::{Column, FieldType, Schema};
