//! What Microsoft's C++ runtime is told about functions that catch exceptions, and of what is left
//! to destroy: descriptions found by their magic number, the maps that they lead to, and the code
//! that handles an exception, which becomes functions.
//!
//! Cost: linear in the read-only data; no map is read twice, and all of them together are no longer
//! than the memory that they lie in.

mod types;

use crate::pass::{Analysis, Stopped};
use crate::rtti::compiler;
use crate::rtti::describe::{Describer, put, refer};
use crate::rtti::image::Image;
use crate::rtti::model::{Model, TypeDescriptor};
use program::{Address, AddressSet, CodeUnit, Program, SourceType, SymbolId};
use std::collections::{BTreeMap, BTreeSet};
use types::{Map, Member, Types};

/// The magic numbers of three versions, without the three bits that say something else.
const MAGIC: [u64; 3] = [0x1993_0520, 0x1993_0521, 0x1993_0522];
const MAGIC_BITS: u64 = 0x1fff_ffff;
/// Most entries of a map that are believed.
const MOST: i32 = 16000;
/// A handler that takes every exception.
const TAKES_ALL: i32 = 0x40;

/// Runs the pass.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    if !compiler::lays_down_descriptions(analysis.program) {
        return Ok(());
    }
    let image = Image::of(analysis.program);
    let found = find(&image);
    if found.is_empty() {
        return Ok(());
    }
    let mut marker = Marker::new(analysis.program, image);
    for at in found {
        analysis.check()?;
        marker.mark_function(analysis.program, at);
    }
    marker.describe_types(analysis.program);
    Ok(())
}

/// Places of the magic numbers.
fn find(image: &Image) -> Vec<Address> {
    let mut blocks = image.blocks(&[".rdata"]);
    if blocks.is_empty() {
        blocks = image.blocks(&[".text"]);
    }
    let mut found = Vec::new();
    for block in blocks {
        image.each_word(&block, 4, |at, value| {
            if MAGIC.contains(&(value & MAGIC_BITS)) {
                found.push(at);
            }
        });
    }
    found
}

/// Marks up descriptions and what they lead to.
struct Marker {
    image: Image,
    types: Types,
    /// Maps that were looked at.
    seen: BTreeSet<(Map, Address)>,
    /// Words of maps that may still be read.
    words_left: u64,
    /// Places of descriptions of the types that are caught.
    caught: BTreeSet<Address>,
}

impl Marker {
    fn new(program: &mut Program, image: Image) -> Marker {
        let types = Types::define(&mut program.types, &image);
        let blocks = image.blocks(&[""]);
        let words_left = blocks.iter().map(|block| block.len() / 4).sum();
        Marker { image, types, seen: BTreeSet::new(), words_left, caught: BTreeSet::new() }
    }

    fn mark_function(&mut self, program: &mut Program, at: Address) {
        let Some(function) = self.function(at) else { return };
        let described = self.types.function(&mut program.types, function.version);
        if !self.lay(program, at, described.id, &described.members, 1) {
            return;
        }
        if let Some(map) = function.unwind {
            self.mark_unwind_map(program, map);
        }
        if let Some(map) = function.tries {
            self.mark_try_map(program, map);
        }
        if let Some((place, count)) = function.places
            && let Some(places) = self.open(Map::Places, place, count)
            && places.iter().all(|entry| self.is_good_place(*entry))
        {
            let (id, members) = self.types.of(Map::Places);
            self.lay(program, place, id, &members, count);
        }
        if let Some(list) = function.allowed {
            self.mark_allowed(program, list);
        }
    }

    /// A description that holds together.
    fn function(&self, at: Address) -> Option<Function> {
        let magic = self.image.memory.read_uint(at, 4)? & MAGIC_BITS;
        let version = MAGIC.iter().position(|known| *known == magic)?;
        let relative = u64::from(self.image.is_relative());
        let length = [28, 32, 36][version] + 4 * relative;
        if !self.image.fits(at, length) {
            return None;
        }
        let map = |count_at: u64, place_at: u64| -> Option<Option<(Address, u32)>> {
            let count = self.image.number(at, count_at)?;
            match (count, self.image.reference(at, place_at)) {
                (0, None) => Some(None),
                (1..=MOST, Some(place)) => {
                    self.shares_block(at, place).then_some(Some((place, count as u32)))
                }
                _ => None,
            }
        };
        let (unwind, tries, places) = (map(4, 8)?, map(12, 16)?, map(20, 24)?);
        let nothing = unwind.is_none() && tries.is_none() && places.is_none();
        let allowed = match version {
            0 => None,
            _ => self.image.reference(at, 28 + 4 * relative),
        };
        let alone = allowed.is_some_and(|list| !self.shares_block(at, list));
        let function = Function { version, unwind, tries, places, allowed };
        (!nothing && !alone).then_some(function)
    }

    /// Whether both places lie in one block that has bytes of the file.
    fn shares_block(&self, at: Address, place: Address) -> bool {
        let block = |at: Address| self.image.memory.block_at(at).map(|block| block.start);
        self.image.is_loaded(place) && block(at) == block(place)
    }

    /// The entries of a map, unless it was looked at before.
    fn open(&mut self, map: Map, place: Address, count: u32) -> Option<Vec<Address>> {
        let length = u64::from(self.types.length(map));
        let whole = length * u64::from(count);
        let placed = place.offset.is_multiple_of(4) && self.image.fits(place, whole);
        if !placed || !self.seen.insert((map, place)) {
            return None;
        }
        self.words_left = self.words_left.checked_sub(whole / 4)?;
        Some((0..u64::from(count)).map(|index| place.wrapping_add(index * length)).collect())
    }

    fn is_good_place(&self, entry: Address) -> bool {
        let there = self.image.reference(entry, 0);
        !self.image.is_relative() || there.is_none_or(|place| self.image.is_loaded(place))
    }

    /// What destroys the objects that an exception leaves behind.
    fn mark_unwind_map(&mut self, program: &mut Program, (place, count): (Address, u32)) {
        let Some(entries) = self.open(Map::Unwind, place, count) else { return };
        let actions: Vec<Address> =
            entries.iter().filter_map(|entry| self.image.reference(*entry, 4)).collect();
        if !actions.iter().all(|action| self.may_be_code(program, *action)) {
            return;
        }
        let (id, members) = self.types.of(Map::Unwind);
        if self.lay(program, place, id, &members, count) {
            actions.into_iter().for_each(|action| make_function(program, action, "Unwind"));
        }
    }

    fn mark_try_map(&mut self, program: &mut Program, (place, count): (Address, u32)) {
        let Some(entries) = self.open(Map::Tries, place, count) else { return };
        let read = |entry: &Address| {
            let count = self.image.number(*entry, 12)?;
            match (count, self.image.reference(*entry, 16)) {
                (0, None) => Some(None),
                (1..=MOST, Some(place)) => {
                    self.image.is_loaded(place).then_some(Some((place, count as u32)))
                }
                _ => None,
            }
        };
        let Some(handlers) = entries.iter().map(read).collect::<Option<Vec<_>>>() else { return };
        let (id, members) = self.types.of(Map::Tries);
        if self.lay(program, place, id, &members, count) {
            for map in handlers.into_iter().flatten() {
                self.mark_handlers(program, map);
            }
        }
    }

    /// Handlers of one block, each with the type that it catches.
    fn mark_handlers(&mut self, program: &mut Program, (place, count): (Address, u32)) {
        let Some(entries) = self.open(Map::Handlers, place, count) else { return };
        let mut handlers = Vec::new();
        let mut caught = Vec::new();
        for entry in entries {
            let handler = self.image.reference(entry, 12);
            let Some(handler) = handler.filter(|at| self.may_be_code(program, *at)) else { return };
            let described = self.image.reference(entry, 4);
            if described.is_some_and(|described| !self.image.is_loaded(described)) {
                return;
            }
            let all = self.image.number(entry, 0).unwrap_or(0) & TAKES_ALL != 0;
            handlers.push((handler, if all { "Catch_All" } else { "Catch" }));
            caught.extend(described);
        }
        let (id, members) = self.types.of(Map::Handlers);
        let laid = self.lay(program, place, id, &members, count);
        handlers.into_iter().for_each(|(at, name)| make_function(program, at, name));
        if laid {
            self.caught.extend(caught);
        }
    }

    /// The exceptions that a function says it lets out.
    fn mark_allowed(&mut self, program: &mut Program, list: Address) {
        let Some(_) = self.open(Map::Allowed, list, 1) else { return };
        let count = self.image.number(list, 0).filter(|count| (1..=MOST).contains(count));
        let place = self.image.reference(list, 4).filter(|place| self.image.is_loaded(*place));
        let (Some(count), Some(place)) = (count, place) else { return };
        let (id, members) = self.types.of(Map::Allowed);
        if self.lay(program, list, id, &members, 1) {
            self.mark_handlers(program, (place, count as u32));
        }
    }

    /// Whether a place may be the start of code: it has bytes, and they are not known as data.
    fn may_be_code(&self, program: &Program, at: Address) -> bool {
        let unit = program.code_unit_at(at);
        self.image.is_loaded(at)
            && matches!(unit, Some(CodeUnit::Undefined | CodeUnit::Instruction(_)))
    }

    /// Defines entries of a type, with the references that their members are.
    fn lay(
        &self,
        program: &mut Program,
        at: Address,
        id: program::TypeId,
        members: &[Member],
        count: u32,
    ) -> bool {
        let length = program.types.length(id).unwrap_or(1);
        let whole = if count > 1 { program.types.array_of(id, count) } else { id };
        if !put(program, at, whole, length * count) {
            return false;
        }
        for index in 0..u64::from(count) {
            let entry = at.wrapping_add(index * u64::from(length));
            let mut offset = 0;
            for member in members {
                if member.refers {
                    let place = entry.wrapping_add(offset);
                    refer(program, place, self.image.reference(entry, offset));
                }
                offset += 4;
            }
        }
        true
    }

    /// Describes the types that handlers catch.
    fn describe_types(self, program: &mut Program) {
        if self.caught.is_empty() || self.image.table_of_type_info().is_none() {
            return;
        }
        let mut known: BTreeMap<Address, TypeDescriptor> = BTreeMap::new();
        for at in &self.caught {
            known.extend(TypeDescriptor::read(&self.image, *at).map(|found| (*at, found)));
        }
        let model = Model::of(self.image, known);
        Describer::new(program, &model).describe_types(program, &model);
    }
}

/// What a function is said to catch and to leave behind: places and counts of maps.
struct Function {
    version: usize,
    unwind: Option<(Address, u32)>,
    tries: Option<(Address, u32)>,
    places: Option<(Address, u32)>,
    allowed: Option<Address>,
}

/// Makes a function of code that handles an exception, and names it unless it has a name.
fn make_function(program: &mut Program, at: Address, what: &str) {
    let named = program.symbols.primary_at(at);
    if named.is_none_or(|(_, symbol)| symbol.source == SourceType::Default) {
        let name = format!("{what}@{:08x}", at.offset);
        program.add_label(at, &name, SymbolId::GLOBAL, SourceType::Analysis);
    }
    program.add_function(at, AddressSet::new());
}
