//! Names that Microsoft's compilers give to texts: they spell the text's first characters.

use program::{Address, Program};

/// What begins such a name.
const PREFIX: &str = "??_C@_";
/// Longest text in memory that is believed.
const LONGEST: usize = 1 << 12;

/// A text as its name spells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literal {
    /// As far as the name goes.
    pub(super) text: String,
    wide: bool,
}

/// Reads the name of a text; `None` for other names.
pub(super) fn read(name: &str) -> Option<Literal> {
    let rest = name.strip_prefix(PREFIX)?;
    let wide = rest.starts_with('1');
    let rest = rest.get(1..).filter(|_| rest.is_ascii())?;
    let (length, rest) = number(rest)?;
    let (_, rest) = rest.split_once('@')?;
    let mut characters = rest.bytes();
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < length {
        match characters.next()? {
            b'@' => break,
            b'?' => bytes.push(escaped(&mut characters)?),
            c if c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$') => bytes.push(c),
            _ => return None,
        }
    }
    let text = match wide {
        true => {
            let units = bytes
                .chunks_exact(2)
                .map(|pair| pair.iter().fold(0, |unit, byte| unit << 8 | u16::from(*byte)));
            let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
            String::from_utf16_lossy(&units)
        }
        false => {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(bytes.get(..end)?).into_owned()
        }
    };
    Some(Literal { text, wide })
}

/// A count: a digit one less than it, or letters up to an `@`.
fn number(text: &str) -> Option<(u64, &str)> {
    let first = text.bytes().next()?;
    if first.is_ascii_digit() {
        return Some((u64::from(first - b'0') + 1, text.get(1..)?));
    }
    let (letters, rest) = text.split_once('@')?;
    let value = letters.bytes().try_fold(0u64, |value, letter| match letter {
        b'A'..=b'P' => value.checked_mul(16)?.checked_add(u64::from(letter - b'A')),
        _ => None,
    });
    Some((value?, rest))
}

/// A character behind a question mark.
fn escaped(characters: &mut impl Iterator<Item = u8>) -> Option<u8> {
    const SIGNS: &[u8; 10] = b",/\\:. \n\t'-";
    let digit = |letter: u8| letter.checked_sub(b'A').filter(|digit| *digit < 16);
    match characters.next()? {
        letter @ b'a'..=b'z' => Some(letter - b'a' + 0xe1),
        letter @ b'A'..=b'Z' => Some(letter - b'A' + 0xc1),
        sign @ b'0'..=b'9' => SIGNS.get(usize::from(sign - b'0')).copied(),
        b'$' => Some(digit(characters.next()?)? << 4 | digit(characters.next()?)?),
        _ => None,
    }
}

impl Literal {
    /// The name that is shown.
    pub(super) fn label(&self) -> String {
        let shown = |c: char| if c.is_ascii_graphic() { c } else { '_' };
        let prefix = if self.wide { "u_" } else { "s_" };
        prefix.chars().chain(self.text.chars().map(shown)).collect()
    }

    /// Defines the text in memory, up to its end there.
    pub(super) fn define(&self, program: &mut Program, at: Address) {
        // Many names may claim the bytes of one text.
        if program.listing.unit_containing(at).is_some() {
            return;
        }
        let run = program.memory.run(at);
        let run = run.get(..run.len().min(LONGEST)).unwrap_or(run);
        let (name, width) =
            if self.wide { ("TerminatedUnicode", 2) } else { ("TerminatedCString", 1) };
        let end = run.chunks_exact(width).position(|unit| unit.iter().all(|byte| *byte == 0));
        let length = end.and_then(|end| u32::try_from((end + 1) * width).ok());
        if let Some(length) = length {
            let data_type = program.types.builtin(name);
            program.define_data(at, data_type, length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_spell_texts() {
        let label = |name: &str| read(name).map(|literal| literal.label());
        let known = |name| label(name).expect(name);
        assert_eq!(known("??_C@_08DFFGDHLD@sum?5?$CFd?6?$AA@"), "s_sum_%d_");
        assert_eq!(
            known("??_C@_0CL@JJHLMBFL@a?5text?5that?5goes?5on?5for?5longer?5t@"),
            "s_a_text_that_goes_on_for_longer_t"
        );
        assert_eq!(known("??_C@_15ACEOLGFP@?$AAh?$AAi?$AA?$AA@"), "u_hi");
        assert_eq!(known("??_C@_00CNPNBAHC@?$AA@"), "s_");
        for other in
            ["??_C@", "??_C@_", "??_C@_0", "??_C@_0ZZ@A@a@", "??_7A@@6B@", "??_C@_05A@a?%@", "x"]
        {
            assert_eq!(label(other), None, "{other}");
        }
    }
}
