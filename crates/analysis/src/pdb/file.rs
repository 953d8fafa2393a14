//! The container of a PDB file, and what tells one file from another.
//!
//! Such a file may claim anything: no stream is larger than the file, and all that is read of it
//! stays within a small multiple of its size.

use crate::debug_files::OpenFile;
use pdb2::{PDB, Source, SourceSlice, SourceView};
use program::{Address, Program};
use std::fmt;
use std::io::{self, SeekFrom};

/// How many times the size of the file is read of it at most: streams do not overlap, and some
/// are read twice.
const TIMES: u64 = 4;

/// A PDB file that is open.
pub(super) type Pdb = PDB<'static, Pages>;

/// What tells one PDB file from another, and connects it with its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdbIdentity {
    /// Made anew with each build.
    pub guid: [u8; 16],
    /// How often the file was written since.
    pub age: u32,
}

impl fmt::Display for PdbIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g, h, i, rest @ ..] = self.guid;
        // The first three numbers are stored with the low byte first.
        for byte in [d, c, b, a, g, e, i, h].iter().chain(&rest) {
            write!(f, "{byte:02x}")?;
        }
        write!(f, "-{:x}", self.age)
    }
}

/// Why a PDB file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PdbError {
    /// It is not there, is no file of bearable size, or may not be read.
    #[error("{path} cannot be read: {source}")]
    Read {
        /// The file.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// It is something else, or damaged at its start.
    #[error("{path} is no PDB file: {reason}")]
    NotPdb {
        /// The file.
        path: String,
        /// What was found.
        reason: String,
    },
    /// The program is of a kind that has no such files.
    #[error("only Windows programs (PE) have PDB files; this is {format}")]
    NotPe {
        /// The program's format.
        format: String,
    },
}

/// Reads the identity of a PDB file; its path is for messages.
///
/// # Errors
/// When it is none.
pub fn identify(path: &str, file: OpenFile) -> Result<PdbIdentity, PdbError> {
    identity(&mut open(path, file)?).map_err(|error| not_pdb(path, &error))
}

/// Understands a file as a PDB file.
pub(super) fn open(path: &str, file: OpenFile) -> Result<Pdb, PdbError> {
    PDB::open(Pages::new(file)).map_err(|error| not_pdb(path, &error))
}

fn not_pdb(path: &str, error: &pdb2::Error) -> PdbError {
    let reason = match error {
        pdb2::Error::UnrecognizedFileFormat => "it does not begin like one".to_owned(),
        other => other.to_string(),
    };
    PdbError::NotPdb { path: path.to_owned(), reason }
}

/// The identity of an open file.
pub(super) fn identity(file: &mut Pdb) -> Result<PdbIdentity, pdb2::Error> {
    let information = file.pdb_information()?;
    // The age that programs know is the one of the debug information.
    let age = file.debug_information().ok().and_then(|information| information.age());
    let age = age.unwrap_or(information.age);
    Ok(PdbIdentity { guid: information.guid.to_bytes_le(), age })
}

/// Reads pages of a file, and no more than the file can justify.
#[derive(Debug)]
pub(super) struct Pages {
    file: OpenFile,
    left: u64,
}

impl Pages {
    fn new(file: OpenFile) -> Pages {
        let left = file.length.saturating_mul(TIMES);
        Pages { file, left }
    }
}

/// Bytes that were read.
#[derive(Debug)]
struct View(Vec<u8>);

impl SourceView<'_> for View {
    fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl Source<'static> for Pages {
    fn view(
        &mut self,
        slices: &[SourceSlice],
    ) -> Result<Box<dyn SourceView<'static> + Send + Sync>, io::Error> {
        let all = slices.iter().fold(0u64, |sum, slice| sum.saturating_add(slice.size as u64));
        if all > self.file.length || all > self.left {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= all;
        let mut bytes = vec![0; all as usize];
        let mut rest = bytes.as_mut_slice();
        for slice in slices {
            let (now, later) = rest.split_at_mut(slice.size);
            self.file.content.seek(SeekFrom::Start(slice.offset))?;
            self.file.content.read_exact(now)?;
            rest = later;
        }
        Ok(Box::new(View(bytes)))
    }
}

/// The PDB file that a program names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// The name alone, without folders.
    pub(super) name: String,
    pub(super) identity: PdbIdentity,
}

/// The file that the debug directory of the program names, if it does.
pub(super) fn named(program: &Program) -> Option<Named> {
    const ENTRY: u64 = 28;
    const CODE_VIEW: u64 = 2;
    const MOST: u64 = 64;
    let base = program.info.image_base;
    let at = |offset: u64| Address::ram(base.wrapping_add(offset));
    let word = |offset: u64, size| program.memory.read_uint(at(offset), size);
    let headers = word(0x3c, 4)?;
    let optional = headers.checked_add(24)?;
    // The directories come later in headers of 64 bits.
    let directories = optional + if word(optional, 2)? == 0x20b { 112 } else { 96 };
    let count = word(directories - 4, 4)?;
    let entry = directories + 6 * 8;
    let (start, size) = (word(entry, 4)?, word(entry + 4, 4)?);
    if count <= 6 || start == 0 {
        return None;
    }
    let entries = (0..(size / ENTRY).min(MOST)).map(|index| start + index * ENTRY);
    let mut found = entries.filter(|entry| word(entry + 12, 4) == Some(CODE_VIEW));
    let place = found.find_map(|entry| word(entry + 20, 4))?;
    code_view(program, at(place))
}

/// The record that names the file: a mark, the identity, a path.
fn code_view(program: &Program, at: Address) -> Option<Named> {
    let mut bytes = [0; 24 + 1024];
    let read = program.memory.read(at, &mut bytes).ok()?;
    let rest = bytes.get(..read)?.strip_prefix(b"RSDS")?;
    let (guid, rest) = rest.split_first_chunk::<16>()?;
    let (age, path) = rest.split_first_chunk::<4>()?;
    let path = path.split(|byte| *byte == 0).next()?;
    let name = String::from_utf8_lossy(path);
    let name = name.rsplit(['/', '\\']).next()?;
    let identity = PdbIdentity { guid: *guid, age: u32::from_le_bytes(*age) };
    (!name.is_empty() && name != "." && name != "..")
        .then(|| Named { name: name.to_owned(), identity })
}
