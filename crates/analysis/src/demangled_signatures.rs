//! Parameters that demangled C++ names tell: they stand in the comment above a function.
//!
//! Each function is looked at once; those in a namespace that may be a class are decompiled.

mod microsoft;

use crate::parameter_ids::{decompile, is_moderate, levels};
use crate::pass::{Analysis, Stopped};
use decompiler::Language;
use std::collections::HashMap;
use std::sync::Arc;

use program::{
    Address, CommentKind, DataType, Function, Parameter, Program, Signature, SourceType, SpaceId,
    Storage, SymbolKind, TypeId, TypeKind,
};

/// Longest text that is taken apart.
const LONGEST: usize = 2000;
/// How functions of Rust are called.
pub(crate) const RUST: &str = "__rustcall";
/// Most parameters and stars of one type.
const MOST: usize = 64;

/// What a text says.
struct Told<'a> {
    returned: Option<&'a str>,
    parameters: Vec<&'a str>,
    varargs: bool,
    /// Only methods bear this mark.
    is_const: bool,
    /// The calling convention, where names tell it.
    convention: Option<&'a str>,
    /// Whether there is `this`, where names tell it.
    this: Option<bool>,
}

/// What a function is called with besides what its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum This {
    /// Its object.
    Passed,
    /// Nothing.
    None,
    /// Its code must tell.
    Unknown,
}

/// Runs the pass: functions whose signature is still open get one.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    call_rust(analysis.program, analysis.language);
    let open: Vec<Address> = analysis
        .program
        .functions
        .iter()
        .filter(|f| f.thunk_of.is_none() && f.signature.source == SourceType::Default)
        .map(|f| f.entry)
        .collect();
    let mut unknown: HashMap<Address, Arc<str>> = HashMap::new();
    for entry in open {
        let key = (entry, CommentKind::Plate);
        let Some(text) = analysis.program.comments.get(&key).cloned() else { continue };
        if entry.space == SpaceId::EXTERNAL {
            analysis.program.comments.remove(&key);
        }
        let Some(told) = read(&text) else { continue };
        match this(analysis.program, entry, &told) {
            This::Unknown => {
                unknown.insert(entry, text);
            }
            this => apply(analysis.program, analysis.language, entry, &told, this == This::Passed),
        }
    }
    ask_code(analysis, &unknown)
}

/// Gives functions with names of Rust its calling convention, if the processor has it. Nothing more
/// is told of them.
fn call_rust(program: &mut Program, language: &Language) {
    if language.convention(RUST).is_none() {
        return;
    }
    let is_open = |f: &Function| {
        let signature = &f.signature;
        f.thunk_of.is_none()
            && f.entry.space != SpaceId::EXTERNAL
            && signature.source == SourceType::Default
            && signature.convention.is_none()
    };
    let is_named = |f: &Function| {
        let mut there = program.symbols.at(f.entry);
        there.any(|(_, s)| s.source == SourceType::Imported && demangler::is_rust(&s.name))
    };
    let open = program.functions.iter().filter(|f| is_open(f) && is_named(f));
    let open: Vec<Address> = open.map(|f| f.entry).collect();
    for entry in open {
        program.functions.edit(entry, |f| f.signature.convention = Some(RUST.into()));
    }
}

/// Gives signatures to functions of which the code tells whether an object is passed.
fn ask_code(
    analysis: &mut Analysis<'_>,
    unknown: &HashMap<Address, Arc<str>>,
) -> Result<(), Stopped> {
    let moderate = is_moderate(analysis.program);
    let levels = levels(analysis.program, |f| unknown.contains_key(&f.entry));
    for entries in levels {
        analysis.check()?;
        let decompiled = match moderate {
            true => decompile(analysis.program, analysis.decompiler, &entries),
            false => Vec::new(),
        };
        let taken: HashMap<Address, usize> =
            decompiled.iter().map(|(entry, result)| (*entry, result.parameters.len())).collect();
        for entry in entries {
            let Some(told) = unknown.get(&entry).and_then(|text| read(text)) else { continue };
            let passed = match taken.get(&entry) {
                Some(taken) => *taken == told.parameters.len() + 1,
                None => told.is_const || in_class(analysis.program, entry),
            };
            apply(analysis.program, analysis.language, entry, &told, passed);
        }
    }
    Ok(())
}

/// Whether a function's namespace is known to be a class.
fn in_class(program: &Program, entry: Address) -> bool {
    let space = program.symbols.get(program.function_namespace(entry));
    space.is_some_and(|space| space.kind == SymbolKind::Class)
}

/// What names tell about the object that a function is called with.
fn this(program: &Program, entry: Address, told: &Told<'_>) -> This {
    let space = program.symbols.get(program.function_namespace(entry));
    let inside = |s: &&program::Symbol| matches!(s.kind, SymbolKind::Class | SymbolKind::Namespace);
    let Some(space) = space.filter(inside).filter(|s| !s.name.eq_ignore_ascii_case("std")) else {
        return This::None;
    };
    match told.this {
        Some(true) => return This::Passed,
        Some(false) => return This::None,
        None => {}
    }
    let name = program.function_name(entry);
    match (is_overloaded(&name), told.parameters.len()) {
        (true, 0 | 1) => return This::Passed,
        (true, 2) => return This::None,
        _ => {}
    }
    let class = space.name.split('<').next().unwrap_or(&space.name);
    if name.starts_with('~') || name.starts_with(class) {
        This::Passed
    } else if entry.space == SpaceId::EXTERNAL {
        This::None
    } else {
        This::Unknown
    }
}

/// Whether a name is that of an operator with a meaning of its own, elements of arrays and
/// changes of type aside.
fn is_overloaded(name: &str) -> bool {
    let symbols = name.strip_prefix("operator").unwrap_or("");
    symbols.starts_with(|c: char| c.is_ascii_punctuation() && !matches!(c, '.' | '_' | '['))
}

/// Takes a text such as `int f<int>(char const*, int) const` apart.
fn read(text: &str) -> Option<Told<'_>> {
    if text.len() > LONGEST || text.contains('\n') {
        return None;
    }
    if let Some(told) = microsoft::read(text) {
        return (told.parameters.len() <= MOST).then_some(told);
    }
    let text = text.split_once(" thunk to ").map_or(text, |(_, rest)| rest).trim();
    let is_const = text.ends_with(" const");
    let text = text.trim_end_matches(" const");
    let (head, list) = parameter_list(text)?;
    let (parameters, varargs) = parameters(list);
    // Only templates say what they return.
    let returned = head.ends_with('>').then(|| split_head(head)).flatten();
    (!head.is_empty() && parameters.len() <= MOST).then_some(Told {
        returned,
        parameters,
        varargs,
        is_const,
        convention: None,
        this: None,
    })
}

/// What stands before the parentheses that a text ends with, and what is between them.
fn parameter_list(text: &str) -> Option<(&str, &str)> {
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
    Some((inner.get(..open?.0)?, inner.get(open?.0 + 1..)?))
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

/// The parameters of a list, and whether more may follow them.
fn parameters(list: &str) -> (Vec<&str>, bool) {
    let mut parameters = pieces(list);
    let varargs = parameters.last() == Some(&"...");
    if varargs {
        parameters.pop();
    }
    if parameters == ["void"] {
        parameters.clear();
    }
    (parameters, varargs)
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

fn apply(
    program: &mut Program,
    language: &Language,
    entry: Address,
    told: &Told<'_>,
    passed: bool,
) {
    let name = program.function_name(entry);
    let mut written: Vec<TypeId> = Vec::new();
    for text in &told.parameters {
        let Some(data_type) = type_of(program, text) else { return };
        written.push(data_type);
    }
    let returned = match (told.returned, name.as_str()) {
        // What is returned by value changes where parameters are.
        (Some(text), _) if told.convention.is_some() => match type_of(program, text) {
            Some(data_type) => Some(data_type),
            None => return,
        },
        (Some(text), _) => type_of(program, text),
        (None, _) if told.convention.is_some() && name.starts_with('~') => {
            Some(program.types.builtin("void"))
        }
        (None, "operator.new" | "operator.new[]") => type_of(program, "void*"),
        (None, "operator.delete" | "operator.delete[]") => type_of(program, "void"),
        _ => None,
    };
    let passed = passed && language.convention("__thiscall").is_some();
    let class = program.symbols.get(program.function_namespace(entry)).filter(|_| passed);
    let class = class.map(|space| space.name.to_string());
    let this = class.map(|class| structure(program, &class));
    let this = this.map(|class| program.types.pointer_to(class));
    let outside = entry.space == SpaceId::EXTERNAL
        || program.memory.block_at(entry).is_some_and(|b| b.permissions.artificial);
    let convention = match this {
        Some(_) => Some("__thiscall"),
        None => {
            let known = |name: &&str| *name != "__thiscall" && language.convention(name).is_some();
            let usual = language.default_convention().filter(|_| !outside);
            told.convention.filter(known).or(usual)
        }
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
        // Microsoft's texts tell how functions that are pointed to are called.
        return text.contains("(__").then(|| program.types.builtin("pointer"));
    }
    let mut rest = text.trim();
    let mut stars = 0;
    loop {
        let shorter = rest
            .strip_suffix(" const")
            .or_else(|| rest.strip_suffix(" volatile"))
            .or_else(|| rest.strip_suffix(" __ptr64"))
            .or_else(|| rest.strip_suffix(" __restrict"))
            .map(|shorter| (shorter, 0))
            .or_else(|| rest.strip_suffix("&&").map(|shorter| (shorter, 1)))
            .or_else(|| rest.strip_suffix(['*', '&']).map(|shorter| (shorter, 1)));
        let Some((shorter, more)) = shorter else { break };
        rest = shorter.trim_end();
        stars += more;
        // `char const* const*` has the mark right behind a star.
        rest = rest.strip_suffix("*const").map_or(rest, |_| &rest[..rest.len() - 5]);
    }
    let (rest, is_enum) = microsoft::bare(rest);
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
        "__int64" => "longlong",
        "unsigned __int64" => "ulonglong",
        "char8_t" => "uchar",
        "char16_t" => "wchar16",
        "char32_t" => "wchar32",
        "void" | "bool" | "char" | "short" | "int" | "long" | "float" | "double" | "wchar_t" => {
            rest
        }
        _ => "",
    };
    let mut found = match builtin {
        "" if is_enum => microsoft::enumeration(program, rest),
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
