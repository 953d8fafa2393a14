//! Documents made from the registry alone: a reference for people, and a
//! machine-readable description of the WebSocket interface.
//!
//! The files under `docs/` are these texts; a test renders them again and
//! shows what differs.

mod asyncapi;
mod markdown;
mod members;
mod yaml;

pub use asyncapi::asyncapi;
pub use markdown::{Example, Examples, extensions, markdown};
