//! Units whose entries were split off: into files of their own, or into one package of them.
//!
//! A part is known by its id. Each is read at most once, and of the files only one at a time is held.

use super::load::{package_sections, split_sections, warn};
use super::registry::Registry;
use super::sections::Expander;
use super::tables::List;
use super::units::Units;
use super::{Bytes, read_units};
use crate::debug_files::{DebugFiles, Sought};
use crate::pass::{Analysis, Stopped};
use gimli::{DebugAddrBase, DebugRngListsBase, Dwarf, DwarfPackage, EndianSlice, RunTimeEndian};
use program::Program;
use std::collections::{HashMap, HashSet};

/// Warnings of one kind after which the rest is only counted.
const TOLD: usize = 1;

/// What a unit says of the part that was split off it, and what that part needs.
#[derive(Clone)]
pub(super) struct Skeleton {
    /// The number of the unit.
    pub(super) number: u32,
    /// The name of the file with the part.
    pub(super) name: String,
    /// The folder of the compilation.
    pub(super) folder: String,
    pub(super) low_pc: u64,
    pub(super) addr_base: DebugAddrBase,
    pub(super) rnglists_base: DebugRngListsBase,
    /// The source files that the part speaks of.
    pub(super) files: Option<List>,
}

/// Skeletons by the ids of their parts.
pub(super) type Skeletons = HashMap<u64, Skeleton>;

/// What was not found.
#[derive(Default)]
struct Missing {
    names: Vec<String>,
    other: Vec<String>,
}

/// Reads what was split off the units of a program.
pub(super) fn read<'a>(
    analysis: &mut Analysis<'_>,
    units: &Units<'a>,
    dwarf: &Dwarf<Bytes<'a>>,
    from: Option<&str>,
    registry: &mut Registry,
) -> Result<(), Stopped> {
    let left = units.skeletons();
    if left.is_empty() {
        return Ok(());
    }
    let total = left.len();
    let left = read_package(analysis, units, dwarf, from, left, registry)?;
    let mut missing = Missing::default();
    for (path, skeletons) in by_file(analysis.files, left, &mut missing) {
        analysis.check()?;
        read_file(analysis, (units, registry), dwarf, &path, skeletons, &mut missing)?;
    }
    let mut warnings = missing.other;
    if let Some(first) = missing.names.first() {
        let package = format!("{}.dwp", analysis.program.info.name);
        warnings.push(format!(
            "DWARF: {} of {total} files that hold split debug information were not found: {first:?}{}. \
             Put them, or {package}, beside the program",
            missing.names.len(),
            if missing.names.len() > TOLD { " and others" } else { "" },
        ));
    }
    warn(analysis.program, warnings);
    Ok(())
}

/// The files that a unit lists are looked up when the turn of its part comes.
fn with_files(units: &Units<'_>, skeleton: Skeleton) -> Skeleton {
    let files = units.open(skeleton.number).and_then(|unit| unit.files());
    Skeleton { files, ..skeleton }
}

fn endian(program: &Program) -> RunTimeEndian {
    match program.memory.big_endian() {
        true => RunTimeEndian::Big,
        false => RunTimeEndian::Little,
    }
}

/// Reads the parts that the package holds; answers the skeletons of the others.
fn read_package<'a>(
    analysis: &mut Analysis<'_>,
    units: &Units<'_>,
    dwarf: &Dwarf<Bytes<'a>>,
    from: Option<&str>,
    mut left: Skeletons,
    registry: &mut Registry,
) -> Result<Skeletons, Stopped> {
    let endian = endian(analysis.program);
    for path in analysis.files.candidates(&Sought::Package { from }) {
        let mut expander = Expander::new(analysis.program.memory.big_endian());
        let content = analysis.files.read(&path);
        let sections = content.and_then(|content| package_sections(&mut expander, &content));
        let slice = |bytes| EndianSlice::new(bytes, endian);
        let package = sections.as_ref().and_then(|sections| {
            sections.borrow(|bytes| slice(bytes), EndianSlice::new(&[], endian)).ok()
        });
        let Some(package) = package else {
            expander.warnings.push(format!("DWARF: {path} is no package of debug information"));
            warn(analysis.program, expander.warnings);
            continue;
        };
        warn(analysis.program, expander.warnings);
        let read = read_packed(analysis, units, dwarf, &package, &left, registry)?;
        left.retain(|id, _| !read.contains(id));
    }
    Ok(left)
}

/// Reads the parts that a package holds; answers their ids.
fn read_packed<'p>(
    analysis: &mut Analysis<'_>,
    units: &Units<'_>,
    dwarf: &Dwarf<Bytes<'p>>,
    package: &'p DwarfPackage<Bytes<'p>>,
    skeletons: &Skeletons,
    registry: &mut Registry,
) -> Result<HashSet<u64>, Stopped> {
    let mut ordered: Vec<_> = skeletons.iter().collect();
    ordered.sort_unstable_by_key(|(_, skeleton)| skeleton.number);
    let mut read = HashSet::new();
    for (id, skeleton) in ordered {
        analysis.check()?;
        let Ok(Some(part)) = package.find_cu(gimli::DwoId(*id), dwarf) else { continue };
        let skeletons = Skeletons::from([(*id, with_files(units, skeleton.clone()))]);
        let parts = Units::split(part, skeletons, Some(package), units.shift);
        read_units(analysis, &parts, registry)?;
        read.insert(*id);
    }
    Ok(read)
}

/// The files that hold parts, with the skeletons of the parts in each, in the order of the program.
fn by_file(
    files: &dyn DebugFiles,
    left: Skeletons,
    missing: &mut Missing,
) -> Vec<(String, Skeletons)> {
    let mut ordered: Vec<(u64, Skeleton)> = left.into_iter().collect();
    ordered.sort_unstable_by_key(|(_, skeleton)| skeleton.number);
    let mut grouped: Vec<(String, Skeletons)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (id, skeleton) in ordered {
        let sought = Sought::Split { name: &skeleton.name, folder: &skeleton.folder };
        let Some(path) = files.candidates(&sought).into_iter().next() else {
            missing.names.push(skeleton.name);
            continue;
        };
        let index = *known.entry(path.clone()).or_insert_with(|| {
            grouped.push((path, Skeletons::new()));
            grouped.len() - 1
        });
        grouped[index].1.insert(id, skeleton);
    }
    grouped
}

/// Reads the parts that a file holds.
fn read_file(
    analysis: &mut Analysis<'_>,
    (units, registry): (&Units<'_>, &mut Registry),
    dwarf: &Dwarf<Bytes<'_>>,
    path: &str,
    skeletons: Skeletons,
    missing: &mut Missing,
) -> Result<(), Stopped> {
    let endian = endian(analysis.program);
    let mut expander = Expander::new(analysis.program.memory.big_endian());
    let content = analysis.files.read(path);
    let sections = content.and_then(|content| split_sections(&mut expander, &content));
    missing.other.append(&mut expander.warnings);
    let Some(sections) = sections else {
        missing.other.push(format!("DWARF: {path} could not be read as split debug information"));
        return Ok(());
    };
    let mut part = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    part.make_dwo(dwarf);
    let wanted: HashSet<u64> = skeletons.keys().copied().collect();
    let skeletons = skeletons.into_iter().map(|(id, one)| (id, with_files(units, one))).collect();
    let parts = Units::split(part, skeletons, None, units.shift);
    let there: HashSet<u64> = parts.ids();
    if !wanted.is_subset(&there) {
        missing.other.push(format!(
            "DWARF: {path} was not read, or not all of it: the ids of its units are others, so it \
             belongs to another build"
        ));
    }
    read_units(analysis, &parts, registry)
}
