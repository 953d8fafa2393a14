//! The units of debug information, and how entries of one speak of those of another: by their
//! place in the section, by the signature of a type, or by their place in a supplementary file.
//!
//! Units are opened when something speaks of them. Tables that many units may share are read once,
//! and only as much of them as the sections can hold without overlaps.

use super::Bytes;
use super::names::Outline;
use super::source::Source;
use super::split::{Skeleton, Skeletons};
use super::tables::{Abbreviated, Lines, List};
use gimli::{
    AttributeValue, DebugInfoOffset, DebugLineOffset, DebugTypeSignature, Dwarf, DwarfFileType,
    DwarfPackage, Unit, UnitHeader, UnitOffset, UnitSectionOffset, UnitType,
};
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Units of all files together that are looked at.
const MOST_UNITS: usize = 1 << 19;

/// Where an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) unit: u32,
    pub(super) offset: UnitOffset,
}

/// One set of sections.
struct File<'a> {
    dwarf: Dwarf<Bytes<'a>>,
    /// Its units lie here among all of them: those of `.debug_info`, in the order of the section.
    units: std::ops::Range<usize>,
    types: HashMap<DebugTypeSignature, Place>,
    /// The file that holds what several files share.
    supplement: Option<usize>,
    abbreviated: Abbreviated,
    lines: Lines,
}

#[derive(Clone)]
struct Slot<'a> {
    header: UnitHeader<Bytes<'a>>,
    file: usize,
}

/// A unit with all that is needed to understand its entries.
pub(super) struct Opened<'a> {
    pub(super) number: u32,
    pub(super) unit: Unit<Bytes<'a>>,
    file: Rc<File<'a>>,
    /// Where the table of source files is.
    stated: Option<DebugLineOffset>,
    /// The unit of the program that this one, from a split file, belongs to.
    skeleton: Option<Skeleton>,
    outline: OnceCell<Outline>,
}

/// Units of files that speak of one another.
pub(super) struct Units<'a> {
    files: RefCell<Vec<Rc<File<'a>>>>,
    slots: RefCell<Vec<Slot<'a>>>,
    opened: RefCell<HashMap<u32, Option<Rc<Opened<'a>>>>>,
    skeletons: Skeletons,
    package: Option<&'a DwarfPackage<Bytes<'a>>>,
    /// Added to every address.
    pub(super) shift: u64,
}

impl<'a> Units<'a> {
    /// The units of a file, and of the one that it shares with others.
    pub(super) fn new(
        dwarf: Dwarf<Bytes<'a>>,
        supplement: Option<Dwarf<Bytes<'a>>>,
        shift: u64,
    ) -> Units<'a> {
        let units = Units::empty(Skeletons::new(), None, shift);
        let supplement = supplement.map(|shared| units.add(shared, None));
        units.add(dwarf, supplement);
        units
    }

    /// The units of parts that were split off, and of the package that may hold their types.
    pub(super) fn split(
        dwarf: Dwarf<Bytes<'a>>,
        skeletons: Skeletons,
        package: Option<&'a DwarfPackage<Bytes<'a>>>,
        shift: u64,
    ) -> Units<'a> {
        let units = Units::empty(skeletons, package, shift);
        units.add(dwarf, None);
        units
    }

    fn empty(
        skeletons: Skeletons,
        package: Option<&'a DwarfPackage<Bytes<'a>>>,
        shift: u64,
    ) -> Units<'a> {
        Units {
            files: RefCell::default(),
            slots: RefCell::default(),
            opened: RefCell::default(),
            skeletons,
            package,
            shift,
        }
    }

    /// Takes in the units of a file; answers the file's number.
    fn add(&self, dwarf: Dwarf<Bytes<'a>>, supplement: Option<usize>) -> usize {
        let mut files = self.files.borrow_mut();
        let mut slots = self.slots.borrow_mut();
        let (file, first) = (files.len(), slots.len());
        let mut types = HashMap::new();
        let mut take = |slots: &mut Vec<Slot<'a>>, header: UnitHeader<Bytes<'a>>| {
            if let UnitType::Type { type_signature, type_offset }
            | UnitType::SplitType { type_signature, type_offset } = header.type_()
            {
                let place = Place { unit: slots.len() as u32, offset: type_offset };
                types.entry(type_signature).or_insert(place);
            }
            slots.push(Slot { header, file });
        };
        let mut headers = dwarf.units();
        while slots.len() < MOST_UNITS
            && let Ok(Some(header)) = headers.next()
        {
            take(&mut slots, header);
        }
        let units = first..slots.len();
        let mut headers = dwarf.type_units();
        while slots.len() < MOST_UNITS
            && let Ok(Some(header)) = headers.next()
        {
            take(&mut slots, header);
        }
        let abbreviated = Abbreviated::new(&dwarf.debug_abbrev);
        let lines = Lines::new(&dwarf.debug_line);
        files.push(Rc::new(File { dwarf, units, types, supplement, abbreviated, lines }));
        file
    }

    /// The units whose entries describe code and data, in order.
    pub(super) fn describing(&self) -> Vec<u32> {
        let files = self.files.borrow();
        let slots = self.slots.borrow();
        let Some(file) = files.last() else { return Vec::new() };
        let is_type = |kind| matches!(kind, UnitType::Type { .. } | UnitType::SplitType { .. });
        let numbers = file.units.clone().filter(|at| !is_type(slots[*at].header.type_()));
        numbers.map(|at| at as u32).collect()
    }

    /// The units of the program whose entries were split off, by the ids of those parts.
    pub(super) fn skeletons(&self) -> Skeletons {
        let opened = self.describing().into_iter().filter_map(|number| self.open(number));
        let mut found = Skeletons::new();
        for (id, skeleton) in opened.filter_map(|unit| unit.skeleton()) {
            found.entry(id).or_insert(skeleton);
        }
        found
    }

    /// The ids of the units that were split off.
    pub(super) fn ids(&self) -> HashSet<u64> {
        let opened = self.describing().into_iter().filter_map(|number| self.open(number));
        opened.filter_map(|unit| Some(unit.unit.dwo_id?.0)).collect()
    }

    /// A unit by its number; `None` if it makes no sense.
    pub(super) fn open(&self, number: u32) -> Option<Rc<Opened<'a>>> {
        if let Some(known) = self.opened.borrow().get(&number) {
            return known.clone();
        }
        let slot = self.slots.borrow().get(number as usize)?.clone();
        let file = Rc::clone(self.files.borrow().get(slot.file)?);
        let opened = open(number, slot.header, file, &self.skeletons).map(Rc::new);
        self.opened.borrow_mut().insert(number, opened.clone());
        opened
    }

    /// The place that a value in a unit speaks of.
    pub(super) fn place(
        &self,
        from: &Opened<'a>,
        value: &AttributeValue<Bytes<'a>>,
    ) -> Option<Place> {
        match *value {
            AttributeValue::UnitRef(offset) => Some(Place { unit: from.number, offset }),
            AttributeValue::DebugInfoRef(at) => self.in_section(&from.file, at),
            AttributeValue::DebugInfoRefSup(at) => {
                let shared = Rc::clone(self.files.borrow().get(from.file.supplement?)?);
                self.in_section(&shared, at)
            }
            AttributeValue::DebugTypesRef(signature) => match from.file.types.get(&signature) {
                Some(known) => Some(*known),
                None => self.in_package(&from.file, signature),
            },
            _ => None,
        }
    }

    /// A type that the package holds, or one that was found there before.
    fn in_package(&self, from: &File<'a>, signature: DebugTypeSignature) -> Option<Place> {
        let known = self.files.borrow().iter().find_map(|f| f.types.get(&signature).copied());
        if known.is_some() {
            return known;
        }
        let part = self.package?.find_tu(signature, &from.dwarf).ok()??;
        let file = self.add(part, None);
        self.files.borrow().get(file)?.types.get(&signature).copied()
    }

    fn in_section(&self, file: &File<'a>, at: DebugInfoOffset) -> Option<Place> {
        let slots = self.slots.borrow();
        let begins = |slot: &Slot<'a>| match slot.header.offset() {
            UnitSectionOffset::DebugInfoOffset(offset) => offset.0,
            UnitSectionOffset::DebugTypesOffset(_) => usize::MAX,
        };
        let units = slots.get(file.units.clone())?;
        let index = units.partition_point(|slot| begins(slot) <= at.0).checked_sub(1)?;
        let offset = at.to_unit_offset(&units[index].header)?;
        Some(Place { unit: u32::try_from(file.units.start + index).ok()?, offset })
    }
}

/// A unit's own tables and bases, without its table of source files.
fn open<'a>(
    number: u32,
    header: UnitHeader<Bytes<'a>>,
    file: Rc<File<'a>>,
    skeletons: &Skeletons,
) -> Option<Opened<'a>> {
    let dwarf = &file.dwarf;
    let abbreviations = file.abbreviated.at(&dwarf.debug_abbrev, header.debug_abbrev_offset())?;
    let (encoding, kind) = (header.encoding(), dwarf.file_type);
    let mut unit = Unit {
        abbreviations,
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: gimli::DebugStrOffsetsBase::default_for_encoding_and_file(encoding, kind),
        addr_base: gimli::DebugAddrBase(0),
        loclists_base: gimli::DebugLocListsBase::default_for_encoding_and_file(encoding, kind),
        rnglists_base: gimli::DebugRngListsBase::default_for_encoding_and_file(encoding, kind),
        line_program: None,
        dwo_id: match header.type_() {
            UnitType::Skeleton(id) | UnitType::SplitCompilation(id) => Some(id),
            _ => None,
        },
        header,
    };
    let (mut low, mut folder, mut stated) = (None, None, None);
    let root = unit.header.entry(&unit.abbreviations, first_entry(&unit.header)).ok()?;
    let mut attributes = root.attrs();
    let (mut strings, mut addresses, mut locations, mut ranges, mut id) =
        (None, None, None, None, None);
    while let Ok(Some(attribute)) = attributes.next() {
        match (attribute.name(), attribute.value()) {
            (gimli::DW_AT_low_pc, value) => low = Some(value),
            (gimli::DW_AT_comp_dir, value) => folder = Some(value),
            (gimli::DW_AT_stmt_list, AttributeValue::DebugLineRef(at)) => stated = Some(at),
            (_, AttributeValue::DebugStrOffsetsBase(base)) => strings = Some(base),
            (_, AttributeValue::DebugAddrBase(base)) => addresses = Some(base),
            (_, AttributeValue::DebugLocListsBase(base)) => locations = Some(base),
            (_, AttributeValue::DebugRngListsBase(base)) => ranges = Some(base),
            (_, AttributeValue::DwoId(found)) => id = Some(found),
            _ => {}
        }
    }
    unit.str_offsets_base = strings.unwrap_or(unit.str_offsets_base);
    unit.addr_base = addresses.unwrap_or(unit.addr_base);
    unit.loclists_base = locations.unwrap_or(unit.loclists_base);
    unit.rnglists_base = ranges.unwrap_or(unit.rnglists_base);
    unit.dwo_id = unit.dwo_id.or(id);
    unit.comp_dir = folder.and_then(|value| dwarf.attr_string(&unit, value).ok());
    unit.low_pc =
        low.and_then(|value| dwarf.attr_address(&unit, value).ok().flatten()).unwrap_or_default();
    let skeleton = unit.dwo_id.and_then(|id| skeletons.get(&id.0).cloned());
    if let Some(skeleton) = &skeleton {
        unit.low_pc = skeleton.low_pc;
        unit.addr_base = skeleton.addr_base;
        if encoding.version < 5 {
            unit.rnglists_base = skeleton.rnglists_base;
        }
    }
    Some(Opened { number, unit, file, stated, skeleton, outline: OnceCell::new() })
}

/// Where the first entry of a unit is.
fn first_entry(header: &UnitHeader<Bytes<'_>>) -> UnitOffset {
    UnitOffset(header.size_of_header())
}

impl<'a> Opened<'a> {
    /// The sections that the unit lies in.
    pub(super) fn dwarf(&self) -> &Dwarf<Bytes<'a>> {
        &self.file.dwarf
    }

    /// The source files that entries speak of by number. Split units speak of the files that their
    /// skeletons list.
    pub(super) fn files(&self) -> Option<List> {
        match (&self.skeleton, self.stated) {
            (Some(skeleton), None) => skeleton.files.clone(),
            (_, stated) => self.file.lines.list(self.dwarf(), &self.unit, stated?),
        }
    }

    /// The name of the source file of a number, without its folder.
    pub(super) fn file_name(&self, index: u64) -> Option<String> {
        let files = self.files()?;
        Some(files.get(usize::try_from(index).ok()?)?.as_deref()?.to_owned())
    }

    /// What the part of the unit that was split off needs, with its id.
    fn skeleton(&self) -> Option<(u64, Skeleton)> {
        let skeleton = Skeleton {
            number: self.number,
            name: self.split_name()?,
            folder: self.folder().unwrap_or_default(),
            low_pc: self.unit.low_pc,
            addr_base: self.unit.addr_base,
            rnglists_base: self.unit.rnglists_base,
            files: None,
        };
        Some((self.unit.dwo_id?.0, skeleton))
    }

    /// What one look at all entries tells of them; made when first asked for.
    pub(super) fn outline(&self, source: &Source<'_, 'a>) -> &Outline {
        self.outline.get_or_init(|| Outline::of(source))
    }

    /// The name of the file that holds the entries of this unit, if they were split off.
    fn split_name(&self) -> Option<String> {
        let name = self.unit.dwo_name().ok()??;
        let name = self.dwarf().attr_string(&self.unit, name).ok()?;
        let name = String::from_utf8_lossy(&name).into_owned();
        (!name.is_empty() && name.len() < 4096).then_some(name)
    }

    /// The folder in which the unit was compiled.
    fn folder(&self) -> Option<String> {
        let folder = String::from_utf8_lossy(&self.unit.comp_dir?).into_owned();
        (folder.len() < 4096).then_some(folder)
    }

    /// Whether the unit was split off, and what it belongs to is missing.
    pub(super) fn is_unattached(&self) -> bool {
        self.dwarf().file_type == DwarfFileType::Dwo && self.skeleton.is_none()
    }
}
