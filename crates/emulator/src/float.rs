//! Floating point numbers of four and eight bytes, by the host's own arithmetic: rounded to
//! nearest, as processors are unless told otherwise.

use decompiler::{Language, Opcode};

use crate::cells::mask;

/// What becomes of a number that is too large for an integer, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truncation {
    /// The integer with only its highest bit set.
    Indefinite,
    /// The nearest integer, seen as signed or unsigned; for what is no number this one.
    Nearest(NotANumber),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotANumber {
    Zero,
    Highest,
    Lowest,
}

/// What processors do differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FloatRules {
    pub(crate) truncation: Truncation,
    /// Whether a half is rounded to the even neighbour, or away from zero.
    pub(crate) ties_to_even: bool,
}

impl FloatRules {
    pub(crate) fn of(language: &Language) -> FloatRules {
        let (truncation, ties_to_even) = match language.processor() {
            "x86" => (Truncation::Indefinite, true),
            "RISCV" | "MIPS" => (Truncation::Nearest(NotANumber::Highest), true),
            "PowerPC" => (Truncation::Nearest(NotANumber::Lowest), true),
            _ => (Truncation::Nearest(NotANumber::Zero), false),
        };
        FloatRules { truncation, ties_to_even }
    }
}

impl Truncation {
    /// An integer of so many bytes (at most 8) from a number without a fraction.
    pub(crate) fn apply(self, number: f64, size: u32) -> u64 {
        let bits = 8 * size.clamp(1, 8) as i32;
        let lowest = -(2f64.powi(bits - 1));
        let is_signed = number >= lowest && number < -lowest;
        let highest = mask(size) >> 1;
        let whole = match self {
            _ if is_signed => number as i64 as u64,
            Truncation::Indefinite => highest + 1,
            // What only fits unsigned is meant so: p-code has no other operation for it.
            Truncation::Nearest(_) if number > 0.0 && number < -2.0 * lowest => number as u64,
            Truncation::Nearest(_) if number > 0.0 => highest,
            Truncation::Nearest(_) if number < 0.0 => highest + 1,
            Truncation::Nearest(NotANumber::Zero) => 0,
            Truncation::Nearest(NotANumber::Highest) => highest,
            Truncation::Nearest(NotANumber::Lowest) => highest + 1,
        };
        whole & mask(size)
    }
}

/// A number and its size in bytes.
pub(crate) type Sized = (u64, u32);

/// The bits that an operation on numbers of four or eight bytes yields; nothing where it has
/// other sizes.
#[inline]
pub(crate) fn operate(
    rules: FloatRules,
    opcode: Opcode,
    first: Sized,
    second: Sized,
    out_size: u32,
) -> Option<u64> {
    match opcode {
        Opcode::FloatInt2Float => {
            let shift = 64 - 8 * first.1.clamp(1, 8);
            let number = ((first.0 << shift) as i64) >> shift;
            return match out_size {
                4 => Some(u64::from((number as f32).to_bits())),
                8 => Some((number as f64).to_bits()),
                _ => None,
            };
        }
        Opcode::FloatFloat2Float => {
            return match (first.1, out_size) {
                (4, 8) => Some(f64::from(f32::from_bits(first.0 as u32)).to_bits()),
                (8, 4) => Some(u64::from((f64::from_bits(first.0) as f32).to_bits())),
                (size, out) if size == out => Some(first.0),
                _ => None,
            };
        }
        _ => {}
    }
    match first.1 {
        4 => {
            let (a, b) = (f32::from_bits(first.0 as u32), f32::from_bits(second.0 as u32));
            single(rules, opcode, a, b, out_size)
        }
        8 => {
            let (a, b) = (f64::from_bits(first.0), f64::from_bits(second.0));
            double(rules, opcode, a, b, out_size)
        }
        _ => None,
    }
}

/// A product and a third number added to it, rounded once. Of `signs` the lowest bit negates the
/// product, the next one the addend.
pub(crate) fn fused([a, b, c]: [u64; 3], size: u32, signs: u32) -> u64 {
    let [product, addend] = [signs & 1 == 1, signs & 2 == 2];
    if size == 4 {
        let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
        let a = if product { -a } else { a };
        u64::from(a.mul_add(b, if addend { -c } else { c }).to_bits())
    } else {
        let [a, b, c] = [a, b, c].map(f64::from_bits);
        let a = if product { -a } else { a };
        a.mul_add(b, if addend { -c } else { c }).to_bits()
    }
}

macro_rules! operation {
    ($name:ident, $number:ty) => {
        fn $name(rules: FloatRules, op: Opcode, a: $number, b: $number, out: u32) -> Option<u64> {
            let number = match op {
                Opcode::FloatEqual => return Some(u64::from(a == b)),
                Opcode::FloatNotEqual => return Some(u64::from(a != b)),
                Opcode::FloatLess => return Some(u64::from(a < b)),
                Opcode::FloatLessEqual => return Some(u64::from(a <= b)),
                Opcode::FloatNan => return Some(u64::from(a.is_nan())),
                Opcode::FloatTrunc => {
                    return Some(rules.truncation.apply(f64::from(a.trunc()), out));
                }
                Opcode::FloatAdd => a + b,
                Opcode::FloatSub => a - b,
                Opcode::FloatMult => a * b,
                Opcode::FloatDiv => a / b,
                Opcode::FloatNeg => -a,
                Opcode::FloatAbs => a.abs(),
                Opcode::FloatSqrt => a.sqrt(),
                Opcode::FloatCeil => a.ceil(),
                Opcode::FloatFloor => a.floor(),
                Opcode::FloatRound if rules.ties_to_even => a.round_ties_even(),
                Opcode::FloatRound => a.round(),
                _ => return None,
            };
            Some(u64::from(number.to_bits()))
        }
    };
}

operation!(single, f32);
operation!(double, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_too_large_for_integers_become_what_processors_make_of_them() {
        let x86 = Truncation::Indefinite;
        assert_eq!(x86.apply(-3.0, 4), 0xffff_fffd);
        assert_eq!(x86.apply(3e9, 4), 0x8000_0000);
        assert_eq!(x86.apply(f64::NAN, 8), 1 << 63);
        let arm = Truncation::Nearest(NotANumber::Zero);
        assert_eq!(arm.apply(3e9, 4), 3_000_000_000);
        assert_eq!(arm.apply(1e19, 8), 10_000_000_000_000_000_000);
        assert_eq!(arm.apply(1e30, 4), 0x7fff_ffff);
        assert_eq!(arm.apply(-1e30, 4), 0x8000_0000);
        assert_eq!(arm.apply(f64::NAN, 4), 0);
    }
}
