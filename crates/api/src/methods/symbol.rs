//! Names of places.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::shapes::{Get, Patch, Reply, Scan, ScanPage};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<Get<SymbolSelector>, Symbol>(
            "symbol.get",
            "Describe one symbol by its id.",
        ),
        Method::pending_read::<Scan<SymbolFilter>, ScanPage<SymbolRow>>(
            "symbol.list",
            "Walk stored symbols in address order.",
        )
        .cost("Grows with the symbols walked over, matching or not."),
        Method::pending_write::<Patch<SymbolSelector, SymbolPatch>, Symbol>(
            "symbol.patch",
            "Rename one symbol.",
        )
        .destructive()
        .idempotent(),
    ]
}

/// Chooses a symbol.
#[derive(Debug, Deserialize, JsonSchema)]
struct SymbolSelector {
    /// Its id, as decimal text.
    #[schemars(length(min = 1))]
    id: String,
}

/// One symbol.
#[derive(Debug, Serialize, JsonSchema)]
struct Symbol {
    /// Its id, the same after renames.
    id: String,
    /// Its name.
    name: String,
    /// Where it lies.
    address: String,
    /// What it names: `Label`, `Function` and so on.
    r#type: &'static str,
    /// The name of the namespace it is in.
    namespace: String,
    /// Who named it.
    source_type: &'static str,
    /// True for the one shown at its address.
    primary: bool,
}

impl Reply for Symbol {
    const IDENTITY: &'static [&'static str] = &["id"];
}

/// One symbol in a list, which is in address order.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
struct SymbolRow(Symbol);

impl Reply for SymbolRow {
    const IDENTITY: &'static [&'static str] = &["address", "id"];
}

/// Which symbols to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct SymbolFilter {
    /// Part of the name.
    name: Option<String>,
    /// Only symbols at this address.
    address: Option<String>,
    /// What they name, in any case.
    r#type: Option<String>,
    /// The exact name of the namespace.
    namespace: Option<String>,
    /// Who named them, in any case.
    source_type: Option<String>,
    /// True to match `name` in its case only; false when absent.
    case_sensitive: Option<bool>,
}

/// A change of a symbol.
#[derive(Debug, Deserialize, JsonSchema)]
struct SymbolPatch {
    /// The new name.
    #[schemars(length(min = 1))]
    name: String,
}
