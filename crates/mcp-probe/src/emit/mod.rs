//! What is written out for use elsewhere.

mod config;
mod program;

pub use config::{Client, config};
pub use program::program;
