//! The facade over loading, analysis and decompilation: one open program as a session.

/// One open program.
#[derive(Debug, Default)]
pub struct Session {}
