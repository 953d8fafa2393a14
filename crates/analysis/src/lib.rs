//! Passes that add facts to a program: functions, references, data, strings.
//!
//! Each pass is one row of [`PASSES`] and one file. A pass reads and edits a
//! working copy of the program; between passes, and inside long ones, the
//! working copy is published so that readers see progress.

mod accesses;
mod address_tables;
mod code;
mod explore;
mod functions;
mod no_return;
mod pass;
mod prototypes;
mod referenced;
mod shared_returns;
mod strings;
mod thunks;
pub mod unwind;

pub use pass::{Analysis, Monitor, PASSES, Pass, Stopped, run};
