//! See the repository's ARCHITECTURE.md.

fn main() {}
