//! Data types for the type names in demangled C++ prototypes, stand-ins where only a name is known.

use super::{MOST, Written, microsoft};
use program::data_type::{FunctionType, STAND_INS, SignatureParameter};
use program::{Address, DataType, Program, TypeId, TypeKind};

/// Where the types of functions without a name are kept.
const FUNCTIONS: &str = "/Demangler/!_anon_funcs_";

/// The type that is written down; `None` for one whose size is not known.
pub(super) fn type_of(program: &mut Program, written: &Written<'_>) -> Option<TypeId> {
    match written {
        Written::Microsoft(text) => microsoft_type(program, text),
        Written::Gnu(found) => gnu_type(program, found),
    }
}

/// The structure of the class whose method a function is.
pub(crate) fn class_of(program: &mut Program, method: Address) -> TypeId {
    let path = program.symbols.path(program.function_namespace(method));
    let mut path: Vec<String> = path.iter().map(|part| part.to_string()).collect();
    let name = path.pop().unwrap_or_default();
    let known = find(program, &path, &name, is_structure);
    known.unwrap_or_else(|| stand_in(program, &path, &name, EMPTY))
}

const EMPTY: TypeKind = TypeKind::Struct { fields: Vec::new(), packed: false };

fn is_structure(kind: &TypeKind) -> bool {
    matches!(kind, TypeKind::Struct { .. } | TypeKind::Union { .. })
}

fn gnu_type(program: &mut Program, written: &demangler::Type) -> Option<TypeId> {
    if written.stars > MOST {
        return None;
    }
    let mut found = match &written.kind {
        demangler::TypeKind::Function { returned, parameters } => {
            function(program, returned, parameters)?
        }
        demangler::TypeKind::Named => match builtin(&written.name) {
            Some(name) if written.path.is_empty() => program.types.builtin(name),
            _ => named(program, written),
        },
    };
    for _ in 0..written.stars {
        found = program.types.pointer_to(found);
    }
    Some(found)
}

/// The type of a name: the one there is, else a stand-in. Of what is passed by value only the name
/// is known, and of what is pointed to not even that it is a class.
fn named(program: &mut Program, written: &demangler::Type) -> TypeId {
    let (path, name) = (&written.path, &written.name);
    let is_text = name == "string";
    let wanted = |kind: &TypeKind| match is_text {
        true => is_structure(kind),
        false => !matches!(kind, TypeKind::Builtin(_) | TypeKind::Pointer(_)),
    };
    if let Some(known) = find(program, path, name, wanted) {
        return known;
    }
    let kind = match written.stars == 0 && !is_text {
        true => TypeKind::Typedef(program.types.builtin("undefined")),
        false => EMPTY,
    };
    stand_in(program, path, name, kind)
}

/// The type of a function that takes and returns something.
fn function(
    program: &mut Program,
    returned: &demangler::Type,
    parameters: &[demangler::Type],
) -> Option<TypeId> {
    let return_type = gnu_type(program, returned)?;
    let mut taken = Vec::new();
    for parameter in parameters {
        let data_type = gnu_type(program, parameter)?;
        taken.push(SignatureParameter { name: "".into(), data_type });
    }
    let mut name = "_func".to_owned();
    for data_type in std::iter::once(return_type).chain(taken.iter().map(|p| p.data_type)) {
        let part = program.types.name(data_type).replace(' ', "_").replace('*', "ptr");
        name.push('_');
        name.push_str(&part);
    }
    let kind = TypeKind::Function(FunctionType {
        return_type,
        parameters: taken,
        convention: None,
        varargs: false,
        no_return: false,
    });
    Some(add(program, FUNCTIONS, &name, 1, kind))
}

/// A type of that name, preferably that of the namespaces; in no other ones.
fn find(
    program: &Program,
    path: &[String],
    name: &str,
    wanted: impl Fn(&TypeKind) -> bool,
) -> Option<TypeId> {
    let fits = |id: &TypeId| {
        let Some(known) = program.types.get(*id).filter(|known| wanted(&known.kind)) else {
            return false;
        };
        let mut parts = known.category.rsplit('/');
        path.iter().rev().all(|space| parts.next().is_some_and(|part| part == escaped(space)))
    };
    let is_root = |id: &TypeId| {
        path.is_empty() && program.types.get(*id).is_some_and(|known| &*known.category == "/")
    };
    let fitting: Vec<TypeId> = program.types.named(name).filter(fits).collect();
    fitting.iter().copied().find(is_root).or_else(|| fitting.last().copied())
}

/// A namespace as it stands in the path of a category.
fn escaped(space: &str) -> String {
    space.replace('/', "\\/")
}

fn stand_in(program: &mut Program, path: &[String], name: &str, kind: TypeKind) -> TypeId {
    let spaces: String = path.iter().map(|space| format!("/{}", escaped(space))).collect();
    add(program, &format!("{STAND_INS}{spaces}"), name, 1, kind)
}

fn add(program: &mut Program, category: &str, name: &str, length: u32, kind: TypeKind) -> TypeId {
    program.types.add(DataType {
        category: category.into(),
        name: name.into(),
        length: Some(length),
        alignment: 1,
        description: "".into(),
        kind,
        used: false,
    })
}

/// The built-in type that C++ calls by a name.
fn builtin(name: &str) -> Option<&str> {
    Some(match name {
        "unsigned long" | "unsigned_long" => "ulong",
        "unsigned int" | "unsigned_int" | "unsigned" => "uint",
        "unsigned short" | "unsigned_short" => "ushort",
        "unsigned char" | "unsigned_char" | "char8_t" => "uchar",
        "long long" | "long_long" => "longlong",
        "unsigned long long" | "unsigned_long_long" => "ulonglong",
        "long double" | "long_double" => "longdouble",
        "char16_t" => "wchar16",
        "char32_t" => "wchar32",
        "__int128" => "int16",
        "__float128" => "float16",
        "void" | "bool" | "char" | "short" | "int" | "long" | "float" | "double" | "wchar_t"
        | "undefined" => name,
        _ => return None,
    })
}

/// The type that a text such as `char const *` of Microsoft names; `None` for one whose size is not
/// known.
fn microsoft_type(program: &mut Program, text: &str) -> Option<TypeId> {
    if text.contains(['(', '[']) {
        // The texts tell how functions that are pointed to are called.
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
    let known = match rest {
        "signed char" => Some("schar"),
        "__int64" => Some("longlong"),
        "unsigned __int64" => Some("ulonglong"),
        name => builtin(name),
    };
    let mut found = match known {
        Some(name) => program.types.builtin(name),
        None if is_enum => microsoft::enumeration(program, rest),
        None if stars == 0 => return None,
        None => {
            let name = microsoft::last_part(rest);
            let known = program
                .types
                .named(&name)
                .find(|id| program.types.get(*id).is_some_and(|known| is_structure(&known.kind)));
            known.unwrap_or_else(|| stand_in(program, &[], &name, EMPTY))
        }
    };
    for _ in 0..stars {
        found = program.types.pointer_to(found);
    }
    Some(found)
}
