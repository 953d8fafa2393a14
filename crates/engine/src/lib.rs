//! The facade over loading, analysis and decompilation: one open program as a session.
