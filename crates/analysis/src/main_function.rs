//! The function called `main`, by what start-up code hands over or calls last: C programs without
//! symbols begin in code of the library, and what their authors wrote begins there.
//!
//! On Unix the library takes `main` as an argument of the function that runs it. On Windows
//! start-up code calls it itself, once it has asked the run-time library for the arguments.

use crate::parameter_ids::decompile;
use crate::pass::{Analysis, Stopped};
use crate::process_entry;
use decompiler::{Decompilation, Token, TokenKind};
use program::{Address, FlowType, Program, SourceType, SpaceId};
use std::collections::BTreeSet;

/// Functions that run the `main` they are given, and which argument that is, from 0.
const RUNNERS: [(&str, usize); 4] = [
    ("__libc_start_main", 0),
    ("__uClibc_main", 0),
    ("__uClibc_start_main", 0),
    ("__libc_init", 2),
];

/// What Windows start-up code asks for last before it calls `main` or `wmain`: the run-time
/// library's functions, or its variable, that give the environment and the arguments.
const ASKED: [(&str, &str); 8] = [
    ("__p___argc", "main"),
    ("__p___argv", "main"),
    ("_get_initial_narrow_environment", "main"),
    ("__p___initenv", "main"),
    ("__initenv", "main"),
    ("__p___wargv", "wmain"),
    ("_get_initial_wide_environment", "wmain"),
    ("__winitenv", "wmain"),
];

/// Longest start-up code.
const LONGEST: u64 = 0x1000;

/// Names `main` where the program has no symbol of that name. Cost: linear in the functions, and a
/// decompilation of each function that calls what runs `main`.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let program = &mut *analysis.program;
    let found = if program.info.executable_format.contains("(PE)") {
        called_by_startup(program)
    } else {
        let callers = callers_of_runners(program);
        // Where the library is a part of the program, nothing need be named.
        let nameless = callers.is_empty();
        let starts =
            if nameless { process_entry::find(program).into_iter().collect() } else { callers };
        let all = decompile(program, analysis.decompiler, &starts);
        let handed = all.iter().find_map(|(entry, result)| {
            let only =
                result.calls.as_slice().first().filter(|_| nameless && result.calls.len() == 1);
            let only = only.and_then(|call| call.to).map(|to| program.function_name(to));
            if nameless && only.is_none() {
                return None;
            }
            handed_over(program, *entry, result, only.as_deref())
        });
        handed.map(|entry| (entry, "main"))
    };
    if let Some((entry, name)) = found {
        let mode = program.mode_at(entry);
        let known = program.functions.at(entry).is_some()
            || crate::make::make_function(program, analysis.language, entry, mode, None).is_ok();
        if known {
            give_name(program, entry, name);
        }
    }
    analysis.check()
}

/// Names a function that has no name yet, unless the name is taken.
fn give_name(program: &mut Program, entry: Address, name: &str) {
    let taken = program.symbols.iter().any(|(_, s)| &*s.name == name && s.is_in_memory());
    let Some(function) = program.functions.at(entry).filter(|_| !taken) else { return };
    let symbol = function.symbol;
    let nameless = program.symbols.get(symbol).is_some_and(|s| s.source == SourceType::Default);
    if nameless && function.thunk_of.is_none() {
        program.symbols.edit(symbol, |symbol| {
            symbol.name = name.into();
            symbol.source = SourceType::Analysis;
        });
    }
}

/// The functions that call what runs `main`.
fn callers_of_runners(program: &Program) -> Vec<Address> {
    let runs = |at: &Address| runner(&program.function_name(*at)).is_some();
    let runners: Vec<Address> = program.functions.iter().map(|f| f.entry).filter(runs).collect();
    let calls = runners.iter().flat_map(|at| program.references.to(*at));
    let calls = calls.filter(|r| r.info.kind.is_flow() && r.from.space == SpaceId::RAM);
    let callers: BTreeSet<Address> = calls
        .filter_map(|r| program.functions.containing(r.from))
        .map(|function| function.entry)
        .filter(|entry| !runs(entry))
        .collect();
    callers.into_iter().collect()
}

fn runner(name: &str) -> Option<usize> {
    RUNNERS.iter().find(|(known, _)| *known == name).map(|(_, argument)| *argument)
}

/// The function that the C text of start-up code hands over as `main`, to a function of that name or
/// to one that is known.
fn handed_over(
    program: &Program,
    caller: Address,
    result: &Decompilation,
    nameless: Option<&str>,
) -> Option<Address> {
    let tokens: Vec<&Token> = result.tokens.iter().filter(|t| !t.text.trim().is_empty()).collect();
    tokens.iter().enumerate().find_map(|(at, token)| {
        let known = runner(&token.text).or_else(|| (nameless == Some(&*token.text)).then_some(0));
        let argument = known.filter(|_| token.kind == TokenKind::Function)?;
        let named = argument_of(tokens.get(at + 1..)?, argument)?;
        function_named(program, caller, &named.text)
    })
}

/// The one name that is an argument of a call whose tokens begin at the opening parenthesis.
fn argument_of<'a>(tokens: &[&'a Token], argument: usize) -> Option<&'a Token> {
    let (mut depth, mut place, mut found) = (0, 0, None);
    for token in tokens {
        match token.text.trim() {
            "(" => depth += 1,
            ")" if depth == 1 => break,
            ")" => depth -= 1,
            "," if depth == 1 => place += 1,
            _ if place == argument
                && matches!(token.kind, TokenKind::Function | TokenKind::Global) =>
            {
                if found.is_some() {
                    return None;
                }
                found = Some(*token);
            }
            _ => {}
        }
    }
    found
}

/// The function, or the code, of that name to which code of the caller refers.
fn function_named(program: &Program, caller: Address, name: &str) -> Option<Address> {
    let body = &program.functions.at(caller)?.body;
    let ranges = body.ranges().iter();
    let referred = ranges.flat_map(|range| program.references.between(range.start, range.end));
    // A slot of the linker's may stand between.
    let mut places = referred.flat_map(|r| {
        let beyond = program.references.from(r.to).map(|beyond| beyond.to);
        std::iter::once(r.to).chain(beyond)
    });
    let is_meant = |at: &Address| match program.functions.at(*at) {
        Some(_) => program.function_name(*at) == name,
        None => is_code(program, *at) && name.ends_with(&format!("_{:08x}", at.offset)),
    };
    places.find(is_meant)
}

fn is_code(program: &Program, at: Address) -> bool {
    let block = program.memory.block_at(at);
    at.space == SpaceId::RAM && block.is_some_and(|b| b.permissions.execute && b.is_initialized())
}

/// The function that Windows start-up code calls next once it has asked for the arguments.
fn called_by_startup(program: &Program) -> Option<(Address, &'static str)> {
    let asked = ASKED.iter().flat_map(|(import, name)| {
        let places = program.functions.iter().map(|f| f.entry);
        let places = places.filter(|at| program.function_name(*at) == *import);
        let slots = program.symbols.iter().filter(|(_, s)| &*s.name == *import);
        let places: BTreeSet<Address> = places.chain(slots.map(|(_, s)| s.address)).collect();
        places.into_iter().map(move |place| (place, *name))
    });
    let from = asked.flat_map(|(place, name)| reached_from(program, place, name));
    let mut sites: Vec<(Address, &'static str)> = from.collect();
    sites.sort_unstable();
    let mut found = None;
    for (site, name) in sites {
        if let Some(callee) = next_call(program, site)
            && !is_asked(program, callee)
            && found.replace((callee, name)).is_some_and(|known| known != (callee, name))
        {
            return None;
        }
    }
    found
}

/// Where code reaches an import, by itself, by its slot or by a thunk of it.
fn reached_from(
    program: &Program,
    place: Address,
    name: &'static str,
) -> Vec<(Address, &'static str)> {
    let mut places = BTreeSet::from([place]);
    places.extend(program.references.to(place).map(|r| r.from));
    let sites = places.iter().flat_map(|at| program.references.to(*at)).map(|r| r.from);
    let code = sites.filter(|at| program.listing.instructions.contains_key(at));
    let own =
        code.filter(|at| program.functions.containing(*at).is_some_and(|f| f.thunk_of.is_none()));
    own.map(|at| (at, name)).collect()
}

fn is_asked(program: &Program, callee: Address) -> bool {
    let name = program.function_name(callee);
    program.thunked(callee).is_some_and(|f| f.is_external())
        || ASKED.iter().any(|(known, _)| *known == name)
}

/// The function of the program's own that is called next behind a place in start-up code.
fn next_call(program: &Program, site: Address) -> Option<Address> {
    let body = &program.functions.containing(site)?.body;
    let end = site.checked_add(LONGEST)?;
    let code = program.listing.instructions.range(site..=end).skip(1);
    for (at, instruction) in code.take_while(|(at, _)| body.contains(**at)) {
        if instruction.flow.is_jump() {
            return None;
        }
        if instruction.flow.is_call() {
            let direct = instruction.flow == FlowType::UnconditionalCall;
            let callee = program.references.from(*at).find(|r| r.info.kind.is_call())?.to;
            if direct && !is_asked(program, callee) {
                return Some(callee);
            }
        }
    }
    None
}
