//! Servers to practise on: a good one, and one for every fault that the probe
//! can find.

mod escapes;
mod faults;
mod http;
mod model;
mod shapes;
mod stdio;
mod table;
mod ws;

pub use faults::Act;
pub use http::{serve as serve_http, serve_with as serve_http_with};
pub use stdio::serve as serve_stdio;
pub use table::{MOCKS, Manner, Mock, find};
pub use ws::serve as serve_ws;
