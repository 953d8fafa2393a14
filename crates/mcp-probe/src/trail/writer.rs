//! The recording file: append-only, one flushed line a message, rotated by size.

use super::entry::Entry;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file that only its owner reads: what crosses a wire is nobody else's business.
fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// Writes lines and starts a new file when the current one is full.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
    size: u64,
    rotate_at: Option<u64>,
}

impl Writer {
    /// Opens a file for appending.
    pub fn open(path: &Path, rotate_at: Option<u64>) -> io::Result<Writer> {
        let file = private(path)?;
        let size = file.metadata()?.len();
        Ok(Writer { path: path.to_path_buf(), file, size, rotate_at })
    }

    /// Appends one line. A single write, so that a kill leaves whole lines.
    pub fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let line = entry.line();
        if self
            .rotate_at
            .is_some_and(|limit| self.size > 0 && self.size + line.len() as u64 > limit)
        {
            self.rotate()?;
        }
        self.file.write_all(line.as_bytes())?;
        self.size += line.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let numbered = |number: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        let free = (1..).map(numbered).find(|path| !path.exists());
        if let Some(free) = free {
            std::fs::rename(&self.path, free)?;
        }
        self.file = private(&self.path)?;
        self.size = 0;
        Ok(())
    }
}
