//! One engine: an architecture of the engine crate, told everything about one program's snapshot.

mod assumed;
mod core_types;
mod depends;
mod edits;
mod effects;
mod folding;
mod memory;
mod omission;
mod passing;
mod prototype;
mod reach;
mod result;
mod symbols;
mod texts;
mod tokens;
mod types;
mod undefined;
mod update;
mod variables;
mod watch;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ghidra_decompiler::action::BREAK_START;
use ghidra_decompiler::address::Address;
use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::database::SymbolId as EngineSymbol;
use ghidra_decompiler::error::{Error, Result};
use ghidra_decompiler::funcdata::Funcdata;
use ghidra_decompiler::prettyprint::EmitPrettyPrint;
use ghidra_decompiler::printc::PrintC;
use ghidra_decompiler::xml::DocumentStorage;
use program::{Address as Place, Function, Program, SpaceId};

use crate::architecture::prepare;
use crate::language::Language;
use effects::DeadEffects;
use folding::FoldingGuard;
use memory::{MemoryImage, SharedMemory};
use reach::{Reach, reach};
use symbols::Symbols;
use tokens::{TokenEmit, TokenSink};
use types::TypeMap;
use watch::{Watch, WatchRule};

pub(crate) use depends::Depends;
pub(crate) use omission::Omission;
pub use passing::{PassedStorage, Passing, assign_storage};
pub(crate) use result::short;
pub use result::{Call, Decompilation, JumpTable, Token};
pub use tokens::TokenKind;
pub use types::TypeOf;
pub use variables::{Variable, parameter_id};
pub use watch::Limits;
pub(crate) use watch::Stop;

/// Runs after which an engine is thrown away: what it allocates it never reuses.
const MAX_RUNS: u32 = 2000;

/// Times that a run is repeated because it calls functions that it was not told of.
const MAX_TOLD: usize = 3;

/// New functions that an engine for flow is told of one by one: its maps are arrays, and each
/// function moves all behind it.
const FEW: usize = 64;

/// What a run goes by, apart from the engine's own state.
struct Scene<'a> {
    watch: &'a Watch,
    types: &'a TypeMap,
    symbols: &'a Symbols,
    function: &'a Function,
    /// The code that it runs over.
    reach: &'a Reach,
    /// Parameters that its convention has no place for.
    unplaced: usize,
}

/// What comes of running the engine once.
enum Attempt {
    Done(Box<(Decompilation, Depends)>),
    /// It may take numbers for pointers to these places, when it is told of them.
    Undefined(Vec<Place>),
}

/// What an engine is for: how much of the program it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// C text: everything.
    Text,
    /// The same, with code that constants show never to run: others may change them.
    Everything,
    /// Flow and jump tables: functions and memory. A fraction of the memory and time that
    /// the names and types of all data take.
    Flow,
}

/// An engine and the snapshot it was told.
pub(crate) struct Engine {
    purpose: Purpose,
    omission: Omission,
    architecture: Architecture,
    snapshot: Program,
    memory: Arc<SharedMemory>,
    types: TypeMap,
    symbols: Symbols,
    /// Functions whose prototypes the engine holds.
    prototyped: HashSet<Place>,
    watch: Arc<Watch>,
    tokens: TokenSink,
    runs: u32,
    last_stop: Option<Stop>,
}

impl Engine {
    pub(crate) fn build(
        language: &Language,
        program: &Program,
        purpose: Purpose,
        omission: Omission,
    ) -> Result<Engine> {
        let watch = Arc::new(Watch::default());
        let tokens = TokenSink::default();
        let memory = Arc::new(SharedMemory::new(program.clone()));
        let mut architecture = open(language, program, &memory, &watch)?;
        print_tokens(&mut architecture, &tokens);
        if purpose == Purpose::Everything {
            architecture.allacts.toggle_action("decompile", "unreachable", false)?;
        }
        break_at_every_action(&mut architecture)?;
        set_modes(&architecture, language, program)?;
        let mut types = TypeMap::without(omission);
        let symbols = Symbols::feed(&mut architecture, program, &mut types, purpose)?;
        Ok(Engine {
            purpose,
            omission,
            architecture,
            snapshot: program.clone(),
            memory,
            types,
            symbols,
            prototyped: HashSet::new(),
            watch,
            tokens,
            runs: 0,
            last_stop: None,
        })
    }

    /// Whether the engine was told the same as `program` says, as far as its purpose needs it.
    /// One for flow catches up with new functions before each run.
    pub(crate) fn knows(&self, program: &Program, purpose: Purpose) -> bool {
        let known = &self.snapshot;
        self.purpose == purpose
            && Arc::ptr_eq(&known.info, &program.info)
            && known.memory.same(&program.memory)
            && known.modes.same(&program.modes)
            && match purpose {
                Purpose::Text | Purpose::Everything => self.knows_names(program),
                Purpose::Flow => self.behind(program) <= FEW,
            }
    }

    /// Functions found since the engine was told of all.
    fn behind(&self, program: &Program) -> usize {
        program.functions.len().saturating_sub(self.snapshot.functions.len())
    }

    fn knows_names(&self, program: &Program) -> bool {
        let known = &self.snapshot;
        known.symbols.same(&program.symbols)
            && known.functions.same(&program.functions)
            && known.types.same(&program.types)
            && known.listing.data.same(&program.listing.data)
            && known.references.same(&program.references)
    }

    /// Tells an engine for flow about functions found since, and lets it forget what it
    /// knew of the others: they may no longer return.
    fn catch_up(&mut self, program: &Program) -> Result<()> {
        if self.snapshot.functions.same(&program.functions) {
            return Ok(());
        }
        for entry in std::mem::take(&mut self.prototyped) {
            if let Some(symbol) = self.symbols.functions.get(&entry).copied() {
                self.destroy(symbol)?;
            }
        }
        let entries = program.functions.iter().map(|function| function.entry);
        for entry in entries.filter(|entry| entry.space == SpaceId::RAM) {
            self.symbols.add_function(&mut self.architecture, program, entry)?;
        }
        self.snapshot = program.clone();
        Ok(())
    }

    /// Whether it was made for the same program and purpose, maybe at another time.
    pub(crate) fn is_of(&self, program: &Program, purpose: Purpose) -> bool {
        self.purpose == purpose
            && self.snapshot.info.sha256 == program.info.sha256
            && self.snapshot.info.name == program.info.name
    }

    /// Whether it is not to be used again.
    pub(crate) fn is_worn(&self) -> bool {
        self.runs >= MAX_RUNS || self.omission != Omission::Nothing
    }

    /// Why the last run was stopped, if it was.
    pub(crate) fn stop(&self) -> Option<Stop> {
        self.last_stop
    }

    /// Decompiles the function at `entry`.
    pub(crate) fn decompile(
        &mut self,
        program: &Program,
        entry: Place,
        limits: &Limits,
        cancel: &Arc<AtomicBool>,
    ) -> Result<(Decompilation, Depends)> {
        self.memory.take_reads();
        let result = self.decompile_once(program, entry, limits, cancel);
        if result.is_ok() || self.last_stop.is_some() {
            return result;
        }
        // What read-only memory says can lead the engine into a corner: without it there may be
        // an answer, if a longer one.
        self.architecture.readonlypropagate = false;
        let second = self.decompile_once(program, entry, limits, cancel);
        self.architecture.readonlypropagate = true;
        second.or(result)
    }

    fn decompile_once(
        &mut self,
        program: &Program,
        entry: Place,
        limits: &Limits,
        cancel: &Arc<AtomicBool>,
    ) -> Result<(Decompilation, Depends)> {
        let mut undefined = Vec::new();
        let mut told = 0;
        loop {
            match self.attempt(program, entry, limits, cancel, &undefined)? {
                Attempt::Undefined(_) if !undefined.is_empty() => {
                    return Err(Error::Lowlevel("places were asked for twice".into()));
                }
                Attempt::Undefined(places) => undefined = places,
                // Calls that the listing does not show: whether they come back may tell more.
                Attempt::Done(done) => {
                    if told >= MAX_TOLD || !self.feed_called(program, entry, &done.0.calls)? {
                        return Ok(*done);
                    }
                    told += 1;
                    undefined.clear();
                }
            }
        }
    }

    fn attempt(
        &mut self,
        program: &Program,
        entry: Place,
        limits: &Limits,
        cancel: &Arc<AtomicBool>,
        undefined: &[Place],
    ) -> Result<Attempt> {
        let tokens = Arc::clone(&self.tokens);
        let memory = Arc::clone(&self.memory);
        self.run(program, entry, limits, cancel, |data, architecture, scene| {
            scene.symbols.feed_undefined(architecture, program, undefined)?;
            perform(data, architecture, scene.watch)?;
            if undefined.is_empty() {
                let places = undefined::pointed_to(data, program, scene.symbols);
                if !places.is_empty() {
                    return Ok(Attempt::Undefined(places));
                }
            }
            // Only now: to the engine, a number that equals the place of a label is a pointer.
            scene.symbols.feed_inner_labels(data, architecture, program)?;
            variables::name_parts_of_registers(data, architecture)?;
            variables::name_variables(data, architecture, program, scene.function)?;
            edits::feed_comments(architecture, program, scene.symbols, scene.function);
            tokens.lock().clear();
            architecture
                .with_printer(Some(&mut *data), |printer, context| printer.doc_function(context))?;
            let mut out = Decompilation { completed: true, ..Decompilation::default() };
            result::finish_tokens(data, std::mem::take(&mut *tokens.lock()), &mut out);
            result::read(data, architecture, program, scene.types, &mut out)?;
            if scene.unplaced > 0 {
                let message = "the calling convention has no place for the last parameters, which are left out";
                out.warnings.push(format!("{message}: {}", scene.unplaced));
            }
            // The first of two attempts read bytes as well, and had to be given up for them.
            let reads = memory.take_reads();
            let depends = Depends::collect(
                data,
                architecture,
                program,
                (scene.function, scene.reach),
                &reads,
            );
            Ok(Attempt::Done(Box::new((out, depends))))
        })
    }

    /// Follows the flow of the function at `entry` only as far as its jump tables need it.
    pub(crate) fn jump_tables(
        &mut self,
        program: &Program,
        entry: Place,
        limits: &Limits,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Vec<JumpTable>> {
        self.catch_up(program)?;
        self.memory.take_reads();
        self.run(program, entry, limits, cancel, |data, architecture, _| {
            let space = data.get_address().get_space().cloned();
            let highest = space.as_ref().map_or(u64::MAX, |space| space.get_highest());
            let low = Address::from_parts(space.clone(), 0);
            let high = Address::from_parts(space, highest);
            data.follow_flow(&low, &high, architecture)?;
            Ok(result::read_jump_tables(data))
        })
    }

    fn run<T>(
        &mut self,
        program: &Program,
        entry: Place,
        limits: &Limits,
        cancel: &Arc<AtomicBool>,
        work: impl FnOnce(&mut Funcdata, &mut Architecture, Scene<'_>) -> Result<T>,
    ) -> Result<T> {
        let function = program.functions.at(entry).filter(|_| entry.space == SpaceId::RAM);
        let function =
            function.ok_or_else(|| Error::Lowlevel("no function starts there".into()))?;
        let function = Arc::clone(function);
        self.runs += 1;
        self.watch.start(limits, cancel);
        self.forget_strings();
        self.architecture.max_instructions = limits.instructions;
        let symbol = self.symbols.add_function(&mut self.architecture, program, entry)?;
        if self.prototyped.remove(&entry) {
            self.destroy(symbol)?;
        }
        let replaced = function.call_fixup.is_some();
        if replaced {
            Symbols::show_allowed_name(&mut self.architecture, symbol, true)?;
        }
        let reach = reach(program, &function);
        self.feed_callees(program, &function, &reach)?;
        assumed::feed(&mut self.architecture, program, &self.symbols, entry)?;
        let mark = Symbols::mark(&self.architecture)?;
        let watch = Arc::clone(&self.watch);
        let omission = self.omission;
        let Engine { architecture, types, symbols, .. } = self;
        let result = architecture.with_function(symbol, |data, architecture| {
            let known = !matches!(omission, Omission::Prototypes);
            let told = (&*function, &reach, known);
            let unplaced = tell(data, architecture, program, types, symbols, told)?;
            let function = &*function;
            let reach = &reach;
            let scene = Scene { watch: &watch, types, symbols, function, reach, unplaced };
            work(data, architecture, scene)
        });
        self.last_stop = watch.stop();
        if replaced {
            Symbols::show_allowed_name(&mut self.architecture, symbol, false)?;
        }
        self.clean(symbol, entry, mark)?;
        result
    }

    /// Tells the prototypes of the functions that this one calls.
    fn feed_callees(
        &mut self,
        program: &Program,
        function: &Function,
        reach: &Reach,
    ) -> Result<()> {
        let mut callees = Vec::new();
        for range in reach.code.ranges() {
            let references = program.references.between(range.start, range.end);
            callees.extend(references.filter(|r| !r.to.space.is_overlay()).map(|r| r.to));
        }
        // Pointers that the engine reads through lead to functions outside of the program.
        let through: Vec<Place> = callees
            .iter()
            .flat_map(|place| program.references.from(*place))
            .map(|r| r.to)
            .collect();
        callees.extend(through);
        callees.sort_unstable();
        callees.dedup();
        for callee in callees {
            if callee != function.entry {
                self.feed_prototype(program, callee)?;
            }
        }
        Ok(())
    }

    /// Tells the prototypes of functions that a finished run calls; whether there was anything new
    /// to tell.
    fn feed_called(&mut self, program: &Program, entry: Place, calls: &[Call]) -> Result<bool> {
        let mut new = false;
        for to in calls.iter().filter_map(|call| call.to).filter(|to| *to != entry) {
            new |= self.feed_prototype(program, to)?;
        }
        Ok(new)
    }

    /// Tells a function's prototype unless it is told; whether there was anything to tell.
    fn feed_prototype(&mut self, program: &Program, entry: Place) -> Result<bool> {
        let Some(symbol) = self.symbols.functions.get(&entry).copied() else { return Ok(false) };
        if !self.prototyped.insert(entry) {
            return Ok(false);
        }
        let told = self.omission != Omission::Prototypes;
        let telling = |f: &&Arc<Function>| told && prototype::is_telling(program, f);
        let Some(function) = program.thunked(entry).filter(telling) else {
            return Ok(false);
        };
        let function = Arc::clone(function);
        let Engine { architecture, types, .. } = self;
        architecture.with_function(symbol, |data, architecture| {
            prototype::feed(data, architecture, program, types, &function).map(|_| true)
        })
    }

    /// Drops the texts that the engine read before: a run is to read what it depends on.
    fn forget_strings(&mut self) {
        if let Some(strings) = self.architecture.string_manager.as_deref_mut() {
            strings.base_mut().string_map.clear();
        }
    }

    /// Drops what the engine holds of a function but its symbol.
    fn destroy(&mut self, symbol: EngineSymbol) -> Result<()> {
        let architecture = &mut self.architecture;
        if let Some(mut data) = architecture.symboltab_mut()?.symbol_take_function(symbol) {
            data.destroy(architecture);
        }
        architecture.symboltab_mut()?.symbol_mut(symbol).function_checked_out = false;
        Ok(())
    }

    /// Takes back what a run left in the engine.
    fn clean(&mut self, symbol: EngineSymbol, entry: Place, mark: EngineSymbol) -> Result<()> {
        self.watch.finish();
        self.prototyped.remove(&entry);
        self.destroy(symbol)?;
        self.symbols.forget_since(&mut self.architecture, mark)?;
        let address = self.symbols.address(entry);
        if let Some(comments) = self.architecture.commentdb.as_deref_mut() {
            comments.clear_type(&address, u32::MAX);
        }
        Ok(())
    }
}

fn open(
    language: &Language,
    program: &Program,
    memory: &Arc<SharedMemory>,
    watch: &Arc<Watch>,
) -> Result<Architecture> {
    let image = MemoryImage::new(Arc::clone(memory), Arc::clone(watch));
    let mut architecture =
        prepare(language.description(), language.compiler_spec_id(), Arc::new(image));
    architecture.extra_pool_rules.push(Box::new(WatchRule::new(Arc::clone(watch))));
    architecture.extra_pool_rules.push(Box::new(FoldingGuard::new()));
    architecture.extra_pool_rules.push(Box::new(DeadEffects::new()));
    let mut store = DocumentStorage::new();
    let core = store
        .parse_document(core_types::describe(language, program.types.organization()).as_bytes())?;
    store.register_tag(core.get_root());
    crate::extensions::register_all(
        &mut store,
        language.language_id(),
        language.compiler_spec_id(),
    )?;
    architecture.init(&mut store)?;
    architecture.loadersymbols_parsed = true;
    architecture.string_manager = Some(Box::new(texts::ListingTexts::new(Arc::clone(memory))));
    architecture.readonlypropagate = true;
    architecture.flowoptions |= ghidra_decompiler::flow::RECORD_JUMPLOADS;
    Ok(architecture)
}

fn print_tokens(architecture: &mut Architecture, tokens: &TokenSink) {
    let index = architecture.print;
    if let Some(Some(printer)) = architecture.printlist.get_mut(index) {
        let mut pretty = EmitPrettyPrint::new();
        pretty.lowlevel = Box::new(TokenEmit::new(Arc::clone(tokens)));
        // Further lines of a comment stand below its first word.
        pretty.commentfill = " ".repeat(printer.base_mut().commentstart.len());
        printer.base_mut().emit = Box::new(pretty);
        // Ghidra marks wide constants so whatever the size of `long` is.
        if let Some(printer) = printer.as_any_mut().downcast_mut::<PrintC>() {
            printer.size_suffix = "L".to_string();
        }
    }
}

/// Makes the engine come back before each of its actions, so that a run can be stopped there.
fn break_at_every_action(architecture: &mut Architecture) -> Result<()> {
    architecture.with_current_action(|action, _| {
        let mut listing = String::new();
        action.print(&mut listing, 0, 0);
        for name in listing.lines().filter_map(|line| line.split_whitespace().next_back()) {
            if let Some(found) = action.get_sub_action(name) {
                found.base_mut().breakpoint |= BREAK_START;
            }
        }
        Ok(())
    })
}

/// Sets Thumb and other modes, before anything is decoded: the engine keeps what it decoded.
fn set_modes(architecture: &Architecture, language: &Language, program: &Program) -> Result<()> {
    let missing = || Error::Lowlevel("the engine has no context".to_string());
    let space = architecture.manager.get_default_code_space().ok_or_else(missing)?;
    let context = architecture.context.as_ref().ok_or_else(missing)?;
    let mut context = context.lock().map_err(|_| missing())?;
    let starts: Vec<(Place, u8)> = program.modes.iter().map(|(at, mode)| (*at, *mode)).collect();
    for (index, (start, mode)) in starts.iter().enumerate() {
        if start.space != SpaceId::RAM || *mode == 0 {
            continue;
        }
        let end = starts.get(index + 1).filter(|(next, _)| next.space == SpaceId::RAM);
        let from = Address::new(space.clone(), start.offset);
        let to = match end {
            Some((next, _)) => Address::new(space.clone(), next.offset),
            None => Address::invalid(),
        };
        let words = language.mode_context(*mode).words;
        let width = usize::try_from(context.get_context_size()).unwrap_or(0);
        for (word, value) in words.iter().enumerate().take(width) {
            context.set_context_region(&from, &to, word as i32, u32::MAX, *value);
        }
    }
    Ok(())
}

fn tell(
    data: &mut Funcdata,
    architecture: &mut Architecture,
    program: &Program,
    types: &mut TypeMap,
    symbols: &Symbols,
    (function, reach, prototyped): (&Function, &Reach, bool),
) -> Result<usize> {
    let known = program.thunked(function.entry).map_or(function, |found| found);
    let unplaced = match prototyped {
        true => prototype::feed(data, architecture, program, types, known)?,
        false => 0,
    };
    edits::feed_locals(data, architecture, program, types, symbols, function)?;
    edits::feed_flow(data, symbols, reach)?;
    Ok(unplaced)
}

fn perform(data: &mut Funcdata, architecture: &mut Architecture, watch: &Watch) -> Result<()> {
    architecture.with_current_action(|action, architecture| {
        action.reset(data, architecture);
        let mut resumed = 0;
        loop {
            match action.perform(data, architecture) {
                Ok(done) if done >= 0 => return Ok(()),
                Ok(_) => watch.check()?,
                Err(error) => {
                    resumed += 1;
                    let may = resumed <= folding::MAX_RESUMED && watch.stop().is_none();
                    if !may || !folding::resume(action, data, architecture) {
                        return Err(error);
                    }
                }
            }
        }
    })
}
