//! Servers to practise on: a good one, and one for every fault that the probe
//! can find.

mod faults;
mod http;
mod model;
mod stdio;
mod ws;

pub use faults::{MOCKS, Mock, find};
pub use http::serve as serve_http;
pub use stdio::serve as serve_stdio;
pub use ws::serve as serve_ws;
