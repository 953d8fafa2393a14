//! The interpreter: runs blocks one after another until something ends the run.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use decompiler::{Language, VarSpace};
use foldhash::HashMap;

use crate::block::{Block, Blocks, Mode, UNKNOWN};
use crate::build::Builder;
use crate::calls::{CallLog, Places};
use crate::cells::{Cell, Cells, mask};
use crate::float::{self, FloatRules};
use crate::gates::Gates;
use crate::memory::{Fault, Memory, Purpose};
use crate::operation::{Kind, Operation};
use crate::outcome::Stop;
use crate::wide::Division;

/// Instructions between two looks at the clock.
const BETWEEN_CHECKS: u64 = 1 << 16;
/// Bytes below the stack whose use means that it is full.
const BELOW_STACK: u64 = 1 << 20;

/// What processors do differently.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) division: Division,
    pub(crate) float: FloatRules,
}

/// One run in the making.
pub(crate) struct Machine<'p> {
    pub(crate) language: Language,
    pub(crate) cells: Cells,
    pub(crate) memory: Memory<'p>,
    /// Memories of the processor beside the default one, byte by byte.
    pub(crate) others: HashMap<(VarSpace, u64), u8>,
    pub(crate) blocks: Blocks,
    pub(crate) builder: Builder,
    pub(crate) gates: Gates,
    pub(crate) rules: Rules,
    pub(crate) calls: CallLog,
    /// The register that says which instruction set comes next, and the field of the context.
    pub(crate) switch: Option<(Cell, &'static str)>,
    pub(crate) instructions: u64,
    pub(crate) limit: u64,
    pub(crate) next_check: u64,
    pub(crate) deadline: Instant,
    pub(crate) cancel: Option<Arc<AtomicBool>>,
    /// The next free byte of the heap, and the sizes of what was allotted.
    pub(crate) heap: (u64, HashMap<u64, u64>),
    /// Where values pass.
    pub(crate) places: Places,
    /// What the request put into memory.
    pub(crate) placed: Vec<(u64, Vec<u8>)>,
}

/// How a block was left.
enum Flow {
    /// By one of its exits.
    Exit(u32),
    /// For a computed place; the mark says whether the instruction set may change.
    Jump(u64, bool),
    Call(u64, bool),
    Return(u64, bool),
    /// Before this operation, because code was written to.
    Changed(usize),
    /// By a failure at this operation.
    Failed(usize, Stop),
}

impl Machine<'_> {
    /// Runs from an address on until something ends it: why, and where.
    pub(crate) fn run(&mut self, entry: u64, mode: Mode) -> (Stop, u64) {
        let (mut address, mut mode) = (entry, mode);
        let mut from = entry;
        let mut number = match self.block_at(address, mode) {
            Ok(number) => number,
            Err(stop) => return (stop, address),
        };
        loop {
            let Some(block) = self.blocks.get(number).cloned() else {
                return (Stop::Unsupported("a block that is gone".into()), address);
            };
            if let Some(gate) = block.gate {
                match self.pass(gate, address, from, mode) {
                    Ok(next) => (address, mode) = next,
                    Err(stop) => return (stop, address),
                }
                match self.block_at(address, mode) {
                    Ok(next) => number = next,
                    Err(stop) => return (stop, address),
                }
                continue;
            }
            let block = match self.affordable(block, address, mode) {
                Ok(block) => block,
                Err(stop) => return (stop, address),
            };
            self.instructions += block.starts.len() as u64;
            if self.instructions >= self.next_check
                && let Err(stop) = self.check()
            {
                return (stop, address);
            }
            let flow = self.execute(&block);
            match self.leave(&block, flow, address) {
                Ok(Left::Known(next, target, there, source)) => {
                    (number, address, mode, from) = (next, target, there, source);
                }
                Ok(Left::Place(target, there, source)) => {
                    (address, mode, from) = (target, there, source);
                    match self.block_at(address, mode) {
                        Ok(next) => number = next,
                        Err(stop) => return (stop, address),
                    }
                }
                Err(end) => return end,
            }
        }
    }

    /// The block, or as much of it as may still be run.
    #[inline]
    fn affordable(&mut self, block: Rc<Block>, at: u64, mode: Mode) -> Result<Rc<Block>, Stop> {
        let left = self.limit.saturating_sub(self.instructions);
        if block.starts.len() as u64 <= left {
            return Ok(block);
        }
        if left == 0 {
            return Err(Stop::InstructionLimit);
        }
        self.build(at, mode, left).map(Rc::new)
    }

    /// Whether the run may go on.
    pub(crate) fn check(&mut self) -> Result<(), Stop> {
        self.next_check = self.instructions + BETWEEN_CHECKS;
        if self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(Stop::Cancelled);
        }
        if Instant::now() >= self.deadline { Err(Stop::TimeLimit) } else { Ok(()) }
    }

    fn build(&mut self, address: u64, mode: Mode, most: u64) -> Result<Block, Stop> {
        let gates = &self.gates;
        let ends = |place| gates.find(place).is_some();
        self.builder.build(&mut self.memory, &mut self.cells, address, mode, most, ends)
    }

    fn block_at(&mut self, address: u64, mode: Mode) -> Result<u32, Stop> {
        if let Some(number) = self.blocks.find(address, mode) {
            return Ok(number);
        }
        if self.blocks.is_full() || self.cells.is_full() {
            self.blocks.clear();
            self.memory.drop_code();
            self.cells.drop_constants();
        }
        let block = match self.gates.find(address) {
            Some(gate) => Block {
                operations: Box::default(),
                wide: Box::default(),
                starts: Box::default(),
                exits: Box::default(),
                mode,
                end: address,
                gate: Some(gate),
            },
            None => self.build(address, mode, u64::MAX)?,
        };
        Ok(self.blocks.add(address, mode, block))
    }

    /// Follows control out of a block.
    fn leave(&mut self, block: &Block, flow: Flow, start: u64) -> Result<Left, (Stop, u64)> {
        let last = block.starts.last().map_or(start, |(_, address)| *address);
        match flow {
            Flow::Exit(number) => {
                let Some(place) = block.exits.get(number as usize) else {
                    return Err((Stop::Unsupported("an exit that is not there".into()), last));
                };
                let mut exit = place.get();
                if exit.is_call {
                    self.calls.enter(last, exit.target).map_err(|stop| (stop, last))?;
                } else if exit.target == last && idles(block) {
                    return Err((Stop::EndlessLoop(last), last));
                }
                if exit.next == UNKNOWN {
                    let found = self.block_at(exit.target, exit.mode);
                    exit.next = found.map_err(|stop| (stop, exit.target))?;
                    place.set(exit);
                }
                Ok(Left::Known(exit.next, exit.target, exit.mode, last))
            }
            Flow::Jump(target, switches) => Ok(self.computed(block, target, switches, last)),
            Flow::Call(target, switches) => {
                let left = self.computed(block, target, switches, last);
                if let Left::Place(target, ..) = left {
                    self.calls.enter(last, target).map_err(|stop| (stop, last))?;
                }
                Ok(left)
            }
            Flow::Return(target, switches) => {
                self.calls.leave();
                Ok(self.computed(block, target, switches, last))
            }
            Flow::Changed(operation) => {
                let run = block.starts.partition_point(|(first, _)| (*first as usize) < operation);
                self.instructions -= (block.starts.len() - run) as u64;
                let next = block.starts.get(run).map_or(block.end, |(_, address)| *address);
                self.blocks.clear();
                self.memory.drop_code();
                Ok(Left::Place(next, Mode::of(block.mode.flow), last))
            }
            Flow::Failed(operation, stop) => {
                let (number, address) = block.instruction(operation);
                self.instructions -= (block.starts.len() - number) as u64;
                Err((stop, address))
            }
        }
    }

    fn computed(&self, block: &Block, target: u64, switches: bool, from: u64) -> Left {
        let mut target = target & self.memory.highest();
        let mut mode = Mode::of(block.mode.flow);
        if let Some((register, field)) = self.switch {
            if switches {
                let other = self.cells.get(register.offset, register.size) & 1;
                // Pointers that relocations made may lack the bit that chooses the other set.
                let known = self.memory.mode_at(target & !1) == 1;
                let other = if known { 1 } else { other as u32 };
                mode = Mode::of(self.language.with_context(mode.flow, field, other));
            }
            target &= !1;
        }
        Left::Place(target, mode, from)
    }

    /// What a failed use of memory means for the run.
    pub(crate) fn stop_of(&self, fault: Fault) -> Stop {
        match fault {
            Fault::Unmapped(address, access) => {
                let stack = self.memory.region(Purpose::Stack);
                let below = stack.is_some_and(|stack| {
                    stack
                        .start
                        .checked_sub(address)
                        .is_some_and(|gap| gap > 0 && gap <= BELOW_STACK)
                });
                if below {
                    Stop::StackOverflow { address }
                } else {
                    Stop::Unmapped { address, access }
                }
            }
            Fault::Forbidden(address, access) => Stop::Forbidden { address, access },
            Fault::Limit => Stop::MemoryLimit,
        }
    }

    /// Reads bytes of any memory.
    pub(crate) fn read_space(
        &mut self,
        space: VarSpace,
        address: u64,
        out: &mut [u8],
    ) -> Result<(), Stop> {
        match space {
            VarSpace::Ram => {
                self.memory.read_bytes(address, out).map_err(|fault| self.stop_of(fault))?;
            }
            VarSpace::Register => {
                let cell = self.register_at(address, out.len())?;
                out.copy_from_slice(self.cells.bytes(cell));
            }
            _ => {
                for (index, byte) in out.iter_mut().enumerate() {
                    let place = address.wrapping_add(index as u64);
                    *byte = self.others.get(&(space, place)).copied().unwrap_or(0);
                }
            }
        }
        Ok(())
    }

    /// Writes bytes to any memory; tells whether code was there.
    pub(crate) fn write_space(
        &mut self,
        space: VarSpace,
        address: u64,
        bytes: &[u8],
    ) -> Result<bool, Stop> {
        match space {
            VarSpace::Ram => {
                return self
                    .memory
                    .write_bytes(address, bytes)
                    .map_err(|fault| self.stop_of(fault));
            }
            VarSpace::Register => {
                let cell = self.register_at(address, bytes.len())?;
                self.cells.bytes_mut(cell).copy_from_slice(bytes);
            }
            _ if self.others.len() > (1 << 20) => return Err(Stop::MemoryLimit),
            _ => {
                for (index, byte) in bytes.iter().enumerate() {
                    self.others.insert((space, address.wrapping_add(index as u64)), *byte);
                }
            }
        }
        Ok(false)
    }

    fn register_at(&self, offset: u64, size: usize) -> Result<Cell, Stop> {
        let end = offset.checked_add(size as u64);
        if end.is_some_and(|end| end <= u64::from(self.cells.scratch())) {
            return Ok(Cell { offset: offset as u32, size: size as u32 });
        }
        Err(Stop::Unsupported("a register that the language does not have".into()))
    }

    /// Runs the operations of a block.
    fn execute(&mut self, block: &Block) -> Flow {
        let operations = &*block.operations;
        let mut end = operations.len();
        let mut at = 0;
        while at < end {
            let op = &operations[at];
            at += 1;
            match op.kind {
                Kind::Branch => match self.turn(at, op.out as usize) {
                    Ok(next) => at = next,
                    Err(stop) => return Flow::Failed(at - 1, stop),
                },
                Kind::BranchIf => {
                    if self.cells.get(op.a, u32::from(op.size)) != 0 {
                        match self.turn(at, op.out as usize) {
                            Ok(next) => at = next,
                            Err(stop) => return Flow::Failed(at - 1, stop),
                        }
                    }
                }
                Kind::Exit => return Flow::Exit(op.out),
                Kind::ExitIf => {
                    if self.cells.get(op.a, u32::from(op.size)) != 0 {
                        return Flow::Exit(op.out);
                    }
                }
                Kind::Jump => return Flow::Jump(self.input(op), op.out != 0),
                Kind::CallTo => return Flow::Call(self.input(op), op.out != 0),
                Kind::Return => return Flow::Return(self.input(op), op.out != 0),
                Kind::Load => {
                    let size = u32::from(op.out_size);
                    match self.memory.read(self.input(op), size) {
                        Ok(value) => self.cells.set(op.out, size, value),
                        Err(fault) => return Flow::Failed(at - 1, self.stop_of(fault)),
                    }
                }
                Kind::Store => {
                    let size = u32::from(op.out_size);
                    let value = self.cells.get(op.b, size);
                    match self.memory.write(self.input(op), size, value) {
                        Ok(false) => {}
                        Ok(true) => end = block.instruction_end(at - 1),
                        Err(fault) => return Flow::Failed(at - 1, self.stop_of(fault)),
                    }
                }
                Kind::LoadBytes | Kind::StoreBytes | Kind::Wide => match self.rare(block, op) {
                    Ok(false) => {}
                    Ok(true) => end = block.instruction_end(at - 1),
                    Err(stop) => return Flow::Failed(at - 1, stop),
                },
                Kind::Divide | Kind::SignedDivide | Kind::Remainder | Kind::SignedRemainder => {
                    if let Err(stop) = self.divide(op) {
                        return Flow::Failed(at - 1, stop);
                    }
                }
                _ => self.compute(op),
            }
        }
        Flow::Changed(end)
    }

    /// The first input, a number of at most eight bytes.
    #[inline]
    fn input(&self, op: &Operation) -> u64 {
        self.cells.get(op.a, u32::from(op.size))
    }

    /// A branch inside of an instruction: backwards it counts as one more instruction.
    #[inline]
    fn turn(&mut self, at: usize, target: usize) -> Result<usize, Stop> {
        if target < at {
            self.instructions += 1;
            if self.instructions > self.limit {
                return Err(Stop::InstructionLimit);
            }
            if self.instructions >= self.next_check {
                self.check()?;
            }
        }
        Ok(target)
    }

    #[inline(never)]
    fn rare(&mut self, block: &Block, op: &Operation) -> Result<bool, Stop> {
        match op.kind {
            Kind::LoadBytes => {
                let to = Cell { offset: op.out, size: op.b };
                let address = self.input(op);
                let bytes = self.cells.bytes_mut(to);
                self.memory.read_bytes(address, bytes).map_err(|fault| self.stop_of(fault))?;
                Ok(false)
            }
            Kind::StoreBytes => {
                let from = Cell { offset: op.b, size: op.out };
                let address = self.input(op);
                let bytes = self.cells.bytes(from);
                self.memory.write_bytes(address, bytes).map_err(|fault| self.stop_of(fault))
            }
            _ => match block.wide.get(op.out as usize) {
                Some(wide) => self.wide(wide),
                None => Err(Stop::Unsupported("an operation that is not there".into())),
            },
        }
    }

    #[inline(never)]
    fn divide(&mut self, op: &Operation) -> Result<(), Stop> {
        let size = u32::from(op.size);
        let second = u32::from(op.second_size);
        let (a, b) = (self.cells.get(op.a, size), self.cells.get(op.b, second));
        let (x, y) = (self.cells.get_signed(op.a, size), self.cells.get_signed(op.b, second));
        let divides = matches!(op.kind, Kind::Divide | Kind::SignedDivide);
        let value = match (op.kind, b) {
            (_, 0) => match self.rules.division {
                Division::Stops => return Err(Stop::DivisionByZero),
                Division::Zero if divides => 0,
                Division::Ones if divides => u64::MAX,
                _ => a,
            },
            (Kind::Divide, _) => a / b,
            (Kind::Remainder, _) => a % b,
            (Kind::SignedDivide, _) => x.wrapping_div(y) as u64,
            _ => x.wrapping_rem(y) as u64,
        };
        self.cells.set(op.out, u32::from(op.out_size), value);
        Ok(())
    }

    /// What cannot fail.
    #[inline]
    fn compute(&mut self, op: &Operation) {
        let cells = &mut self.cells;
        let (size, second) = (u32::from(op.size), u32::from(op.second_size));
        let value = match op.kind {
            Kind::CopyBytes => return cells.copy(op.a, op.out, op.b),
            Kind::Extend => return extend(cells, op),
            Kind::Copy => cells.get(op.a, size),
            Kind::Equal => u64::from(cells.get(op.a, size) == cells.get(op.b, second)),
            Kind::NotEqual => u64::from(cells.get(op.a, size) != cells.get(op.b, second)),
            Kind::Less => u64::from(cells.get(op.a, size) < cells.get(op.b, second)),
            Kind::LessEqual => u64::from(cells.get(op.a, size) <= cells.get(op.b, second)),
            Kind::SignedLess => {
                u64::from(cells.get_signed(op.a, size) < cells.get_signed(op.b, second))
            }
            Kind::SignedLessEqual => {
                u64::from(cells.get_signed(op.a, size) <= cells.get_signed(op.b, second))
            }
            Kind::SignExtend => cells.get_signed(op.a, size) as u64,
            Kind::Add => cells.get(op.a, size).wrapping_add(cells.get(op.b, second)),
            Kind::Subtract => cells.get(op.a, size).wrapping_sub(cells.get(op.b, second)),
            Kind::Carry => u64::from(cells.get(op.a, size) > mask(size) - cells.get(op.b, second)),
            Kind::SignedCarry => {
                let (a, b) = (cells.get(op.a, size), cells.get(op.b, second));
                let sum = a.wrapping_add(b);
                ((a ^ sum) & (b ^ sum)) >> (8 * size - 1) & 1
            }
            Kind::SignedBorrow => {
                let (a, b) = (cells.get(op.a, size), cells.get(op.b, second));
                let rest = a.wrapping_sub(b);
                ((a ^ b) & (a ^ rest)) >> (8 * size - 1) & 1
            }
            Kind::Negate => cells.get(op.a, size).wrapping_neg(),
            Kind::Not => !cells.get(op.a, size),
            Kind::Xor => cells.get(op.a, size) ^ cells.get(op.b, second),
            Kind::And => cells.get(op.a, size) & cells.get(op.b, second),
            Kind::Or => cells.get(op.a, size) | cells.get(op.b, second),
            Kind::Left => {
                let amount = cells.get(op.b, second);
                if amount < 64 { cells.get(op.a, size) << amount } else { 0 }
            }
            Kind::Right => {
                let amount = cells.get(op.b, second);
                if amount < 64 { cells.get(op.a, size) >> amount } else { 0 }
            }
            Kind::SignedRight => {
                cells.get_signed(op.a, size).wrapping_shr(cells.get(op.b, second).min(63) as u32)
                    as u64
            }
            Kind::Multiply => cells.get(op.a, size).wrapping_mul(cells.get(op.b, second)),
            Kind::BoolNot => cells.get(op.a, size) & 1 ^ 1,
            Kind::Piece => {
                let high = cells.get(op.a, size).checked_shl(8 * second).unwrap_or(0);
                high | cells.get(op.b, second)
            }
            Kind::CountOnes => u64::from(cells.get(op.a, size).count_ones()),
            Kind::CountLeadingZeros => {
                let value = cells.get(op.a, size) << (64 - 8 * size);
                u64::from(value.leading_zeros().min(8 * size))
            }
            Kind::Float(opcode) => {
                let first = (cells.get(op.a, size), size);
                let other = (cells.get(op.b, second), second);
                let out = u32::from(op.out_size);
                float::operate(self.rules.float, opcode, first, other, out).unwrap_or(0)
            }
            _ => return,
        };
        cells.set(op.out, u32::from(op.out_size), value);
    }
}

/// Where control went.
enum Left {
    /// To a block that is known: its number, its address and mode, and from where.
    Known(u32, u64, Mode, u64),
    /// To an address.
    Place(u64, Mode, u64),
}

fn extend(cells: &mut Cells, op: &Operation) {
    let (from, to) = (op.b >> 16, op.b & 0xffff);
    let rest = to.saturating_sub(from);
    let low = if cells.is_big_endian() { op.out + rest } else { op.out };
    let high = if cells.is_big_endian() { op.out } else { op.out + from };
    cells.copy(op.a, low, from);
    cells.bytes_mut(Cell { offset: high, size: rest }).fill(0);
}

/// Whether a block does nothing but jump.
fn idles(block: &Block) -> bool {
    block.starts.len() == 1 && block.operations.first().is_some_and(|op| op.kind == Kind::Exit)
}
