//! The sections with debug information: those of the program, or of the files that hold them in
//! its place.

use super::sections::Expander;
use super::separate::{self, SharedLink};
use crate::debug_files::DebugFiles;
use gimli::{DwarfSections, EndianSlice, LittleEndian, Section};
use object::{Object, ObjectSection};
use program::Program;
use std::convert::Infallible;

/// Bytes of one section that are looked at.
const LARGEST: u64 = 1 << 30;

/// Bytes of the sections of one name after the first that are looked at.
const FURTHER: usize = 64 << 20;

/// Sections as they are, before anything in them is understood.
pub(super) type Sections = DwarfSections<Vec<u8>>;

/// All debug information of a program but what was split off.
pub(crate) struct Loaded {
    pub(super) sections: Sections,
    /// What it shares with other programs.
    pub(super) shared: Option<Sections>,
    /// The file that holds it in the program's place.
    pub(super) path: Option<String>,
}

/// The debug information of the program, or of the file that holds it in its place, which `separate`
/// takes; `None` without any.
pub(super) fn load(
    program: &mut Program,
    files: &dyn DebugFiles,
    separate: impl FnOnce(&mut Program, &str, Vec<u8>),
) -> Option<Loaded> {
    let mut expander = Expander::new(program.memory.big_endian());
    let has = |name| program.memory.block_named(name).is_some();
    let (loaded, link, file) = if has(".debug_info") || has(".zdebug_info") {
        let sections = collect(&mut expander, usual_name, |name| stored(program, name));
        let loaded = Loaded { sections, shared: None, path: None };
        (Some(loaded), separate::shared_link(program), None)
    } else {
        let found = separate::find(program, files, &mut expander.warnings);
        match found {
            Some(file) => {
                let (sections, link) = of_file(&mut expander, &file);
                let path = Some(file.path.clone());
                let loaded = sections.map(|sections| Loaded { sections, shared: None, path });
                (loaded, link, Some(file))
            }
            None => (None, None, None),
        }
    };
    let loaded = loaded.map(|mut loaded| {
        let from = loaded.path.as_deref();
        let shared = link.and_then(|link| {
            let file = separate::find_shared(&link, from, files, &mut expander.warnings)?;
            of_file(&mut expander, &file).0
        });
        loaded.shared = shared;
        loaded
    });
    warn(program, expander.warnings);
    if let Some(file) = file {
        separate(program, &file.path, file.content);
    }
    loaded
}

/// Tells of what is missing or damaged.
pub(super) fn warn(program: &mut Program, warnings: Vec<String>) {
    warnings.into_iter().for_each(|warning| crate::debug_information::warn(program, warning));
}

/// The sections of a separate file, and its link to what it shares with others.
fn of_file(
    expander: &mut Expander,
    file: &separate::Separate,
) -> (Option<Sections>, Option<SharedLink>) {
    let Ok(object) = object::File::parse(&*file.content) else {
        expander.warnings.push(format!("DWARF: {} is no object file", file.path));
        return (None, None);
    };
    let section = |name: &str| sections_of(&object, name);
    let link = SharedLink::find(|name| section(name).next());
    (Some(collect(expander, usual_name, section)), link)
}

/// The names of sections in programs.
fn usual_name(id: gimli::SectionId) -> Option<&'static str> {
    Some(id.name())
}

/// Sections by their names, under either of which they may be stored.
fn collect<S>(
    expander: &mut Expander,
    named: impl Fn(gimli::SectionId) -> Option<&'static str>,
    stored: impl Fn(&str) -> S,
) -> Sections
where
    S: Iterator<Item = Vec<u8>>,
{
    let section = |id| -> Result<Vec<u8>, Infallible> {
        Ok(named(id).map(|name| one(expander, name, &stored)).unwrap_or_default())
    };
    match DwarfSections::load(section) {
        Ok(sections) => sections,
        Err(never) => match never {},
    }
}

/// One section, under either of the names that it may have. Compilers put each unit of a type into
/// a section of its own, all of one name.
fn one<S>(expander: &mut Expander, name: &str, stored: impl Fn(&str) -> S) -> Vec<u8>
where
    S: Iterator<Item = Vec<u8>>,
{
    let old = name.replacen(".debug", ".zdebug", 1);
    for name in [name, &old] {
        let mut parts = stored(name);
        let Some(first) = parts.next() else { continue };
        let mut whole = expander.expand(name, first);
        let most = whole.len().saturating_add(FURTHER);
        for part in parts {
            let part = expander.expand(name, part);
            if whole.len() + part.len() > most {
                expander.warnings.push(format!("DWARF: not all sections {name} were read"));
                break;
            }
            whole.extend(part);
        }
        return whole;
    }
    Vec::new()
}

/// The bytes of the sections of a name in the program.
fn stored<'p>(program: &'p Program, name: &str) -> impl Iterator<Item = Vec<u8>> + use<'p> {
    let name = name.to_owned();
    let blocks = program.memory.blocks().iter().filter(move |block| *block.name == *name);
    blocks.map(|block| {
        let mut bytes = vec![0u8; block.length.min(LARGEST) as usize];
        let read = program.memory.read(block.start, &mut bytes).unwrap_or(0);
        bytes.truncate(read);
        bytes
    })
}

/// The bytes of the sections of a name in a file.
fn sections_of<'f, 'd>(
    object: &'f object::File<'d>,
    name: &str,
) -> impl Iterator<Item = Vec<u8>> + use<'f, 'd> {
    let name = name.to_owned();
    let sections = object.sections().filter(move |section| section.name() == Ok(&*name));
    sections.filter_map(|section| Some(section.data().ok()?.to_vec()))
}

/// The sections of parts that were split off, out of a file's bytes; `None` if it holds none.
pub(super) fn split_sections(expander: &mut Expander, content: &[u8]) -> Option<Sections> {
    let object = object::File::parse(content).ok()?;
    let section = |name: &str| sections_of(&object, name);
    let sections = collect(expander, gimli::SectionId::dwo_name, section);
    let info = sections.debug_info.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    (!info.reader().is_empty()).then_some(sections)
}

/// The sections of a package of such parts.
pub(super) fn package_sections(
    expander: &mut Expander,
    content: &[u8],
) -> Option<gimli::DwarfPackageSections<Vec<u8>>> {
    let object = object::File::parse(content).ok()?;
    let stored = |name: &str| sections_of(&object, name);
    let section = |id: gimli::SectionId| -> Result<Vec<u8>, gimli::Error> {
        Ok(id.dwo_name().map(|name| one(expander, name, stored)).unwrap_or_default())
    };
    gimli::DwarfPackageSections::load(section).ok()
}
