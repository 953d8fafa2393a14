//! Integer constant arithmetic of C: literals, usual conversions, operators and their precedence.

use program::data_type::DataOrganization;

/// A number with its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value {
    /// Within the range of its type.
    pub(crate) number: i128,
    /// In bytes.
    pub(crate) size: u32,
    pub(crate) signed: bool,
}

impl Value {
    /// A number cut to a type.
    pub(crate) fn new(number: i128, size: u32, signed: bool) -> Value {
        let bits = size.clamp(1, 8) * 8;
        let kept = (number as u128) & (u128::MAX >> (128 - bits));
        let negative = signed && kept >> (bits - 1) & 1 == 1;
        let number = if negative { kept as i128 - (1i128 << bits) } else { kept as i128 };
        Value { number, size: size.clamp(1, 8), signed }
    }

    pub(crate) fn int(number: i128, sizes: &DataOrganization) -> Value {
        Value::new(number, sizes.compiler.int, true)
    }

    /// As the kind of number that sizes are.
    pub(crate) fn size(number: u64, sizes: &DataOrganization) -> Value {
        Value::new(i128::from(number), sizes.pointer, false)
    }

    /// With the least type that arithmetic happens in.
    fn promoted(self, sizes: &DataOrganization) -> Value {
        let int = sizes.compiler.int;
        if self.size < int { Value::int(self.number, sizes) } else { self }
    }

    pub(crate) fn negated(self, sizes: &DataOrganization) -> Value {
        let value = self.promoted(sizes);
        Value::new(-value.number, value.size, value.signed)
    }

    pub(crate) fn complement(self, sizes: &DataOrganization) -> Value {
        let value = self.promoted(sizes);
        Value::new(!value.number, value.size, value.signed)
    }
}

/// How tightly a binary operator binds, from 1; 0 for what is none.
pub(crate) fn rank(sign: &str) -> u8 {
    match sign {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | "<=" | ">" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => 0,
    }
}

/// The value of a binary operator; `None` where C gives none.
pub(crate) fn binary(sign: &str, a: Value, b: Value, sizes: &DataOrganization) -> Option<Value> {
    let (a, b) = (a.promoted(sizes), b.promoted(sizes));
    if matches!(sign, "<<" | ">>") {
        let count = u32::try_from(b.number).ok().filter(|count| *count < a.size * 8)?;
        let number = if sign == "<<" { a.number << count } else { a.number >> count };
        return Some(Value::new(number, a.size, a.signed));
    }
    let size = a.size.max(b.size);
    let signed = [a, b].iter().all(|side| side.signed || side.size < size);
    let (left, right) = (Value::new(a.number, size, signed), Value::new(b.number, size, signed));
    let (x, y) = (left.number, right.number);
    let truth = |holds: bool| Some(Value::int(i128::from(holds), sizes));
    let number = match sign {
        "||" => return truth(a.number != 0 || b.number != 0),
        "&&" => return truth(a.number != 0 && b.number != 0),
        "==" => return truth(x == y),
        "!=" => return truth(x != y),
        "<" => return truth(x < y),
        "<=" => return truth(x <= y),
        ">" => return truth(x > y),
        ">=" => return truth(x >= y),
        "|" => x | y,
        "^" => x ^ y,
        "&" => x & y,
        "+" => x + y,
        "-" => x - y,
        "*" => x.checked_mul(y)?,
        "/" => x.checked_div(y)?,
        _ => x.checked_rem(y)?,
    };
    Some(Value::new(number, size, signed))
}

/// An integer literal: digits in any base, `'` between them, suffixes of C and of Microsoft.
pub(crate) fn literal(text: &str, sizes: &DataOrganization) -> Option<Value> {
    let lower = text.to_ascii_lowercase().replace('\'', "");
    let (digits, base) = match lower.as_bytes() {
        [b'0', b'x', ..] => (&lower[2..], 16),
        [b'0', b'b', ..] => (&lower[2..], 2),
        [b'0', _, ..] => (&lower[1..], 8),
        _ => (&*lower, 10),
    };
    let valid = |c: char| c.is_digit(base);
    let end = digits.find(|c| !valid(c)).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(end);
    let number = match (digits, base) {
        ("", 8) => 0,
        _ => u64::from_str_radix(digits, base).ok()?,
    };
    let int = sizes.compiler.int;
    let long = sizes.compiler.long;
    let (least, unsigned) = match suffix {
        "" => (int, false),
        "u" => (int, true),
        "l" => (long, false),
        "ul" | "lu" => (long, true),
        "ll" | "i64" => (8, false),
        "ull" | "llu" | "ui64" => (8, true),
        "i8" | "i16" | "i32" => (4, false),
        "ui8" | "ui16" | "ui32" => (4, true),
        _ => return None,
    };
    let fits = |size: u32, signed: bool| {
        size >= least && number <= u64::MAX >> (64 - size * 8 + u32::from(signed))
    };
    let types = [int, long, 8].into_iter().flat_map(|size| [(size, true), (size, false)]);
    let may = |signed: bool| if signed { !unsigned } else { unsigned || base != 10 };
    let (size, signed) = types
        .into_iter()
        .find(|(size, signed)| may(*signed) && fits(*size, *signed))
        .unwrap_or((8, false));
    Some(Value::new(i128::from(number), size, signed))
}

/// A character constant with its quotes.
pub(crate) fn character(text: &str, sizes: &DataOrganization) -> Option<Value> {
    let wide = !text.starts_with('\'');
    let inner = text.trim_start_matches(['L', 'u', 'U', '8']).strip_prefix('\'')?;
    let mut inner = inner.strip_suffix('\'')?.chars().peekable();
    let mut number = 0i128;
    let mut count = 0;
    while let Some(first) = inner.next() {
        let code = if first == '\\' { escape(&mut inner)? } else { u32::from(first) };
        if !wide && code > 0xff {
            return None;
        }
        number = if wide { i128::from(code) } else { number << 8 | i128::from(code) };
        count += 1;
    }
    match (wide, count) {
        (_, 0) | (_, 5..) | (true, 2..) => None,
        (true, _) => Some(Value::new(number, sizes.wide_char, sizes.wide_char == 4)),
        // One character is a `char` first.
        (false, 1) => Some(Value::int(Value::new(number, 1, true).number, sizes)),
        _ => Some(Value::int(number, sizes)),
    }
}

fn escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<u32> {
    let simple = match rest.next()? {
        'n' => 10,
        't' => 9,
        'r' => 13,
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'v' => 11,
        'e' => 27,
        c @ ('\\' | '\'' | '"' | '?') => u32::from(c),
        'x' => return digits(rest, 0, 16, 8),
        c => return digits(rest, c.to_digit(8)?, 8, 2),
    };
    Some(simple)
}

fn digits(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    first: u32,
    base: u32,
    most: usize,
) -> Option<u32> {
    let mut number = first;
    for _ in 0..most {
        let Some(digit) = rest.peek().and_then(|c| c.to_digit(base)) else { break };
        number = number.checked_mul(base)?.checked_add(digit)?;
        rest.next();
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_have_the_types_of_c() {
        let sizes = DataOrganization::default();
        for (text, number, size, signed) in [
            ("12", 12, 4, true),
            ("0", 0, 4, true),
            ("017", 15, 4, true),
            ("0x80000000", 0x8000_0000, 4, false),
            ("2147483648", 0x8000_0000, 8, true),
            ("1u", 1, 4, false),
            ("0xffffffffffffffff", 0xffff_ffff_ffff_ffff, 8, false),
            ("1LL", 1, 8, true),
            ("5ui64", 5, 8, false),
            ("0b101", 5, 4, true),
        ] {
            assert_eq!(literal(text, &sizes), Some(Value { number, size, signed }), "{text}");
        }
        for text in ["1.5", "09", "0x", "1q", "99999999999999999999"] {
            assert_eq!(literal(text, &sizes), None, "{text}");
        }
        assert_eq!(character("'\\xff'", &sizes).unwrap().number, -1);
        assert_eq!(character("'AB'", &sizes).unwrap().number, 0x4142);
        assert_eq!(character("L'\\x1234'", &sizes).unwrap().number, 0x1234);
    }

    #[test]
    fn arithmetic_wraps_and_compares_as_in_c() {
        let sizes = DataOrganization::default();
        let value = |text: &str| literal(text, &sizes).unwrap();
        let minus = value("1").negated(&sizes);
        let shifted = binary("<<", value("1"), value("31"), &sizes).unwrap();
        assert_eq!(shifted.number, i128::from(i32::MIN));
        assert_eq!(binary("<", minus, value("1u"), &sizes).unwrap().number, 0);
        assert_eq!(binary("<", minus, value("1"), &sizes).unwrap().number, 1);
        assert_eq!(binary("/", value("1"), value("0"), &sizes), None);
        assert_eq!(binary("<<", value("1"), value("32"), &sizes), None);
    }
}
