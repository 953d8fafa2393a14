//! The committed programs under `fixtures/bin`.

use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bin")
}

/// The path of the fixture `name`, for example `inventory.x64.O0`.
///
/// # Panics
///
/// When there is no such fixture: the test that asks for it is wrong.
pub fn fixture(name: &str) -> PathBuf {
    let path = folder().join(name);
    assert!(path.is_file(), "there is no fixture {}", path.display());
    path
}

/// The paths of all fixtures, in order of their names.
///
/// # Panics
///
/// When the folder cannot be listed.
pub fn fixtures() -> Vec<PathBuf> {
    let folder = folder();
    let entries = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{} cannot be listed: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths
}
