//! Functions that are known by name never to return.

use program::{Address, Program, Symbol, SymbolId, SymbolKind};
use std::collections::HashSet;
use std::sync::LazyLock;

/// Functions that pass on to one another in a row.
const THUNKS: usize = 16;

static NAMES: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    include_str!("no_return_names.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(bare)
        .collect()
});

/// Those of the namespace `std` as they are once their mangled names are read.
static OF_STD: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| NAMES.iter().filter_map(|name| of_std(name)).collect());

/// The name that a mangled one without its underscores gives to a function of `std`.
fn of_std(mangled: &str) -> Option<&str> {
    let rest = mangled.strip_prefix("ZSt")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let length: usize = rest.get(..digits)?.parse().ok()?;
    rest.get(digits..)?.get(..length)
}

/// A name without leading underscores, versions and stub marks.
fn bare(name: &str) -> &str {
    let name = name.split_once('@').map_or(name, |(base, _)| base);
    name.trim_start_matches('_')
}

/// Whether someone states that a function returns, which is believed against all that its names,
/// its code and its calls tell.
pub(crate) fn is_stated_to_return(program: &Program, entry: Address) -> bool {
    program.info.returning.contains(&entry)
}

/// Takes a function for one that never returns, unless it is stated to.
pub(crate) fn mark(program: &mut Program, entry: Address) {
    if !is_stated_to_return(program, entry) {
        program.functions.edit(entry, |function| function.no_return = true);
    }
}

/// Whether a function of that name never returns.
pub(crate) fn is_known(name: &str) -> bool {
    NAMES.contains(bare(name))
}

/// Whether any name at an address, or of what the function there passes on to, is that of a function
/// that never returns.
pub(crate) fn is_known_at(program: &Program, entry: Address) -> bool {
    if is_stated_to_return(program, entry) {
        return false;
    }
    let mut next = Some(entry);
    for _ in 0..THUNKS {
        let Some(at) = next else { break };
        let mut symbols = program.symbols.at(at);
        if symbols.any(|(_, s)| is_known(&s.name) || is_known_of_std(program, s)) {
            return true;
        }
        next = program.functions.at(at).and_then(|function| function.thunk_of);
    }
    false
}

/// Whether a symbol is that of a function of the C++ library that never returns.
fn is_known_of_std(program: &Program, symbol: &Symbol) -> bool {
    let outer = |parent: SymbolId| parent == SymbolId::GLOBAL || is_library(program, parent);
    OF_STD.contains(&*symbol.name)
        && program.symbols.get(symbol.parent).is_some_and(|s| &*s.name == "std" && outer(s.parent))
}

/// Whether a symbol stands for another program file, or for all that are not known by name.
fn is_library(program: &Program, id: SymbolId) -> bool {
    program.symbols.get(id).is_some_and(|symbol| symbol.kind == SymbolKind::Library)
}

/// Functions of Go's runtime that change to another stack: nothing in them returns, but what
/// calls them goes on all the same.
const COMING_BACK: [&str; 3] = ["runtime.mcall", "runtime.morestack", "runtime.morestack_noctxt"];

/// Whether a function comes back although nothing in it returns: someone states it, or a name at
/// its entry tells.
pub(crate) fn comes_back(program: &Program, entry: Address) -> bool {
    if is_stated_to_return(program, entry) {
        return true;
    }
    let mut symbols = program.symbols.at(entry);
    symbols.any(|(_, s)| COMING_BACK.contains(&s.name.strip_suffix(".abi0").unwrap_or(&s.name)))
}

#[cfg(test)]
mod tests {
    use super::{OF_STD, is_known, is_known_at};
    use program::{Address, AddressSet, DataOrganization, Program, ProgramInfo, SymbolId};
    use program::{SourceType, SymbolKind};

    #[test]
    fn stubs_of_the_library_s_throwing_functions_never_return() {
        let mut program = Program::new(ProgramInfo::default(), false, DataOrganization::default());
        let symbols = &mut program.symbols;
        let library = symbols.namespace("libstdc++.so.6", SymbolId::GLOBAL, SymbolKind::Library);
        let std = [SymbolId::GLOBAL, library]
            .map(|outer| symbols.namespace("std", outer, SymbolKind::Namespace));
        let mut import = |offset: u64, space: SymbolId, name: &str| {
            let target = Address::external(offset);
            let function = program.add_function(target, AddressSet::new());
            program.symbols.edit(function.symbol, |symbol| {
                symbol.name = name.into();
                symbol.parent = space;
                symbol.source = SourceType::Imported;
            });
            let stub = Address::ram(0x1000 + offset * 0x10);
            program.add_function(stub, AddressSet::new());
            program.functions.edit(stub, |f| f.thunk_of = Some(target));
            stub
        };
        let throws = std.map(|space| import(space.0, space, "__throw_out_of_range"));
        let returns = import(0, std[0], "__throwaway");
        assert_eq!(throws.map(|at| is_known_at(&program, at)), [true, true]);
        assert!(!is_known_at(&program, returns));
    }

    #[test]
    fn mangled_names_of_the_library_tell_the_plain_ones() {
        for name in ["terminate", "__throw_out_of_range", "__throw_bad_alloc"] {
            assert!(OF_STD.contains(name), "{name}");
        }
        assert!(!OF_STD.contains("throw_bad_alloc"));
    }

    #[test]
    fn names_match_with_their_usual_decorations() {
        for name in ["exit", "_exit", "__stack_chk_fail", "abort@@GLIBC_2.2.5", "_ZSt9terminatev"] {
            assert!(is_known(name), "{name}");
        }
        for name in ["atexit", "exit_status", "on_exit", "error", "_start", ""] {
            assert!(!is_known(name), "{name}");
        }
    }
}
