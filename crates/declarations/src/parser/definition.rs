//! Definitions of structures and unions, and types without a tag.

use program::data_type::{Builtin, DataType, TypeKind};
use program::layout::{Arrangement, Layout, Member, lay_out};
use program::{RecordRules, TypeId};
use std::sync::Arc;

use super::{Attributes, Base, Declarator, Parser};
use crate::CError;
use crate::lexer::Kind;

/// How types without a tag are called.
const ANONYMOUS: &str = "anonymous_";
/// Widest bit-field.
const MAX_BITS: u32 = 64;

/// What a definition says of a type, apart from its name.
#[derive(Clone)]
pub(super) struct Body {
    pub(super) kind: TypeKind,
    pub(super) length: Option<u32>,
    pub(super) alignment: u32,
    /// Alignment that no packing around it undoes.
    pub(super) required: u32,
}

impl<'a> Parser<'a> {
    /// `struct`, `union` or `enum` with a tag, a body or both; whether it defines or declares
    /// something, and whether that has no tag.
    pub(super) fn tagged(
        &mut self,
        kind: &'a str,
        before: &Attributes,
    ) -> Result<(TypeId, bool, bool), CError> {
        let mut attributes = Attributes::default();
        // Microsoft's alignment may stand before the keyword.
        if self.types.organization().compiler.rules == RecordRules::Microsoft {
            attributes.aligned = before.aligned;
        }
        while self.attributes(&mut attributes)? {}
        let start = self.offset();
        let tag = match self.peek() {
            Kind::Word(word) => {
                self.bump();
                Some(word)
            }
            _ => None,
        };
        while self.attributes(&mut attributes)? {}
        let fixed = if kind == "enum" { self.underlying()? } else { None };
        if self.peek() != Kind::Sign("{") {
            let Some(tag) = tag else { return Err(self.unexpected("a name or {")) };
            let known = self.find_tag(kind, tag, start)?;
            // `struct a;` declares something, `struct a *p` only uses it.
            let id = known.map_or_else(|| self.stub(kind, tag, start), Ok)?;
            return Ok((id, true, false));
        }
        let id = match (kind, tag) {
            ("enum", Some(tag)) => {
                let body = self.enumeration(attributes, fixed)?;
                self.define(kind, tag, body, start)?
            }
            ("enum", None) => {
                let body = self.enumeration(attributes, fixed)?;
                self.put_anonymous(kind, body, start)
            }
            (_, Some(tag)) => {
                // The name must be known inside its own body.
                self.open_tag(kind, tag, start)?;
                let body = self.composite(kind, attributes)?;
                self.define(kind, tag, body, start)?
            }
            (_, None) => {
                let body = self.composite(kind, attributes)?;
                self.put_anonymous(kind, body, start)
            }
        };
        Ok((id, true, tag.is_none()))
    }

    /// The type that an enum's declaration states: its size, and whether it is signed.
    fn underlying(&mut self) -> Result<Option<(u32, bool)>, CError> {
        if self.peek() != Kind::Sign(":") {
            return Ok(None);
        }
        self.bump();
        let start = self.offset();
        let base = self.base()?;
        use Builtin::{Bool, Char, Signed, Unsigned, WideChar};
        let signed = match self.types.as_builtin(base.data_type) {
            Some(Char | Signed) => true,
            Some(Unsigned | Bool | WideChar) => false,
            _ => return Err(self.error_at(start, "an enum is held by an integer")),
        };
        let size = self.types.length(base.data_type).filter(|size| (1..=8).contains(size));
        let size = size.ok_or_else(|| self.error_at(start, "an enum has up to 64 bits"))?;
        Ok(Some((size, signed)))
    }

    /// The body of a structure or union.
    fn composite(&mut self, kind: &str, mut attributes: Attributes) -> Result<Body, CError> {
        let union = kind == "union";
        let start = self.offset();
        let at_start = self.packing.now;
        let members = self.nested(Self::members)?;
        while self.attributes(&mut attributes)? {}
        let rules = self.rules(&attributes);
        // Microsoft takes the packing of the opening brace, gcc that of the closing one.
        let microsoft = rules == RecordRules::Microsoft;
        let arrangement = Arrangement {
            union,
            pack: if microsoft { at_start } else { self.packing.now },
            packed: attributes.packed,
            aligned: attributes.aligned,
            rules: Some(rules),
        };
        let layout = lay_out(self.types, members, arrangement)
            .ok_or_else(|| self.error_at(start, format!("this {kind} is too large")))?;
        let Layout { fields, length, alignment, required } = layout;
        // What the usual ways do not explain keeps its places when a member's type changes.
        let explained =
            union || self.types.arrangement(&fields, false, length, alignment).is_some();
        let kind = match union {
            true => TypeKind::Union { fields },
            false => TypeKind::Struct { fields, packed: explained },
        };
        Ok(Body { kind, length: Some(length), alignment, required })
    }

    /// A type without a tag: the one that was made of the same content, or a new one.
    fn put_anonymous(&mut self, kind: &str, body: Body, offset: usize) -> TypeId {
        let required = body.required;
        let id = loop {
            self.anonymous += 1;
            let own = self.own(&format!("{ANONYMOUS}{kind}_{}", self.anonymous), body.clone());
            let Some(known) = self.types.at_path(&own.path()) else {
                let id = self.types.add(own);
                self.nameless.insert(id);
                break id;
            };
            if self.types.get(known).is_some_and(|t| t.kind == own.kind && t.length == own.length) {
                break known;
            }
        };
        self.require(id, required);
        self.made.push((id, offset));
        id
    }

    /// A type of the text's category.
    pub(super) fn own(&self, name: &str, body: Body) -> DataType {
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

    fn members(&mut self) -> Result<Vec<Member>, CError> {
        self.expect("{")?;
        let mut members = Vec::new();
        while !self.accept("}") {
            if self.accept(";") {
                continue;
            }
            if matches!(self.peek(), Kind::Word("_Static_assert" | "static_assert")) {
                self.assertion()?;
                continue;
            }
            let start = self.offset();
            let base = self.base()?;
            if base.typedef {
                return Err(self.error_at(start, "a typedef cannot stand inside a structure"));
            }
            if self.accept(";") {
                members.extend(self.nameless_member(&base, start)?);
                continue;
            }
            loop {
                let member = self.member(&base)?;
                members.push(member);
                if !self.accept(",") {
                    break;
                }
            }
            self.expect(";")?;
        }
        Ok(members)
    }

    /// What a declaration without a name adds to a structure: only structures and unions
    /// without a tag take room; to compilers for Windows, others as well.
    fn nameless_member(&self, base: &Base, start: usize) -> Result<Option<Member>, CError> {
        let resolved = self.types.resolve(base.data_type);
        let composite = matches!(
            self.types.get(resolved).map(|known| &known.kind),
            Some(TypeKind::Struct { .. } | TypeKind::Union { .. })
        );
        let windows = self.types.organization().compiler.rules.is_windows();
        if composite && (base.nameless || windows) {
            if self.types.length(base.data_type).is_none() {
                return Ok(None);
            }
            let required = self.required_of(base.data_type, 0);
            let aligned = base.attributes.aligned.max(required);
            let packed = base.attributes.packed;
            return Ok(Some(Member { aligned, packed, ..Member::new("", base.data_type) }));
        }
        match base.defines {
            true => Ok(None),
            false => Err(self.error_at(start, "this declares nothing")),
        }
    }

    fn member(&mut self, base: &Base) -> Result<Member, CError> {
        let mut declarator = if self.peek() == Kind::Sign(":") {
            Declarator {
                name: String::new(),
                word: None,
                offset: self.offset(),
                layers: Vec::new(),
                attributes: Attributes::default(),
            }
        } else {
            self.declarator()?
        };
        let offset = declarator.offset;
        let name = std::mem::take(&mut declarator.name);
        let mut attributes = base.attributes.clone().merged(declarator.attributes.clone());
        let data_type = self.wrap(base, declarator)?;
        let data_type = self.modified(data_type, &attributes)?;
        let bits = match self.accept(":") {
            true => Some(self.bits(data_type, &name)?),
            false => None,
        };
        while self.attributes(&mut attributes)? {}
        if name.is_empty() && bits.is_none() {
            return Err(self.error_at(offset, "a member needs a name"));
        }
        if self.types.length(data_type).is_none() {
            let message =
                format!("{} has no size yet; use a pointer to it", self.types.name(data_type));
            return Err(self.error_at(offset, message));
        }
        if self.types.as_builtin(data_type) == Some(Builtin::Void) {
            return Err(self.error_at(offset, "a member cannot be void"));
        }
        let aligned = attributes.aligned.max(self.required_of(data_type, 0));
        let packed = attributes.packed;
        Ok(Member { bits, aligned, packed, ..Member::new(&name, data_type) })
    }

    /// Keeps an alignment that a declaration states.
    pub(super) fn require(&mut self, id: TypeId, alignment: u32) {
        let rules = self.types.organization().compiler.rules;
        if rules == RecordRules::Microsoft && alignment > 1 {
            self.required.insert(id, alignment);
        }
    }

    /// The alignment that was kept for a type or its elements; 0 when none was.
    fn required_of(&self, id: TypeId, depth: u32) -> u32 {
        if let Some(alignment) = self.required.get(&id) {
            return *alignment;
        }
        match self.types.get(id).map(|known| &known.kind) {
            Some(TypeKind::Typedef(inner) | TypeKind::Array { element: inner, .. })
                if depth < 64 =>
            {
                self.required_of(*inner, depth + 1)
            }
            _ => 0,
        }
    }

    /// The width of a bit-field.
    fn bits(&mut self, data_type: TypeId, name: &str) -> Result<u8, CError> {
        let start = self.offset();
        let width = self.constant()?.number;
        if !self.counts_bits(data_type) {
            return Err(self.error_at(start, "a bit-field is of an integer type or an enum"));
        }
        let bytes = self.types.length(data_type).unwrap_or(0);
        let room = match self.types.as_builtin(data_type) {
            Some(Builtin::Bool) => 1,
            _ => (bytes.saturating_mul(8)).min(MAX_BITS),
        };
        match u8::try_from(width) {
            Ok(0) if !name.is_empty() => {
                Err(self.error_at(start, "a bit-field without bits has no name"))
            }
            Ok(width) if u32::from(width) <= room && bytes <= 8 => Ok(width),
            _ => Err(self.error_at(start, format!("a bit-field here has 0 to {room} bits"))),
        }
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
}
