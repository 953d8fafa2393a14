//! C++ names in the words of the GNU demangler, which differ from those of the crate that reads them.

use crate::{Bounded, LONGEST};
use cpp_demangle::{BorrowedSymbol, DemangleOptions};

/// How deep a mangled name may be nested.
const DEEPEST: u32 = 128;

/// Names of numbers whose literals end in letters.
const SUFFIXES: [(&str, &str); 6] = [
    ("(unsigned int)", "u"),
    ("(unsigned long long)", "ull"),
    ("(unsigned long)", "ul"),
    ("(long long)", "ll"),
    ("(long)", "l"),
    ("(int)", ""),
];

/// What a mangled C++ name says, with what the compiler appended to copies of functions.
pub(crate) fn text(mangled: &str) -> Option<String> {
    let (base, suffix) = clone_suffix(mangled);
    let symbol = BorrowedSymbol::new(base.as_bytes()).ok()?;
    let mut text = Bounded::default();
    let options = DemangleOptions::new().recursion_limit(DEEPEST);
    symbol.structured_demangle(&mut text, &options).ok()?;
    let text = literals(special(text.0));
    // Packs of no arguments leave nothing behind.
    let text = text.replace(", >", ">").replace(", )", ")");
    let text = text.replace("std::nullptr_t", "decltype(nullptr)");
    let mut text = expanded_pack(base, function_types(addresses(text)));
    if base.starts_with("_ZZ") {
        text = without_result(text);
    }
    for part in clones(suffix)? {
        text.push_str(&format!(" [clone {part}]"));
    }
    (text.len() <= LONGEST).then_some(text)
}

/// Cuts off what compilers append to copies of functions: `.cold`, `.part.0` and the like.
fn clone_suffix(mangled: &str) -> (&str, &str) {
    match mangled.find('.') {
        Some(at) if at > 2 => mangled.split_at(at),
        _ => (mangled, ""),
    }
}

/// The parts of such a suffix: a word, and numbers behind it. `None` where it is of another form.
fn clones(suffix: &str) -> Option<Vec<String>> {
    let mut parts: Vec<String> = Vec::new();
    for piece in suffix.split('.').skip(1) {
        let number = !piece.is_empty() && piece.bytes().all(|b| b.is_ascii_digit());
        let word = piece.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
        match parts.last_mut() {
            Some(last) if number => last.push_str(&format!(".{piece}")),
            _ if number || word => parts.push(format!(".{piece}")),
            _ => return None,
        }
    }
    Some(parts)
}

/// Names of things that the compiler makes for a type or function.
fn special(text: String) -> String {
    let inner = |before: &str| text.strip_prefix(before).and_then(|rest| rest.strip_suffix(")}"));
    if let Some(inner) = inner("{vtable(") {
        return format!("vtable for {inner}");
    }
    if let Some(inner) = inner("{vtt(") {
        return format!("VTT for {inner}");
    }
    let Some(mut inner) = inner("{virtual override thunk(") else { return text };
    let (mut offsets, mut is_virtual) = (0, false);
    while let Some((offset, rest)) = inner.split_once("}, ").filter(|(o, _)| o.starts_with('{')) {
        is_virtual |= offset.contains("virtual");
        offsets += 1;
        inner = rest;
    }
    let kind = match (offsets, is_virtual) {
        (2, _) => "covariant return",
        (_, true) => "virtual",
        _ => "non-virtual",
    };
    format!("{kind} thunk to {inner}")
}

/// Writes numbers with their letters in place of their types: `(unsigned long)4` is `4ul`.
fn literals(text: String) -> String {
    if !text.contains(")") {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    'text: while let Some(c) = rest.chars().next() {
        if c == '(' {
            for (cast, letters) in SUFFIXES {
                let Some(after) = rest.strip_prefix(cast) else { continue };
                let minus = usize::from(after.starts_with('-'));
                let digits =
                    after.get(minus..).unwrap_or("").bytes().take_while(u8::is_ascii_digit);
                let end = minus + digits.count();
                if let Some((number, more)) = after.split_at_checked(end).filter(|_| end > minus) {
                    out.push_str(number);
                    out.push_str(letters);
                    rest = more;
                    continue 'text;
                }
            }
        }
        out.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or("");
    }
    out
}

/// Leaves out what a function returns in whose body something is.
fn without_result(text: String) -> String {
    let mut depth = 0i32;
    let mut blank = None;
    for (at, c) in text.char_indices() {
        match c {
            '(' if depth == 0 => break,
            '<' | '{' | '(' => depth += 1,
            '>' | '}' | ')' => depth -= 1,
            ' ' if depth == 0 => blank = Some(at),
            _ => {}
        }
    }
    let rest = blank.and_then(|at| text.get(at + 1..));
    match rest.filter(|_| !text.contains("operator")) {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

/// Writes the parameters that a pack at the end of the list stands for: each an argument of the
/// template, by reference where the pattern says so.
fn expanded_pack(mangled: &str, text: String) -> String {
    let pattern = mangled.rfind("Dp").and_then(|at| mangled.get(at + 2..));
    let parts = pattern.and_then(|pattern| {
        let (reference, rest) =
            [("RK", " const&"), ("O", "&&"), ("R", "&"), ("", "")].into_iter().find_map(
                |(mark, words)| Some((words, pattern.strip_prefix(mark)?.strip_prefix('T')?)),
            )?;
        let number = rest.strip_suffix('_')?;
        let first = if number.is_empty() { 0 } else { number.parse::<usize>().ok()? + 1 };
        Some((reference, first))
    });
    let Some((reference, first)) = parts else { return text };
    let written = || {
        let (head, tail) = text.split_at_checked(text.rfind(')')?)?;
        let open = parameters_start(head)?;
        let (name, list) = head.split_at_checked(open)?;
        let arguments = pieces(template_arguments(name)?);
        let elements = arguments.get(first..)?;
        let parameters = pieces(list.get(1..)?);
        let kept = parameters.len().checked_sub(elements.len())?;
        let mut out: Vec<String> = parameters.iter().take(kept).map(|p| (*p).to_owned()).collect();
        if elements.is_empty() && out.last().is_some_and(|last| last == reference.trim()) {
            out.pop();
        }
        let is_reference = |element: &str| element.ends_with('&') || element.contains("(&)");
        out.extend(elements.iter().map(|element| match is_reference(element) {
            true => (*element).to_owned(),
            false => format!("{element}{reference}"),
        }));
        Some(format!("{name}({}{tail}", out.join(", ")))
    };
    written().unwrap_or(text)
}

/// Where the parameter list begins that a text ends with.
fn parameters_start(head: &str) -> Option<usize> {
    let mut depth = 0i32;
    for (at, byte) in head.bytes().enumerate().rev() {
        match byte {
            b'(' if depth == 0 => return Some(at),
            b')' | b'>' => depth += 1,
            b'(' | b'<' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The arguments of the template that a name ends with.
fn template_arguments(name: &str) -> Option<&str> {
    let inner = name.strip_suffix('>')?;
    let mut depth = 0i32;
    for (at, byte) in inner.bytes().enumerate().rev() {
        match byte {
            b'<' if depth == 0 => return inner.get(at + 1..),
            b'>' | b')' => depth += 1,
            b'<' | b'(' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The parts between commas outside of brackets.
fn pieces(mut list: &str) -> Vec<&str> {
    let mut found = Vec::new();
    while !list.is_empty() {
        let (piece, rest) = list.split_at_checked(argument_end(list)).unwrap_or((list, ""));
        found.push(piece.trim());
        list = rest.get(1..).unwrap_or("");
    }
    found
}

/// Writes addresses of functions among the arguments of templates as the GNU demangler does: a plain
/// function by its name alone, others in parentheses.
fn addresses(text: String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) =
        ["<&", ", &"].iter().filter_map(|mark| Some(rest.find(mark)? + mark.len())).min()
    {
        let Some((head, tail)) = rest.split_at_checked(at) else { break };
        out.push_str(head);
        let (argument, after) = tail.split_at_checked(argument_end(tail)).unwrap_or((tail, ""));
        let list = argument.trim_end_matches(" const").ends_with(')');
        let open = argument.rfind('(').filter(|_| list && !argument.starts_with('('));
        let name = open.and_then(|open| argument.get(..open));
        match name {
            Some(name) if name.contains("::") && !name.ends_with('>') => out.push_str(name),
            Some(_) => out.push_str(&format!("({argument})")),
            None => out.push_str(argument),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Where an argument of a template ends.
fn argument_end(text: &str) -> usize {
    let mut depth = 0i32;
    let end = text.char_indices().find(|(_, c)| {
        match c {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' if depth == 0 => return true,
            '>' | ')' | '}' | ']' => depth -= 1,
            ',' => return depth == 0,
            _ => {}
        }
        false
    });
    end.map_or(text.len(), |(at, _)| at)
}

/// Puts a blank before the parameters of functions that are arguments of templates: `int (char)`.
fn function_types(text: String) -> String {
    if !text.contains('<') {
        return text;
    }
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut angles, mut copied) = (0i32, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' => angles += 1,
            b'>' => angles -= 1,
            b'(' if angles > 0 && is_function_type(&text, at) => {
                out.push_str(text.get(copied..at).unwrap_or(""));
                out.push(' ');
                copied = at;
            }
            _ => {}
        }
    }
    out.push_str(text.get(copied..).unwrap_or(""));
    out
}

/// Whether a parenthesis right behind a type opens the parameters of an argument of a template.
fn is_function_type(text: &str, open: usize) -> bool {
    let (before, rest) = text.split_at_checked(open).unwrap_or((text, ""));
    let behind_type =
        before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '>' | '*'));
    let words = ["decltype", "lambda", "operator", "sizeof"];
    if !behind_type || words.iter().any(|word| before.ends_with(word)) {
        return false;
    }
    let mut depth = 0i32;
    let close = rest.char_indices().find(|(_, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let after = close.and_then(|(at, _)| rest.get(at + 1..)).unwrap_or("");
    after.trim_start_matches(" const").starts_with(['>', ',', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_gnu_demangler() {
        let expected = [
            ("_ZTV1A", "vtable for A"),
            ("_ZTT1A", "VTT for A"),
            ("_ZThn16_N1A1fEv", "non-virtual thunk to A::f()"),
            ("_ZTv0_n24_N1A1fEv", "virtual thunk to A::f()"),
            ("_ZTch0_h16_N1A1fEv", "covariant return thunk to A::f()"),
            ("_ZN1AILm64EE1fEv", "A<64ul>::f()"),
            ("_ZN1AILin3ELj4ELb1EE1fEv", "A<-3, 4u, true>::f()"),
            ("_Z1fDn", "f(decltype(nullptr))"),
            ("_Z1fi.cold.1", "f(int) [clone .cold.1]"),
            ("_Z1fi.part.0.isra.2", "f(int) [clone .part.0] [clone .isra.2]"),
            ("_ZN1AIiJEE1fEv", "A<int>::f()"),
            ("_Z1f1AIFi1BEE", "f(A<int (B)>)"),
            ("_Z1fIJPKciEEvDpOT_", "void f<char const*, int>(char const*&&, int&&)"),
            ("_Z1fIJEEvDpOT_", "void f<>()"),
            ("_ZZ1fIiEvT_E1x", "f<int>(int)::x"),
            ("_Z1fIiJR1AbEEvT_DpRKT0_", "void f<int, A&, bool>(int, A&, bool const&)"),
            ("_ZN1AIXadL_ZN1B1gEiEEE1fEv", "A<&B::g>::f()"),
        ];
        for (mangled, expected) in expected {
            assert_eq!(text(mangled).as_deref(), Some(expected), "{mangled}");
        }
    }
}
