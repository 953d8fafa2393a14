//! From a path to a session: reading the file, with errors that say what was
//! found and what to do.

use crate::Session;
use decompiler::Language;
use loader::{LoadError, LoadOptions};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest file that is opened.
const MAX_FILE: u64 = 4 << 30;

/// Formats that carry bytes and addresses only: the processor alone tells what
/// lies where.
const HEADERLESS: [&str; 3] = ["Raw Binary", "Intel Hex", "Motorola Hex"];

/// How to open a file.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Format, language and base, where they are not to be detected.
    pub load: LoadOptions,
}

/// Why a file could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operating system refused to read it.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// It is a folder, a device or a socket.
    #[error("{} is not a file; name the program to open", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// It is larger than this program will read.
    #[error("{} has {size} bytes; files up to {} bytes can be opened", path.display(), MAX_FILE)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: u64,
    },
    /// Its content cannot be loaded.
    #[error("cannot load {}: {source}", path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// The loader's reason.
        source: LoadError,
    },
    /// The processor's language is not built in.
    #[error("cannot open {}: {source}", path.display())]
    Language {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: decompiler::LanguageError,
    },
}

impl Session {
    /// Reads and loads a file; does not analyse it.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Session, OpenError> {
        let bytes = read_file(path)?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let times = std::fs::metadata(path)
            .map(|m| (m.created().ok(), m.modified().ok()))
            .unwrap_or_default();
        let mut program = loader::load(&name, &full.to_string_lossy(), bytes, &options.load)
            .map_err(|source| OpenError::Load { path: path.to_owned(), source })?;
        let info = Arc::make_mut(&mut program.info);
        info.created = times.0.or(times.1);
        info.modified = times.1;
        let broken = |source| OpenError::Language { path: path.to_owned(), source };
        let ids = (&program.info.language_id, &program.info.compiler_spec_id);
        let language = Language::open(ids.0, ids.1).map_err(broken)?;
        let says_nothing = HEADERLESS.contains(&&*program.info.executable_format);
        language.add_own_memory(&mut program, says_nothing);
        Session::from_program(program)
            .map_err(|source| OpenError::Language { path: path.to_owned(), source })
    }
}

/// The whole content of a regular file of bearable size.
fn read_file(path: &Path) -> Result<Arc<[u8]>, OpenError> {
    let read = |source| OpenError::Read { path: path.to_owned(), source };
    let metadata = std::fs::metadata(path).map_err(read)?;
    if !metadata.is_file() {
        return Err(OpenError::NotAFile { path: path.to_owned() });
    }
    if metadata.len() > MAX_FILE {
        return Err(OpenError::TooLarge { path: path.to_owned(), size: metadata.len() });
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    let file = std::fs::File::open(path).map_err(read)?;
    // A file that grows while it is read must not grow our memory.
    file.take(MAX_FILE).read_to_end(&mut bytes).map_err(read)?;
    Ok(bytes.into())
}
