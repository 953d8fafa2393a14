//! Functions that are known by name never to return.

use program::{Address, Program};
use std::collections::HashSet;
use std::sync::LazyLock;

static NAMES: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    include_str!("no_return_names.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(bare)
        .collect()
});

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
    program.symbols.at(entry).any(|(_, s)| is_known(&s.name))
        || program
            .functions
            .at(entry)
            .is_some_and(|f| f.thunk_of.is_some() && is_known(&program.function_name(entry)))
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
    use super::is_known;

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
