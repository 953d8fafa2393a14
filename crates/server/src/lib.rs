//! Sockets: WebSocket, MCP over HTTP and stdio, authentication, configuration,
//! shutdown. It names no method: what it serves comes from the registry of `api`.

mod auth;
pub mod config;
mod hold;
mod lane;
mod listen;
mod log;
mod mcp;
mod origin;
mod places;
mod running;
mod service;
mod shutdown;
mod websocket;

pub use auth::Token;
pub use listen::BindError;
pub use log::RequestLog;
pub use mcp::stdio::serve as serve_stdio;
pub use mcp::tools::Catalog;
pub use running::{Bound, Running};
pub use service::Service;
pub use shutdown::{Signals, Stop};
pub use websocket::outbound::{OutboundError, connect, redacted, serve as serve_outbound};
pub use websocket::whole_frames;
