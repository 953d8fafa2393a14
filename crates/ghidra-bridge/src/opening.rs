//! From the configuration to an open session.

use anyhow::Context;
use engine::{Format, LoadOptions, OpenOptions, Session};
use server::config::{LoaderChoice, Opening};

/// Opens the file, without analysing it.
pub fn open(opening: &Opening) -> anyhow::Result<Session> {
    let file = opening.file.as_ref().context("name the file to open: ghidra-bridge stdio FILE")?;
    let load = LoadOptions {
        language: opening.language.clone(),
        base: opening.base,
        format: match opening.loader {
            LoaderChoice::Auto => Format::Auto,
            LoaderChoice::Elf => Format::Elf,
            LoaderChoice::Pe => Format::Pe,
            LoaderChoice::Macho => Format::MachO,
            LoaderChoice::Raw => Format::Raw,
        },
        ..LoadOptions::default()
    };
    Ok(Session::open(file, &OpenOptions { load })?)
}
