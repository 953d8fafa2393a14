//! Parameters and local variables of a function.

use program::{Program, Storage, parameter_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::methods::data_type::reference::DataTypeReference;
use crate::shapes::{Delete, Deleted, EntrySelector, Patch, Reply, Request};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::pending_write::<CreateRequest, Parameter>(
            "function_parameter.create",
            "Insert a parameter into a function.",
        ),
        Method::pending_write::<Patch<ParameterSelector, ParameterPatch>, Parameter>(
            "function_parameter.patch",
            "Change the name, type or storage of one parameter.",
        )
        .destructive()
        .idempotent(),
        Method::pending_write::<Delete<ParameterSelector>, Deleted>(
            "function_parameter.delete",
            "Remove one parameter of a function.",
        )
        .destructive()
        .idempotent(),
        Method::pending_write::<Patch<LocalVariableSelector, LocalVariablePatch>, LocalVariable>(
            "function_local_variable.patch",
            "Rename or retype one local variable, chosen by id or by its current name.",
        )
        .destructive()
        .idempotent(),
    ]
}

/// Where a value is kept.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum VariableStorage {
    /// As text: parts of the form `space:offset:size`, or `Stack[offset]:size`.
    Serialization {
        /// The parts, joined by commas.
        #[schemars(length(min = 1))]
        serialization: String,
    },
    /// One register.
    Register {
        /// Its name.
        #[schemars(length(min = 1))]
        register: String,
    },
}

impl VariableStorage {
    /// Storage as it is answered: always as text.
    pub(crate) fn of(program: &Program, storage: &Storage) -> VariableStorage {
        VariableStorage::Serialization { serialization: program.storage_text(storage) }
    }
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
    pub(crate) fn of(program: &Program, ordinal: usize, parameter: &program::Parameter) -> Self {
        ParameterRow {
            ordinal: u32::try_from(ordinal).unwrap_or(u32::MAX),
            name: parameter_name(parameter, ordinal),
            data_type: DataTypeReference::of(program, parameter.data_type),
            storage: VariableStorage::of(program, &parameter.storage),
            id: Some(parameter.id.to_string()),
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
}

/// One parameter.
#[derive(Debug, Serialize, JsonSchema)]
struct Parameter {
    /// Its place, from 0.
    ordinal: u64,
    /// Its name.
    name: String,
    /// Its type.
    data_type: DataTypeReference,
    /// Where it is passed.
    storage: VariableStorage,
    /// Its id, the same after renames.
    id: Option<String>,
}

impl Reply for Parameter {
    const IDENTITY: &'static [&'static str] = &["ordinal"];
}

/// One local variable.
#[derive(Debug, Serialize, JsonSchema)]
struct LocalVariable {
    /// Its name.
    name: String,
    /// Its type.
    data_type: DataTypeReference,
    /// Where it is kept.
    storage: VariableStorage,
    /// Its id, the same after renames and new decompilations.
    id: Option<String>,
}

impl Reply for LocalVariable {
    const IDENTITY: &'static [&'static str] = &["name"];
}

/// A parameter to insert.
#[derive(Debug, Deserialize, JsonSchema)]
struct CreateRequest {
    /// The function.
    selector: EntrySelector,
    /// The parameter.
    resource: ParameterDefinition,
}

impl Request for CreateRequest {}

/// A parameter to insert.
#[derive(Debug, Deserialize, JsonSchema)]
struct ParameterDefinition {
    /// Its place, from 0; those behind move up.
    ordinal: u32,
    /// Its name.
    #[schemars(length(min = 1))]
    name: String,
    /// Its type.
    data_type: DataTypeReference,
    /// Where it is passed; by the calling convention when absent.
    storage: Option<VariableStorage>,
}

/// Chooses a parameter.
#[derive(Debug, Deserialize, JsonSchema)]
struct ParameterSelector {
    /// The function's entry point.
    #[schemars(length(min = 1))]
    entry: String,
    /// The parameter's place, from 0.
    ordinal: u32,
}

/// A change of a parameter.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
struct ParameterPatch {
    /// The new name.
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// The new type.
    data_type: Option<DataTypeReference>,
    /// The new storage.
    storage: Option<VariableStorage>,
}

/// Chooses a local variable: by `name` or by `id`, one of them.
#[derive(Debug, Deserialize, JsonSchema)]
struct LocalVariableSelector {
    /// The function's entry point.
    #[schemars(length(min = 1))]
    entry: String,
    /// The variable's current name.
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// The variable's id.
    #[schemars(length(min = 1))]
    id: Option<String>,
}

/// A change of a local variable.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
struct LocalVariablePatch {
    /// The new name.
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// The new type.
    data_type: Option<DataTypeReference>,
}
