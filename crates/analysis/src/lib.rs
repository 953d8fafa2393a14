//! Passes that add facts to a program: functions, references, data, strings.
//!
//! Each pass is one row of [`PASSES`] and one file. A pass reads and edits a
//! working copy of the program; between passes, and inside long ones, the
//! working copy is published so that readers see progress.

mod accesses;
mod address_tables;
mod c_names;
mod call_fixups;
mod calls;
mod code;
mod cold_parts;
mod constants;
mod crossings;
mod debug_files;
mod debug_information;
mod demangled_signatures;
mod dwarf;
mod evaluate;
mod evidence;
mod exception_data;
mod explore;
mod expression;
mod follow;
mod function_starts;
mod functions;
mod golang;
mod guard;
mod jump_tables;
mod known_code;
mod linkage;
mod machine;
mod main_function;
mod make;
mod mangled;
mod no_return;
mod operands;
mod parameter_ids;
mod pass;
pub mod pdb;
mod pointed_code;
mod process_entry;
mod prototypes;
mod reaching;
mod refer;
mod referenced;
mod rtti;
mod runtime_functions;
mod rust_strings;
mod scalars;
mod shared_returns;
mod stack;
mod start_patterns;
mod strings;
mod subroutine;
mod switch_tables;
mod switches;
mod thread_block;
mod thunks;
mod unused_imports;
pub mod unwind;
mod values;
mod windows_prototypes;
mod windows_starts;

pub use debug_files::{Content, DebugFiles, NoDebugFiles, OpenFile, Sought};
pub use guard::Failure;
pub use make::{MakeError, make_function};
pub use pass::{Analysis, Bounds, Monitor, PASSES, Pass, PassReport, Stopped, run, run_with_files};
pub use windows_prototypes::offer_windows_types;

#[cfg(test)]
mod truth;
