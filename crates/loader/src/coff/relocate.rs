//! Relocations of COFF object files.

use super::Loader;
use crate::fields::{
    access_size, branch_addend, field, half_word, low_addend, page_addend, sign_extend,
    with_branch, with_half_word, with_low, with_page, with_relative, with_thumb_branch,
};
use object::LittleEndian as LE;
use object::pe;
use object::read::coff::SectionTable;
use program::{Address, Relocation};
use std::sync::Arc;

/// A relocation with everything looked up.
struct Site {
    place: Address,
    kind: u16,
    target: u64,
}

impl Loader {
    /// Applies the relocations of all sections.
    pub(super) fn relocate(&mut self, sections: &SectionTable) {
        let bytes = Arc::clone(&self.bytes);
        // Sections may share their relocations.
        let mut left = bytes.len() / 10;
        for (number, section) in sections.iter().enumerate() {
            let Some(placed) = self.sections.get(number).copied() else { break };
            let Ok(list) = section.coff_relocations(&*bytes) else {
                self.program.warn(format!("the relocations of section {number} are cut short"));
                continue;
            };
            for entry in list {
                if left == 0 {
                    break;
                }
                left -= 1;
                let offset = entry.virtual_address.get(LE);
                let offset = offset.wrapping_sub(section.virtual_address.get(LE));
                let address = placed.address.wrapping_add(u64::from(offset));
                let symbol = self.symbols.get(&entry.symbol_table_index.get(LE)).cloned();
                let (target, symbol) = symbol.unwrap_or_else(|| (0, "".into()));
                let kind = entry.typ.get(LE);
                let site = Site { place: Address::ram(address), kind, target };
                let length = self.apply(&site);
                self.relocations.push(Relocation {
                    address: site.place,
                    kind: u32::from(kind),
                    symbol,
                    length: length.unwrap_or(0),
                    applied: length.is_some(),
                });
            }
        }
    }

    /// Applies one; gives how many bytes it wrote, if its kind is known and they are there.
    fn apply(&mut self, site: &Site) -> Option<u8> {
        match self.machine {
            pe::IMAGE_FILE_MACHINE_AMD64 => self.apply_amd64(site),
            pe::IMAGE_FILE_MACHINE_I386 => self.apply_i386(site),
            pe::IMAGE_FILE_MACHINE_ARM64 => self.apply_arm64(site),
            _ => self.apply_arm(site),
        }
    }

    fn stored(&self, site: &Site, size: u32) -> Option<u64> {
        let value = self.program.memory.read_uint(site.place, size)?;
        Some(if size == 4 { value as u32 as i32 as u64 } else { value })
    }

    fn store(&mut self, site: &Site, value: u64, size: u8) -> Option<u8> {
        let bytes = value.to_le_bytes();
        let written = self.program.memory.write(site.place, bytes.get(..usize::from(size))?);
        written.ok().map(|()| size)
    }

    /// Adds to what is stored.
    fn add(&mut self, site: &Site, value: u64, size: u8) -> Option<u8> {
        let value = self.stored(site, u32::from(size))?.wrapping_add(value);
        self.store(site, value, size)
    }

    /// Adds the distance from behind a field of four bytes and `more`.
    fn add_distance(&mut self, site: &Site, more: u64) -> Option<u8> {
        let distance = site.target.wrapping_sub(site.place.offset).wrapping_sub(4 + more);
        self.add(site, distance, 4)
    }

    /// Adds the distance from the image's base.
    fn add_offset(&mut self, site: &Site) -> Option<u8> {
        self.add(site, site.target.wrapping_sub(self.program.info.image_base), 4)
    }

    /// The number of the target's section, and where it begins.
    fn section_of(&self, site: &Site) -> Option<(usize, u64)> {
        let holds = |s: &&super::Placed| site.target.wrapping_sub(s.address) <= s.size;
        let found = self.sections.iter().enumerate().rfind(|(_, s)| holds(s));
        found.map(|(number, section)| (number, section.address))
    }

    /// How far in its section the target is.
    fn in_section(&self, site: &Site) -> Option<u64> {
        let (_, start) = self.section_of(site)?;
        Some(site.target - start)
    }

    /// The number of the target's section, or how far in it the target is.
    fn add_section(&mut self, site: &Site, offset: bool) -> Option<u8> {
        let (number, start) = self.section_of(site)?;
        match offset {
            true => self.add(site, site.target - start, 4),
            false => self.store(site, number as u64 + 1, 2),
        }
    }

    fn apply_amd64(&mut self, site: &Site) -> Option<u8> {
        match site.kind {
            pe::IMAGE_REL_AMD64_ABSOLUTE => Some(1),
            pe::IMAGE_REL_AMD64_ADDR64 => self.add(site, site.target, 8),
            pe::IMAGE_REL_AMD64_ADDR32 => self.add(site, site.target, 4),
            pe::IMAGE_REL_AMD64_ADDR32NB => self.add_offset(site),
            kind @ pe::IMAGE_REL_AMD64_REL32..=pe::IMAGE_REL_AMD64_REL32_5 => {
                let called = self.byte_before(site);
                if matches!(called, Some(0xe8 | 0xe9)) {
                    self.mark_called(site.target);
                }
                self.add_distance(site, u64::from(kind - pe::IMAGE_REL_AMD64_REL32))
            }
            pe::IMAGE_REL_AMD64_SECTION => self.add_section(site, false),
            pe::IMAGE_REL_AMD64_SECREL => self.add_section(site, true),
            _ => None,
        }
    }

    fn apply_i386(&mut self, site: &Site) -> Option<u8> {
        match site.kind {
            pe::IMAGE_REL_I386_ABSOLUTE => Some(1),
            pe::IMAGE_REL_I386_DIR32 => self.add(site, site.target, 4),
            pe::IMAGE_REL_I386_DIR32NB => self.add_offset(site),
            pe::IMAGE_REL_I386_REL32 => {
                self.mark_called(site.target);
                self.add_distance(site, 0)
            }
            pe::IMAGE_REL_I386_SECTION => self.add_section(site, false),
            pe::IMAGE_REL_I386_SECREL => self.add_section(site, true),
            _ => None,
        }
    }

    /// The first byte of a call or a jump, where the distance begins behind it.
    fn byte_before(&self, site: &Site) -> Option<u64> {
        self.program.memory.read_uint(site.place.checked_sub(1)?, 1)
    }

    fn apply_arm(&mut self, site: &Site) -> Option<u8> {
        match site.kind {
            pe::IMAGE_REL_ARM_ABSOLUTE => Some(1),
            pe::IMAGE_REL_ARM_ADDR32 => self.add(site, site.target, 4),
            pe::IMAGE_REL_ARM_ADDR32NB => self.add_offset(site),
            pe::IMAGE_REL_ARM_REL32 => self.add_distance(site, 0),
            pe::IMAGE_REL_ARM_SECTION => self.add_section(site, false),
            pe::IMAGE_REL_ARM_SECREL => self.add_section(site, true),
            pe::IMAGE_REL_ARM_BRANCH24 | pe::IMAGE_REL_ARM_BLX24 => {
                let code = self.stored(site, 4)? as u32;
                let held = (sign_extend(u64::from(code & 0xff_ffff), 24) << 2) as u64;
                let distance = self.distance_called(site, 8).wrapping_add(held);
                self.store(site, u64::from(field(code, distance >> 2, 0, 24)), 4)
            }
            pe::IMAGE_REL_ARM_BRANCH24T | pe::IMAGE_REL_ARM_BLX23T => {
                let code = self.halves(site.place)?;
                // What the instruction holds yet is no addend.
                let distance = self.distance_called(site, 4);
                self.store_halves(site.place, with_thumb_branch(code, distance))
            }
            pe::IMAGE_REL_ARM_BRANCH20T => {
                let code = self.halves(site.place)?;
                let distance = site.target.wrapping_sub(site.place.offset).wrapping_sub(4);
                self.store_halves(site.place, with_condition(code, distance))
            }
            pe::IMAGE_REL_ARM_MOV32 => {
                let next = Address::ram(site.place.offset.wrapping_add(4));
                let word = |place| self.program.memory.read_uint(place, 4).map(|w| w as u32);
                let (low, high) = (word(site.place)?, word(next)?);
                let half = |code: u32| u64::from(code >> 4 & 0xf000 | code & 0xfff);
                let value = (half(high) << 16 | half(low)).wrapping_add(site.target);
                let with = |code, half: u64| field(field(code, half, 0, 12), half >> 12, 16, 4);
                let (low, high) = (with(low, value), with(high, value >> 16));
                self.store(site, u64::from(high) << 32 | u64::from(low), 8)
            }
            pe::IMAGE_REL_ARM_MOV32T => {
                let next = Address::ram(site.place.offset.wrapping_add(4));
                let (low, high) = (self.halves(site.place)?, self.halves(next)?);
                let value = half_word(high) << 16 | half_word(low);
                let value = value.wrapping_add(site.target);
                self.store_halves(site.place, with_half_word(low, value))?;
                self.store_halves(next, with_half_word(high, value >> 16))?;
                Some(8)
            }
            _ => None,
        }
    }

    /// The distance from what follows a call, `ahead` of it, to the function called.
    fn distance_called(&mut self, site: &Site, ahead: u64) -> u64 {
        self.mark_called(site.target);
        site.target.wrapping_sub(site.place.offset).wrapping_sub(ahead)
    }

    /// A Thumb instruction of two halves, the first the higher.
    fn halves(&self, place: Address) -> Option<u32> {
        let word = self.program.memory.read_uint(place, 4)?;
        Some((word as u32).rotate_left(16))
    }

    fn store_halves(&mut self, place: Address, code: u32) -> Option<u8> {
        let bytes = code.rotate_left(16).to_le_bytes();
        self.program.memory.write(place, &bytes).ok().map(|()| 4)
    }

    fn apply_arm64(&mut self, site: &Site) -> Option<u8> {
        let code = self.stored(site, 4)? as u32;
        let (place, target) = (site.place.offset, site.target);
        let distance = target.wrapping_sub(place);
        let new = match site.kind {
            pe::IMAGE_REL_ARM64_ABSOLUTE => return Some(1),
            pe::IMAGE_REL_ARM64_ADDR64 => return self.add(site, target, 8),
            pe::IMAGE_REL_ARM64_ADDR32 => return self.add(site, target, 4),
            pe::IMAGE_REL_ARM64_ADDR32NB => return self.add_offset(site),
            pe::IMAGE_REL_ARM64_REL32 => return self.add_distance(site, 0),
            pe::IMAGE_REL_ARM64_SECTION => return self.add_section(site, false),
            pe::IMAGE_REL_ARM64_SECREL => return self.add_section(site, true),
            pe::IMAGE_REL_ARM64_BRANCH26 => {
                self.mark_called(target);
                with_branch(code, branch_addend(code).wrapping_add(distance))
            }
            pe::IMAGE_REL_ARM64_BRANCH19 => field(code, distance >> 2, 5, 19),
            pe::IMAGE_REL_ARM64_BRANCH14 => field(code, distance >> 2, 5, 14),
            pe::IMAGE_REL_ARM64_REL21 => {
                with_relative(code, distance.wrapping_add(page_addend(code)))
            }
            pe::IMAGE_REL_ARM64_PAGEBASE_REL21 => {
                with_page(code, place, target.wrapping_add(page_addend(code)))
            }
            pe::IMAGE_REL_ARM64_PAGEOFFSET_12A => {
                with_low(code, target.wrapping_add(low_addend(code, 0)), 0)
            }
            pe::IMAGE_REL_ARM64_PAGEOFFSET_12L => {
                let size = access_size(code);
                with_low(code, target.wrapping_add(low_addend(code, size)), size)
            }
            pe::IMAGE_REL_ARM64_SECREL_LOW12A => {
                with_low(code, self.in_section(site)?.wrapping_add(low_addend(code, 0)), 0)
            }
            pe::IMAGE_REL_ARM64_SECREL_HIGH12A => {
                let offset = self.in_section(site)?.wrapping_add(low_addend(code, 12));
                with_low(code, offset >> 12, 0)
            }
            pe::IMAGE_REL_ARM64_SECREL_LOW12L => {
                let size = access_size(code);
                with_low(code, self.in_section(site)?.wrapping_add(low_addend(code, size)), size)
            }
            _ => return None,
        };
        self.store(site, u64::from(new), 4)
    }
}

/// Puts a distance into a conditional Thumb branch of four bytes.
fn with_condition(code: u32, distance: u64) -> u32 {
    let bits = [(distance >> 1, 0, 11), (distance >> 12, 16, 6), (distance >> 18, 13, 1)];
    let code =
        bits.into_iter().fold(code, |code, (value, at, width)| field(code, value, at, width));
    field(field(code, distance >> 19, 11, 1), distance >> 20, 26, 1)
}
