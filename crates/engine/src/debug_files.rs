//! Files with debug information beside the program, and where systems keep them.
//!
//! Names come out of files that nobody vouches for. Nothing but regular files of bearable size is
//! read, and no more than a bounded number of bytes; whether a file fits is for others to tell.

use analysis::pdb::{self, PdbError, PdbIdentity};
use analysis::{DebugFiles, OpenFile, Sought};
use loader::{Format, LoadOptions};
use program::Program;
use std::cell::Cell;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// Files larger than this are not held.
const LARGEST: u64 = 1 << 30;
/// Files larger than this are left alone.
const LARGEST_OPEN: u64 = 4 << 30;
/// Bytes that are read for one analysis.
const TOTAL: u64 = 8 << 30;
/// Where systems keep debug information.
const SYSTEM: &str = "/usr/lib/debug";
/// Where they keep what several files share.
const SHARED: &str = "/usr/lib/debug/.dwz";

/// The files around one program.
pub(crate) struct Around {
    own: PathBuf,
    pdb: Option<PathBuf>,
    left: Cell<u64>,
}

impl Around {
    /// `pdb` is the file that somebody chose.
    pub(crate) fn new(own: &str, pdb: Option<PathBuf>) -> Around {
        Around { own: PathBuf::from(own), pdb, left: Cell::new(TOTAL) }
    }

    fn folder(&self) -> &Path {
        self.own.parent().unwrap_or(Path::new(""))
    }

    fn places(&self, sought: &Sought<'_>) -> Vec<PathBuf> {
        let folder = self.folder();
        match *sought {
            Sought::Build { id } => match named_by_id(id) {
                Some(name) => vec![folder.join(&name), Path::new(SYSTEM).join(&name)],
                None => Vec::new(),
            },
            Sought::Link { name } => {
                let mirrored = folder.strip_prefix("/").ok();
                let mirrored = mirrored.map(|f| Path::new(SYSTEM).join(f).join(name));
                let near = [folder.join(name), folder.join(".debug").join(name)];
                near.into_iter().chain(mirrored).collect()
            }
            Sought::Shared { name, id, from } => {
                let from = from.and_then(|from| Path::new(from).parent()).unwrap_or(folder);
                let last = Path::new(name).file_name().map(Path::new);
                let last = last.into_iter().flat_map(|last| {
                    [
                        folder.join(last),
                        folder.join(".dwz").join(last),
                        Path::new(SHARED).join(last),
                    ]
                });
                let by_id = named_by_id(id).map(|name| Path::new(SYSTEM).join(name));
                std::iter::once(from.join(name)).chain(last).chain(by_id).collect()
            }
            Sought::Split { name, folder: compiled } => {
                let name = Path::new(name);
                let last = name.file_name().map(|last| folder.join(last));
                let below = Some(name).filter(|name| stays_below(name)).map(|n| folder.join(n));
                last.into_iter().chain(below).chain([Path::new(compiled).join(name)]).collect()
            }
            Sought::Package { from } => {
                [Some(&*self.own), from.map(Path::new)].into_iter().flatten().map(package).collect()
            }
            Sought::Pdb { name } => vec![folder.join(name)],
        }
    }
}

/// Opens a regular file of bearable size.
fn open(path: &Path) -> io::Result<OpenFile> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > LARGEST_OPEN {
        let reason = "it is no file of bearable size";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let content = Box::new(std::fs::File::open(path)?);
    Ok(OpenFile { content, length: metadata.len() })
}

/// Reads the identity of the PDB file at a path.
///
/// # Errors
/// When there is none.
pub fn identify_pdb(path: &Path) -> Result<PdbIdentity, PdbError> {
    let shown = path.display().to_string();
    match open(path) {
        Ok(file) => pdb::identify(&shown, file),
        Err(source) => Err(PdbError::Read { path: shown, source }),
    }
}

/// The package of split units that belongs to a file.
fn package(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".dwp");
    name.into()
}

/// Whether a path leads into the folder that it starts from.
fn stays_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The name under which a build's debug information is kept.
fn named_by_id(id: &[u8]) -> Option<String> {
    let (first, rest) = id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!(".build-id/{first:02x}/{rest}.debug"))
}

impl DebugFiles for Around {
    fn candidates(&self, sought: &Sought<'_>) -> Vec<String> {
        if self.own.as_os_str().is_empty() {
            return Vec::new();
        }
        let mut found: Vec<String> = Vec::new();
        for place in self.places(sought) {
            let fits = place != self.own && place.is_absolute() && place.is_file();
            if let Some(path) = place.to_str().filter(|_| fits)
                && !found.iter().any(|known| known == path)
            {
                found.push(path.to_owned());
            }
        }
        found
    }

    fn chosen_pdb(&self) -> Option<String> {
        Some(self.pdb.as_ref()?.display().to_string())
    }

    fn open(&self, path: &str) -> io::Result<OpenFile> {
        open(Path::new(path))
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let file = self.open(path).ok()?;
        let most = LARGEST.min(self.left.get());
        if file.length > most {
            return None;
        }
        let mut bytes = Vec::new();
        // A file that grows while it is read must not grow our memory.
        file.content.take(most).read_to_end(&mut bytes).ok()?;
        self.left.set(self.left.get().saturating_sub(bytes.len() as u64));
        Some(bytes)
    }

    fn load(&self, path: &str, content: Vec<u8>, like: &Program) -> Option<Program> {
        let options = LoadOptions {
            language: Some(like.info.language_id.clone()),
            compiler_spec: Some(like.info.compiler_spec_id.clone()),
            base: Some(like.info.image_base),
            format: Format::Elf,
            member: None,
        };
        loader::load(&like.info.name, path, content.into(), &options).ok()
    }
}
