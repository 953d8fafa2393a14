//! Checks on the source tree that no compiler makes: who may depend on whom,
//! how files open, how large they are and what they are called.

mod layers;
mod methods;
mod source;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub use layers::Package;

/// One broken rule, with the place and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file or manifest, relative to the workspace root.
    pub place: String,
    /// What is wrong there.
    pub problem: String,
}

impl Finding {
    fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// A Rust file of the workspace.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Path relative to the workspace root, with `/` between its parts.
    pub path: String,
    /// Its whole text.
    pub text: String,
}

/// Runs every check over the workspace at `root`.
pub fn check(root: &Path) -> Result<Vec<Finding>> {
    let files = read_sources(root)?;
    let mut findings = layers::check(&layers::read_packages(root)?);
    findings.extend(source::check(&files));
    findings.extend(methods::check(&files));
    Ok(findings)
}

/// Checks source files alone, without manifests.
pub fn check_sources(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = source::check(files);
    findings.extend(methods::check(files));
    findings
}

/// Checks the dependencies of packages alone.
pub fn check_layers(packages: &[Package]) -> Vec<Finding> {
    layers::check(packages)
}

/// Every `.rs` file below `root`, in path order, build output left out.
fn read_sources(root: &Path) -> Result<Vec<SourceFile>> {
    let mut paths = Vec::new();
    walk(root, &mut paths)?;
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("{} cannot be read", path.display()))?;
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let path = relative.to_string_lossy().replace('\\', "/");
            Ok(SourceFile { path, text })
        })
        .collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("{} cannot be listed", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if name != "target" && !name.starts_with('.') {
                walk(&entry.path(), found)?;
            }
        } else if kind.is_file() && name.ends_with(".rs") {
            found.push(entry.path());
        }
    }
    Ok(())
}
