//! Parameters that demangled C++ names tell: they stand in the comment above a function.
//!
//! Each function is looked at once.

use crate::pass::{Analysis, Stopped};
use decompiler::Language;
use program::{
    Address, CommentKind, DataType, Parameter, Program, Signature, SourceType, Storage, SymbolId,
    SymbolKind, TypeId, TypeKind,
};

/// Longest text that is taken apart.
const LONGEST: usize = 2000;
/// Most parameters and stars of one type.
const MOST: usize = 64;

/// What a text says.
struct Told<'a> {
    returned: Option<&'a str>,
    parameters: Vec<&'a str>,
    varargs: bool,
    /// Only methods bear this mark.
    is_const: bool,
}

/// Runs the pass: functions whose signature is still open get one.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let program = &mut *analysis.program;
    let open: Vec<Address> = program
        .functions
        .iter()
        .filter(|f| f.thunk_of.is_none() && f.signature.source == SourceType::Default)
        .map(|f| f.entry)
        .collect();
    for entry in open {
        let Some(text) = program.comments.get(&(entry, CommentKind::Plate)).cloned() else {
            continue;
        };
        if let Some(told) = read(&text) {
            apply(program, analysis.language, entry, &told);
        }
    }
    Ok(())
}

/// Takes a text such as `int f<int>(char const*, int) const` apart.
fn read(text: &str) -> Option<Told<'_>> {
    if text.len() > LONGEST || text.contains('\n') {
        return None;
    }
    let text = text.split_once(" thunk to ").map_or(text, |(_, rest)| rest).trim();
    let is_const = text.ends_with(" const");
    let text = text.trim_end_matches(" const");
    let inner = text.strip_suffix(')')?;
    let mut depth = 0usize;
    let open = inner.char_indices().rev().find(|(_, c)| {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => return true,
            '(' => depth -= 1,
            _ => {}
        }
        false
    });
    let (head, list) = (inner.get(..open?.0)?, inner.get(open?.0 + 1..)?);
    let mut parameters = pieces(list);
    let varargs = parameters.last() == Some(&"...");
    if varargs {
        parameters.pop();
    }
    if parameters == ["void"] {
        parameters.clear();
    }
    // Only templates say what they return.
    let returned = head.ends_with('>').then(|| split_head(head)).flatten();
    (!head.is_empty() && parameters.len() <= MOST).then_some(Told {
        returned,
        parameters,
        varargs,
        is_const,
    })
}

/// What stands before the name, if anything does.
fn split_head(head: &str) -> Option<&str> {
    let mut depth = 0i32;
    let blank = head.char_indices().find(|(_, c)| {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ' ' => return depth == 0,
            _ => {}
        }
        false
    });
    let (before, after) = head.split_at(blank?.0);
    (!before.ends_with("operator") && !after.trim().is_empty()).then_some(before)
}

/// The parts between commas outside of brackets.
fn pieces(list: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, c) in list.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                found.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(list[start..].trim());
    found.retain(|piece| !piece.is_empty());
    found
}

fn apply(program: &mut Program, language: &Language, entry: Address, told: &Told<'_>) {
    let Some(symbol) = program.functions.at(entry).map(|f| f.symbol) else { return };
    let Some((name, parent)) = program.symbols.get(symbol).map(|s| (s.name.to_string(), s.parent))
    else {
        return;
    };
    let mut written: Vec<TypeId> = Vec::new();
    for text in &told.parameters {
        let Some(data_type) = type_of(program, text) else { return };
        written.push(data_type);
    }
    let returned = match (told.returned, name.as_str()) {
        (Some(text), _) => type_of(program, text),
        (None, "operator.new" | "operator.new[]") => type_of(program, "void*"),
        (None, "operator.delete" | "operator.delete[]") => type_of(program, "void"),
        _ => None,
    };
    let this = class_of(program, parent, &name, told.is_const)
        .filter(|_| language.convention("__thiscall").is_some());
    let this = this.map(|class| program.types.pointer_to(class));
    let artificial = |at| program.memory.block_at(at).is_some_and(|b| b.permissions.artificial);
    let convention = match this {
        Some(_) => Some("__thiscall"),
        None if artificial(entry) => None,
        None => language.default_convention(),
    };
    let convention = convention.map(Into::into);
    written.iter().chain(&returned).chain(&this).for_each(|id| program.types.mark_used(*id));
    let void = returned.is_some_and(|id| program.types.length(id) == Some(0));
    let return_type = returned.unwrap_or_else(|| program.types.builtin("undefined"));
    program.functions.edit(entry, |f| {
        let this = this.map(|id| ("this", id, true)).into_iter();
        let parameters = this
            .chain(written.iter().map(|id| ("", *id, false)))
            .map(|(name, data_type, automatic)| Parameter {
                name: name.into(),
                data_type,
                storage: Storage::Unassigned,
                source: if automatic { SourceType::Analysis } else { SourceType::Default },
                automatic,
                id: f.new_variable_id(),
            })
            .collect();
        f.signature = Signature {
            return_type,
            return_storage: if void { Storage::Void } else { Storage::Unassigned },
            parameters,
            varargs: told.varargs,
            convention,
            custom_storage: false,
            source: SourceType::Analysis,
        };
    });
}

/// The class that a function is a method of, if it is known to be one.
fn class_of(program: &mut Program, parent: SymbolId, name: &str, is_const: bool) -> Option<TypeId> {
    let space = program.symbols.get(parent)?;
    let class = space.name.to_string();
    let plain = class.split('<').next().unwrap_or(&class);
    let built = name.strip_prefix('~').unwrap_or(name) == plain;
    let known = space.kind == SymbolKind::Class || built || is_const;
    let inside = matches!(space.kind, SymbolKind::Class | SymbolKind::Namespace);
    (known && inside).then(|| structure(program, &class))
}

/// The structure of a name, made when missing.
fn structure(program: &mut Program, name: &str) -> TypeId {
    let known = program.types.named(name).find(|id| {
        let kind = program.types.get(*id).map(|t| &t.kind);
        matches!(kind, Some(TypeKind::Struct { .. } | TypeKind::Union { .. }))
    });
    known.unwrap_or_else(|| {
        program.types.add(DataType {
            category: "/Demangler".into(),
            name: name.into(),
            length: Some(1),
            alignment: 1,
            description: "".into(),
            kind: TypeKind::Struct { fields: Vec::new(), packed: false },
            used: false,
        })
    })
}

/// The type that a text such as `char const*` names; `None` for one whose size is not known.
fn type_of(program: &mut Program, text: &str) -> Option<TypeId> {
    if text.contains(['(', '[']) {
        return None;
    }
    let mut rest = text.trim();
    let mut stars = 0;
    loop {
        let shorter = rest
            .strip_suffix(" const")
            .or_else(|| rest.strip_suffix(" volatile"))
            .map(|shorter| (shorter, 0))
            .or_else(|| rest.strip_suffix("&&").map(|shorter| (shorter, 1)))
            .or_else(|| rest.strip_suffix(['*', '&']).map(|shorter| (shorter, 1)));
        let Some((shorter, more)) = shorter else { break };
        rest = shorter.trim_end();
        stars += more;
        // `char const* const*` has the mark right behind a star.
        rest = rest.strip_suffix("*const").map_or(rest, |_| &rest[..rest.len() - 5]);
    }
    let rest = rest.strip_prefix("const ").unwrap_or(rest);
    if stars > MOST {
        return None;
    }
    let builtin = match rest {
        "unsigned long" => "ulong",
        "unsigned int" | "unsigned" => "uint",
        "unsigned short" => "ushort",
        "unsigned char" => "uchar",
        "signed char" => "schar",
        "long long" => "longlong",
        "unsigned long long" => "ulonglong",
        "long double" => "longdouble",
        "void" | "bool" | "char" | "short" | "int" | "long" | "float" | "double" | "wchar_t" => {
            rest
        }
        _ => "",
    };
    let mut found = match builtin {
        "" if stars == 0 => return None,
        "" => structure(program, &last_part(rest)),
        name => program.types.builtin(name),
    };
    for _ in 0..stars {
        found = program.types.pointer_to(found);
    }
    Some(found)
}

/// The name without what it is inside of, spelled without blanks.
fn last_part(name: &str) -> String {
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
    use program::{DataOrganization, ProgramInfo};

    #[test]
    fn texts_are_taken_apart() {
        let told = read("int maximum<int, 8>(int, char const* const*)").unwrap();
        assert_eq!(told.returned, Some("int"));
        assert_eq!(told.parameters, ["int", "char const* const*"]);
        let told = read("geo::Rect::print(char*, ...) const").unwrap();
        assert_eq!((told.parameters, told.varargs, told.is_const), (vec!["char*"], true, true));
        assert!(told.returned.is_none());
        assert_eq!(read("non-virtual thunk to A::~A()").unwrap().parameters.len(), 0);
        assert!(read("vtable for A").is_none());
        assert!(read("Stack<int, 8>::push(int)").unwrap().returned.is_none());
    }

    #[test]
    fn types_are_made_of_their_names() {
        let mut program = Program::new(ProgramInfo::default(), false, DataOrganization::default());
        let mut name = |text: &str| {
            let id = type_of(&mut program, text)?;
            Some(program.types.name(id).to_owned())
        };
        assert_eq!(name("char const*").as_deref(), Some("char *"));
        assert_eq!(name("geo::Shape const* const*").as_deref(), Some("Shape * *"));
        assert_eq!(name("unsigned long").as_deref(), Some("ulong"));
        assert_eq!(name("std::vector<int, a::b> const&").as_deref(), Some("vector<int,a::b> *"));
        assert_eq!(name("std::string"), None);
        assert_eq!(name("void (*)(int)"), None);
    }
}
