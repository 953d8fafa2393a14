//! The kinds of facts that are scored, and the facts themselves as rows of text.

use clap::ValueEnum;

/// A kind of fact. Each is scored on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Category {
    /// Memory blocks: name, range, permissions, whether they have bytes.
    Blocks,
    /// Instructions: address and length.
    Instructions,
    /// Functions in memory, by entry.
    Functions,
    /// Names of those functions, with their namespaces.
    Names,
    /// Bodies of those functions: every range.
    Bodies,
    /// Functions that never return.
    NoReturn,
    /// Symbols: address, name, type; synthetic ones too.
    Symbols,
    /// References: from, to, type; those to the stack too.
    References,
    /// Defined data: address, type, length.
    Data,
    /// Strings: address and length.
    Strings,
    /// Functions whose C text is equal.
    Text,
    /// Functions whose C text is equal but for names of variables.
    TextButNames,
    /// Functions whose C text is equal, or is once what only we know never to return is taken to
    /// return (`docs/differences.md`).
    Explained,
}

impl Category {
    /// The heading in tables.
    pub fn title(self) -> &'static str {
        match self {
            Category::Blocks => "blocks",
            Category::Instructions => "instrs",
            Category::Functions => "functions",
            Category::Names => "names",
            Category::Bodies => "bodies",
            Category::NoReturn => "noreturn",
            Category::Symbols => "symbols",
            Category::References => "refs",
            Category::Data => "data",
            Category::Strings => "strings",
            Category::Text => "C text",
            Category::TextButNames => "C ~names",
            Category::Explained => "C explained",
        }
    }

    /// Whether scoring it needs the decompiler.
    pub fn is_text(self) -> bool {
        matches!(self, Category::Text | Category::TextButNames | Category::Explained)
    }
}

/// The facts of one category: rows that two sides can compare, in any order.
pub type Facts = Vec<String>;

/// An address as both sides write it: no `ram:` before it, one colon after the
/// name of another space.
pub(crate) fn plain_address(text: &str) -> String {
    let text = text.strip_prefix("ram:").unwrap_or(text);
    text.replace("::", ":")
}
