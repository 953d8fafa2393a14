//! What debug information in DWARF form says: types, prototypes, names of parameters, variables.
//!
//! Every entry is looked at a bounded number of times.

mod base_types;
mod comments;
mod functions;
mod load;
mod locations;
mod members;
mod names;
mod namespaces;
mod registry;
mod sections;
mod separate;
mod source;
mod split;
mod symbols;
mod tables;
mod types;
mod units;
mod variables;

use crate::pass::{Analysis, Stopped};
use decompiler::Language;
use gimli::{DebuggingInformationEntry, Dwarf, EndianSlice, EntriesTreeNode, RunTimeEndian};
use load::{Loaded, Sections};
use program::{Address, Program};
use registry::Registry;
use std::rc::Rc;
use types::Types;
use units::Units;

/// The bytes of a section.
type Bytes<'d> = EndianSlice<'d, RunTimeEndian>;
/// One entry of a unit.
type Entry<'e, 'd> = DebuggingInformationEntry<'e, 'e, Bytes<'d>>;

/// Entries nested deeper than this are left alone.
const DEEPEST: usize = 48;
/// Units between two reports of progress.
const STEP: usize = 16;

/// Runs the pass.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let files = analysis.files;
    let loaded = load::load(analysis.program, files, |program, path, content| {
        if let Some(other) = files.load(path, content, program) {
            symbols::copy(program, &other, path);
        }
    });
    let Some(loaded) = loaded else { return Ok(()) };
    read(analysis, &loaded)?;
    analysis.step(1.0)
}

fn read(analysis: &mut Analysis<'_>, loaded: &Loaded) -> Result<(), Stopped> {
    let endian = match analysis.program.memory.big_endian() {
        true => RunTimeEndian::Big,
        false => RunTimeEndian::Little,
    };
    let shared = || loaded.shared.as_ref().map(|sections| borrowed(sections, endian));
    let whole = || {
        let mut dwarf = borrowed(&loaded.sections, endian);
        if let Some(shared) = shared() {
            dwarf.set_sup(shared);
        }
        dwarf
    };
    let units = Units::new(whole(), shared(), shift(analysis.program));
    let mut registry = Registry::new(analysis.program);
    read_units(analysis, &units, &mut registry)?;
    split::read(analysis, &units, &whole(), loaded.path.as_deref(), &mut registry)
}

fn borrowed(sections: &Sections, endian: RunTimeEndian) -> Dwarf<Bytes<'_>> {
    sections.borrow(|bytes| EndianSlice::new(bytes, endian))
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
    units: &Units<'_>,
    registry: &mut Registry,
) -> Result<(), Stopped> {
    let language = analysis.language;
    let opened = units.describing().into_iter().filter_map(|number| units.open(number));
    let mut types: Option<Types<'_, '_>> = None;
    for (done, opened) in opened.filter(|unit| !unit.is_unattached()).enumerate() {
        if done % STEP == 0 {
            analysis.check()?;
        }
        let types = types
            .get_or_insert_with(|| Types::new(units, Rc::clone(&opened), std::mem::take(registry)));
        types.enter(analysis.program, Rc::clone(&opened));
        types.import(analysis.program);
        let Ok(mut tree) = opened.unit.entries_tree(None) else { continue };
        let Ok(root) = tree.root() else { continue };
        walk(analysis.program, language, types, root, 0);
    }
    if let Some(types) = types {
        *registry = types.registry;
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
