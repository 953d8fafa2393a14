//! Blocks: straight runs of instructions as operations, kept by address and decoding context.

use std::rc::Rc;

use decompiler::Context;
use foldhash::HashMap;

use crate::operation::{Operation, WideOperation};

/// How instructions decode: what flows with control, and what holds for the next one only (the
/// condition of an IT block).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Mode {
    pub(crate) flow: Context,
    pub(crate) here: Context,
}

impl Mode {
    pub(crate) fn of(context: Context) -> Mode {
        Mode { flow: context, here: context }
    }
}

/// How control leaves for a fixed place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) target: u64,
    pub(crate) mode: Mode,
    pub(crate) is_call: bool,
    /// The block there, once it is known.
    pub(crate) next: u32,
}

/// The block of an exit that is not known yet.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// A run of instructions.
pub(crate) struct Block {
    pub(crate) operations: Box<[Operation]>,
    pub(crate) wide: Box<[WideOperation]>,
    /// For each instruction its first operation and its address.
    pub(crate) starts: Box<[(u32, u64)]>,
    pub(crate) exits: Box<[std::cell::Cell<Exit>]>,
    /// How instructions behind it decode.
    pub(crate) mode: Mode,
    /// The address behind its last instruction.
    pub(crate) end: u64,
    /// The gate that stands here in place of code.
    pub(crate) gate: Option<u32>,
}

impl Block {
    /// The instruction that an operation belongs to: its number and address.
    pub(crate) fn instruction(&self, operation: usize) -> (usize, u64) {
        let after = self.starts.partition_point(|(first, _)| *first as usize <= operation);
        let number = after.saturating_sub(1);
        (number, self.starts.get(number).map_or(self.end, |(_, address)| *address))
    }

    /// The operation behind the instruction that an operation belongs to.
    pub(crate) fn instruction_end(&self, operation: usize) -> usize {
        let after = self.starts.partition_point(|(first, _)| *first as usize <= operation);
        self.starts.get(after).map_or(self.operations.len(), |(first, _)| *first as usize)
    }
}

/// Blocks that are kept.
#[derive(Default)]
pub(crate) struct Blocks {
    kept: Vec<Rc<Block>>,
    places: HashMap<(u64, Mode), u32>,
    operations: usize,
}

/// Operations kept before all are dropped.
const MOST_OPERATIONS: usize = 4_000_000;

impl Blocks {
    pub(crate) fn find(&self, address: u64, mode: Mode) -> Option<u32> {
        self.places.get(&(address, mode)).copied()
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&Rc<Block>> {
        self.kept.get(number as usize)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.operations > MOST_OPERATIONS
    }

    pub(crate) fn add(&mut self, address: u64, mode: Mode, block: Block) -> u32 {
        let number = self.kept.len() as u32;
        self.operations += block.operations.len() + 16;
        self.kept.push(Rc::new(block));
        self.places.insert((address, mode), number);
        number
    }

    pub(crate) fn clear(&mut self) {
        *self = Blocks::default();
    }
}
