//! References between places, found from both ends.

use crate::address::Address;
use crate::flow::RefType;
use crate::symbol::SourceType;
use crate::table::Table;

/// The operand index of a reference that belongs to the mnemonic.
pub const MNEMONIC: i8 = -1;

/// What a reference says apart from its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferenceInfo {
    /// How the place is used.
    pub kind: RefType,
    /// Who found it.
    pub source: SourceType,
    /// Whether it is the one that its operand shows.
    pub primary: bool,
}

/// One reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// Where it stands.
    pub from: Address,
    /// What it refers to.
    pub to: Address,
    /// Which operand refers; [`MNEMONIC`] for the instruction as such.
    pub operand: i8,
    /// The rest.
    pub info: ReferenceInfo,
}

/// All references of a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct References {
    forward: Table<(Address, i8, Address), ReferenceInfo>,
    backward: Table<(Address, Address, i8), ()>,
}

impl References {
    /// All references by origin, operand and destination.
    pub fn table(&self) -> &Table<(Address, i8, Address), ReferenceInfo> {
        &self.forward
    }

    /// The references of a saved program.
    pub fn restore(forward: Table<(Address, i8, Address), ReferenceInfo>) -> References {
        let mut backward: Vec<(Address, Address, i8)> =
            forward.keys().map(|(from, operand, to)| (*to, *from, *operand)).collect();
        backward.sort_unstable();
        References { forward, backward: backward.into_iter().map(|key| (key, ())).collect() }
    }

    /// Number of references.
    pub fn len(&self) -> usize {
        self.forward.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.forward.is_empty()
    }

    /// Whether both share their storage.
    pub fn same(&self, other: &References) -> bool {
        self.forward.same(&other.forward)
    }

    /// The ends of references that differ, or that only one of both has, in order of `from`.
    pub fn differences(&self, other: &References) -> Vec<(Address, Address)> {
        let keys = self.forward.differences(&other.forward, PartialEq::eq);
        keys.into_iter().map(|(from, _, to)| (from, to)).collect()
    }

    /// Adds a reference; one with the same ends and operand is replaced.
    pub fn add(&mut self, reference: Reference) {
        let Reference { from, to, operand, info } = reference;
        self.forward.insert((from, operand, to), info);
        self.backward.insert((to, from, operand), ());
    }

    /// Removes the reference with these ends and operand.
    pub fn remove(&mut self, from: Address, to: Address, operand: i8) -> bool {
        self.backward.remove(&(to, from, operand));
        self.forward.remove(&(from, operand, to)).is_some()
    }

    /// Removes every reference from an address of the range.
    pub fn remove_from(&mut self, start: Address, end: Address) {
        let doomed: Vec<Reference> = self.between(start, end).collect();
        for reference in doomed {
            self.remove(reference.from, reference.to, reference.operand);
        }
    }

    /// References from one address, by operand, then destination.
    pub fn from(&self, address: Address) -> impl Iterator<Item = Reference> {
        self.between(address, address)
    }

    /// References from the addresses `start..=end`, in order of `from`.
    pub fn between(&self, start: Address, end: Address) -> impl Iterator<Item = Reference> {
        self.forward.range((start, i8::MIN, Address::MIN)..=(end, i8::MAX, Address::MAX)).map(
            |((from, operand, to), info)| Reference {
                from: *from,
                to: *to,
                operand: *operand,
                info: *info,
            },
        )
    }

    /// References to one address, in order of `from`.
    pub fn to(&self, address: Address) -> impl Iterator<Item = Reference> {
        self.backward
            .range((address, Address::MIN, i8::MIN)..=(address, Address::MAX, i8::MAX))
            .filter_map(|((to, from, operand), ())| {
                let info = *self.forward.get(&(*from, *operand, *to))?;
                Some(Reference { from: *from, to: *to, operand: *operand, info })
            })
    }

    /// Whether anything refers to `address`.
    pub fn is_referenced(&self, address: Address) -> bool {
        self.to(address).next().is_some()
    }

    /// The destinations in `start..=end` that anything refers to, in order,
    /// each once.
    pub fn destinations(&self, start: Address, end: Address) -> impl Iterator<Item = Address> {
        let mut last = None;
        self.backward
            .range((start, Address::MIN, i8::MIN)..=(end, Address::MAX, i8::MAX))
            .map(|((to, _, _), ())| *to)
            .filter(move |to| last.replace(*to) != Some(*to))
    }

    /// All references in order of `from`.
    pub fn iter(&self) -> impl Iterator<Item = Reference> {
        self.between(Address::MIN, Address::MAX)
    }
}
