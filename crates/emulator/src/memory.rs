//! Memory of a run: pages copied from the program's snapshot when they are first touched, and
//! regions that only the run has (stack, heap, arguments).

use foldhash::HashMap;
use program::{Address, BlockSource, Program, SpaceId};

pub(crate) const PAGE: u64 = 4096;
/// Pages that are found without a search, by the low bits of their number.
const RECENT: usize = 256;

/// What is done to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read.
    Read,
    /// Written.
    Write,
    /// Executed.
    Execute,
}

/// Why memory could not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing is there.
    Unmapped(u64, Access),
    /// It may not be written, or not executed.
    Forbidden(u64, Access),
    /// More pages would be touched than the limit allows.
    Limit,
}

/// What a region of the run's own is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Stack,
    Heap,
    /// What the caller put into memory.
    Given,
    /// What the system keeps for a thread.
    Thread,
}

/// Memory that only the run has: zeros at first. Starts and ends at pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) purpose: Purpose,
}

impl Region {
    pub(crate) fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.length
    }
}

pub(crate) struct Page {
    pub(crate) number: u64,
    pub(crate) bytes: [u8; PAGE as usize],
    /// Bits of the bytes that are there; nothing when all are.
    mapped: Option<Box<[u64; 64]>>,
    written: [u64; 64],
    writable: bool,
    executable: bool,
    /// Whether code was taken from it that is still kept.
    code: bool,
    pub(crate) purpose: Option<Purpose>,
}

impl Page {
    fn is_whole(&self) -> bool {
        self.mapped.is_none()
    }

    fn has(&self, offset: u64) -> bool {
        self.mapped.as_ref().is_none_or(|bits| bit(bits, offset))
    }

    /// Whether a byte was written to.
    pub(crate) fn was_written(&self, offset: u64) -> bool {
        bit(&self.written, offset)
    }

    pub(crate) fn is_touched(&self) -> bool {
        self.written.iter().any(|word| *word != 0)
    }

    fn mark(&mut self, offset: u64, size: u64) {
        for at in offset..(offset + size).min(PAGE) {
            self.written[(at / 64) as usize] |= 1 << (at % 64);
        }
    }
}

fn bit(bits: &[u64; 64], offset: u64) -> bool {
    bits[(offset / 64 % 64) as usize] >> (offset % 64) & 1 == 1
}

pub(crate) struct Memory<'p> {
    program: &'p Program,
    pages: Vec<Box<Page>>,
    index: HashMap<u64, u32>,
    recent: Box<[(u64, u32); RECENT]>,
    regions: Vec<Region>,
    /// Bytes that stand in place of the program's before the run, in order of their places.
    patches: Vec<(u64, Vec<u8>)>,
    limit: usize,
    big: bool,
    /// The highest address.
    highest: u64,
}

impl<'p> Memory<'p> {
    pub(crate) fn new(
        program: &'p Program,
        regions: Vec<Region>,
        mut patches: Vec<(u64, Vec<u8>)>,
        limit: u64,
        highest: u64,
    ) -> Memory<'p> {
        patches.sort_unstable();
        Memory {
            program,
            pages: Vec::new(),
            index: HashMap::default(),
            recent: Box::new([(u64::MAX, 0); RECENT]),
            regions,
            patches,
            limit: usize::try_from(limit / PAGE).unwrap_or(usize::MAX).max(1),
            big: program.memory.big_endian(),
            highest,
        }
    }

    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    pub(crate) fn region(&self, purpose: Purpose) -> Option<Region> {
        self.regions.iter().find(|region| region.purpose == purpose).copied()
    }

    pub(crate) fn program(&self) -> &'p Program {
        self.program
    }

    /// The decoding mode that the program knows for a place.
    pub(crate) fn mode_at(&self, address: u64) -> u8 {
        self.program.mode_at(Address::ram(address))
    }

    /// The pages that were touched.
    pub(crate) fn pages(&self) -> &[Box<Page>] {
        &self.pages
    }

    #[inline]
    fn find(&mut self, number: u64, access: Access) -> Result<usize, Fault> {
        let (known, index) = self.recent[number as usize % RECENT];
        if known == number { Ok(index as usize) } else { self.search(number, access) }
    }

    #[cold]
    #[inline(never)]
    fn search(&mut self, number: u64, access: Access) -> Result<usize, Fault> {
        let index = match self.index.get(&number) {
            Some(index) => *index,
            None => {
                if self.pages.len() >= self.limit {
                    return Err(Fault::Limit);
                }
                let page = self.copy_page(number);
                let page = page.ok_or(Fault::Unmapped(number * PAGE, access))?;
                let index = self.pages.len() as u32;
                self.pages.push(page);
                self.index.insert(number, index);
                index
            }
        };
        self.recent[number as usize % RECENT] = (number, index);
        Ok(index as usize)
    }

    /// A page as it is before the run; nothing when no byte of it is there.
    pub(crate) fn copy_page(&self, number: u64) -> Option<Box<Page>> {
        let start = number.checked_mul(PAGE).filter(|start| *start <= self.highest)?;
        let last = start + (PAGE - 1);
        let mut page = Box::new(Page {
            number,
            bytes: [0; PAGE as usize],
            mapped: None,
            written: [0; 64],
            writable: false,
            executable: false,
            code: false,
            purpose: None,
        });
        let mut mapped = [0u64; 64];
        if let Some(region) = self.regions.iter().find(|region| region.contains(start)) {
            page.purpose = Some(region.purpose);
            page.writable = true;
            page.executable = matches!(region.purpose, Purpose::Heap | Purpose::Given);
            mapped.fill(u64::MAX);
        }
        let blocks = self.program.memory.blocks();
        let first = blocks.partition_point(|block| block.end() < Address::ram(start));
        for block in &blocks[first..] {
            if block.start.space != SpaceId::RAM || block.start.offset > last {
                break;
            }
            let nothing = matches!(block.source(), BlockSource::Uninitialized);
            if nothing && block.permissions.artificial {
                continue;
            }
            let from = block.start.offset.max(start);
            let to = block.end().offset.min(last);
            let inside = (from - start) as usize..=(to - start) as usize;
            // What has no bytes reads as zeros: the system clears it.
            let _ = self.program.memory.read(Address::ram(from), &mut page.bytes[inside.clone()]);
            inside.for_each(|at| mapped[at / 64] |= 1 << (at % 64));
            page.writable |= block.permissions.write;
            page.executable |= block.permissions.execute;
        }
        if mapped.iter().all(|word| *word == 0) {
            return None;
        }
        if mapped.iter().any(|word| *word != u64::MAX) {
            page.mapped = Some(Box::new(mapped));
        }
        self.patch(&mut page, start);
        Some(page)
    }

    fn patch(&self, page: &mut Page, start: u64) {
        let first = self.patches.partition_point(|(at, bytes)| at + (bytes.len() as u64) <= start);
        for (at, bytes) in &self.patches[first..] {
            if *at >= start + PAGE {
                break;
            }
            for (place, byte) in (*at..).zip(bytes) {
                if let Some(there) =
                    place.checked_sub(start).and_then(|offset| page.bytes.get_mut(offset as usize))
                {
                    *there = *byte;
                }
            }
        }
    }

    /// A number of at most 8 bytes, in the program's byte order.
    #[inline]
    pub(crate) fn read(&mut self, address: u64, size: u32) -> Result<u64, Fault> {
        let offset = (address % PAGE) as usize;
        if offset + 8 <= PAGE as usize {
            let index = self.find(address / PAGE, Access::Read).map_err(|f| at(f, address))?;
            let page = &self.pages[index];
            if page.is_whole() {
                let bytes = page.bytes[offset..offset + 8].try_into().unwrap_or_default();
                return Ok(if self.big {
                    u64::from_be_bytes(bytes) >> (64 - 8 * size.clamp(1, 8))
                } else {
                    u64::from_le_bytes(bytes) & crate::cells::mask(size)
                });
            }
        }
        let mut bytes = [0; 8];
        let part = &mut bytes[..size.min(8) as usize];
        self.read_bytes(address, part)?;
        let fold = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Ok(if self.big { part.iter().fold(0, fold) } else { part.iter().rev().fold(0, fold) })
    }

    /// Writes the low bytes of a number; tells whether code was there.
    #[inline]
    pub(crate) fn write(&mut self, address: u64, size: u32, value: u64) -> Result<bool, Fault> {
        let bytes = if self.big {
            (value << (64 - 8 * size.clamp(1, 8))).to_be_bytes()
        } else {
            value.to_le_bytes()
        };
        self.write_bytes(address, &bytes[..size.min(8) as usize])
    }

    /// Reads all bytes, or none.
    pub(crate) fn read_bytes(&mut self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.bytes_for(address, out, Access::Read)
    }

    fn bytes_for(&mut self, address: u64, out: &mut [u8], access: Access) -> Result<(), Fault> {
        let mut done = 0;
        while done < out.len() {
            let here = address.wrapping_add(done as u64) & self.highest;
            let index = self.find(here / PAGE, access).map_err(|fault| at(fault, here))?;
            let page = &self.pages[index];
            let offset = (here % PAGE) as usize;
            let count = (PAGE as usize - offset).min(out.len() - done);
            if let Some(hole) = (0..count as u64).find(|i| !page.has(offset as u64 + i)) {
                return Err(Fault::Unmapped(here + hole, access));
            }
            if access == Access::Execute && !page.executable {
                return Err(Fault::Forbidden(here, access));
            }
            out[done..done + count].copy_from_slice(&page.bytes[offset..offset + count]);
            done += count;
        }
        Ok(())
    }

    /// Writes all bytes, or up to the first that cannot be written; tells whether code was there.
    #[inline]
    pub(crate) fn write_bytes(&mut self, address: u64, bytes: &[u8]) -> Result<bool, Fault> {
        let offset = address % PAGE;
        if offset + bytes.len() as u64 <= PAGE {
            return self.write_in_page(address, bytes);
        }
        let mut code = false;
        let mut done = 0;
        while done < bytes.len() {
            let here = address.wrapping_add(done as u64) & self.highest;
            let count = ((PAGE - here % PAGE) as usize).min(bytes.len() - done);
            code |= self.write_in_page(here, &bytes[done..done + count])?;
            done += count;
        }
        Ok(code)
    }

    #[inline]
    fn write_in_page(&mut self, address: u64, bytes: &[u8]) -> Result<bool, Fault> {
        let index = self.find(address / PAGE, Access::Write).map_err(|f| at(f, address))?;
        let page = &mut self.pages[index];
        let offset = address % PAGE;
        let size = bytes.len() as u64;
        if !page.is_whole()
            && let Some(hole) = (0..size).find(|i| !page.has(offset + i))
        {
            return Err(Fault::Unmapped(address + hole, Access::Write));
        }
        if !page.writable {
            return Err(Fault::Forbidden(address, Access::Write));
        }
        page.bytes[offset as usize..(offset + size) as usize].copy_from_slice(bytes);
        let word = (offset / 64) as usize;
        if offset % 64 + size <= 64 && size < 64 {
            page.written[word] |= ((1 << size) - 1) << (offset % 64);
        } else {
            page.mark(offset, size);
        }
        Ok(page.code)
    }

    /// Reads what may be executed: as many bytes as there are, at least one.
    pub(crate) fn fetch(&mut self, address: u64, out: &mut [u8]) -> Result<usize, Fault> {
        self.bytes_for(address, &mut out[..1], Access::Execute)?;
        let mut count = 1;
        while count < out.len() {
            let here = address.wrapping_add(count as u64) & self.highest;
            let room = ((PAGE - here % PAGE) as usize).min(out.len() - count);
            if self.bytes_for(here, &mut out[count..count + room], Access::Execute).is_ok() {
                count += room;
                continue;
            }
            // Up to the end of what is there, byte by byte.
            while count < out.len() {
                let here = address.wrapping_add(count as u64) & self.highest;
                if self.bytes_for(here, &mut out[count..=count], Access::Execute).is_err() {
                    return Ok(count);
                }
                count += 1;
            }
        }
        Ok(count)
    }

    /// Notes that code was taken from some bytes and is kept.
    pub(crate) fn keep_code(&mut self, address: u64, size: u64) {
        for number in address / PAGE..=address.saturating_add(size.max(1) - 1) / PAGE {
            if let Some(index) = self.index.get(&number) {
                self.pages[*index as usize].code = true;
            }
        }
    }

    /// Notes that no code is kept any more.
    pub(crate) fn drop_code(&mut self) {
        self.pages.iter_mut().for_each(|page| page.code = false);
    }

    /// Lets some pages be written and executed; false where nothing is.
    pub(crate) fn allow(&mut self, address: u64, size: u64, write: bool, execute: bool) -> bool {
        let last = address.saturating_add(size.max(1) - 1).min(self.highest);
        for number in address / PAGE..=last / PAGE {
            let Ok(index) = self.find(number, Access::Read) else { return false };
            let page = &mut self.pages[index];
            page.writable |= write;
            page.executable |= execute;
        }
        true
    }

    /// Puts bytes where a run begins with them, whatever may be written there.
    pub(crate) fn place(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let size = bytes.len() as u64;
        let mut was = Vec::new();
        for number in address / PAGE..=address.saturating_add(size.max(1) - 1) / PAGE {
            let index = self.find(number, Access::Write).map_err(|fault| at(fault, address))?;
            was.push((index, std::mem::replace(&mut self.pages[index].writable, true)));
        }
        let done = self.write_bytes(address, bytes);
        for (index, writable) in was {
            self.pages[index].writable = writable;
        }
        done.map(|_| ())
    }

    /// Forgets which bytes were written: a run begins.
    pub(crate) fn forget_writes(&mut self) {
        for page in &mut self.pages {
            page.written = [0; 64];
        }
    }
}

/// A fault of a page as one of the place that was meant.
fn at(fault: Fault, address: u64) -> Fault {
    match fault {
        Fault::Unmapped(_, access) => Fault::Unmapped(address, access),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use program::{DataOrganization, MemoryBlock, Permissions, ProgramInfo};

    use super::*;

    fn program(big: bool) -> Program {
        let info = ProgramInfo { address_bits: 32, ..ProgramInfo::default() };
        let mut program = Program::new(info, big, DataOrganization::default());
        let bytes = vec![7u8; 0x1800];
        let source = BlockSource::Bytes { bytes: bytes.into(), offset: 0, length: 0x1800 };
        let mut block = MemoryBlock::new("data", Address::ram(0x1100), 0x1800, source);
        block.permissions = Permissions { read: true, write: true, ..Permissions::default() };
        program.memory.add_block(block).expect("it fits");
        let source = BlockSource::Bytes { bytes: vec![9].into(), offset: 0, length: 1 };
        let mut block = MemoryBlock::new("code", Address::ram(0x8000), 0x10, source);
        block.permissions = Permissions { read: true, execute: true, ..Permissions::default() };
        program.memory.add_block(block).expect("it fits");
        program
    }

    #[test]
    fn pages_are_copied_with_their_holes() {
        let program = program(true);
        let mut memory = Memory::new(&program, Vec::new(), Vec::new(), 1 << 20, 0xffff_ffff);
        assert_eq!(memory.read(0x1100, 2), Ok(0x0707));
        assert_eq!(memory.read(0x10ff, 2), Err(Fault::Unmapped(0x10ff, Access::Read)));
        assert_eq!(memory.read(0x28ff, 2), Err(Fault::Unmapped(0x2900, Access::Read)));
        assert_eq!(memory.read(0x9000, 1), Err(Fault::Unmapped(0x9000, Access::Read)));
        assert_eq!(memory.write(0x1ffe, 4, 0x0102_0304), Ok(false));
        assert_eq!(memory.read(0x1ffe, 4), Ok(0x0102_0304));
        assert_eq!(memory.read(0x1ffd, 3), Ok(0x07_0102));
        assert_eq!(memory.write(0x8000, 1, 0), Err(Fault::Forbidden(0x8000, Access::Write)));
        let mut bytes = [0; 4];
        let fault = Fault::Forbidden(0x1100, Access::Execute);
        assert_eq!(memory.fetch(0x1100, &mut bytes), Err(fault));
        assert_eq!(memory.fetch(0x800e, &mut bytes), Ok(2));
    }

    #[test]
    fn no_more_pages_are_touched_than_allowed() {
        let program = program(false);
        let heap = Region { start: 0x10_0000, length: 0x10_0000, purpose: Purpose::Heap };
        let mut memory = Memory::new(&program, vec![heap], Vec::new(), 2 * PAGE, 0xffff_ffff);
        assert_eq!(memory.write(0x10_0000, 8, 1), Ok(false));
        assert_eq!(memory.write(0x10_1000, 8, 1), Ok(false));
        assert_eq!(memory.write(0x10_2000, 8, 1), Err(Fault::Limit));
    }

    #[test]
    fn writes_to_kept_code_are_told() {
        let program = program(false);
        let mut memory = Memory::new(&program, Vec::new(), Vec::new(), 1 << 20, 0xffff_ffff);
        assert!(memory.allow(0x8000, 4, true, true));
        memory.keep_code(0x8000, 4);
        assert_eq!(memory.write(0x8004, 1, 5), Ok(true));
        memory.drop_code();
        assert_eq!(memory.write(0x8004, 1, 6), Ok(false));
    }
}
