//! JSON-RPC 2.0 messages: strict reading of JSON text, envelope checks with
//! exact error codes, and printing of replies. Knows no sockets and no methods.

mod id;
mod json;
mod reply;
mod request;

pub use id::Id;
pub use json::{JsonError, MAX_DEPTH, parse};
pub use reply::{failure, notification, success};
pub use request::{Envelope, Message, read};

/// The codes that this layer writes into the `code` member of an error.
pub mod code {
    /// The text is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a valid request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method is not known.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// A fault of the server.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// A method was run and failed; `data` says how.
    pub const METHOD_FAILED: i64 = -32000;
}
