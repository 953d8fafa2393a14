//! Operations on values of more than eight bytes, and those that are rare.

use decompiler::Opcode;

use crate::cells::Cell;
use crate::extended;
use crate::float;
use crate::interpreter::Machine;
use crate::operation::{WideOperation, is_float};
use crate::outcome::Stop;

/// Bytes of the numbers that are computed with.
const NUMBER: u32 = 16;

fn bits_of(size: u32) -> u32 {
    8 * size.clamp(1, NUMBER)
}

fn signed(value: u128, size: u32) -> i128 {
    let shift = 128 - bits_of(size);
    ((value << shift) as i128) >> shift
}

fn all_ones(size: u32) -> u128 {
    u128::MAX >> (128 - bits_of(size))
}

impl Machine<'_> {
    /// Runs a wide operation; tells whether it wrote to code.
    pub(crate) fn wide(&mut self, op: &WideOperation) -> Result<bool, Stop> {
        match op.opcode {
            Opcode::Load | Opcode::Store => return self.wide_access(op),
            Opcode::CallOther => {
                self.user_operation(op)?;
                return Ok(false);
            }
            _ => {}
        }
        let Some(to) = op.output else { return Ok(false) };
        let [first, second] = [0, 1].map(|at| op.inputs.get(at).copied());
        let unsupported = || Stop::Unsupported(format!("{} of this size", op.opcode.name()));
        let first = first.ok_or_else(unsupported)?;
        if let ([a, b, c], true) = (op.inputs.as_slice(), is_float(op.opcode)) {
            let bits = [a, b, c].map(|cell| self.cells.get(cell.offset, cell.size));
            self.cells.set(to.offset, to.size, float::fused(bits, to.size, op.number));
            return Ok(false);
        }
        if is_float(op.opcode) {
            let inputs: Vec<_> =
                op.inputs.iter().map(|cell| (self.cells.get_wide(*cell), cell.size)).collect();
            let bits = extended::operate(self.rules.float, op.opcode, &inputs, to.size);
            self.cells.set_wide(to, bits.ok_or_else(unsupported)?);
            return Ok(false);
        }
        if self.bytewise(op.opcode, first, second, to) {
            return Ok(false);
        }
        if op.inputs.iter().chain([&to]).any(|cell| cell.size > NUMBER) {
            return Err(unsupported());
        }
        let a = self.cells.get_wide(first);
        let b = second.map_or(0, |cell| self.cells.get_wide(cell));
        let result = self.compute_wide(op.opcode, a, b, first.size, second.map_or(0, |s| s.size));
        self.cells.set_wide(to, result?.ok_or_else(unsupported)?);
        Ok(false)
    }

    /// What is done byte by byte whatever the size; false when the operation is none of these.
    fn bytewise(&mut self, opcode: Opcode, a: Cell, b: Option<Cell>, to: Cell) -> bool {
        let little = |machine: &Self, cell: Cell| {
            let mut bytes = machine.cells.bytes(cell).to_vec();
            if machine.cells.is_big_endian() {
                bytes.reverse();
            }
            bytes
        };
        let size = to.size as usize;
        let first = little(self, a);
        let second = b.map(|cell| little(self, cell)).unwrap_or_default();
        let pairs = |each: fn(u8, u8) -> u8| {
            first.iter().zip(&second).map(|(a, b)| each(*a, *b)).collect::<Vec<u8>>()
        };
        let mut bytes = match opcode {
            Opcode::Copy | Opcode::IntZExt => first,
            Opcode::IntSExt => {
                let fill = if first.last().is_some_and(|top| top & 0x80 != 0) { 0xff } else { 0 };
                let mut bytes = first;
                bytes.resize(size, fill);
                bytes
            }
            Opcode::IntAnd => pairs(|a, b| a & b),
            Opcode::IntOr => pairs(|a, b| a | b),
            Opcode::IntXor => pairs(|a, b| a ^ b),
            Opcode::IntNegate => first.iter().map(|byte| !byte).collect(),
            Opcode::Piece => [second, first].concat(),
            Opcode::IntEqual => vec![u8::from(first == second)],
            Opcode::IntNotEqual => vec![u8::from(first != second)],
            Opcode::Popcount => {
                let ones: u32 = first.iter().map(|byte| byte.count_ones()).sum();
                ones.to_le_bytes().to_vec()
            }
            Opcode::IntLeft | Opcode::IntRight if a.size > NUMBER => {
                let amount = b.map_or(0, |cell| self.cells.get_wide(cell));
                let amount = usize::try_from(amount).unwrap_or(usize::MAX).min(8 * first.len());
                shift(&first, amount, opcode == Opcode::IntLeft)
            }
            Opcode::Subpiece => {
                let from = b.map_or(0, |cell| self.cells.get_wide(cell));
                let from = usize::try_from(from).unwrap_or(usize::MAX).min(first.len());
                first[from..].to_vec()
            }
            _ => return false,
        };
        bytes.resize(size, 0);
        if self.cells.is_big_endian() {
            bytes.reverse();
        }
        self.cells.bytes_mut(to).copy_from_slice(&bytes);
        true
    }

    fn compute_wide(
        &self,
        opcode: Opcode,
        a: u128,
        b: u128,
        size: u32,
        second: u32,
    ) -> Result<Option<u128>, Stop> {
        let (x, y) = (signed(a, size), signed(b, second));
        let bits = bits_of(size);
        let truth = u128::from;
        Ok(Some(match opcode {
            Opcode::IntAdd => a.wrapping_add(b),
            Opcode::IntSub => a.wrapping_sub(b),
            Opcode::IntMult => a.wrapping_mul(b),
            Opcode::Int2Comp => a.wrapping_neg(),
            Opcode::IntLess => truth(a < b),
            Opcode::IntLessEqual => truth(a <= b),
            Opcode::IntSLess => truth(x < y),
            Opcode::IntSLessEqual => truth(x <= y),
            Opcode::IntCarry => truth(a > all_ones(size) - b),
            Opcode::IntSCarry => {
                let sum = signed(a.wrapping_add(b), size);
                truth((x < 0) == (y < 0) && (sum < 0) != (x < 0))
            }
            Opcode::IntSBorrow => {
                let rest = signed(a.wrapping_sub(b), size);
                truth((x < 0) != (y < 0) && (rest < 0) != (x < 0))
            }
            Opcode::IntLeft if b < u128::from(bits) => a << b,
            Opcode::IntRight if b < u128::from(bits) => a >> b,
            Opcode::IntLeft | Opcode::IntRight => 0,
            Opcode::IntSRight => (x >> b.min(u128::from(bits - 1))) as u128,
            Opcode::IntDiv | Opcode::IntSDiv | Opcode::IntRem | Opcode::IntSRem if b == 0 => {
                let divides = matches!(opcode, Opcode::IntDiv | Opcode::IntSDiv);
                match self.rules.division {
                    Division::Stops => return Err(Stop::DivisionByZero),
                    Division::Zero => {
                        if divides {
                            0
                        } else {
                            a
                        }
                    }
                    Division::Ones => {
                        if divides {
                            u128::MAX
                        } else {
                            a
                        }
                    }
                }
            }
            Opcode::IntDiv => a / b,
            Opcode::IntRem => a % b,
            Opcode::IntSDiv => x.wrapping_div(y) as u128,
            Opcode::IntSRem => x.wrapping_rem(y) as u128,
            Opcode::LzCount => u128::from((a << (128 - bits)).leading_zeros().min(bits)),
            _ => return Ok(None),
        }))
    }

    /// A load or store of another memory than the default one, or by a wide pointer.
    fn wide_access(&mut self, op: &WideOperation) -> Result<bool, Stop> {
        let unsupported = || Stop::Unsupported(format!("{} of this memory", op.opcode.name()));
        let (space, unit) = op.space.ok_or_else(unsupported)?;
        let pointer = op.inputs.first().copied().ok_or_else(unsupported)?;
        let address = (self.cells.get_wide(pointer) as u64).wrapping_mul(u64::from(unit));
        match op.output {
            Some(to) => {
                let mut bytes = vec![0; to.size as usize];
                self.read_space(space, address, &mut bytes)?;
                self.cells.bytes_mut(to).copy_from_slice(&bytes);
                Ok(false)
            }
            None => {
                let from = op.inputs.get(1).copied().ok_or_else(unsupported)?;
                let bytes = self.cells.bytes(from).to_vec();
                self.write_space(space, address, &bytes)
            }
        }
    }
}

/// What division by zero yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Division {
    /// Nothing: the processor stops, or says nothing about it.
    Stops,
    /// Zero.
    Zero,
    /// All bits set.
    Ones,
}

/// Little-endian bytes shifted by bits.
fn shift(bytes: &[u8], amount: usize, left: bool) -> Vec<u8> {
    let bit = |at: usize| bytes.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
    let mut out = vec![0u8; bytes.len()];
    for at in 0..8 * bytes.len() {
        let from = if left { at.checked_sub(amount) } else { at.checked_add(amount) };
        if from.is_some_and(bit) {
            out[at / 8] |= 1 << (at % 8);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shifted_as_one_number() {
        assert_eq!(shift(&[0x81, 0x01], 4, true), [0x10, 0x18]);
        assert_eq!(shift(&[0x81, 0x01], 4, false), [0x18, 0x00]);
        assert_eq!(shift(&[0xff, 0xff], 16, true), [0, 0]);
    }

    #[test]
    fn signs_are_of_the_size_asked() {
        assert_eq!(signed(0xff, 1), -1);
        assert_eq!(signed(0xff, 2), 255);
        assert_eq!(all_ones(10), 0xffff_ffff_ffff_ffff_ffff);
    }
}
