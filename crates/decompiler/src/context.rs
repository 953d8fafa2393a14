//! The processor context that decoding depends on: Thumb mode, IT blocks, operand sizes.
//!
//! A context is a small value, so a caller may keep one per flow, per region or per instruction.

/// The context register of a language, as a value. Equal contexts decode equal bytes alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Context {
    pub(crate) words: [u32; Context::WORDS],
}

impl Context {
    /// Words of the widest context register among the built-in languages.
    pub(crate) const WORDS: usize = 2;

    /// The context packed into an integer, for compact storage.
    pub fn to_bits(self) -> u64 {
        (u64::from(self.words[0]) << 32) | u64::from(self.words[1])
    }

    /// The context that [`Context::to_bits`] packed.
    pub fn from_bits(bits: u64) -> Context {
        Context { words: [(bits >> 32) as u32, bits as u32] }
    }

    /// This context after a change.
    #[must_use]
    pub fn with(mut self, change: &ContextChange) -> Context {
        if let Some(word) = self.words.get_mut(usize::from(change.word)) {
            *word = (*word & !change.mask) | (change.value & change.mask);
        }
        self
    }
}

/// A change of context that an instruction makes at some address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextChange {
    /// The address from which the change holds.
    pub offset: u64,
    /// Whether it stays with the flow from there (a Thumb switch) or holds for that one
    /// instruction only (the condition of an IT block).
    pub flows: bool,
    pub(crate) word: u8,
    pub(crate) mask: u32,
    pub(crate) value: u32,
}

/// A field of the context register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContextField {
    pub(crate) word: usize,
    pub(crate) shift: u32,
    pub(crate) mask: u32,
}

impl ContextField {
    /// A field from its first to its last bit, counted from the most significant one.
    pub(crate) fn new(first: u32, last: u32) -> Option<ContextField> {
        let word = (first / 32) as usize;
        if word != (last / 32) as usize || last < first || word >= Context::WORDS {
            return None;
        }
        let width = last - first + 1;
        let shift = 31 - last % 32;
        Some(ContextField { word, shift, mask: (u32::MAX >> (32 - width)) << shift })
    }

    pub(crate) fn get(self, context: Context) -> u32 {
        (context.words[self.word] & self.mask) >> self.shift
    }

    pub(crate) fn set(self, context: &mut Context, value: u32) {
        let word = &mut context.words[self.word];
        *word = (*word & !self.mask) | ((value << self.shift) & self.mask);
    }
}

#[cfg(test)]
mod tests {
    use super::{Context, ContextField};

    #[test]
    fn fields_are_counted_from_the_top_bit() {
        let field = ContextField::new(5, 8).unwrap();
        let mut context = Context::default();
        field.set(&mut context, 0xf);
        assert_eq!(context.words[0], 0x0780_0000);
        assert_eq!(field.get(context), 0xf);
        assert_eq!(Context::from_bits(context.to_bits()), context);
        assert!(ContextField::new(30, 33).is_none());
    }
}
