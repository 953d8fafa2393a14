//! Types in the text form of the GNU demangler: what is pointed to, how often, and by which name.

use super::signature::{balanced_end, parameters};
use crate::spelling::{condensed, path, symbol_name};

/// How deep types may be nested.
const DEEPEST: u32 = 32;

/// A type as far as it matters how it is passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// Namespaces of its name, outermost first.
    pub path: Vec<String>,
    /// Its name without arguments of templates; empty for a function.
    pub name: String,
    /// How often it is pointed to, references counted.
    pub stars: usize,
    /// What kind of type the name stands for.
    pub kind: TypeKind,
}

/// What kind of type is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeKind {
    /// A type with a name.
    Named,
    /// A function.
    Function {
        /// What it returns.
        returned: Box<Type>,
        /// What it takes.
        parameters: Vec<Type>,
    },
}

impl Type {
    /// Whether it is nothing at all.
    pub fn is_void(&self) -> bool {
        self.stars == 0 && self.path.is_empty() && self.name == "void"
    }
}

/// Reads a type; `None` for what has no name.
pub(super) fn read(text: &str) -> Option<Type> {
    read_nested(text, 0)
}

/// Reads a type inside of others.
pub(super) fn read_nested(text: &str, depth: u32) -> Option<Type> {
    Reader { depth }.read(text)
}

#[derive(Clone, Copy)]
struct Reader {
    depth: u32,
}

impl Reader {
    fn read(self, text: &str) -> Option<Type> {
        let text = text.trim();
        if self.depth > DEEPEST || text.is_empty() {
            return None;
        }
        let parts = path(text);
        let (last, spaces) = parts.split_last()?;
        if !spaces.is_empty() && is_marks(last) {
            return member_pointer(text);
        }
        let spaces: Vec<String> = spaces.iter().map(|part| symbol_name(&condensed(part))).collect();
        if let Some(array) = array(last, &spaces) {
            return Some(array);
        }
        let first = last.chars().next()?;
        if first == '{' {
            return Some(closure(last, spaces));
        }
        let end = last.find(|c| !is_name(c)).unwrap_or(last.len());
        let (name, rest) = last.split_at_checked(end)?;
        let (name, rest) = longer(name, rest);
        if name.is_empty() {
            return None;
        }
        let rest = match rest.trim_start().starts_with('<') {
            true => rest.get(balanced_end(rest, 0, '<', '>')? + 1..)?,
            false => rest,
        };
        if rest.trim_start().starts_with('(') {
            return self.function(last, spaces);
        }
        let name = symbol_name(&name);
        Some(Type { path: spaces, name, stars: stars(rest), kind: TypeKind::Named })
    }

    /// A pointer to a function, `void (*)(int)`; a function itself, `void (int)`, counts as one.
    fn function(self, text: &str, spaces: Vec<String>) -> Option<Type> {
        let deeper = Reader { depth: self.depth + 1 };
        let open = text.find('(')?;
        let close = balanced_end(text, open, '(', ')')?;
        let mut returned = deeper.read(text.get(..open)?)?;
        returned.path = spaces;
        let rest = text.get(close + 1..)?;
        let (list, after) = match rest.trim_start().starts_with('(') {
            true => {
                let start = close + 1 + rest.find('(')?;
                let end = text.rfind(')')?;
                (text.get(start + 1..end)?, text.get(end + 1..)?)
            }
            false => (text.get(open + 1..close)?, rest),
        };
        let (parameters, _) = parameters(list, self.depth + 1)?;
        let kind = TypeKind::Function { returned: Box::new(returned), parameters };
        Some(Type { path: Vec::new(), name: String::new(), stars: 1 + stars(after), kind })
    }
}

/// Whether a text is only stars and marks, as behind the `::` of a pointer to a member.
fn is_marks(text: &str) -> bool {
    text.replace("const", "").chars().all(|c| matches!(c, '*' | '&') || c.is_whitespace())
}

/// A pointer to a member, `int A::*`: shown as a pointer to a type of that name inside of the class.
fn member_pointer(text: &str) -> Option<Type> {
    let (whole, _) = text.rsplit_once("::")?;
    let spelled = |parts: &[&str]| parts.iter().map(|p| symbol_name(&condensed(p))).collect();
    let (name, spaces) = match whole.split_once(' ') {
        Some((name, class)) => {
            let name = path(name).last().map(|name| (*name).to_owned())?;
            (name, spelled(&path(class)))
        }
        None => {
            let parts = path(whole);
            let (last, spaces) = parts.split_last()?;
            ((*last).to_owned(), spelled(spaces))
        }
    };
    Some(Type { path: spaces, name: symbol_name(&name), stars: 1, kind: TypeKind::Named })
}

/// A pointer or a reference to an array, `char const (&) [5]`: it points to an element.
fn array(text: &str, spaces: &[String]) -> Option<Type> {
    let open = ["(&)", "(*)"].iter().find_map(|mark| {
        let at = text.find(mark)?;
        text.get(at + mark.len()..)?.trim_start().starts_with('[').then_some(at)
    })?;
    let before = text.get(..open)?.trim_end();
    let mut whole = before;
    while let Some(shorter) =
        whole.strip_suffix("const").or_else(|| whole.strip_suffix(['*', '&', ' ']))
    {
        whole = shorter;
    }
    let middle = before.get(whole.len()..).unwrap_or("");
    let name = symbol_name(&condensed(whole));
    let stars = 1 + middle.matches('*').count();
    (!name.is_empty()).then(|| Type { path: spaces.to_vec(), name, stars, kind: TypeKind::Named })
}

/// The type of a closure, `{lambda(int)#1}`, whose name has its parameters in it.
fn closure(text: &str, spaces: Vec<String>) -> Type {
    let end = balanced_end(text, 0, '{', '}').map_or(text.len(), |end| end + 1);
    let (name, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    Type { path: spaces, name: symbol_name(name), stars: stars(rest), kind: TypeKind::Named }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, ':' | '_' | '$')
}

/// The names of numbers that are more than one word.
fn longer<'a>(name: &'a str, rest: &'a str) -> (String, &'a str) {
    let mut words = vec![name];
    let mut rest = rest;
    let known = |words: &[&str], next: &str| {
        matches!(
            (words, next),
            (["long"], "long" | "double")
                | (["unsigned"], "long" | "int" | "short" | "char")
                | (["unsigned", "long"], "long")
        )
    };
    while let Some(after) = rest.strip_prefix(' ') {
        let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
        let Some((next, more)) = after.split_at_checked(end) else { break };
        if !known(&words, next) {
            break;
        }
        words.push(next);
        rest = more;
    }
    (words.join(" "), rest)
}

/// How often something is pointed to by what stands behind its name: stars, and one for references.
fn stars(rest: &str) -> usize {
    rest.matches('*').count() + usize::from(rest.contains('&'))
}
