//! Prototypes as Microsoft's compilers have them written out: with what is returned, the calling
//! convention and whether there is `this`.

use super::{Told, Written, parameter_list, parameters};
use program::{DataType, Program, TypeId, TypeKind};

const CONVENTIONS: [&str; 6] =
    ["__cdecl", "__thiscall", "__stdcall", "__fastcall", "__vectorcall", "__pascal"];
/// What may stand behind a parameter list.
const MARKS: [&str; 6] = [" const", " volatile", " __ptr64", " __restrict", " &&", " &"];
/// Bytes of an enumeration of which only the name is known.
const ENUMERATION: u32 = 4;

/// Takes a text such as `public: virtual int __cdecl A::f(char const *)const ` apart; `None` for
/// one that names no calling convention.
pub(super) fn read(text: &str) -> Option<Told<'_>> {
    let text = text.strip_prefix("[thunk]:").unwrap_or(text).trim();
    let access = ["public: ", "protected: ", "private: "];
    let member = access.iter().find_map(|access| text.strip_prefix(access));
    let rest = member.unwrap_or(text).trim_start();
    let is_static = rest.starts_with("static ");
    let rest = rest.strip_prefix("static ").or(rest.strip_prefix("virtual ")).unwrap_or(rest);
    let mut whole = rest.trim();
    let mut marked = false;
    while let Some(shorter) = MARKS.iter().find_map(|mark| whole.strip_suffix(*mark)) {
        (whole, marked) = (shorter.trim_end(), true);
    }
    // A mark may stand right behind the list.
    while let Some(shorter) = MARKS
        .iter()
        .find_map(|mark| whole.strip_suffix(mark.trim_start()))
        .filter(|w| w.ends_with(')'))
    {
        (whole, marked) = (shorter, true);
    }
    let (head, list) = parameter_list(whole)?;
    let (before, convention) = convention(head)?;
    let (parameters, varargs) = parameters(list);
    Some(Told {
        returned: (!before.is_empty()).then_some(Written::Microsoft(before)),
        parameters: parameters.into_iter().map(Written::Microsoft).collect(),
        varargs,
        is_const: marked,
        convention: Some(convention),
        this: Some((member.is_some() || marked) && !is_static),
    })
}

/// What stands before the calling convention, and which it is. The name is behind it.
fn convention(head: &str) -> Option<(&str, &str)> {
    let mut depth = 0i32;
    for (at, c) in head.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            '_' if depth == 0 && (at == 0 || head[..at].ends_with([' ', '*', '&'])) => {
                let found = CONVENTIONS.iter().find(|name| {
                    head[at..].strip_prefix(**name).is_some_and(|rest| rest.starts_with(' '))
                });
                if let Some(found) = found {
                    return Some((head[..at].trim(), found));
                }
            }
            _ => {}
        }
    }
    None
}

/// A type's text without the words that only say what kind of type it is, and whether it is that
/// of an enumeration.
pub(super) fn bare(text: &str) -> (&str, bool) {
    let text = text.strip_prefix("const ").unwrap_or(text);
    if let Some(rest) = text.strip_prefix("enum ") {
        return (rest, true);
    }
    let kinds = ["class ", "struct ", "union "];
    (kinds.iter().find_map(|kind| text.strip_prefix(kind)).unwrap_or(text), false)
}

/// The enumeration of a name, made when missing.
pub(super) fn enumeration(program: &mut Program, name: &str) -> TypeId {
    let name = last_part(name);
    let is_one = |id: &TypeId| {
        matches!(program.types.get(*id).map(|t| &t.kind), Some(TypeKind::Enum { .. }))
    };
    let known = program.types.named(&name).find(is_one);
    known.unwrap_or_else(|| {
        program.types.add(DataType {
            category: "/Demangler".into(),
            name: name.into(),
            length: Some(ENUMERATION),
            alignment: ENUMERATION,
            description: "".into(),
            kind: TypeKind::Enum { values: Vec::new() },
            used: false,
        })
    })
}

/// The name without what it is inside of, spelled without blanks.
pub(super) fn last_part(name: &str) -> String {
    let mut depth = 0i32;
    let mut start = 0;
    let bytes = name.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth -= 1,
            b':' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    name.get(start..).unwrap_or(name).replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of a name, as a line.
    fn told(mangled: &str) -> String {
        let text = demangler::demangled(mangled).expect(mangled);
        let told = read(&text).unwrap_or_else(|| panic!("{text}"));
        let text = |written: &Written<'_>| match written {
            Written::Microsoft(text) => (*text).to_owned(),
            Written::Gnu(other) => panic!("{other:?}"),
        };
        let parameters = told.parameters.iter().map(text).collect::<Vec<_>>().join("; ");
        let varargs = if told.varargs { "; ..." } else { "" };
        let returned = told.returned.as_ref().map_or("nothing".to_owned(), text);
        let this = if told.this == Some(true) { "this; " } else { "" };
        format!("{} {returned} ({this}{parameters}{varargs})", told.convention.unwrap())
    }

    #[test]
    fn real_names_tell_their_prototypes() {
        let expected = [
            ("?area@Square@geo@@UEBAHXZ", "__cdecl int (this; )"),
            ("?made@Item@shop@@SAHXZ", "__cdecl int ()"),
            ("??0Item@shop@@QEAA@HW4Kind@1@@Z", "__cdecl nothing (this; int; enum shop::Kind)"),
            ("??0Item@shop@@QAE@HW4Kind@1@@Z", "__thiscall nothing (this; int; enum shop::Kind)"),
            ("??1Item@shop@@UEAA@XZ", "__cdecl nothing (this; )"),
            ("?name_of@shop@@YAPEBDH@Z", "__cdecl char const * (int)"),
            ("?f@@YGXPAUPoint@@@Z", "__stdcall void (struct Point *)"),
            ("?f@@YIXHH@Z", "__fastcall void (int; int)"),
            ("?print@@YAHPEBDZZ", "__cdecl int (char const *; ...)"),
            ("??3@YAXPEAX_K@Z", "__cdecl void (void *; unsigned __int64)"),
            ("??4A@@QEAAAEAV0@AEBV0@@Z", "__cdecl class A & (this; class A const &)"),
            ("??$maximum@H@@YAHHH@Z", "__cdecl int (int; int)"),
            ("?call@@YAXP6AXH@Z@Z", "__cdecl void (void (__cdecl *)(int))"),
        ];
        for (mangled, line) in expected {
            assert_eq!(told(mangled), line, "{mangled}");
        }
    }

    #[test]
    fn what_is_no_function_is_told_nothing_of() {
        for mangled in ["?counter@shop@@3HA", "??_7Item@shop@@6B@"] {
            let text = demangler::demangled(mangled).expect(mangled);
            assert!(read(&text).is_none(), "{text}");
        }
        assert!(read("geo::Rect::print(char*, ...) const").is_none());
    }
}
