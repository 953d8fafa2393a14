//! Tokens to declarations: a recursive descent over C's declaration grammar.

mod constant;
mod definition;

use crate::lexer::{Token, TokenKind, tokens};
use crate::{CError, Declaration, MAX_TEXT, Prototype};
use program::TypeId;
use program::data_type::{DataType, DataTypes, FunctionType, SignatureParameter, TypeKind};
use std::collections::HashSet;
use std::sync::Arc;

/// Deepest nesting of declarators and composites.
const MAX_DEPTH: usize = 64;
/// Words that say nothing about a type's layout.
const IGNORED: [&str; 15] = [
    "const",
    "volatile",
    "restrict",
    "__restrict",
    "__restrict__",
    "extern",
    "static",
    "inline",
    "__inline",
    "__extension__",
    "register",
    "_Noreturn",
    "__const",
    "auto",
    "__volatile__",
];
/// Words that name a calling convention.
const CONVENTIONS: [&str; 8] = [
    "__cdecl",
    "__stdcall",
    "__fastcall",
    "__thiscall",
    "__vectorcall",
    "__regcall",
    "MSABI",
    "processEntry",
];

/// One layer of a declarator, from the name outwards.
enum Layer {
    Pointer,
    Array(u32),
    Function(Vec<SignatureParameter>, bool),
}

/// A declared name with what is wrapped around its base type.
struct Declarator {
    name: String,
    layers: Vec<Layer>,
    convention: Option<Arc<str>>,
}

/// What stands before the declarators.
struct Base {
    data_type: TypeId,
    typedef: bool,
    no_return: bool,
    convention: Option<Arc<str>>,
    /// Whether the specifier itself defined a type.
    defines: bool,
}

pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    types: &'a mut DataTypes,
    category: Arc<str>,
    made: Vec<TypeId>,
    /// Types that this text defines without a name.
    nameless: HashSet<TypeId>,
    depth: usize,
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
        let tokens = tokens(text)?;
        let category = category.into();
        Ok(Parser {
            text,
            tokens,
            at: 0,
            types,
            category,
            made: Vec::new(),
            nameless: HashSet::new(),
            depth: 0,
            anonymous: 0,
        })
    }

    pub(crate) fn declarations(mut self) -> Result<Vec<Declaration>, CError> {
        let mut all = Vec::new();
        while *self.peek() != TokenKind::End {
            if self.accept(";") {
                continue;
            }
            self.declaration(&mut all)?;
        }
        Ok(all)
    }

    pub(crate) fn type_name(mut self) -> Result<TypeId, CError> {
        let base = self.base()?;
        let declarator = self.declarator(true)?;
        self.accept(";");
        if *self.peek() != TokenKind::End {
            return Err(self.unexpected("the end of the type"));
        }
        if !declarator.name.is_empty() {
            let message = format!("write the type alone, without the name {}", declarator.name);
            return Err(self.error(message));
        }
        self.wrap(base.data_type, declarator, &base.convention)
    }

    fn declaration(&mut self, all: &mut Vec<Declaration>) -> Result<(), CError> {
        self.made.clear();
        let base = self.base()?;
        all.extend(self.made.drain(..).map(Declaration::Type));
        if self.accept(";") || (*self.peek() == TokenKind::End && base.defines) {
            return if base.defines { Ok(()) } else { Err(self.error("this declares nothing")) };
        }
        loop {
            let declarator = self.declarator(false)?;
            self.skip_attributes()?;
            all.push(self.declare(&base, declarator)?);
            if !self.accept(",") {
                break;
            }
        }
        if *self.peek() != TokenKind::End && !self.accept(";") {
            return Err(self.unexpected("; after the declaration"));
        }
        Ok(())
    }

    fn declare(&mut self, base: &Base, mut declarator: Declarator) -> Result<Declaration, CError> {
        let name = std::mem::take(&mut declarator.name);
        if base.typedef {
            let target = self.wrap(base.data_type, declarator, &base.convention)?;
            return self.typedef(&name, target).map(Declaration::Type);
        }
        if let Some(Layer::Function(..)) = declarator.layers.first() {
            let Layer::Function(parameters, varargs) = declarator.layers.remove(0) else {
                return Err(self.error("a function was expected"));
            };
            let convention = declarator.convention.take().or(base.convention.clone());
            let return_type = self.wrap(base.data_type, declarator, &None)?;
            let no_return = base.no_return;
            let function = FunctionType { return_type, parameters, convention, varargs, no_return };
            return Ok(Declaration::Function(Prototype { name, function }));
        }
        let data_type = self.wrap(base.data_type, declarator, &base.convention)?;
        Ok(Declaration::Variable { name, data_type })
    }

    /// Declaration specifiers: storage words, qualifiers and one type.
    fn base(&mut self) -> Result<Base, CError> {
        let (mut typedef, mut no_return, mut convention) = (false, false, None);
        let mut words: Vec<String> = Vec::new();
        let mut found: Option<(TypeId, bool)> = None;
        while let TokenKind::Word(word) = self.peek().clone() {
            match &*word {
                "typedef" => typedef = true,
                "_Noreturn" | "noreturn" => no_return = true,
                w if IGNORED.contains(&w) => {}
                w if CONVENTIONS.contains(&w) => convention = Some(Arc::from(w)),
                "__attribute__" | "__declspec" => {
                    no_return |= self.skip_attributes()?;
                    continue;
                }
                "struct" | "union" | "enum" if found.is_none() && words.is_empty() => {
                    self.at += 1;
                    found = Some(self.tagged(&word)?);
                    continue;
                }
                w if is_arithmetic(w) && found.is_none() => words.push(word),
                _ if found.is_none() && words.is_empty() => match self.lookup(&word) {
                    Some(known) => found = Some((known, false)),
                    None => return Err(self.unknown_type(&word)),
                },
                _ => break,
            }
            self.at += 1;
        }
        let (data_type, defines) = match found {
            Some(found) => found,
            None if words.is_empty() => return Err(self.unexpected("a type")),
            None => (self.arithmetic(&words)?, false),
        };
        Ok(Base { data_type, typedef, no_return, convention, defines })
    }

    fn lookup(&self, name: &str) -> Option<TypeId> {
        let here = if &*self.category == "/" {
            format!("/{name}")
        } else {
            format!("{}/{name}", self.category)
        };
        self.types
            .at_path(&here)
            .or_else(|| self.types.at_path(&format!("/{name}")))
            .or_else(|| self.types.named(name).next())
            .or_else(|| Some(self.types.builtin(alias(name)?)))
    }

    fn unknown_type(&self, name: &str) -> CError {
        let lower = name.to_lowercase();
        let near = self.types.iter().find(|(_, t)| t.name.to_lowercase() == lower);
        let hint = near.map(|(_, t)| format!("; did you mean {}?", t.name)).unwrap_or_default();
        self.error(format!("no type is called {name}{hint}"))
    }

    /// The built-in that a run of arithmetic words names.
    fn arithmetic(&self, words: &[String]) -> Result<TypeId, CError> {
        let count = |w: &str| words.iter().filter(|x| *x == w).count();
        let unsigned = count("unsigned") > 0;
        let name = match (count("char"), count("short"), count("long")) {
            (1, 0, 0) if unsigned => "uchar",
            (1, 0, 0) => "char",
            (0, 1, 0) if unsigned => "ushort",
            (0, 1, 0) => "short",
            (0, 0, 1) if count("double") == 1 => "longdouble",
            (0, 0, 1) if unsigned => "ulong",
            (0, 0, 1) => "long",
            (0, 0, 2) if unsigned => "ulonglong",
            (0, 0, 2) => "longlong",
            (0, 0, 0) if count("void") == 1 => "void",
            (0, 0, 0) if count("float") == 1 => "float",
            (0, 0, 0) if count("double") == 1 => "double",
            (0, 0, 0) if count("_Bool") == 1 => "bool",
            (0, 0, 0) if count("__int128") == 1 => {
                if unsigned {
                    "uint16"
                } else {
                    "int16"
                }
            }
            (0, 0, 0) if unsigned => "uint",
            (0, 0, 0) => "int",
            _ => return Err(self.error(format!("{} is no type", words.join(" ")))),
        };
        Ok(self.types.builtin(name))
    }

    /// A declarator; layers come out from the name outwards.
    fn declarator(&mut self, abstract_only: bool) -> Result<Declarator, CError> {
        self.deeper()?;
        let mut pointers = 0;
        let mut convention = None;
        loop {
            match self.peek().clone() {
                TokenKind::Sign("*" | "&") => {
                    pointers += 1;
                    if pointers > MAX_DEPTH {
                        return Err(self.error("too many levels of pointers"));
                    }
                }
                TokenKind::Word(word) if IGNORED.contains(&&*word) => {}
                TokenKind::Word(word) if CONVENTIONS.contains(&&*word) => {
                    convention = Some(word.into());
                }
                TokenKind::Word(word) if word == "__attribute__" || word == "__declspec" => {
                    self.skip_attributes()?;
                    continue;
                }
                _ => break,
            }
            self.at += 1;
        }
        let mut declarator = Declarator { name: String::new(), layers: Vec::new(), convention };
        match self.peek().clone() {
            TokenKind::Word(word) if !abstract_only || !is_arithmetic(&word) => {
                self.at += 1;
                declarator.name = self.qualified(word);
            }
            TokenKind::Sign("(") if self.inner_declarator() => {
                self.at += 1;
                let inner = self.declarator(abstract_only)?;
                self.expect(")")?;
                declarator.name = inner.name;
                declarator.layers = inner.layers;
                declarator.convention = inner.convention.or(declarator.convention);
            }
            _ => {}
        }
        self.suffixes(&mut declarator.layers)?;
        declarator.layers.extend((0..pointers).map(|_| Layer::Pointer));
        self.depth -= 1;
        Ok(declarator)
    }

    /// `a::b` as one name.
    fn qualified(&mut self, mut name: String) -> String {
        while *self.peek() == TokenKind::Sign("::")
            && let Some(TokenKind::Word(next)) = self.tokens.get(self.at + 1).map(|t| &t.kind)
        {
            name = format!("{name}::{next}");
            self.at += 2;
        }
        name
    }

    /// Whether the parenthesis ahead opens a declarator, not parameters.
    fn inner_declarator(&self) -> bool {
        match self.tokens.get(self.at + 1).map(|t| &t.kind) {
            Some(TokenKind::Sign("*" | "(" | "&" | "[")) => true,
            Some(TokenKind::Word(word)) => {
                CONVENTIONS.contains(&&**word)
                    || !(is_arithmetic(word)
                        || IGNORED.contains(&&**word)
                        || ["struct", "union", "enum"].contains(&&**word)
                        || self.lookup(word).is_some())
            }
            _ => false,
        }
    }

    fn suffixes(&mut self, layers: &mut Vec<Layer>) -> Result<(), CError> {
        loop {
            if self.accept("[") {
                let count = if *self.peek() == TokenKind::Sign("]") { 0 } else { self.constant()? };
                self.expect("]")?;
                let count = u32::try_from(count).ok().filter(|n| *n <= i32::MAX as u32);
                let count =
                    count.ok_or_else(|| self.error("an array has 0 to 2147483647 elements"))?;
                layers.push(Layer::Array(count));
            } else if self.accept("(") {
                let (parameters, varargs) = self.parameters()?;
                layers.push(Layer::Function(parameters, varargs));
            } else {
                return Ok(());
            }
            if layers.len() > MAX_DEPTH {
                return Err(self.error("this declarator is too deep"));
            }
        }
    }

    fn parameters(&mut self) -> Result<(Vec<SignatureParameter>, bool), CError> {
        let mut parameters = Vec::new();
        if self.accept(")") {
            return Ok((parameters, false));
        }
        loop {
            if *self.peek() == TokenKind::Ellipsis {
                self.at += 1;
                self.expect(")")?;
                return Ok((parameters, true));
            }
            let base = self.base()?;
            let mut declarator = self.declarator(false)?;
            let name: Arc<str> = std::mem::take(&mut declarator.name).into();
            // Arrays and functions decay to pointers.
            match declarator.layers.first() {
                Some(Layer::Array(_)) => declarator.layers[0] = Layer::Pointer,
                Some(Layer::Function(..)) => declarator.layers.insert(0, Layer::Pointer),
                _ => {}
            }
            let data_type = self.wrap(base.data_type, declarator, &base.convention)?;
            let void = self.types.length(data_type) == Some(0);
            if void && parameters.is_empty() && name.is_empty() && self.accept(")") {
                return Ok((parameters, false));
            }
            if void {
                return Err(self.error("a parameter cannot be void"));
            }
            parameters.push(SignatureParameter { name, data_type });
            if parameters.len() > 1000 {
                return Err(self.error("a function takes at most 1000 parameters"));
            }
            if self.accept(")") {
                return Ok((parameters, false));
            }
            self.expect(",")?;
        }
    }

    /// Wraps a base type in the layers of a declarator, outermost layer first.
    fn wrap(
        &mut self,
        mut data_type: TypeId,
        declarator: Declarator,
        convention: &Option<Arc<str>>,
    ) -> Result<TypeId, CError> {
        let convention = declarator.convention.or(convention.clone());
        for layer in declarator.layers.into_iter().rev() {
            data_type = match layer {
                Layer::Pointer => self.types.pointer_to(data_type),
                Layer::Array(count) => {
                    let room =
                        self.types.length(data_type).map(|n| u64::from(n) * u64::from(count));
                    match room {
                        Some(room) if room <= i32::MAX as u64 && room > 0 || count == 0 => {}
                        _ => {
                            return Err(self
                                .error("this array is too large, or of elements without a size"));
                        }
                    }
                    self.types.array_of(data_type, count)
                }
                Layer::Function(parameters, varargs) => {
                    self.function_type(data_type, parameters, varargs, convention.clone())
                }
            };
        }
        Ok(data_type)
    }

    /// An unnamed function type, named after its content so that equal ones
    /// are one type.
    fn function_type(
        &mut self,
        return_type: TypeId,
        parameters: Vec<SignatureParameter>,
        varargs: bool,
        convention: Option<Arc<str>>,
    ) -> TypeId {
        let mut names: Vec<&str> =
            parameters.iter().map(|p| self.types.name(p.data_type)).collect();
        if varargs {
            names.push("...");
        }
        let name = format!("_func_{}({})", self.types.name(return_type), names.join(","));
        let function =
            FunctionType { return_type, parameters, convention, varargs, no_return: false };
        self.types.add(DataType {
            category: Arc::clone(&self.category),
            name: name.into(),
            length: None,
            alignment: 1,
            description: "".into(),
            kind: TypeKind::Function(function),
            used: true,
        })
    }

    /// Skips attributes; whether one of them says "noreturn".
    fn skip_attributes(&mut self) -> Result<bool, CError> {
        let mut no_return = false;
        while let TokenKind::Word(word) = self.peek() {
            if word != "__attribute__" && word != "__declspec" && word != "__asm__" {
                break;
            }
            self.at += 1;
            self.expect("(")?;
            let mut open = 1;
            while open > 0 {
                match self.peek() {
                    TokenKind::Sign("(") => open += 1,
                    TokenKind::Sign(")") => open -= 1,
                    TokenKind::Word(w) if w.trim_matches('_') == "noreturn" => no_return = true,
                    TokenKind::End => return Err(self.unexpected(") of the attribute")),
                    _ => {}
                }
                self.at += 1;
            }
        }
        Ok(no_return)
    }

    /// Skips attributes; whether one of them says "packed".
    fn skip_packed(&mut self) -> Result<bool, CError> {
        let from = self.at;
        self.skip_attributes()?;
        let packed =
            |t: &Token| matches!(&t.kind, TokenKind::Word(w) if w.trim_matches('_') == "packed");
        Ok(self.tokens[from..self.at].iter().any(packed))
    }

    fn deeper(&mut self) -> Result<(), CError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("this is nested too deeply"));
        }
        Ok(())
    }

    fn peek(&self) -> &TokenKind {
        self.tokens.get(self.at).map_or(&TokenKind::End, |t| &t.kind)
    }

    fn accept(&mut self, sign: &'static str) -> bool {
        let found = *self.peek() == TokenKind::Sign(sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), CError> {
        if self.accept(sign) { Ok(()) } else { Err(self.unexpected(sign)) }
    }

    fn error(&self, message: impl Into<String>) -> CError {
        let offset = self.tokens.get(self.at).map_or(self.text.len(), |t| t.offset);
        CError::new(self.text, offset, message)
    }

    fn unexpected(&self, wanted: &str) -> CError {
        let found = match self.peek() {
            TokenKind::Word(word) => word.clone(),
            TokenKind::Number(value) => value.to_string(),
            TokenKind::Sign(sign) => (*sign).to_owned(),
            TokenKind::Ellipsis => "...".to_owned(),
            TokenKind::End => "the end".to_owned(),
        };
        self.error(format!("{wanted} was expected, not {found}"))
    }
}

fn is_arithmetic(word: &str) -> bool {
    const WORDS: [&str; 12] = [
        "void",
        "char",
        "short",
        "int",
        "long",
        "float",
        "double",
        "signed",
        "unsigned",
        "_Bool",
        "__int128",
        "__signed__",
    ];
    WORDS.contains(&word)
}

/// Names of the standard headers for built-in types.
fn alias(name: &str) -> Option<&'static str> {
    Some(match name {
        "size_t" | "uintptr_t" => "ulong",
        "ssize_t" | "intptr_t" | "ptrdiff_t" => "long",
        _ => return None,
    })
}
