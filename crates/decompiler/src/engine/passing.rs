//! Where a calling convention passes what a prototype says.

use std::sync::Arc;

use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::error::{Error, Result};
use ghidra_decompiler::fspec::{ParameterPieces, PrototypePieces, assign_storage_glb};
use program::data_type::Builtin;
use program::{DataTypes, Program, Storage, TypeId};

use super::memory::SharedMemory;
use super::result::{short, storage};
use super::types::TypeMap;
use super::watch::Watch;
use crate::language::Language;

/// The storage that a convention gives to a prototype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedStorage {
    /// Where the result comes back.
    pub returned: Storage,
    /// Where the caller says where to put a result that fits into no register.
    pub return_pointer: Option<Storage>,
    /// Where each parameter is passed.
    pub parameters: Vec<Storage>,
}

/// What computes it, for many prototypes of one set of types.
pub struct Passing {
    architecture: Architecture,
    types: TypeMap,
}

impl Passing {
    /// For a program's processor and compiler.
    ///
    /// # Errors
    /// Why there is no engine for them.
    pub fn new(language: &Language, program: &Program) -> std::result::Result<Passing, String> {
        let memory = Arc::new(SharedMemory::new(program.clone()));
        let architecture = super::open(language, program, &memory, &Arc::new(Watch::default()));
        let architecture = architecture.map_err(|error| short(error.explain()))?;
        Ok(Passing { architecture, types: TypeMap::default() })
    }

    /// Computes where a convention (the default one when none is named) passes a result and
    /// parameters of these types. A type must not change once it was asked about.
    ///
    /// # Errors
    /// Why the convention cannot pass them.
    pub fn assign(
        &mut self,
        types: &DataTypes,
        convention: Option<&str>,
        returned: TypeId,
        parameters: &[TypeId],
        varargs: bool,
    ) -> std::result::Result<PassedStorage, String> {
        assign(
            &mut self.architecture,
            &mut self.types,
            types,
            convention,
            returned,
            parameters,
            varargs,
        )
        .map_err(|error| short(error.explain()))
    }
}

/// Computes where a convention (the default one when none is named) passes a result and
/// parameters of these types.
///
/// # Errors
/// Why the convention cannot pass them.
pub fn assign_storage(
    language: &Language,
    program: &Program,
    convention: Option<&str>,
    returned: TypeId,
    parameters: &[TypeId],
    varargs: bool,
) -> std::result::Result<PassedStorage, String> {
    let mut passing = Passing::new(language, program)?;
    passing.assign(&program.types, convention, returned, parameters, varargs)
}

fn assign(
    architecture: &mut Architecture,
    map: &mut TypeMap,
    all: &DataTypes,
    convention: Option<&str>,
    returned: TypeId,
    parameters: &[TypeId],
    varargs: bool,
) -> Result<PassedStorage> {
    let model = convention.and_then(|name| architecture.get_model(name));
    let model = model.or(architecture.defaultfp);
    let model = model.ok_or_else(|| Error::Lowlevel("there is no such convention".to_string()))?;
    let mut pieces = PrototypePieces {
        model: Some(model),
        name: String::new(),
        outtype: Some(map.get(architecture, all, returned)?),
        intypes: Vec::new(),
        innames: Vec::new(),
        first_var_arg_slot: -1,
    };
    for parameter in parameters {
        pieces.intypes.push(map.get(architecture, all, *parameter)?);
        pieces.innames.push(String::new());
    }
    if varargs {
        pieces.first_var_arg_slot = i32::try_from(parameters.len()).unwrap_or(i32::MAX);
    }
    let mut passed: Vec<ParameterPieces> = Vec::new();
    assign_storage_glb(model, &pieces, &mut passed, false, architecture)?;
    let place = |piece: &ParameterPieces| {
        let types = architecture.types.as_deref();
        let size = piece.tp.zip(types).map_or(0, |(id, types)| types.get(id).get_size());
        storage(architecture, &piece.addr, size)
    };
    // Behind something of which nothing is known, nobody can tell.
    let known = parameters.iter().position(|id| all.is_stand_in(*id)).unwrap_or(parameters.len());
    let is_void = all.as_builtin(returned) == Some(Builtin::Void);
    let is_hidden = |piece: &&ParameterPieces| piece.flags & ParameterPieces::HIDDENRETPARM != 0;
    // A pointer to the result comes before the parameters, unless it passes in a register of its
    // own, which the engine marks.
    let extra = passed.len().saturating_sub(1).saturating_sub(parameters.len());
    let inputs = passed.get(1..).unwrap_or_default();
    let hidden = inputs.iter().find(is_hidden).or_else(|| inputs.first().filter(|_| extra > 0));
    Ok(PassedStorage {
        returned: match passed.first() {
            _ if is_void => Storage::Void,
            Some(piece) => place(piece),
            None => Storage::Unassigned,
        },
        return_pointer: hidden.filter(|_| extra > 0).map(place),
        parameters: inputs
            .iter()
            .skip(extra)
            .enumerate()
            .map(|(index, piece)| if index < known { place(piece) } else { Storage::Unassigned })
            .collect(),
    })
}
