//! Preprocessing of C text (translation phase 4): conditionals, object-like macros, line markers,
//! layout pragmas. Macros with arguments are known but not expanded, and no file is included.

mod conditions;
mod pragma;
mod predefined;

use std::collections::HashMap;
use std::rc::Rc;

use program::data_type::DataOrganization;

use crate::lexer::{Fault, Kind, Lexer, Token, line_length};

/// Most tokens that a text may have after expansion.
const MAX_TOKENS: usize = 2_000_000;
/// Deepest chain of macros in macros, and of groups in groups.
const MAX_DEPTH: usize = 64;

/// What a macro stands for.
#[derive(Clone)]
enum Macro<'a> {
    Tokens(Rc<[Token<'a>]>),
    /// It takes arguments.
    Function,
}

/// One `#if` and what became of its branches.
struct Group {
    offset: usize,
    /// Whether what is around it is read.
    outer: bool,
    /// Whether a branch was read.
    taken: bool,
    /// Whether the present branch is read.
    active: bool,
    last: bool,
}

/// Cuts a text into the tokens that the parser reads, an end last.
pub(crate) fn tokens<'a>(text: &'a str, sizes: &DataOrganization) -> Result<Vec<Token<'a>>, Fault> {
    let mut preprocessor = Preprocessor {
        lexer: Lexer::new(text),
        sizes: *sizes,
        macros: predefined::macros(sizes),
        groups: Vec::new(),
        out: Vec::new(),
    };
    preprocessor.run()?;
    Ok(preprocessor.out)
}

/// The file and line that the line marker before a place names.
pub(crate) fn origin(text: &str, offset: usize) -> Option<String> {
    let before = text.get(..offset.min(text.len()))?;
    let mut found: Option<(&str, usize)> = None;
    for line in before.split('\n') {
        if let Some((file, number)) = marker(line) {
            found = Some((file, number));
        } else if let Some((_, number)) = &mut found {
            *number += 1;
        }
    }
    let (file, next) = found?;
    let file: String = file.chars().take(200).collect();
    Some(format!("{file}, line {}", next.saturating_sub(1)))
}

/// A line marker: the file, and the number of the line that follows.
fn marker(line: &str) -> Option<(&str, usize)> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start();
    let (number, rest) = rest.split_once(' ')?;
    let file = rest.trim_start().strip_prefix('"')?.split('"').next()?;
    Some((file, number.parse().ok()?))
}

struct Preprocessor<'a> {
    lexer: Lexer<'a>,
    sizes: DataOrganization,
    macros: HashMap<&'a str, Macro<'a>>,
    groups: Vec<Group>,
    out: Vec<Token<'a>>,
}

impl<'a> Preprocessor<'a> {
    fn run(&mut self) -> Result<(), Fault> {
        loop {
            self.lexer.skip_blank()?;
            if self.lexer.line_start && self.lexer.rest().starts_with('#') {
                self.directive()?;
                continue;
            }
            if !self.active() {
                if self.lexer.rest().is_empty() {
                    break;
                }
                self.skip_line();
                continue;
            }
            let token = self.lexer.token()?;
            match token.kind {
                Kind::End => {
                    self.push(token)?;
                    break;
                }
                Kind::Word("_Pragma" | "__pragma") => self.pragma_operator(token)?,
                Kind::Word(word) if self.macros.contains_key(word) => self.expand(word, token)?,
                _ => self.push(token)?,
            }
        }
        match self.groups.last() {
            Some(group) => Err((group.offset, "this has no #endif".to_owned())),
            None => Ok(()),
        }
    }

    fn active(&self) -> bool {
        self.groups.last().is_none_or(|group| group.active)
    }

    fn push(&mut self, token: Token<'a>) -> Result<(), Fault> {
        if self.out.len() >= MAX_TOKENS {
            return Err((token.offset, format!("the text has more than {MAX_TOKENS} tokens")));
        }
        self.out.push(token);
        Ok(())
    }

    /// Skips what is left of a line that is not read, up to a comment.
    fn skip_line(&mut self) {
        let rest = self.lexer.rest();
        let line = line_length(rest);
        let comment = rest.get(..line).and_then(|line| line.find("/*"));
        self.lexer.at += comment.unwrap_or(line).max(1);
        while !self.lexer.text.is_char_boundary(self.lexer.at) {
            self.lexer.at += 1;
        }
        self.lexer.line_start = false;
    }

    /// Puts what a macro stands for in its place.
    fn expand(&mut self, word: &'a str, at: Token<'a>) -> Result<(), Fault> {
        let next = {
            let mut ahead = self.lexer;
            ahead.token().map(|token| token.kind)
        };
        let mut made = Vec::new();
        let called = matches!(next, Ok(Kind::Sign("(")));
        expand_into(&self.macros, word, at, called, &mut Vec::new(), &mut made)?;
        made.into_iter().try_for_each(|token| self.push(token))
    }

    /// One line that begins with `#`.
    fn directive(&mut self) -> Result<(), Fault> {
        let start = self.lexer.at;
        let end = start + directive_length(self.lexer.rest());
        let line = self.lexer.text.get(..end).unwrap_or(self.lexer.text);
        let mut line = Lexer { text: line, at: start + 1, line_start: false };
        self.lexer.at = end;
        let name = match line.token()?.kind {
            Kind::Word(name) => name,
            // A line marker, or nothing at all.
            Kind::Number(_) | Kind::End => return Ok(()),
            _ => return Err((start, "after # a directive is expected".to_owned())),
        };
        match name {
            "if" | "ifdef" | "ifndef" => return self.open_group(start, name, line),
            "elif" | "elifdef" | "elifndef" | "else" | "endif" => {
                return self.next_branch(start, name, line);
            }
            _ if !self.active() => return Ok(()),
            _ => {}
        }
        match name {
            "define" => self.define(line),
            "undef" => {
                if let Kind::Word(word) = line.token()?.kind {
                    self.macros.remove(word);
                }
                Ok(())
            }
            "pragma" => self.pragma(line, start),
            "include" | "include_next" | "import" => self.include(line, start),
            "error" => {
                let text: String = line.rest().trim().chars().take(200).collect();
                Err((start, format!("#error {text}")))
            }
            "line" | "warning" | "ident" | "sccs" | "assert" | "unassert" => Ok(()),
            _ => Err((start, format!("#{name} is no directive that is understood"))),
        }
    }

    fn define(&mut self, mut line: Lexer<'a>) -> Result<(), Fault> {
        let token = line.token()?;
        let Kind::Word(name) = token.kind else {
            return Err((token.offset, "a name to define is expected".to_owned()));
        };
        if line.rest().starts_with('(') {
            self.macros.insert(name, Macro::Function);
            return Ok(());
        }
        let mut body = Vec::new();
        loop {
            let token = line.token()?;
            if token.kind == Kind::End {
                break;
            }
            body.push(token);
        }
        self.macros.insert(name, Macro::Tokens(body.into()));
        Ok(())
    }
}

/// What a word stands for, macros in macros followed; a macro inside itself stands for itself.
fn expand_into<'a>(
    macros: &HashMap<&'a str, Macro<'a>>,
    word: &'a str,
    at: Token<'a>,
    called: bool,
    open: &mut Vec<&'a str>,
    made: &mut Vec<Token<'a>>,
) -> Result<(), Fault> {
    let body = match macros.get(word).filter(|_| !open.contains(&word)) {
        None => {
            made.push(Token { kind: Kind::Word(word), ..at });
            return Ok(());
        }
        Some(Macro::Function) if !called => {
            made.push(Token { kind: Kind::Word(word), ..at });
            return Ok(());
        }
        Some(Macro::Function) => {
            let message = format!(
                "{word} is a macro with arguments, which is not expanded here; \
                 give the text that the preprocessor makes of it (gcc -E)"
            );
            return Err((at.offset, message));
        }
        Some(Macro::Tokens(body)) => Rc::clone(body),
    };
    if open.len() >= MAX_DEPTH || made.len() > MAX_TOKENS {
        return Err((at.offset, format!("what {word} stands for is too long or too deep")));
    }
    open.push(word);
    for (index, token) in body.iter().enumerate() {
        let called = match body.get(index + 1) {
            Some(next) => next.kind == Kind::Sign("("),
            None => called,
        };
        match token.kind {
            Kind::Word(inner) => expand_into(macros, inner, at, called, open, made)?,
            kind => made.push(Token { kind, ..at }),
        }
    }
    open.pop();
    Ok(())
}

/// Bytes of a directive: to the end of its line, splices and comments followed.
fn directive_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = text.get(at..).unwrap_or("");
        match byte {
            b'\n' => return at,
            b'\\' if rest.starts_with("\\\r\n") => at += 3,
            b'\\' => at += 2,
            b'/' if rest.starts_with("//") => return at + line_length(rest),
            b'/' if rest.starts_with("/*") => {
                at += rest.get(2..).and_then(|r| r.find("*/")).map_or(rest.len(), |end| end + 4);
            }
            b'"' => {
                let line = rest.split('\n').next().unwrap_or("");
                at += line.get(1..).and_then(|r| r.find('"')).map_or(1, |end| end + 2);
            }
            _ => at += 1,
        }
    }
    text.len()
}
