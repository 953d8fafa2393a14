//! Relocations of Mach-O object files: what the linker would still write into their sections; and
//! those of old linked files, which a table of its own has instead of binding programs.

use super::Loader;
use crate::fields::{
    access_size, branch_addend, branch_offset, field, half_word, low_addend, page_addend,
    sign_extend, with_branch, with_half_word, with_low, with_page, with_thumb_branch,
};
use object::macho as m;
use program::Address;
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
    /// Applies the relocations of all sections and of the file.
    pub(super) fn relocate(&mut self) {
        let file = Arc::clone(&self.file);
        let mut left = file.bytes.len() / 8;
        for section in &file.sections {
            self.relocate_list(section.relocations, section.address, &mut left);
        }
        let base = self.dynamic_base();
        for list in file.relocations {
            self.relocate_list(list, base, &mut left);
        }
    }

    /// What the places of relocations of a linked file count from: the first segment, or where
    /// that may lie far away the first one that is written.
    fn dynamic_base(&self) -> u64 {
        let mut segments = self.file.segments.iter();
        let far = self.file.cpu == m::CPU_TYPE_X86_64 || self.file.splits_segments;
        let first = match far {
            true => segments.find(|s| s.protection & m::VM_PROT_WRITE != 0),
            false => segments.next(),
        };
        first.map_or(0, |segment| segment.address)
    }

    fn relocate_list(&mut self, list: (u64, u32), base: u64, left: &mut usize) {
        let (mut at, count) = list;
        let mut before: Option<Entry> = None;
        for _ in 0..count {
            let Some(entry) = self.entry(at).filter(|_| *left > 0) else { break };
            (at, *left) = (at + 8, *left - 1);
            if before.is_none() && self.is_paired(entry) {
                before = Some(entry);
                continue;
            }
            let first = before.take();
            // Where the second only adds to the first, it has no place of its own.
            let placed = first.filter(|_| !self.subtracts_first()).unwrap_or(entry);
            let place = self.ram(base.wrapping_add(u64::from(placed.address)));
            self.relocate_one(place, first, entry);
        }
    }

    /// Whether the first of two relocations belongs to the second.
    fn subtracts_first(&self) -> bool {
        self.file.cpu == m::CPU_TYPE_X86_64 || self.is_arm64()
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
            m::CPU_TYPE_X86 => {
                matches!(entry.kind, m::GENERIC_RELOC_SECTDIFF | m::GENERIC_RELOC_LOCAL_SECTDIFF)
            }
            m::CPU_TYPE_ARM => matches!(
                entry.kind,
                m::ARM_RELOC_SECTDIFF
                    | m::ARM_RELOC_LOCAL_SECTDIFF
                    | m::ARM_RELOC_HALF
                    | m::ARM_RELOC_HALF_SECTDIFF
            ),
            m::CPU_TYPE_POWERPC => matches!(
                entry.kind,
                m::PPC_RELOC_HI16..=m::PPC_RELOC_SECTDIFF
                    | m::PPC_RELOC_HI16_SECTDIFF..=m::PPC_RELOC_LOCAL_SECTDIFF
            ),
            _ => false,
        }
    }

    /// Applies a relocation, maybe with the one before it.
    fn relocate_one(&mut self, place: Address, first: Option<Entry>, entry: Entry) {
        let kind = u32::from(first.unwrap_or(entry).kind);
        let (main, pair) = match first.filter(|_| !self.subtracts_first()) {
            Some(first) => (first, Some(entry)),
            None => (entry, None),
        };
        let symbol = self.file.symbols.get(main.number as usize).filter(|_| main.external);
        let name = symbol.map_or_else(|| Arc::from(""), |symbol| Arc::clone(&symbol.name));
        let written = match (self.target(&main), pair) {
            (Some(target), Some(pair)) => {
                self.write_pair(&Site { place, entry: main, target, addend: 0 }, pair)
            }
            (Some(target), None) => self.write_one(place, first, entry, target),
            (None, _) => None,
        };
        if written.is_some() && entry.external && self.is_call(entry) {
            self.mark_called(&name);
        }
        self.record(place, kind, written.map_or(0, |size| size as u8), &name);
    }

    fn write_one(
        &mut self,
        place: Address,
        first: Option<Entry>,
        entry: Entry,
        target: u64,
    ) -> Option<u32> {
        let mut site = Site { place, entry, target, addend: 0 };
        match first {
            Some(first) if first.kind == m::ARM64_RELOC_ADDEND && self.is_arm64() => {
                site.addend = sign_extend(u64::from(first.number), 24) as u64;
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
                m::CPU_TYPE_X86 if entry.kind == m::GENERIC_RELOC_PB_LA_PTR => {
                    self.write_x86(&site)
                }
                m::CPU_TYPE_ARM if entry.kind == m::ARM_RELOC_PB_LA_PTR => self.write_x86(&site),
                // Places in the same file, which was not moved.
                _ if !entry.external && self.delta == 0 => Some(entry.size),
                _ => None,
            },
        }
    }

    /// Differences, both ends of which move together, and halves of addresses.
    fn write_pair(&mut self, site: &Site, pair: Entry) -> Option<u32> {
        let half = self.file.cpu == m::CPU_TYPE_ARM && site.entry.kind == m::ARM_RELOC_HALF;
        let difference = match self.file.cpu {
            m::CPU_TYPE_X86 => true,
            m::CPU_TYPE_ARM => !half,
            _ => false,
        };
        if half {
            return self.write_half(site, pair);
        }
        let unmoved = !site.entry.external && self.delta == 0;
        (difference || unmoved).then_some(4)
    }

    /// Half of an address in `movw` or `movt`; the pair has the other half. What stands for the size
    /// says which half it is, and of which kind the code is.
    fn write_half(&mut self, site: &Site, pair: Entry) -> Option<u32> {
        let (upper, thumb) = (site.entry.size & 0xa != 0, site.entry.size & 0xc != 0);
        let word = self.program.memory.read_uint(site.place, 4)? as u32;
        let code = if thumb { word.rotate_left(16) } else { word };
        let held =
            if thumb { half_word(code) } else { u64::from(code >> 4 & 0xf000 | code & 0xfff) };
        let other = u64::from(pair.address & 0xffff);
        let stored = if upper { held << 16 | other } else { other << 16 | held };
        let value = stored.wrapping_add(site.target);
        let value = if upper { value >> 16 } else { value };
        let code = match thumb {
            true => with_half_word(code, value).rotate_left(16),
            false => field(field(code, value, 0, 12), value >> 12, 16, 4),
        };
        self.program.memory.write(site.place, &code.to_le_bytes()).ok().map(|()| 4)
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
        Some(sign_extend(value, 8 * site.entry.size) as u64)
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
        let stored = (sign_extend(u64::from(code & 0xff_ffff), 24) << 2) as u64;
        let distance = stored.wrapping_add(site.target).wrapping_sub(self.delta);
        self.store(site, u64::from(field(code, distance >> 2, 0, 24)))
    }

    /// A Thumb call: two halves, the first the higher.
    fn write_thumb(&mut self, site: &Site) -> Option<u32> {
        if !site.entry.external {
            return Some(4);
        }
        let code = (self.stored(site)? as u32).rotate_right(16);
        let distance = (branch_offset(code) as u64).wrapping_add(site.target);
        let code = with_thumb_branch(code, distance.wrapping_sub(self.delta));
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
                let distance = branch_addend(code).wrapping_add(target).wrapping_sub(place);
                with_branch(code, distance)
            }
            m::ARM64_RELOC_PAGE21
            | m::ARM64_RELOC_GOT_LOAD_PAGE21
            | m::ARM64_RELOC_TLVP_LOAD_PAGE21 => {
                with_page(code, place, target.wrapping_add(page_addend(code) << 12))
            }
            m::ARM64_RELOC_PAGEOFF12
            | m::ARM64_RELOC_GOT_LOAD_PAGEOFF12
            | m::ARM64_RELOC_TLVP_LOAD_PAGEOFF12 => {
                let size = access_size(code);
                with_low(code, target.wrapping_add(low_addend(code, size)), size)
            }
            _ => return None,
        };
        self.store(site, u64::from(new))
    }
}

/// The parts of a byte in the other order: kind, whether external, size, whether relative.
fn reversed(byte: u8) -> u8 {
    (byte & 1) << 7 | (byte >> 1 & 3) << 5 | (byte >> 3 & 1) << 4 | byte >> 4
}
