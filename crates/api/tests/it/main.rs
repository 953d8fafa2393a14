//! Tests over the whole table of methods.

mod contract;
mod documents;
mod table;
