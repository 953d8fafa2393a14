//! Code units: instructions and defined data. Text is never stored; it is
//! rendered from the bytes when asked for.

use std::ops::Bound;

use crate::address::{Address, AddressRange};
use crate::data_type::TypeId;
use crate::flow::{FlowOverride, FlowType};
use crate::table::Table;

/// One decoded instruction, without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// Bytes of the instruction itself.
    pub length: u8,
    /// Instructions in its delay slots; they have entries of their own.
    pub delay_slots: u8,
    /// Whether this instruction sits in the delay slot of the one before.
    pub in_delay_slot: bool,
    /// Decoding mode: the index of a context value (0 = the default; on ARM
    /// 1 = Thumb).
    pub mode: u8,
    /// Flow as decoded.
    pub flow: FlowType,
    /// Correction laid over it.
    pub flow_override: FlowOverride,
}

impl Instruction {
    /// Flow with the override applied.
    pub fn effective_flow(&self) -> FlowType {
        self.flow.overridden(self.flow_override)
    }
}

/// One defined data item at top level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataUnit {
    /// Its type.
    pub data_type: TypeId,
    /// Its length in bytes (strings: including the terminator).
    pub length: u32,
}

/// What stands at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeUnit {
    /// An instruction starts here.
    Instruction(Instruction),
    /// Defined data starts here.
    Data(DataUnit),
    /// One byte that nothing defines.
    Undefined,
}

impl CodeUnit {
    /// Length in bytes.
    pub fn length(&self) -> u64 {
        match self {
            CodeUnit::Instruction(i) => u64::from(i.length),
            CodeUnit::Data(d) => u64::from(d.length),
            CodeUnit::Undefined => 1,
        }
    }
}

/// All instructions and defined data of a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// Instructions by start.
    pub instructions: Table<Address, Instruction>,
    /// Defined data by start.
    pub data: Table<Address, DataUnit>,
}

impl Listing {
    /// The unit that covers `address`, with its start; `None` where nothing is
    /// defined.
    pub fn unit_containing(&self, address: Address) -> Option<(Address, CodeUnit)> {
        if let Some((start, unit)) = self.instruction_containing(address) {
            return Some((start, CodeUnit::Instruction(unit)));
        }
        let (start, unit) = self.data_containing(address)?;
        Some((start, CodeUnit::Data(unit)))
    }

    /// The instruction that covers `address`.
    pub fn instruction_containing(&self, address: Address) -> Option<(Address, Instruction)> {
        let (start, unit) = self.instructions.at_or_below(&address)?;
        (address.distance_from(*start)? < u64::from(unit.length)).then_some((*start, *unit))
    }

    /// The data item that covers `address`.
    pub fn data_containing(&self, address: Address) -> Option<(Address, DataUnit)> {
        let (start, unit) = self.data.at_or_below(&address)?;
        (address.distance_from(*start)? < u64::from(unit.length)).then_some((*start, *unit))
    }

    /// Where control goes on behind an instruction, if it does: after it and its delay slot.
    pub fn fall_through(&self, address: Address, instruction: &Instruction) -> Option<Address> {
        if !instruction.effective_flow().has_fall_through() {
            return None;
        }
        let mut next = address.checked_add(u64::from(instruction.length))?;
        while let Some(slot) = self.instructions.get(&next).filter(|slot| slot.in_delay_slot) {
            next = next.checked_add(u64::from(slot.length).max(1))?;
        }
        Some(next)
    }

    /// The instruction before `address`, if it goes on there.
    pub fn fall_from(&self, address: Address) -> Option<Address> {
        let before = (Bound::Unbounded, Bound::Excluded(address));
        let mut before = self.instructions.range(before).rev();
        let (at, owner) = before.find(|(_, instruction)| !instruction.in_delay_slot)?;
        (self.fall_through(*at, owner) == Some(address)).then_some(*at)
    }

    /// Whether any defined unit touches the range.
    pub fn is_defined(&self, range: &AddressRange) -> bool {
        self.unit_containing(range.start).is_some()
            || self.instructions.range(range.start..=range.end).next().is_some()
            || self.data.range(range.start..=range.end).next().is_some()
    }

    /// The first address after `address` at which a defined unit starts.
    pub fn next_defined(&self, address: Address) -> Option<Address> {
        let from = address.checked_add(1)?;
        let instruction = self.instructions.at_or_above(&from).map(|(a, _)| *a);
        let data = self.data.at_or_above(&from).map(|(a, _)| *a);
        match (instruction, data) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}
