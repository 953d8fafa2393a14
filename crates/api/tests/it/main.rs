//! Tests over the whole table of methods, and calls against a small program.

mod calls;
mod contract;
mod documents;
mod table;
