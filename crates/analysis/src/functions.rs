//! The pass that finds code and functions.

use crate::cold_parts;
use crate::crossings::Crossings;
use crate::evidence;
use crate::explore::{Explored, Explorer, bodies};
use crate::function_starts;
use crate::linkage;
use crate::no_return;
use crate::pass::{Analysis, Stopped};
use crate::pointed_code::PointedCode;
use crate::runtime_functions;
use crate::switches;
use crate::unwind;
use decompiler::Language;
use foldhash::HashSet;
use program::{
    Address, AddressRange, AddressSet, Function, Program, RefType, SourceType, SpaceId, SymbolId,
    SymbolKind,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rounds of making functions of what is called: their code may call more.
const ROUNDS: usize = 8;

/// Times that all is explored anew because calls showed functions never to return that nothing told
/// of before: in programs of moderate size, and in others.
const ANEW: [usize; 2] = [2, 1];

/// Disassembles from every known start and makes functions of what is called. What the places
/// behind calls show is found out only when all is explored, and then all is explored anew.
/// Cost: linear in the code reached.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    mark_known_no_return(analysis.program);
    let before = analysis.program.clone();
    let [moderate, large] = ANEW;
    let most = if crate::parameter_ids::is_moderate(&before) { moderate } else { large };
    let mut never = evidence::in_tables(&before, analysis.language);
    for round in 0..=most {
        for entry in &never {
            mark_never(analysis.program, *entry);
        }
        let starts = explore_all(analysis, &never)?;
        let found = evidence::find(analysis.program, analysis.language, &starts);
        if found.is_empty() || round == most {
            break;
        }
        never.extend(found);
        *analysis.program = before.clone();
        *analysis.told = switches::Told::default();
    }
    crate::process_entry::mark(analysis.program, analysis.language);
    analysis.step(1.0)
}

/// Keeps the decoding modes that flow gave to code, for those who decode it again. Cost: linear in
/// the instructions, on processors with such modes.
fn keep_modes(program: &mut Program) {
    let language = &program.info.language_id;
    if !language.starts_with("ARM:") && !language.starts_with("MIPS:") {
        return;
    }
    let mut other: Vec<(AddressRange, u8)> = Vec::new();
    for (at, instruction) in program.listing.instructions.iter() {
        // What comes of a condition put on an instruction holds for that one alone.
        let mode = instruction.mode.min(1);
        let known = program.mode_at(*at).min(1);
        let Some(range) = AddressRange::with_length(*at, u64::from(instruction.length)) else {
            continue;
        };
        match other.last_mut() {
            _ if mode == known => {}
            Some((last, of)) if *of == mode && last.end.checked_add(1) == Some(*at) => {
                last.end = range.end;
            }
            _ => other.push((range, mode)),
        }
    }
    for (range, mode) in other {
        program.set_mode(range, mode);
    }
}

/// Makes sure that a function is known that never returns.
fn mark_never(program: &mut Program, entry: Address) {
    if program.functions.at(entry).is_none() {
        program.add_function(entry, AddressSet::new());
    }
    no_return::mark(program, entry);
}

/// Explores from every known start; gives those back that are known to hold code alone.
fn explore_all(
    analysis: &mut Analysis<'_>,
    never: &BTreeSet<Address>,
) -> Result<BTreeSet<Address>, Stopped> {
    let starts = starts(analysis.program);
    let program = &*analysis.program;
    let cold: Vec<(Address, u8)> =
        cold_parts::entries(program).into_iter().map(|at| (at, program.mode_at(at))).collect();
    let vectors = vectors(analysis.program, analysis.language);
    let stubs = linkage::stub_starts(analysis.program, analysis.language);
    let [code, landing_pads] = unwind::code_starts(analysis.program);
    let unwound = match analysis.program.info.executable_format.contains("(PE)") {
        true => runtime_functions::starts(analysis.program),
        false => Vec::new(),
    };
    // On AArch64 an entry may be of a part of a function that others lead to.
    let parts = analysis.program.info.language_id.starts_with("AARCH64:");
    let mut explorer = Explorer::new(analysis);
    for (at, mode) in starts {
        explorer.explore(at, mode)?;
    }
    for stub in &stubs.functions {
        explorer.explore(*stub, 0)?;
    }
    for at in unwound.iter().filter(|_| !parts) {
        explorer.explore(*at, 0)?;
    }
    for at in stubs.code.iter().chain(code.iter().map(|at| &at.offset)) {
        explorer.explore_code(*at, 0)?;
    }
    for (at, mode) in cold {
        explorer.explore_code(at.offset, mode)?;
    }
    for (at, mode) in vectors {
        explorer.explore_code(at.offset, mode)?;
    }
    for at in &landing_pads {
        explorer.explore_landing_pad(at.offset, 0)?;
    }
    switches::resolve(&mut explorer)?;
    if parts {
        for at in &unwound {
            explorer.explore(*at, 0)?;
        }
        switches::resolve(&mut explorer)?;
    }
    explorer.fill_gaps_behind(never);
    let explored = explorer.finish();
    keep_modes(analysis.program);
    define(analysis.program, &explored, None);
    Ok(code.into_iter().collect())
}

/// Marks the functions that are known by name never to return.
fn mark_known_no_return(program: &mut Program) {
    let known: Vec<Address> = program
        .functions
        .iter()
        .filter(|f| !f.no_return && no_return::is_known_at(program, f.entry))
        .map(|f| f.entry)
        .collect();
    for entry in known {
        no_return::mark(program, entry);
    }
}

/// Where code is known to start: function symbols, the entry, places that the
/// file marks for the outside.
fn starts(program: &Program) -> Vec<(u64, u8)> {
    let symbols = program.symbols.iter().filter(|(_, s)| s.kind == SymbolKind::Function);
    let in_code = |at: &Address| {
        at.space == SpaceId::RAM
            && program.memory.block_at(*at).is_some_and(|b| b.permissions.execute)
    };
    let mut all: BTreeSet<Address> = symbols.map(|(_, s)| s.address).collect();
    all.extend(program.entry_points.keys());
    all.into_iter().filter(in_code).map(|at| (at.offset, program.mode_at(at))).collect()
}

/// Where the vectors lead that a processor reads: pointers of a type that nothing but its
/// specification lays down before analysis. Cost: linear in the data that the loader defined.
fn vectors(program: &Program, language: &Language) -> Vec<(Address, u8)> {
    const TYPES: [&str; 3] = ["pointer16", "pointer32", "pointer64"];
    let vectors = program.listing.data.iter().filter(|(at, unit)| {
        at.space == SpaceId::RAM && TYPES.contains(&program.types.name(unit.data_type))
    });
    let mut found = Vec::new();
    for reference in vectors.flat_map(|(at, _)| program.references.from(*at)) {
        let thumb = language.thumb_mode().filter(|_| reference.to.offset & 1 == 1);
        let mut to = reference.to;
        to.offset &= !u64::from(thumb.is_some());
        found.push((to, thumb.unwrap_or_else(|| program.mode_at(to))));
    }
    found
}

/// Makes functions of the entries found, with their bodies; those that are there keep the bodies
/// they have unless they are among the changed ones. Cost: linear in the code of the others.
pub(crate) fn define(program: &mut Program, explored: &Explored, changed: Option<&HashSet<u64>>) {
    let fresh = explored.fresh();
    shorten(program, explored, &fresh);
    for (entry, returns) in fresh {
        let address = Address::ram(entry);
        if !program.listing.instructions.contains_key(&address) {
            continue;
        }
        let is_new = program.functions.at(address).is_none_or(|f| f.body.is_empty());
        if is_new || changed.is_none_or(|changed| changed.contains(&entry)) {
            put_body(program, explored, address);
        }
        if !returns {
            no_return::mark(program, address);
        }
    }
}

fn put_body(program: &mut Program, explored: &Explored, entry: Address) {
    let body = bodies(program, explored, entry.offset);
    carve(program, entry, &body);
    match program.functions.take(entry) {
        Some(known) => {
            let mut known = std::sync::Arc::unwrap_or_clone(known);
            known.body = body;
            program.functions.put(known);
        }
        None => {
            program.add_function(entry, body);
        }
    }
}

/// Takes out of other functions what a function's body claims: of those that start before it what
/// lies behind its entry, of those that start behind it what lies in front of theirs. So later
/// functions get what several lead to.
fn carve(program: &mut Program, entry: Address, body: &AddressSet) {
    let Some(last) = body.max() else { return };
    let mut owners: BTreeSet<Address> = BTreeSet::new();
    for range in body.ranges() {
        owners.extend(program.functions.overlapping(range).map(|function| function.entry));
    }
    owners.remove(&entry);
    for owner in owners {
        let end = if owner < entry { Some(last) } else { owner.checked_sub(1) };
        let claimed = end.and_then(|end| AddressRange::new(entry, end));
        let (Some(known), Some(claimed)) = (program.functions.at(owner), claimed) else { continue };
        if !known.body.intersects(&claimed) {
            continue;
        }
        let mut known = Function::clone(known);
        known.body.remove(&claimed);
        program.functions.put(known);
    }
}

/// Takes out of known functions what belongs to new ones that start inside of them.
fn shorten(program: &mut Program, explored: &Explored, fresh: &[(u64, bool)]) {
    let owners: BTreeSet<Address> = fresh
        .iter()
        .map(|(entry, _)| Address::ram(*entry))
        .filter_map(|at| Some(program.functions.containing(at)?.entry).filter(|owner| *owner != at))
        .collect();
    for owner in owners {
        put_body(program, explored, owner);
    }
}

/// Makes functions of places that are called by references found since the
/// code was explored, of those that jumps reach over other functions, and at
/// last of those that look like starts; then decodes code whose address is
/// only taken. Cost: linear in the references and in the code without functions.
pub(crate) fn run_called(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    run_rounds(analysis, Crossings::default())
}

fn run_rounds(analysis: &mut Analysis<'_>, mut crossings: Crossings) -> Result<(), Stopped> {
    let mut searches = if function_starts::may_find_more(analysis.language) { ROUNDS } else { 1 };
    let mut looked_at = HashSet::default();
    let mut pointed = PointedCode::default();
    for _ in 0..2 * ROUNDS {
        let program = &mut *analysis.program;
        let (imports, mut code) = called(program);
        for at in &imports {
            bind_import(program, *at);
        }
        if functions_lie_in_one_piece(analysis.language) {
            code.extend(crossings.find(program));
        }
        let mut rest = Vec::new();
        if code.is_empty() && searches > 0 {
            searches -= 1;
            let mut found = function_starts::find(program, analysis.language);
            found.functions.retain(|(at, _)| looked_at.insert(*at));
            found.code.retain(|(at, _)| looked_at.insert(*at));
            code = take_modes(program, found.functions);
            rest = take_modes(program, found.code);
        }
        if code.is_empty() && rest.is_empty() {
            rest = jumped_to(analysis.program);
        }
        if code.is_empty() && rest.is_empty() {
            let found = pointed.find(analysis, false)?;
            rest = take_modes(analysis.program, found);
        }
        if code.is_empty() && rest.is_empty() {
            break;
        }
        explore(analysis, &code, &rest)?;
    }
    Ok(())
}

/// Lays down the decoding modes of places with code.
fn take_modes(program: &mut Program, places: Vec<(Address, u8)>) -> Vec<Address> {
    let take = |(at, mode)| {
        if program.mode_at(at) != mode {
            program.set_mode(AddressRange { start: at, end: at }, mode);
        }
        at
    };
    places.into_iter().map(take).collect()
}

/// Decodes code that only data refers to, and makes functions of what it calls.
pub(crate) fn run_pointed(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let rest = PointedCode::default().find(analysis, true)?;
    let rest = take_modes(analysis.program, rest);
    if rest.is_empty() {
        return Ok(());
    }
    let mut crossings = Crossings::default();
    crossings.note_functions(analysis.program);
    explore(analysis, &[], &rest)?;
    run_rounds(analysis, crossings)?;
    crate::shared_returns::run(analysis)?;
    crate::accesses::run(analysis)?;
    crate::referenced::run(analysis)
}

/// Explores functions and code without any, and follows the constants in what is new.
pub(crate) fn explore(
    analysis: &mut Analysis<'_>,
    functions: &[Address],
    code: &[Address],
) -> Result<(), Stopped> {
    let known = analysis.program.functions.clone();
    let before = analysis.program.listing.instructions.clone();
    let mut explorer = Explorer::new(analysis);
    for at in functions {
        let mode = explorer.mode_at(*at);
        explorer.explore(at.offset, mode)?;
    }
    for at in code {
        let mode = explorer.mode_at(*at);
        explorer.explore_code(at.offset, mode)?;
    }
    switches::resolve(&mut explorer)?;
    let explored = explorer.finish();
    keep_modes(analysis.program);
    define(analysis.program, &explored, None);
    let mut fresh = Vec::new();
    for function in analysis.program.functions.clone().iter() {
        let is_smaller = |known: &Arc<Function>| function.body.len() < known.body.len();
        match known.at(function.entry) {
            Some(known) if is_smaller(known) => forget_stack(analysis.program, function.entry),
            Some(_) => continue,
            None => {}
        }
        fresh.push(function.entry);
    }
    crate::thunks::run(analysis)?;
    crate::constants::run_on(analysis, &fresh, &before)
}

/// Takes the stack variables off a function that were found in code it has no longer.
fn forget_stack(program: &mut Program, entry: Address) {
    program.functions.edit(entry, |function| {
        function.locals.retain(|local| local.source != SourceType::Default || local.type_locked);
    });
}

/// Places without a function that are called: stand-ins of imports, and code.
fn called(program: &Program) -> (Vec<Address>, Vec<Address>) {
    let open: BTreeSet<Address> = program
        .references
        .iter()
        .filter(|r| r.info.kind.is_call() && r.to.space == SpaceId::RAM)
        .map(|r| r.to)
        .filter(|to| program.functions.at(*to).is_none())
        .collect();
    let block = |at: &Address| program.memory.block_at(*at);
    let (imports, code): (Vec<Address>, Vec<Address>) =
        open.into_iter().partition(|at| block(at).is_some_and(|b| b.permissions.artificial));
    let in_code = |at: &Address| {
        block(at).is_some_and(|b| b.permissions.execute)
            && program.listing.unit_containing(*at).is_none_or(|(start, _)| start == *at)
    };
    (imports, code.into_iter().filter(in_code).collect())
}

/// Places of which nothing is decoded though a computed jump of ARM leads there, as constants told.
/// Cost: linear in the references.
fn jumped_to(program: &Program) -> Vec<Address> {
    if !matches!(&*program.info.processor, "ARM" | "AARCH64") {
        return Vec::new();
    }
    let jumps = program.references.iter().filter(|reference| {
        matches!(reference.info.kind, RefType::Flow(flow) if flow.is_jump() && flow.is_computed())
    });
    let open = jumps.map(|reference| reference.to).filter(|to| {
        let block = program.memory.block_at(*to);
        to.space == SpaceId::RAM
            && block.is_some_and(|b| b.permissions.execute && b.is_initialized())
            && program.listing.unit_containing(*to).is_none()
    });
    open.collect::<BTreeSet<Address>>().into_iter().collect()
}

/// Whether the functions of a processor lie in one piece: veneers and literals between the parts of
/// ARM's forbid to conclude anything from jumps.
fn functions_lie_in_one_piece(language: &Language) -> bool {
    language.processor() != "ARM"
}

/// Makes the stand-in of an imported function a thunk of it.
fn bind_import(program: &mut Program, at: Address) {
    let Some((_, symbol)) = program.symbols.primary_at(at) else { return };
    let name = symbol.name.clone();
    let import = program
        .symbols
        .named(&name)
        .find(|(_, s)| s.address.space == SpaceId::EXTERNAL)
        .map(|(_, s)| s.address);
    let import = import.unwrap_or_else(|| add_import(program, &name));
    if program.functions.at(import).is_none() {
        program.add_function(import, AddressSet::new());
    }
    let body = AddressRange::with_length(at, 1).into_iter().collect();
    let symbol = program.add_function(at, body).symbol;
    program.symbols.edit(symbol, |s| {
        s.name = "".into();
        s.source = SourceType::Default;
    });
    let never = no_return::is_known(&name) && !no_return::is_stated_to_return(program, import);
    program.functions.edit(import, |f| f.no_return |= never);
    program.functions.edit(at, |f| {
        f.thunk_of = Some(import);
        f.no_return |= never;
    });
}

/// Adds an imported function that the file's symbols show as a place without a type.
fn add_import(program: &mut Program, name: &Arc<str>) -> Address {
    const LIBRARY: &str = "<EXTERNAL>";
    let last = program.functions.iter().next_back().map(|function| function.entry);
    let last = last.filter(|entry| entry.space == SpaceId::EXTERNAL).map_or(0, |e| e.offset);
    let entry = Address::external(last.saturating_add(1));
    let library = program.symbols.namespace(LIBRARY, SymbolId::GLOBAL, SymbolKind::Library);
    let symbol = program.add_function(entry, AddressSet::new()).symbol;
    program.symbols.edit(symbol, |symbol| {
        symbol.name = Arc::clone(name);
        symbol.parent = library;
        symbol.source = SourceType::Imported;
    });
    entry
}
