//! Chores of the workspace that are more than one command: checks on the source
//! tree, generated documents and the fixtures. `cargo xtask` lists them.

pub mod codegen;
pub mod fixtures;
pub mod tidy;

use std::path::PathBuf;

/// The root of the workspace this crate was built from.
pub fn workspace_root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).map(PathBuf::from).unwrap_or(manifest)
}
