//! C declarations as people write them: text to data types and prototypes.
//!
//! Understands type names of several words, pointers, arrays, function pointers, structures,
//! unions, enums, typedefs, bit-fields, nesting and self-reference; the alignment, packing and
//! vector attributes of gcc and Microsoft; `#pragma pack`; constants of `#define`; conditionals;
//! text that a preprocessor wrote. It lays structures out as the program's compiler does. It is
//! no compiler: function bodies and initial values are skipped, and what it does not understand
//! is refused with its place.

mod constant;
mod lexer;
mod parser;
mod preprocessor;

use program::TypeId;
use program::data_type::{DataTypes, FunctionType};

/// What is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct CError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

impl CError {
    pub(crate) fn new(text: &str, offset: usize, message: impl Into<String>) -> CError {
        let Place { line, column } = Place::of(text, offset);
        let mut message = message.into();
        if let Some(origin) = preprocessor::origin(text, offset) {
            message = format!("{message} ({origin})");
        }
        CError { line, column, message }
    }
}

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// The place of a byte. O(bytes before it).
    pub fn of(text: &str, offset: usize) -> Place {
        let before = text.get(..offset.min(text.len())).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Place { line, column }
    }
}

/// One thing that a text declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Declaration {
    /// A structure, union, enum or typedef.
    Type(TypeId),
    /// A function.
    Function(Prototype),
    /// A variable.
    Variable {
        /// Its name.
        name: String,
        /// Its type.
        data_type: TypeId,
    },
}

/// One thing that a text declares, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// What it is.
    pub what: Declaration,
    /// Where it is named, in bytes from the start; [`Place::of`] tells the line.
    pub offset: usize,
}

/// A function's name and type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prototype {
    /// Its name; empty when the text gives none.
    pub name: String,
    /// How it is called.
    pub function: FunctionType,
}

/// Largest text that is read, in bytes.
pub const MAX_TEXT: usize = 8 << 20;

/// Reads every declaration of a text. New types go under `category`; a type
/// that exists there already is replaced when the text defines it, and used
/// when the text only names it.
pub fn parse(
    text: &str,
    types: &mut DataTypes,
    category: &str,
) -> Result<Vec<Declaration>, CError> {
    Ok(parse_places(text, types, category)?.into_iter().map(|declared| declared.what).collect())
}

/// As [`parse`], with the place of each declaration.
pub fn parse_places(
    text: &str,
    types: &mut DataTypes,
    category: &str,
) -> Result<Vec<Declared>, CError> {
    parser::Parser::new(text, types, category)?.declarations()
}

/// Reads one type, as in a cast: `unsigned char *[4]`.
pub fn parse_type(text: &str, types: &mut DataTypes) -> Result<TypeId, CError> {
    parser::Parser::new(text, types, "/")?.type_name()
}

/// Reads one function declaration; the final semicolon may be left out.
pub fn parse_prototype(text: &str, types: &mut DataTypes) -> Result<Prototype, CError> {
    let declarations = parse(text, types, "/")?.into_iter();
    // A type that is only named is made on the way.
    let mut others = declarations.filter(|one| !matches!(one, Declaration::Type(_)));
    match (others.next(), others.next()) {
        (Some(Declaration::Function(prototype)), None) => Ok(prototype),
        _ => Err(CError::new(text, 0, "write one function declaration, such as int f(char *s)")),
    }
}

#[cfg(test)]
mod tests;
