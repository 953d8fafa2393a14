//! Which place refers to which, and how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::shapes::{ListOf, Page, Reply};
use crate::view::View;
use crate::walk::{paginate, position};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "reference.list",
            "List the references from an address, or those to it.",
            list,
        )
        .cost("Grows with the references at the address."),
    ]
}

fn list(view: &View<'_>, request: ListOf<ReferenceFilter>) -> Answer<Page<Reference>> {
    let filter = &request.filter;
    let references = &view.program.references;
    let found: Vec<program::Reference> = match filter.direction {
        Direction::From => references.from(anchor(view, filter.from.as_ref(), "from")?).collect(),
        Direction::To => references.to(anchor(view, filter.to.as_ref(), "to")?).collect(),
    };
    let wanted = found.into_iter().filter(|reference| filter.accepts(reference.info.kind.name()));
    let key = |r: &program::Reference| {
        (position(r.from, 0), position(r.to, 0), r.info.kind.name().to_owned(), r.operand)
    };
    let rows = wanted.map(|reference| (key(&reference), reference)).collect();
    paginate(view, request.page.as_ref(), rows, |reference| Reference {
        from: view.print(reference.from),
        to: view.print(reference.to),
        r#type: reference.info.kind.name(),
        source_type: reference.info.source.name(),
        operand_index: i32::from(reference.operand).max(-1),
        primary: reference.info.primary,
    })
}

fn anchor(view: &View<'_>, text: Option<&String>, end: &str) -> Answer<program::Address> {
    let pointer = format!("/filter/{end}");
    match text {
        Some(text) => view.address(text, &pointer),
        None => {
            let message = format!("direction {end} needs the address in {end}");
            Err(BridgeError::new(ErrorCode::MissingField, message).at(&pointer))
        }
    }
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

impl ReferenceFilter {
    fn accepts(&self, name: &str) -> bool {
        match &self.r#type {
            None => true,
            Some(TypeNames::One(one)) => one.eq_ignore_ascii_case(name),
            Some(TypeNames::Several(names)) => names.iter().any(|n| n.eq_ignore_ascii_case(name)),
        }
    }
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
