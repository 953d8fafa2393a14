//! Relocations of COFF object files.

use super::Loader;
use object::LittleEndian as LE;
use object::pe;
use object::read::coff::SectionTable;
use program::{Address, Relocation};
use std::collections::BTreeSet;
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
        let mut unknown = BTreeSet::new();
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
                if length.is_none() {
                    unknown.insert(kind);
                }
                self.relocations.push(Relocation {
                    address: site.place,
                    kind: u32::from(kind),
                    symbol,
                    length: length.unwrap_or(0),
                    applied: length.is_some(),
                });
            }
        }
        if !unknown.is_empty() {
            self.program.warn(format!("relocations of types {unknown:?} were not applied"));
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

    /// The number of the target's section, or how far in it the target is.
    fn add_section(&mut self, site: &Site, offset: bool) -> Option<u8> {
        let holds = |s: &&super::Placed| site.target.wrapping_sub(s.address) <= s.size;
        let found = self.sections.iter().enumerate().rfind(|(_, s)| holds(s));
        let (number, section) = found?;
        match offset {
            true => self.add(site, site.target - section.address, 4),
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
            _ => None,
        }
    }

    fn apply_arm64(&mut self, site: &Site) -> Option<u8> {
        let code = self.stored(site, 4)? as u32;
        let (place, target) = (site.place.offset, site.target);
        let imm12 = u64::from(code >> 10 & 0xfff);
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
                let words = u64::from(code & 0x3ff_ffff).wrapping_add(words(target, place));
                code & 0xfc00_0000 | words as u32 & 0x3ff_ffff
            }
            pe::IMAGE_REL_ARM64_BRANCH19 => {
                let words = words(target, place) as u32 & 0x7_ffff;
                code & 0xff00_001f | words << 5
            }
            pe::IMAGE_REL_ARM64_BRANCH14 => {
                let words = words(target, place) as u32 & 0x3fff;
                code & 0xfff8_001f | words << 5
            }
            pe::IMAGE_REL_ARM64_PAGEBASE_REL21 => {
                let more = u64::from(code >> 5 & 0x7_ffff) << 2 | u64::from(code >> 29 & 3);
                let pages = (target.wrapping_add(more) >> 12).wrapping_sub(place >> 12) as u32;
                code & 0x9f00_001f | (pages & 3) << 29 | (pages >> 2 & 0x7_ffff) << 5
            }
            pe::IMAGE_REL_ARM64_PAGEOFFSET_12A => {
                let offset = target.wrapping_add(imm12) & 0xfff;
                code & 0xffc0_03ff | (offset as u32) << 10
            }
            pe::IMAGE_REL_ARM64_PAGEOFFSET_12L => {
                let scale = crate::macho::access_size(code);
                let offset = (target.wrapping_add(imm12 << scale) & 0xfff) >> scale;
                code & 0xffc0_03ff | (offset as u32) << 10
            }
            _ => return None,
        };
        self.store(site, u64::from(new), 4)
    }
}

/// A distance in instructions.
fn words(target: u64, place: u64) -> u64 {
    (target.wrapping_sub(place) as i64 >> 2) as u64
}
