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

use crate::debug_files::NoDebugFiles;
use crate::dwarf::variables::refer;
use crate::make::Unwatched;
use crate::pass::{Analysis, Stopped};
use crate::strings::{clear, is_undefined};
use crate::switches::Told;
use decompiler::{Decompiler, Language};
use file::{Bytes, Pages};
use frame::Frames;
use modules::{Module, Static};
use pdb2::{AddressMap, FallibleIterator, PDB, PdbInternalSectionOffset, StreamIndex, SymbolData};
use program::{Address, AddressRange, CommentKind, Program, SourceType, SymbolId, SymbolKind};
use records::Records;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use types::{Types, text};

/// The stream that holds the types.
const TYPES: StreamIndex = StreamIndex(2);
/// Modules or thousands of types between two reports of progress.
const STEP: usize = 64;
/// Pointers of one variable that become references.
const POINTERS: usize = 1 << 14;

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
    let Some((name, mut file)) = find(analysis.program, analysis.pdb) else { return Ok(()) };
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

/// Applies the content of a PDB file to a program, whether it belongs to it or not. `name` is the
/// file's.
///
/// # Errors
/// When the content is that of no PDB file, or damaged; what could be read is applied.
pub fn apply_bytes(
    program: &mut Program,
    language: &Language,
    name: &str,
    bytes: Arc<[u8]>,
) -> Result<(), PdbError> {
    let broken =
        |error: pdb2::Error| PdbError::NotPdb { path: name.into(), reason: error.to_string() };
    let length = bytes.len() as u64;
    let mut file = PDB::open(Pages::new(std::io::Cursor::new(bytes), length)).map_err(broken)?;
    file::identity(&mut file).map_err(broken)?;
    let mut analysis = Analysis {
        program,
        language,
        pdb: None,
        decompiler: &Decompiler::new(),
        told: &mut Told::default(),
        monitor: &mut Unwatched,
        files: &NoDebugFiles,
    };
    // Nobody can stop it.
    apply(&mut analysis, name, &mut file).unwrap_or(Ok(())).map_err(broken)
}

/// The file to read: the chosen one, or the one that the program names, if it lies beside it.
fn find(
    program: &mut Program,
    chosen: Option<&Path>,
) -> Option<(String, PDB<'static, Pages<std::fs::File>>)> {
    let named = file::named(program);
    let path = match (chosen, &named) {
        (Some(path), _) => path.to_owned(),
        (None, Some(named)) => {
            let folder = Path::new(&program.info.executable_path).parent()?;
            folder.join(&named.name)
        }
        (None, None) => return None,
    };
    if chosen.is_none() && !path.is_file() {
        return None;
    }
    let shown = path.display().to_string();
    let opened = file::open(&path).map_err(|error| error.to_string());
    let mut opened = match opened {
        Ok(opened) => opened,
        Err(error) => {
            warn(program, format!("PDB: {error}"));
            return None;
        }
    };
    let found = match file::identity(&mut opened) {
        Ok(found) => found,
        Err(error) => {
            warn(program, format!("PDB: {shown} is damaged at its start ({error})"));
            return None;
        }
    };
    match (named, chosen) {
        (Some(named), _) if named.identity == found => {}
        (Some(named), Some(_)) => warn(
            program,
            format!(
                "PDB: {shown} is of another build ({found}) than the program ({}); it was used \
                 because it was named, and what it says may be wrong",
                named.identity
            ),
        ),
        (Some(named), None) => {
            let wanted = named.identity;
            let text = format!(
                "PDB: {shown} was not read: it is of another build ({found}, not {wanted})"
            );
            warn(program, text);
            return None;
        }
        (None, _) => warn(
            program,
            format!(
                "PDB: the program does not tell whether {shown} belongs to it; it was used because it was named"
            ),
        ),
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned())?;
    Some((name, opened))
}

fn warn(program: &mut Program, text: String) {
    if !program.info.warnings.contains(&text) {
        program.warn(text);
    }
}

/// What is needed to apply symbols.
struct Applied<'r, 'm> {
    types: Types<'r>,
    frames: Frames,
    map: AddressMap<'m>,
    base: u64,
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
    fn label(&self, program: &mut Program, at: Address, name: &str, member: bool) -> SymbolId {
        let (path, name) = demangler::split(name);
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
    file: &mut PDB<'static, Pages<impl Bytes>>,
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
    let mut applied = Applied { types, frames, map, base };
    let mut statics = Vec::new();
    let outcome = apply_modules(analysis, &mut applied, file, &mut statics)?;
    let program = &mut *analysis.program;
    globals.data.iter().for_each(|data| define_data(&mut applied, program, data));
    apply_publics(&applied, program, &globals);
    statics.iter().for_each(|data| define_data(&mut applied, program, data));
    demangler::apply(program);
    Ok(outcome)
}

/// Applies the functions of all modules, and keeps their data for later.
fn apply_modules(
    analysis: &mut Analysis<'_>,
    applied: &mut Applied<'_, '_>,
    file: &mut PDB<'static, Pages<impl Bytes>>,
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
                    let Module { functions, statics: mut data } =
                        modules::read(symbols, &applied.frames);
                    for function in &functions {
                        functions::define(applied, analysis.program, function);
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
    fn read(file: &mut PDB<'static, Pages<impl Bytes>>) -> Result<Globals, pdb2::Error> {
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
        let code = program.memory.block_at(at).is_some_and(|block| block.permissions.execute);
        if *is_function && code {
            functions::make(program, at);
        }
    }
}

/// Gives a variable its place, type and name; a label its name.
fn define_data(applied: &mut Applied<'_, '_>, program: &mut Program, told: &Static) {
    let Some(at) = applied.address(program, told.place) else { return };
    if let Some(index) = told.data_type {
        let data_type = applied.types.of(program, index);
        let length = program.types.length(data_type).filter(|length| *length > 0);
        let Some(length) = length else { return };
        let range = AddressRange::with_length(at, u64::from(length));
        if let Some(range) = range.filter(|range| is_undefined(program, range)) {
            clear(program, &range);
            if program.define_data(at, data_type, length) {
                let mut left = POINTERS;
                refer(program, at, data_type, &mut left, 0);
            }
        }
    }
    applied.label(program, at, &told.name, false);
    if let (Some((place, name)), Some(_)) = (&told.function, told.data_type)
        && let Some(function) = applied.address(program, *place)
    {
        let text = format!("PDB: static local for function ({:08x}): {name}", function.offset);
        program.comments.insert((at, CommentKind::Plate), text.into());
    }
}
