//! What every format records about the file as such: name, path, size, hashes.

use md5::Md5;
use program::ProgramInfo;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The file apart from its content's meaning.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    name: String,
    path: String,
    size: u64,
    md5: String,
    sha256: String,
}

impl Identity {
    /// Takes the file's fingerprints.
    pub(crate) fn new(name: &str, path: &str, bytes: &[u8]) -> Identity {
        Identity {
            name: name.to_owned(),
            path: path.to_owned(),
            size: bytes.len() as u64,
            md5: hex(&Md5::digest(bytes)),
            sha256: hex(&Sha256::digest(bytes)),
        }
    }

    /// The information of a program that is about to be loaded from it.
    pub(crate) fn into_info(self) -> ProgramInfo {
        ProgramInfo {
            name: self.name,
            executable_path: self.path,
            md5: self.md5,
            sha256: self.sha256,
            file_size: self.size,
            ..ProgramInfo::default()
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
