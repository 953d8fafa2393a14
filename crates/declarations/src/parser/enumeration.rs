//! Enumerations: values by expressions of earlier ones, and the integer type that holds them.

use std::collections::HashSet;
use std::sync::Arc;

use program::RecordRules;
use program::data_type::TypeKind;

use super::definition::Body;
use super::{Attributes, Parser};
use crate::CError;
use crate::constant::Value;
use crate::lexer::Kind;

impl<'a> Parser<'a> {
    /// The body of an enum, `{` ahead. `fixed` is the size that its declaration states.
    pub(super) fn enumeration(
        &mut self,
        mut attributes: Attributes,
        fixed: Option<(u32, bool)>,
    ) -> Result<Body, CError> {
        let start = self.offset();
        self.expect("{")?;
        let mut values: Vec<(Arc<str>, i64, Arc<str>)> = Vec::new();
        let mut seen = HashSet::new();
        let mut next = Value::int(0, self.types.organization());
        let (mut least, mut most) = (0i128, 0i128);
        while !self.accept("}") {
            let Kind::Word(word) = self.peek() else {
                return Err(self.unexpected("a name for the value"));
            };
            let place = self.offset();
            self.bump();
            self.attributes(&mut Attributes::default())?;
            if self.accept("=") {
                next = self.constant()?;
            }
            if !seen.insert(word) {
                return Err(self.error_at(place, format!("{word} stands twice in this enum")));
            }
            self.enumerator(word, next, place)?;
            (least, most) = (least.min(next.number), most.max(next.number));
            values.push((word.into(), next.number as i64, "".into()));
            next = Value { number: next.number + 1, ..next };
            if !self.accept(",") && self.peek() != Kind::Sign("}") {
                return Err(self.unexpected(", or }"));
            }
        }
        self.attributes(&mut attributes)?;
        let length = self.enum_size(&attributes, fixed, least, most, start)?;
        values.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        let own = self.types.organization().alignment(length);
        let alignment = own.max(attributes.aligned);
        Ok(Body { kind: TypeKind::Enum { values }, length: Some(length), alignment, required: 1 })
    }

    /// Makes a value known to what follows.
    fn enumerator(&mut self, word: &'a str, value: Value, place: usize) -> Result<(), CError> {
        let sizes = self.types.organization();
        let as_int = Value::int(value.number, sizes);
        let value = if as_int.number == value.number {
            as_int
        } else {
            Value::new(value.number, 8, value.number <= i128::from(i64::MAX))
        };
        match self.enumerators.insert(word, value) {
            Some(before) if before.number != value.number => {
                Err(self.error_at(place, format!("{word} has another value already")))
            }
            _ => Ok(()),
        }
    }

    /// The size of the integer that holds values of that range.
    fn enum_size(
        &self,
        attributes: &Attributes,
        fixed: Option<(u32, bool)>,
        least: i128,
        most: i128,
        start: usize,
    ) -> Result<u32, CError> {
        let fits = |size: u32| {
            let bits = size * 8;
            if least < 0 {
                least >= -(1i128 << (bits - 1)) && most < 1i128 << (bits - 1)
            } else {
                most < 1i128 << bits
            }
        };
        if let Some((size, signed)) = fixed {
            let bits = size * 8 - u32::from(signed);
            let inside =
                most < 1i128 << bits && (signed || least >= 0) && least >= -(1i128 << bits);
            let message = "a value does not fit the type of this enum";
            return if inside { Ok(size) } else { Err(self.error_at(start, message)) };
        }
        match attributes.mode {
            Some("QI" | "byte") => return Ok(1),
            Some("HI") => return Ok(2),
            Some("SI") => return Ok(4),
            Some("DI") => return Ok(8),
            Some(_) => return Err(self.error_at(start, "an enum has the mode of an integer")),
            None => {}
        }
        let compiler = &self.types.organization().compiler;
        if compiler.rules == RecordRules::Microsoft {
            let holds = most <= i128::from(u32::MAX) && least >= i128::from(i32::MIN);
            let message = "a value does not fit the 32 bits of Microsoft's enums";
            return if holds { Ok(4) } else { Err(self.error_at(start, message)) };
        }
        let smallest = if attributes.packed { 1 } else { compiler.int };
        [1, 2, 4, 8]
            .into_iter()
            .find(|size| *size >= smallest && fits(*size))
            .ok_or_else(|| self.error_at(start, "no integer holds all values of this enum"))
    }
}
