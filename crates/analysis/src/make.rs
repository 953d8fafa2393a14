//! Making one function where somebody says that one starts.

use decompiler::{Decompiler, Language};
use program::{Address, AddressRange, AddressSet, CodeUnit, Program, SpaceId};

use crate::debug_files::NoDebugFiles;
use crate::explore::{Explorer, bodies};
use crate::pass::{Analysis, Monitor, Stopped};
use crate::switches::Told;

/// Why no function could be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MakeError {
    /// No instruction can start there.
    #[error("no instruction can start there")]
    NotCode,
    /// What starts at this address is in the way.
    #[error("what starts at {0:?} is in the way")]
    InTheWay(Address),
}

/// Nobody watches.
struct Unwatched;

impl Monitor for Unwatched {
    fn phase(&mut self, _name: &'static str, _done: usize, _total: usize) {}
    fn progress(&mut self, _fraction: f32) {}
    fn cancelled(&self) -> bool {
        false
    }
    fn publish(&mut self, _program: &Program) {}
}

/// Makes a function at an address: decodes what is not decoded yet, finds its body by flow unless
/// it is given, then its references and stack variables. Code of the function that the entry lies
/// in goes over to it; that of others does not. What newly decoded code calls becomes a function
/// as well. Cost: linear in the new code and the number of functions.
///
/// # Errors
/// When no instruction can start there; the program may be changed nevertheless.
pub fn make_function(
    program: &mut Program,
    language: &Language,
    entry: Address,
    mode: u8,
    body: Option<AddressRange>,
) -> Result<(), MakeError> {
    clear_the_way(program, entry)?;
    let decompiler = Decompiler::new();
    let mut monitor = Unwatched;
    let made = make(program, language, &decompiler, &mut monitor, (entry, mode, body));
    // Nobody can stop it.
    made.unwrap_or(Err(MakeError::NotCode))
}

fn clear_the_way(program: &mut Program, entry: Address) -> Result<(), MakeError> {
    if entry.space != SpaceId::RAM {
        return Err(MakeError::NotCode);
    }
    match program.listing.unit_containing(entry) {
        Some((start, CodeUnit::Instruction(_))) if start == entry => Ok(()),
        Some((start, CodeUnit::Data(unit))) if program.types.is_undefined(unit.data_type) => {
            program.clear_data(start);
            Ok(())
        }
        Some((start, _)) => Err(MakeError::InTheWay(start)),
        None => Ok(()),
    }
}

fn make(
    program: &mut Program,
    language: &Language,
    decompiler: &Decompiler,
    monitor: &mut dyn Monitor,
    (entry, mode, body): (Address, u8, Option<AddressRange>),
) -> Result<Result<(), MakeError>, Stopped> {
    let told = &mut Told::default();
    let known = program.listing.instructions.clone();
    let mut analysis =
        Analysis { program, language, decompiler, told, monitor, files: &NoDebugFiles };
    let mut explorer = Explorer::new(&mut analysis);
    explorer.explore(entry.offset, mode)?;
    crate::switches::resolve(&mut explorer)?;
    let explored = explorer.finish();
    let program = &mut *analysis.program;
    if !program.listing.instructions.contains_key(&entry) {
        return Ok(Err(MakeError::NotCode));
    }
    let body: AddressSet = match body {
        Some(range) => [range].into_iter().collect(),
        None => bodies(program, &explored, entry.offset),
    };
    if mode != 0 {
        body.ranges().iter().for_each(|range| program.set_mode(*range, mode));
    }
    program.create_function(entry, body);
    if explored.functions.get(&entry.offset) == Some(&false) {
        crate::no_return::mark(program, entry);
    }
    crate::process_entry::mark(program, language);
    crate::prototypes::run_on(&mut analysis, entry);
    crate::constants::run_on(&mut analysis, &[entry], &known)?;
    Ok(Ok(()))
}
