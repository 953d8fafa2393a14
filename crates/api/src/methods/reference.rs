//! Which place refers to which, and how.

use program::{Address, Function, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::methods::address::{FunctionSummary, function_holding};
use crate::shapes::{ListOf, Page, Reply};
use crate::view::View;
use crate::walk::{paginate, position};

/// Longest string that a row shows, in characters.
const MAX_TEXT: usize = 200;

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "reference.list",
            "List the references from an address or out of a function, or those to an address or into a function.",
            list,
        )
        .cost(
            "Grows with the references at the address; with `from_function` or `to_function`, with those of the \
             function's whole body.",
        )
        .brief(&["from_function.name", "to_symbol", "to_text"]),
    ]
}

fn list(view: &View<'_>, request: ListOf<ReferenceFilter>) -> Answer<Page<Reference>> {
    let filter = &request.filter;
    let ends = filter.ends(view)?;
    let found = ends.walk(&view.program, filter.direction());
    let wanted = found.into_iter().filter(|reference| filter.accepts(reference.info.kind.name()));
    let key = |r: &program::Reference| {
        (position(r.from, 0), position(r.to, 0), r.info.kind.name().to_owned(), r.operand)
    };
    let rows = wanted.map(|reference| (key(&reference), reference)).collect();
    paginate(view, request.page.as_ref(), rows, |reference| Reference::of(view, &reference))
}

/// Where references must start and end.
struct Ends<'a> {
    from: Option<Address>,
    to: Option<Address>,
    from_function: Option<&'a Function>,
    to_function: Option<&'a Function>,
}

impl Ends<'_> {
    /// The references from, or to, the chosen end; those that the functions let through.
    fn walk(&self, program: &Program, direction: Direction) -> Vec<program::Reference> {
        let references = &program.references;
        let all: Vec<program::Reference> = match (direction, self.from, self.to) {
            (Direction::From, Some(from), _) => references.from(from).collect(),
            (Direction::To, _, Some(to)) => references.to(to).collect(),
            (Direction::From, ..) => out_of(program, self.from_function),
            (Direction::To, ..) => into(program, self.to_function),
        };
        let inside = |function: Option<&Function>, at| {
            function.is_none_or(|function| function.entry == at || function.body.contains(at))
        };
        let wanted = all.into_iter();
        wanted
            .filter(|r| inside(self.from_function, r.from) && inside(self.to_function, r.to))
            .collect()
    }
}

/// The references that start in a function's body.
fn out_of(program: &Program, function: Option<&Function>) -> Vec<program::Reference> {
    let parts = function.into_iter().flat_map(|function| function.body.ranges());
    parts.flat_map(|part| program.references.between(part.start, part.end)).collect()
}

/// The references that end in a function's body, or at the entry of one without a body.
fn into(program: &Program, function: Option<&Function>) -> Vec<program::Reference> {
    let Some(function) = function else { return Vec::new() };
    let references = &program.references;
    if function.body.is_empty() {
        return references.to(function.entry).collect();
    }
    let parts = function.body.ranges().iter();
    let places = parts.flat_map(|part| references.destinations(part.start, part.end));
    places.flat_map(|place| references.to(place)).collect()
}

/// Which references to list.
#[derive(Debug, Deserialize, JsonSchema)]
struct ReferenceFilter {
    /// The address they start at.
    from: Option<String>,
    /// The address they point to.
    to: Option<String>,
    /// The entry point of the function that they start in: what it calls, reads and writes.
    #[schemars(length(min = 1))]
    from_function: Option<String>,
    /// The entry point of the function that they point into.
    #[schemars(length(min = 1))]
    to_function: Option<String>,
    /// Only this type, in any case; several types as an array.
    r#type: Option<TypeNames>,
    /// `from` needs `from` or `from_function`, `to` needs `to` or `to_function`; when absent, what
    /// is given decides. The other end's function may be given too.
    direction: Option<Direction>,
}

impl ReferenceFilter {
    fn direction(&self) -> Direction {
        let from = self.from.is_some() || self.from_function.is_some();
        self.direction.unwrap_or(if from { Direction::From } else { Direction::To })
    }

    fn ends<'v>(&self, view: &'v View<'_>) -> Answer<Ends<'v>> {
        let (from, to) = match self.direction() {
            Direction::From => (anchor(view, &self.from, &self.from_function, "from")?, None),
            Direction::To => (None, anchor(view, &self.to, &self.to_function, "to")?),
        };
        let function = |text: &Option<String>, pointer| {
            let text = text.as_deref();
            let found = text.map(|text| view.function(text, pointer)).transpose();
            found.map(|function| function.map(|function| &**function))
        };
        Ok(Ends {
            from,
            to,
            from_function: function(&self.from_function, "/filter/from_function")?,
            to_function: function(&self.to_function, "/filter/to_function")?,
        })
    }

    fn accepts(&self, name: &str) -> bool {
        match &self.r#type {
            None => true,
            Some(TypeNames::One(one)) => one.eq_ignore_ascii_case(name),
            Some(TypeNames::Several(names)) => names.iter().any(|n| n.eq_ignore_ascii_case(name)),
        }
    }
}

/// The address at one end, if there is one; it or a function must be given.
fn anchor(
    view: &View<'_>,
    address: &Option<String>,
    function: &Option<String>,
    end: &str,
) -> Answer<Option<Address>> {
    let pointer = format!("/filter/{end}");
    match (address, function) {
        (Some(text), _) => view.address(text, &pointer).map(Some),
        (None, Some(_)) => Ok(None),
        (None, None) => {
            let message = format!(
                "direction {end} needs an address in {end} or a function in {end}_function"
            );
            Err(BridgeError::new(ErrorCode::MissingField, message).at(&pointer))
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

/// Which end is given.
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
    /// The function that it starts in.
    from_function: Option<FunctionSummary>,
    /// The function that it points into.
    to_function: Option<FunctionSummary>,
    /// The name shown where it points; an import's with its library before it.
    to_symbol: Option<String>,
    /// The string where it points, its first 200 characters.
    to_text: Option<String>,
}

impl Reference {
    fn of(view: &View<'_>, reference: &program::Reference) -> Reference {
        let program = &view.program;
        let function = |at, member: &str| {
            let function = view.wants(member).then(|| function_holding(program, at)).flatten()?;
            Some(FunctionSummary::of(program, function))
        };
        Reference {
            from: view.print(reference.from),
            to: view.print(reference.to),
            r#type: reference.info.kind.name(),
            source_type: reference.info.source.name(),
            operand_index: i32::from(reference.operand).max(-1),
            primary: reference.info.primary,
            from_function: function(reference.from, "from_function"),
            to_function: function(reference.to, "to_function"),
            to_symbol: view.wants("to_symbol").then(|| view.place(reference.to).name).flatten(),
            to_text: view.wants("to_text").then(|| text_at(program, reference.to)).flatten(),
        }
    }
}

/// The string at an address, from there on when it points inside of one.
fn text_at(program: &Program, address: Address) -> Option<String> {
    let (start, unit) = program.listing.data_containing(address)?;
    if !program.is_text_type(unit.data_type) {
        return None;
    }
    let length = u64::from(unit.length).checked_sub(address.distance_from(start)?)?;
    let value = program.data_value(address, unit.data_type, u32::try_from(length).ok()?);
    Some(value.chars().take(MAX_TEXT).collect())
}

impl Reply for Reference {
    const IDENTITY: &'static [&'static str] = &["from", "to", "type", "operand_index"];
}
