//! Plain blocking clients for all transports. They know the protocols, not our
//! code, and keep every reply to the schema of its method when told the schemas.

mod http;
mod mcp;
mod stdio;
mod websocket;

pub use http::{HttpConnection, HttpReply};
pub use mcp::McpClient;
pub use stdio::StdioClient;
pub use websocket::WebSocketClient;

use serde::Deserialize;
use serde_json::Value;

/// The error every failed method answers with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BridgeError {
    /// Status, as in HTTP.
    pub status: u16,
    /// A word for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// JSON pointer to what is to blame in the request.
    pub target: String,
    /// More about it.
    pub details: serde_json::Map<String, Value>,
}

impl std::fmt::Display for BridgeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} at {}: {}", self.status, self.code, self.target, self.message)
    }
}

impl std::error::Error for BridgeError {}
