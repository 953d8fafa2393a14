//! Floating point numbers of other sizes: half, x87's 80 bits and quadruple, in software.

use std::cmp::Ordering;

use decompiler::Opcode;
use rustc_apfloat::ieee::{Double, Half, Quad, Single, X87DoubleExtended};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::float::FloatRules;

/// The widest, in which numbers of all sizes are exact.
fn widen(bits: u128, size: u32) -> Option<Quad> {
    let mut lost = false;
    Some(match size {
        2 => Half::from_bits(bits).convert(&mut lost).value,
        4 => Single::from_bits(bits).convert(&mut lost).value,
        8 => Double::from_bits(bits).convert(&mut lost).value,
        10 => X87DoubleExtended::from_bits(bits).convert(&mut lost).value,
        16 => Quad::from_bits(bits),
        _ => return None,
    })
}

fn narrow<F>(number: F, size: u32) -> Option<u128>
where
    F: Float
        + FloatConvert<Half>
        + FloatConvert<Single>
        + FloatConvert<Double>
        + FloatConvert<X87DoubleExtended>
        + FloatConvert<Quad>,
{
    let mut lost = false;
    Some(match size {
        2 => FloatConvert::<Half>::convert(number, &mut lost).value.to_bits(),
        4 => FloatConvert::<Single>::convert(number, &mut lost).value.to_bits(),
        8 => FloatConvert::<Double>::convert(number, &mut lost).value.to_bits(),
        10 => FloatConvert::<X87DoubleExtended>::convert(number, &mut lost).value.to_bits(),
        16 => FloatConvert::<Quad>::convert(number, &mut lost).value.to_bits(),
        _ => return None,
    })
}

/// An 80-bit number rounded to one of 64 bits.
pub(crate) fn to_double(bits: u128) -> u64 {
    let mut lost = false;
    let number: Double = X87DoubleExtended::from_bits(bits).convert(&mut lost).value;
    number.to_bits() as u64
}

/// The bits that an operation yields; nothing where it has a size that no format has.
pub(crate) fn operate(
    rules: FloatRules,
    opcode: Opcode,
    inputs: &[(u128, u32)],
    out_size: u32,
) -> Option<u128> {
    let (bits, size) = *inputs.first()?;
    match opcode {
        Opcode::FloatInt2Float => {
            let shift = 128 - 8 * size.clamp(1, 16);
            let number = ((bits << shift) as i128) >> shift;
            return match out_size {
                2 => Some(Half::from_i128(number).value.to_bits()),
                4 => Some(Single::from_i128(number).value.to_bits()),
                8 => Some(Double::from_i128(number).value.to_bits()),
                10 => Some(X87DoubleExtended::from_i128(number).value.to_bits()),
                16 => Some(Quad::from_i128(number).value.to_bits()),
                _ => None,
            };
        }
        // Exact first: the second step alone rounds.
        Opcode::FloatFloat2Float => return narrow(widen(bits, size)?, out_size),
        _ => {}
    }
    let other = inputs.get(1).map_or(0, |(bits, _)| *bits);
    match size {
        2 => compute::<Half>(rules, opcode, bits, other, out_size),
        4 => compute::<Single>(rules, opcode, bits, other, out_size),
        8 => compute::<Double>(rules, opcode, bits, other, out_size),
        10 if opcode == Opcode::FloatSqrt => Some(root(bits)),
        10 => compute::<X87DoubleExtended>(rules, opcode, bits, other, out_size),
        16 => compute::<Quad>(rules, opcode, bits, other, out_size),
        _ => None,
    }
}

fn compute<F: Float>(
    rules: FloatRules,
    opcode: Opcode,
    first: u128,
    second: u128,
    out_size: u32,
) -> Option<u128> {
    let (a, b) = (F::from_bits(first), F::from_bits(second));
    let number = match opcode {
        Opcode::FloatEqual => return Some(u128::from(a == b)),
        Opcode::FloatNotEqual => return Some(u128::from(a != b)),
        Opcode::FloatLess => return Some(u128::from(a.partial_cmp(&b) == Some(Ordering::Less))),
        Opcode::FloatLessEqual => {
            let ordering = a.partial_cmp(&b);
            return Some(u128::from(matches!(ordering, Some(Ordering::Less | Ordering::Equal))));
        }
        Opcode::FloatNan => return Some(u128::from(a.is_nan())),
        Opcode::FloatTrunc => return Some(truncate(rules, a, out_size)),
        Opcode::FloatAdd => (a + b).value,
        Opcode::FloatSub => (a - b).value,
        Opcode::FloatMult => (a * b).value,
        Opcode::FloatDiv => (a / b).value,
        Opcode::FloatNeg => -a,
        Opcode::FloatAbs => a.abs(),
        Opcode::FloatCeil => a.round_to_integral(Round::TowardPositive).value,
        Opcode::FloatFloor => a.round_to_integral(Round::TowardNegative).value,
        Opcode::FloatRound if rules.ties_to_even => {
            a.round_to_integral(Round::NearestTiesToEven).value
        }
        Opcode::FloatRound => a.round_to_integral(Round::NearestTiesToAway).value,
        _ => return None,
    };
    Some(number.to_bits())
}

fn truncate<F: Float>(rules: FloatRules, number: F, size: u32) -> u128 {
    let mut exact = false;
    let whole = number.to_i128_r(128, Round::TowardZero, &mut exact).value;
    let bits = 8 * size.clamp(1, 16);
    let limit = 1i128.checked_shl(bits - 1).filter(|_| bits < 128).unwrap_or(i128::MAX);
    let fits = !number.is_nan() && whole >= -limit && whole < limit;
    if fits {
        return whole as u128;
    }
    let stand_in = match (number.is_nan(), number.is_negative()) {
        (true, _) => f64::NAN,
        (false, true) => f64::NEG_INFINITY,
        (false, false) if size <= 8 && whole < limit.saturating_mul(2) => return whole as u128,
        (false, false) => f64::INFINITY,
    };
    u128::from(rules.truncation.apply(stand_in, size.min(8)))
}

/// The square root of an 80-bit number, rounded to nearest.
fn root(bits: u128) -> u128 {
    let number = X87DoubleExtended::from_bits(bits);
    if number.is_nan() || number.is_zero() || (number.is_infinite() && !number.is_negative()) {
        return bits;
    }
    if number.is_negative() {
        return X87DoubleExtended::NAN.to_bits();
    }
    // Sixty-four bits of it, as an integer times a power of two.
    let exponent = number.ilogb();
    let mut exact = false;
    let whole = number.scalbn(63 - exponent);
    let whole = whole.to_u128_r(64, Round::TowardZero, &mut exact).value;
    let shift = if (exponent - 63) % 2 == 0 { 64 } else { 63 };
    let power = (exponent - 63 - shift) / 2;
    let square = whole << shift;
    let low = square.isqrt();
    let rest = square - low * low;
    let nearest = if rest > low { low + 1 } else { low };
    X87DoubleExtended::from_u128(nearest).value.scalbn(power).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::float::{NotANumber, Truncation};

    const RULES: FloatRules =
        FloatRules { truncation: Truncation::Nearest(NotANumber::Zero), ties_to_even: true };

    fn extended(number: f64) -> u128 {
        let bits = [(u128::from(number.to_bits()), 8)];
        operate(RULES, Opcode::FloatFloat2Float, &bits, 10).expect("it is known")
    }

    #[test]
    fn eighty_bits_hold_what_sixty_four_do_and_more() {
        assert_eq!(extended(1.0), 0x3fff_8000_0000_0000_0000);
        assert_eq!(extended(-2.5), 0xc000_a000_0000_0000_0000);
        let third = [(extended(1.0), 10), (extended(3.0), 10)];
        let third = operate(RULES, Opcode::FloatDiv, &third, 10).expect("it is known");
        assert_eq!(third, 0x3ffd_aaaa_aaaa_aaaa_aaab);
        let back = operate(RULES, Opcode::FloatFloat2Float, &[(third, 10)], 8);
        assert_eq!(back, Some(u128::from((1.0f64 / 3.0).to_bits())));
        let whole = operate(RULES, Opcode::FloatTrunc, &[(extended(-7.9), 10)], 8);
        assert_eq!(whole.map(|whole| whole as i64), Some(-7));
    }

    #[test]
    fn roots_are_rounded_to_nearest() {
        let root = |bits| operate(RULES, Opcode::FloatSqrt, &[(bits, 10)], 10);
        assert_eq!(root(extended(9.0)), Some(extended(3.0)));
        assert_eq!(root(extended(0.25)), Some(extended(0.5)));
        // The root of two to 64 bits.
        assert_eq!(root(extended(2.0)), Some(0x3fff_b504_f333_f9de_6484));
        assert_eq!(
            root(extended(1e300))
                .and_then(|bits| { operate(RULES, Opcode::FloatFloat2Float, &[(bits, 10)], 8) }),
            Some(u128::from(1e150f64.to_bits()))
        );
    }
}
