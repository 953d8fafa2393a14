//! The program as its users see it: the real binary against mock servers and
//! raw sockets.

mod bridge;
mod check;
mod doctor;
mod emit;
mod errors;
mod explain;
mod harness;
mod hostile;
mod lint;
mod measured;
mod mock;
mod odd;
mod page;
mod private;
mod real;
mod record;
mod replay;
mod scan;
mod session;
mod surface;
mod web_socket;
