//! Functions that are known by name never to return.

use program::{Address, Program, Symbol, SymbolId};
use std::collections::HashSet;
use std::sync::LazyLock;

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

/// Whether a function of that name never returns.
pub(crate) fn is_known(name: &str) -> bool {
    NAMES.contains(bare(name))
}

/// Whether any name at an address is that of a function that never returns.
pub(crate) fn is_known_at(program: &Program, entry: Address) -> bool {
    program.symbols.at(entry).any(|(_, s)| is_known(&s.name) || is_known_of_std(program, s))
        || program
            .functions
            .at(entry)
            .is_some_and(|f| f.thunk_of.is_some() && is_known(&program.function_name(entry)))
}

/// Whether a symbol is that of a function of the C++ library that never returns.
fn is_known_of_std(program: &Program, symbol: &Symbol) -> bool {
    let space = || program.symbols.get(symbol.parent);
    OF_STD.contains(&*symbol.name)
        && space().is_some_and(|s| &*s.name == "std" && s.parent == SymbolId::GLOBAL)
}

/// Functions of Go's runtime that change to another stack: nothing in them returns, but what
/// calls them goes on all the same.
const COMING_BACK: [&str; 3] = ["runtime.mcall", "runtime.morestack", "runtime.morestack_noctxt"];

/// Whether a function of the name at an address comes back although nothing in it returns.
pub(crate) fn comes_back(program: &Program, entry: Address) -> bool {
    let mut symbols = program.symbols.at(entry);
    symbols.any(|(_, s)| COMING_BACK.contains(&s.name.strip_suffix(".abi0").unwrap_or(&s.name)))
}

#[cfg(test)]
mod tests {
    use super::{OF_STD, is_known};

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
