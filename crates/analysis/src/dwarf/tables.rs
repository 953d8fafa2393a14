//! Tables that units share: abbreviations of entries, and lists of source files.
//!
//! Units may claim tables at any place, also such that overlap. All tables of one section together
//! are read up to a small multiple of the section's size.

use super::Bytes;
use gimli::{Abbreviations, DebugAbbrev, DebugAbbrevOffset, DebugLine, DebugLineOffset};
use gimli::{AttributeValue, Dwarf, Reader, Section, Unit};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// How often a section may be read over.
const TIMES: usize = 4;
/// Sections may be read up to this many bytes, whatever their size.
const SMALL: usize = 1 << 20;
/// Longest name of a source file.
const LONGEST: usize = 4096;
/// Lists of source files that are kept.
const LISTS: usize = 16;

/// Bytes of a section that may still be read.
struct Allowance(Cell<usize>);

impl Allowance {
    fn of(section: usize) -> Allowance {
        Allowance(Cell::new(section.saturating_mul(TIMES).saturating_add(SMALL)))
    }

    /// Whether so many bytes may be read; they count as read then.
    fn take(&self, bytes: usize) -> bool {
        let left = self.0.get().checked_sub(bytes);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

/// The tables of abbreviations of a file.
pub(super) struct Abbreviated {
    known: RefCell<HashMap<usize, Option<Arc<Abbreviations>>>>,
    allowance: Allowance,
}

impl Abbreviated {
    pub(super) fn new(section: &DebugAbbrev<Bytes<'_>>) -> Abbreviated {
        let length = section.reader().len();
        Abbreviated { known: RefCell::default(), allowance: Allowance::of(length) }
    }

    /// The table at an offset.
    pub(super) fn at(
        &self,
        section: &DebugAbbrev<Bytes<'_>>,
        offset: DebugAbbrevOffset,
    ) -> Option<Arc<Abbreviations>> {
        if let Some(known) = self.known.borrow().get(&offset.0) {
            return known.clone();
        }
        let read = || {
            let length = table_length(section, offset)?;
            self.allowance.take(length).then(|| section.abbreviations(offset).ok())?
        };
        let made = read().map(Arc::new);
        self.known.borrow_mut().insert(offset.0, made.clone());
        made
    }
}

/// How long a table of abbreviations is. Its end alone is looked for, which is quick.
fn table_length(section: &DebugAbbrev<Bytes<'_>>, offset: DebugAbbrevOffset) -> Option<usize> {
    let mut rest = *section.reader();
    rest.skip(offset.0).ok()?;
    let whole = rest.len();
    while rest.read_uleb128().ok()? != 0 {
        rest.read_uleb128().ok()?;
        rest.read_u8().ok()?;
        loop {
            let name = rest.read_uleb128().ok()?;
            let form = rest.read_uleb128().ok()?;
            if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                rest.read_sleb128().ok()?;
            }
            if (name, form) == (0, 0) {
                break;
            }
        }
    }
    Some(whole - rest.len())
}

/// The names of source files by their numbers; without their folders.
pub(super) type List = Rc<[Option<Box<str>>]>;

/// The lists of source files of a file.
pub(super) struct Lines {
    known: RefCell<HashMap<usize, Option<List>>>,
    allowance: Allowance,
}

impl Lines {
    pub(super) fn new(section: &DebugLine<Bytes<'_>>) -> Lines {
        let length = section.reader().len();
        Lines { known: RefCell::default(), allowance: Allowance::of(length.saturating_mul(TIMES)) }
    }

    /// The list at an offset.
    pub(super) fn list<'a>(
        &self,
        dwarf: &Dwarf<Bytes<'a>>,
        unit: &Unit<Bytes<'a>>,
        offset: DebugLineOffset,
    ) -> Option<List> {
        if let Some(known) = self.known.borrow().get(&offset.0) {
            return known.clone();
        }
        let section = &dwarf.debug_line;
        let read = || {
            let length = header_length(section, offset)?;
            if !self.allowance.take(length) {
                return None;
            }
            let program = section.program(offset, unit.header.address_size(), None, None).ok()?;
            let header = program.header();
            let indices = 0..=header.file_names().len() as u64;
            let name = |index| file_name(dwarf, unit, header.file(index)?.path_name());
            Some(indices.map(name).collect())
        };
        let made: Option<List> = read();
        let mut known = self.known.borrow_mut();
        if known.len() >= LISTS {
            known.clear();
        }
        known.insert(offset.0, made.clone());
        made
    }
}

/// The last part of a path.
fn file_name<'a>(
    dwarf: &Dwarf<Bytes<'a>>,
    unit: &Unit<Bytes<'a>>,
    path: AttributeValue<Bytes<'a>>,
) -> Option<Box<str>> {
    let path = dwarf.attr_string(unit, path).ok()?;
    let path = &path.slice()[path.len().saturating_sub(LONGEST)..];
    let name = path.rsplit(|byte| matches!(byte, b'/' | b'\\')).next()?;
    (!name.is_empty()).then(|| String::from_utf8_lossy(name).into())
}

/// How many bytes the header of a list of source files claims, as far as they are there.
fn header_length(section: &DebugLine<Bytes<'_>>, offset: DebugLineOffset) -> Option<usize> {
    let mut rest = *section.reader();
    rest.skip(offset.0).ok()?;
    let there = rest.len();
    let (_, format) = rest.read_initial_length().ok()?;
    let version = rest.read_u16().ok()?;
    if version >= 5 {
        rest.skip(2).ok()?;
    }
    Some(rest.read_length(format).ok()?.min(there))
}
