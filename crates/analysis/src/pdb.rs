//! What a PDB file says of its program: names, types, prototypes, variables, data.
//!
//! Cost: linear in the file.

mod file;
mod frame;
mod functions;
mod members;
mod modules;
mod records;
mod types;

pub use file::{PdbError, PdbIdentity, identify};

use crate::debug_files::{DebugFiles, Sought};
use crate::debug_information::{define_data, warn};
use crate::pass::{Analysis, Stopped};
use decompiler::Language;
use file::Pdb;
use frame::Frames;
use modules::{Module, Static};
use pdb2::{AddressMap, FallibleIterator, PdbInternalSectionOffset, StreamIndex, SymbolData};
use program::{Address, CommentKind, Program, SourceType, SymbolId, SymbolKind};
use records::Records;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use types::{Types, text};

/// The stream that holds the types.
const TYPES: StreamIndex = StreamIndex(2);
/// Modules or thousands of types between two reports of progress.
const STEP: usize = 64;

/// Whether a program is of the kind that has such files.
///
/// # Errors
/// When it is not.
pub fn check_program(program: &Program) -> Result<(), PdbError> {
    match program.info.executable_format.contains("(PE)") {
        true => Ok(()),
        false => Err(PdbError::NotPe { format: program.info.executable_format.clone() }),
    }
}

/// Runs the pass.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    if check_program(analysis.program).is_err() {
        return Ok(());
    }
    let Some((name, mut file)) = find(analysis.program, analysis.files) else { return Ok(()) };
    // One damaged file does not end the analysis.
    let attempt = catch_unwind(AssertUnwindSafe(|| apply(analysis, &name, &mut file)));
    let damage = match attempt {
        Ok(outcome) => outcome?.err().map(|error| error.to_string()),
        Err(_) => Some("its reader failed".to_owned()),
    };
    if let Some(damage) = damage {
        let text = format!("PDB: {name} is damaged ({damage}); what could be read was used");
        warn(analysis.program, text);
    }
    analysis.step(1.0)
}

/// The file to read: the chosen one, or the one that the program names.
fn find(program: &mut Program, files: &dyn DebugFiles) -> Option<(String, Pdb)> {
    let named = file::named(program);
    let chosen = files.chosen_pdb();
    let path = match (&chosen, &named) {
        (Some(path), _) => path.clone(),
        (None, Some(named)) => {
            files.candidates(&Sought::Pdb { name: &named.name }).into_iter().next()?
        }
        (None, None) => return None,
    };
    let opened = files.open(&path);
    let opened = opened.map_err(|source| PdbError::Read { path: path.clone(), source });
    let mut opened = match opened.and_then(|opened| file::open(&path, opened)) {
        Ok(opened) => opened,
        Err(error) => {
            warn(program, format!("PDB: {error}"));
            return None;
        }
    };
    let found = match file::identity(&mut opened) {
        Ok(found) => found,
        Err(error) => {
            warn(program, format!("PDB: {path} is damaged at its start ({error})"));
            return None;
        }
    };
    match (named, &chosen) {
        (Some(named), _) if named.identity == found => {}
        (Some(named), Some(_)) => warn(
            program,
            format!(
                "PDB: {path} is of another build ({found}) than the program ({}); it was used \
                 because it was named, and what it says may be wrong",
                named.identity
            ),
        ),
        (Some(named), None) => {
            let wanted = named.identity;
            let text =
                format!("PDB: {path} was not read: it is of another build ({found}, not {wanted})");
            warn(program, text);
            return None;
        }
        (None, _) => warn(
            program,
            format!(
                "PDB: the program does not tell whether {path} belongs to it; it was used because it was named"
            ),
        ),
    }
    let name = path.rsplit(['/', '\\']).next()?.to_owned();
    Some((name, opened))
}

/// What is needed to apply symbols.
struct Applied<'r, 'm> {
    types: Types<'r>,
    frames: Frames,
    map: AddressMap<'m>,
    base: u64,
    /// The mangled names of places in namespaces that have no name, which tell them apart.
    unnamed: HashMap<PdbInternalSectionOffset, String>,
}

impl Applied<'_, '_> {
    /// Where a place of the file is in the program, if it is in it.
    fn address(&self, program: &Program, place: PdbInternalSectionOffset) -> Option<Address> {
        let offset = place.to_rva(&self.map)?.0;
        let at = Address::ram(self.base.checked_add(u64::from(offset))?);
        (offset != 0 && program.memory.contains(at)).then_some(at)
    }

    /// Names a place. The name is shown unless another one is there already that the file itself
    /// brought and that needs no demangling.
    fn label(
        &self,
        program: &mut Program,
        (at, place): (Address, PdbInternalSectionOffset),
        name: &str,
        member: bool,
    ) -> SymbolId {
        let mangled = self.unnamed.get(&place).map_or("", |name| name.as_str());
        let (path, name) = demangler::split_microsoft(name, mangled);
        let name = name.replace("operator.", "operator_");
        let mut parent = SymbolId::GLOBAL;
        let mut full = String::new();
        for (index, part) in path.iter().enumerate() {
            full.push_str(part);
            let innermost = index + 1 == path.len();
            let class = innermost && member || self.types.is_class(&full);
            let kind = if class { SymbolKind::Class } else { SymbolKind::Namespace };
            parent = program.symbols.namespace(part, parent, kind);
            if class {
                program.symbols.edit(parent, |s| s.kind = SymbolKind::Class);
            }
            full.push_str("::");
        }
        put_label(program, at, &name, parent)
    }
}

fn put_label(program: &mut Program, at: Address, name: &str, parent: SymbolId) -> SymbolId {
    let gives_way = program.symbols.primary_at(at).is_some_and(|(_, known)| {
        known.name.is_empty()
            || known.source < SourceType::Imported
            || known.name.starts_with('?') && !name.starts_with('?')
    });
    let id = program.add_label(at, name, parent, SourceType::Imported);
    if gives_way {
        program.symbols.make_primary(id);
    }
    id
}

/// Applies all of a file. The inner result tells of damage.
fn apply(
    analysis: &mut Analysis<'_>,
    name: &str,
    file: &mut Pdb,
) -> Result<Result<(), pdb2::Error>, Stopped> {
    let language: Language = analysis.language.clone();
    let records = match file.raw_stream(TYPES) {
        Ok(stream) => Records::new(stream.map(|s| s.to_vec()).unwrap_or_default()),
        Err(error) => return Ok(Err(error)),
    };
    let mut types = Types::new(&records, &language, name);
    let indexes: Vec<u32> = records.indexes().collect();
    for part in indexes.chunks(STEP << 10) {
        types.define(analysis.program, part.iter().copied());
        analysis.check()?;
    }
    let globals = match Globals::read(file) {
        Ok(globals) => globals,
        Err(error) => return Ok(Err(error)),
    };
    for (name, index) in &globals.typedefs {
        types.typedef(analysis.program, name, *index);
    }
    let map = match file.address_map() {
        Ok(map) => map,
        Err(error) => return Ok(Err(error)),
    };
    let frames = Frames::of(analysis.program);
    let base = analysis.program.info.image_base;
    let unnamed = globals.publics.iter().filter(|(_, name, _)| name.contains("?A0x"));
    let unnamed = unnamed.map(|(place, name, _)| (*place, name.clone())).collect();
    let mut applied = Applied { types, frames, map, base, unnamed };
    let mut statics = Vec::new();
    let outcome = apply_modules(analysis, &mut applied, file, &mut statics)?;
    let program = &mut *analysis.program;
    globals.data.iter().for_each(|data| define_variable(&mut applied, program, data));
    apply_publics(&applied, program, &globals);
    statics.iter().for_each(|data| define_variable(&mut applied, program, data));
    demangler::apply(program);
    Ok(outcome)
}

/// Applies the functions of all modules, and keeps their data for later.
fn apply_modules(
    analysis: &mut Analysis<'_>,
    applied: &mut Applied<'_, '_>,
    file: &mut Pdb,
    statics: &mut Vec<Static>,
) -> Result<Result<(), pdb2::Error>, Stopped> {
    let information = match file.debug_information() {
        Ok(information) => information,
        Err(error) => return Ok(Err(error)),
    };
    let mut modules = match information.modules() {
        Ok(modules) => modules,
        Err(error) => return Ok(Err(error)),
    };
    let mut damage = Ok(());
    let mut done = 0;
    loop {
        let module = match modules.next() {
            Ok(Some(module)) => module,
            Ok(None) => break,
            Err(error) => {
                damage = Err(error);
                break;
            }
        };
        match file.module_info(&module) {
            Ok(Some(info)) => match info.symbols() {
                Ok(symbols) => {
                    let Module { functions, statics: mut data, trampolines } =
                        modules::read(symbols, &applied.frames);
                    for function in &functions {
                        functions::define(applied, analysis.program, function);
                    }
                    for place in trampolines {
                        make_function(applied, analysis.program, place);
                    }
                    statics.append(&mut data);
                }
                Err(error) => damage = Err(error),
            },
            Ok(None) => {}
            Err(error) => damage = Err(error),
        }
        done += 1;
        if done % STEP == 0 {
            analysis.step(0.5)?;
        }
    }
    Ok(damage)
}

/// What the file says beside its modules.
#[derive(Default)]
struct Globals {
    typedefs: Vec<(Vec<u8>, u32)>,
    data: Vec<Static>,
    publics: Vec<(PdbInternalSectionOffset, String, bool)>,
}

impl Globals {
    fn read(file: &mut Pdb) -> Result<Globals, pdb2::Error> {
        let mut globals = Globals::default();
        let table = file.global_symbols()?;
        let mut symbols = table.iter();
        while let Ok(Some(symbol)) = symbols.next() {
            match modules::parse(&symbol) {
                Some(SymbolData::UserDefinedType(named)) => {
                    globals.typedefs.push((named.name.as_bytes().to_vec(), named.type_index.0));
                }
                Some(SymbolData::Data(data)) => globals.data.push(Static {
                    place: data.offset,
                    name: text(data.name.as_bytes()),
                    data_type: Some(data.type_index.0),
                    function: None,
                }),
                Some(SymbolData::ThreadStorage(data)) => globals.data.push(Static {
                    place: data.offset,
                    name: text(data.name.as_bytes()),
                    data_type: Some(data.type_index.0),
                    function: None,
                }),
                Some(SymbolData::Public(public)) => {
                    let name = text(public.name.as_bytes());
                    globals.publics.push((public.offset, name, public.function));
                }
                _ => {}
            }
        }
        Ok(globals)
    }
}

/// Names that linkers know, as they are mangled; functions that nothing else tells of are made.
fn apply_publics(applied: &Applied<'_, '_>, program: &mut Program, globals: &Globals) {
    for (place, name, is_function) in &globals.publics {
        let Some(at) = applied.address(program, *place) else { continue };
        let name: String = name.chars().map(|c| if c.is_whitespace() { '_' } else { c }).collect();
        put_label(program, at, &name, SymbolId::GLOBAL);
        if *is_function {
            make_function(applied, program, *place);
        }
    }
}

/// Makes a place a function if it is in code.
fn make_function(
    applied: &Applied<'_, '_>,
    program: &mut Program,
    place: PdbInternalSectionOffset,
) {
    let Some(at) = applied.address(program, place) else { return };
    if program.memory.block_at(at).is_some_and(|block| block.permissions.execute) {
        functions::make(program, at);
    }
}

/// Gives a variable its place, type and name; a label its name.
fn define_variable(applied: &mut Applied<'_, '_>, program: &mut Program, told: &Static) {
    let Some(at) = applied.address(program, told.place) else { return };
    if let Some(index) = told.data_type {
        let data_type = applied.types.of(program, index);
        if program.types.length(data_type).is_none_or(|length| length == 0) {
            return;
        }
        define_data(program, at, data_type);
    }
    applied.label(program, (at, told.place), &told.name, false);
    if let (Some((place, name)), Some(_)) = (&told.function, told.data_type)
        && let Some(function) = applied.address(program, *place)
    {
        let text = format!("PDB: static local for function ({:08x}): {name}", function.offset);
        program.comments.insert((at, CommentKind::Plate), text.into());
    }
}
