//! What a client sends to define or change a data type.

use schemars::JsonSchema;
use serde::Deserialize;

use super::reference::{DataTypeReference, FunctionSignature};

/// A data type to define.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum DataTypeResource {
    /// A struct without members yet.
    Struct {
        /// Its category; `/` when absent.
        category_path: Option<String>,
        /// Its name.
        #[schemars(length(min = 1))]
        name: String,
        /// Its size in bytes; 0 when absent.
        #[schemars(range(min = 0, max = 2_147_483_647))]
        size: Option<u32>,
    },
    /// A union without members yet.
    Union {
        /// Its category; `/` when absent.
        category_path: Option<String>,
        /// Its name.
        #[schemars(length(min = 1))]
        name: String,
    },
    /// An enum without values yet.
    Enum {
        /// Its category; `/` when absent.
        category_path: Option<String>,
        /// Its name.
        #[schemars(length(min = 1))]
        name: String,
        /// Its size in bytes; 4 when absent.
        #[schemars(range(min = 1, max = 8))]
        size: Option<u32>,
    },
    /// Another name for a type.
    Typedef {
        /// Its category; `/` when absent.
        category_path: Option<String>,
        /// Its name.
        #[schemars(length(min = 1))]
        name: String,
        /// What it stands for.
        base_type: DataTypeReference,
    },
    /// A function type.
    Function(FunctionDefinition),
    /// Whatever a piece of C text declares.
    C(CText),
}

/// A function type to define or replace, or C text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum FunctionResource {
    /// A function type.
    Function(FunctionDefinition),
    /// Whatever a piece of C text declares.
    C(CText),
}

/// A function type to define.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct FunctionDefinition {
    /// Its category; `/` when absent.
    pub category_path: Option<String>,
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Its prototype.
    pub signature: FunctionSignature,
}

/// Declarations in C.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CText {
    /// Where the types go; `/` when absent.
    pub category_path: Option<String>,
    /// The declarations.
    #[schemars(length(min = 1, max = 8_388_608))]
    pub source: String,
}

/// A change of a data type; `kind` says what it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum DataTypePatch {
    /// A change of a struct.
    Struct(FieldEdits),
    /// A change of a union.
    Union(FieldEdits),
    /// A change of an enum.
    Enum(ValueEdits),
}

impl DataTypePatch {
    /// The kind of type that is changed.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            DataTypePatch::Struct(_) => "struct",
            DataTypePatch::Union(_) => "union",
            DataTypePatch::Enum(_) => "enum",
        }
    }
}

/// Changes of members: removed, then renamed, then changed, then added.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct FieldEdits {
    /// Members to add.
    #[schemars(length(min = 1, max = 1000))]
    pub add_fields: Option<Vec<FieldEdit>>,
    /// Members to rename.
    #[schemars(length(min = 1, max = 1000))]
    pub rename_fields: Option<Vec<FieldEdit>>,
    /// Members to change.
    #[schemars(length(min = 1, max = 1000))]
    pub update_fields: Option<Vec<FieldEdit>>,
    /// Members to remove.
    #[schemars(length(min = 1, max = 1000))]
    pub remove_fields: Option<Vec<FieldEdit>>,
}

/// One member and what becomes of it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct FieldEdit {
    /// Its name.
    pub name: Option<String>,
    /// Its new name.
    pub new_name: Option<String>,
    /// Where it starts, in bytes.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub offset: Option<u32>,
    /// Its length in bytes.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub length: Option<u32>,
    /// Its type.
    pub data_type: Option<DataTypeReference>,
}

/// Changes of values: removed, then renamed, then changed, then added.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ValueEdits {
    /// Values to add.
    #[schemars(length(min = 1, max = 1000))]
    pub add_values: Option<Vec<ValueEdit>>,
    /// Values to remove.
    #[schemars(length(min = 1, max = 1000))]
    pub remove_values: Option<Vec<ValueEdit>>,
    /// Values to rename.
    #[schemars(length(min = 1, max = 1000))]
    pub rename_values: Option<Vec<ValueEdit>>,
    /// Values to change.
    #[schemars(length(min = 1, max = 1000))]
    pub update_values: Option<Vec<ValueEdit>>,
}

/// One value and what becomes of it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ValueEdit {
    /// Its name.
    pub name: Option<String>,
    /// Its new name.
    pub new_name: Option<String>,
    /// The number it stands for.
    pub value: Option<i64>,
}
