//! What debug information in DWARF form says: types, prototypes, names of parameters, variables.
//!
//! Every entry is looked at a bounded number of times.

pub(crate) mod functions;
mod sections;
mod separate;
mod source;
mod tables;
mod types;
mod units;
pub(crate) mod variables;

use crate::pass::{Analysis, Stopped};
use decompiler::Language;
use gimli::{
    DebuggingInformationEntry, DwarfSections, EndianSlice, EntriesTreeNode, RunTimeEndian,
};
use object::{Object, ObjectSection};
use program::{Address, Program};
use sections::Expander;
use std::convert::Infallible;
use std::path::Path;
use std::rc::Rc;
use types::Types;
use units::Units;

/// The bytes of a section.
type Bytes<'d> = EndianSlice<'d, RunTimeEndian>;
/// One entry of a unit.
type Entry<'e, 'd> = DebuggingInformationEntry<'e, 'e, Bytes<'d>>;

/// Bytes of one section that are looked at.
const LARGEST: u64 = 1 << 30;
/// Entries nested deeper than this are left alone.
const DEEPEST: usize = 48;
/// Units between two reports of progress.
const STEP: usize = 16;

/// Runs the pass.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let language = analysis.language.clone();
    let Some(sections) = load(analysis.program) else { return Ok(()) };
    let endian = match analysis.program.memory.big_endian() {
        true => RunTimeEndian::Big,
        false => RunTimeEndian::Little,
    };
    let dwarf = sections.borrow(|section| EndianSlice::new(section, endian));
    let units = Units::new(dwarf, None, shift(analysis.program));
    read_units(analysis, &language, &units)?;
    analysis.step(1.0)
}

/// The sections of the program, or of the file that holds them in its place; `None` without any.
fn load(program: &mut Program) -> Option<DwarfSections<Vec<u8>>> {
    let mut expander = Expander::new(program.memory.big_endian());
    let has = |name| program.memory.block_named(name).is_some();
    let sections = if has(".debug_info") || has(".zdebug_info") {
        Some(collect(&mut expander, |name| stored(program, name)))
    } else {
        separate::find(program, &mut expander.warnings)
            .and_then(|(path, bytes)| of_file(&mut expander, &path, &bytes))
    };
    for warning in expander.warnings {
        if !program.info.warnings.contains(&warning) {
            program.warn(warning);
        }
    }
    sections
}

/// The sections of a separate file.
fn of_file(expander: &mut Expander, path: &Path, bytes: &[u8]) -> Option<DwarfSections<Vec<u8>>> {
    let Ok(file) = object::File::parse(bytes) else {
        expander.warnings.push(format!("DWARF: {} is no object file", path.display()));
        return None;
    };
    let section = |name: &str| Some(file.section_by_name(name)?.data().ok()?.to_vec());
    Some(collect(expander, section))
}

/// Sections by their names, under either of which they may be stored.
fn collect(
    expander: &mut Expander,
    stored: impl Fn(&str) -> Option<Vec<u8>>,
) -> DwarfSections<Vec<u8>> {
    let section = |id: gimli::SectionId| -> Result<Vec<u8>, Infallible> {
        let old = id.name().replacen(".debug", ".zdebug", 1);
        let found = [id.name(), &old].into_iter().find_map(|name| Some((name, stored(name)?)));
        Ok(found.map(|(name, bytes)| expander.expand(name, bytes)).unwrap_or_default())
    };
    match DwarfSections::load(section) {
        Ok(sections) => sections,
        Err(never) => match never {},
    }
}

/// The bytes of a section of the program.
fn stored(program: &Program, name: &str) -> Option<Vec<u8>> {
    let block = program.memory.block_named(name)?;
    let mut bytes = vec![0u8; block.length.min(LARGEST) as usize];
    let read = program.memory.read(block.start, &mut bytes).unwrap_or(0);
    bytes.truncate(read);
    Some(bytes)
}

/// How far the image is from the addresses that the file speaks of.
fn shift(program: &Program) -> u64 {
    const SHARED: u64 = 3;
    let base = Address::ram(program.info.image_base);
    let is_elf = program.memory.read_array(base) == Some(*b"\x7fELF");
    let kind = base.checked_add(16).and_then(|at| program.memory.read_uint(at, 2));
    if is_elf && kind == Some(SHARED) { base.offset } else { 0 }
}

/// Reads the units of one file and of those that it speaks of.
fn read_units(
    analysis: &mut Analysis<'_>,
    language: &Language,
    units: &Units<'_>,
) -> Result<(), Stopped> {
    let opened = units.describing().into_iter().filter_map(|number| units.open(number));
    let mut types: Option<Types<'_, '_>> = None;
    for (done, opened) in opened.enumerate() {
        if done % STEP == 0 {
            analysis.check()?;
        }
        let types = types.get_or_insert_with(|| Types::new(units, Rc::clone(&opened)));
        types.enter(Rc::clone(&opened));
        let Ok(mut tree) = opened.unit.entries_tree(None) else { continue };
        let Ok(root) = tree.root() else { continue };
        walk(analysis.program, language, types, root, 0);
    }
    Ok(())
}

/// Deals with functions and global variables, and with what they hold.
fn walk<'a>(
    program: &mut Program,
    language: &Language,
    types: &mut Types<'_, 'a>,
    node: EntriesTreeNode<'_, '_, '_, Bytes<'a>>,
    depth: usize,
) {
    if depth > DEEPEST {
        return;
    }
    match node.entry().tag() {
        gimli::DW_TAG_subprogram => functions::define(program, language, types, node.entry()),
        gimli::DW_TAG_variable => variables::define(program, types, node.entry()),
        _ => {}
    }
    let mut children = node.children();
    while let Ok(Some(child)) = children.next() {
        walk(program, language, types, child, depth + 1);
    }
}
