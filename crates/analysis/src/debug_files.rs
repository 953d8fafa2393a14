//! Files apart from the program that hold its debug information: what analysis asks for. Whoever
//! runs it knows where files are and reads them.

use program::Program;
use std::fmt;
use std::io::{self, Read, Seek};

/// What is looked for. Names come out of files that nobody vouches for.
#[derive(Debug, Clone, Copy)]
pub enum Sought<'a> {
    /// The debug information of a build.
    Build {
        /// The id of the build.
        id: &'a [u8],
    },
    /// The debug information that the program's link names: a name without folders.
    Link {
        /// The name.
        name: &'a str,
    },
    /// What several files with debug information share.
    Shared {
        /// Its path, as seen from the file that speaks of it.
        name: &'a str,
        /// The id of its build.
        id: &'a [u8],
        /// The file that speaks of it, unless it is the program.
        from: Option<&'a str>,
    },
    /// The part of a unit that was split off.
    Split {
        /// Its path, as seen from the folder of its compilation.
        name: &'a str,
        /// That folder.
        folder: &'a str,
    },
    /// All parts that were split off, in one file.
    Package {
        /// The file with the units that they belong to, unless it is the program.
        from: Option<&'a str>,
    },
    /// The PDB file that a Windows program names.
    Pdb {
        /// Its name, without folders.
        name: &'a str,
    },
}

/// What a file is read from, piece by piece.
pub trait Content: Read + Seek + Send + fmt::Debug {}

impl<T: Read + Seek + Send + fmt::Debug> Content for T {}

/// A file that is open.
#[derive(Debug)]
pub struct OpenFile {
    /// What is in it.
    pub content: Box<dyn Content>,
    /// Bytes in it.
    pub length: u64,
}

/// Finds and reads such files.
pub trait DebugFiles {
    /// The paths of files that are there and may be what is sought, the likeliest first.
    fn candidates(&self, sought: &Sought<'_>) -> Vec<String>;
    /// The path of the PDB file that somebody chose in place of the one that the program names.
    fn chosen_pdb(&self) -> Option<String> {
        None
    }
    /// Opens a file that may be too large to be held.
    ///
    /// # Errors
    /// When it cannot be had.
    fn open(&self, path: &str) -> io::Result<OpenFile>;
    /// The content of a file; `None` if it cannot be had.
    fn read(&self, path: &str) -> Option<Vec<u8>>;
    /// The program in a file, loaded as `like` was.
    fn load(&self, path: &str, content: Vec<u8>, like: &Program) -> Option<Program>;
}

/// Where there are no such files.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDebugFiles;

impl DebugFiles for NoDebugFiles {
    fn candidates(&self, _: &Sought<'_>) -> Vec<String> {
        Vec::new()
    }

    fn open(&self, _: &str) -> io::Result<OpenFile> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn read(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn load(&self, _: &str, _: Vec<u8>, _: &Program) -> Option<Program> {
        None
    }
}
