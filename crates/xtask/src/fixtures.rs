//! Rebuilds the committed binaries under `fixtures/bin` from `fixtures/src`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Runs the recipe in `fixtures/Makefile`.
pub fn build(root: &Path) -> Result<()> {
    let status = Command::new("make")
        .arg("-C")
        .arg(root.join("fixtures"))
        .status()
        .context("make could not be started")?;
    ensure!(status.success(), "make in fixtures/ ended with {status}");
    Ok(())
}
