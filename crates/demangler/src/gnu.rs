//! Names of C++ in the text form of the GNU demangler, taken apart: namespaces, name, prototype.

mod signature;
mod types;

pub use signature::{Prototype, signature};
pub use types::{Type, TypeKind};

use crate::spelling::{condensed, path, symbol_name};
use signature::{FunctionText, function_text};

/// What a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// Namespaces, outermost first.
    pub path: Vec<String>,
    /// The name.
    pub name: String,
    /// The parameters as they follow the name where it is a namespace: `(int,char*)`.
    pub parameters: Option<String>,
}

/// Words before tables that compilers make, and what the tables are called.
const TABLES: [(&str, &str); 5] = [
    ("construction vtable for ", "construction-vtable"),
    ("VTT for ", "VTT"),
    ("vtable for ", "vtable"),
    ("typeinfo fn for ", "typeinfo-fn"),
    ("typeinfo for ", "typeinfo"),
];
const TYPE_NAME: &str = "typeinfo name for ";
const THREAD_INITIALISER: &str = "TLS init function for ";
const OPERATOR: &str = "operator";
/// Symbols of operators, longer ones before those they begin with.
const OPERATORS: [&str; 38] = [
    "++", "--", ">>=", "<<=", "->*", "->", "<=>", "==", "!=", ">=", "<=", "&&", "||", ">>", "<<",
    "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "+", "-", "*", "/", "%", "~", "^", "&", "|",
    "!", "<", ">", "=", ",", "()",
];

/// Takes a text apart; `mangled` is what it was made of. `None` where it names nothing.
pub(crate) fn read(text: &str, mangled: &str) -> Option<Named> {
    if is_cold(mangled) {
        return named(Vec::new(), text);
    }
    if let Some(found) = described(text) {
        return found;
    }
    if let Some(found) = operator(text) {
        return Some(found);
    }
    match mangled.starts_with("_ZZ") || mangled.starts_with("__ZZ") {
        true => inside(text),
        false => plain(text),
    }
}

/// Whether a symbol stands for the part of a function that is seldom run: `.cold`, `.cold.1`.
pub(crate) fn is_cold(mangled: &str) -> bool {
    let Some((base, rest)) = mangled.rsplit_once(".cold") else { return false };
    let number = rest.strip_prefix('.');
    !base.is_empty()
        && (rest.is_empty()
            || number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())))
}

fn named(path: Vec<String>, name: &str) -> Option<Named> {
    let name = symbol_name(name);
    (!name.is_empty()).then_some(Named { path, name, parameters: None })
}

/// Names that begin with a description: `vtable for A`, `guard variable for f()::x`.
fn described(text: &str) -> Option<Option<Named>> {
    let at = |words: &str| text.rfind(words).filter(|at| *at > 0).map(|at| at + words.len());
    let cut = at(" for ").max(at(" to ")).filter(|cut| *cut < text.len())?;
    let (prefix, rest) = text.split_at_checked(cut)?;
    if prefix.contains("thunk") {
        // It is shown as what it passes on to.
        return Some(operator_or_plain(rest));
    }
    if let Some((_, name)) = TABLES.iter().find(|(words, _)| *words == prefix) {
        return Some(table(rest, name));
    }
    if prefix.starts_with(TYPE_NAME) {
        return Some(named(namespaces(&path(&condensed(rest))), "typeinfo-name"));
    }
    if prefix.starts_with(THREAD_INITIALISER) {
        return Some(table(rest, "__tls_init"));
    }
    let keyed = prefix.strip_suffix(" keyed to ").and_then(|p| p.strip_prefix("global "));
    if keyed.is_some_and(|kind| kind == "constructors" || kind == "destructors") {
        let whole = if rest.contains('(') { rest.to_owned() } else { format!("{rest}()") };
        return Some(plain(&whole).map(|found| {
            let name = format!("{}{}", prefix.replace(' ', "."), found.name);
            Named { name, ..found }
        }));
    }
    Some(inside(rest))
}

/// A table that belongs to what a text names.
fn table(owner: &str, name: &str) -> Option<Named> {
    let owner = plain(owner)?;
    let space = format!("{}{}", owner.name, owner.parameters.unwrap_or_default());
    let mut path = owner.path;
    path.push(symbol_name(&condensed(&space)));
    named(path, name)
}

/// What stands behind the last `::`, inside of what stands before: functions are namespaces with
/// their parameters.
fn inside(text: &str) -> Option<Named> {
    let Some((parent, item)) = text.rsplit_once("::") else { return plain(text) };
    let parent = plain(parent)?;
    let found = plain(item)?;
    let space = format!("{}{}", parent.name, parent.parameters.unwrap_or_default());
    let mut path = parent.path;
    path.push(symbol_name(&condensed(&space)));
    Some(Named { path, ..found })
}

fn operator_or_plain(text: &str) -> Option<Named> {
    operator(text).or_else(|| plain(text))
}

/// A function or a variable.
fn plain(text: &str) -> Option<Named> {
    let (name, parameters) = match function_text(text) {
        Some(function) => (function_name(text, &function), Some(function.parameters)),
        None => (condensed(text), None),
    };
    let (last, path) = split(&name)?;
    let found = named(path, last)?;
    let parameters = parameters.map(|list| symbol_name(&condensed(&format!("({list})"))));
    Some(Named { parameters, ..found })
}

/// The qualified name of a function. That of a closure has its own parameters in it.
fn function_name(text: &str, function: &FunctionText<'_>) -> String {
    const CLOSURE: &str = "{lambda";
    let name = function.name();
    let start = function.prefix.len().saturating_sub(CLOSURE.len());
    let whole = text.get(start..).filter(|_| name.ends_with(CLOSURE));
    match whole.and_then(|rest| rest.get(..=rest.rfind('}')?)) {
        Some(closure) => name.replace(CLOSURE, &condensed(closure)),
        None => name,
    }
}

/// The last part of a qualified name, and its namespaces.
fn split(name: &str) -> Option<(&str, Vec<String>)> {
    let parts = path(name);
    let (last, spaces) = parts.split_last()?;
    Some((last, namespaces(spaces)))
}

fn namespaces(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| symbol_name(&condensed(part))).collect()
}

/// Functions that are operators, changes of type, `new` or `delete`.
fn operator(text: &str) -> Option<Named> {
    overloaded(text).or_else(|| conversion(text)).or_else(|| allocation(text))
}

/// Where the name of an overloaded operator stands: start of the word, end of its symbols.
pub(crate) fn overloaded_place(text: &str) -> Option<(usize, usize)> {
    let mut from = text.len();
    while let Some(start) = text.get(..from).and_then(|head| head.rfind(OPERATOR)) {
        from = start;
        let rest = text.get(start + OPERATOR.len()..)?;
        let symbols = OPERATORS.iter().find(|symbols| rest.starts_with(**symbols));
        let length = match symbols {
            Some(symbols) => symbols.len(),
            // A literal of a user's own: `operator"" _name`.
            None if rest.starts_with("\"\" _") => rest.find('(')?,
            None => continue,
        };
        let end = start + OPERATOR.len() + length;
        let after = text.get(end..)?;
        let leaf = depth_of_separator(after);
        if after.contains('(') && !leaf {
            return Some((start, end));
        }
    }
    None
}

/// Whether a `::` stands outside of all brackets in a text, so that what is before is a namespace.
fn depth_of_separator(text: &str) -> bool {
    let mut depth = 0i32;
    let mut last = ' ';
    for c in text.chars() {
        match c {
            '(' | '<' | '{' => depth += 1,
            ')' | '>' | '}' => depth -= 1,
            ':' if last == ':' && depth == 0 => return true,
            _ => {}
        }
        last = c;
    }
    false
}

fn overloaded(text: &str) -> Option<Named> {
    const STAND_IN: &str = "REPLACEDOPERATOR";
    let (start, end) = overloaded_place(text)?;
    let symbols = text.get(start..end)?;
    let after = text.get(end..)?;
    // Arguments of a template are no part of the name.
    let skipped = match after.trim_start().starts_with('<') {
        true => signature::balanced_end(after, 0, '<', '>')? + 1,
        false => 0,
    };
    let fixed = format!("{}{STAND_IN}{}", text.get(..start)?, after.get(skipped..)?);
    let found = plain(&fixed)?;
    let name = found.name.replace(STAND_IN, symbols);
    Some(Named { name: symbol_name(&name), ..found })
}

fn conversion(text: &str) -> Option<Named> {
    let (before, rest) = text.rsplit_once("operator ")?;
    let list = rest.rfind("()")?;
    let to = rest.get(..list)?;
    let spaces = before.strip_suffix("::")?;
    if ["new", "delete"].iter().any(|word| to.starts_with(word)) {
        return None;
    }
    let to = without_templates(&to.replace(" const", ""));
    let last = path(&to).last().map(|last| (*last).to_owned())?;
    let last = if last.contains('(') { "function.pointer" } else { last.as_str() };
    let spaces = without_templates(spaces);
    named(namespaces(&path(&spaces)), &format!("operator.cast.to.{last}"))
}

fn allocation(text: &str) -> Option<Named> {
    let (before, rest) = text.rsplit_once("operator ")?;
    let (word, _) = rest.split_once('(')?;
    if !["new", "delete", "new[]", "delete[]"].contains(&word) {
        return None;
    }
    let spaces = before.strip_suffix("::").map(|spaces| namespaces(&path(&condensed(spaces))));
    named(spaces.unwrap_or_default(), &format!("operator.{word}"))
}

fn without_templates(text: &str) -> String {
    let mut depth = 0i32;
    let mut keep = |c: &char| match c {
        '<' => {
            depth += 1;
            false
        }
        '>' => {
            depth -= 1;
            false
        }
        _ => depth == 0,
    };
    text.chars().filter(|c| keep(c)).collect()
}
