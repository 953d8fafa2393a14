//! Sitting in the data path of a real client and a real server. Bytes are
//! handed to a thread of their own, which looks at them while they go on.

mod frames;
mod http;
mod stdio;
mod talk;
mod tap;

pub use http::proxy;
pub use stdio::wrap;
pub use tap::Totals;
