//! One process at a time: a lock file beside the project, which says who has it.

use crate::error::StoreError;
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Longest description of a holder that is read.
const MAX_TEXT: u64 = 4096;

/// Who has a project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holder {
    /// Its process id, if it told.
    pub process: Option<u32>,
    /// The machine it runs on.
    pub host: String,
    /// The program it serves.
    pub program: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            Some(process) => write!(f, "process {process}")?,
            None => f.write_str("another process")?,
        }
        if !self.host.is_empty() {
            write!(f, " on {}", self.host)?;
        }
        if !self.program.is_empty() {
            write!(f, ", which serves {}", self.program)?;
        }
        Ok(())
    }
}

/// The claim of this process on a project; given up when dropped, also by a crash.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Claims the project at `project`.
    pub(crate) fn take(project: &Path) -> Result<Lock, StoreError> {
        let path = beside(project, "lock");
        loop {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .map_err(|error| StoreError::system(project, &error))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let holder = read_holder(&file);
                    return Err(StoreError::Held { path: project.to_owned(), holder });
                }
                Err(TryLockError::Error(error)) => {
                    return Err(StoreError::system(project, &error));
                }
            }
            // The holder before may have removed the file since it was opened.
            if is_at(&file, &path) {
                let lock = Lock { file, path };
                lock.describe("");
                return Ok(lock);
            }
        }
    }

    /// Who has the project at `project` now, if anybody has; it is not claimed.
    pub(crate) fn holder(project: &Path) -> Option<Holder> {
        let file = File::open(beside(project, "lock")).ok()?;
        // Shared and at once given back: others who ask do not see each other.
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(read_holder(&file)),
            _ => None,
        }
    }

    /// Tells others what this process serves.
    pub(crate) fn describe(&self, program: &str) {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let text = format!("{}\n{}\n{}\n", std::process::id(), host.trim(), one_line(program));
        let mut file = &self.file;
        // Others are kept out all the same when this cannot be written.
        let _ = file.set_len(0);
        let _ = file.rewind();
        let _ = file.write_all(text.as_bytes());
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A name beside a file: the file's with a suffix.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(mine), Ok(there)) => (mine.dev(), mine.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

fn read_holder(mut file: &File) -> Holder {
    let mut text = String::new();
    let _ = file.rewind();
    let _ = file.take(MAX_TEXT).read_to_string(&mut text);
    let mut lines = text.lines();
    Holder {
        process: lines.next().and_then(|line| line.parse().ok()),
        host: one_line(lines.next().unwrap_or_default()),
        program: one_line(lines.next().unwrap_or_default()),
    }
}

fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_claimed_once_and_free_again_afterwards() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().join("p");
        let lock = Lock::take(&project).expect("is free");
        lock.describe("ls\nand more");
        let seen = Lock::holder(&project).expect("it is held");
        assert_eq!((seen.process, &*seen.program), (Some(std::process::id()), "lsand more"));
        let Err(StoreError::Held { holder, .. }) = Lock::take(&project) else {
            panic!("claimed twice");
        };
        assert_eq!(holder.process, Some(std::process::id()));
        assert_eq!(holder.program, "lsand more");
        assert!(holder.to_string().starts_with(&format!("process {}", std::process::id())));
        drop(lock);
        assert!(!beside(&project, "lock").exists(), "nothing is left behind");
        assert_eq!(Lock::holder(&project), None);
        Lock::take(&project).expect("is free again");
    }

    #[test]
    fn a_claim_needs_a_place_to_stand() {
        let error = Lock::take(Path::new("/nonexistent/folder/p")).unwrap_err().to_string();
        assert!(
            error.contains("/nonexistent/folder/p") && error.contains("no such file"),
            "{error}"
        );
    }
}
