//! Just enough HTTP/1.1, with nothing hidden.

mod client;
mod fault;
mod network;
mod packing;
mod parser;
mod sse;
mod url;

pub use client::{ConnectError, Part, Request, Response, Stream, connect, send};
pub use fault::HttpFault;
pub use network::{Network, choose};
pub use packing::{is_packed, unpack};
pub use parser::{Event, Head, Parser, Role, find_header};
pub use sse::{SseEvent, SseItem, SseParser};
pub use url::{Scheme, Url};
