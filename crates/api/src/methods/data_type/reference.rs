//! How data types are spoken of: by name, built up, or as C text.

use engine::decompiler::TypeOf;
use program::data_type::{Builtin, FunctionType};
use program::{Program, TypeId, TypeKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shapes::MAX_NESTED;

/// Deepest nesting that is answered; what lies deeper is named.
const MAX_NESTING: u32 = 32;

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

impl DataTypeReference {
    /// How a type of the program is spoken of: pointers and arrays built up, the rest by path.
    pub(crate) fn of(program: &Program, id: TypeId) -> DataTypeReference {
        Self::nested(program, id, MAX_NESTING)
    }

    /// How a type that the decompiler found is spoken of.
    pub(crate) fn of_found(program: &Program, found: &TypeOf) -> DataTypeReference {
        match found {
            TypeOf::Known(id) => Self::of(program, *id),
            TypeOf::Pointer(target) => {
                DataTypeReference::Pointer { target: Box::new(Self::of_found(program, target)) }
            }
            TypeOf::Array(element, count) => DataTypeReference::Array {
                element: Box::new(Self::of_found(program, element)),
                count: (*count).clamp(1, i32::MAX as u32),
            },
            TypeOf::Undefined(size @ 1..=8) => Self::of(program, program.types.undefined(*size)),
            TypeOf::Undefined(size) => DataTypeReference::Array {
                element: Box::new(Self::of(program, program.types.undefined(1))),
                count: (*size).clamp(1, i32::MAX as u32),
            },
        }
    }

    fn nested(program: &Program, id: TypeId, depth: u32) -> DataTypeReference {
        let Some(known) = program.types.get(id) else {
            return DataTypeReference::Named { name: "/undefined".to_owned() };
        };
        let below = |inner| Box::new(Self::nested(program, inner, depth - 1));
        match known.kind {
            TypeKind::Pointer(None) | TypeKind::Builtin(Builtin::Pointer) => {
                DataTypeReference::UntypedPointer {}
            }
            TypeKind::Pointer(Some(target)) if depth > 0 => {
                DataTypeReference::Pointer { target: below(target) }
            }
            TypeKind::Array { element, count } if depth > 0 && count > 0 => {
                DataTypeReference::Array {
                    element: below(element),
                    count: count.min(i32::MAX as u32),
                }
            }
            _ => DataTypeReference::Named { name: known.path() },
        }
    }
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

impl FunctionSignature {
    /// A function type of the program in parts; at most as many parameters as a reply may hold.
    pub(crate) fn of(program: &Program, function: &FunctionType) -> FunctionSignature {
        let parameters = function.parameters.iter().take(MAX_NESTED);
        let convention = function.convention.as_deref().filter(|name| *name != "unknown");
        FunctionSignature {
            return_type: DataTypeReference::of(program, function.return_type),
            parameters: parameters
                .map(|parameter| SignatureParameter {
                    name: (!parameter.name.is_empty()).then(|| parameter.name.to_string()),
                    data_type: DataTypeReference::of(program, parameter.data_type),
                })
                .collect(),
            calling_convention: convention.unwrap_or("default").to_owned(),
            has_var_args: function.varargs,
            has_no_return: function.no_return,
        }
    }
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
