//! The report on a whole program: where to begin with it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use engine::{CallGraph, Relro, entropy, has_stack_canary, imports, packer_hints, protections};
use engine::{telling_strings, theme_of};
use program::{Address, Function};
use schemars::JsonSchema;
use serde::Serialize;

use super::CallRow;
use crate::method::{Answer, Method};
use crate::shapes::{GetOnly, Reply};
use crate::view::View;

/// Rows of each ranking.
const TOP: usize = 10;
/// Strings shown.
const MAX_STRINGS: usize = 40;
/// Names shown of one theme.
const MAX_NAMES: usize = 40;
/// Longest text shown, in characters.
const MAX_TEXT: usize = 200;

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "insight.program.report",
            "Answer where to begin with a program: format, protections, packing, imports by theme, most called and \
             largest functions, telling strings.",
            report,
        )
        .growing()
        .since("1.1")
        .cost("Grows with the functions, their references, the strings, and the bytes of memory up to 16 MiB a block."),
    ]
}

fn report(view: &View<'_>, _request: GetOnly) -> Answer<ProgramReport> {
    let program = &view.program;
    let info = &program.info;
    let graph = CallGraph::new(program);
    let own = || program.functions.iter().filter(|f| !f.is_external() && f.thunk_of.is_none());
    let imported = imports(program, &graph);
    let mut themes: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for import in &imported {
        if let Some(theme) = theme_of(&import.name) {
            themes.entry(theme).or_default().push(import.name.clone());
        }
    }
    let telling = telling_strings(program, MAX_STRINGS);
    Ok(ProgramReport {
        name: info.name.clone(),
        format: info.executable_format.clone(),
        language_id: info.language_id.clone(),
        file_size: info.file_size,
        sha256: (!info.sha256.is_empty()).then(|| info.sha256.clone()),
        function_count: own().count() as u64,
        instruction_count: program.listing.instructions.len() as u64,
        import_count: imported.len() as u64,
        entry_point_count: program.entry_points.len() as u64,
        protections: Shields::of(view),
        packing: packer_hints(program),
        blocks: program.memory.blocks().iter().map(|block| BlockRow::of(view, block)).collect(),
        imports_by_theme: themes
            .into_iter()
            .map(|(theme, names)| Theme::of(theme, names))
            .collect(),
        most_called: most_called(view, &graph, own()),
        largest: largest(view, own()),
        strings: telling
            .into_iter()
            .map(|string| TellingString {
                address: view.print(string.address),
                kind: string.kind,
                text: string.text.chars().take(MAX_TEXT).collect(),
            })
            .collect(),
        warnings: info.warnings.clone(),
    })
}

fn most_called<'a>(
    view: &View<'_>,
    graph: &CallGraph<'_>,
    own: impl Iterator<Item = &'a std::sync::Arc<Function>>,
) -> Vec<CallRow> {
    let count = |entry: Address| -> u64 {
        graph.callers(entry).values().map(|sites| sites.len() as u64).sum()
    };
    let mut counted: Vec<(u64, Address)> = own.map(|f| (count(f.entry), f.entry)).collect();
    counted.retain(|(count, _)| *count > 0);
    counted.sort_by_key(|(count, entry)| (Reverse(*count), *entry));
    let row = |(call_count, entry): (u64, Address)| CallRow {
        entry: view.print(entry),
        name: view.program.function_name(entry),
        call_count,
    };
    counted.into_iter().take(TOP).map(row).collect()
}

fn largest<'a>(
    view: &View<'_>,
    own: impl Iterator<Item = &'a std::sync::Arc<Function>>,
) -> Vec<SizedFunction> {
    let mut sized: Vec<(u64, Address)> = own.map(|f| (f.body.len(), f.entry)).collect();
    sized.sort_by_key(|(size, entry)| (Reverse(*size), *entry));
    let row = |(size, entry): (u64, Address)| SizedFunction {
        entry: view.print(entry),
        name: view.program.function_name(entry),
        size: size.min(i64::MAX as u64),
    };
    sized.into_iter().take(TOP).map(row).collect()
}

/// A program in one answer.
#[derive(Debug, Serialize, JsonSchema)]
struct ProgramReport {
    /// Its name.
    name: String,
    /// The file's format.
    format: String,
    /// Its processor.
    language_id: String,
    /// The file's size in bytes.
    file_size: u64,
    /// The file's SHA-256.
    sha256: Option<String>,
    /// Functions of its own, stubs apart.
    function_count: u64,
    /// Instructions.
    instruction_count: u64,
    /// Things taken from other files.
    import_count: u64,
    /// Places where control may enter from outside.
    entry_point_count: u64,
    /// What the file asks for to be protected; what is absent is not known.
    protections: Shields,
    /// What speaks for a program that unpacks itself.
    packing: Vec<String>,
    /// The memory blocks with how random they are.
    blocks: Vec<BlockRow>,
    /// Imports whose names say what they are for.
    imports_by_theme: Vec<Theme>,
    /// The ten functions that are called from most places.
    most_called: Vec<CallRow>,
    /// The ten functions with the largest bodies.
    largest: Vec<SizedFunction>,
    /// The first 40 strings that look like addresses, commands, keys or paths.
    #[schemars(length(max = 40))]
    strings: Vec<TellingString>,
    /// What the loader repaired or could not read.
    warnings: Vec<String>,
}

impl Reply for ProgramReport {
    const IDENTITY: &'static [&'static str] = &["name"];
}

/// What a file asks for to be protected.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "protections")]
struct Shields {
    /// The stack and data cannot be run.
    nx: Option<bool>,
    /// It may be loaded anywhere.
    pie: Option<bool>,
    /// What is resolved at the start is write-protected after it: `none`, `partial` or `full`.
    relro: Option<&'static str>,
    /// Functions check that nobody overwrote the stack.
    canary: bool,
    /// Calls through pointers are checked.
    control_flow_guard: Option<bool>,
    /// The file carries a signature; whether it holds is not checked.
    signed: Option<bool>,
}

impl Shields {
    fn of(view: &View<'_>) -> Shields {
        let found = protections(&view.program);
        Shields {
            nx: found.nx,
            pie: found.pie,
            relro: found.relro.map(|relro| match relro {
                Relro::None => "none",
                Relro::Partial => "partial",
                Relro::Full => "full",
            }),
            canary: has_stack_canary(&view.program),
            control_flow_guard: found.control_flow_guard,
            signed: found.signed,
        }
    }
}

/// A memory block in brief.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "report_block")]
struct BlockRow {
    /// Its name.
    name: String,
    /// Its first address.
    start: String,
    /// Its length in bytes.
    length: u64,
    /// `r`, `w` and `x`, as far as they hold.
    permissions: String,
    /// Entropy in bits a byte, 0 to 8; absent where there are no bytes.
    entropy: Option<f64>,
}

impl BlockRow {
    fn of(view: &View<'_>, block: &program::MemoryBlock) -> BlockRow {
        let flags = [
            (block.permissions.read, 'r'),
            (block.permissions.write, 'w'),
            (block.permissions.execute, 'x'),
        ];
        BlockRow {
            name: block.name.to_string(),
            start: view.print(block.start),
            length: block.length.min(i64::MAX as u64),
            permissions: flags.iter().filter(|(holds, _)| *holds).map(|(_, flag)| flag).collect(),
            entropy: entropy(&view.program, block).map(|bits| (bits * 100.0).round() / 100.0),
        }
    }
}

/// Imports that are for one thing.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "import_theme")]
struct Theme {
    /// What they are for.
    theme: &'static str,
    /// The first 40 names.
    #[schemars(length(max = 40))]
    names: Vec<String>,
    /// How many there are.
    count: u64,
}

impl Theme {
    fn of(theme: &'static str, mut names: Vec<String>) -> Theme {
        let count = names.len() as u64;
        names.truncate(MAX_NAMES);
        Theme { theme, names, count }
    }
}

/// A function with its size.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "sized_function")]
struct SizedFunction {
    /// Its entry point.
    entry: String,
    /// Its name.
    name: String,
    /// How many addresses its body has.
    size: u64,
}

/// A string that tells what a program does.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "telling_string")]
struct TellingString {
    /// Where it is.
    address: String,
    /// `url`, `ip_address`, `command`, `registry_key`, `secret` or `path`.
    kind: &'static str,
    /// Its first 200 characters.
    text: String,
}
