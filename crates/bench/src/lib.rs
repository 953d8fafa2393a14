//! Measures how right and how fast the engine is: scores against what Ghidra says
//! about the sample programs, and figures on real files. For development only.

pub mod c_text;
pub mod category;
pub mod figures;
pub mod floor;
pub mod ours;
pub mod report;
pub mod requests;
pub mod run;
pub mod score;
pub mod subject;
pub mod symbol_table;
pub mod theirs;
