//! The wrappers that every method's request and reply are built from.
//!
//! A request nests its fixed members (`selector`, `filter`, `page`, `scan`,
//! `projection`, `resource`, `patch`); a reply is one row, a page of rows or a
//! receipt. Nothing is flattened, so that unknown members can be refused.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A reply: what is always there, and which paths a client may select.
pub(crate) trait Reply: Serialize + JsonSchema {
    /// Members that are always answered, selected or not. Empty: as the type says.
    const IDENTITY: &'static [&'static str];
    /// Paths below top-level members that may be selected as well.
    const NESTED: &'static [&'static str] = &[];
    /// True for replies that hold rows in `items`.
    const LIST: bool = false;
}

/// Longest list inside of a row; what is left out is told in the row's `truncated`.
pub(crate) const MAX_NESTED: usize = 1000;

/// The member that says that something in a reply was cut. It cannot be left out by selection.
pub(crate) const TRUNCATED: &str = "truncated";

/// A row's `truncated`, by the lengths that those of its nested lists have uncut that are wanted.
pub(crate) fn cut<const N: usize>(lengths: [Option<usize>; N]) -> Option<bool> {
    lengths.into_iter().flatten().any(|length| length > MAX_NESTED).then_some(true)
}

/// A request, with what its shape promises to clients.
pub(crate) trait Request: for<'de> Deserialize<'de> + JsonSchema {
    /// Takes `page` and answers `next_cursor`.
    const PAGED: bool = false;
    /// Takes `scan.range` or walks addresses under a time limit.
    const SCAN: bool = false;
}

/// No parameters at all.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

/// One object, chosen by a selector.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "get_{S}")]
pub(crate) struct Get<S> {
    /// Which object is meant.
    pub selector: S,
    /// How long to wait for the end of analysis.
    #[allow(dead_code)] // read from the JSON before decoding
    pub scan: Option<ScanWait>,
    /// Which members to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    pub projection: Option<Projection>,
}

/// The one object there is.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct GetOnly {
    /// Which members to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    pub projection: Option<Projection>,
}

/// A page of a list that needs no walk over addresses.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "list_{F}")]
pub(crate) struct List<F> {
    /// Narrows the list.
    pub filter: Option<F>,
    /// Which page.
    pub page: Option<PageRequest>,
    /// How long to wait for the end of analysis.
    #[allow(dead_code)] // read from the JSON before decoding
    pub scan: Option<ScanWait>,
    /// Which members of each row to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    pub projection: Option<Projection>,
}

/// A page of a list whose filter says what is listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "list_of_{F}")]
pub(crate) struct ListOf<F> {
    /// What to list.
    pub filter: F,
    /// Which page.
    pub page: Option<PageRequest>,
    /// How long to wait for the end of analysis.
    #[allow(dead_code)] // read from the JSON before decoding
    pub scan: Option<ScanWait>,
    /// Which members of each row to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    pub projection: Option<Projection>,
}

/// A page of a walk in address order.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "scan_{F}")]
pub(crate) struct Scan<F> {
    /// Narrows the list.
    pub filter: Option<F>,
    /// Which page.
    pub page: Option<PageRequest>,
    /// Where to walk and for how long.
    pub scan: Option<ScanRequest>,
    /// Which members of each row to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    pub projection: Option<Projection>,
}

/// A walk in address order whose filter says what is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "scan_of_{F}")]
pub(crate) struct ScanOf<F> {
    /// What to look for.
    pub filter: F,
    /// Which page.
    pub page: Option<PageRequest>,
    /// Where to walk and for how long.
    pub scan: Option<ScanRequest>,
    /// Which members of each row to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    pub projection: Option<Projection>,
}

/// A new object.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "create_{R}")]
pub(crate) struct Create<R> {
    /// The object to make.
    pub resource: R,
}

/// A change of one object.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "patch_{S}_{P}")]
pub(crate) struct Patch<S, P> {
    /// Which object is meant.
    pub selector: S,
    /// What to change; absent members stay as they are.
    pub patch: P,
}

/// The removal of one object.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "delete_{S}")]
pub(crate) struct Delete<S> {
    /// Which object is meant.
    pub selector: S,
}

impl Request for Nothing {}
impl Request for GetOnly {}
impl<S: for<'de> Deserialize<'de> + JsonSchema> Request for Get<S> {}
impl<R: for<'de> Deserialize<'de> + JsonSchema> Request for Create<R> {}
impl<S: for<'de> Deserialize<'de> + JsonSchema> Request for Delete<S> {}
impl<S, P> Request for Patch<S, P>
where
    S: for<'de> Deserialize<'de> + JsonSchema,
    P: for<'de> Deserialize<'de> + JsonSchema,
{
}
impl<F: for<'de> Deserialize<'de> + JsonSchema> Request for List<F> {
    const PAGED: bool = true;
}
impl<F: for<'de> Deserialize<'de> + JsonSchema> Request for ListOf<F> {
    const PAGED: bool = true;
}
impl<F: for<'de> Deserialize<'de> + JsonSchema> Request for Scan<F> {
    const PAGED: bool = true;
    const SCAN: bool = true;
}
impl<F: for<'de> Deserialize<'de> + JsonSchema> Request for ScanOf<F> {
    const PAGED: bool = true;
    const SCAN: bool = true;
}

/// The members to answer. The registry fills in the paths each method offers.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "projection")]
pub(crate) struct Projection {
    /// Paths to answer; the identity is always answered.
    #[allow(dead_code)] // read from the JSON before decoding
    #[schemars(length(min = 1, max = 256), extend("uniqueItems" = true))]
    pub fields: Option<Vec<String>>,
}

/// Size and start of one page.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[schemars(rename = "page")]
pub(crate) struct PageRequest {
    /// Most rows on the page; 100 when absent.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before.
    #[schemars(length(min = 1))]
    pub cursor: Option<String>,
}

/// Where a walk goes and how long it may take.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[schemars(rename = "scan")]
pub(crate) struct ScanRequest {
    /// The part of memory to walk; all of it when absent.
    pub range: Option<AddressRange>,
    /// After this many milliseconds the page is closed and a cursor given.
    #[schemars(range(min = 100, max = 60000), extend("default" = 1000))]
    pub timeout_ms: Option<u32>,
    /// First waits up to this many milliseconds for the end of analysis; a batch does not.
    #[allow(dead_code)] // read from the JSON before decoding
    #[schemars(range(min = 0, max = 60000))]
    pub wait_ms: Option<u32>,
}

/// How long a walk may take, where the filter gives the range.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[schemars(rename = "scan_timeout")]
pub(crate) struct ScanTimeout {
    /// After this many milliseconds the page is closed and a cursor given.
    #[schemars(range(min = 100, max = 60000), extend("default" = 1000))]
    pub timeout_ms: Option<u32>,
    /// First waits up to this many milliseconds for the end of analysis; a batch does not.
    #[allow(dead_code)] // read from the JSON before decoding
    #[schemars(range(min = 0, max = 60000))]
    pub wait_ms: Option<u32>,
}

/// How long a read that walks nothing may be held.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[schemars(rename = "scan_wait")]
pub(crate) struct ScanWait {
    /// First waits up to this many milliseconds for the end of analysis; a batch does not.
    #[allow(dead_code)] // read from the JSON before decoding
    #[schemars(range(min = 0, max = 60000))]
    pub wait_ms: Option<u32>,
}

/// Two bounds, both inclusive and both optional.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[schemars(rename = "address_range")]
pub(crate) struct AddressRange {
    /// First address.
    pub start: Option<String>,
    /// Last address.
    pub end: Option<String>,
}

/// A filter without members.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NoFilter {}

/// One page of rows.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "page_of_{T}")]
pub(crate) struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// Give this as `page.cursor` for the next page; absent on the last one.
    #[schemars(length(min = 1))]
    pub next_cursor: Option<String>,
}

/// One page of a walk.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "scan_page_of_{T}")]
pub(crate) struct ScanPage<T> {
    /// The rows.
    pub items: Vec<T>,
    /// Give this as `page.cursor` to go on; absent when the walk is complete.
    #[schemars(length(min = 1))]
    pub next_cursor: Option<String>,
    /// How far the walk came.
    pub scan: Option<ScanProgress>,
}

/// All rows at once, for replies that are bounded anyway.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "items_of_{T}")]
pub(crate) struct Items<T> {
    /// The rows.
    pub items: Vec<T>,
}

impl<T: Reply> Reply for Page<T> {
    const IDENTITY: &'static [&'static str] = T::IDENTITY;
    const NESTED: &'static [&'static str] = T::NESTED;
    const LIST: bool = true;
}
impl<T: Reply> Reply for ScanPage<T> {
    const IDENTITY: &'static [&'static str] = T::IDENTITY;
    const NESTED: &'static [&'static str] = T::NESTED;
    const LIST: bool = true;
}
impl<T: Reply> Reply for Items<T> {
    const IDENTITY: &'static [&'static str] = T::IDENTITY;
    const NESTED: &'static [&'static str] = T::NESTED;
    const LIST: bool = true;
}

/// How far a walk came on this page.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "scan_progress")]
pub(crate) struct ScanProgress {
    /// What is walked.
    pub kind: ScanKind,
    /// First address asked for.
    pub requested_start: Option<String>,
    /// Last address asked for; absent when there is no end.
    pub requested_end: Option<String>,
    /// First address visited on this page.
    pub scanned_start: Option<String>,
    /// Last address visited on this page.
    pub scanned_end: Option<String>,
    /// True when the walk reached its end.
    pub complete: bool,
    /// Why the page ended.
    pub stop_reason: StopReason,
    /// Time this page took, in milliseconds.
    pub elapsed_ms: u64,
}

/// What a scan walks over.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScanKind {
    Address,
}

/// Why a page of a scan ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopReason {
    Completed,
    Limit,
    Timeout,
}

/// The thing is gone.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Deleted {
    /// Always true.
    pub deleted: bool,
}

impl Reply for Deleted {
    const IDENTITY: &'static [&'static str] = &[];
}

/// Chooses by address.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AddressSelector {
    /// The address, or an expression that names one.
    #[schemars(length(min = 1))]
    pub address: String,
}

/// Chooses a function by its entry point.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct EntrySelector {
    /// The entry point, or an expression that names it.
    #[schemars(length(min = 1))]
    pub entry: String,
}

/// Chooses by exact name.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NameSelector {
    /// The name.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// How bytes are written as text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Encoding {
    Base64,
    #[default]
    Hex,
}

/// Bytes as text.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "byte_sequence")]
pub(crate) struct ByteSequence {
    /// How `data` is written.
    pub encoding: Encoding,
    /// The bytes: hex digits without separators, or base64 with padding.
    pub data: String,
    /// How many bytes `data` stands for.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub length: u32,
}

/// A member with three states: absent (keep), null (clear) and a value (set).
///
/// The one place where null is accepted; everywhere else it is refused.
#[derive(Debug, Clone, Default)]
pub(crate) enum Change<T> {
    #[default]
    Keep,
    Clear,
    Set(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Change<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Option::deserialize(deserializer)? {
            Some(value) => Change::Set(value),
            None => Change::Clear,
        })
    }
}

impl<T: JsonSchema> JsonSchema for Change<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("change_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let inner = generator.subschema_for::<T>();
        json_schema!({ "oneOf": [inner, { "type": "null" }] })
    }
}
