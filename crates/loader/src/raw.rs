//! Raw images: the file's bytes as one block.

use crate::identity::Identity;
use crate::language::Language;
use crate::{LoadError, LoadOptions};
use program::{Address, BlockSource, MemoryBlock, Permissions, Program};
use std::sync::Arc;

/// The language of options for a format that does not say its processor.
pub(crate) fn given_language(
    options: &LoadOptions,
    format: &'static str,
) -> Result<Language, LoadError> {
    let id = options.language.as_deref().ok_or(LoadError::LanguageNeeded { format })?;
    Language::new(id, options.compiler_spec.as_deref().unwrap_or("default"))
}

/// An empty program of a given language.
pub(crate) fn empty(
    identity: Identity,
    language: &Language,
    format: &str,
    image_base: u64,
) -> Program {
    let mut info = identity.into_info();
    info.executable_format = format.into();
    info.image_base = image_base;
    language.describe(&mut info);
    Program::new(info, language.big_endian, language.organization())
}

/// All permissions: nothing is known about such bytes.
pub(crate) const ANYTHING: Permissions =
    Permissions { read: true, write: true, execute: true, volatile: false, artificial: false };

/// The greatest offset of a language's memory.
pub(crate) fn mask(language: &Language) -> u64 {
    if language.bits >= 64 { u64::MAX } else { (1 << language.bits) - 1 }
}

/// Loads a raw image.
pub(crate) fn load(
    identity: Identity,
    bytes: Arc<[u8]>,
    options: &LoadOptions,
) -> Result<Program, LoadError> {
    let language = given_language(options, "raw")?;
    let mask = mask(&language);
    let base = options.base.unwrap_or(0) & mask;
    let mut program = empty(identity, &language, "Raw Binary", base);
    let size = bytes.len();
    let room = (mask - base).saturating_add(1);
    let length = (size as u64).min(room);
    if length < size as u64 {
        program.warn(format!(
            "the image has 0x{size:x} bytes, from 0x{base:x} on only 0x{length:x} fit"
        ));
    }
    let source = BlockSource::Bytes { bytes, offset: 0, length: size };
    let mut block = MemoryBlock::new("ram", Address::ram(base), length, source);
    block.permissions = ANYTHING;
    block.source_name = "Binary Loader".into();
    if program.memory.add_block(block).is_err() {
        program.warn("the image does not fit the memory");
    }
    Ok(program)
}
