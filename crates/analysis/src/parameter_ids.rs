//! Parameters and results that the decompiler finds, kept as the functions' signatures, callees
//! before their callers. Only for Windows programs of moderate size, as Ghidra does by default:
//! there, many functions pass values in ways that only the callee shows.
//!
//! Every function is decompiled once.

use crate::demangled_signatures::class_of;
use crate::pass::{Analysis, Stopped};
use decompiler::{
    Convention, Decompilation, Decompiler, Language, Limits, TypeOf, ValuePlace, Variable,
};
use program::{
    Address, Function, Parameter, Program, Signature, SourceType, SpaceId, Storage, SymbolKind,
    TypeId,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Programs with more bytes of code are left alone.
const LARGEST: u64 = 2 << 20;
/// Most time for one function.
const LIMIT: Duration = Duration::from_secs(10);
/// Pointers to pointers deeper than this are not kept.
const DEEPEST: usize = 8;

/// Runs the pass.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let program = &*analysis.program;
    // Ghidra does this for compilers of Windows alone; Go passes everything its own way.
    let windows = program.info.executable_format.contains("(PE)")
        && &*program.info.compiler_spec_id != "golang";
    if !windows || !is_moderate(program) {
        return Ok(());
    }
    let levels = levels(program, is_open);
    let total = levels.len().max(1) as f32;
    // Ghidra keeps what seems unreachable: there could be a switch.
    let decompiler = Decompiler::keeping_unreachable();
    for (done, functions) in levels.into_iter().enumerate() {
        analysis.step(done as f32 / total)?;
        let found = decompile(analysis.program, &decompiler, &functions);
        for (entry, result) in found {
            commit(analysis.program, analysis.language, entry, &result);
        }
    }
    Ok(())
}

/// Whether every function may be decompiled.
pub(crate) fn is_moderate(program: &Program) -> bool {
    let code = program.memory.blocks().iter().filter(|b| b.permissions.execute);
    code.map(|b| b.length).sum::<u64>() <= LARGEST
}

/// Whether a function's signature is open.
fn is_open(function: &Function) -> bool {
    let memory = function.entry.space == SpaceId::RAM && function.thunk_of.is_none();
    memory && function.signature.source == SourceType::Default && !function.body.is_empty()
}

/// The chosen functions, those of each level calling only those of earlier ones, circles aside.
pub(crate) fn levels(program: &Program, chosen: impl Fn(&Function) -> bool) -> Vec<Vec<Address>> {
    let open: Vec<Address> =
        program.functions.iter().filter(|f| chosen(f)).map(|f| f.entry).collect();
    let callees = |entry| callees(program, entry, &chosen);
    let mut level: HashMap<Address, usize> = HashMap::new();
    let mut begun: HashSet<Address> = HashSet::new();
    for entry in &open {
        if !begun.insert(*entry) {
            continue;
        }
        let mut stack = vec![(*entry, callees(*entry), 0)];
        while let Some((at, calls, height)) = stack.last_mut() {
            match calls.pop() {
                Some(callee) if begun.insert(callee) => {
                    stack.push((callee, callees(callee), 0));
                }
                Some(callee) => {
                    let known = level.get(&callee).map_or(0, |level| level + 1);
                    *height = known.max(*height);
                }
                None => {
                    let (at, height) = (*at, *height);
                    level.insert(at, height);
                    stack.pop();
                    if let Some((_, _, above)) = stack.last_mut() {
                        *above = (height + 1).max(*above);
                    }
                }
            }
        }
    }
    let mut levels: BTreeMap<usize, Vec<Address>> = BTreeMap::new();
    for entry in open {
        levels.entry(level.get(&entry).copied().unwrap_or(0)).or_default().push(entry);
    }
    levels.into_values().collect()
}

/// The chosen functions that one calls, thunks followed.
fn callees(program: &Program, entry: Address, chosen: &impl Fn(&Function) -> bool) -> Vec<Address> {
    let Some(function) = program.functions.at(entry) else { return Vec::new() };
    let mut found: Vec<Address> = function
        .body
        .ranges()
        .iter()
        .flat_map(|range| program.references.between(range.start, range.end))
        .filter(|r| r.info.kind.is_call())
        .filter_map(|r| program.thunked(r.to))
        .filter(|callee| callee.entry != entry && chosen(callee))
        .map(|callee| callee.entry)
        .collect();
    found.sort_unstable();
    found.dedup();
    found.reverse();
    found
}

/// Decompiles functions, those left out that fail.
pub(crate) fn decompile(
    program: &Program,
    decompiler: &Decompiler,
    functions: &[Address],
) -> Vec<(Address, Decompilation)> {
    let limits = Limits { timeout: LIMIT, ..Limits::default() };
    let never = Arc::new(AtomicBool::new(false));
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(functions.len());
    let work = || {
        let mut found = Vec::new();
        while let Some(entry) = functions.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = decompiler.decompile(program, *entry, &limits, &never);
            if result.completed {
                found.push((*entry, result));
            }
        }
        found
    };
    let mut all: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|w| w.join().ok()).flatten().collect()
    });
    all.sort_by_key(|(entry, _)| *entry);
    all
}

/// Keeps what was found of one function. A result of no value stays open.
fn commit(program: &mut Program, language: &Language, entry: Address, result: &Decompilation) {
    let mut parameters = Vec::with_capacity(result.parameters.len());
    for parameter in &result.parameters {
        let Some(size) = size(&parameter.storage) else { return };
        let data_type = type_of(program, &parameter.data_type, &parameter.type_of, size);
        program.types.mark_used(data_type);
        parameters.push((data_type, parameter));
    }
    let returned = match &result.return_storage {
        Storage::Pieces(_) if result.return_type != "void" => {
            let known = &result.return_type_of;
            size(&result.return_storage)
                .map(|size| type_of(program, &result.return_type, known, size))
        }
        _ => None,
    };
    let return_storage = match returned {
        Some(_) => result.return_storage.clone(),
        None => Storage::Unassigned,
    };
    let return_type = returned.unwrap_or_else(|| program.types.builtin("undefined"));
    program.types.mark_used(return_type);
    let leaves_all = program.functions.at(entry).is_some_and(|f| f.stack_purge == Some(0));
    let name = match result.convention.as_str() {
        // Who cleans up the stack tells the two apart.
        "__stdcall" if !parameters.is_empty() && leaves_all => "__cdecl",
        name => name,
    };
    let convention = language.convention(name).cloned();
    let custom_storage = convention.as_ref().is_some_and(|c| !is_natural(c, &result.parameters));
    let object = (name == "__thiscall" && !custom_storage && !parameters.is_empty())
        .then(|| object_type(program, entry));
    program.functions.edit(entry, |f| {
        let parameters = parameters
            .iter()
            .enumerate()
            .map(|(index, (data_type, parameter))| {
                let object = object.filter(|_| index == 0);
                let automatic = object.is_some();
                Parameter {
                    name: if automatic { "this".into() } else { "".into() },
                    data_type: object.unwrap_or(*data_type),
                    storage: parameter.storage.clone(),
                    source: if automatic { SourceType::Analysis } else { SourceType::Default },
                    automatic,
                    id: f.new_variable_id(),
                }
            })
            .collect();
        f.signature = Signature {
            return_type,
            return_storage,
            parameters,
            varargs: false,
            convention: convention.map(|c| c.name.into()),
            custom_storage,
            source: SourceType::Analysis,
        };
    });
}

/// The type of the object that a method is called with: that of its class, if one is known.
fn object_type(program: &mut Program, method: Address) -> TypeId {
    let space = program.symbols.get(program.function_namespace(method));
    let in_class = space.is_some_and(|space| space.kind == SymbolKind::Class);
    let object = match in_class {
        true => class_of(program, method),
        false => program.types.builtin("void"),
    };
    let pointer = program.types.pointer_to(object);
    program.types.mark_used(pointer);
    pointer
}

fn size(storage: &Storage) -> Option<u32> {
    let pieces = storage.pieces();
    (!pieces.is_empty()).then(|| pieces.iter().map(|piece| piece.size).sum())
}

/// Whether parameters lie where the convention puts them, as far as that is plain to see.
fn is_natural(convention: &Convention, parameters: &[Variable]) -> bool {
    parameters.iter().zip(&convention.arguments).all(|(parameter, place)| {
        let [piece] = parameter.storage.pieces() else { return true };
        match place {
            ValuePlace::Register(register) => {
                let float = parameter.data_type.starts_with("float")
                    || parameter.data_type.starts_with("double");
                float
                    || piece.address.space == SpaceId::REGISTER
                        && piece.address.offset == register.offset
            }
            ValuePlace::Stack(_) => piece.address.space == SpaceId::STACK,
        }
    })
}

/// The type that the decompiler found, or bytes of the size. `text` is its declaration.
fn type_of(program: &mut Program, text: &str, found: &TypeOf, size: u32) -> TypeId {
    let base = text.trim_end_matches(['*', ' ']);
    let stars = text.matches('*').count();
    let types = &mut program.types;
    if stars > DEEPEST {
        return types.undefined(size);
    }
    let interned = match base {
        // Code of unknown kind is not told from other bytes.
        "code" => {
            let unknown = types.builtin("undefined");
            (0..stars).fold(unknown, |target, _| types.pointer_to(target))
        }
        _ => found.intern(types),
    };
    if types.length(interned) == Some(size) { interned } else { types.undefined(size) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::{DataOrganization, ProgramInfo};

    #[test]
    fn wide_values_of_unknown_kind_are_arrays_of_bytes() {
        let mut program = Program::new(ProgramInfo::default(), false, DataOrganization::default());
        let pointer = program.types.organization().pointer;
        let wide = TypeOf::Pointer(Box::new(TypeOf::Undefined(10)));
        let found = type_of(&mut program, "unkbyte10 *", &wide, pointer);
        assert_eq!(program.types.name(found), "undefined1[10] *");
        let found = type_of(&mut program, "undefined4", &TypeOf::Undefined(4), 4);
        assert_eq!(program.types.name(found), "undefined4");
    }

    #[test]
    fn pointers_to_rows_of_bytes_are_kept() {
        let mut program = Program::new(ProgramInfo::default(), false, DataOrganization::default());
        let pointer = program.types.organization().pointer;
        let row = TypeOf::Array(Box::new(TypeOf::Undefined(1)), 32);
        let row = TypeOf::Pointer(Box::new(row));
        let found = type_of(&mut program, "undefined1 (*) [32]", &row, pointer);
        assert_eq!(program.types.name(found), "undefined1[32] *");
    }
}
