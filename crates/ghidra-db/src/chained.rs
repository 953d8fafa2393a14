//! The chained buffer: bytes that may be longer than one buffer, found over chained lists of the
//! buffers that hold them.

use std::collections::HashSet;

use crate::Error;
use crate::bytes::Bytes;
use crate::version_file::Buffers;

const INDEX: u8 = 8;
const DATA: u8 = 9;
/// Marks in the length that the bytes are masked.
const MASKED: i32 = i32::MIN;

/// Where bytes of any length lie. Parts that were never written have no buffer and read as zero.
#[derive(Debug, Clone)]
pub struct ChainedBuffer<'a> {
    buffers: &'a Buffers,
    first: i32,
    length: usize,
    parts: Vec<i32>,
    /// Bytes before the content of each buffer.
    skip: usize,
    masked: bool,
}

impl<'a> ChainedBuffer<'a> {
    pub(crate) fn open(buffers: &'a Buffers, first: i32) -> Result<Self, Error> {
        let buffer = buffers.buffer(first)?;
        let bad = |problem| Error::Buffer { buffer: first, problem };
        let mut header = Bytes::new(buffer);
        let kind = header.u8().ok_or(bad("it is too short"))?;
        let length = header.i32().ok_or(bad("it is too short"))?;
        let masked = length & MASKED != 0;
        let length = (length & !MASKED) as usize;
        match kind {
            DATA if length <= buffer.len() - 5 => {
                Ok(Self { buffers, first, length, parts: vec![first], skip: 5, masked })
            }
            DATA => Err(bad("it is shorter than it says")),
            INDEX => {
                let count = length.div_ceil(buffers.buffer_size() - 1);
                let parts = parts(buffers, first, count)?;
                Ok(Self { buffers, first, length, parts, skip: 1, masked })
            }
            _ => Err(bad("it begins no chain")),
        }
    }

    /// How many bytes there are, with those never written.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Reads from `offset` on into all of `into`.
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`] when that leads outside the bytes or the file.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), Error> {
        into.fill(0);
        self.read_over(offset, into)
    }

    /// Reads as [`Self::read`], and leaves what is in `into` where nothing was ever written: such
    /// parts show another chain below.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_over(&self, offset: usize, into: &mut [u8]) -> Result<(), Error> {
        let end = offset.checked_add(into.len()).filter(|&end| end <= self.length);
        if end.is_none() {
            return Err(Error::Buffer { buffer: self.first, problem: "it ends before" });
        }
        let space = self.buffers.buffer_size() - self.skip;
        let (mut at, mut rest) = (offset, into);
        while !rest.is_empty() {
            let within = at % space;
            let (now, later) = rest.split_at_mut(rest.len().min(space - within));
            match self.parts[at / space] {
                part if part < 0 => {}
                part => {
                    let data = &self.buffers.buffer(part)?[self.skip + within..];
                    now.copy_from_slice(&data[..now.len()]);
                    if self.masked {
                        for (place, byte) in now.iter_mut().enumerate() {
                            *byte ^= MASK[(within + place) % MASK.len()];
                        }
                    }
                }
            }
            at += now.len();
            rest = later;
        }
        Ok(())
    }

    /// Whether every part has a buffer of its own.
    pub fn is_whole(&self) -> bool {
        let mut seen = HashSet::new();
        self.parts.iter().all(|&part| part >= 0 && seen.insert(part))
    }

    /// The next bytes at or after `offset` that were ever written, up to the end of their buffer.
    pub fn written_from(&self, offset: usize) -> Option<std::ops::Range<usize>> {
        let space = self.buffers.buffer_size() - self.skip;
        let first = offset / space;
        let found = (first..self.parts.len()).find(|&index| self.parts[index] >= 0)?;
        let range = offset.max(found * space)..((found + 1) * space).min(self.length);
        (!range.is_empty()).then_some(range)
    }

    /// All bytes. Costs no more than the file has: bytes of which parts were never written, or
    /// share a buffer, are refused.
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`].
    pub fn to_vec(&self) -> Result<Vec<u8>, Error> {
        if !self.is_whole() {
            return Err(Error::Buffer { buffer: self.first, problem: "parts of it are missing" });
        }
        let mut bytes = vec![0; self.length];
        self.read(0, &mut bytes)?;
        Ok(bytes)
    }
}

/// The buffers of an indexed chain, -1 for those never written.
fn parts(buffers: &Buffers, first: i32, count: usize) -> Result<Vec<i32>, Error> {
    let mut parts = Vec::new();
    let mut at = first;
    let mut seen = HashSet::new();
    while parts.len() < count {
        let buffer = buffers.buffer(at)?;
        if !seen.insert(at) || buffer[0] != INDEX {
            return Err(Error::Buffer { buffer: at, problem: "it does not belong in a chain" });
        }
        let mut numbers = Bytes::at(buffer, 5);
        let next = numbers.i32();
        let left = count - parts.len();
        parts.extend(std::iter::from_fn(|| numbers.i32()).take(left));
        at = next.unwrap_or(-1);
    }
    Ok(parts)
}

/// What masked bytes are combined with, so that content is not seen by who scans the file.
const MASK: [u8; 128] = [
    0x59, 0xea, 0x67, 0x23, 0xda, 0xb8, 0x00, 0xb8, 0xc3, 0x48, 0xdd, 0x8b, 0x21, 0xd6, 0x94, 0x78,
    0x35, 0xab, 0x2b, 0x7e, 0xb2, 0x4f, 0x82, 0x4e, 0x0e, 0x16, 0xc4, 0x57, 0x12, 0x8e, 0x7e, 0xe6,
    0xb6, 0xbd, 0x56, 0x91, 0x57, 0x72, 0xe6, 0x91, 0xdc, 0x52, 0x2e, 0xf2, 0x1a, 0xb7, 0xd6, 0x6f,
    0xda, 0xde, 0xe8, 0x48, 0xb1, 0xbb, 0x50, 0x6f, 0xf4, 0xdd, 0x11, 0xee, 0xf2, 0x67, 0xfe, 0x48,
    0x8d, 0xae, 0x69, 0x1a, 0xe0, 0x26, 0x8c, 0x24, 0x8e, 0x17, 0x76, 0x51, 0xe2, 0x60, 0xd7, 0xe6,
    0x83, 0x65, 0xd5, 0xf0, 0x7f, 0xf2, 0xa0, 0xd6, 0x4b, 0xbd, 0x24, 0xd8, 0xab, 0xea, 0x9e, 0xa6,
    0x48, 0x94, 0x3e, 0x7b, 0x2c, 0xf4, 0xce, 0xdc, 0x69, 0x11, 0xf8, 0x3c, 0xa7, 0x3f, 0x5d, 0x77,
    0x94, 0x3f, 0xe4, 0x8e, 0x48, 0x20, 0xdb, 0x56, 0x32, 0xc1, 0x87, 0x01, 0x2e, 0xe3, 0x7f, 0x40,
];
