//! Nodes of a table's B-tree: interior ones lead to others, leaves hold records.

use crate::bytes::Bytes;
use crate::{Error, Schema, Value};

const LONG_INTERIOR: u8 = 0;
const LONG_VARIABLE: u8 = 1;
const LONG_FIXED: u8 = 2;
const VARIABLE_INTERIOR: u8 = 3;
const VARIABLE_LEAF: u8 = 4;
const FIXED_INTERIOR: u8 = 5;
const FIXED_VARIABLE: u8 = 6;
const FIXED_FIXED: u8 = 7;

/// A node as its first byte tells.
pub(crate) enum Node<'a> {
    /// The buffers of its children, in the order of their keys.
    Interior(Vec<i32>),
    Leaf(Leaf<'a>),
}

/// Where a leaf's records are.
pub(crate) struct Leaf<'a> {
    pub(crate) buffer: i32,
    pub(crate) count: usize,
    data: &'a [u8],
    layout: Layout,
}

#[derive(Clone, Copy)]
enum Layout {
    /// Key and record one after the other.
    Fixed { key: usize, record: usize },
    /// Key, place of the record, whether that is a chain.
    Variable { key: usize },
    /// Place of key and record, whether the record is a chain.
    VariableKey,
}

/// A record's bytes, or the first buffer of the chain that has them.
pub(crate) enum Content<'a> {
    Here(&'a [u8]),
    Chain(i32),
}

/// Bytes before the entries of a leaf: type, count, and the leaves beside it.
const LEAF: usize = 13;

impl<'a> Node<'a> {
    pub(crate) fn parse(buffer: i32, data: &'a [u8], schema: &Schema) -> Result<Self, Error> {
        let bad = |problem| Error::Buffer { buffer, problem };
        let mut header = Bytes::new(data);
        let kind = header.u8().ok_or(bad("it is too short"))?;
        if matches!(kind, VARIABLE_INTERIOR | VARIABLE_LEAF) {
            // The key's type, which the schema tells too.
            header.u8();
        }
        let count = header.i32().and_then(|count| usize::try_from(count).ok());
        let count = count.ok_or(bad("its number of entries is negative"))?;
        let key = schema.key.size();
        let sized = || key.ok_or(bad("its kind does not fit the table's key"));
        let (width, layout) = match kind {
            LONG_INTERIOR | FIXED_INTERIOR => {
                return interior(data, 5, sized()?, count).map(Self::Interior).ok_or(bad(FULL));
            }
            VARIABLE_INTERIOR => {
                return interior(data, 6, 4, count).map(Self::Interior).ok_or(bad(FULL));
            }
            LONG_VARIABLE | FIXED_VARIABLE => (sized()? + 5, Layout::Variable { key: sized()? }),
            LONG_FIXED | FIXED_FIXED => {
                let record = schema.record_size();
                let record = record.ok_or(bad("its kind does not fit the table's columns"))?;
                (sized()? + record, Layout::Fixed { key: sized()?, record })
            }
            VARIABLE_LEAF => (5, Layout::VariableKey),
            _ => return Err(bad("it is no node of a table")),
        };
        if count > (data.len() - layout.base()) / width {
            return Err(bad(FULL));
        }
        Ok(Self::Leaf(Leaf { buffer, count, data, layout }))
    }
}

const FULL: &str = "it cannot hold as many entries as it says";

/// The children of an interior node whose entries are `skip` bytes and a buffer.
fn interior(data: &[u8], base: usize, skip: usize, count: usize) -> Option<Vec<i32>> {
    if count > data.len().checked_sub(base)? / (skip + 4) {
        return None;
    }
    (0..count).map(|index| Bytes::at(data, base + index * (skip + 4) + skip).i32()).collect()
}

impl Layout {
    fn base(self) -> usize {
        match self {
            Self::VariableKey => LEAF + 1,
            _ => LEAF,
        }
    }
}

impl<'a> Leaf<'a> {
    /// Key and content of a record.
    pub(crate) fn entry(
        &self,
        index: usize,
        schema: &Schema,
    ) -> Result<(Value, Content<'a>), Error> {
        self.find(index, schema).ok_or(Error::Record {
            buffer: self.buffer,
            index,
            problem: "it lies outside its leaf",
        })
    }

    fn find(&self, index: usize, schema: &Schema) -> Option<(Value, Content<'a>)> {
        let base = self.layout.base();
        let key_at = |at| Value::read(&schema.key, &mut Bytes::at(self.data, at));
        match self.layout {
            Layout::Fixed { key, record } => {
                let at = base + index * (key + record);
                Some((key_at(at)?, Content::Here(self.data.get(at + key..at + key + record)?)))
            }
            Layout::Variable { key } => {
                let at = base + index * (key + 5);
                Some((key_at(at)?, self.content(at + key, self.slot(base + key, key + 5, index)?)?))
            }
            Layout::VariableKey => {
                let slot = self.slot(base, 5, index)?;
                let mut bytes = Bytes::new(slot);
                let key = Value::read(&schema.key, &mut bytes)?;
                Some((key, self.content(base + index * 5, slot.get(bytes.position()..)?)?))
            }
        }
    }

    /// The bytes of one entry: they lie from the end of the leaf downwards, and never overlap.
    fn slot(&self, base: usize, width: usize, index: usize) -> Option<&'a [u8]> {
        let place =
            |index: usize| usize::try_from(Bytes::at(self.data, base + index * width).i32()?).ok();
        let end = match index {
            0 => self.data.len(),
            _ => place(index - 1)?,
        };
        self.data.get(place(index)?..end)
    }

    /// What the slot of the entry whose place stands at `at` holds.
    fn content(&self, at: usize, slot: &'a [u8]) -> Option<Content<'a>> {
        match self.data.get(at + 4)? {
            0 => Some(Content::Here(slot)),
            _ => Some(Content::Chain(Bytes::new(slot).i32()?)),
        }
    }
}
