//! Addresses as Ghidra's tables hold them: a kind, the number of a base, and 32 bits from there.

use ghidra_db::Database;
use program::{Address, AddressSpaces, SpaceId};

use crate::rows::Rows;

/// Kinds, in the upper four bits.
const ABSOLUTE: u64 = 1;
const RELOCATABLE: u64 = 2;
const REGISTER: u64 = 3;
const STACK: u64 = 4;
const EXTERNAL: u64 = 5;
const VARIABLE: u64 = 6;

/// The place that references of entry points come from.
pub(crate) const ENTRY_POINTS: i64 = -2;

/// The bases by their numbers.
pub(crate) struct Addresses {
    bases: Vec<Option<Address>>,
    image_base: u64,
    default_mask: u64,
}

impl Addresses {
    /// Reads overlays and bases, and makes the spaces that are not there yet.
    pub(crate) fn read(
        database: &Database,
        spaces: &mut AddressSpaces,
        image_base: u64,
        notices: &mut Vec<String>,
    ) -> Addresses {
        let default_bits = spaces.get(SpaceId::RAM).map_or(64, |space| space.bits);
        for row in Rows::read(database, "Overlay Spaces", notices).iter() {
            let name = row.word("Overlay Space Name");
            let base = row.text("Base Space Name").or(row.text("Template Space Name"));
            let base = space_named(spaces, base.unwrap_or("ram"), default_bits);
            if let (false, Some(base)) = (name.is_empty(), base) {
                spaces.add_overlay(name, base);
            }
        }
        let mut bases = Vec::new();
        for row in Rows::read(database, "ADDRESS MAP", notices).iter() {
            let space = (row.int("Deleted") == 0)
                .then(|| space_named(spaces, row.word("Space Name"), default_bits))
                .flatten();
            let segment = (row.int("Segment") as u32 as u64) << 32;
            let place = usize::try_from(row.key()).unwrap_or(usize::MAX);
            if place < 1 << 20 {
                bases.resize(bases.len().max(place + 1), None);
                bases[place] = space.map(|space| Address::new(space, segment));
            }
        }
        let default_mask = u64::MAX >> (64 - default_bits.clamp(1, 64));
        Addresses { bases, image_base, default_mask }
    }

    /// The address that a key stands for; `None` where it stands for none that we have.
    pub(crate) fn decode(&self, key: i64) -> Option<Address> {
        let key = key as u64;
        let low = key & 0xffff_ffff;
        let base = || *self.bases.get((key >> 32 & 0x0fff_ffff) as usize)?;
        match key >> 60 {
            ABSOLUTE => Some(base()?.wrapping_add(low)),
            RELOCATABLE => {
                let address = base()?.wrapping_add(low);
                Some(match address.space {
                    SpaceId::RAM => {
                        let offset = address.offset.wrapping_add(self.image_base);
                        Address::ram(offset & self.default_mask)
                    }
                    _ => address,
                })
            }
            REGISTER => Some(Address::new(SpaceId::REGISTER, low)),
            STACK => Some(Address::stack(i64::from(low as u32 as i32))),
            EXTERNAL => Some(Address::external(low)),
            _ => None,
        }
    }

    /// The number of the storage that a variable's address names.
    pub(crate) fn variable(key: i64) -> Option<i64> {
        (key as u64 >> 60 == VARIABLE).then_some(key & 0xffff_ffff)
    }
}

/// A space by Ghidra's name of it, made where there is none.
fn space_named(spaces: &mut AddressSpaces, name: &str, bits: u32) -> Option<SpaceId> {
    match spaces.by_name(name) {
        Some(space) => Some(space.id),
        None => spaces.add_memory(name, bits, 1),
    }
}
