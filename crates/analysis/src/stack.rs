//! Stack frames: which instructions use which place of the frame, and the variables there.

use crate::follow::Follower;
use crate::machine::Family;
use decompiler::{Opcode, Operand, OperandPart, PcodeOp, RegisterVarnode, VarSpace, Varnode};
use program::{Address, RefType};

/// Farthest place above the entry's stack pointer that counts as the frame's.
const HIGHEST: i64 = 2048;
/// Farthest place below it.
const LOWEST: i64 = -(64 * 1024);

/// One use of a place in the stack frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StackAccess {
    pub(crate) offset: i64,
    /// Bytes used; at least 1.
    pub(crate) size: u32,
    /// Whether these bytes are read or written, not only pointed at.
    pub(crate) accessed: bool,
}

impl Follower<'_> {
    /// Refers to a place in the stack frame that an instruction uses, from the operand that
    /// shows it (or the one given).
    pub(crate) fn stack_access(&mut self, index: usize, offset: u64, operand: Option<usize>) {
        let step = &self.steps[index];
        if operand.is_none() && step.flow.is_terminal() {
            return;
        }
        let (mut at, mut mode) = (step.at, step.mode);
        let (slots, length) = (step.delay_slots, step.length);
        let mut operands = self.operands_of(at, mode);
        let mut shown = operand.or_else(|| self.stack_operand(&operands, offset));
        if shown.is_none() && slots > 0 {
            let slot = Address::ram(at.wrapping_add(u64::from(length)));
            let Some(instruction) = self.program.listing.instructions.get(&slot) else { return };
            (at, mode) = (slot.offset, instruction.mode);
            operands = self.operands_of(at, mode);
            shown = self.stack_operand(&operands, offset);
        }
        let Some(shown) = shown else { return };
        if self.pops_frame_pointer(at, mode, &operands[shown]) {
            return;
        }
        let offset = self.machine.stack_offset(offset);
        if (LOWEST..=HIGHEST).contains(&offset) {
            self.refer_to_stack(at, mode, shown, &operands[shown], offset);
        }
    }

    fn refer_to_stack(&mut self, at: u64, mode: u8, shown: usize, operand: &Operand, offset: i64) {
        let number = shown as i8;
        let found = self.found.get(&at).into_iter().flatten();
        let stored = self.program.references.from(Address::ram(at));
        let stored = stored.filter(|r| r.operand == number).map(|r| r.to).next();
        // What another function was found to use before this one was made out of its end is used
        // by this one.
        let known = stored == Some(Address::stack(offset));
        if found.filter(|f| f.operand == number).count() > 0 || stored.is_some() && !known {
            return;
        }
        let context = self.reader.context(mode);
        let mut ops = Vec::new();
        let _ = self.reader.pcode(self.program, Address::ram(at), context, &mut ops);
        let own = self.reader.operand_pcode(self.program, Address::ram(at), context, shown);
        let kind = access_kind(operand, &own, &ops);
        if !known {
            self.record(at, Address::stack(offset), number, kind);
        }
        let size = access_size(&ops);
        self.stack.push(StackAccess { offset, size: size.max(1), accessed: size > 0 });
    }

    /// The operand whose registers and numbers add up to a place in the frame.
    fn stack_operand(&self, operands: &[Operand], offset: u64) -> Option<usize> {
        operands.iter().position(|operand| {
            let mut sum = 0i32;
            operand.parts.iter().any(|part| {
                match *part {
                    OperandPart::Register(register) => {
                        let value = self.register(register.offset, register.size, false);
                        if !value.is_offset() || !self.is_stack(value.base) {
                            return false;
                        }
                        sum = sum.wrapping_add(value.offset as i32);
                    }
                    OperandPart::Scalar { value, .. } => sum = sum.wrapping_add(value as i32),
                    OperandPart::Address(_) => return false,
                }
                sum == offset as i32
            })
        })
    }

    /// `POP EBP` names a register that only by chance points into the frame.
    fn pops_frame_pointer(&mut self, at: u64, mode: u8, operand: &Operand) -> bool {
        let [OperandPart::Register(register)] = operand.parts.as_slice() else { return false };
        if self.machine.family != Family::X86 || !self.is_frame_pointer(*register) {
            return false;
        }
        let context = self.reader.context(mode);
        self.reader.mnemonic(self.program, Address::ram(at), context) == "POP"
    }

    /// x86 numbers its registers alike in all widths: the frame pointer follows the stack's.
    fn is_frame_pointer(&self, register: RegisterVarnode) -> bool {
        self.machine
            .stack
            .is_some_and(|stack| register.offset == stack.offset + u64::from(stack.size))
    }

    /// Whether an instruction of x86 loads an address.
    pub(crate) fn is_lea(&self, index: usize) -> bool {
        let step = &self.steps[index];
        let bytes = self.program.memory.run(Address::ram(step.at));
        let long = self.machine.pointer_size == 8;
        let prefix = |byte: u8| {
            matches!(byte, 0x66 | 0x67 | 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0xf2 | 0xf3)
                || long && byte & 0xf0 == 0x40
        };
        let opcode = bytes.iter().take(usize::from(step.length)).find(|byte| !prefix(**byte));
        opcode == Some(&0x8d)
    }

    /// An address that was loaded: into the frame, or to a place in memory.
    pub(crate) fn address_loaded(&mut self, index: usize) {
        let (at, mode) = (self.steps[index].at, self.steps[index].mode);
        let operands = self.operands_of(at, mode);
        let Some(decompiler::OperandKind::Register(register)) = operands.first().map(|o| o.kind)
        else {
            return;
        };
        let value = self.register(register.offset, register.size, false);
        if value.is_offset() && self.is_stack(value.base) {
            return self.stack_access(index, value.offset, Some(0));
        }
        let Some(offset) = value.number() else { return };
        let place = Address::ram(offset);
        let far = offset > 4096 && self.program.memory.contains(place);
        let stored = self.program.references.from(Address::ram(at)).any(|r| r.operand == 1);
        let found = self.found.get(&at).into_iter().flatten().any(|f| f.operand == 1);
        if far && !stored && !found {
            self.record(at, place, 1, RefType::Data);
        }
    }
}

/// Bytes that an instruction loads or stores: what its last access moves.
fn access_size(ops: &[PcodeOp]) -> u32 {
    let sizes = ops.iter().rev().find_map(|op| match op.opcode {
        Opcode::Load => op.output.map(|output| output.size),
        Opcode::Store => op.inputs.get(2).map(|value| value.size),
        _ => None,
    });
    sizes.unwrap_or(0)
}

/// How an instruction uses the place that one of its operands computes from a register.
fn access_kind(operand: &Operand, own: &[PcodeOp], ops: &[PcodeOp]) -> RefType {
    let mut register = None;
    let mut scalar = None;
    for part in &operand.parts {
        match *part {
            OperandPart::Register(place) if register.is_none() => register = Some(place),
            OperandPart::Scalar { value, bits } if scalar.is_none() => scalar = Some((value, bits)),
            OperandPart::Register(_) | OperandPart::Scalar { .. } => return RefType::Data,
            OperandPart::Address(_) => {}
        }
    }
    let Some(register) = register else { return RefType::Data };
    let Some(scalar) = scalar else {
        let pointer = (VarSpace::Register, register.offset);
        return copied_kind(pointer, ops, RefType::Data);
    };
    let Some(pointer) = own.iter().find_map(|op| sum_of(op, register, scalar)) else {
        return RefType::Data;
    };
    let pointer = (pointer.space, pointer.offset);
    copied_kind(pointer, ops, loads_and_stores(pointer, ops, RefType::Data))
}

/// The result of an operation that adds the register and the number.
fn sum_of(op: &PcodeOp, register: RegisterVarnode, (value, bits): (i64, u32)) -> Option<Varnode> {
    let sum = op.opcode == Opcode::IntAdd;
    let matches = op.inputs.iter().enumerate().filter(|(position, input)| {
        if input.space == VarSpace::Register {
            (sum || *position == 0) && input.offset == register.offset
        } else {
            (sum || *position == 1)
                && input.is_constant()
                && input.size >= bits / 8
                && input.size <= 8
                && input.offset == value as u64 & crate::values::mask(input.size)
        }
    });
    if matches.count() == 2 { op.output } else { None }
}

type Pointer = (VarSpace, u64);

fn is_at(varnode: &Varnode, pointer: Pointer) -> bool {
    (varnode.space, varnode.offset) == pointer
}

/// How copies of a pointer are used.
fn copied_kind(pointer: Pointer, ops: &[PcodeOp], mut kind: RefType) -> RefType {
    for (position, op) in ops.iter().enumerate() {
        let copies = matches!(op.opcode, Opcode::Copy | Opcode::IntZExt)
            && op.inputs.first().is_some_and(|input| is_at(input, pointer));
        let Some(output) = op.output.filter(|_| copies) else { continue };
        let copied = (output.space, output.offset);
        match loads_and_stores(copied, &ops[position + 1..], kind) {
            RefType::Read if kind == RefType::Write => return RefType::ReadWrite,
            RefType::Write if kind == RefType::Read => return RefType::ReadWrite,
            used @ (RefType::Read | RefType::Write) => kind = used,
            _ => {}
        }
    }
    kind
}

fn loads_and_stores(pointer: Pointer, ops: &[PcodeOp], mut kind: RefType) -> RefType {
    for op in ops {
        if !op.inputs.get(1).is_some_and(|input| is_at(input, pointer)) {
            continue;
        }
        kind = match (op.opcode, kind) {
            (Opcode::Load, RefType::Write) | (Opcode::Store, RefType::Read) => {
                return RefType::ReadWrite;
            }
            (Opcode::Load, _) => RefType::Read,
            (Opcode::Store, _) => RefType::Write,
            _ => kind,
        };
    }
    kind
}

/// The variables of a stack frame, from the uses of its places: disjoint, in order.
pub(crate) fn variables(accesses: &[StackAccess], parameters_at: i64) -> Vec<StackAccess> {
    let mut variables: Vec<StackAccess> = Vec::new();
    for access in accesses.iter().filter(|access| access.offset < parameters_at) {
        let end = access.offset + i64::from(access.size);
        let ends = |v: &StackAccess| v.offset + i64::from(v.size);
        let from = variables.partition_point(|v| ends(v) <= access.offset);
        let to = variables.partition_point(|v| v.offset < end);
        match variables.get(from..to).filter(|touched| !touched.is_empty()) {
            Some([first, ..]) if first.size == access.size => {}
            Some(touched) => {
                let low = touched.iter().map(|v| v.offset).fold(access.offset, i64::min);
                let high = touched.iter().map(ends).fold(end, i64::max);
                let size = u32::try_from(high - low).unwrap_or(u32::MAX);
                let joined = StackAccess { offset: low, size, accessed: true };
                variables.splice(from..to, [joined]);
            }
            None => variables.insert(from, *access),
        }
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_uses_become_one_variable() {
        let use_of = |offset, size| StackAccess { offset, size, accessed: true };
        let uses = [use_of(-0x10, 4), use_of(-0x20, 8), use_of(-0x1e, 1), use_of(-0xe, 8)];
        let found = variables(&[&uses[..], &[use_of(8, 8)]].concat(), 8);
        assert_eq!(found, [use_of(-0x20, 8), use_of(-0x10, 10)]);
    }
}
