//! Files apart from the program that hold its debug information: what analysis asks for. Whoever
//! runs it knows where files are and reads them.

use program::Program;

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
}

/// Finds and reads such files.
pub trait DebugFiles {
    /// The paths of files that are there and may be what is sought, the likeliest first.
    fn candidates(&self, sought: &Sought<'_>) -> Vec<String>;
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

    fn read(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn load(&self, _: &str, _: Vec<u8>, _: &Program) -> Option<Program> {
        None
    }
}
