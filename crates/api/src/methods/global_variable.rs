//! Named, typed data in memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::methods::data_type::reference::DataTypeReference;
use crate::shapes::{AddressSelector, Create, Deleted, Get, Patch, Reply, Request, Scan, ScanPage};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<Get<AddressSelector>, GlobalVariable>(
            "global_variable.get",
            "Describe the variable that starts at one address.",
        ),
        Method::pending_read::<Scan<GlobalVariableFilter>, ScanPage<GlobalVariable>>(
            "global_variable.list",
            "Walk global variables in address order.",
        )
        .cost("Grows with the data items walked over, matching or not."),
        Method::pending_write::<Create<GlobalVariableDefinition>, GlobalVariable>(
            "global_variable.create",
            "Define a variable where no data is defined.",
        ),
        Method::pending_write::<Patch<AddressSelector, GlobalVariablePatch>, GlobalVariable>(
            "global_variable.patch",
            "Rename or retype a variable.",
        )
        .destructive()
        .idempotent(),
        Method::pending_write::<Create<GlobalVariableDefinition>, GlobalVariable>(
            "global_variable.upsert",
            "Define a variable, or rename and retype the one that is there.",
        )
        .destructive()
        .idempotent(),
        Method::pending_write::<DeleteRequest, Deleted>(
            "global_variable.delete",
            "Undefine a variable, and its name on request.",
        )
        .destructive()
        .idempotent(),
    ]
}

/// One global variable.
#[derive(Debug, Serialize, JsonSchema)]
struct GlobalVariable {
    /// Where it starts.
    address: String,
    /// Its name; absent when it has none.
    name: Option<String>,
    /// The namespace of its name.
    namespace: Option<String>,
    /// Its type.
    data_type: DataTypeReference,
    /// Its length in bytes.
    length: u64,
    /// Its value as text; the content of a string.
    value: String,
    /// Its value as a listing shows it.
    representation: String,
    /// Who named it.
    source_type: Option<&'static str>,
}

impl Reply for GlobalVariable {
    const IDENTITY: &'static [&'static str] = &["address"];
}

/// Which variables to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct GlobalVariableFilter {
    /// Part of the name.
    name: Option<String>,
    /// The exact name of the namespace.
    namespace: Option<String>,
    /// True to match `name` in its case only; false when absent.
    case_sensitive: Option<bool>,
}

/// A variable to define.
#[derive(Debug, Deserialize, JsonSchema)]
struct GlobalVariableDefinition {
    /// Where it starts.
    #[schemars(length(min = 1))]
    address: String,
    /// Its name.
    #[schemars(length(min = 1))]
    name: String,
    /// Its type.
    data_type: DataTypeReference,
}

/// A change of a variable.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
struct GlobalVariablePatch {
    /// The new name.
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// The new type.
    data_type: Option<DataTypeReference>,
}

/// The removal of a variable.
#[derive(Debug, Deserialize, JsonSchema)]
struct DeleteRequest {
    /// Which variable.
    selector: AddressSelector,
    /// True to remove its name as well; false when absent.
    delete_symbol: Option<bool>,
}

impl Request for DeleteRequest {}
