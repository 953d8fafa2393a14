//! Declarators: pointers, arrays and functions around a name, and the types they make.

use std::sync::Arc;

use program::TypeId;
use program::data_type::{Builtin, DataType, FunctionType, SignatureParameter, TypeKind};

use super::specifier::{Remark, is_arithmetic};
use super::{Attributes, Base, MAX_DEPTH, Parser};
use crate::CError;
use crate::lexer::Kind;

/// Longest name of a function's type.
const LONGEST: usize = 1000;

/// One layer of a declarator, from the name outwards.
pub(super) enum Layer {
    /// With its size in bytes where it is not the program's.
    Pointer(Option<u32>),
    /// `None` stands for an array without a length.
    Array(Option<u32>),
    Function(Vec<SignatureParameter>, bool),
}

/// A declared name with what is wrapped around its base type.
pub(super) struct Declarator<'a> {
    pub(super) name: String,
    /// The last part of the name, as it is written.
    pub(super) word: Option<&'a str>,
    /// Where the name stands.
    pub(super) offset: usize,
    pub(super) layers: Vec<Layer>,
    pub(super) attributes: Attributes,
}

impl<'a> Parser<'a> {
    /// A declarator; layers come out from the name outwards.
    pub(super) fn declarator(&mut self) -> Result<Declarator<'a>, CError> {
        self.nested(Self::declarator_inside)
    }

    fn declarator_inside(&mut self) -> Result<Declarator<'a>, CError> {
        let mut pointers: Vec<Option<u32>> = Vec::new();
        let mut attributes = Attributes::default();
        loop {
            match self.peek() {
                Kind::Sign("*" | "&") => {
                    pointers.push(None);
                    if pointers.len() > MAX_DEPTH {
                        return Err(self.error("too many levels of pointers"));
                    }
                    self.bump();
                }
                Kind::Word("__ptr32" | "__ptr64") => self.pointer_size(&mut pointers)?,
                Kind::Word("__sptr" | "__uptr" | "_Atomic") => self.bump(),
                _ if self.attributes(&mut attributes)? => {}
                _ if self.skip_remark(&mut attributes)? => {}
                _ => break,
            }
        }
        let mut declarator = Declarator {
            name: String::new(),
            word: None,
            offset: self.offset(),
            layers: Vec::new(),
            attributes,
        };
        match self.peek() {
            Kind::Word(word) if !is_keyword(word) => {
                self.bump();
                declarator.word = Some(word);
                declarator.name = self.qualified(word);
            }
            Kind::Sign("(") if self.inner_declarator() => {
                self.bump();
                let inner = self.declarator()?;
                self.expect(")")?;
                let attributes = std::mem::take(&mut declarator.attributes);
                declarator =
                    Declarator { attributes: attributes.merged(inner.attributes.clone()), ..inner };
            }
            _ => {}
        }
        self.suffixes(&mut declarator.layers)?;
        declarator.layers.extend(pointers.into_iter().rev().map(Layer::Pointer));
        let mut behind = Attributes::default();
        while self.attributes(&mut behind)? || self.peek() == Kind::Word("OPTIONAL") {
            if self.peek() == Kind::Word("OPTIONAL") {
                self.bump();
            }
        }
        declarator.attributes = declarator.attributes.merged(behind);
        Ok(declarator)
    }

    /// `__ptr32` or `__ptr64` behind a star.
    fn pointer_size(&mut self, pointers: &mut [Option<u32>]) -> Result<(), CError> {
        let size = if self.peek() == Kind::Word("__ptr32") { 4 } else { 8 };
        let own = self.types.organization().pointer;
        match pointers.last_mut() {
            Some(last) => *last = (size != own).then_some(size),
            None => return Err(self.error("this word stands behind the * of a pointer")),
        }
        self.bump();
        Ok(())
    }

    /// `a::b` as one name.
    fn qualified(&mut self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.peek() == Kind::Sign("::")
            && let Kind::Word(next) = self.ahead(1)
        {
            name = format!("{name}::{next}");
            self.bump();
            self.bump();
        }
        name
    }

    /// Whether the parenthesis ahead opens a declarator, not parameters.
    fn inner_declarator(&self) -> bool {
        match self.ahead(1) {
            Kind::Sign("*" | "(" | "&" | "[") => true,
            Kind::Word("__attribute__" | "__declspec") => true,
            Kind::Word(word) => match self.remark(word) {
                Remark::Convention(_) => true,
                Remark::Ignored | Remark::Annotation => false,
                Remark::Other => {
                    !(is_arithmetic(word)
                        || ["struct", "union", "enum"].contains(&word)
                        || self.knows_type(word))
                }
            },
            _ => false,
        }
    }

    fn suffixes(&mut self, layers: &mut Vec<Layer>) -> Result<(), CError> {
        loop {
            if self.peek() == Kind::Sign("[") && self.ahead(1) != Kind::Sign("[") {
                self.bump();
                layers.push(Layer::Array(self.array_length()?));
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

    /// What stands in the brackets of an array, and the bracket that closes them.
    fn array_length(&mut self) -> Result<Option<u32>, CError> {
        while let Kind::Word(word) = self.peek() {
            if !matches!(self.remark(word), Remark::Ignored) {
                break;
            }
            self.bump();
        }
        if self.accept("]") {
            return Ok(None);
        }
        // A length that only the caller knows, of a parameter.
        if self.peek() == Kind::Sign("*") && self.ahead(1) == Kind::Sign("]") {
            self.bump();
            self.bump();
            return Ok(None);
        }
        let start = self.offset();
        let unknown = match self.peek() {
            Kind::Word(word) => {
                self.depth_of_parameters()
                    && !self.names_constant(word)
                    && !self.begins_type(0)
                    && !["sizeof", "_Alignof", "alignof"].contains(&word)
            }
            _ => false,
        };
        if unknown {
            while !matches!(self.peek(), Kind::Sign("]") | Kind::End) {
                self.bump();
            }
            self.expect("]")?;
            return Ok(None);
        }
        let count = self.constant()?.number;
        self.expect("]")?;
        let count = u32::try_from(count).ok().filter(|n| *n <= i32::MAX as u32);
        let message = "an array has 0 to 2147483647 elements";
        count.map(Some).ok_or_else(|| self.error_at(start, message))
    }

    fn parameters(&mut self) -> Result<(Vec<SignatureParameter>, bool), CError> {
        self.inside_parameters += 1;
        let parameters = self.parameter_list();
        self.inside_parameters -= 1;
        parameters
    }

    fn depth_of_parameters(&self) -> bool {
        self.inside_parameters > 0
    }

    fn parameter_list(&mut self) -> Result<(Vec<SignatureParameter>, bool), CError> {
        let mut parameters = Vec::new();
        if self.accept(")") {
            return Ok((parameters, false));
        }
        loop {
            if self.accept("...") {
                self.expect(")")?;
                return Ok((parameters, true));
            }
            let start = self.offset();
            let base = self.base()?;
            let mut declarator = self.declarator()?;
            let name: Arc<str> = std::mem::take(&mut declarator.name).into();
            // Arrays and functions decay to pointers, those behind typedefs as well.
            match declarator.layers.first() {
                Some(Layer::Array(_)) => declarator.layers[0] = Layer::Pointer(None),
                Some(Layer::Function(..)) => declarator.layers.insert(0, Layer::Pointer(None)),
                _ => {}
            }
            let attributes = base.attributes.clone().merged(declarator.attributes.clone());
            let data_type = self.wrap(&base, declarator)?;
            let data_type = self.modified(data_type, &attributes)?;
            let data_type = self.decayed(data_type);
            let void = self.types.as_builtin(data_type) == Some(Builtin::Void);
            if void && parameters.is_empty() && name.is_empty() && self.accept(")") {
                return Ok((parameters, false));
            }
            if void {
                return Err(self.error_at(start, "a parameter cannot be void"));
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

    fn decayed(&mut self, data_type: TypeId) -> TypeId {
        match self.types.get(self.types.resolve(data_type)).map(|known| known.kind.clone()) {
            Some(TypeKind::Array { element, .. }) => self.types.pointer_to(element),
            Some(TypeKind::Function(_)) => self.types.pointer_to(data_type),
            _ => data_type,
        }
    }

    /// Wraps a base type in the layers of a declarator, outermost layer first.
    pub(super) fn wrap(
        &mut self,
        base: &Base,
        declarator: Declarator<'a>,
    ) -> Result<TypeId, CError> {
        let mut data_type = base.data_type;
        let mut convention =
            declarator.attributes.convention.or_else(|| base.attributes.convention.clone());
        // The convention is that of the function next to the name.
        let nearest =
            declarator.layers.iter().position(|layer| matches!(layer, Layer::Function(..)));
        for (index, layer) in declarator.layers.into_iter().enumerate().rev() {
            data_type = match layer {
                Layer::Pointer(None) => self.types.pointer_to(data_type),
                Layer::Pointer(Some(size)) => self.sized_pointer(data_type, size),
                Layer::Array(count) => self.array(data_type, count, declarator.offset)?,
                Layer::Function(parameters, varargs) => {
                    self.check_returned(data_type, declarator.offset)?;
                    let own = if Some(index) == nearest { convention.take() } else { None };
                    self.function_type(data_type, parameters, varargs, own)
                }
            };
        }
        Ok(data_type)
    }

    /// Functions return neither functions nor arrays.
    pub(super) fn check_returned(&self, returned: TypeId, offset: usize) -> Result<(), CError> {
        match self.types.get(self.types.resolve(returned)).map(|known| &known.kind) {
            Some(TypeKind::Function(_) | TypeKind::Array { .. }) => {
                Err(self.error_at(offset, "a function returns no function and no array"))
            }
            _ => Ok(()),
        }
    }

    fn array(
        &mut self,
        element: TypeId,
        count: Option<u32>,
        offset: usize,
    ) -> Result<TypeId, CError> {
        let (length, alignment) = match self.types.get(element) {
            Some(known) => (known.length, known.alignment),
            None => (None, 1),
        };
        let Some(length) = length else {
            let message = format!("{} has no size yet", self.types.name(element));
            return Err(self.error_at(offset, message));
        };
        if self.types.as_builtin(element) == Some(Builtin::Void) {
            return Err(self.error_at(offset, "there is no array of void"));
        }
        if !length.is_multiple_of(alignment.max(1)) {
            let message = "the elements of this array are aligned to more than their size";
            return Err(self.error_at(offset, message));
        }
        if u64::from(length) * u64::from(count.unwrap_or(0)) > i32::MAX as u64 {
            return Err(self.error_at(offset, "this array is too large"));
        }
        Ok(self.types.array_of(element, count.unwrap_or(0)))
    }

    /// A pointer of another size than the program's.
    fn sized_pointer(&mut self, target: TypeId, size: u32) -> TypeId {
        let (category, name) = match self.types.get(target) {
            Some(known) => (Arc::clone(&known.category), Arc::clone(&known.name)),
            None => ("/".into(), "void".into()),
        };
        self.types.add(DataType {
            category,
            name: format!("{name} *{}", size * 8).into(),
            length: Some(size),
            alignment: self.types.organization().alignment(size),
            description: "".into(),
            kind: TypeKind::Pointer(Some(target)),
            used: true,
        })
    }

    /// An unnamed function type, named after its content so that equal ones are one type.
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
        let called = convention.as_deref().map(|name| format!("{name} ")).unwrap_or_default();
        let name = format!("_func_{called}{}({})", self.types.name(return_type), names.join(","));
        let name: String = name.chars().take(LONGEST).collect();
        let function =
            FunctionType { return_type, parameters, convention, varargs, no_return: false };
        let mut own = DataType {
            category: Arc::clone(&self.category),
            name: name.as_str().into(),
            length: None,
            alignment: 1,
            description: "".into(),
            kind: TypeKind::Function(function),
            used: true,
        };
        let mut number = 1;
        loop {
            let Some(known) = self.types.at_path(&own.path()) else {
                return self.types.add(own);
            };
            match (self.types.get(known).map(|known| &known.kind), &own.kind) {
                (Some(TypeKind::Function(a)), TypeKind::Function(b)) if is_same(a, b) => {
                    return known;
                }
                _ => number += 1,
            }
            own.name = format!("{name}_{number}").into();
        }
    }
}

/// Whether a word cannot be the name of anything.
fn is_keyword(word: &str) -> bool {
    is_arithmetic(word)
        || ["struct", "union", "enum", "typedef", "sizeof", "return", "typeof"].contains(&word)
}

/// Whether two function types differ in names at most.
fn is_same(a: &FunctionType, b: &FunctionType) -> bool {
    let types = |f: &FunctionType| f.parameters.iter().map(|p| p.data_type).collect::<Vec<_>>();
    a.return_type == b.return_type
        && a.convention == b.convention
        && a.varargs == b.varargs
        && types(a) == types(b)
}
