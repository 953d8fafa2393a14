//! Strings with who refers to them.

use engine::{FoundString, Pattern, references_into, string_of, strings_used_in};
use program::{Address, DataUnit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::methods::address::{FunctionSummary, function_holding};
use crate::methods::name;
use crate::shapes::{Reply, Scan, ScanPage};
use crate::view::View;
use crate::walk::{OpenEnd, Walk, position};

/// References shown with one string; all are counted.
const MAX_REFERENCES: usize = 20;

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "string.list",
            "Walk the strings in address order, each with the places and functions that refer to it.",
            list,
        )
        .since("1.1")
        .brief(&["text", "references.function.name", "reference_count"])
        .cost(
            "Grows with the data items walked over, matching or not; `used_in` makes it as small as the function. \
             Each string that a filter looks into is read, up to 64 KiB.",
        ),
    ]
}

fn list(view: &View<'_>, request: Scan<StringFilter>) -> Answer<ScanPage<StringRow>> {
    let filter = request.filter.unwrap_or_default();
    let wanted = Wanted::of(&filter)?;
    let walk = Walk::new(view, request.page.as_ref(), request.scan.as_ref(), OpenEnd::OfSpace)?;
    let data = &view.program.listing.data;
    let row = |(address, unit): (Address, DataUnit)| {
        let found = string_of(&view.program, address, &unit);
        let found = found.filter(|found| wanted.fits(found));
        Ok(found.map(|found| StringRow::of(view, address, &unit, found)))
    };
    if let Some(entry) = &filter.used_in {
        let function = view.function(entry, "/filter/used_in")?;
        let used = strings_used_in(&view.program, function);
        let places = used.range(walk.addresses());
        let units = places.filter_map(|at| Some((position(*at, 0), (*at, *data.get(at)?))));
        return walk.run(view, units, row);
    }
    let units = data.range(walk.addresses()).map(|(at, unit)| (position(*at, 0), (*at, *unit)));
    walk.run(view, units, row)
}

/// A regular expression of a request.
pub(super) fn pattern(text: &str, case_sensitive: bool, pointer: &str) -> Answer<Pattern> {
    Pattern::new(text, case_sensitive).map_err(|fault| {
        let message = format!("the regular expression cannot be used: {fault}");
        BridgeError::new(ErrorCode::InvalidValue, message).at(pointer)
    })
}

/// What a string must be like.
struct Wanted<'a> {
    part: name::Part<'a>,
    pattern: Option<Pattern>,
    encoding: Option<&'static str>,
    min_length: usize,
}

impl Wanted<'_> {
    fn of(filter: &StringFilter) -> Answer<Wanted<'_>> {
        let case_sensitive = filter.case_sensitive.unwrap_or(false);
        let regex = filter.regex.as_deref();
        Ok(Wanted {
            part: name::Part::exact(filter.text.as_deref(), case_sensitive),
            pattern: regex
                .map(|text| pattern(text, case_sensitive, "/filter/regex"))
                .transpose()?,
            encoding: filter.encoding.map(StringEncoding::word),
            min_length: filter.min_length.unwrap_or(0) as usize,
        })
    }

    fn fits(&self, found: &FoundString) -> bool {
        self.encoding.is_none_or(|encoding| encoding == found.encoding)
            && (self.min_length == 0 || found.text.chars().count() >= self.min_length)
            && (self.part.is_empty() || self.part.is_in(&found.text))
            && self.pattern.as_ref().is_none_or(|pattern| pattern.is_in(&found.text))
    }
}

/// Which strings to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct StringFilter {
    /// Only strings that hold this text.
    #[schemars(length(min = 1, max = 1024))]
    text: Option<String>,
    /// Only strings that this regular expression matches anywhere.
    #[schemars(length(min = 1, max = 1024))]
    regex: Option<String>,
    /// True to match `text` and `regex` in their case only; false when absent.
    case_sensitive: Option<bool>,
    /// Only strings of this encoding.
    encoding: Option<StringEncoding>,
    /// Only strings of at least so many characters.
    #[schemars(range(min = 1, max = 65536))]
    min_length: Option<u32>,
    /// Only strings that the function at this entry point refers to.
    #[schemars(length(min = 1))]
    used_in: Option<String>,
}

/// How a string is encoded.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StringEncoding {
    Ascii,
    Utf8,
    Utf16,
    Utf32,
}

impl StringEncoding {
    fn word(self) -> &'static str {
        match self {
            StringEncoding::Ascii => "ascii",
            StringEncoding::Utf8 => "utf8",
            StringEncoding::Utf16 => "utf16",
            StringEncoding::Utf32 => "utf32",
        }
    }
}

/// One string.
#[derive(Debug, Serialize, JsonSchema)]
struct StringRow {
    /// Where it starts.
    address: String,
    /// Its content, up to 64 KiB.
    text: String,
    /// `ascii`, `utf8`, `utf16` or `utf32`.
    encoding: &'static str,
    /// Its length in bytes, with its end.
    length: u64,
    /// Who refers to it, to its beginning or into it: the first 20.
    #[schemars(length(max = 20))]
    references: Option<Vec<StringReference>>,
    /// How many references there are.
    reference_count: Option<u64>,
    /// True when `text` is only the beginning.
    truncated: Option<bool>,
}

impl Reply for StringRow {
    const IDENTITY: &'static [&'static str] = &["address"];
    const NESTED: &'static [&'static str] = &["references.from", "references.function.name"];
}

/// A place that refers to a string.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "string_reference")]
struct StringReference {
    /// The place.
    from: String,
    /// The function that it belongs to.
    function: Option<FunctionSummary>,
}

impl StringRow {
    fn of(view: &View<'_>, address: Address, unit: &DataUnit, found: FoundString) -> StringRow {
        let all = || references_into(&view.program, address, unit.length);
        let shown = || {
            let first = all().take(MAX_REFERENCES);
            first.map(|reference| StringReference {
                from: view.print(reference.from),
                function: function_holding(&view.program, reference.from)
                    .map(|function| FunctionSummary::of(&view.program, function)),
            })
        };
        StringRow {
            address: view.print(address),
            text: found.text,
            encoding: found.encoding,
            length: u64::from(unit.length),
            references: view.wants("references").then(|| shown().collect()),
            reference_count: view.wants("reference_count").then(|| all().count() as u64),
            truncated: found.is_cut.then_some(true),
        }
    }
}
