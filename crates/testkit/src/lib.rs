//! What tests share: fixture programs, sample programs with what Ghidra says about
//! them, sample projects of Ghidra, a running bridge on a free port. For development only.

pub mod bridge;
pub mod calls;
pub mod client;
mod fixture;
pub mod projects;
pub mod schema;
pub mod truth;

pub use bridge::Bridge;
pub use fixture::{fixture, fixtures};
