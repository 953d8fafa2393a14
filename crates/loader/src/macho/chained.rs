//! Chained fixups: pointers that link to the next one in their spare bits.

use super::Loader;
use crate::fields::sign_extend;
use object::endian::{Endianness, LittleEndian as LE, U16Bytes, U32Bytes};
use object::pod::Pod;
use object::read::ReadRef;
use program::Address;
use std::sync::Arc;

/// Most pages and imports that are believed.
const LIMIT: u64 = 1 << 22;

/// One import: its name and addend.
type Import = (Arc<str>, u64);

/// What a pointer of a chain says.
struct Link {
    /// Import and addend, or the address to point at.
    target: Result<(usize, u64), u64>,
    /// Distance to the next one; zero for the last.
    next: u64,
}

fn at<T: Pod>(bytes: &[u8], offset: u64) -> Option<&T> {
    bytes.read_at::<T>(offset).ok()
}

fn word(bytes: &[u8], offset: u64) -> Option<u32> {
    at::<U32Bytes<LE>>(bytes, offset).map(|w| w.get(LE))
}

fn half(bytes: &[u8], offset: u64) -> Option<u16> {
    at::<U16Bytes<LE>>(bytes, offset).map(|w| w.get(LE))
}

impl Loader {
    pub(super) fn fix_chained(&mut self) {
        let file = Arc::clone(&self.file);
        let Some((start, _)) = file.chained else { return };
        if file.big_endian {
            self.warn(format!("chained fixups in {:?} byte order are unknown", Endianness::Big));
            return;
        }
        if self.fix_segments(start).is_none() {
            self.warn("the chained fixups end early");
        }
    }

    fn fix_segments(&mut self, start: u64) -> Option<()> {
        let file = Arc::clone(&self.file);
        let bytes = &file.bytes;
        let imports = self.chained_imports(start)?;
        let starts = start + u64::from(word(bytes, start + 4)?);
        let count = u64::from(word(bytes, starts)?).min(file.segments.len() as u64);
        for segment in 0..count {
            let offset = u64::from(word(bytes, starts + 4 + 4 * segment)?);
            if offset != 0 {
                self.fix_segment(starts + offset, &imports);
            }
        }
        Some(())
    }

    fn chained_imports(&self, start: u64) -> Option<Vec<Import>> {
        let bytes = &self.file.bytes;
        let table = start + u64::from(word(bytes, start + 8)?);
        let names = start + u64::from(word(bytes, start + 12)?);
        let count = u64::from(word(bytes, start + 16)?).min(LIMIT);
        let format = word(bytes, start + 20)?;
        let stride = match format {
            1 => 4,
            2 => 8,
            3 => 16,
            _ => return None,
        };
        let mut imports = Vec::new();
        for index in 0..count {
            let Some(low) = word(bytes, table + stride * index) else { break };
            let (name, addend) = match format {
                1 => (u64::from(low >> 9), 0),
                2 => {
                    let addend = word(bytes, table + stride * index + 4).unwrap_or(0);
                    (u64::from(low >> 9), i64::from(addend as i32) as u64)
                }
                _ => {
                    let name = word(bytes, table + stride * index + 4).unwrap_or(0);
                    let addend = word(bytes, table + stride * index + 8).unwrap_or(0);
                    (u64::from(name), u64::from(addend))
                }
            };
            let name = super::file::text(bytes, names + name).unwrap_or_default();
            imports.push((name.into(), addend));
        }
        Some(imports)
    }

    fn fix_segment(&mut self, start: u64, imports: &[Import]) -> Option<()> {
        let file = Arc::clone(&self.file);
        let bytes = &file.bytes;
        let page_size = u64::from(half(bytes, start + 4)?);
        let format = half(bytes, start + 6)?;
        let offset = u64::from(word(bytes, start + 8)?) | u64::from(word(bytes, start + 12)?) << 32;
        let pages = u64::from(half(bytes, start + 20)?);
        let base = self.text_start()?;
        for page in 0..pages {
            let first = half(bytes, start + 22 + 2 * page)?;
            // Pages with several chains are of 32-bit firmware only.
            if first == 0xffff || first & 0x8000 != 0 {
                continue;
            }
            let at = base.wrapping_add(offset).wrapping_add(page * page_size);
            self.fix_chain(at.wrapping_add(u64::from(first)), page_size, format, imports);
        }
        Some(())
    }

    fn fix_chain(&mut self, start: u64, page_size: u64, format: u16, imports: &[Import]) {
        let mut at = start;
        let size = if format == 3 { 4 } else { 8 };
        for _ in 0..page_size / 4 {
            let place = self.ram(at);
            let Some(value) = self.program.memory.read_uint(place, size) else { break };
            let Some(link) = self.link(value, format) else { break };
            self.follow(place, &link, imports);
            if link.next == 0 {
                break;
            }
            at = at.wrapping_add(link.next);
        }
    }

    fn follow(&mut self, place: Address, link: &Link, imports: &[Import]) {
        match link.target {
            Ok((import, addend)) => {
                if let Some((name, more)) = imports.get(import)
                    && self.bind_symbol(place, name, addend.wrapping_add(*more))
                {
                    self.pointers.push(place);
                }
            }
            Err(address) => {
                self.fix(place, self.ram(address).offset, &"".into());
                self.pointers.push(place);
            }
        }
    }

    /// Takes a pointer of a chain apart.
    fn link(&self, value: u64, format: u16) -> Option<Link> {
        let bits = |at: u32, width: u32| value >> at & ((1 << width) - 1);
        let base = self.text_start().unwrap_or(0);
        Some(match format {
            // 64-bit pointers: target of 36 bits, high byte apart.
            2 | 6 => {
                let next = 4 * bits(51, 12);
                if value >> 63 != 0 {
                    Link { target: Ok((bits(0, 24) as usize, bits(24, 8))), next }
                } else {
                    let low = bits(0, 36);
                    let own = if format == 6 { base.wrapping_add(low) } else { low };
                    Link { target: Err(own | bits(36, 8) << 56), next }
                }
            }
            // Pointers that may be signed.
            1 | 9 | 12 => {
                let next = 8 * bits(51, 11);
                let signed = value >> 63 != 0;
                let ordinal = if format == 12 { bits(0, 24) } else { bits(0, 16) };
                if value >> 62 & 1 != 0 {
                    let addend = if signed { 0 } else { sign_extend(bits(32, 19), 19) as u64 };
                    Link { target: Ok((ordinal as usize, addend)), next }
                } else if signed {
                    Link { target: Err(base.wrapping_add(bits(0, 32))), next }
                } else {
                    let low = bits(0, 43);
                    let own = if format == 1 { low } else { base.wrapping_add(low) };
                    Link { target: Err(own | bits(43, 8) << 56), next }
                }
            }
            3 => {
                let next = 4 * bits(26, 5);
                if value >> 31 & 1 != 0 {
                    Link { target: Ok((bits(0, 20) as usize, bits(20, 6))), next }
                } else {
                    Link { target: Err(bits(0, 26)), next }
                }
            }
            _ => return None,
        })
    }
}
