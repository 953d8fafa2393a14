//! Measuring a server from outside: requests per second, and single reads while
//! the decompiler works.

pub mod http;
pub mod latency;
pub mod websocket;
