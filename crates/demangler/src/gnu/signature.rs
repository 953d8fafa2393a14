//! Prototypes out of the text of a demangled function: parameter list, result, marks.

use super::types::{self, Type};
use super::{OPERATOR, overloaded_place};
use crate::spelling::condensed;

/// Longest text that is taken apart, and most parameters.
const LONGEST: usize = 4096;
const MOST: usize = 64;

/// What a function's text says of its prototype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prototype {
    /// What it returns, where the text says so: only templates do.
    pub returned: Option<Type>,
    /// What it takes, its object aside.
    pub parameters: Vec<Type>,
    /// Whether more may follow.
    pub varargs: bool,
    /// Whether only methods have such a text: it ends with `const`.
    pub is_const: bool,
}

/// The parts of a function's text.
pub(super) struct FunctionText<'a> {
    /// What stands before the parameter list.
    pub prefix: &'a str,
    /// What stands between its parentheses.
    pub parameters: &'a str,
}

impl FunctionText<'_> {
    /// The qualified name, without blanks.
    pub fn name(&self) -> String {
        let prefix = condensed(self.prefix);
        prefix.rsplit(' ').next().unwrap_or_default().to_owned()
    }

    /// What stands before the name.
    fn returned(&self) -> Option<String> {
        let prefix = condensed(self.prefix);
        prefix.rsplit_once(' ').map(|(returned, _)| returned.to_owned())
    }
}

/// Finds the parameter list of a text: the last one, unless it belongs to a namespace or stands
/// inside of a template's arguments.
pub(super) fn function_text(text: &str) -> Option<FunctionText<'_>> {
    let end = text.rfind(')')?;
    if text.as_bytes().get(end + 1) == Some(&b':') {
        return None;
    }
    let start = balanced_start(text, end)?;
    let template = balanced_end(text, 0, '<', '>');
    let template_start = template.and_then(|end| matching_start(text, end));
    if template_start.zip(template).is_some_and(|(from, to)| start > from && start < to) {
        return None;
    }
    let prefix = text.get(..start)?.trim();
    Some(FunctionText { prefix, parameters: text.get(start + 1..end)?.trim() })
}

/// The parenthesis that opens the list that is closed at `end`.
fn balanced_start(text: &str, end: usize) -> Option<usize> {
    let mut depth = 0i32;
    for (at, byte) in text.get(..end)?.bytes().enumerate().rev() {
        match byte {
            b'(' if depth == 0 => return Some(at),
            b')' | b'>' => depth += 1,
            b'(' | b'<' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The angle bracket that opens what is closed at `end`.
fn matching_start(text: &str, end: usize) -> Option<usize> {
    let mut depth = 0i32;
    for (at, byte) in text.get(..=end)?.bytes().enumerate().rev() {
        match byte {
            b'>' => depth += 1,
            b'<' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Where the first bracket from `start` on is closed.
pub(super) fn balanced_end(text: &str, start: usize, open: char, close: char) -> Option<usize> {
    let mut depth = 0i32;
    let mut found = false;
    for (at, c) in text.get(start..)?.char_indices() {
        if c == open {
            depth += 1;
            found = true;
        } else if c == close {
            depth -= 1;
        }
        if found && depth == 0 {
            return Some(start + at);
        }
    }
    None
}

/// What a text such as `void f<int>(char const*, ...)` says of a function; `None` for anything else,
/// and where a type cannot be read.
pub fn signature(text: &str) -> Option<Prototype> {
    if text.len() > LONGEST || text.contains('\n') {
        return None;
    }
    let text = text.rsplit_once(" thunk to ").map_or(text, |(_, rest)| rest);
    if [" for ", " keyed to "].iter().any(|words| text.contains(words)) {
        return None;
    }
    let is_const = text.ends_with(" const");
    let plain = without_operator(text);
    let function = function_text(&plain)?;
    let name = function.name();
    let returned = match allocation(&plain) {
        Some(returned) => Some(returned),
        None => conversion(&plain).or_else(|| function.returned()),
    };
    let returned = returned.filter(|_| !name.is_empty());
    let returned = returned.filter(|text| !text.starts_with("decltype ("));
    let returned = match returned {
        Some(text) => Some(types::read(&text)?),
        None => None,
    };
    let (parameters, varargs) = parameters(function.parameters, 0)?;
    Some(Prototype { returned, parameters, varargs, is_const })
}

/// The text with a plain word for an overloaded operator, whose symbols may look like brackets.
fn without_operator(text: &str) -> String {
    let Some((start, end)) = overloaded_place(text) else { return text.to_owned() };
    let after = text.get(end..).unwrap_or("");
    let skipped = match after.trim_start().starts_with('<') {
        true => balanced_end(after, 0, '<', '>').map_or(0, |end| end + 1),
        false => 0,
    };
    let part = |range: Option<&str>| range.unwrap_or("").to_owned();
    format!("{}{OPERATOR}{}", part(text.get(..start)), part(after.get(skipped..)))
}

/// What `operator new` and `operator delete` return.
fn allocation(text: &str) -> Option<String> {
    let (_, rest) = text.rsplit_once("operator ")?;
    let word = rest.split('(').next()?.trim_end_matches("[]");
    match word {
        "new" => Some("void*".into()),
        "delete" => Some("void".into()),
        _ => None,
    }
}

/// What a change of type returns.
fn conversion(text: &str) -> Option<String> {
    let (before, rest) = text.rsplit_once("operator ")?;
    let to = rest.get(..rest.rfind("()")?)?;
    before.ends_with("::").then(|| to.to_owned())
}

/// The types of a parameter list that is nested `depth` times, and whether more may follow.
pub(super) fn parameters(list: &str, depth: u32) -> Option<(Vec<Type>, bool)> {
    let (mut found, mut varargs) = (Vec::new(), false);
    for piece in pieces(list).into_iter().take(MOST) {
        if piece == "..." || piece.ends_with(")...") {
            varargs = true;
            break;
        }
        let read = types::read_nested(piece, depth)?;
        if read.is_void() {
            break;
        }
        found.push(read);
    }
    Some((found, varargs))
}

/// The parts between commas outside of brackets.
pub(super) fn pieces(list: &str) -> Vec<&str> {
    // Functions marked `const` have one more pair of parentheses in their type.
    let inner = list.strip_prefix("const").unwrap_or(list).trim();
    let inner = inner.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
    let list = inner.unwrap_or(list);
    let (mut found, mut depth, mut start) = (Vec::new(), 0i32, 0);
    for (at, c) in list.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(list.get(start..at).map(str::trim));
                start = at + 1;
            }
            _ => {}
        }
    }
    found.extend(list.get(start..).map(str::trim).filter(|piece| !piece.is_empty()));
    found
}
