//! What the descriptions say, checked as they are read: a description counts only if everything
//! that it refers to does.

use super::image::{Image, NAME};
use program::Address;
use std::collections::{BTreeMap, HashMap};

/// Longest decorated name, in bytes.
const LONGEST_NAME: u64 = 1 << 12;
/// Most classes that one class descends from, itself among them.
const MOST_BASES: i32 = 1000;

/// A type's name, and to what it is said to belong.
pub(crate) struct TypeDescriptor {
    pub(super) at: Address,
    /// As the compiler decorates it.
    pub(super) name: String,
    /// Bytes of the name, its zero and padding included.
    pub(super) name_length: u32,
}

/// One class that a class descends from.
#[derive(Clone, Copy)]
pub(super) struct Base {
    pub(super) at: Address,
    /// Its type descriptor.
    pub(super) class: Address,
    /// Place in the object, of the table of virtual bases, and in that table; attributes.
    pub(super) place: [i32; 4],
    /// The classes that it descends from itself.
    pub(super) hierarchy: Address,
}

/// The classes that a class descends from.
#[derive(Clone, Copy)]
pub(super) struct Hierarchy {
    pub(super) at: Address,
    /// Where the references to the bases are, the class's own first.
    pub(super) array: Address,
    /// How many there are.
    pub(super) count: u32,
}

/// What a table of virtual functions refers to: the class of the whole object.
#[derive(Clone, Copy)]
pub(super) struct Locator {
    pub(super) at: Address,
    pub(super) class: Address,
    pub(super) hierarchy: Hierarchy,
}

/// The descriptions of a program.
pub(crate) struct Model {
    pub(super) image: Image,
    pub(super) types: BTreeMap<Address, TypeDescriptor>,
    /// What was found out about class hierarchies; absent ones are none.
    hierarchies: HashMap<Address, Option<Hierarchy>>,
    /// Entries of arrays that may still be read: there are no more words than this, and no two
    /// arrays share any.
    entries_left: u64,
}

impl Model {
    /// Finds the type descriptors: what begins with that pointer and goes on with a name.
    pub(super) fn new(image: Image, info_table: Address) -> Model {
        let mut types: BTreeMap<Address, TypeDescriptor> = BTreeMap::new();
        let mut free = Address::ram(0);
        let mut zero = None;
        for block in image.blocks(&[".data"]) {
            image.each_word(&block, image.pointer, |at, value| {
                if value == info_table.offset
                    && at >= free
                    && let Some(found) = read_type(&image, at, NAME, &mut zero)
                {
                    let length = u64::from(found.name_length);
                    free = name_of(&image, at).wrapping_add(length);
                    types.insert(at, found);
                }
            });
        }
        let blocks = image.blocks(&BLOCKS);
        let entries_left = blocks.iter().map(|block| block.len() / 4).sum();
        Model { image, types, hierarchies: HashMap::new(), entries_left }
    }

    /// Some types alone.
    pub(crate) fn of(image: Image, types: BTreeMap<Address, TypeDescriptor>) -> Model {
        Model { image, types, hierarchies: HashMap::new(), entries_left: 0 }
    }

    /// The locators of the types found, in order.
    pub(super) fn locators(&mut self) -> Vec<Locator> {
        let mut places = Vec::new();
        for block in self.image.blocks(&BLOCKS) {
            self.image.each_word(&block, 4, |at, value| {
                let class = self.image.referred(value);
                if class.is_some_and(|class| self.types.contains_key(&class)) {
                    places.extend(at.checked_sub(12));
                }
            });
        }
        places.into_iter().filter_map(|at| self.locator(at)).collect()
    }

    fn locator(&mut self, at: Address) -> Option<Locator> {
        if !self.is_placed(at, 20) {
            return None;
        }
        let class = self.image.reference(at, 12)?;
        let hierarchy = self.image.reference(at, 16)?;
        let hierarchy = self.hierarchy(hierarchy)?;
        // A class is the first of those that it descends from.
        let own = self.bases(&hierarchy).any(|base| base.class == class);
        self.entries_left = self.entries_left.checked_sub(u64::from(hierarchy.count))?;
        own.then_some(Locator { at, class, hierarchy })
    }

    /// A class hierarchy with all that belongs to it.
    pub(super) fn hierarchy(&mut self, at: Address) -> Option<Hierarchy> {
        if let Some(known) = self.hierarchies.get(&at) {
            return *known;
        }
        let found = self.shallow_hierarchy(at).filter(|found| {
            u64::from(found.count) <= self.entries_left
                && self.bases(found).count() == found.count as usize
        });
        let read = found.map_or(0, |found| u64::from(found.count));
        self.entries_left = self.entries_left.saturating_sub(read.max(1));
        self.hierarchies.insert(at, found);
        found
    }

    /// A class hierarchy, whatever its bases are.
    fn shallow_hierarchy(&self, at: Address) -> Option<Hierarchy> {
        if !self.is_placed(at, 16) {
            return None;
        }
        let count = self.image.number(at, 8).filter(|count| (1..=MOST_BASES).contains(count))?;
        let array = self.image.reference(at, 12)?;
        let count = count as u32;
        self.is_placed(array, 4 * u64::from(count)).then_some(Hierarchy { at, array, count })
    }

    /// The bases of a class up to the first that is none.
    pub(super) fn bases<'a>(&'a self, hierarchy: &Hierarchy) -> impl Iterator<Item = Base> + 'a {
        let array = hierarchy.array;
        let entries = (0..u64::from(hierarchy.count)).map(move |index| 4 * index);
        entries.map_while(move |offset| self.base(self.image.reference(array, offset)?))
    }

    fn base(&self, at: Address) -> Option<Base> {
        if !self.is_placed(at, 28) {
            return None;
        }
        let class = self.image.reference(at, 0)?;
        let hierarchy = self.image.reference(at, 24)?;
        let number = |offset| self.image.number(at, offset);
        let place = [number(8)?, number(12)?, number(16)?, number(20)?];
        let sensible = number(4)? >= 0 && place[0] >= 0 && place[1] >= -1 && place[2] >= 0;
        let known = self.types.contains_key(&class) && self.shallow_hierarchy(hierarchy).is_some();
        (sensible && known).then_some(Base { at, class, place, hierarchy })
    }

    /// Whether something of that length that holds words of four bytes may be there.
    fn is_placed(&self, at: Address, length: u64) -> bool {
        at.offset.is_multiple_of(4) && self.image.fits(at, length)
    }
}

/// Names of the blocks with locators and tables.
pub(super) const BLOCKS: [&str; 3] = [".rdata", ".data", ".text"];

/// Where a type descriptor's name begins.
fn name_of(image: &Image, at: Address) -> Address {
    at.wrapping_add(2 * u64::from(image.pointer))
}

impl TypeDescriptor {
    /// Reads the description of any type, such as one that is caught: `int` has one as well.
    pub(crate) fn read(image: &Image, at: Address) -> Option<TypeDescriptor> {
        const ANY: &[u8] = b".";
        let table = image.pointer(at)?;
        let placed = at.offset.is_multiple_of(u64::from(image.pointer));
        let good = placed && table.offset != 0 && image.is_loaded(table);
        good.then(|| read_type(image, at, ANY, &mut None))?
    }
}

/// Reads a type descriptor whose name begins so; `zero` is the last end of a text found, so that no
/// byte is looked at twice for it.
fn read_type(
    image: &Image,
    at: Address,
    prefix: &[u8],
    zero: &mut Option<Address>,
) -> Option<TypeDescriptor> {
    let spare = image.pointer(at.checked_add(u64::from(image.pointer))?)?;
    let start = name_of(image, at);
    let run = image.memory.run(start);
    if !run.starts_with(prefix) || (spare.offset != 0 && !image.is_loaded(spare)) {
        return None;
    }
    let end = match zero.filter(|zero| *zero >= start) {
        Some(zero) => zero,
        None => start.checked_add(memchr::memchr(0, run)? as u64)?,
    };
    *zero = Some(end);
    let length = end.offset - start.offset;
    let text = run.get(..usize::try_from(length).ok()?)?;
    let name = std::str::from_utf8(text).ok().filter(|_| length < LONGEST_NAME)?;
    let padded = (length + 1).next_multiple_of(u64::from(image.pointer));
    let whole = start.offset - at.offset + padded;
    let sensible = !name.contains(char::is_whitespace) && image.fits(at, whole);
    sensible.then(|| TypeDescriptor { at, name: name.to_owned(), name_length: padded as u32 })
}
