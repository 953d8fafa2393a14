//! The flat register file: registers, temporaries and constants of a language in one array of
//! bytes, so that an operand is a number.
//!
//! Registers overlap by their bytes, in the byte order of the language, as SLEIGH lays them out.

use foldhash::HashMap;

/// Bytes for the temporaries of one instruction.
pub(crate) const SCRATCH: u32 = 0x4000;
/// Reads of eight bytes may begin at the last cell.
const PADDING: usize = 16;
/// Bytes that constants may take before the blocks that use them are dropped.
const CONSTANTS: usize = 1 << 22;

/// A place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

pub(crate) struct Cells {
    bytes: Vec<u8>,
    big: bool,
    registers: u32,
    constants: HashMap<(u64, u32), u32>,
}

const MASKS: [u64; 9] = [
    0,
    0xff,
    0xffff,
    0xff_ffff,
    0xffff_ffff,
    0xff_ffff_ffff,
    0xffff_ffff_ffff,
    0xff_ffff_ffff_ffff,
    u64::MAX,
];

/// The bits of a number of so many bytes, at most 8.
#[inline]
pub(crate) fn mask(size: u32) -> u64 {
    MASKS[(size as usize).min(8)]
}

impl Cells {
    pub(crate) fn new(registers: u32, big: bool) -> Cells {
        let bytes = vec![0; (registers + SCRATCH) as usize + PADDING];
        Cells { bytes, big, registers, constants: HashMap::default() }
    }

    pub(crate) fn is_big_endian(&self) -> bool {
        self.big
    }

    /// Where temporaries begin, and registers end.
    pub(crate) fn scratch(&self) -> u32 {
        self.registers
    }

    /// Whether the constants should be dropped, with the blocks that use them.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() > CONSTANTS
    }

    pub(crate) fn drop_constants(&mut self) {
        self.constants.clear();
        self.bytes.truncate((self.registers + SCRATCH) as usize);
        self.bytes.resize((self.registers + SCRATCH) as usize + PADDING, 0);
    }

    /// The place of a constant.
    pub(crate) fn constant(&mut self, value: u64, size: u32) -> Cell {
        if let Some(offset) = self.constants.get(&(value, size)) {
            return Cell { offset: *offset, size };
        }
        let offset = (self.bytes.len() - PADDING) as u32;
        self.bytes.resize(self.bytes.len() + size as usize, 0);
        let cell = Cell { offset, size };
        self.set_wide(cell, u128::from(value));
        self.constants.insert((value, size), offset);
        cell
    }

    /// The number in a cell of at most 8 bytes.
    #[inline]
    pub(crate) fn get(&self, offset: u32, size: u32) -> u64 {
        let at = offset as usize;
        let Some(bytes) = self.bytes.get(at..at + 8) else { return 0 };
        let bytes: [u8; 8] = bytes.try_into().unwrap_or_default();
        if self.big {
            let size = size.clamp(1, 8);
            u64::from_be_bytes(bytes) >> (64 - 8 * size)
        } else {
            u64::from_le_bytes(bytes) & mask(size)
        }
    }

    /// The number in a cell of at most 8 bytes, its sign extended.
    #[inline]
    pub(crate) fn get_signed(&self, offset: u32, size: u32) -> i64 {
        let shift = 64 - 8 * size.clamp(1, 8);
        ((self.get(offset, size) << shift) as i64) >> shift
    }

    /// Writes the low bytes of a number to a cell of at most 8 bytes.
    #[inline]
    pub(crate) fn set(&mut self, offset: u32, size: u32, value: u64) {
        let at = offset as usize;
        let Some(bytes) = self.bytes.get_mut(at..at + size as usize) else { return };
        if self.big {
            match size {
                8 => bytes.copy_from_slice(&value.to_be_bytes()),
                4 => bytes.copy_from_slice(&(value as u32).to_be_bytes()),
                1 => bytes[0] = value as u8,
                2 => bytes.copy_from_slice(&(value as u16).to_be_bytes()),
                _ => {
                    for (index, byte) in bytes.iter_mut().rev().enumerate().take(8) {
                        *byte = (value >> (8 * index)) as u8;
                    }
                }
            }
        } else {
            match size {
                8 => bytes.copy_from_slice(&value.to_le_bytes()),
                4 => bytes.copy_from_slice(&(value as u32).to_le_bytes()),
                1 => bytes[0] = value as u8,
                2 => bytes.copy_from_slice(&(value as u16).to_le_bytes()),
                _ => {
                    for (index, byte) in bytes.iter_mut().enumerate().take(8) {
                        *byte = (value >> (8 * index)) as u8;
                    }
                }
            }
        }
    }

    /// The bytes of a cell, as they lie in memory.
    pub(crate) fn bytes(&self, cell: Cell) -> &[u8] {
        let at = cell.offset as usize;
        self.bytes.get(at..at + cell.size as usize).unwrap_or_default()
    }

    pub(crate) fn bytes_mut(&mut self, cell: Cell) -> &mut [u8] {
        let at = cell.offset as usize;
        self.bytes.get_mut(at..at + cell.size as usize).unwrap_or_default()
    }

    /// Copies as many bytes from one cell to another; they may overlap.
    #[inline]
    pub(crate) fn copy(&mut self, from: u32, to: u32, size: u32) {
        let (from, to, size) = (from as usize, to as usize, size as usize);
        if from + size <= self.bytes.len() && to + size <= self.bytes.len() {
            self.bytes.copy_within(from..from + size, to);
        }
    }

    /// The lowest 16 bytes of a cell as a number.
    pub(crate) fn get_wide(&self, cell: Cell) -> u128 {
        let bytes = self.bytes(cell);
        let fold = |number: u128, byte: &u8| number << 8 | u128::from(*byte);
        if self.big {
            bytes[bytes.len().saturating_sub(16)..].iter().fold(0, fold)
        } else {
            bytes[..bytes.len().min(16)].iter().rev().fold(0, fold)
        }
    }

    /// Writes a number to a cell of any size; bytes beyond the number's are zeros.
    pub(crate) fn set_wide(&mut self, cell: Cell, value: u128) {
        let big = self.big;
        let bytes = self.bytes_mut(cell);
        let each = |(index, byte): (usize, &mut u8)| {
            *byte = value.checked_shr(8 * index as u32).unwrap_or(0) as u8;
        };
        if big {
            bytes.iter_mut().rev().enumerate().for_each(each);
        } else {
            bytes.iter_mut().enumerate().for_each(each);
        }
    }

    /// The cell of some bytes of another, counted from its least significant one; nothing when
    /// they reach beyond it.
    pub(crate) fn part(&self, whole: Cell, from: u32, size: u32) -> Option<Cell> {
        let end = from.checked_add(size).filter(|end| *end <= whole.size)?;
        let skipped = if self.big { whole.size - end } else { from };
        Some(Cell { offset: whole.offset + skipped, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_overlap_by_bytes_in_either_order() {
        for (big, low) in [(false, 0), (true, 6)] {
            let mut cells = Cells::new(32, big);
            cells.set(0, 8, 0x1122_3344_5566_7788);
            assert_eq!(cells.get(low, 2), 0x7788);
            cells.set(low, 2, 0xaaaa);
            assert_eq!(cells.get(0, 8), 0x1122_3344_5566_aaaa);
            let whole = Cell { offset: 0, size: 8 };
            let part = cells.part(whole, 1, 3).expect("it is inside");
            assert_eq!(cells.get(part.offset, part.size), 0x44_5566_aaaa_u64 >> 8 & 0xff_ffff);
            assert_eq!(cells.part(whole, 6, 3), None);
            assert_eq!(cells.get_signed(low, 2), -0x5556);
        }
    }

    #[test]
    fn constants_are_kept_once_and_as_wide_as_asked() {
        let mut cells = Cells::new(8, true);
        let one = cells.constant(0x1234, 16);
        assert_eq!(cells.constant(0x1234, 16), one);
        assert_eq!(cells.get_wide(one), 0x1234);
        assert_eq!(cells.bytes(one)[14..], [0x12, 0x34]);
        let other = cells.constant(0x1234, 2);
        assert_eq!(cells.get(other.offset, 2), 0x1234);
    }
}
