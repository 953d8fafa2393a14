//! The small programs that tell the dynamic linker which pointers to move and
//! which to fill with other files' symbols.

use super::Loader;
use object::macho as m;
use program::Address;
use std::sync::Arc;

/// Bytes that are read one after the other.
pub(super) struct Program<'a> {
    bytes: &'a [u8],
}

impl<'a> Program<'a> {
    pub(super) fn new(file: &'a [u8], offset: u64, size: u64) -> Program<'a> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(file.len());
        let size = usize::try_from(size).unwrap_or(usize::MAX).min(file.len() - start);
        Program { bytes: file.get(start..start + size).unwrap_or(&[]) }
    }

    /// Bytes that were not read yet.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    /// An unsigned number in groups of seven bits.
    pub(super) fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0u64;
        let mut shift = 0;
        loop {
            let byte = self.byte()?;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            if byte & 0x80 == 0 {
                return Some(value);
            }
            shift += 7;
        }
    }

    pub(super) fn signed(&mut self) -> Option<u64> {
        let before = self.bytes.len();
        let value = self.unsigned()?;
        let bits = 7 * (before - self.bytes.len()) as u32;
        if bits >= 64 {
            return Some(value);
        }
        let unused = 64 - bits;
        Some(((value << unused) as i64 >> unused) as u64)
    }

    /// The next `length` bytes, to be read apart.
    pub(super) fn take(&mut self, length: u64) -> Option<Program<'a>> {
        let (bytes, rest) = self.bytes.split_at_checked(usize::try_from(length).ok()?)?;
        self.bytes = rest;
        Some(Program { bytes })
    }

    /// The next text, with the zero at its end.
    pub(super) fn text(&mut self) -> Option<String> {
        let end = self.bytes.iter().position(|b| *b == 0)?;
        let text = String::from_utf8_lossy(self.bytes.get(..end)?).into_owned();
        self.bytes = self.bytes.get(end + 1..)?;
        Some(text)
    }
}

/// Where a program is: a segment and an offset in it.
#[derive(Clone, Copy, Default)]
struct Cursor {
    segment: usize,
    offset: u64,
}

impl Cursor {
    fn go(&mut self, distance: u64) {
        self.offset = self.offset.wrapping_add(distance);
    }
}

impl Loader {
    fn cursor_place(&self, cursor: Cursor) -> Option<Address> {
        let (address, size) = self.segment(cursor.segment)?;
        (cursor.offset < size).then(|| self.ram(address.wrapping_add(cursor.offset)))
    }

    /// Moves pointers with the image where it is not where the linker put it.
    pub(super) fn rebase(&mut self) {
        let file = Arc::clone(&self.file);
        let Some((offset, size)) = file.rebase.filter(|_| self.delta != 0) else { return };
        let mut program = Program::new(&file.bytes, offset, size);
        let mut cursor = Cursor::default();
        let word = self.word();
        // Each step is an honest pointer of the file.
        let mut left = file.bytes.len() as u64;
        while let Some(code) = program.byte() {
            let low = u64::from(code & 0xf);
            let (count, step) = match code & m::REBASE_OPCODE_MASK {
                m::REBASE_OPCODE_DONE => break,
                m::REBASE_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB => {
                    let Some(offset) = program.unsigned() else { break };
                    cursor = Cursor { segment: low as usize, offset };
                    continue;
                }
                m::REBASE_OPCODE_ADD_ADDR_ULEB => {
                    let Some(distance) = program.unsigned() else { break };
                    cursor.go(distance);
                    continue;
                }
                m::REBASE_OPCODE_ADD_ADDR_IMM_SCALED => {
                    cursor.go(low * word);
                    continue;
                }
                m::REBASE_OPCODE_DO_REBASE_IMM_TIMES => (low, word),
                m::REBASE_OPCODE_DO_REBASE_ULEB_TIMES => {
                    let Some(count) = program.unsigned() else { break };
                    (count, word)
                }
                m::REBASE_OPCODE_DO_REBASE_ADD_ADDR_ULEB => {
                    let Some(skip) = program.unsigned() else { break };
                    (1, word.wrapping_add(skip))
                }
                m::REBASE_OPCODE_DO_REBASE_ULEB_TIMES_SKIPPING_ULEB => {
                    let (Some(count), Some(skip)) = (program.unsigned(), program.unsigned()) else {
                        break;
                    };
                    (count, word.wrapping_add(skip))
                }
                _ => continue,
            };
            for _ in 0..count.min(left) {
                let Some(place) = self.cursor_place(cursor) else { break };
                let stored = self.program.memory.read_uint(place, word as u32);
                if let Some(stored) = stored {
                    self.fix(place, stored.wrapping_add(self.delta), &"".into());
                }
                cursor.go(step);
            }
            left = left.saturating_sub(count);
        }
    }

    /// Fills pointers with the places of other files' symbols.
    pub(super) fn bind(&mut self) {
        let file = Arc::clone(&self.file);
        for (index, (offset, size)) in file.binds.iter().enumerate() {
            // Lazy programs are many short ones, each with an end of its own.
            let lazy = index == 2;
            self.run_binds(Program::new(&file.bytes, *offset, *size), lazy);
        }
    }

    fn run_binds(&mut self, mut program: Program, lazy: bool) {
        let word = self.word();
        let mut cursor = Cursor::default();
        let mut name: Arc<str> = "".into();
        let mut addend = 0u64;
        let mut left = self.file.bytes.len() as u64;
        while let Some(code) = program.byte() {
            let low = u64::from(code & 0xf);
            let (count, step) = match code & m::BIND_OPCODE_MASK {
                m::BIND_OPCODE_DONE if lazy => continue,
                m::BIND_OPCODE_DONE => break,
                m::BIND_OPCODE_SET_DYLIB_ORDINAL_ULEB => {
                    if program.unsigned().is_none() {
                        break;
                    }
                    continue;
                }
                m::BIND_OPCODE_SET_SYMBOL_TRAILING_FLAGS_IMM => {
                    let Some(text) = program.text() else { break };
                    name = text.into();
                    continue;
                }
                m::BIND_OPCODE_SET_ADDEND_SLEB => {
                    let Some(value) = program.signed() else { break };
                    addend = value;
                    continue;
                }
                m::BIND_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB => {
                    let Some(offset) = program.unsigned() else { break };
                    cursor = Cursor { segment: low as usize, offset };
                    continue;
                }
                m::BIND_OPCODE_ADD_ADDR_ULEB => {
                    let Some(distance) = program.unsigned() else { break };
                    cursor.go(distance);
                    continue;
                }
                m::BIND_OPCODE_DO_BIND => (1, word),
                m::BIND_OPCODE_DO_BIND_ADD_ADDR_ULEB => {
                    let Some(skip) = program.unsigned() else { break };
                    (1, word.wrapping_add(skip))
                }
                m::BIND_OPCODE_DO_BIND_ADD_ADDR_IMM_SCALED => (1, word + low * word),
                m::BIND_OPCODE_DO_BIND_ULEB_TIMES_SKIPPING_ULEB => {
                    let (Some(count), Some(skip)) = (program.unsigned(), program.unsigned()) else {
                        break;
                    };
                    (count, word.wrapping_add(skip))
                }
                _ => continue,
            };
            for _ in 0..count.min(left) {
                let Some(place) = self.cursor_place(cursor) else { break };
                self.bind_symbol(place, &name, addend);
                cursor.go(step);
            }
            left = left.saturating_sub(count);
        }
    }

    /// Fills one pointer with a symbol's place: the function that stands for it, its place in the
    /// EXTERNAL block, or, if it is weak, the file's own. What is in the EXTERNAL block has no
    /// inside that an addend could lead to. Whether there is such a symbol.
    pub(super) fn bind_symbol(&mut self, place: Address, name: &Arc<str>, addend: u64) -> bool {
        let Some(target) = self.global(name) else { return false };
        let made_up = self.externals.contains_key(name);
        let value = if made_up { target.offset } else { target.offset.wrapping_add(addend) };
        self.fix(place, value, name);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_groups_of_seven_bits() {
        let mut bytes = Program::new(&[0x7f, 0x80, 0x01, 0x7f, 0x80, 0x7f, 0xff], 0, 99);
        assert_eq!((bytes.unsigned(), bytes.unsigned()), (Some(0x7f), Some(0x80)));
        assert_eq!((bytes.signed(), bytes.signed()), (Some(u64::MAX), Some((-128i64) as u64)));
        assert_eq!(bytes.unsigned(), None, "it does not end");
    }
}
