//! Reading the program's memory as the descriptions need it: words, pointers, and the distances
//! from the image base that stand for pointers in 64-bit programs.

use program::{Address, AddressRange, Memory, MemoryBlock, Program};

/// How the decorated names of classes, structures, unions and enumerations begin.
pub(super) const NAME: &[u8] = b".?A";
/// This many names in a row with the same table settle which one it is.
const ENOUGH: usize = 6;
/// Once so many agree, one that does not is left out.
const SETTLED: usize = 2;

/// A program's memory.
pub(crate) struct Image {
    pub(crate) memory: Memory,
    base: u64,
    /// Bytes of a pointer.
    pub(crate) pointer: u32,
}

impl Image {
    pub(crate) fn of(program: &Program) -> Image {
        Image {
            memory: program.memory.clone(),
            base: program.info.image_base,
            pointer: program.types.organization().pointer,
        }
    }

    /// Whether descriptions hold distances from the image base in place of pointers.
    pub(crate) fn is_relative(&self) -> bool {
        self.pointer == 8
    }

    /// The blocks whose names begin so.
    pub(crate) fn blocks(&self, prefixes: &[&str]) -> Vec<AddressRange> {
        let named = |b: &&MemoryBlock| prefixes.iter().any(|prefix| b.name.starts_with(prefix));
        let blocks = self.memory.blocks().iter().filter(|b| is_loaded(b) && !b.is_overlay());
        blocks.filter(named).map(MemoryBlock::range).collect()
    }

    /// Whether a place has bytes of the file.
    pub(crate) fn is_loaded(&self, at: Address) -> bool {
        self.memory.block_at(at).is_some_and(is_loaded)
    }

    /// Whether so many bytes lie in one block that has bytes of the file.
    pub(crate) fn fits(&self, at: Address, length: u64) -> bool {
        let range = AddressRange::with_length(at, length);
        let block = self.memory.block_at(at).filter(|b| is_loaded(b));
        range.zip(block).is_some_and(|(range, block)| block.range().contains(range.end))
    }

    /// A number of four bytes.
    pub(crate) fn number(&self, at: Address, offset: u64) -> Option<i32> {
        let value = self.memory.read_uint(at.checked_add(offset)?, 4)?;
        Some(value as u32 as i32)
    }

    /// A whole pointer.
    pub(crate) fn pointer(&self, at: Address) -> Option<Address> {
        self.memory.read_uint(at, self.pointer).map(Address::ram)
    }

    /// What four bytes refer to.
    pub(crate) fn reference(&self, at: Address, offset: u64) -> Option<Address> {
        self.referred(self.memory.read_uint(at.checked_add(offset)?, 4)?)
    }

    /// What four bytes of that value refer to.
    pub(super) fn referred(&self, value: u64) -> Option<Address> {
        let base = if self.is_relative() { self.base } else { 0 };
        (value != 0).then(|| Address::ram(base.wrapping_add(value)))
    }

    /// Calls `found` with every aligned word in a block.
    pub(crate) fn each_word(
        &self,
        block: &AddressRange,
        size: u32,
        mut found: impl FnMut(Address, u64),
    ) {
        let step = u64::from(size);
        let mut at = block.start.checked_add(block.start.offset.wrapping_neg() % step);
        while let Some(start) = at.filter(|start| *start <= block.end) {
            let left = usize::try_from(block.end.offset - start.offset).unwrap_or(usize::MAX);
            let run = self.memory.run(start);
            let run = &run[..run.len().min(left.saturating_add(1))];
            let mut passed = 0;
            for word in run.chunks_exact(size as usize) {
                let value = word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
                found(start.wrapping_add(passed), value);
                passed += step;
            }
            if passed == 0 {
                if let Some(value) = self.memory.read_uint(start, size) {
                    found(start, value);
                }
                passed = step;
            }
            at = start.checked_add(passed);
        }
    }

    /// The table of virtual functions of `type_info`: every type descriptor begins with a pointer to
    /// it, two pointers before its name.
    pub(crate) fn table_of_type_info(&self) -> Option<Address> {
        let mut table = None;
        let mut agreed = 0;
        for block in self.blocks(&[".data"]) {
            let mut at = block.start;
            while let Some(name) = self.next(NAME, at, &block) {
                let Some(next) = name.checked_add(NAME.len() as u64) else { break };
                at = next;
                let holder = name.checked_sub(2 * u64::from(self.pointer));
                let Some(here) = holder.and_then(|at| self.pointer(at)) else { continue };
                if here.offset == 0 {
                    continue;
                }
                if table != Some(here) {
                    if agreed > SETTLED {
                        continue;
                    }
                    agreed = 0;
                }
                table = Some(here);
                agreed += 1;
                if agreed >= ENOUGH {
                    return table;
                }
            }
        }
        table.filter(|table| self.is_loaded(*table))
    }

    /// Where some bytes stand next, within one run of memory.
    fn next(&self, wanted: &[u8], from: Address, block: &AddressRange) -> Option<Address> {
        let mut at = from;
        while at <= block.end {
            let run = self.memory.run(at);
            if let Some(found) = memchr::memmem::find(run, wanted) {
                return at.checked_add(found as u64).filter(|found| *found <= block.end);
            }
            at = at.checked_add(run.len().max(1) as u64)?;
            if run.is_empty() {
                // Nothing of the file follows in this block.
                return None;
            }
        }
        None
    }
}

fn is_loaded(block: &MemoryBlock) -> bool {
    block.loaded && block.is_initialized()
}
