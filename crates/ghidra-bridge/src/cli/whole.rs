//! Files and folders that appear whole or not at all: written beside their place, then renamed.

use anyhow::{Context, bail};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file. What is there already is replaced at the end only; what is no file (a pipe, a
/// device) is written as it is.
pub fn file(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let failed = || format!("{} cannot be written", path.display());
    if path.is_dir() {
        bail!("{} is a folder; name a file", path.display());
    }
    if path.exists() && !path.is_file() {
        let mut out = BufWriter::new(File::options().write(true).open(path).with_context(failed)?);
        fill(&mut out)?;
        return out.flush().with_context(failed);
    }
    let beside = builder().tempfile_in(folder_of(path)).with_context(failed)?;
    let mut out = BufWriter::new(beside);
    fill(&mut out)?;
    let beside =
        out.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(failed)?;
    beside.persist(path).map(|_| ()).map_err(|error| error.error).with_context(failed)
}

/// Lets a file be made under another name beside its place, by whoever wants a path.
pub fn at(path: &Path, make: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let failed = || format!("{} cannot be written", path.display());
    if path.exists() && !path.is_file() {
        bail!("{} is no file; name one", path.display());
    }
    let beside = builder().tempfile_in(folder_of(path)).with_context(failed)?.into_temp_path();
    make(&beside).with_context(failed)?;
    beside.persist(path).map_err(|error| error.error).with_context(failed)
}

/// Fills a new folder. One that is there must be empty.
pub fn folder(path: &Path, fill: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let failed = || format!("{} cannot be written", path.display());
    if path.exists() {
        let mut entries = std::fs::read_dir(path).with_context(failed)?;
        if entries.next().is_some() {
            bail!("{} is there already and is not empty; name a new folder", path.display());
        }
    }
    let beside = folder_builder().tempdir_in(folder_of(path)).with_context(failed)?;
    fill(beside.path())?;
    // An empty folder gives way to the rename on Unix only.
    if path.exists() {
        std::fs::remove_dir(path).with_context(failed)?;
    }
    std::fs::rename(beside.keep(), path).with_context(failed)
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// As readable as any new file, not for its owner alone.
fn builder() -> tempfile::Builder<'static, 'static> {
    permitted(0o666)
}

fn folder_builder() -> tempfile::Builder<'static, 'static> {
    permitted(0o777)
}

#[cfg(unix)]
fn permitted(mode: u32) -> tempfile::Builder<'static, 'static> {
    use std::os::unix::fs::PermissionsExt;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ghidra-bridge-").permissions(std::fs::Permissions::from_mode(mode));
    builder
}

#[cfg(not(unix))]
fn permitted(_mode: u32) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ghidra-bridge-");
    builder
}
