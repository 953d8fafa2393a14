//! Parameters and local variables as rows of a function's description.

use engine::decompiler::{Variable, parameter_id};
use program::{Program, TypeId, parameter_name};
use schemars::JsonSchema;
use serde::Serialize;

use super::storage::VariableStorage;
use crate::error::{BridgeError, ErrorCode};
use crate::method::Answer;
use crate::methods::data_type::reference::DataTypeReference;

/// The type of a variable: one that has a length.
pub(super) fn value_type(
    program: &mut Program,
    reference: &DataTypeReference,
    pointer: &str,
) -> Answer<TypeId> {
    let id = reference.resolve(&mut program.types, pointer)?;
    if program.types.length(id).unwrap_or(0) == 0 {
        let message =
            format!("a variable cannot be of type {}, which has no length", program.types.name(id));
        return Err(BridgeError::new(ErrorCode::InvalidDataType, message).at(pointer));
    }
    program.types.mark_used(id);
    Ok(id)
}

/// A parameter inside a function's description.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ParameterRow {
    /// Its place, from 0.
    pub ordinal: u32,
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataTypeReference,
    /// Where it is passed.
    pub storage: VariableStorage,
    /// Its id, the same after renames.
    pub id: Option<String>,
}

impl ParameterRow {
    /// The parameter at a place of a function that has these.
    pub(crate) fn of(program: &Program, all: &[program::Parameter], ordinal: usize) -> Self {
        let parameter = &all[ordinal];
        ParameterRow {
            ordinal: u32::try_from(ordinal).unwrap_or(u32::MAX),
            name: parameter_name(all, ordinal),
            data_type: DataTypeReference::of(program, parameter.data_type),
            storage: VariableStorage::of(program, &parameter.storage),
            id: Some(parameter.id.to_string()),
        }
    }

    /// A parameter as the decompiler sees it.
    pub(crate) fn found(
        program: &Program,
        function: &program::Function,
        ordinal: usize,
        variable: &Variable,
    ) -> Self {
        ParameterRow {
            ordinal: u32::try_from(ordinal).unwrap_or(u32::MAX),
            name: variable.name.clone(),
            data_type: DataTypeReference::of_found(program, &variable.type_of),
            storage: VariableStorage::of(program, &variable.storage),
            id: Some(parameter_id(function, ordinal).to_string()),
        }
    }
}

/// A local variable inside a function's description.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LocalVariableRow {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataTypeReference,
    /// Where it is kept.
    pub storage: VariableStorage,
    /// Its id, the same after renames and new decompilations.
    pub id: Option<String>,
}

impl LocalVariableRow {
    pub(crate) fn of(program: &Program, local: &program::LocalVariable) -> LocalVariableRow {
        LocalVariableRow {
            name: local.name.to_string(),
            data_type: DataTypeReference::of(program, local.data_type),
            storage: VariableStorage::of(program, &local.storage),
            id: Some(local.id.to_string()),
        }
    }

    /// A local variable as the decompiler sees it.
    pub(crate) fn found(
        program: &Program,
        function: &program::Function,
        variable: &Variable,
    ) -> LocalVariableRow {
        LocalVariableRow {
            name: variable.name.clone(),
            data_type: DataTypeReference::of_found(program, &variable.type_of),
            storage: VariableStorage::of(program, &variable.storage),
            id: variable.is_findable().then(|| variable.local_id(function).to_string()),
        }
    }
}
