//! Qualified names cut at `::` and spelled without blanks, as symbols have them.

/// Longest name of a symbol; longer ones lose their middle.
const LONGEST_NAME: usize = 2000;
/// What is kept of the end of such a name.
const KEPT_END: usize = 100;

/// Cuts a qualified name at `::` outside of angle brackets and parentheses; at each `::` where those
/// do not match up.
pub(crate) fn path(text: &str) -> Vec<&str> {
    let (parts, balanced) = cut(text, true);
    if balanced { parts } else { cut(text, false).0 }
}

/// The parts between `::`, and whether brackets match up. With `nested`, what is inside of brackets
/// stays together.
fn cut(text: &str, nested: bool) -> (Vec<&str>, bool) {
    let (mut parts, mut start, mut angles, mut rounds) = (Vec::new(), 0, 0i32, 0i32);
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'<' => angles += 1,
            b'>' => angles -= 1,
            b'(' => rounds += 1,
            b')' => rounds -= 1,
            b':' if bytes.get(at + 1) == Some(&b':')
                && (!nested || angles == 0 && rounds == 0)
                && at > start =>
            {
                parts.extend(text.get(start..at));
                start = at + 2;
                at += 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.extend(text.get(start..));
    (parts, angles == 0 && rounds == 0)
}

/// Takes blanks out of angle brackets and parentheses; one between two words becomes an underscore.
pub(crate) fn condensed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0u32;
    let mut last = '\0';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c == ' ' && depth > 0 {
            let next = rest.peek().copied().unwrap_or('\0');
            if last.is_alphanumeric() && next.is_alphanumeric() {
                out.push('_');
            }
        } else if c == ' ' && out.ends_with("{unnamed") {
            out.push('_');
        } else {
            out.push(c);
        }
        last = c;
    }
    out.trim().to_owned()
}

/// A name as a symbol bears it: without blanks, and not too long.
pub(crate) fn symbol_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name.trim().chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        match c {
            ' ' if matches!(next, Some('*' | '&' | ')')) => {}
            ' ' if out.ends_with(['(', ',']) => {}
            ' ' => out.push('_'),
            c => out.push(c),
        }
    }
    shortened(out)
}

/// The beginning and the end of a name that is too long.
fn shortened(name: String) -> String {
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let mut head = LONGEST_NAME / 2;
    while !name.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = name.len() - KEPT_END;
    while !name.is_char_boundary(tail) {
        tail += 1;
    }
    let part = |range: Option<&str>| range.unwrap_or("").to_owned();
    format!("{}...{}", part(name.get(..head)), part(name.get(tail..)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_outside_of_brackets() {
        assert_eq!(path("a::b<c::d>::e(f::g)"), ["a", "b<c::d>", "e(f::g)"]);
        assert_eq!(path("a"), ["a"]);
        assert_eq!(path("core[1]::ptr::<x::Y>"), ["core[1]", "ptr", "<x::Y>"]);
        // Brackets that do not match up keep nothing together.
        assert_eq!(path("a::operator-><b::c"), ["a", "operator-><b", "c"]);
    }

    #[test]
    fn blanks_leave_brackets() {
        assert_eq!(condensed("void f<unsigned int, a >(char)"), "void f<unsigned_int,a>(char)");
        assert_eq!(condensed("<a[1]::B as c::D>::e"), "<a[1]::B_as_c::D>::e");
        assert_eq!(condensed("<a<b> as c>::e"), "<a<b>as_c>::e");
        assert_eq!(condensed("{unnamed type#1}::f"), "{unnamed_type#1}::f");
        assert_eq!(condensed("f<char const*>"), "f<char_const*>");
    }

    #[test]
    fn symbols_have_no_blanks() {
        assert_eq!(
            symbol_name("f(char const*, int) [clone .cold]"),
            "f(char_const*,int)_[clone_.cold]"
        );
        assert_eq!(symbol_name("a *"), "a*");
        let long = "x".repeat(5000);
        assert_eq!(symbol_name(&long).len(), 1103);
    }
}
