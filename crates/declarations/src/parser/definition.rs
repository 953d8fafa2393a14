//! Definitions of structures, unions, enums and typedefs.

use std::collections::HashSet;
use std::sync::Arc;

use program::TypeId;
use program::data_type::{Builtin, DataType, TypeKind};
use program::layout::{Arrangement, Layout, Member, lay_out};

use super::{Base, Declarator, Parser};
use crate::CError;
use crate::lexer::TokenKind;

/// How types without a tag are called.
const ANONYMOUS: &str = "anonymous_";

/// What a definition says of a type, apart from its name.
#[derive(Clone)]
struct Body {
    kind: TypeKind,
    length: Option<u32>,
    alignment: u32,
}

impl Parser<'_> {
    /// `struct`, `union` or `enum` with a tag, a body or both.
    pub(super) fn tagged(&mut self, kind: &str) -> Result<(TypeId, bool), CError> {
        let packed = self.skip_packed()?;
        let tag = match self.peek().clone() {
            TokenKind::Word(word) => {
                self.at += 1;
                Some(word)
            }
            _ => None,
        };
        if *self.peek() != TokenKind::Sign("{") {
            let Some(tag) = tag else { return Err(self.unexpected("a name or {")) };
            let known = self.lookup(&tag);
            return Ok((known.map_or_else(|| self.stub(kind, &tag), Ok)?, false));
        }
        let id = match (kind, tag) {
            ("enum", Some(tag)) => {
                let body = self.enumeration()?;
                self.put(self.defined(&tag, body))?
            }
            ("enum", None) => {
                let body = self.enumeration()?;
                self.put_anonymous(kind, body)
            }
            (_, Some(tag)) => {
                // The name must be known inside its own body.
                let stub = self.stub(kind, &tag)?;
                let body = self.composite(kind, packed)?;
                let own = self.defined(&tag, body);
                self.types.replace(stub, own);
                stub
            }
            (_, None) => {
                let body = self.composite(kind, packed)?;
                self.put_anonymous(kind, body)
            }
        };
        self.made.push(id);
        Ok((id, true))
    }

    /// The body of a structure or union.
    fn composite(&mut self, kind: &str, packed: bool) -> Result<Body, CError> {
        let union = kind == "union";
        let members = self.members()?;
        let packed = packed | self.skip_packed()?;
        let arrangement = match (union, packed) {
            (true, _) => Arrangement::Union,
            (false, true) => Arrangement::PACKED,
            (false, false) => Arrangement::STRUCTURE,
        };
        let layout = lay_out(self.types, members, arrangement)
            .ok_or_else(|| self.error(format!("this {kind} is too large, or contains itself")))?;
        let Layout { fields, length, alignment } = layout;
        let kind = match union {
            true => TypeKind::Union { fields },
            false => TypeKind::Struct { fields, packed: true },
        };
        Ok(Body { kind, length: Some(length), alignment })
    }

    /// An empty composite under a tag: a forward declaration.
    fn stub(&mut self, kind: &str, name: &str) -> Result<TypeId, CError> {
        let kind = match kind {
            "union" => TypeKind::Union { fields: Vec::new() },
            "enum" => TypeKind::Enum { values: Vec::new() },
            _ => TypeKind::Struct { fields: Vec::new(), packed: true },
        };
        let length = matches!(kind, TypeKind::Enum { .. }).then_some(4);
        self.put(self.defined(name, Body { kind, length, alignment: length.unwrap_or(1) }))
    }

    /// A type of the text's category.
    fn defined(&self, name: &str, body: Body) -> DataType {
        DataType {
            category: Arc::clone(&self.category),
            name: name.into(),
            length: body.length,
            alignment: body.alignment,
            description: "".into(),
            kind: body.kind,
            used: true,
        }
    }

    /// A type without a tag: the one that was made of the same content, or a new one.
    fn put_anonymous(&mut self, kind: &str, body: Body) -> TypeId {
        loop {
            self.anonymous += 1;
            let own = self.defined(&format!("{ANONYMOUS}{kind}_{}", self.anonymous), body.clone());
            let Some(known) = self.types.at_path(&own.path()) else {
                let id = self.types.add(own);
                self.nameless.insert(id);
                return id;
            };
            if self.types.get(known).is_some_and(|t| t.kind == own.kind && t.length == own.length) {
                return known;
            }
        }
    }

    fn members(&mut self) -> Result<Vec<Member>, CError> {
        self.expect("{")?;
        self.deeper()?;
        let mut members = Vec::new();
        while !self.accept("}") {
            let base = self.base()?;
            if base.typedef {
                return Err(self.error("a typedef cannot stand inside a structure"));
            }
            if self.accept(";") {
                if base.defines {
                    members.push(Member {
                        name: "".into(),
                        comment: "".into(),
                        data_type: base.data_type,
                        length: None,
                        bits: None,
                    });
                }
                continue;
            }
            loop {
                members.push(self.member(&base)?);
                if !self.accept(",") {
                    break;
                }
            }
            self.expect(";")?;
        }
        self.depth -= 1;
        Ok(members)
    }

    fn member(&mut self, base: &Base) -> Result<Member, CError> {
        let mut declarator = if *self.peek() == TokenKind::Sign(":") {
            Declarator { name: String::new(), layers: Vec::new(), convention: None }
        } else {
            self.declarator(false)?
        };
        let name: Arc<str> = std::mem::take(&mut declarator.name).into();
        let data_type = self.wrap(base.data_type, declarator, &base.convention)?;
        let bits = if self.accept(":") {
            let width = self.constant()?;
            if !self.counts_bits(data_type) {
                return Err(self.error("a bit-field is of an integer type or an enum"));
            }
            let room = self.types.length(data_type).unwrap_or(0).min(8) * 8;
            match u8::try_from(width) {
                Ok(width) if u32::from(width) <= room => Some(width),
                _ => return Err(self.error(format!("a bit-field here has 0 to {room} bits"))),
            }
        } else {
            None
        };
        self.skip_attributes()?;
        if self.types.length(data_type).is_none() {
            let message =
                format!("{} has no size yet; use a pointer to it", self.types.name(data_type));
            return Err(self.error(message));
        }
        Ok(Member { name, comment: "".into(), data_type, length: None, bits })
    }

    /// Whether a type can be that of a bit-field.
    fn counts_bits(&self, data_type: TypeId) -> bool {
        match self.types.get(self.types.resolve(data_type)).map(|known| &known.kind) {
            Some(TypeKind::Enum { .. }) => true,
            Some(TypeKind::Builtin(builtin)) => {
                use Builtin::{Bool, Char, Signed, Unsigned, WideChar};
                matches!(builtin, Bool | Char | WideChar | Unsigned | Signed)
            }
            _ => false,
        }
    }

    /// The body of an enum.
    fn enumeration(&mut self) -> Result<Body, CError> {
        self.expect("{")?;
        let mut values: Vec<(Arc<str>, i64, Arc<str>)> = Vec::new();
        let mut seen = HashSet::new();
        let mut next = 0i64;
        while !self.accept("}") {
            let TokenKind::Word(word) = self.peek().clone() else {
                return Err(self.unexpected("a name for the value"));
            };
            self.at += 1;
            if self.accept("=") {
                next = self.constant()?;
            }
            if !seen.insert(word.clone()) {
                return Err(self.error(format!("{word} stands twice in this enum")));
            }
            values.push((word.into(), next, "".into()));
            next = next.wrapping_add(1);
            if !self.accept(",") && *self.peek() != TokenKind::Sign("}") {
                return Err(self.unexpected(", or }"));
            }
        }
        values.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        let wide =
            values.iter().any(|(_, v, _)| *v > i64::from(u32::MAX) || *v < i64::from(i32::MIN));
        let length = if wide { 8 } else { 4 };
        Ok(Body { kind: TypeKind::Enum { values }, length: Some(length), alignment: length })
    }

    /// `typedef` of a name to a type.
    pub(super) fn typedef(&mut self, name: &str, target: TypeId) -> Result<TypeId, CError> {
        let known = self.types.get(target).cloned();
        // `typedef struct {...} Name` names the structure itself.
        if let Some(nameless) = known.as_ref().filter(|_| self.nameless.remove(&target)) {
            let own = DataType { name: name.into(), ..DataType::clone(nameless) };
            if self.types.replace(target, own.clone()) {
                return Ok(target);
            }
            // Defined again: what was made of it before keeps it.
            if !self.is_derived_from(target) {
                let id = self.put(own)?;
                self.types.remove(target);
                return Ok(id);
            }
        }
        // `typedef struct S S` adds nothing.
        if known.as_ref().is_some_and(|t| &*t.name == name && t.category == self.category) {
            return Ok(target);
        }
        let (length, alignment) = known.as_ref().map_or((None, 1), |t| (t.length, t.alignment));
        self.put(self.defined(name, Body { kind: TypeKind::Typedef(target), length, alignment }))
    }

    /// Whether some other type was made of this one.
    fn is_derived_from(&self, id: TypeId) -> bool {
        self.types.iter().any(|(_, known)| match &known.kind {
            TypeKind::Pointer(Some(inner))
            | TypeKind::Array { element: inner, .. }
            | TypeKind::Typedef(inner) => *inner == id,
            TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => {
                fields.iter().any(|field| field.data_type == id)
            }
            TypeKind::Function(function) => {
                function.return_type == id || function.parameters.iter().any(|p| p.data_type == id)
            }
            _ => false,
        })
    }

    /// Adds a type, or replaces the one at its path. Built-in types are not replaced.
    fn put(&mut self, data_type: DataType) -> Result<TypeId, CError> {
        let Some(known) = self.types.at_path(&data_type.path()) else {
            return Ok(self.types.add(data_type));
        };
        if self.types.get(known).is_some_and(|t| matches!(t.kind, TypeKind::Builtin(_))) {
            let message = format!("{} is a built-in type; choose another name", data_type.name);
            return Err(self.error(message));
        }
        self.types.replace(known, data_type);
        Ok(known)
    }
}
