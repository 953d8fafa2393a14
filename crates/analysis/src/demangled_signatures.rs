//! Parameters that demangled C++ names tell: they stand in the comment above a function.
//!
//! Each function is looked at once; those in a namespace that may be a class are decompiled.

mod microsoft;
mod types;

pub(crate) use types::class_of;

use crate::parameter_ids::{decompile, is_moderate, levels};
use crate::pass::{Analysis, Stopped};
use decompiler::Language;
use std::collections::HashMap;
use std::sync::Arc;

use program::{
    Address, CommentKind, Function, Parameter, Program, Signature, SourceType, SpaceId, Storage,
    SymbolKind, TypeId,
};

/// Longest text that is taken apart.
const LONGEST: usize = 2000;
/// How functions of Rust are called.
pub(crate) const RUST: &str = "__rustcall";
/// Most parameters and stars of one type.
const MOST: usize = 64;

/// A type as a text has it: Microsoft's still to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Written<'a> {
    Microsoft(&'a str),
    Gnu(demangler::Type),
}

/// What a text says.
struct Told<'a> {
    returned: Option<Written<'a>>,
    parameters: Vec<Written<'a>>,
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
    call_rust(analysis.program);
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

/// Gives functions with names of Rust its calling convention, in programs of Rust. Nothing more is
/// told of them: what the convention is like, the compiler decides anew for each function.
fn call_rust(program: &mut Program) {
    if !demangler::is_rust_program(program) {
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
    if name.starts_with('~') || name.starts_with(&*space.name) {
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
    let told = demangler::signature(text)?;
    Some(Told {
        returned: told.returned.map(Written::Gnu),
        parameters: told.parameters.into_iter().map(Written::Gnu).collect(),
        varargs: told.varargs,
        is_const: told.is_const,
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
    for parameter in &told.parameters {
        let Some(data_type) = types::type_of(program, parameter) else { return };
        written.push(data_type);
    }
    let returned = match &told.returned {
        Some(returned) => match types::type_of(program, returned) {
            Some(data_type) => Some(data_type),
            // What is returned by value changes where parameters are.
            None => return,
        },
        None if told.convention.is_some() && name.starts_with('~') => {
            Some(program.types.builtin("void"))
        }
        None => None,
    };
    let passed = passed && language.convention("__thiscall").is_some();
    let in_space = program.symbols.get(program.function_namespace(entry)).is_some();
    let this = (passed && in_space).then(|| class_of(program, entry));
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

#[cfg(test)]
mod tests {
    use super::*;
    use program::{DataOrganization, ProgramInfo};

    /// The types that a text says are passed and returned, by their names.
    fn names(text: &str) -> (Vec<String>, String) {
        let mut program = Program::new(ProgramInfo::default(), false, DataOrganization::default());
        let told = read(text).expect(text);
        let mut name = |written: &Written<'_>| {
            let id = types::type_of(&mut program, written).expect(text);
            program.types.name(id).to_owned()
        };
        let parameters = told.parameters.iter().map(&mut name).collect();
        (parameters, told.returned.as_ref().map(&mut name).unwrap_or_default())
    }

    #[test]
    fn types_are_made_of_their_names() {
        let expected: [(&str, &[&str], &str); 12] = [
            ("f(char const*, unsigned long)", &["char *", "ulong"], ""),
            ("f(geo::Shape const* const*)", &["Shape * *"], ""),
            ("f(std::vector<int, a::b> const&)", &["vector *"], ""),
            ("f(unsigned long long, long double)", &["ulonglong", "longdouble"], ""),
            // What is passed by value is as good as its name.
            ("f(Kind, std::string)", &["Kind", "string"], ""),
            ("f(void (*)(int, char*))", &["_func_void_int_char_ptr *"], ""),
            ("f(char const (&) [5])", &["char *"], ""),
            ("f(int A::*)", &["int *"], ""),
            ("int maximum<int, 8>(int, ...)", &["int"], "int"),
            (
                "std::ostream& std::operator<< <char>(std::ostream&, char)",
                &["ostream *", "char"],
                "ostream *",
            ),
            ("A::operator bool() const", &[], "bool"),
            ("operator new[](unsigned long)", &["ulong"], "void *"),
        ];
        for (text, parameters, returned) in expected {
            let (found, result) = names(text);
            assert_eq!(
                (found.as_slice(), result.as_str()),
                (
                    parameters.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>().as_slice(),
                    returned
                ),
                "{text}"
            );
        }
    }

    #[test]
    fn texts_are_taken_apart() {
        let told = read("geo::Rect::print(char*, ...) const").unwrap();
        assert_eq!((told.parameters.len(), told.varargs, told.is_const), (1, true, true));
        assert!(told.returned.is_none());
        assert_eq!(read("non-virtual thunk to A::~A()").unwrap().parameters.len(), 0);
        assert!(read("vtable for A").is_none());
        assert!(read("Stack<int, 8>::push(int)").unwrap().returned.is_none());
    }

    #[test]
    fn one_name_by_value_and_by_address_is_one_type() {
        let mut program = Program::new(ProgramInfo::default(), false, DataOrganization::default());
        let mut first = |text: &str| {
            let told = read(text).expect(text);
            let id = types::type_of(&mut program, &told.parameters[0]).expect(text);
            (id, program.types.length(id))
        };
        // Whoever comes first decides what stands for it: a structure or another name of nothing.
        let (by_address, _) = first("f(a::Kind*)");
        let (by_value, _) = first("f(a::Kind)");
        let (elsewhere, _) = first("f(b::Kind)");
        assert_ne!(by_address, by_value);
        assert_ne!(by_value, elsewhere);
    }
}
