//! The facade over loading, analysis and decompilation: one open program as a
//! [`Session`] with snapshots for readers, one writer, and background analysis.

mod analysis_task;
mod debug_files;
pub mod declarations;
mod ghidra;
mod instruction_text;
mod number;
mod open;
mod project;
mod put_back;
mod session;
mod signature;
mod worker;

pub use analysis_task::{AnalysisKind, AnalysisState, AnalysisStatus, Interrupted};
pub use debug_files::identify_pdb;
pub use instruction_text::{InstructionPrinter, InstructionText};
pub use number::{MAX_SIZE as MAX_NUMBER_SIZE, Number, NumberError};
pub use open::{OpenError, OpenOptions};
pub use project::{ProjectChoice, SaveError};
pub use session::{Busy, Session, WriteError};
pub use signature::bytes_type;

pub use analysis::pdb::{PdbError, PdbIdentity};
pub use analysis::{MakeError, PASSES, PassReport, make_function};
pub use decompiler;
pub use emulator;
pub use loader::{Format, LoadOptions};
pub use program;
pub use store::StoreError;
