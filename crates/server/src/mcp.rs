//! The Model Context Protocol over sockets and pipes: the tools, and the two
//! transports that carry them.

mod answer;
mod body;
mod compact;
#[cfg(test)]
mod fault_tests;
mod help;
mod http;
pub(crate) mod listener;
mod schema;
mod signature;
pub(crate) mod stdio;
mod text;
pub(crate) mod tools;
