//! The Model Context Protocol over sockets and pipes: the tools, and the two
//! transports that carry them.

mod answer;
mod body;
#[cfg(test)]
mod fault_tests;
mod help;
mod http;
pub(crate) mod listener;
mod schema;
pub(crate) mod stdio;
pub(crate) mod tools;
