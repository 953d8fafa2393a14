//! Edits of real programs: what each changes in the decompiled text of the functions that it
//! concerns, and that nothing else changes.

mod cuts;
mod fixture;
mod functions;
mod local_variables;
mod parameters;
