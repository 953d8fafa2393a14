//! The contract: every method as a typed row, its schemas, checks and documents.
//!
//! A method is one row in `methods/`: a name, a text and a typed function.
//! From the Rust types of its parameters and its result follow the published
//! schemas, the checks with their error codes, the documents and the MCP
//! tools. This crate is synchronous and opens no socket; transports call
//! [`Bridge::call`] and print what comes back.

mod bridge;
mod bytes;
mod context;
pub mod contract;
mod cursor;
mod error;
mod instant;
mod method;
mod methods;
mod projection;
mod registry;
mod schema;
mod shapes;
mod unfinished;
mod view;
mod walk;

pub use bridge::{Bridge, BridgeOptions};
pub use context::{CallContext, CancelToken, Transport};
pub use error::{BridgeError, ErrorCode};
pub use method::{Effects, Method};
pub use registry::{Domain, Registry, Surface, registry};
pub use schema::check::nearest;
pub use schema::text_form::TextForm;
pub use unfinished::WHILE_ANALYSIS_RUNS;

/// Version of the contract that [`registry`] describes.
pub const INTERFACE_VERSION: &str = "1.0.0";

/// Version of the contract with its extended methods.
pub const EXTENDED_VERSION: &str = "1.1.0";
