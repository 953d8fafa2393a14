//! How exception tables encode pointers (`DW_EH_PE_*`), and LEB128 numbers.

use program::{Address, Memory};

/// Longest LEB128 form that still is a 64-bit number.
const LEB128_MAX: u64 = 10;

/// Where tables are read from, and what their pointers are relative to.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub memory: &'a Memory,
    /// Bytes of a pointer.
    pub pointer: u32,
}

/// A value as it is stored: what it says and how many bytes it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    pub number: u64,
    pub length: u32,
}

/// One pointer encoding byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Encoding(pub u8);

/// The shape that an encoding gives a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Fixed { size: u32, signed: bool },
    Leb128 { signed: bool },
}

impl Encoding {
    const OMITTED: u8 = 0xff;
    const INDIRECT: u8 = 0x80;

    pub fn is_omitted(self) -> bool {
        self.0 == Self::OMITTED
    }

    /// `None` for an omitted field and for formats nobody defined.
    pub fn format(self, pointer: u32) -> Option<Format> {
        if self.is_omitted() {
            return None;
        }
        let fixed = |size, signed| Some(Format::Fixed { size, signed });
        match self.0 & 0x0f {
            0x0 => fixed(pointer, false),
            0x1 => Some(Format::Leb128 { signed: false }),
            0x2 => fixed(2, false),
            0x3 => fixed(4, false),
            0x4 => fixed(8, false),
            0x9 => Some(Format::Leb128 { signed: true }),
            0xa => fixed(2, true),
            0xb => fixed(4, true),
            0xc => fixed(8, true),
            _ => None,
        }
    }
}

impl Source<'_> {
    pub fn byte(&self, at: Address) -> Option<u8> {
        self.memory.read_array::<1>(at).map(|[b]| b)
    }

    pub fn number(&self, at: Address, size: u32) -> Option<u64> {
        self.memory.read_uint(at, size)
    }

    pub fn unsigned_leb128(&self, at: Address) -> Option<Value> {
        self.leb128(at).map(|(value, _)| value)
    }

    pub fn signed_leb128(&self, at: Address) -> Option<Value> {
        let (mut value, last) = self.leb128(at)?;
        let bits = 7 * value.length;
        if last & 0x40 != 0 && bits < 64 {
            value.number |= u64::MAX << bits;
        }
        Some(value)
    }

    fn leb128(&self, at: Address) -> Option<(Value, u8)> {
        let mut number = 0u64;
        for i in 0..LEB128_MAX {
            let byte = self.byte(at.checked_add(i)?)?;
            number |= u64::from(byte & 0x7f).checked_shl(7 * i as u32).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Some((Value { number, length: i as u32 + 1 }, byte));
            }
        }
        None
    }

    /// The stored number, sign extended, nothing added.
    pub fn raw(&self, at: Address, encoding: Encoding) -> Option<Value> {
        match encoding.format(self.pointer)? {
            Format::Leb128 { signed: false } => self.unsigned_leb128(at),
            Format::Leb128 { signed: true } => self.signed_leb128(at),
            Format::Fixed { size, signed } => {
                let mut number = self.number(at, size)?;
                if signed && size < 8 {
                    let unused = 64 - 8 * size;
                    number = ((number << unused) as i64 >> unused) as u64;
                }
                Some(Value { number, length: size })
            }
        }
    }

    /// The place that an encoded pointer means. `data` is what data-relative
    /// pointers start from. A stored zero that would be followed stays zero.
    pub fn pointer_at(
        &self,
        at: Address,
        encoding: Encoding,
        data: Address,
    ) -> Option<(Address, u32)> {
        let raw = self.raw(at, encoding)?;
        let indirect = encoding.0 & Encoding::INDIRECT != 0;
        if indirect && raw.number == 0 {
            return Some((Address::ram(0), raw.length));
        }
        let base = match encoding.0 & 0x70 {
            0x10 => at.offset,
            0x20 => self.memory.block_named(".text").map_or(0, |b| b.start.offset),
            0x30 => data.offset,
            _ => 0,
        };
        let mut offset = self.clip(base.wrapping_add(raw.number));
        if indirect {
            offset = self.number(Address::ram(offset), self.pointer)?;
        }
        Some((Address::ram(offset), raw.length))
    }

    /// Cuts an offset to the width of a pointer.
    fn clip(&self, offset: u64) -> u64 {
        if self.pointer >= 8 { offset } else { offset & ((1 << (8 * self.pointer)) - 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::{BlockSource, MemoryBlock};

    fn memory(bytes: &[u8]) -> Memory {
        let mut memory = Memory::new(false);
        let source = BlockSource::Bytes { bytes: bytes.into(), offset: 0, length: bytes.len() };
        let block = MemoryBlock::new("x", Address::ram(0x1000), bytes.len() as u64, source);
        memory.add_block(block).unwrap();
        memory
    }

    #[test]
    fn leb128_numbers_end_where_they_should() {
        let memory = memory(&[0xe5, 0x8e, 0x26, 0x7f, 0x80]);
        let source = Source { memory: &memory, pointer: 8 };
        let at = Address::ram(0x1000);
        assert_eq!(source.unsigned_leb128(at), Some(Value { number: 624_485, length: 3 }));
        let minus_one = Value { number: u64::MAX, length: 1 };
        assert_eq!(source.signed_leb128(Address::ram(0x1003)), Some(minus_one));
        assert_eq!(source.unsigned_leb128(Address::ram(0x1004)), None, "cut off");
    }

    #[test]
    fn pointers_are_relative_to_their_own_place() {
        let memory = memory(&[0xfc, 0xff, 0xff, 0xff, 0x20, 0, 0, 0]);
        let source = Source { memory: &memory, pointer: 4 };
        let data = Address::ram(0x500);
        let at =
            |offset, encoding| source.pointer_at(Address::ram(offset), Encoding(encoding), data);
        assert_eq!(at(0x1000, 0x1b), Some((Address::ram(0xffc), 4)));
        assert_eq!(at(0x1004, 0x3b), Some((Address::ram(0x520), 4)));
        assert_eq!(at(0x1004, 0xff), None);
        assert_eq!(at(0x1006, 0x1b), None, "cut off");
    }
}
