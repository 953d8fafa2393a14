//! What debug information in DWARF form says: types, prototypes, names of parameters, variables.
//!
//! Every entry is looked at a bounded number of times.

mod functions;
mod sections;
mod separate;
mod types;
mod variables;

use crate::pass::{Analysis, Stopped};
use decompiler::Language;
use gimli::{
    AttributeValue, DebuggingInformationEntry, DwAt, Dwarf, DwarfSections, EndianSlice,
    EntriesTreeNode, RunTimeEndian, Unit, UnitOffset,
};
use object::{Object, ObjectSection};
use program::{Address, Program};
use sections::Expander;
use std::convert::Infallible;
use std::path::Path;

/// The bytes of a section.
type Bytes<'d> = EndianSlice<'d, RunTimeEndian>;
/// One entry of a unit.
type Entry<'e, 'd> = DebuggingInformationEntry<'e, 'e, Bytes<'d>>;

/// Bytes of one section that are looked at.
const LARGEST: u64 = 1 << 30;
/// Entries nested deeper than this are left alone.
const DEEPEST: usize = 48;
/// Entries that speak of one another in a chain.
const CHAIN: usize = 4;
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
    let shift = shift(analysis.program);
    let mut headers = dwarf.units();
    let mut done = 0;
    while let Ok(Some(header)) = headers.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let source = Source { dwarf: &dwarf, unit: &unit, shift };
        read_unit(analysis.program, &language, source);
        done += 1;
        if done % STEP == 0 {
            analysis.check()?;
        }
    }
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

/// Where facts are read from.
#[derive(Clone, Copy)]
struct Source<'a> {
    dwarf: &'a Dwarf<Bytes<'a>>,
    unit: &'a Unit<Bytes<'a>>,
    /// Added to every address.
    shift: u64,
}

fn read_unit(program: &mut Program, language: &Language, source: Source<'_>) {
    let mut types = types::Types::new(source);
    let Ok(mut tree) = source.unit.entries_tree(None) else { return };
    let Ok(root) = tree.root() else { return };
    walk(program, language, &mut types, root, 0);
}

/// Deals with functions and global variables, and with what they hold.
fn walk<'a>(
    program: &mut Program,
    language: &Language,
    types: &mut types::Types<'a>,
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

impl<'a> Source<'a> {
    /// An attribute of an entry, or of the one that it stands for or completes.
    fn attribute(&self, entry: &Entry<'_, 'a>, name: DwAt) -> Option<AttributeValue<Bytes<'a>>> {
        if let Ok(Some(found)) = entry.attr_value(name) {
            return Some(found);
        }
        let mut at = self.original(entry)?;
        for _ in 0..CHAIN {
            let other = self.unit.entry(at).ok()?;
            if let Ok(Some(found)) = other.attr_value(name) {
                return Some(found);
            }
            at = self.original(&other)?;
        }
        None
    }

    /// The entry that one stands for or completes.
    fn original(&self, entry: &Entry<'_, 'a>) -> Option<UnitOffset> {
        [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification].into_iter().find_map(|name| {
            match entry.attr_value(name) {
                Ok(Some(AttributeValue::UnitRef(at))) => Some(at),
                _ => None,
            }
        })
    }

    fn text(&self, value: AttributeValue<Bytes<'a>>) -> Option<String> {
        let text = self.dwarf.attr_string(self.unit, value).ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        (!text.is_empty() && text.len() < 4096).then_some(text)
    }

    /// The name of an entry, as Ghidra spells it.
    fn name(&self, entry: &Entry<'_, 'a>) -> Option<String> {
        let text = self.attribute(entry, gimli::DW_AT_name).and_then(|v| self.text(v))?;
        Some(text.replace(' ', "_"))
    }

    /// Where the entry of the type of an entry is.
    fn type_of(&self, entry: &Entry<'_, 'a>) -> Option<UnitOffset> {
        match self.attribute(entry, gimli::DW_AT_type)? {
            AttributeValue::UnitRef(at) => Some(at),
            AttributeValue::DebugInfoRef(at) => at.to_unit_offset(&self.unit.header),
            _ => None,
        }
    }

    fn number(&self, entry: &Entry<'_, 'a>, name: DwAt) -> Option<u64> {
        self.attribute(entry, name).and_then(|value| value.udata_value())
    }

    fn flag(&self, entry: &Entry<'_, 'a>, name: DwAt) -> bool {
        matches!(self.attribute(entry, name), Some(AttributeValue::Flag(true)))
    }

    /// The first place of an entry's code.
    fn start(&self, entry: &Entry<'_, 'a>) -> Option<Address> {
        let mut ranges = self.dwarf.die_ranges(self.unit, entry).ok()?;
        let mut least: Option<u64> = None;
        for _ in 0..256 {
            let Ok(Some(range)) = ranges.next() else { break };
            if range.begin < range.end {
                least = Some(least.map_or(range.begin, |known| known.min(range.begin)));
            }
        }
        least.map(|start| Address::ram(start.wrapping_add(self.shift)))
    }

    /// The name of the source file that declares an entry.
    fn file(&self, entry: &Entry<'_, 'a>) -> Option<String> {
        let index = match self.attribute(entry, gimli::DW_AT_decl_file)? {
            AttributeValue::FileIndex(index) => index,
            value => value.udata_value()?,
        };
        let header = self.unit.line_program.as_ref()?.header();
        let path = self.text(header.file(index)?.path_name())?;
        path.rsplit(['/', '\\']).next().map(str::to_owned)
    }
}
