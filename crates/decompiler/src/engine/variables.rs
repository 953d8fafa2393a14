//! Variables of a decompiled function: read out together with what finds them again, and given
//! the names that the program keeps for them.

use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::database::{EntryId, ScopeId, SymbolId as EngineSymbol};
use ghidra_decompiler::dynamic::DynamicHash;
use ghidra_decompiler::error::Result;
use ghidra_decompiler::funcdata::Funcdata;
use program::{
    Address as Place, Function, LocalVariable, Parameter, Program, Signature, SourceType, SpaceId,
    Storage, parameter_name,
};

use super::prototype::known_before;
use super::result::{Decompilation, storage, type_text};
use super::symbols::engine_name;
use super::tokens::TokenKind;
use super::types::{TypeMap, TypeOf};

/// Ids of variables that the program does not keep have this bit.
const UNKEPT: u32 = 1 << 31;

/// A parameter or local variable as the decompiler sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name in the C text.
    pub name: String,
    /// Its type, as a declaration spells it.
    pub data_type: String,
    /// Its type in the program's terms.
    pub type_of: TypeOf,
    /// Bytes that it takes.
    pub size: u32,
    /// Where it lives; unassigned for temporaries.
    pub storage: Storage,
    /// The instruction at which it comes to life, when its storage is shared.
    pub first_use: Option<Place>,
    /// The hash that finds a temporary again, or 0.
    pub hash: u64,
    /// Whether name and type were given rather than inferred.
    pub locked: bool,
}

impl Variable {
    /// Whether the program keeps this variable as `local`.
    pub fn is(&self, local: &LocalVariable, entry: Place) -> bool {
        let spot = Spot { storage: &self.storage, first_use: self.first_use, hash: self.hash };
        spot.is(local, entry)
    }

    /// Whether it can be told from others when the function is decompiled again.
    pub fn is_findable(&self) -> bool {
        self.hash != 0 || !self.storage.pieces().is_empty()
    }

    /// The offset from the entry at which it comes to life, as the program keeps it.
    pub fn first_use_offset(&self, entry: Place) -> u32 {
        let first = self.first_use.filter(|_| self.hash != 0 || !is_on_stack(&self.storage));
        first.map_or(0, |first| first.offset.wrapping_sub(entry.offset) as u32)
    }

    /// What identifies a local variable for as long as the function has it: the kept variable's
    /// id, or one that follows from its place.
    pub fn local_id(&self, function: &Function) -> u32 {
        let kept = function.locals.iter().find(|local| self.is(local, function.entry));
        kept.map_or_else(|| self.id_of_place(function.entry), |local| local.id)
    }

    /// The id that follows from the place; it stays when the program begins to keep the variable.
    pub fn id_of_place(&self, entry: Place) -> u32 {
        let mut hash = Fold(0x811c_9dc5);
        if let Some(piece) = self.storage.pieces().first().filter(|_| self.hash == 0) {
            hash.fold(u64::from(piece.address.space.0));
            hash.fold(piece.address.offset);
        }
        hash.fold(self.hash);
        hash.fold(u64::from(self.first_use_offset(entry)));
        hash.0 | UNKEPT
    }
}

/// What identifies the parameter at a place of the list: that of the kept parameter, or the one
/// that it gets when the program begins to keep the function's parameters.
pub fn parameter_id(function: &Function, ordinal: usize) -> u32 {
    match function.signature.parameters.get(ordinal) {
        Some(parameter) => parameter.id,
        None => function.next_variable.saturating_add(u32::try_from(ordinal).unwrap_or(u32::MAX)),
    }
}

/// FNV-1a, so that ids are the same in every build and on every machine.
struct Fold(u32);

impl Fold {
    fn fold(&mut self, value: u64) {
        for byte in value.to_le_bytes() {
            self.0 = (self.0 ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
}

fn is_on_stack(storage: &Storage) -> bool {
    storage.pieces().first().is_some_and(|piece| piece.address.space == SpaceId::STACK)
}

/// What finds a variable again.
struct Spot<'a> {
    storage: &'a Storage,
    first_use: Option<Place>,
    hash: u64,
}

impl Spot<'_> {
    fn is(&self, local: &LocalVariable, entry: Place) -> bool {
        let starts = Place::new(
            entry.space,
            entry.offset.wrapping_add_signed(i64::from(local.first_use as i32)),
        );
        if self.hash != 0 || local.hash != 0 {
            return self.hash == local.hash && self.first_use == Some(starts);
        }
        let first = |storage: &Storage| storage.pieces().first().map(|piece| piece.address);
        first(self.storage).is_some()
            && first(self.storage) == first(&local.storage)
            && (is_on_stack(self.storage) || self.first_use == Some(starts))
    }
}

/// Whether the engine leaves a kept variable's name to [`name_variables`]: those that it would
/// number otherwise keep their place in the numbering, so that a new name changes no other.
pub(crate) fn is_named_late(local: &LocalVariable) -> bool {
    local.source == SourceType::UserDefined && (local.hash != 0 || !is_on_stack(&local.storage))
}

/// Whether only the names of a signature's parameters are known: the engine finds out the rest.
pub(crate) fn has_names_only(program: &Program, signature: &Signature) -> bool {
    signature.source == SourceType::Default
        && signature.parameters.iter().all(|p| program.types.is_undefined(p.data_type))
}

/// Gives variables the names that the program keeps for them.
pub(crate) fn name_variables(
    data: &mut Funcdata,
    architecture: &mut Architecture,
    program: &Program,
    function: &Function,
) -> Result<()> {
    // A thunk is called like what it passes on to.
    let signature = program.thunked(function.entry).map_or(&function.signature, |f| &f.signature);
    let parameters = &signature.parameters;
    let unlocked = has_names_only(program, signature) && !parameters.is_empty();
    let given = |local: &LocalVariable| local.source == SourceType::UserDefined;
    // The engine counts the parameters that the convention adds as well.
    let renumbered = !unlocked
        && known_before(program, signature).is_none()
        && parameters.iter().any(|parameter| parameter.automatic)
        && parameters.iter().any(|parameter| parameter.name.is_empty());
    let Some(scope) = data.get_scope_local() else { return Ok(()) };
    if !unlocked && !renumbered && !function.locals.iter().any(given) {
        return Ok(());
    }
    for symbol in local_symbols(architecture, scope)? {
        let wanted = match architecture.symboltab_ref()?.symbol(symbol).get_category() {
            0 if unlocked => parameter_at(architecture, symbol, parameters)?
                .filter(|parameter| !parameter.name.is_empty())
                .map(|parameter| parameter.name.clone()),
            0 if renumbered => {
                let index = architecture.symboltab_ref()?.symbol(symbol).get_category_index();
                let index = usize::from(index);
                let unnamed = parameters.get(index).is_some_and(|p| p.name.is_empty());
                unnamed.then(|| parameter_name(parameters, index).into())
            }
            0 => None,
            _ => local_at(data, architecture, symbol, function)?
                .filter(|local| given(local))
                .map(|local| local.name.clone()),
        };
        let Some(wanted) = wanted.map(|name| engine_name(&name)) else { continue };
        let database = architecture.symboltab_mut()?;
        if database.symbol(symbol).get_name() != wanted {
            let unique = database.scope_make_name_unique(scope, &wanted)?;
            database.scope_rename_symbol(scope, symbol, &unique)?;
        }
    }
    Ok(())
}

/// What a call left in a part of a register that has no name of its own is not named after the
/// whole register.
pub(crate) fn name_parts_of_registers(
    data: &Funcdata,
    architecture: &mut Architecture,
) -> Result<()> {
    const LEFT: &str = "extraout_";
    let Some(scope) = data.get_scope_local() else { return Ok(()) };
    let translate = architecture.translator()?;
    let mut symbols = local_symbols(architecture, scope)?;
    symbols.sort_unstable();
    for symbol in symbols {
        let database = architecture.symboltab_mut()?;
        let known = database.symbol(symbol);
        if !known.get_name().starts_with(LEFT) || known.is_name_locked() {
            continue;
        }
        let entry = database.entry(known.get_map_entry_index(0));
        let address = entry.get_addr();
        let Some(space) = address.get_space().filter(|_| !entry.is_dynamic()) else { continue };
        let (offset, size) = (address.get_offset(), entry.get_size());
        if translate.get_exact_register_name(space, offset, size).is_empty() {
            let unique = database.scope_make_name_unique(scope, &format!("{LEFT}var"))?;
            database.scope_rename_symbol(scope, symbol, &unique)?;
        }
    }
    Ok(())
}

fn local_symbols(architecture: &Architecture, scope: ScopeId) -> Result<Vec<EngineSymbol>> {
    let database = architecture.symboltab_ref()?;
    let all = database.scope(scope).nametree.values().copied();
    Ok(all.filter(|symbol| database.symbol(*symbol).num_entries() > 0).collect())
}

fn parameter_at<'f>(
    architecture: &Architecture,
    symbol: EngineSymbol,
    parameters: &'f [Parameter],
) -> Result<Option<&'f Parameter>> {
    let database = architecture.symboltab_ref()?;
    let entry = database.entry(database.symbol(symbol).get_map_entry_index(0));
    let place = storage(architecture, entry.get_addr(), entry.get_size());
    let first = |storage: &Storage| storage.pieces().first().map(|piece| piece.address);
    let index = usize::from(database.symbol(symbol).get_category_index());
    let by_place = parameters.iter().find(|p| first(&p.storage) == first(&place));
    let unplaced = |p: &&Parameter| p.storage.pieces().is_empty();
    Ok(by_place.or_else(|| parameters.get(index).filter(unplaced)))
}

fn local_at<'f>(
    data: &mut Funcdata,
    architecture: &Architecture,
    symbol: EngineSymbol,
    function: &'f Function,
) -> Result<Option<&'f LocalVariable>> {
    let entry = architecture.symboltab_ref()?.symbol(symbol).get_map_entry_index(0);
    let (storage, first_use, hash) = spot(data, architecture, entry)?;
    let spot = Spot { storage: &storage, first_use, hash };
    Ok(function.locals.iter().find(|local| spot.is(local, function.entry)))
}

/// Where a variable lives, where it comes to life, and its hash if it lives nowhere.
fn spot(
    data: &mut Funcdata,
    architecture: &Architecture,
    entry: EntryId,
) -> Result<(Storage, Option<Place>, u64)> {
    let known = architecture.symboltab_ref()?.entry(entry);
    let first_use = known.get_first_use_address();
    let first_use = (!first_use.is_invalid()).then(|| Place::ram(first_use.get_offset()));
    if known.is_dynamic() {
        return Ok((Storage::Unassigned, first_use, known.get_hash()));
    }
    let storage = storage(architecture, known.get_addr(), known.get_size());
    if !storage.pieces().is_empty() {
        return Ok((storage, first_use, 0));
    }
    let Some(varnode) = data.find_linked_varnode(entry, architecture) else {
        return Ok((storage, first_use, 0));
    };
    let mut hash = DynamicHash::new();
    hash.unique_hash_varnode(varnode, data);
    match hash.get_hash() {
        0 => Ok((storage, first_use, 0)),
        found => Ok((storage, Some(Place::ram(hash.get_address().get_offset())), found)),
    }
}

/// Reads parameters and what is returned.
pub(crate) fn read_prototype(
    data: &mut Funcdata,
    architecture: &Architecture,
    program: &Program,
    map: &TypeMap,
    out: &mut Decompilation,
) {
    let Some(types) = architecture.types.as_deref() else { return };
    let prototype = data.get_func_proto_mut();
    if prototype.has_model() && !prototype.is_model_unknown(architecture) {
        out.convention = prototype.get_model_name(architecture).to_string();
    }
    let returned = prototype.get_output_type(architecture);
    out.return_type = type_text(types, returned);
    out.return_type_of = map.type_of(types, &program.types, returned);
    out.return_storage = match prototype.get_output_ref() {
        _ if out.return_type == "void" => Storage::Void,
        Some(output) => {
            let size = output.get_size(architecture);
            storage(architecture, &output.get_address(architecture), size)
        }
        None => Storage::Unassigned,
    };
    for index in 0..prototype.num_params(architecture) {
        let Some(parameter) = prototype.get_param(index, architecture) else { continue };
        let size = parameter.get_size(architecture);
        let data_type = parameter.get_type(architecture);
        out.parameters.push(Variable {
            name: parameter.get_name(architecture).to_string(),
            data_type: type_text(types, data_type),
            type_of: map.type_of(types, &program.types, data_type),
            size: u32::try_from(size).unwrap_or(0),
            storage: storage(architecture, &parameter.get_address(architecture), size),
            first_use: None,
            hash: 0,
            locked: parameter.is_type_locked(architecture),
        });
    }
}

/// Reads the local variables that the text shows.
pub(crate) fn read_locals(
    data: &mut Funcdata,
    architecture: &Architecture,
    program: &Program,
    map: &TypeMap,
    out: &mut Decompilation,
) -> Result<()> {
    let Some(scope) = data.get_scope_local() else { return Ok(()) };
    let Some(types) = architecture.types.as_deref() else { return Ok(()) };
    let database = architecture.symboltab_ref()?;
    for id in local_symbols(architecture, scope)? {
        let symbol = database.symbol(id);
        let is_parameter = symbol.get_category() == 0;
        let Some(data_type) = symbol.get_type().filter(|_| !is_parameter) else { continue };
        if !is_shown(out, symbol.get_display_name()) {
            continue;
        }
        let entry = symbol.get_map_entry_index(0);
        let (storage, first_use, hash) = spot(data, architecture, entry)?;
        out.locals.push(Variable {
            name: symbol.get_display_name().to_string(),
            data_type: type_text(types, data_type),
            type_of: map.type_of(types, &program.types, data_type),
            size: u32::try_from(types.get(data_type).get_size()).unwrap_or(0),
            storage,
            first_use,
            hash,
            locked: symbol.is_type_locked() && symbol.is_name_locked(),
        });
    }
    Ok(())
}

fn is_shown(out: &Decompilation, name: &str) -> bool {
    out.tokens.iter().any(|token| token.kind == TokenKind::Variable && token.text == name)
}
