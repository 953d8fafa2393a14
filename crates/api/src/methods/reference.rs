//! Which place refers to which, and how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::shapes::{ListOf, Page, Reply};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<ListOf<ReferenceFilter>, Page<Reference>>(
            "reference.list",
            "List the references from an address, or those to it.",
        )
        .cost("Grows with the references at the address."),
    ]
}

/// Which references to list.
#[derive(Debug, Deserialize, JsonSchema)]
struct ReferenceFilter {
    /// The address they start at; needed for direction `from`.
    from: Option<String>,
    /// The address they point to; needed for direction `to`.
    to: Option<String>,
    /// Only this type, in any case; several types as an array.
    r#type: Option<TypeNames>,
    /// From the address, or to it.
    direction: Direction,
}

/// One reference type, or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum TypeNames {
    One(String),
    Several(#[schemars(length(min = 1, max = 64))] Vec<String>),
}

/// Which end the address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Direction {
    From,
    To,
}

/// One reference.
#[derive(Debug, Serialize, JsonSchema)]
struct Reference {
    /// Where it starts.
    from: String,
    /// Where it points.
    to: String,
    /// How the place is used: `READ`, `UNCONDITIONAL_CALL` and so on.
    r#type: &'static str,
    /// Who found it.
    source_type: &'static str,
    /// The operand it belongs to; -1 for the instruction as such.
    #[schemars(range(min = -1, max = 2_147_483_647))]
    operand_index: i32,
    /// True for the one its operand shows.
    primary: bool,
}

impl Reply for Reference {
    const IDENTITY: &'static [&'static str] = &["from", "to", "type", "operand_index"];
}
