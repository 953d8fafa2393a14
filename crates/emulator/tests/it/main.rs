//! The emulator against what processors really do.

mod faults;
mod routines;
mod subject;
