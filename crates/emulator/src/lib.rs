//! An emulator: p-code interpreted over a copy of a program's memory, with bounds and typed
//! reasons to stop.
//!
//! [`Emulator`] holds what one program needs; [`Emulator::run`] calls a function in it. Memory is
//! copied page by page when it is first touched, so neither the program nor the host sees any
//! effect. P-code is made once for each straight run of instructions (`block`), its operands
//! resolved to places in one flat register file (`cells`), and kept until code is written to.
//!
//! What is approximate: rounding is always to nearest; status flags of floating point are not
//! kept; the payload of a NaN is the host's; operations that the language leaves undefined are
//! known only as far as [`Stop::UserOperation`] does not name them.

mod block;
mod build;
mod calls;
mod cells;
mod changes;
mod emulator;
mod extended;
mod float;
mod gates;
mod global_offsets;
mod interpreter;
mod layout;
mod memory;
mod models;
mod operation;
mod outcome;
mod request;
mod user_operations;
mod wide;

pub use emulator::{Emulator, UnsupportedLanguage};
pub use memory::Access;
pub use models::model_names;
pub use outcome::{AnsweredBy, CallSeen, MemoryChange, Outcome, RegisterValue, Returned, Stop};
pub use request::{Argument, Hook, HookAction, Limits, Request, ValueKind};
