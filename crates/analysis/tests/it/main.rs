//! What analysis finds in small hand-made images, whose assembly stands beside their bytes.

mod arm;
mod bounds;
mod c_names;
mod c_text;
mod crossings;
mod exceptions;
mod flow;
mod golang;
mod image;
mod imports;
mod jump_tables;
mod mips;
mod names;
mod order;
mod parameters;
mod passed;
mod pointed_code;
mod purges;
mod resumed;
mod rtti;
mod rust_strings;
mod spilled;
mod stubs;
mod thread_block;
mod windows;
mod windows_types;
