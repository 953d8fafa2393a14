//! Declaration specifiers: storage words, qualifiers, conventions, attributes and one type.

use std::sync::Arc;

use program::data_type::{DataType, TypeKind};
use program::{RecordRules, TypeId};

use super::{Attributes, Parser};
use crate::CError;
use crate::lexer::Kind;

/// Words that say nothing about a type's layout.
const IGNORED: [&str; 30] = [
    "const",
    "volatile",
    "restrict",
    "__restrict",
    "__restrict__",
    "extern",
    "static",
    "inline",
    "__inline",
    "__inline__",
    "__forceinline",
    "_inline",
    "__extension__",
    "register",
    "__const",
    "__const__",
    "auto",
    "__volatile__",
    "__volatile",
    "_Thread_local",
    "__thread",
    "thread_local",
    "constexpr",
    "__w64",
    "__unaligned",
    "_Nonnull",
    "_Nullable",
    "_Null_unspecified",
    "__signed_zero__",
    "volatile__",
];
/// Words that name a calling convention, and the convention.
const CONVENTIONS: [(&str, &str); 16] = [
    ("__cdecl", "__cdecl"),
    ("_cdecl", "__cdecl"),
    ("__cdecl__", "__cdecl"),
    ("__stdcall", "__stdcall"),
    ("_stdcall", "__stdcall"),
    ("__stdcall__", "__stdcall"),
    ("__fastcall", "__fastcall"),
    ("_fastcall", "__fastcall"),
    ("__thiscall", "__thiscall"),
    ("_thiscall", "__thiscall"),
    ("__vectorcall", "__vectorcall"),
    ("_vectorcall", "__vectorcall"),
    ("__regcall", "__regcall"),
    ("__pascal", "__pascal"),
    ("MSABI", "MSABI"),
    ("processEntry", "processEntry"),
];
/// Words of Windows' headers that only tell people something.
const REMARKS: [&str; 8] = ["IN", "OUT", "OPTIONAL", "FAR", "NEAR", "CONST", "UNALIGNED", "far"];
/// How annotations of Microsoft's headers begin.
const ANNOTATIONS: [&str; 22] = [
    "_In_",
    "_Out_",
    "_Inout_",
    "_Outptr_",
    "_Reserved_",
    "_Ret_",
    "_Success_",
    "_Check_return_",
    "_Must_inspect_result_",
    "_Field_",
    "_Frees_ptr_",
    "_Null_terminated_",
    "_NullNull_",
    "_Pre_",
    "_Post_",
    "_When_",
    "_At_",
    "_Printf_format_string_",
    "_IRQL_",
    "_Use_decl_annotations_",
    "_Struct_size_bytes_",
    "_Maybenull_",
];

/// What stands before the declarators.
#[derive(Clone)]
pub(super) struct Base {
    pub(super) data_type: TypeId,
    pub(super) typedef: bool,
    pub(super) attributes: Attributes,
    /// Whether the specifier itself defines or declares a type.
    pub(super) defines: bool,
    /// Whether it is a structure or union without a tag that is defined here.
    pub(super) nameless: bool,
}

/// What a word before or between declarators is.
pub(super) enum Remark {
    /// It can be left out.
    Ignored,
    /// It names a calling convention.
    Convention(&'static str),
    /// An annotation, perhaps with arguments.
    Annotation,
    /// None of these.
    Other,
}

impl<'a> Parser<'a> {
    /// What a word means that is neither type nor name.
    pub(super) fn remark(&self, word: &str) -> Remark {
        if IGNORED.contains(&word) {
            return Remark::Ignored;
        }
        if let Some((_, convention)) = CONVENTIONS.iter().find(|(known, _)| *known == word) {
            return Remark::Convention(convention);
        }
        let annotation = word.starts_with('_')
            && word.ends_with('_')
            && ANNOTATIONS.iter().any(|start| word.starts_with(start))
            || word.starts_with("_In_") && !word.starts_with("_In__");
        if annotation {
            return Remark::Annotation;
        }
        let windows = self.types.organization().compiler.rules.is_windows();
        if windows && REMARKS.contains(&word) && !self.names.contains_key(word) {
            return Remark::Ignored;
        }
        Remark::Other
    }

    /// Skips a word that says nothing about layouts, with its arguments; takes a convention over.
    pub(super) fn skip_remark(&mut self, attributes: &mut Attributes) -> Result<bool, CError> {
        let Kind::Word(word) = self.peek() else { return Ok(false) };
        match self.remark(word) {
            Remark::Ignored => self.bump(),
            Remark::Convention(name) => {
                attributes.convention = Some(Arc::from(name));
                self.bump();
            }
            Remark::Annotation => {
                self.bump();
                if self.peek() == Kind::Sign("(") {
                    self.skip_balanced()?;
                }
            }
            Remark::Other => return Ok(false),
        }
        Ok(true)
    }

    /// Storage words, qualifiers, attributes and one type, in any order.
    pub(super) fn base(&mut self) -> Result<Base, CError> {
        self.nested(Self::specifiers)
    }

    fn specifiers(&mut self) -> Result<Base, CError> {
        let mut attributes = Attributes::default();
        let (mut typedef, mut atomic) = (false, false);
        let mut words: Vec<&'a str> = Vec::new();
        let start = self.offset();
        let mut found: Option<(TypeId, bool, bool)> = None;
        loop {
            if self.attributes(&mut attributes)? {
                continue;
            }
            let Kind::Word(word) = self.peek() else { break };
            match word {
                "typedef" => typedef = true,
                "_Noreturn" | "noreturn" if found.is_none() => attributes.no_return = true,
                "_Atomic" => {
                    atomic = true;
                    self.bump();
                    if found.is_none() && words.is_empty() && self.accept("(") {
                        let data_type = self.abstract_type()?;
                        self.expect(")")?;
                        found = Some((data_type, false, false));
                    }
                    continue;
                }
                "struct" | "union" | "enum" if found.is_none() && words.is_empty() => {
                    self.bump();
                    found = Some(self.tagged(word, &attributes)?);
                    continue;
                }
                "typeof" | "__typeof__" | "__typeof" if found.is_none() && words.is_empty() => {
                    self.bump();
                    self.expect("(")?;
                    let data_type = self.abstract_type()?;
                    self.expect(")")?;
                    found = Some((data_type, false, false));
                    continue;
                }
                _ if is_arithmetic(word) && found.is_none() => words.push(word),
                _ if self.skip_remark(&mut attributes)? => continue,
                _ if found.is_none() && words.is_empty() => match self.lookup(word)? {
                    Some(known) => found = Some((known, false, false)),
                    None => return Err(self.unknown_type(word)),
                },
                _ => break,
            }
            self.bump();
        }
        let (data_type, defines, nameless) = match found {
            Some(found) => found,
            None if words.is_empty() => return Err(self.unexpected("a type")),
            None => (self.arithmetic(&words, start)?, false, false),
        };
        let data_type = if atomic { self.atomic(data_type, start)? } else { data_type };
        Ok(Base { data_type, typedef, attributes, defines, nameless })
    }

    /// What is `_Atomic` is aligned to its size, where that is a power of two.
    fn atomic(&mut self, data_type: TypeId, start: usize) -> Result<TypeId, CError> {
        let Some(known) = self.types.get(data_type).cloned() else { return Ok(data_type) };
        let length = known.length.unwrap_or(0);
        if !(length.is_power_of_two() && length <= 16) {
            let message = "the layout of this _Atomic type is not known here";
            return Err(self.error_at(start, message));
        }
        let int = self.types.builtin("int");
        let loose =
            self.types.get(int).is_some_and(|int| int.length == Some(4) && int.alignment < 4);
        // Processors that align nothing to more than two bytes do not align this either.
        if known.alignment >= length || loose {
            return Ok(data_type);
        }
        let kind = TypeKind::Typedef(data_type);
        let name = format!("_Atomic {}", known.name);
        let (category, name) = (Arc::clone(&self.category), Arc::from(name));
        let own = DataType { category, name, alignment: length, kind, ..DataType::clone(&known) };
        Ok(self.types.add(own))
    }

    /// The rules that records are laid out by here.
    pub(super) fn rules(&self, attributes: &Attributes) -> RecordRules {
        let own = self.types.organization().compiler.rules;
        let as_microsoft = attributes.ms_struct.or(self.packing.ms_struct);
        match (own, as_microsoft) {
            (RecordRules::Gcc { .. }, Some(true)) => RecordRules::MinGw,
            (RecordRules::MinGw, Some(false)) => RecordRules::Gcc { aligned_unnamed: false },
            _ => own,
        }
    }

    /// Whether a type begins here, and not an expression.
    pub(super) fn begins_type(&self, ahead: usize) -> bool {
        let Kind::Word(word) = self.ahead(ahead) else { return false };
        if self.enumerators.contains_key(word) {
            return false;
        }
        is_arithmetic(word)
            || ["struct", "union", "enum", "_Atomic", "typeof", "__typeof__"].contains(&word)
            || IGNORED.contains(&word)
            || self.knows_type(word)
    }
}

/// Whether a word is part of the name of an arithmetic type.
pub(super) fn is_arithmetic(word: &str) -> bool {
    const WORDS: [&str; 37] = [
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
        "__int128_t",
        "__uint128_t",
        "__signed__",
        "__signed",
        "__int8",
        "__int16",
        "__int32",
        "__int64",
        "_int64",
        "_Complex",
        "__complex__",
        "_Float16",
        "_Float32",
        "_Float64",
        "_Float128",
        "_Float32x",
        "_Float64x",
        "__float128",
        "__float80",
        "__fp16",
        "__bf16",
        "_Decimal32",
        "_Decimal64",
        "_Decimal128",
        "_BitInt",
        "_Imaginary",
    ];
    WORDS.contains(&word)
}
