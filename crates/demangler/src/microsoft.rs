//! Names as Microsoft's C++ compilers mangle them.

use super::{LONGEST, Readable, split};
use undname::Flags;

/// Stack of the thread that takes names apart: what nests in a name nests on the stack.
const STACK: usize = 64 << 20;

/// Whether a name may be one of these.
pub(super) fn is_one(name: &str) -> bool {
    name.starts_with('?') && name.contains('@')
}

/// Takes several names apart, with a stack that is deep enough for any of them.
pub(super) fn demangle_all(names: &[&str]) -> Vec<Option<Readable>> {
    if names.is_empty() {
        return Vec::new();
    }
    let all = || names.iter().map(|name| demangle(name)).collect();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, all).ok();
        thread.and_then(|thread| thread.join().ok()).unwrap_or_else(|| vec![None; names.len()])
    })
}

fn demangle(name: &str) -> Option<Readable> {
    if name.len() > LONGEST {
        return None;
    }
    if let Some(literal) = super::literals::read(name) {
        let (name, text) = (literal.label(), literal.text);
        return Some(Readable { path: Vec::new(), name, text, in_class: false });
    }
    let short = |text: &String| text.len() <= LONGEST;
    let text = undname::demangle(name, Flags::default()).ok().filter(short)?;
    let bare = undname::demangle(name, Flags::NAME_ONLY).ok().filter(short)?;
    let (path, last) = split(&bare);
    let anonymous = anonymous_namespace(name);
    let path = path.into_iter().map(|part| plain_space(part, anonymous.as_deref())).collect();
    let table = !text.contains('(');
    let quoted = last.strip_prefix('`').and_then(|rest| rest.strip_suffix('\''));
    let name = match quoted.filter(|_| table) {
        Some(inner) => inner.to_owned(),
        None => last.replace("operator.", "operator_"),
    };
    let member = ["public: ", "protected: ", "private: "].iter().any(|m| text.contains(m));
    let in_class = member || quoted.is_some();
    (!name.is_empty()).then_some(Readable { path, name, text, in_class })
}

/// What the anonymous namespace is called whose number a mangled name has; `None` where it has none,
/// or several.
pub(super) fn anonymous_namespace(mangled: &str) -> Option<String> {
    const MARK: &str = "?A0x";
    let mut numbers = mangled.match_indices(MARK).filter_map(|(at, _)| {
        let rest = mangled.get(at + MARK.len()..)?;
        let digits = rest.get(..rest.find('@')?)?;
        u32::from_str_radix(digits, 16).ok()
    });
    let first = numbers.next()?;
    numbers.all(|number| number == first).then(|| format!("_anon_{first:08X}"))
}

/// A namespace that has no name of its own, by one that it can be asked for.
pub(super) fn plain_space(part: String, anonymous: Option<&str>) -> String {
    let Some(inner) = part.strip_prefix('`').and_then(|rest| rest.strip_suffix('\'')) else {
        return part;
    };
    if !inner.is_empty() && inner.bytes().all(|b| b.is_ascii_digit()) {
        return format!("__l{inner}");
    }
    let unnamed = ["anonymous_namespace", "anonymous-namespace"].contains(&inner);
    match anonymous.filter(|_| unnamed) {
        Some(name) => name.to_owned(),
        None => part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str) -> Option<Readable> {
        demangle_all(&[name]).pop().flatten()
    }

    #[test]
    fn names_come_apart_with_their_prototypes() {
        let expected = [
            ("?area@Square@geo@@UEBAHXZ", "geo::Square", "area", true),
            ("??0Square@geo@@QEAA@H@Z", "geo::Square", "Square", true),
            ("??1Square@geo@@UEAA@XZ", "geo::Square", "~Square", true),
            ("??_7Square@geo@@6B@", "geo::Square", "vftable", true),
            ("??_R4Square@geo@@6B@", "geo::Square", "RTTI_Complete_Object_Locator", true),
            ("??2@YAPEAX_K@Z", "", "operator_new", false),
            ("??$maximum@H@@YAHHH@Z", "", "maximum<int>", false),
            ("?counter@@3HA", "", "counter", false),
            ("?f@?A0x12345678@@YAXXZ", "_anon_12345678", "f", false),
            ("?f@?A0x9a9@@YAXXZ", "_anon_000009A9", "f", false),
            ("?x@?1??f@@YAXXZ@4HA", "`f'::__l2", "x", false),
        ];
        for (mangled, path, name, in_class) in expected {
            let found = one(mangled).expect(mangled);
            let got = (found.path.join("::"), found.name, found.in_class);
            assert_eq!(got, (path.to_owned(), name.to_owned(), in_class), "{mangled}");
        }
        let text = one("?area@Square@geo@@UEBAHXZ").expect("mangled").text;
        assert_eq!(text, "public: virtual int __cdecl geo::Square::area(void) const");
    }

    #[test]
    fn hostile_names_stay_and_stay_small() {
        // Each argument names the one before many times: exponential when written out.
        let mut doubling = "?f@@YAX".to_owned();
        for level in 0..9 {
            let inner = level.to_string().repeat(30);
            doubling.push_str(&format!("P6AX{inner}@Z"));
        }
        let deep = format!("?x@@3{}HA", "PEA".repeat(1300));
        let nested = "?".repeat(4000) + "@";
        let templates = format!("?{}", "$a@V?".repeat(800));
        for name in [&doubling, &deep, &nested, &templates, "?", "?@", "??", "???@@@"] {
            let found = one(name);
            assert!(found.is_none_or(|f| f.text.len() <= LONGEST && f.name.len() <= LONGEST));
        }
    }
}
