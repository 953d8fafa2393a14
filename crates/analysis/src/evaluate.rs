//! What each operation of an instruction does to the values followed.

use crate::follow::Follower;
use crate::machine::Family;
use crate::operands::plain_flow;
use crate::refer::{Place, Use};
use crate::values::{self, Base, Known, Reading, Value, mask};
use decompiler::{Opcode, PcodeOp, VarSpace, Varnode};
use program::{Address, FlowOverride, FlowType, RefType, SpaceId};
use std::rc::Rc;

/// A place that a load or store touches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pointed {
    pub(crate) base: Base,
    pub(crate) offset: u64,
    /// Whether the pointer may be no pointer at all.
    suspect: bool,
}

impl Follower<'_> {
    /// The value of an operation's input.
    pub(crate) fn get(&mut self, place: &Varnode, signed: bool) -> Option<Value> {
        let big = self.machine.big_endian;
        match place.space {
            VarSpace::Const => Some(Value::constant(place.offset, place.size)),
            VarSpace::Unique => {
                match self.temporaries.read(Base::TEMPORARIES, place.offset, place.size, big) {
                    Reading::Value(value) => Some(signed_if(value, signed)),
                    _ => None,
                }
            }
            VarSpace::Register => Some(self.register(place.offset, place.size, signed)),
            VarSpace::Ram => self.load(Base::RAM, place.offset, place.size, signed),
            VarSpace::Other(_) => None,
        }
    }

    /// The value of a register: what the code put there, or what the function was given.
    pub(crate) fn register(&self, offset: u64, size: u32, signed: bool) -> Value {
        let big = self.machine.big_endian;
        match self.state.registers.read(Base::REGISTERS, offset, size, big) {
            Reading::Value(value) if value.known == Known::Constant => {
                let value = signed_if(value, signed);
                let flag = value.offset == 0 || value.offset == u64::MAX;
                Value { known: if flag { Known::Suspect } else { Known::Constant }, ..value }
            }
            Reading::Value(value) => value,
            _ => Value::register(offset, size),
        }
    }

    /// The number in a register, if it is known.
    pub(crate) fn register_number(&self, register: decompiler::RegisterVarnode) -> Option<u64> {
        self.register(register.offset, register.size, false).number()
    }

    /// Gives an operation's output its value.
    pub(crate) fn put(&mut self, at: u64, place: &Varnode, value: Option<Value>) {
        let big = self.machine.big_endian;
        match place.space {
            VarSpace::Unique => {
                let (offset, size) = (place.offset, place.size);
                self.temporaries.write(Base::TEMPORARIES, offset, size, value, at, big);
            }
            VarSpace::Register => {
                let unknown = || {
                    let base = Base::set(place.offset, at);
                    (2..=8).contains(&place.size).then(|| Value::offset(base, 0, place.size))
                };
                let value = value.or_else(unknown);
                let registers = Rc::make_mut(&mut self.state.registers);
                registers.write(Base::REGISTERS, place.offset, place.size, value, at, big);
            }
            VarSpace::Ram => self.store(at, Base::RAM, place.offset, place.size, value),
            VarSpace::Const | VarSpace::Other(_) => {}
        }
    }

    /// Forgets what a register holds.
    pub(crate) fn forget(&mut self, at: u64, register: decompiler::RegisterVarnode) {
        let place =
            Varnode { space: VarSpace::Register, offset: register.offset, size: register.size };
        self.put(at, &place, None);
    }

    pub(crate) fn store(
        &mut self,
        at: u64,
        base: Base,
        offset: u64,
        size: u32,
        value: Option<Value>,
    ) {
        if base == Base::NOWHERE {
            return;
        }
        let memory = Rc::make_mut(&mut self.state.memory);
        memory.write(base, offset, size, value, at, self.machine.big_endian);
    }

    /// What memory holds: what the code put there, else what the program holds there.
    pub(crate) fn load(
        &mut self,
        base: Base,
        offset: u64,
        size: u32,
        signed: bool,
    ) -> Option<Value> {
        let big = self.machine.big_endian;
        let absolute = base == Base::RAM;
        if absolute && (offset == 0 || offset == self.machine.address_mask) {
            return None;
        }
        match self.state.memory.read(base, offset, size, big) {
            Reading::Value(value) => {
                let value = signed_if(value, signed);
                let flag = value.is_number() && (value.offset == 0 || value.offset == u64::MAX);
                return (absolute || !flag).then_some(value);
            }
            Reading::Unknown => return None,
            Reading::Absent if !absolute => return None,
            Reading::Absent => {}
        }
        let at = Address::ram(offset);
        let program = self.program;
        let outside = program.references.from(at).find(|r| r.to.space == SpaceId::EXTERNAL);
        if let Some(reference) = outside {
            let known = Known::External;
            return Some(Value { known, size: 0, base: Base::RAM, offset: reference.to.offset });
        }
        if !matches!(size, 1 | 2 | 4 | 8) {
            return None;
        }
        // A zero may be anything that is set later.
        let number = program.memory.read_uint(at, size).filter(|number| *number != 0)?;
        let value = signed_if(Value::constant(number, size), signed);
        // A number as large as a text's bytes, but no address, is followed by accident only.
        let doubtful = number >> 32 != 0 && !program.memory.contains(Address::ram(number));
        Some(if doubtful { Value { known: Known::Suspect, ..value } } else { value })
    }

    /// Where a pointer leads.
    fn pointed(&self, pointer: Option<Value>) -> Option<Pointed> {
        let pointer = pointer?;
        let suspect = pointer.known == Known::Suspect;
        match pointer.known {
            Known::Constant | Known::Suspect => {
                let offset = pointer.offset & self.machine.address_mask;
                Some(Pointed { base: Base::RAM, offset, suspect })
            }
            Known::Register | Known::Offset => {
                Some(Pointed { base: pointer.base, offset: pointer.offset, suspect })
            }
            Known::External => None,
        }
    }

    /// Applies one operation that is no branch.
    pub(crate) fn apply(&mut self, index: usize, op: &PcodeOp) {
        let at = self.steps[index].at;
        match op.opcode {
            Opcode::Load => self.apply_load(index, op),
            Opcode::Store => self.apply_store(index, op),
            Opcode::Call | Opcode::CallInd => self.apply_call(index, op),
            Opcode::Return => self.returned(index),
            Opcode::Copy | Opcode::IntZExt | Opcode::IntSExt => {
                if let Some(source) = op.inputs.first().filter(|v| v.space == VarSpace::Ram) {
                    let place = Place::Ram(source.offset);
                    self.refer(index, place, Use::known(RefType::Read, Opcode::Copy));
                }
                let value = self.computed(op);
                self.put_output(at, op, value);
            }
            _ => {
                let value = self.computed(op);
                self.put_output(at, op, value);
            }
        }
    }

    fn put_output(&mut self, at: u64, op: &PcodeOp, value: Option<Value>) {
        if let Some(output) = &op.output {
            self.put(at, output, value);
        }
    }

    fn apply_load(&mut self, index: usize, op: &PcodeOp) {
        let at = self.steps[index].at;
        let Some(output) = op.output else { return };
        let pointer = op.inputs.get(1).filter(|_| op.is_ram_access());
        let value = pointer.and_then(|pointer| {
            let place = self.get(pointer, false);
            let place = self.pointed(place)?;
            self.accessed(index, op, place, RefType::Read);
            self.load(place.base, place.offset, output.size, false)
        });
        self.put(at, &output, value);
    }

    fn apply_store(&mut self, index: usize, op: &PcodeOp) {
        let (Some(pointer), Some(source)) = (op.inputs.get(1), op.inputs.get(2)) else { return };
        if !op.is_ram_access() {
            return;
        }
        let at = self.steps[index].at;
        let place = self.get(pointer, false);
        let place = self.pointed(place);
        if let Some(place) = place {
            self.accessed(index, op, place, RefType::Write);
        }
        let value = self.get(source, false);
        if let Some(number) = value.and_then(|value| value.number()) {
            self.refer(index, Place::Guess(number), Use::guess(RefType::Data, Opcode::Store));
        }
        if let Some(place) = place {
            self.store(at, place.base, place.offset, source.size, value);
        }
    }

    /// Notes that an instruction reads or writes a place.
    fn accessed(&mut self, index: usize, op: &PcodeOp, place: Pointed, kind: RefType) {
        let pointer = op.inputs.get(1).copied();
        if place.base == Base::RAM {
            let known = !place.suspect;
            let usage = Use { kind, opcode: op.opcode, known, existing: false, pointer };
            self.refer(index, Place::Ram(place.offset), usage);
            return;
        }
        let on_stack = self.is_stack(place.base);
        if !self.steps[index].flow.is_call() && !on_stack {
            // An offset from something unknown may be a table's address.
            let offset = place.offset & self.machine.address_mask;
            if self.may_be_address(offset) {
                let usage = Use { pointer: None, ..Use::guess(RefType::Data, op.opcode) };
                self.refer(index, Place::Ram(offset), usage);
            }
            return;
        }
        if on_stack {
            self.stack_access(index, place.offset, None);
        }
    }

    /// Whether a base is the stack pointer at the function's entry.
    pub(crate) fn is_stack(&self, base: Base) -> bool {
        self.machine.stack.is_some_and(|stack| base == Base::register(stack.offset, stack.size))
    }

    fn apply_call(&mut self, index: usize, op: &PcodeOp) {
        let Some(input) = op.inputs.first() else { return };
        if op.opcode == Opcode::Call {
            return self.called(index, Some(Address::ram(input.offset)), true);
        }
        let value = self.get(input, false);
        let target = value.and_then(|value| match value.known {
            Known::Constant | Known::Suspect => {
                Some(Address::ram(value.offset & self.machine.address_mask))
            }
            Known::External => Some(Address::external(value.offset)),
            _ => None,
        });
        if let Some(target) = target
            && !self.first_reference_is(index, target)
        {
            let flow = self.steps[index].flow;
            let known = value.is_some_and(|value| value.known != Known::Suspect);
            let kind = self.computed_kind(index, flow);
            let usage = Use { known, ..Use::known(kind, Opcode::CallInd) };
            self.refer(index, Place::of(target), usage);
            if known && self.changes_mode(index) {
                self.other_mode.push(target);
            }
        }
        let settled = value.is_none_or(|value| value.known != Known::Suspect);
        self.called(index, target, settled);
    }

    /// Whether a computed call goes on in Thumb code where that is not the default: ARM's look at
    /// the lowest bit of the pointer.
    fn changes_mode(&mut self, index: usize) -> bool {
        if self.machine.thumb_mode() != Some(1) {
            return false;
        }
        let lowest = |op: &&PcodeOp| {
            op.opcode == Opcode::IntAnd && op.inputs.get(1).is_some_and(|v| v.offset == 1)
        };
        let chosen =
            self.ops_of(index).iter().find(lowest).and_then(|op| op.inputs.first().copied());
        let value = chosen.and_then(|place| self.get(&place, false));
        value.is_some_and(|v| v.known == Known::Constant && v.offset & 1 != 0)
    }

    /// The kind of a computed call's reference. Jumps that count as calls keep the note that they
    /// end the function only in the linkage stubs of x86.
    fn computed_kind(&self, index: usize, flow: FlowType) -> RefType {
        let step = &self.steps[index];
        if step.flow_override == FlowOverride::None || self.machine.is_stub(self.program, step.at) {
            RefType::Flow(flow)
        } else {
            plain_flow(flow)
        }
    }

    /// A computed jump through a known value.
    pub(crate) fn computed_jump(&mut self, index: usize, op: &PcodeOp) {
        let Some(input) = op.inputs.first() else { return };
        let Some(value) = self.get(input, false) else { return };
        let place = match value.known {
            Known::Constant | Known::Suspect => {
                Place::Ram(value.offset & self.machine.address_mask)
            }
            Known::External => Place::External(value.offset),
            _ => return,
        };
        let known = value.known != Known::Suspect;
        let flow = self.steps[index].flow;
        let usage = Use { known, ..Use::known(RefType::Flow(flow), Opcode::BranchInd) };
        self.refer(index, place, usage);
    }

    /// After an instruction: what only shows in its results.
    pub(crate) fn after(&mut self, index: usize) {
        if self.machine.family == Family::X86 && self.is_lea(index) {
            self.address_loaded(index);
        }
    }

    /// The value that an operation computes from its inputs.
    fn computed(&mut self, op: &PcodeOp) -> Option<Value> {
        let size = op.output?.size;
        let first = op.inputs.first()?;
        match op.opcode {
            Opcode::Copy => {
                let value = self.get(first, false)?;
                let narrow = value.is_number() && first.size > size;
                Some(if narrow { Value { size: size as u8, ..value } } else { value })
            }
            Opcode::IntZExt => {
                Some(values::extend(self.get(first, false)?, first.size, size, false))
            }
            Opcode::IntSExt => Some(values::extend(self.get(first, true)?, first.size, size, true)),
            Opcode::Subpiece => self.subpiece(op, size),
            _ => self.arithmetic(op, size),
        }
    }

    fn subpiece(&mut self, op: &PcodeOp, size: u32) -> Option<Value> {
        let value = self.get(op.inputs.first()?, false)?;
        let skip = op.inputs.get(1)?.offset;
        if value.known == Known::Offset && skip == 0 && size == self.machine.pointer_size {
            return Some(value);
        }
        let shift = u32::try_from(skip).ok()?.checked_mul(8)?;
        let number = value.number().filter(|_| size <= 8)?.checked_shr(shift).unwrap_or(0);
        Some(Value::constant(number & mask(size), size))
    }

    fn arithmetic(&mut self, op: &PcodeOp, size: u32) -> Option<Value> {
        let (first, second) = (op.inputs.first()?, op.inputs.get(1));
        if op.opcode == Opcode::IntXor && first.space == VarSpace::Register && Some(first) == second
        {
            return Some(Value::constant(0, size));
        }
        let signed = matches!(
            op.opcode,
            Opcode::IntSLess
                | Opcode::IntSLessEqual
                | Opcode::IntSRight
                | Opcode::IntSDiv
                | Opcode::IntSRem
                | Opcode::IntMult
        );
        let a = self.get(first, signed);
        let b = second.and_then(|second| self.get(second, signed));
        match op.opcode {
            Opcode::IntAdd => return values::add(a, b),
            Opcode::IntSub => return values::subtract(a, b),
            Opcode::IntAnd => return values::and(a, b),
            Opcode::IntOr => return values::or(a, b),
            _ => {}
        }
        let a = a?.number()?;
        let number = match second {
            None => unary(op.opcode, a)?,
            Some(_) => binary(op.opcode, a, b?.number()?)?,
        };
        Some(Value::constant(number & mask(size), size))
    }

    /// Whether the first reference of an instruction leads to a place.
    fn first_reference_is(&self, index: usize, target: Address) -> bool {
        let at = self.steps[index].at;
        let stored = self.program.references.from(Address::ram(at)).map(|r| r.to);
        let found = self.found.get(&at).into_iter().flatten().map(|found| found.to);
        stored.chain(found).next() == Some(target)
    }
}

fn signed_if(value: Value, signed: bool) -> Value {
    if signed && value.is_number() {
        Value { offset: values::sign_extend(value.offset, u32::from(value.size)), ..value }
    } else {
        value
    }
}

pub(crate) fn unary(opcode: Opcode, a: u64) -> Option<u64> {
    Some(match opcode {
        Opcode::Int2Comp => a.wrapping_neg(),
        Opcode::IntNegate => !a,
        Opcode::BoolNegate => u64::from(a == 0),
        _ => return None,
    })
}

pub(crate) fn binary(opcode: Opcode, a: u64, b: u64) -> Option<u64> {
    let shift = u32::try_from(b).ok();
    Some(match opcode {
        Opcode::IntXor | Opcode::BoolXor => a ^ b,
        Opcode::BoolAnd => a & b,
        Opcode::BoolOr => a | b,
        Opcode::IntLeft => shift.and_then(|shift| a.checked_shl(shift)).unwrap_or(0),
        Opcode::IntRight => shift.and_then(|shift| a.checked_shr(shift)).unwrap_or(0),
        Opcode::IntSRight => ((a as i64) >> shift.unwrap_or(63).min(63)) as u64,
        Opcode::IntMult => a.wrapping_mul(b),
        Opcode::IntDiv => a.checked_div(b)?,
        Opcode::IntRem => a.checked_rem(b)?,
        Opcode::IntSDiv => (a as i64).checked_div(b as i64)? as u64,
        Opcode::IntSRem => (a as i64).checked_rem(b as i64)? as u64,
        Opcode::IntLess => u64::from(a < b),
        Opcode::IntLessEqual => u64::from(a <= b),
        Opcode::IntSLess => u64::from((a as i64) < b as i64),
        Opcode::IntSLessEqual => u64::from(a as i64 <= b as i64),
        Opcode::IntEqual => u64::from(a == b),
        Opcode::IntNotEqual => u64::from(a != b),
        _ => return None,
    })
}
