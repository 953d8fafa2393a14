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
    /// Which member of an archive to open; `!` leads into a member that is an archive too.
    pub member: Option<String>,
}

/// A loaded file.
#[derive(Debug)]
pub struct Loaded {
    /// The program. Doubts stand among its warnings too.
    pub program: Program,
    /// What was asked for and does not fit the file.
    pub doubts: Vec<Doubt>,
}

/// Something that was asked for, is used, and does not fit the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// The language is for another processor than the header names.
    #[error("the header says {says}, but language={asked} was asked for and is used")]
    Language {
        /// The language that the header names.
        says: String,
        /// The one asked for.
        asked: String,
    },
}

/// Loads a file. `name` becomes the program's name, `path` is only recorded.
pub fn load(
    name: &str,
    path: &str,
    bytes: Arc<[u8]>,
    options: &LoadOptions,
) -> Result<Program, LoadError> {
    load_with_doubts(name, path, bytes, options).map(|loaded| loaded.program)
}

/// Loads a file and tells what was asked for and does not fit it.
pub fn load_with_doubts(
    name: &str,
    path: &str,
    bytes: Arc<[u8]>,
    options: &LoadOptions,
) -> Result<Loaded, LoadError> {
    if bytes.is_empty() {
        return Err(LoadError::Empty);
    }
    let format = match options.format {
        Format::Auto => Format::detect(&bytes, options)?,
        chosen => chosen,
    };
    if format.is_archive() {
        let program = archive::load_member(path, &bytes, options, format)?;
        return Ok(Loaded { program, doubts: Vec::new() });
    }
    if let Some(member) = &options.member {
        return Err(LoadError::NoArchive { member: member.clone(), format });
    }
    let loaded = load_as(format, name, path, &bytes, options);
    let mut program = loaded.map_err(|error| told_apart(error, format, &bytes))?;
    let doubts: Vec<Doubt> =
        doubtful_language(format, name, path, &bytes, options).into_iter().collect();
    doubts.iter().for_each(|doubt| program.warn(doubt.to_string()));
    Ok(Loaded { program, doubts })
}

/// A failure to load a file as the format that was asked for, when its first bytes say another.
fn told_apart(error: LoadError, asked: Format, bytes: &[u8]) -> LoadError {
    match Format::by_magic(bytes) {
        Some(found) if found != asked => LoadError::OtherFormat { asked, found },
        _ => error,
    }
}

/// Whether a header names another processor than the language that was asked for.
fn doubtful_language(
    format: Format,
    name: &str,
    path: &str,
    bytes: &Arc<[u8]>,
    options: &LoadOptions,
) -> Option<Doubt> {
    let asked = options.language.as_deref()?;
    let silent = LoadOptions { language: None, compiler_spec: None, ..options.clone() };
    let natural = load_as(format, name, path, bytes, &silent).ok()?;
    let says = natural.info.language_id.as_str();
    // The variant is the caller's to choose; processor, byte order and width are the header's.
    let core = |id: &str| id.split(':').take(3).map(str::to_owned).collect::<Vec<_>>();
    let differs = core(says) != core(asked);
    differs.then(|| Doubt::Language { says: says.to_owned(), asked: asked.to_owned() })
}

fn load_as(
    format: Format,
    name: &str,
    path: &str,
    bytes: &Arc<[u8]>,
    options: &LoadOptions,
) -> Result<Program, LoadError> {
    let bytes = Arc::clone(bytes);
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
