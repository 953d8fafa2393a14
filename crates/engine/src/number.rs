//! Numbers in all their forms: one width of bits, read from what people write and shown as
//! integers, a float, characters and bytes of either order.

/// Widest number in bytes.
pub const MAX_SIZE: u8 = 16;

/// Bits of a fixed width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    bits: u128,
    size: u8,
}

/// Why a text is no number of a width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The text is none of the forms.
    #[error("write a number: 255, -1, 0xff, 0b101, 0o17, 0ffh, 1.5, or characters in quotes")]
    Malformed,
    /// It has more bits than the widest number, or than the width that was asked for.
    #[error("the number needs {needed} bytes, and there are {size}")]
    TooWide {
        /// Bytes that it needs.
        needed: u8,
        /// Bytes that there are.
        size: u8,
    },
    /// Floats have 4 or 8 bytes.
    #[error("a number with a fraction or an exponent has 4 or 8 bytes")]
    FloatSize,
}

impl Number {
    /// Reads a text as a number of `size` bytes (1 to 16); without a size, of the smallest of
    /// 1, 2, 4, 8 and 16 bytes that holds it, or of 8 bytes for a float. Characters are taken as
    /// C takes them: the first is the most significant byte.
    ///
    /// # Errors
    /// See [`NumberError`].
    pub fn parse(text: &str, size: Option<u8>) -> Result<Number, NumberError> {
        let text = text.trim();
        let size = size.map(|size| size.clamp(1, MAX_SIZE));
        if let Some(characters) = quoted(text) {
            return whole(size, false, number_of(characters.as_bytes())?);
        }
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if digits.starts_with(['-', '+']) {
            return Err(NumberError::Malformed);
        }
        match magnitude(digits) {
            Some(magnitude) => whole(size, negative, magnitude?),
            None => float(text, size),
        }
    }

    /// The width in bytes.
    #[must_use]
    pub fn size(self) -> u8 {
        self.size
    }

    /// Every digit of the width, after `0x`.
    #[must_use]
    pub fn hex(self) -> String {
        format!("0x{:0width$x}", self.bits, width = usize::from(self.size) * 2)
    }

    /// Every bit of the width, after `0b`.
    #[must_use]
    pub fn binary(self) -> String {
        format!("0b{:0width$b}", self.bits, width = usize::from(self.size) * 8)
    }

    /// As an integer without a sign, in decimal.
    #[must_use]
    pub fn unsigned(self) -> String {
        self.bits.to_string()
    }

    /// As an integer in two's complement, in decimal.
    #[must_use]
    pub fn signed(self) -> String {
        let unused = 128 - 8 * u32::from(self.size);
        (((self.bits << unused) as i128) >> unused).to_string()
    }

    /// As an IEEE float, for 4 and 8 bytes.
    #[must_use]
    pub fn float(self) -> Option<String> {
        match self.size {
            4 => Some(format!("{:?}", f32::from_bits(self.bits as u32))),
            8 => Some(format!("{:?}", f64::from_bits(self.bits as u64))),
            _ => None,
        }
    }

    /// The bytes, the most significant first.
    #[must_use]
    pub fn bytes(self) -> Vec<u8> {
        self.bits.to_be_bytes()[usize::from(MAX_SIZE - self.size)..].to_vec()
    }

    /// The number whose bytes are these in the other order.
    #[must_use]
    pub fn swapped(self) -> Number {
        let mut bytes = self.bytes();
        bytes.reverse();
        let bits = bytes.iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte));
        Number { bits, size: self.size }
    }
}

/// What stands between two quotes of a kind.
fn quoted(text: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

fn number_of(bytes: &[u8]) -> Result<u128, NumberError> {
    match u8::try_from(bytes.len()).unwrap_or(u8::MAX) {
        0 => Err(NumberError::Malformed),
        needed if needed > MAX_SIZE => Err(NumberError::TooWide { needed, size: MAX_SIZE }),
        _ => Ok(bytes.iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte))),
    }
}

/// Digits in the base that their prefix or suffix names; nothing when they are no integer.
fn magnitude(text: &str) -> Option<Result<u128, NumberError>> {
    let lower = text.to_ascii_lowercase().replace('_', "");
    let (digits, radix) = match lower.as_str() {
        text if text.starts_with("0x") => (&text[2..], 16),
        text if text.ends_with('h') => (&text[..text.len() - 1], 16),
        text if text.starts_with("0b") => (&text[2..], 2),
        text if text.starts_with("0o") => (&text[2..], 8),
        text => (text, 10),
    };
    let all_digits = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    let too_wide = NumberError::TooWide { needed: MAX_SIZE + 1, size: MAX_SIZE };
    all_digits.then(|| u128::from_str_radix(digits, radix).map_err(|_| too_wide))
}

fn whole(size: Option<u8>, negative: bool, magnitude: u128) -> Result<Number, NumberError> {
    let needed_bits = match (negative, magnitude) {
        (true, 1..) => 129 - (magnitude - 1).leading_zeros(),
        _ => 128 - magnitude.leading_zeros(),
    };
    let needed = (needed_bits.div_ceil(8) as u8).max(1);
    let size = size.unwrap_or_else(|| needed.next_power_of_two());
    if needed > size.min(MAX_SIZE) {
        return Err(NumberError::TooWide { needed, size: size.min(MAX_SIZE) });
    }
    let unused = 128 - 8 * u32::from(size);
    let bits = if negative { magnitude.wrapping_neg() } else { magnitude };
    Ok(Number { bits: bits << unused >> unused, size })
}

fn float(text: &str, size: Option<u8>) -> Result<Number, NumberError> {
    let wide: f64 = text.parse().map_err(|_| NumberError::Malformed)?;
    let size = size.unwrap_or(8);
    let bits = match size {
        // Read again: rounding twice can end a bit beside.
        4 => text.parse::<f32>().map_err(|_| NumberError::Malformed)?.to_bits().into(),
        8 => wide.to_bits().into(),
        _ => return Err(NumberError::FloatSize),
    };
    Ok(Number { bits, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(text: &str, size: Option<u8>) -> (String, String, String) {
        let number = Number::parse(text, size).unwrap_or_else(|error| panic!("{text}: {error}"));
        (number.hex(), number.unsigned(), number.signed())
    }

    #[test]
    fn integers_are_read_in_every_base() {
        for text in ["255", "0xff", "0XFF", "0b1111_1111", "0o377", "0ffh", "+255", " 255 "] {
            assert_eq!(forms(text, None), ("0xff".into(), "255".into(), "-1".into()), "{text}");
        }
        assert_eq!(forms("-1", None).0, "0xff");
        assert_eq!(forms("-129", None).0, "0xff7f");
        assert_eq!(forms("-128", None).0, "0x80");
        assert_eq!(forms("0", None).0, "0x00");
        assert_eq!(forms("-0", None).0, "0x00");
        assert_eq!(forms("-1", Some(4)), ("0xffffffff".into(), "4294967295".into(), "-1".into()));
        assert_eq!(forms("0xdeadbeef", Some(4)).2, "-559038737");
        let widest = forms(&u128::MAX.to_string(), None);
        assert_eq!((widest.1, widest.2), (u128::MAX.to_string(), "-1".into()));
        assert_eq!(forms(&i128::MIN.to_string(), None).2, i128::MIN.to_string());
    }

    #[test]
    fn floats_and_characters_are_bits_too() {
        let number = Number::parse("1.5", Some(4)).expect("a float");
        assert_eq!((number.hex().as_str(), number.float().as_deref()), ("0x3fc00000", Some("1.5")));
        assert_eq!(
            Number::parse("1e300", None).expect("a float").float().as_deref(),
            Some("1e300")
        );
        assert_eq!(Number::parse("-inf", Some(4)).expect("a float").hex(), "0xff800000");
        assert_eq!(forms("'ABCD'", None).0, "0x41424344");
        let number = Number::parse("\"MZ\"", None).expect("characters");
        assert_eq!(number.swapped().bytes(), b"ZM");
        assert_eq!(number.binary(), "0b0100110101011010");
        assert!(number.float().is_none());
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-", "+-1", "0x", "h", "12f", "''", "'", "0b2", "one", "1.2.3", "0x-1"] {
            assert_eq!(Number::parse(text, None), Err(NumberError::Malformed), "{text}");
        }
        let wide = |needed, size| Err(NumberError::TooWide { needed, size });
        assert_eq!(Number::parse("256", Some(1)), wide(2, 1));
        assert_eq!(Number::parse("-129", Some(1)), wide(2, 1));
        assert_eq!(Number::parse(&format!("{}0", u128::MAX), None), wide(17, 16));
        assert_eq!(Number::parse(&format!("-{}", u128::MAX), None), wide(17, 16));
        assert_eq!(Number::parse("'seventeen letters'", None), wide(17, 16));
        assert_eq!(Number::parse("1.5", Some(2)), Err(NumberError::FloatSize));
    }
}
