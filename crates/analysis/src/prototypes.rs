//! Prototypes of library functions: what headers say about functions that a
//! program only imports.

use crate::pass::{Analysis, Stopped};
use declarations::{Prototype, parse, parse_prototype};
use decompiler::Language;
use program::data_type::{DataType, DataTypes};
use program::{
    Address, CommentKind, Function, Parameter, Program, Signature, SourceType, SpaceId, Storage,
    SymbolId, SymbolKind, TypeId, TypeKind,
};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The declarations that are built in: those that Ghidra has as well, and others.
const HEADERS: [&str; 2] = [include_str!("prototypes/libc.h"), include_str!("prototypes/gnu.h")];

/// Types by header, and prototypes by function name.
struct Library {
    types: Vec<(&'static str, &'static str)>,
    prototypes: HashMap<&'static str, &'static str>,
}

static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let mut library = Library { types: Vec::new(), prototypes: HashMap::new() };
    for section in HEADERS.iter().flat_map(|text| text.split("//@").skip(1)) {
        let Some((header, text)) = section.split_once('\n') else { continue };
        if header != "prototypes" {
            library.types.push((header, text));
            continue;
        }
        for line in text.lines() {
            let Some(open) = line.find('(') else { continue };
            let name = line[..open].rsplit([' ', '*']).next().unwrap_or("");
            library.prototypes.insert(name, line);
        }
    }
    library
});

/// Gives imported functions of known names their prototypes, unless they have
/// one already. Cost: linear in the imports.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    give(analysis, |program, function| {
        let open = function.signature.source == SourceType::Default;
        (function.is_external() && open).then(|| plain_name(program, function)).flatten()
    });
    Ok(())
}

/// The name of a function of another file, unless it is one of C++, whose functions may be called
/// like those of C.
fn plain_name(program: &Program, function: &Function) -> Option<String> {
    let space = program.symbols.get(program.function_namespace(function.entry));
    let inside = space.is_some_and(|s| matches!(s.kind, SymbolKind::Namespace | SymbolKind::Class));
    let demangled = program.comments.contains_key(&(function.entry, CommentKind::Plate));
    (!inside && !demangled).then(|| program.function_name(function.entry))
}

/// Gives functions of the program itself that are called like those of the library their
/// prototypes, as in programs that contain the library: what debug information or a user says
/// stays. Cost: linear in the functions.
pub(crate) fn run_defined(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    give(analysis, own_name);
    Ok(())
}

/// Does the same for one function. Cost: linear in the functions.
pub(crate) fn run_on(analysis: &mut Analysis<'_>, entry: Address) {
    give(analysis, |program, f| if f.entry == entry { own_name(program, f) } else { None });
}

/// The name of a function of the program itself that nobody gave a prototype.
fn own_name(program: &Program, function: &Function) -> Option<String> {
    let source = function.signature.source;
    let open = matches!(source, SourceType::Default | SourceType::Analysis);
    let own = function.entry.space == SpaceId::RAM && function.thunk_of.is_none();
    let symbol = program.symbols.get(function.symbol).filter(|_| own && open)?;
    // What a mangled name was read as is no name of C.
    let given = symbol.source == SourceType::Imported || symbol.source == SourceType::UserDefined;
    let named = symbol.parent == SymbolId::GLOBAL && given && !symbol.name.is_empty();
    named.then(|| symbol.name.to_string())
}

/// Gives prototypes to the functions that `chosen` names. The declarations are those of Unix
/// libraries: those of Windows have other types under the same names.
fn give(analysis: &mut Analysis<'_>, chosen: impl Fn(&Program, &Function) -> Option<String>) {
    let program = &mut *analysis.program;
    let format = &program.info.executable_format;
    if format.contains("(PE)") || format.starts_with("MS ") {
        return;
    }
    let wanted: Vec<(Address, &'static str)> = program
        .functions
        .iter()
        .filter_map(|f| Some((f.entry, known_prototype(program, &chosen(program, f)?)?)))
        .collect();
    if wanted.is_empty() {
        return;
    }
    declare_types(program);
    for (entry, text) in wanted {
        match parse_prototype(text, &mut program.types) {
            Ok(prototype) => apply(program, analysis.language, entry, &prototype),
            Err(error) => tracing::error!(%error, text, "built-in prototype"),
        }
    }
}

/// The declaration of a function by its name, versions cut off. A name may bear one underscore
/// more than the declaration if nothing bears the plain name.
fn known_prototype(program: &Program, name: &str) -> Option<&'static str> {
    let name = name.split_once('@').map_or(name, |(base, _)| base);
    let prototypes = &LIBRARY.prototypes;
    let known = prototypes.get(name).or_else(|| {
        let plain = name.strip_prefix('_')?;
        let prototype = prototypes.get(plain)?;
        program.symbols.named(plain).next().is_none().then_some(prototype)
    });
    known.copied()
}

/// Makes the library's types known without counting them as used.
fn declare_types(program: &mut Program) {
    declare(&mut program.types, LIBRARY.types.iter().copied());
}

/// Makes types of headers known, each header a category, without counting them as used.
pub(crate) fn declare<'a>(
    types: &mut DataTypes,
    headers: impl Iterator<Item = (&'a str, &'a str)>,
) {
    let last = types.iter().map(|(id, _)| id).last();
    for (header, text) in headers {
        if let Err(error) = parse(text, types, &format!("/{header}")) {
            tracing::error!(%error, header, "built-in types");
        }
    }
    let fresh: Vec<_> = types
        .iter()
        .filter(|(id, t)| Some(*id) > last && t.used)
        .map(|(id, t)| (id, DataType { used: false, ..DataType::clone(t) }))
        .collect();
    for (id, data_type) in fresh {
        types.replace(id, data_type);
    }
}

/// Sets a function's signature and return type from a prototype.
pub(crate) fn apply(
    program: &mut Program,
    language: &Language,
    entry: Address,
    prototype: &Prototype,
) {
    let mut function = prototype.function.clone();
    for parameter in &mut function.parameters {
        parameter.data_type = named_callback(program, parameter.data_type, &parameter.name);
    }
    program.types.mark_used(function.return_type);
    function.parameters.iter().for_each(|p| program.types.mark_used(p.data_type));
    let void = program.types.length(function.return_type) == Some(0);
    let usual = language.default_convention().filter(|_| entry.space == SpaceId::RAM);
    program.functions.edit(entry, |f| {
        let parameters = function
            .parameters
            .iter()
            .map(|p| Parameter {
                name: p.name.clone(),
                data_type: p.data_type,
                storage: Storage::Unassigned,
                source: SourceType::Imported,
                automatic: false,
                id: f.new_variable_id(),
            })
            .collect();
        f.signature = Signature {
            return_type: function.return_type,
            return_storage: if void { Storage::Void } else { Storage::Unassigned },
            parameters,
            varargs: function.varargs,
            convention: function.convention.clone().or_else(|| usual.map(Into::into)),
            custom_storage: false,
            source: SourceType::Imported,
        };
    });
    if function.no_return {
        crate::no_return::mark(program, entry);
    }
    debug_assert_ne!(program.functions.at(entry).map(|f| f.symbol), Some(SymbolId::GLOBAL));
}

/// The type of a pointer to a function that has no name but that of its parameter, which it then
/// bears: `void *(*__start_routine)(void *)` is a `__start_routine *`.
fn named_callback(program: &mut Program, data_type: TypeId, parameter: &str) -> TypeId {
    let target = match program.types.get(data_type).map(|known| &known.kind) {
        Some(TypeKind::Pointer(Some(target))) => *target,
        _ => return data_type,
    };
    let Some(function) = program.types.get(target).cloned() else { return data_type };
    let unnamed =
        matches!(function.kind, TypeKind::Function(_)) && function.name.starts_with("_func_");
    if !unnamed || parameter.is_empty() {
        return data_type;
    }
    let named = program.types.add(DataType {
        category: "/functions".into(),
        name: parameter.into(),
        used: false,
        ..DataType::clone(&function)
    });
    program.types.pointer_to(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::data_type::{DataOrganization, DataTypes};

    #[test]
    fn functions_of_c_and_of_cpp_may_be_called_alike() {
        let mut program =
            Program::new(program::ProgramInfo::default(), false, DataOrganization::default());
        let mut named = |at: u64, source| {
            let at = Address::ram(at);
            program.add_label(at, "init", SymbolId::GLOBAL, source);
            program.add_function(at, program::AddressSet::new());
            program.functions.at(at).and_then(|function| own_name(&program, function))
        };
        assert_eq!(named(0x1000, SourceType::Imported).as_deref(), Some("init"));
        assert_eq!(named(0x2000, SourceType::Analysis), None, "read out of a mangled name");
    }

    #[test]
    fn every_built_in_declaration_can_be_read() {
        for organization in [
            DataOrganization::default(),
            DataOrganization { pointer: 4, long: 4, long_double: 8, ..DataOrganization::default() },
        ] {
            let mut types = DataTypes::new(organization);
            for (header, text) in &LIBRARY.types {
                parse(text, &mut types, &format!("/{header}"))
                    .unwrap_or_else(|e| panic!("{header}: {e}"));
            }
            for (name, line) in &LIBRARY.prototypes {
                let prototype =
                    parse_prototype(line, &mut types).unwrap_or_else(|e| panic!("{line}: {e}"));
                assert_eq!(prototype.name, *name);
            }
            let stat = types.named("stat").next().unwrap();
            if organization.long == 8 {
                assert_eq!(types.length(stat), Some(144));
            }
        }
        assert!(LIBRARY.prototypes.len() > 700);
    }
}
