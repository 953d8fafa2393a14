//! The facade over loading, analysis and decompilation: one open program as a
//! [`Session`] with snapshots for readers, one writer, and background analysis.

mod analysis_task;
mod call_graph;
mod code_search;
mod debug_files;
pub mod declarations;
mod flow_graph;
mod ghidra;
mod instruction_text;
mod linkage;
mod number;
mod open;
mod pattern;
mod project;
mod put_back;
mod session;
mod signature;
mod strings;
mod triage;
mod worker;

pub use analysis_task::{AnalysisKind, AnalysisState, AnalysisStatus, Interrupted};
pub use call_graph::{CallGraph, CallKind, Reached};
pub use code_search::{CTexts, CodeQuery, CodeSearcher, call_arguments};
pub use debug_files::identify_pdb;
pub use flow_graph::{BasicBlock, FlowEdge, FlowGraph, flow_graph};
pub use instruction_text::{InstructionPrinter, InstructionText, RawPcode};
pub use linkage::{Export, Import, exports, imports, prototype_at};
pub use number::{MAX_SIZE as MAX_NUMBER_SIZE, Number, NumberError};
pub use open::{OpenError, OpenOptions};
pub use pattern::{Pattern, PatternError};
pub use project::{ProjectChoice, SaveError};
pub use session::{Busy, Session, WriteError};
pub use signature::bytes_type;
pub use strings::{FoundString, references_into, string_of, strings_used_in};
pub use triage::{
    Protections, Relro, Telling, entropy, has_stack_canary, packer_hints, protections,
    telling_strings, theme_of, themes,
};

pub use analysis::pdb::{PdbError, PdbIdentity};
pub use analysis::{MakeError, PASSES, PassReport, make_function};
pub use decompiler;
pub use emulator;
pub use loader::{Format, LoadOptions};
pub use program;
pub use store::StoreError;
