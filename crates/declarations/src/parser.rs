//! Recursive-descent parser of C's declaration grammar: tokens to declarations.

mod attribute;
mod builtin;
mod declarator;
mod definition;
mod enumeration;
mod expression;
mod scope;
mod specifier;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use program::TypeId;
use program::data_type::{DataTypes, FunctionType, TypeKind};

use crate::constant::Value;
use crate::lexer::{Kind, LayoutPragma, Token};
use crate::{CError, Declaration, Declared, MAX_TEXT, Prototype, preprocessor};
use attribute::Attributes;
use declarator::{Declarator, Layer};
use specifier::Base;

/// Deepest nesting of declarators, composites and expressions.
const MAX_DEPTH: usize = 64;
/// Most entries on the stack of `#pragma pack`.
const MAX_PACKS: usize = 1024;

/// `#pragma pack` and its stack.
#[derive(Default)]
struct Packing<'a> {
    /// In bytes; 0 when there is none.
    now: u32,
    pushed: Vec<(Option<&'a str>, u32)>,
    ms_struct: Option<bool>,
}

impl<'a> Packing<'a> {
    fn apply(&mut self, pragma: LayoutPragma<'a>) {
        match pragma {
            LayoutPragma::Set(pack) => self.now = pack.unwrap_or(0),
            LayoutPragma::Push(name, pack) => {
                if self.pushed.len() < MAX_PACKS {
                    self.pushed.push((name, self.now));
                }
                self.now = pack.unwrap_or(self.now);
            }
            LayoutPragma::Pop(name, pack) => {
                let at = match name {
                    None => self.pushed.len().checked_sub(1),
                    Some(_) => self.pushed.iter().rposition(|(pushed, _)| *pushed == name),
                };
                if let Some((_, before)) = at.and_then(|at| self.pushed.drain(at..).next()) {
                    self.now = before;
                }
                self.now = pack.unwrap_or(self.now);
            }
            LayoutPragma::MsStruct(on) => self.ms_struct = on,
        }
    }
}

pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
    types: &'a mut DataTypes,
    category: Arc<str>,
    /// What was made and not yet told, with its place.
    made: Vec<(TypeId, usize)>,
    /// Types of which only the tag was seen when they were made, with its place.
    stubs: Vec<(TypeId, usize)>,
    known_stubs: HashSet<TypeId>,
    /// Everything that was made.
    told: HashSet<TypeId>,
    /// Types that this text defines without a name.
    nameless: HashSet<TypeId>,
    /// Types that this text defined completely.
    defined: HashSet<TypeId>,
    /// Typedefs of types that have no size yet, by those.
    waiting: HashMap<TypeId, Vec<TypeId>>,
    tags: HashMap<&'a str, TypeId>,
    names: HashMap<&'a str, TypeId>,
    functions: HashMap<&'a str, FunctionType>,
    enumerators: HashMap<&'a str, Value>,
    /// Values of enums that were there before, made when first asked for.
    known_enumerators: Option<HashMap<Arc<str>, i64>>,
    /// Alignment that the declaration of a type states, where Microsoft's compilers keep it.
    required: HashMap<TypeId, u32>,
    packing: Packing<'a>,
    depth: usize,
    /// Lists of parameters that are open.
    inside_parameters: usize,
    /// Open `extern "C" {`.
    blocks: usize,
    anonymous: u32,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(
        text: &'a str,
        types: &'a mut DataTypes,
        category: &str,
    ) -> Result<Self, CError> {
        if text.len() > MAX_TEXT {
            let message = format!("the text has {} bytes; {MAX_TEXT} are read", text.len());
            return Err(CError::new("", 0, message));
        }
        let tokens = preprocessor::tokens(text, types.organization())
            .map_err(|(offset, message)| CError::new(text, offset, message))?;
        let mut parser = Parser {
            text,
            tokens,
            at: 0,
            types,
            category: category.into(),
            made: Vec::new(),
            stubs: Vec::new(),
            known_stubs: HashSet::new(),
            told: HashSet::new(),
            nameless: HashSet::new(),
            defined: HashSet::new(),
            waiting: HashMap::new(),
            tags: HashMap::new(),
            names: HashMap::new(),
            functions: HashMap::new(),
            enumerators: HashMap::new(),
            known_enumerators: None,
            required: HashMap::new(),
            packing: Packing::default(),
            depth: 0,
            inside_parameters: 0,
            blocks: 0,
            anonymous: 0,
        };
        parser.apply_pragmas();
        Ok(parser)
    }

    pub(crate) fn declarations(mut self) -> Result<Vec<Declared>, CError> {
        let mut all = Vec::new();
        while self.peek() != Kind::End {
            if self.accept(";") {
                continue;
            }
            if self.blocks > 0 && self.accept("}") {
                self.blocks -= 1;
                continue;
            }
            self.declaration(&mut all)?;
        }
        if self.blocks > 0 {
            return Err(self.unexpected("} of extern \"C\""));
        }
        // What was only named is made as well.
        self.made = std::mem::take(&mut self.stubs);
        self.tell(&mut all);
        Ok(all)
    }

    pub(crate) fn type_name(mut self) -> Result<TypeId, CError> {
        let data_type = self.abstract_type()?;
        self.accept(";");
        if self.peek() != Kind::End {
            return Err(self.unexpected("the end of the type"));
        }
        Ok(data_type)
    }

    /// A type without a name, as in a cast.
    fn abstract_type(&mut self) -> Result<TypeId, CError> {
        let base = self.base()?;
        let declarator = self.declarator()?;
        if !declarator.name.is_empty() {
            let message = format!("write the type alone, without the name {}", declarator.name);
            return Err(self.error_at(declarator.offset, message));
        }
        let attributes = declarator.attributes.clone();
        let data_type = self.wrap(&base, declarator)?;
        self.modified(data_type, &base.attributes.merged(attributes))
    }

    fn declaration(&mut self, all: &mut Vec<Declared>) -> Result<(), CError> {
        if self.other_than_declaration()? {
            return Ok(());
        }
        let start = self.offset();
        let base = self.base()?;
        self.tell(all);
        if self.accept(";") || (self.peek() == Kind::End && base.defines) {
            let message = "this declares nothing";
            return if base.defines { Ok(()) } else { Err(self.error_at(start, message)) };
        }
        loop {
            let declarator = self.declarator()?;
            let body = matches!(declarator.layers.first(), Some(Layer::Function(..)))
                && self.peek() == Kind::Sign("{")
                && !base.typedef;
            let offset = declarator.offset;
            let what = self.declare(&base, declarator)?;
            self.tell(all);
            if let Some(what) = what {
                all.push(Declared { what, offset });
            }
            if body {
                return self.skip_balanced();
            }
            if self.accept("=") {
                self.skip_initial_value()?;
            }
            if !self.accept(",") {
                break;
            }
        }
        if self.peek() != Kind::End && !self.accept(";") {
            return Err(self.unexpected("; after the declaration"));
        }
        Ok(())
    }

    /// Puts what was made behind what is told already.
    fn tell(&mut self, all: &mut Vec<Declared>) {
        for (id, offset) in std::mem::take(&mut self.made) {
            if self.told.insert(id) {
                all.push(Declared { what: Declaration::Type(id), offset });
            }
        }
    }

    /// `extern "C"`, an assertion or assembler text; whether one stood here.
    fn other_than_declaration(&mut self) -> Result<bool, CError> {
        match self.peek() {
            Kind::Word("extern") if matches!(self.ahead(1), Kind::Text(_)) => {
                self.bump();
                self.bump();
                if self.accept("{") {
                    self.blocks += 1;
                    return Ok(true);
                }
                Ok(false)
            }
            Kind::Word("_Static_assert" | "static_assert") => self.assertion().map(|()| true),
            Kind::Word("asm" | "__asm__" | "__asm") => {
                self.bump();
                while matches!(self.peek(), Kind::Word("volatile" | "__volatile__" | "goto")) {
                    self.bump();
                }
                self.skip_balanced()?;
                self.accept(";");
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// `_Static_assert`: what does not hold is an error.
    fn assertion(&mut self) -> Result<(), CError> {
        let start = self.offset();
        self.bump();
        self.expect("(")?;
        let holds = self.constant()?.number != 0;
        let mut said = "";
        if self.accept(",") {
            while let Kind::Text(text) = self.peek() {
                said = text;
                self.bump();
            }
        }
        self.expect(")")?;
        self.expect(";")?;
        if holds {
            return Ok(());
        }
        let said: String = said.chars().take(200).collect();
        Err(self.error_at(start, format!("this assertion does not hold {said}").trim_end()))
    }

    /// Makes what a declarator declares; nothing for what is known already.
    fn declare(
        &mut self,
        base: &Base,
        mut declarator: Declarator<'a>,
    ) -> Result<Option<Declaration>, CError> {
        let (name, offset) = (declarator.name.clone(), declarator.offset);
        let attributes = base.attributes.clone().merged(declarator.attributes.clone());
        if base.typedef {
            let word = declarator.word.ok_or_else(|| self.unexpected("a name for the type"))?;
            let target = self.wrap(base, declarator)?;
            let target = self.modified(target, &attributes)?;
            self.typedef(word, target, attributes.aligned, offset)?;
            return Ok(None);
        }
        if let Some(Layer::Function(..)) = declarator.layers.first() {
            let Layer::Function(parameters, varargs) = declarator.layers.remove(0) else {
                return Err(self.error("a function was expected"));
            };
            let word = declarator.word;
            let convention = attributes.convention.clone();
            declarator.attributes.convention = None;
            let plain = Base { attributes: Attributes::default(), ..base.clone() };
            let return_type = self.wrap(&plain, declarator)?;
            self.check_returned(return_type, offset)?;
            let no_return = attributes.no_return;
            let function = FunctionType { return_type, parameters, convention, varargs, no_return };
            return self.function(word, name, function, offset);
        }
        let word = declarator.word;
        let data_type = self.wrap(base, declarator)?;
        let data_type = self.modified(data_type, &attributes)?;
        let resolved = self.types.resolve(data_type);
        if let Some(TypeKind::Function(function)) =
            self.types.get(resolved).map(|known| known.kind.clone())
        {
            return self.function(word, name, function, offset);
        }
        if word.is_some_and(|word| self.enumerators.contains_key(word)) {
            return Err(self.error_at(offset, format!("{name} is an enum value already")));
        }
        Ok(Some(Declaration::Variable { name, data_type }))
    }

    /// A function, unless the text declared it alike before.
    fn function(
        &mut self,
        word: Option<&'a str>,
        name: String,
        function: FunctionType,
        offset: usize,
    ) -> Result<Option<Declaration>, CError> {
        if let Some(word) = word {
            if let Some(known) = self.functions.get(word) {
                if !self.compatible(known, &function) {
                    let message = format!("{name} was declared before with other types");
                    return Err(self.error_at(offset, message));
                }
                if known.parameters.len() >= function.parameters.len() {
                    return Ok(None);
                }
            }
            self.functions.insert(word, function.clone());
        }
        Ok(Some(Declaration::Function(Prototype { name, function })))
    }

    /// Whether two declarations can be of one function.
    fn compatible(&self, a: &FunctionType, b: &FunctionType) -> bool {
        let same = |a, b| {
            let (a, b) = (self.types.resolve(a), self.types.resolve(b));
            a == b || self.types.length(a) == self.types.length(b)
        };
        let open = |f: &FunctionType| f.parameters.is_empty() && !f.varargs;
        let pairs = a.parameters.iter().zip(&b.parameters);
        let alike = a.parameters.len() == b.parameters.len()
            && pairs.into_iter().all(|(a, b)| same(a.data_type, b.data_type));
        same(a.return_type, b.return_type) && (alike || open(a) || open(b))
    }

    /// Skips what stands between parentheses, brackets or braces.
    fn skip_balanced(&mut self) -> Result<(), CError> {
        let start = self.offset();
        let mut depth = 0usize;
        loop {
            match self.peek() {
                Kind::Sign("(" | "[" | "{") => depth += 1,
                Kind::Sign(")" | "]" | "}") => depth = depth.saturating_sub(1),
                Kind::End => return Err(self.error_at(start, "what begins here has no end")),
                _ if depth == 0 => return Err(self.unexpected("(")),
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn skip_initial_value(&mut self) -> Result<(), CError> {
        loop {
            match self.peek() {
                Kind::Sign("," | ";") | Kind::End => return Ok(()),
                Kind::Sign("(" | "[" | "{") => self.skip_balanced()?,
                _ => self.bump(),
            }
        }
    }

    /// Does something one level deeper.
    fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, CError>,
    ) -> Result<T, CError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("this is nested too deeply"));
        }
        let made = inner(self)?;
        self.depth -= 1;
        Ok(made)
    }

    fn peek(&self) -> Kind<'a> {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> Kind<'a> {
        self.tokens.get(self.at + count).map_or(Kind::End, |token| token.kind)
    }

    /// Goes on to the next token; pragmas on the way take effect.
    fn bump(&mut self) {
        self.at += 1;
        self.apply_pragmas();
    }

    fn apply_pragmas(&mut self) {
        while let Kind::Layout(pragma) = self.peek() {
            self.packing.apply(pragma);
            self.at += 1;
        }
    }

    fn accept(&mut self, sign: &'static str) -> bool {
        let found = self.peek() == Kind::Sign(sign);
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), CError> {
        if self.accept(sign) { Ok(()) } else { Err(self.unexpected(sign)) }
    }

    fn offset(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |token| token.offset)
    }

    fn error(&self, message: impl Into<String>) -> CError {
        self.error_at(self.offset(), message)
    }

    fn error_at(&self, offset: usize, message: impl Into<String>) -> CError {
        CError::new(self.text, offset, message)
    }

    fn unexpected(&self, wanted: &str) -> CError {
        let found: String = match self.peek() {
            Kind::Word(text) | Kind::Number(text) | Kind::Character(text) | Kind::Text(text) => {
                text.chars().take(64).collect()
            }
            Kind::Sign(sign) => sign.to_owned(),
            Kind::Other(sign) => sign.to_string(),
            Kind::Layout(_) => "#pragma".to_owned(),
            Kind::End => "the end".to_owned(),
        };
        self.error(format!("{wanted} was expected, not {found}"))
    }
}
