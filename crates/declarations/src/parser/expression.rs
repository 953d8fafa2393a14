//! Constant expressions: enum values, `sizeof`, `_Alignof`, `offsetof`, casts and operators.

use program::TypeId;
use program::data_type::{Builtin, TypeKind};

use super::Parser;
use crate::CError;
use crate::constant::{self, Value};
use crate::lexer::Kind;

/// Deepest chain of members without a name that is searched for one.
const MAX_NAMELESS: u32 = 32;

impl<'a> Parser<'a> {
    /// A constant expression, without the comma operator.
    pub(super) fn constant(&mut self) -> Result<Value, CError> {
        self.nested(|parser| {
            let value = parser.operators(0)?;
            if !parser.accept("?") {
                return Ok(value);
            }
            let yes = parser.constant()?;
            parser.expect(":")?;
            let no = parser.constant()?;
            Ok(if value.number != 0 { yes } else { no })
        })
    }

    fn operators(&mut self, least: u8) -> Result<Value, CError> {
        let mut left = self.operand()?;
        loop {
            let Kind::Sign(sign) = self.peek() else { return Ok(left) };
            let rank = constant::rank(sign);
            if rank <= least {
                return Ok(left);
            }
            let start = self.offset();
            self.bump();
            let right = self.operators(rank)?;
            left = constant::binary(sign, left, right, self.types.organization())
                .ok_or_else(|| self.error_at(start, "this constant has no value"))?;
        }
    }

    fn operand(&mut self) -> Result<Value, CError> {
        self.nested(Self::operand_inside)
    }

    fn operand_inside(&mut self) -> Result<Value, CError> {
        let sizes = *self.types.organization();
        let start = self.offset();
        let kind = self.peek();
        if kind == Kind::Sign("(") && self.begins_type(1) {
            return self.cast();
        }
        let word = match kind {
            Kind::Word(word) => Some(word),
            Kind::Number(_)
            | Kind::Character(_)
            | Kind::Sign("-" | "+" | "~" | "!" | "(" | "&") => None,
            _ => return Err(self.unexpected("a constant")),
        };
        self.bump();
        if let Some(word) = word {
            return self.named_operand(word, start);
        }
        match kind {
            Kind::Number(text) => constant::literal(text, &sizes)
                .ok_or_else(|| self.error_at(start, format!("{text} is not an integer"))),
            Kind::Character(text) => constant::character(text, &sizes).ok_or_else(|| {
                self.error_at(start, format!("{text} is no character that is understood"))
            }),
            Kind::Sign("-") => Ok(self.operand()?.negated(&sizes)),
            Kind::Sign("+") => self.operand(),
            Kind::Sign("~") => Ok(self.operand()?.complement(&sizes)),
            Kind::Sign("!") => Ok(Value::int(i128::from(self.operand()?.number == 0), &sizes)),
            Kind::Sign("&") => {
                let (offset, _) = self.place()?;
                Ok(Value::size(offset, &sizes))
            }
            _ => {
                let value = self.constant()?;
                self.expect(")")?;
                Ok(value)
            }
        }
    }

    fn named_operand(&mut self, word: &'a str, start: usize) -> Result<Value, CError> {
        let sizes = *self.types.organization();
        match word {
            "sizeof" if matches!(self.ahead(1), Kind::Text(_)) => self.text_size(),
            "sizeof" => {
                let data_type = self.measured()?;
                let length = match self.types.as_builtin(data_type) {
                    // As gcc has it; others know no such size.
                    Some(Builtin::Void) => Some(1),
                    _ => self.types.length(data_type),
                };
                let length = length.ok_or_else(|| self.error_at(start, "this type has no size"))?;
                Ok(Value::size(u64::from(length), &sizes))
            }
            "_Alignof" | "alignof" | "__alignof__" | "__alignof" => {
                let data_type = self.measured()?;
                let mut alignment = self.types.get(data_type).map_or(1, |known| known.alignment);
                // Outside of records such numbers are aligned to more where gcc has the word.
                let wide = self.types.as_builtin(data_type).is_some()
                    && self.types.length(data_type) == Some(8);
                let compiler = &sizes.compiler;
                if wide
                    && word.starts_with('_')
                    && word.contains("__a")
                    && (compiler.scalar_alignment, compiler.biggest_alignment) == (4, 16)
                {
                    alignment = 8;
                }
                Ok(Value::size(u64::from(alignment), &sizes))
            }
            "offsetof" | "__builtin_offsetof" => {
                self.expect("(")?;
                let data_type = self.abstract_type()?;
                self.expect(",")?;
                let Kind::Word(member) = self.peek() else {
                    return Err(self.unexpected("a member"));
                };
                self.bump();
                let first = self.member_place(data_type, member, start)?;
                let (offset, _) = self.steps(first)?;
                self.expect(")")?;
                Ok(Value::size(offset, &sizes))
            }
            "true" | "false" => Ok(Value::int(i128::from(word == "true"), &sizes)),
            "__extension__" => self.operand(),
            _ => self.enum_value(word, start),
        }
    }

    /// The size of a text in parentheses, its end counted.
    fn text_size(&mut self) -> Result<Value, CError> {
        self.expect("(")?;
        let mut size = 1;
        while let Kind::Text(text) = self.peek() {
            if !text.starts_with('"') || text.contains('\\') {
                return Err(self.error("the size of this text is not known here"));
            }
            size += text.len() as u64 - 2;
            self.bump();
        }
        self.expect(")")?;
        Ok(Value::size(size, self.types.organization()))
    }

    /// What `sizeof` asks about: a type, or a member through a pointer.
    fn measured(&mut self) -> Result<TypeId, CError> {
        self.expect("(")?;
        let data_type = if self.begins_type(0) { self.abstract_type()? } else { self.place()?.1 };
        self.expect(")")?;
        Ok(data_type)
    }

    /// A type in parentheses and what it is applied to.
    fn cast(&mut self) -> Result<Value, CError> {
        let start = self.offset();
        self.expect("(")?;
        let data_type = self.abstract_type()?;
        self.expect(")")?;
        let value = self.operand()?;
        let resolved = self.types.resolve(data_type);
        let length = self.types.length(resolved).unwrap_or(0);
        use Builtin::{Bool, Char, Signed, Unsigned, WideChar};
        let signed = match self.types.get(resolved).map(|known| &known.kind) {
            Some(TypeKind::Builtin(Bool)) => {
                let sizes = self.types.organization();
                return Ok(Value::int(i128::from(value.number != 0), sizes));
            }
            Some(TypeKind::Builtin(Char | Signed)) => true,
            Some(TypeKind::Builtin(WideChar)) => length == 4,
            Some(TypeKind::Builtin(Unsigned) | TypeKind::Pointer(_) | TypeKind::Enum { .. }) => {
                false
            }
            _ => return Err(self.error_at(start, "a constant is cast to integers only")),
        };
        if !(1..=8).contains(&length) {
            return Err(self.error_at(start, "constants have up to 64 bits"));
        }
        Ok(Value::new(value.number, length, signed))
    }

    /// `((struct s *)0)->a.b`: how far from the start of what is pointed to, and the type there.
    fn place(&mut self) -> Result<(u64, TypeId), CError> {
        self.nested(|parser| {
            parser.expect("(")?;
            if parser.peek() == Kind::Sign("(") && !parser.begins_type(1) {
                let inner = parser.place()?;
                parser.expect(")")?;
                return Ok(inner);
            }
            parser.expect("(")?;
            let start = parser.offset();
            let pointer = parser.abstract_type()?;
            parser.expect(")")?;
            let base = parser.operand()?.number;
            parser.expect(")")?;
            parser.expect("->")?;
            let target = match parser.types.get(parser.types.resolve(pointer)).map(|t| &t.kind) {
                Some(TypeKind::Pointer(Some(target))) => *target,
                _ => return Err(parser.error_at(start, "a pointer is expected here")),
            };
            let Kind::Word(member) = parser.peek() else {
                return Err(parser.unexpected("a member"));
            };
            parser.bump();
            let (offset, data_type) = parser.member_place(target, member, start)?;
            let base = u64::try_from(base).unwrap_or(0);
            parser.steps((base.saturating_add(offset), data_type))
        })
    }

    /// Goes on through `.member` and `[index]`.
    fn steps(&mut self, first: (u64, TypeId)) -> Result<(u64, TypeId), CError> {
        let (mut offset, mut data_type) = first;
        loop {
            let start = self.offset();
            if self.accept(".") {
                let Kind::Word(member) = self.peek() else {
                    return Err(self.unexpected("a member"));
                };
                self.bump();
                let (inner, inner_type) = self.member_place(data_type, member, start)?;
                (offset, data_type) = (offset.saturating_add(inner), inner_type);
            } else if self.accept("[") {
                let index = u64::try_from(self.constant()?.number).unwrap_or(0);
                self.expect("]")?;
                let element = match self.types.get(self.types.resolve(data_type)).map(|t| &t.kind) {
                    Some(TypeKind::Array { element, .. }) => *element,
                    _ => return Err(self.error_at(start, "this is no array")),
                };
                let each = u64::from(self.types.length(element).unwrap_or(0));
                (offset, data_type) = (offset.saturating_add(index.saturating_mul(each)), element);
            } else {
                return Ok((offset, data_type));
            }
        }
    }

    /// Where a member lies, also in members without a name.
    fn member_place(
        &self,
        data_type: TypeId,
        name: &str,
        start: usize,
    ) -> Result<(u64, TypeId), CError> {
        let message = || {
            let name: String = name.chars().take(64).collect();
            self.error_at(start, format!("{} has no member {name}", self.types.name(data_type)))
        };
        self.find_member(data_type, name, 0).ok_or_else(message)
    }

    fn find_member(&self, data_type: TypeId, name: &str, depth: u32) -> Option<(u64, TypeId)> {
        let known =
            self.types.get(self.types.resolve(data_type)).filter(|_| depth < MAX_NAMELESS)?;
        let (TypeKind::Struct { fields, .. } | TypeKind::Union { fields }) = &known.kind else {
            return None;
        };
        let own = fields.iter().find(|field| &*field.name == name && field.bits.is_none());
        if let Some(field) = own {
            return Some((u64::from(field.offset), field.data_type));
        }
        fields.iter().filter(|field| field.name.is_empty()).find_map(|field| {
            let (offset, found) = self.find_member(field.data_type, name, depth + 1)?;
            Some((u64::from(field.offset) + offset, found))
        })
    }

    /// Whether a word is an enum value.
    pub(super) fn names_constant(&mut self, word: &str) -> bool {
        self.enumerators.contains_key(word) || self.earlier_value(word).is_some()
    }

    fn enum_value(&mut self, word: &str, start: usize) -> Result<Value, CError> {
        if let Some(value) = self.enumerators.get(word) {
            return Ok(*value);
        }
        match self.earlier_value(word) {
            Some(value) => Ok(Value::new(i128::from(value), 8, true)),
            None => {
                let word: String = word.chars().take(64).collect();
                Err(self.error_at(start, format!("no enum value or constant is called {word}")))
            }
        }
    }

    /// The value of an enum that was there before this text.
    fn earlier_value(&mut self, word: &str) -> Option<i64> {
        let types = &*self.types;
        let known = self.known_enumerators.get_or_insert_with(|| {
            let enums = types.iter().filter_map(|(_, known)| match &known.kind {
                TypeKind::Enum { values } => Some(values),
                _ => None,
            });
            let mut all = std::collections::HashMap::new();
            for (name, value, _) in enums.flatten() {
                all.entry(std::sync::Arc::clone(name)).or_insert(*value);
            }
            all
        });
        known.get(word).copied()
    }
}
