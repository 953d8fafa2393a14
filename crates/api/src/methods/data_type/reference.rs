//! How data types are spoken of: by name, built up, or as C text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A data type: by name, built from others, or as people write it in C.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "data_type_reference")]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum DataTypeReference {
    /// The type of a path, or of a name that only one type has.
    Named {
        /// Path or name.
        #[schemars(length(min = 1))]
        name: String,
    },
    /// A pointer to a type.
    Pointer {
        /// What it points to.
        target: Box<DataTypeReference>,
    },
    /// Several of one type in a row.
    Array {
        /// The type of each.
        element: Box<DataTypeReference>,
        /// How many.
        #[schemars(range(min = 1, max = 2_147_483_647))]
        count: u32,
    },
    /// A pointer to nothing known.
    UntypedPointer {},
    /// A type as written in C, such as `unsigned char *[4]`.
    C {
        /// The declaration, without a name.
        #[schemars(length(min = 1, max = 4096))]
        declaration: String,
    },
}

/// A prototype: text for a function in the program, in parts for a function type.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Signature {
    Text(String),
    Parts(FunctionSignature),
}

/// A prototype in parts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "function_signature")]
pub(crate) struct FunctionSignature {
    /// What it returns.
    pub return_type: DataTypeReference,
    /// What it takes, in order.
    #[schemars(length(max = 1000))]
    pub parameters: Vec<SignatureParameter>,
    /// How it is called.
    #[schemars(length(min = 1))]
    pub calling_convention: String,
    /// True when it takes more arguments than it names.
    pub has_var_args: bool,
    /// True when it does not come back.
    pub has_no_return: bool,
}

/// One parameter of a prototype.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "signature_parameter")]
pub(crate) struct SignatureParameter {
    /// Its name.
    pub name: Option<String>,
    /// Its type.
    pub data_type: DataTypeReference,
}
