//! From a file's bytes to a loaded [`Program`]: memory blocks, symbols,
//! relocations, entry points and the tables that the format itself describes.
//!
//! The policy for broken files: load what the processor would run. A broken
//! table that the processor does not need gives a warning in the program's
//! information, never a refusal. Every size is clamped to the file.

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod archive;
mod coff;
mod elf;
mod error;
mod fields;
mod format;
mod identity;
mod language;
mod macho;
mod offset_pointer;
mod pe;
mod raw;
mod records;
mod unapplied;

pub use error::LoadError;
pub use format::Format;

use program::Program;
use std::sync::Arc;

/// What the caller knows better than the file.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Language id; the file decides when absent.
    pub language: Option<String>,
    /// Compiler specification id; the language's default when absent.
    pub compiler_spec: Option<String>,
    /// Image base; the format's default when absent.
    pub base: Option<u64>,
    /// Format; the first bytes decide when [`Format::Auto`].
    pub format: Format,
    /// Which member of an archive to open.
    pub member: Option<String>,
}

/// Loads a file. `name` becomes the program's name, `path` is only recorded.
pub fn load(
    name: &str,
    path: &str,
    bytes: Arc<[u8]>,
    options: &LoadOptions,
) -> Result<Program, LoadError> {
    if bytes.is_empty() {
        return Err(LoadError::Empty);
    }
    let format = match options.format {
        Format::Auto => Format::detect(&bytes, options)?,
        chosen => chosen,
    };
    if format == Format::Archive {
        return archive::load_member(path, &bytes, options);
    }
    let identity = identity::Identity::new(name, path, &bytes);
    match format {
        Format::Elf => elf::load(identity, bytes, options),
        Format::Pe => pe::load(identity, bytes, options),
        Format::Coff => coff::load(identity, bytes, options),
        Format::Raw => raw::load(identity, bytes, options),
        Format::IntelHex => records::load_intel(identity, &bytes, options),
        Format::SRecord => records::load_motorola(identity, &bytes, options),
        Format::MachO => macho::load(identity, bytes, options),
        other => Err(LoadError::UnknownFormat { found: format!("the {other} format") }),
    }
}
