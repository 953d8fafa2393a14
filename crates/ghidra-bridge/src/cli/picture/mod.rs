//! Pictures of a program: graphs in layers, and its memory as a map.

pub mod calls;
pub mod cfg;
pub mod dot;
pub mod graph;
pub mod layers;
pub mod memory;
pub mod svg;
