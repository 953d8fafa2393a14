//! Constant expressions, as array lengths and enum values need them.

use super::Parser;
use crate::CError;
use crate::lexer::TokenKind;
use program::data_type::TypeKind;

impl Parser<'_> {
    /// A constant expression of numbers, enum values, `sizeof` and operators.
    pub(super) fn constant(&mut self) -> Result<i64, CError> {
        self.operators(0)
    }

    fn operators(&mut self, least: u8) -> Result<i64, CError> {
        let mut left = self.operand()?;
        loop {
            let TokenKind::Sign(sign) = *self.peek() else { return Ok(left) };
            let rank = match sign {
                "|" => 1,
                "^" => 2,
                "&" => 3,
                "<<" | ">>" => 4,
                "+" | "-" => 5,
                "*" | "/" | "%" => 6,
                _ => return Ok(left),
            };
            if rank <= least {
                return Ok(left);
            }
            self.at += 1;
            let right = self.operators(rank)?;
            let value = match sign {
                "|" => Some(left | right),
                "^" => Some(left ^ right),
                "&" => Some(left & right),
                "<<" => u32::try_from(right).ok().and_then(|n| left.checked_shl(n)),
                ">>" => u32::try_from(right).ok().and_then(|n| left.checked_shr(n)),
                "+" => left.checked_add(right),
                "-" => left.checked_sub(right),
                "*" => left.checked_mul(right),
                "/" => left.checked_div(right),
                _ => left.checked_rem(right),
            };
            left = value.ok_or_else(|| self.error("this constant has no value"))?;
        }
    }

    fn operand(&mut self) -> Result<i64, CError> {
        self.deeper()?;
        let token = self.peek().clone();
        self.at += 1;
        let value = match token {
            TokenKind::Number(value) => value,
            TokenKind::Sign("-") => self.operand()?.wrapping_neg(),
            TokenKind::Sign("+") => self.operand()?,
            TokenKind::Sign("~") => !self.operand()?,
            TokenKind::Sign("(") => {
                let value = self.operators(0)?;
                self.expect(")")?;
                value
            }
            TokenKind::Word(word) if word == "sizeof" => {
                self.expect("(")?;
                let base = self.base()?;
                let declarator = self.declarator(true)?;
                self.expect(")")?;
                let data_type = self.wrap(base.data_type, declarator, &base.convention)?;
                self.types
                    .length(data_type)
                    .map(i64::from)
                    .ok_or_else(|| self.error("this type has no size"))?
            }
            TokenKind::Word(word) => self.enum_value(&word)?,
            _ => {
                self.at -= 1;
                return Err(self.unexpected("a constant"));
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn enum_value(&self, word: &str) -> Result<i64, CError> {
        let all = self.types.iter().filter_map(|(_, t)| match &t.kind {
            TypeKind::Enum { values } => values.iter().find(|(name, ..)| &**name == word),
            _ => None,
        });
        all.map(|(_, value, _)| *value)
            .next()
            .ok_or_else(|| self.error(format!("no enum value is called {word}")))
    }
}
