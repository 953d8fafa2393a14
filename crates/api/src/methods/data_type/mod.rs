//! Data types and their categories.

mod category;
mod edit;
pub(crate) mod reference;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::shapes::{Create, Delete, Deleted, Get, List, Page, Patch, Reply};
use edit::{DataTypePatch, DataTypeResource, FunctionResource};
use reference::{DataTypeReference, Signature};

pub(super) fn methods() -> Vec<Method> {
    let mut rows = category::methods();
    rows.extend([
        Method::pending_read::<Get<PathSelector>, DataType>(
            "data_type.get",
            "Describe one data type with its members.",
        ),
        Method::pending_read::<List<DataTypeFilter>, Page<DataType>>(
            "data_type.list",
            "Search the program's data types, by path.",
        )
        .cost("Grows with the number of data types."),
        Method::pending_write::<Create<DataTypeResource>, DataType>(
            "data_type.create",
            "Define a struct, union, enum, typedef or function type, also from C text.",
        ),
        Method::pending_write::<Patch<PathSelector, DataTypePatch>, DataType>(
            "data_type.patch",
            "Add, rename, change or remove members of a struct, union or enum.",
        )
        .destructive(),
        Method::pending_write::<Create<FunctionResource>, DataType>(
            "data_type.upsert",
            "Define a function type or replace it; from C text, any types.",
        )
        .destructive()
        .idempotent(),
        Method::pending_write::<Delete<PathSelector>, Deleted>(
            "data_type.delete",
            "Remove one data type.",
        )
        .destructive()
        .idempotent(),
    ]);
    rows
}

/// Chooses a data type.
#[derive(Debug, Deserialize, JsonSchema)]
struct PathSelector {
    /// Its path, or its name alone.
    #[schemars(length(min = 1))]
    path: String,
}

/// Which data types to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct DataTypeFilter {
    /// Part of the name, in any case.
    query: Option<String>,
    /// The exact path of the category.
    category_path: Option<String>,
    /// The kind, in any case.
    kind: Option<String>,
}

/// One data type.
#[derive(Debug, Serialize, JsonSchema)]
struct DataType {
    /// Its path: category and name.
    path: String,
    /// Its name.
    name: String,
    /// Its category.
    category_path: String,
    /// `struct`, `union`, `enum`, `typedef`, `function`, `pointer`, `array`, `builtin` or `other`.
    kind: &'static str,
    /// Its length in bytes; absent when it has none.
    length: Option<u64>,
    /// What it is for.
    description: Option<String>,
    /// Size of a struct, union or enum in bytes.
    size: Option<u64>,
    /// Members of a struct or union.
    #[schemars(length(max = 1000))]
    fields: Option<Vec<CompositeField>>,
    /// Values of an enum.
    #[schemars(length(max = 1000))]
    values: Option<Vec<EnumValue>>,
    /// What a typedef stands for.
    base_type: Option<DataTypeReference>,
    /// Prototype of a function type.
    signature: Option<Signature>,
    /// True when a nested list was cut at 1000 rows.
    truncated: Option<bool>,
    /// Every type made from C text, in order.
    #[schemars(length(max = 1000))]
    items: Option<Vec<DataTypeMade>>,
}

impl Reply for DataType {
    const IDENTITY: &'static [&'static str] = &["path"];
    const NESTED: &'static [&'static str] = &["signature.parameters", "signature.return_type"];
}

/// A type made from C text.
#[derive(Debug, Serialize, JsonSchema)]
struct DataTypeMade {
    /// Its path.
    path: String,
    /// Its kind.
    kind: &'static str,
}

/// A member of a struct or union.
#[derive(Debug, Serialize, JsonSchema)]
struct CompositeField {
    /// Its place, from 0.
    ordinal: Option<u32>,
    /// Its name.
    name: Option<String>,
    /// Where it starts, in bytes.
    offset: Option<u32>,
    /// Its last byte.
    end_offset: Option<u32>,
    /// Kind of its type.
    kind: Option<&'static str>,
    /// Its length in bytes.
    length: Option<u32>,
    /// Its comment.
    comment: Option<String>,
    /// True when nothing is defined there.
    is_undefined: Option<bool>,
    /// Its type.
    data_type: Option<DataTypeReference>,
}

/// A value of an enum.
#[derive(Debug, Serialize, JsonSchema)]
struct EnumValue {
    /// Its name.
    name: String,
    /// The number it stands for.
    value: i64,
    /// Its comment.
    comment: Option<String>,
}
