//! From Rust types to published schemas, and from schemas to checks.
//!
//! [`publish`] turns what the derive macros say into the small dialect that
//! clients see; [`check`] compiles such a schema and holds requests against it,
//! so that a client is told exactly what the published schema says.

pub(crate) mod check;
pub(crate) mod publish;
pub(crate) mod text_form;
