//! The Model Context Protocol as messages: which text is a request, which
//! version it speaks, whether its metadata and headers agree, which method it
//! asks for, and how results and errors are dressed. Knows no sockets, no
//! tools and no program; the HTTP and the stdio transport share it.

mod call;
mod envelope;
mod era;
mod failure;
mod header;
mod metadata;
mod reply;
mod version;

pub use call::{Call, Shape, route};
pub use envelope::{Incoming, Refusal, read};
pub use era::{Era, Source, choose, gate_notification};
pub use failure::Failure;
pub use header::{Header, Headers};
pub use metadata::is_modern;
pub use reply::{
    Implementation, capabilities, decorate, error, error_without_id, presentation, success,
};
pub use version::Version;
