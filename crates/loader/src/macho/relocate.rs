//! Relocations of Mach-O object files: what the linker would still write into their sections.

use super::Loader;
use crate::elf::relocate::arm::{branch_offset, with_branch};
use object::macho as m;
use program::Address;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A relocation as the file has it.
#[derive(Clone, Copy)]
struct Entry {
    address: u32,
    /// Number of a symbol, of a section, or an addend.
    number: u32,
    relative: bool,
    /// Bytes that it writes.
    size: u32,
    external: bool,
    kind: u8,
    scattered: bool,
}

/// What a relocation comes to, looked up.
struct Site {
    place: Address,
    entry: Entry,
    /// The symbol's address; without one how far the file was moved.
    target: u64,
    /// An addend that another relocation brought.
    addend: u64,
}

impl Loader {
    /// Applies the relocations of all sections.
    pub(super) fn relocate(&mut self) {
        let file = Arc::clone(&self.file);
        let mut unknown = BTreeSet::new();
        let mut left = file.bytes.len() / 8;
        for section in &file.sections {
            let (mut at, count) = section.relocations;
            let mut before: Option<Entry> = None;
            for _ in 0..count {
                let Some(entry) = self.entry(at).filter(|_| left > 0) else { break };
                (at, left) = (at + 8, left - 1);
                if before.is_none() && self.is_paired(entry) {
                    before = Some(entry);
                    continue;
                }
                let place = self.ram(section.address.wrapping_add(u64::from(entry.address)));
                let first = before.take();
                if !self.relocate_one(place, first, entry) {
                    unknown.insert(first.unwrap_or(entry).kind);
                }
            }
        }
        if !unknown.is_empty() {
            self.warn(format!("relocations of types {unknown:?} were not applied"));
        }
    }

    fn entry(&self, at: u64) -> Option<Entry> {
        let at = usize::try_from(at).ok()?;
        let bytes: [u8; 8] = self.file.bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
        let [a, b, c, d, e, f, g, h] = bytes;
        let (address, second) = match self.file.big_endian {
            true => (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])),
            false => (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])),
        };
        let may_scatter = !self.file.is_64;
        if may_scatter && address >> 31 != 0 {
            return Some(Entry {
                address: address & 0xff_ffff,
                number: second,
                relative: address >> 30 & 1 != 0,
                size: 1 << (address >> 28 & 3),
                external: false,
                kind: (address >> 24 & 0xf) as u8,
                scattered: true,
            });
        }
        // The parts of the second word stand in the order of the file's bits.
        let (number, low) = match self.file.big_endian {
            true => (second >> 8, (second & 0xff) as u8),
            false => (second & 0xff_ffff, reversed((second >> 24) as u8)),
        };
        Some(Entry {
            address,
            number,
            relative: low >> 7 != 0,
            size: 1 << (low >> 5 & 3),
            external: low >> 4 & 1 != 0,
            kind: low & 0xf,
            scattered: false,
        })
    }

    /// Whether the next relocation belongs to this one.
    fn is_paired(&self, entry: Entry) -> bool {
        match self.file.cpu {
            m::CPU_TYPE_X86_64 => entry.kind == m::X86_64_RELOC_SUBTRACTOR,
            m::CPU_TYPE_ARM64 | m::CPU_TYPE_ARM64_32 => {
                matches!(entry.kind, m::ARM64_RELOC_SUBTRACTOR | m::ARM64_RELOC_ADDEND)
            }
            _ => false,
        }
    }

    /// Applies a relocation, maybe with the one before it; false when its kind is unknown.
    fn relocate_one(&mut self, place: Address, first: Option<Entry>, entry: Entry) -> bool {
        let none: Arc<str> = "".into();
        let named = |entry: &Entry| self.file.symbols.get(entry.number as usize);
        let name = match named(&entry).filter(|_| entry.external) {
            Some(symbol) => Arc::clone(&symbol.name),
            None => none,
        };
        let Some(target) = self.target(&entry) else {
            self.record(place, u32::from(entry.kind), 0, &name);
            return true;
        };
        let mut site = Site { place, entry, target, addend: 0 };
        let written = match first {
            Some(first) if first.kind == m::ARM64_RELOC_ADDEND && self.is_arm64() => {
                site.addend = super::chained::sign_extend(u64::from(first.number), 24);
                self.write_arm64(&site)
            }
            // The difference of two symbols.
            Some(first) => self.target(&first).and_then(|subtracted| {
                let value = self.stored(&site)?.wrapping_add(target).wrapping_sub(subtracted);
                self.store(&site, value)
            }),
            None => match self.file.cpu {
                m::CPU_TYPE_X86_64 => self.write_x86_64(&site),
                m::CPU_TYPE_ARM64 | m::CPU_TYPE_ARM64_32 => self.write_arm64(&site),
                m::CPU_TYPE_X86 if entry.kind == m::GENERIC_RELOC_VANILLA => self.write_x86(&site),
                m::CPU_TYPE_ARM if entry.kind == m::ARM_RELOC_VANILLA => self.write_x86(&site),
                m::CPU_TYPE_ARM if entry.kind == m::ARM_RELOC_BR24 => self.write_arm(&site),
                m::CPU_TYPE_ARM if entry.kind == m::ARM_THUMB_RELOC_BR22 => self.write_thumb(&site),
                // Differences of places in the same file.
                _ if !entry.external && self.delta == 0 => Some(entry.size),
                _ => None,
            },
        };
        if written.is_some() && entry.external && self.is_call(entry) {
            self.mark_called(&name);
        }
        let length = written.map_or(0, |size| size as u8);
        self.record(place, u32::from(first.unwrap_or(entry).kind), length, &name);
        written.is_some()
    }

    fn is_call(&self, entry: Entry) -> bool {
        match self.file.cpu {
            m::CPU_TYPE_X86_64 => entry.kind == m::X86_64_RELOC_BRANCH,
            m::CPU_TYPE_ARM64 | m::CPU_TYPE_ARM64_32 => entry.kind == m::ARM64_RELOC_BRANCH26,
            m::CPU_TYPE_X86 => entry.relative,
            _ => matches!(entry.kind, m::ARM_RELOC_BR24 | m::ARM_THUMB_RELOC_BR22),
        }
    }

    fn is_arm64(&self) -> bool {
        matches!(self.file.cpu, m::CPU_TYPE_ARM64 | m::CPU_TYPE_ARM64_32)
    }

    /// The address of a relocation's symbol. What only names a section has its address stored
    /// already, as it is where the file was not moved.
    fn target(&self, entry: &Entry) -> Option<u64> {
        if !entry.external || entry.scattered {
            return Some(self.delta);
        }
        let symbol = self.file.symbols.get(entry.number as usize)?;
        if !symbol.is_debug() && symbol.kind & m::N_TYPE == m::N_SECT {
            return Some(self.ram(symbol.value).offset);
        }
        self.global(&symbol.name).map(|place| place.offset)
    }

    /// What the place holds, sign-extended.
    fn stored(&self, site: &Site) -> Option<u64> {
        let value = self.program.memory.read_uint(site.place, site.entry.size)?;
        Some(super::chained::sign_extend(value, 8 * site.entry.size))
    }

    fn store(&mut self, site: &Site, value: u64) -> Option<u32> {
        let size = site.entry.size;
        let little = value.to_le_bytes();
        let mut bytes = little.get(..size as usize)?.to_vec();
        if self.file.big_endian {
            bytes.reverse();
        }
        self.program.memory.write(site.place, &bytes).ok().map(|()| size)
    }

    fn write_x86_64(&mut self, site: &Site) -> Option<u32> {
        let stored = self.stored(site)?;
        if !site.entry.relative {
            let known = site.entry.kind == m::X86_64_RELOC_UNSIGNED;
            return known.then(|| self.store(site, stored.wrapping_add(site.target)))?;
        }
        if !site.entry.external {
            // Both ends move together.
            return Some(site.entry.size);
        }
        // Immediate operands behind the distance are counted in what is stored. What goes over a
        // table of addresses leads to the place itself: no linker has made the table.
        let value = site.target.wrapping_add(stored).wrapping_sub(site.place.offset);
        self.store(site, value.wrapping_sub(4))
    }

    /// Words, and distances to a symbol from where the file says that the place is.
    fn write_x86(&mut self, site: &Site) -> Option<u32> {
        let stored = self.stored(site)?;
        if !site.entry.relative {
            return self.store(site, stored.wrapping_add(site.target));
        }
        if !site.entry.external {
            return Some(site.entry.size);
        }
        self.store(site, stored.wrapping_add(site.target).wrapping_sub(self.delta))
    }

    fn write_arm(&mut self, site: &Site) -> Option<u32> {
        if !site.entry.external {
            return Some(4);
        }
        let code = self.stored(site)? as u32;
        let stored = super::chained::sign_extend(u64::from(code & 0xff_ffff), 24) << 2;
        let distance = stored.wrapping_add(site.target).wrapping_sub(self.delta);
        self.store(site, u64::from(code & 0xff00_0000 | (distance >> 2) as u32 & 0xff_ffff))
    }

    /// A Thumb call: two halves, the first the higher.
    fn write_thumb(&mut self, site: &Site) -> Option<u32> {
        if !site.entry.external {
            return Some(4);
        }
        let code = (self.stored(site)? as u32).rotate_right(16);
        let distance = (branch_offset(code) as u64).wrapping_add(site.target);
        let code = with_branch(code, distance.wrapping_sub(self.delta));
        self.store(site, u64::from(code.rotate_right(16)))
    }

    fn write_arm64(&mut self, site: &Site) -> Option<u32> {
        let stored = self.stored(site)?;
        let code = stored as u32;
        let place = site.place.offset;
        let target = site.target.wrapping_add(site.addend);
        let new = match site.entry.kind {
            m::ARM64_RELOC_UNSIGNED | m::ARM64_RELOC_POINTER_TO_GOT => {
                let value = stored.wrapping_add(target);
                let from = if site.entry.relative { place } else { 0 };
                return self.store(site, value.wrapping_sub(from));
            }
            m::ARM64_RELOC_AUTHENTICATED_POINTER => {
                let value = (stored & 0xffff_ffff).wrapping_add(target);
                return self.store(site, value);
            }
            _ if !site.entry.external => return Some(4),
            m::ARM64_RELOC_BRANCH26 => {
                let stored = super::chained::sign_extend(u64::from(code & 0x3ff_ffff), 26) << 2;
                let distance = stored.wrapping_add(target).wrapping_sub(place) >> 2;
                code & 0xfc00_0000 | distance as u32 & 0x3ff_ffff
            }
            m::ARM64_RELOC_PAGE21
            | m::ARM64_RELOC_GOT_LOAD_PAGE21
            | m::ARM64_RELOC_TLVP_LOAD_PAGE21 => {
                let old = u64::from(code >> 5 & 0x7_ffff) << 2 | u64::from(code >> 29 & 3);
                let page = target.wrapping_add(super::chained::sign_extend(old, 21) << 12) >> 12;
                let pages = page.wrapping_sub(place >> 12) as u32;
                code & 0x9f00_001f | (pages & 3) << 29 | (pages >> 2 & 0x7_ffff) << 5
            }
            m::ARM64_RELOC_PAGEOFF12
            | m::ARM64_RELOC_GOT_LOAD_PAGEOFF12
            | m::ARM64_RELOC_TLVP_LOAD_PAGEOFF12 => {
                let scale = access_size(code);
                let stored = u64::from(code >> 10 & 0xfff) << scale;
                let offset = (target.wrapping_add(stored) & 0xfff) >> scale;
                code & 0xffc0_03ff | (offset as u32) << 10
            }
            _ => return None,
        };
        self.store(site, u64::from(new))
    }
}

/// The binary logarithm of what a load or store counts its offset in; zero for additions.
pub(crate) fn access_size(code: u32) -> u32 {
    if code & 0x3b00_0000 != 0x3900_0000 {
        return 0;
    }
    let whole_vector = code >> 26 & 1 != 0 && code >> 23 & 1 != 0 && code >> 30 == 0;
    if whole_vector { 4 } else { code >> 30 }
}

/// The parts of a byte in the other order: kind, whether external, size, whether relative.
fn reversed(byte: u8) -> u8 {
    (byte & 1) << 7 | (byte >> 1 & 3) << 5 | (byte >> 3 & 1) << 4 | byte >> 4
}
