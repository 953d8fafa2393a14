//! Imports, exports and entry points.

use engine::{CallGraph, exports, imports, prototype_at};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::{Answer, Method};
use crate::methods::address::FunctionSummary;
use crate::methods::name;
use crate::shapes::{List, NoFilter, Page, Reply};
use crate::view::View;
use crate::walk::{paginate, position};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "import.list",
            "List what the program takes from other files, with where its address is kept and how many functions \
             call it.",
            import_list,
        )
        .since("1.1")
        .brief(&["name", "library", "slot", "caller_count"])
        .cost("Grows with the imports and the references to them, and once with the number of functions."),
        Method::read("export.list", "List the names that other files may use.", export_list)
            .since("1.1")
            .brief(&["name", "ordinal", "caller_count"])
            .cost("Grows with the exports and the references to them, and once with the number of functions."),
        Method::read(
            "entry_point.list",
            "List the places where control may enter from outside: the program's start, exports, handlers.",
            entry_point_list,
        )
        .since("1.1")
        .brief(&["name"])
        .cost("Grows with the entry points."),
    ]
}

fn import_list(view: &View<'_>, request: List<LinkageFilter>) -> Answer<Page<ImportRow>> {
    let filter = request.filter.unwrap_or_default();
    let part = name::Part::new(filter.name.as_deref(), false);
    let library = name::Part::new(filter.library.as_deref(), false);
    let program = &view.program;
    let graph = CallGraph::new(program);
    let found = imports(program, &graph).into_iter().filter(|import| {
        part.is_in(&import.name) && library.is_in(import.library.as_deref().unwrap_or_default())
    });
    let rows = found.enumerate().map(|(at, import)| (position(import.address, at as u64), import));
    paginate(view, request.page.as_ref(), rows.collect(), |import| ImportRow {
        address: view.print(import.address),
        prototype: view.wants("prototype").then(|| prototype_at(program, import.address)).flatten(),
        caller_count: view.wants("caller_count").then(|| graph.caller_count(import.address) as u64),
        name: import.name,
        library: import.library,
        ordinal: import.ordinal,
        slot: import.slot.map(|slot| view.print(slot)),
    })
}

fn export_list(view: &View<'_>, request: List<ExportFilter>) -> Answer<Page<ExportRow>> {
    let filter = request.filter.unwrap_or_default();
    let part = name::Part::new(filter.name.as_deref(), false);
    let program = &view.program;
    let found = exports(program).into_iter().filter(|export| part.is_in(&export.name));
    let rows = found.map(|export| (position(export.address, export.symbol.0), export));
    let graph = view.wants("caller_count").then(|| CallGraph::new(program));
    paginate(view, request.page.as_ref(), rows.collect(), |export| ExportRow {
        address: view.print(export.address),
        name: export.name,
        ordinal: export.ordinal,
        r#type: if program.functions.at(export.address).is_some() { "function" } else { "data" },
        prototype: view.wants("prototype").then(|| prototype_at(program, export.address)).flatten(),
        caller_count: graph.as_ref().map(|graph| graph.caller_count(export.address) as u64),
    })
}

fn entry_point_list(view: &View<'_>, request: List<NoFilter>) -> Answer<Page<EntryPoint>> {
    let program = &view.program;
    let rows = program.entry_points.keys().map(|at| (position(*at, 0), *at)).collect();
    paginate(view, request.page.as_ref(), rows, |at| EntryPoint {
        address: view.print(at),
        name: program.label_at(at),
        function: program.functions.containing(at).map(|f| FunctionSummary::of(program, f)),
    })
}

/// Which imports to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct LinkageFilter {
    /// Part of the name, in any case.
    name: Option<String>,
    /// Part of the library's name, in any case.
    library: Option<String>,
}

/// Which exports to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ExportFilter {
    /// Part of the name, in any case.
    name: Option<String>,
}

/// Something that the program takes from another file.
#[derive(Debug, Serialize, JsonSchema)]
struct ImportRow {
    /// Its place in the space `EXTERNAL`, which other methods take.
    address: String,
    /// Its name.
    name: String,
    /// The file that it is taken from, where that is known.
    library: Option<String>,
    /// Its number there, when it is taken by number.
    ordinal: Option<u32>,
    /// Where its address is kept while the program runs.
    slot: Option<String>,
    /// Its prototype, when it is a function.
    prototype: Option<String>,
    /// How many functions call it, directly or through a stub.
    caller_count: Option<u64>,
}

impl Reply for ImportRow {
    const IDENTITY: &'static [&'static str] = &["address"];
}

/// A name that other files may use.
#[derive(Debug, Serialize, JsonSchema)]
struct ExportRow {
    /// Its place.
    address: String,
    /// Its name; a place with several names has several rows.
    name: String,
    /// Its number, where the format gives numbers.
    ordinal: Option<u32>,
    /// `function` or `data`.
    r#type: &'static str,
    /// Its prototype, when it is a function.
    prototype: Option<String>,
    /// How many functions of the program itself call it.
    caller_count: Option<u64>,
}

impl Reply for ExportRow {
    const IDENTITY: &'static [&'static str] = &["address", "name"];
}

/// A place where control may enter from outside.
#[derive(Debug, Serialize, JsonSchema)]
struct EntryPoint {
    /// The place.
    address: String,
    /// The name shown there.
    name: Option<String>,
    /// The function that it belongs to.
    function: Option<FunctionSummary>,
}

impl Reply for EntryPoint {
    const IDENTITY: &'static [&'static str] = &["address"];
}
