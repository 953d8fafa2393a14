//! Writes the generated documents: asks the tests that hold them to render them afresh.
//!
//! The renderers live beside the registry; running them through their tests
//! keeps this crate free of the whole engine.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// The crates and the tests in them that hold documents.
const HOLDERS: &[(&str, &str)] = &[
    ("api", "documents::"),
    ("server", "the_document_is_the_contract_resource"),
    ("ghidra-bridge", "agents::the_document_shows_the_runs"),
];

/// Writes every document again.
pub fn write(root: &Path) -> anyhow::Result<()> {
    for (package, tests) in HOLDERS {
        let status = Command::new(env!("CARGO"))
            .args(["test", "--quiet", "--package", package, tests])
            .env("UPDATE_DOCS", "1")
            .current_dir(root)
            .status()
            .context("cannot run cargo")?;
        ensure!(status.success(), "the documents of {package} were not written");
    }
    println!("codegen: the documents are up to date");
    Ok(())
}
