//! What tests share: fixture programs, sample programs with what Ghidra says about
//! them, a running bridge on a free port. For development only.

mod fixture;
pub mod truth;

pub use fixture::{fixture, fixtures};
