//! What analysis finds in small hand-made images, whose assembly stands beside their bytes.

mod flow;
mod golang;
mod image;
mod jump_tables;
mod mips;
mod pointed_code;
mod rtti;
mod rust_strings;
mod spilled;
mod stubs;
