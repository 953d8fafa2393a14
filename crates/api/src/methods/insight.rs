//! Reports: what one needs to know of a function, or of a whole program, in one answer.

mod triage;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use engine::decompiler::Limits;
use engine::{CallGraph, CallKind, string_of, strings_used_in};
use program::{Address, Function, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::{Answer, Method};
use crate::shapes::{EntrySelector, Projection, Reply, Request, ScanWait};
use crate::view::{Place, View};

/// Characters of a report when nobody says how many.
const MAX_CHARS: u32 = 12_000;
/// What each list may take of them, as a fraction.
const LIST_SHARE: usize = 8;
/// What a row takes beside its texts.
const ROW: usize = 40;
/// What the C text may take.
const C_TEXT: Duration = Duration::from_secs(30);

pub(super) fn methods() -> Vec<Method> {
    let mut rows = vec![
        Method::read(
            "insight.function.report",
            "Answer in one budget what a function is: prototype, C, callers, callees, strings, globals, warnings.",
            function_report,
        )
        .growing()
        .since("1.1")
        .cost("That of decompiling the function, at most 30 s, and of its references; once the number of functions."),
    ];
    rows.extend(triage::methods());
    rows
}

fn function_report(view: &View<'_>, request: FunctionReportRequest) -> Answer<FunctionReport> {
    let function = view.function(&request.selector.entry, "/selector/entry")?;
    let program = &view.program;
    let mut budget = Budget::new(request.max_chars.unwrap_or(MAX_CHARS) as usize);
    let prototype = program.signature_text(function);
    budget.spend(prototype.len() + ROW);
    let graph = CallGraph::new(program);
    let callers = called(view, graph.callers(graph.meant(function.entry)));
    let callers = budget.list("callers", callers, CallRow::weight);
    let callees = budget.list("callees", called(view, graph.callees(function)), CallRow::weight);
    let strings = budget.list("strings", strings(view, function), |row| row.text.len() + ROW);
    let globals = budget.list("globals", globals(view, function), |place| {
        place.name.as_ref().map_or(0, String::len) + ROW
    });
    let limits = Limits { timeout: C_TEXT, ..Limits::default() };
    let session = view.bridge.session();
    let text = session.decompile(program, function.entry, &limits, &view.cx.cancel.flag());
    let warnings = budget.list("warnings", text.warnings.clone(), |warning| warning.len() + 4);
    let (c, c_lines) = budget.text("c", &text.c);
    Ok(FunctionReport {
        entry: view.print(function.entry),
        name: program.function_name(function.entry),
        prototype,
        size: function.body.len().min(i64::MAX as u64),
        completed: text.completed,
        c: text.completed.then_some(c),
        line_count: text.line_count().into(),
        answered_lines: text.completed.then_some(c_lines),
        callers,
        callees,
        strings,
        globals,
        warnings,
        truncated: (!budget.cut.is_empty()).then_some(true),
        cut: budget.cut,
    })
}

/// What may still be said, and what was not.
struct Budget {
    whole: usize,
    left: usize,
    cut: Vec<&'static str>,
}

impl Budget {
    fn new(whole: usize) -> Budget {
        Budget { whole, left: whole, cut: Vec::new() }
    }

    fn spend(&mut self, amount: usize) {
        self.left = self.left.saturating_sub(amount);
    }

    /// The first rows of a list, as many as fit into its share.
    fn list<T>(
        &mut self,
        name: &'static str,
        mut rows: Vec<T>,
        weight: impl Fn(&T) -> usize,
    ) -> Vec<T> {
        let mut share = self.left.min(self.whole / LIST_SHARE);
        let fitting = rows.iter().take_while(|row| {
            let weight = weight(row);
            let fits = weight <= share;
            if fits {
                share -= weight;
                self.left -= weight;
            }
            fits
        });
        let fitting = fitting.count();
        if fitting < rows.len() {
            self.cut.push(name);
            rows.truncate(fitting);
        }
        rows
    }

    /// The first lines of a text, as many as fit into what is left, and how many they are.
    fn text(&mut self, name: &'static str, text: &str) -> (String, u64) {
        let mut out = String::new();
        let mut lines = 0;
        for line in text.lines() {
            if line.len() + 1 > self.left {
                self.cut.push(name);
                break;
            }
            self.left -= line.len() + 1;
            out.push_str(line);
            out.push('\n');
            lines += 1;
        }
        (out, lines)
    }
}

/// Functions at the other end of calls, those with most calls first.
fn called(view: &View<'_>, calls: BTreeMap<(Address, CallKind), Vec<Address>>) -> Vec<CallRow> {
    let mut counts: BTreeMap<Address, u64> = BTreeMap::new();
    for ((entry, _), sites) in calls {
        *counts.entry(entry).or_default() += sites.len() as u64;
    }
    let mut counts: Vec<(Address, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(entry, count)| (std::cmp::Reverse(*count), *entry));
    let row = |(entry, count)| CallRow {
        entry: view.print(entry),
        name: view.program.function_name(entry),
        call_count: count,
    };
    counts.into_iter().map(row).collect()
}

fn strings(view: &View<'_>, function: &Function) -> Vec<ReportString> {
    let program = &view.program;
    let used = strings_used_in(program, function).into_iter();
    let rows = used.filter_map(|at| {
        let text = string_of(program, at, program.listing.data.get(&at)?)?.text;
        Some(ReportString { address: view.print(at), text })
    });
    rows.collect()
}

/// The places outside of code that a function refers to, texts apart.
fn globals(view: &View<'_>, function: &Function) -> Vec<Place> {
    let program = &view.program;
    let ranges = function.body.ranges().iter();
    let references = ranges.flat_map(|range| program.references.between(range.start, range.end));
    let places: BTreeSet<Address> = references
        .filter(|r| !r.info.kind.is_flow() && is_global(program, r.to))
        .map(|reference| reference.to)
        .collect();
    places.into_iter().map(|at| view.place(at)).collect()
}

fn is_global(program: &Program, at: Address) -> bool {
    let text = program.listing.data_containing(at);
    program.memory.contains(at)
        && program.functions.at(at).is_none()
        && program.listing.instruction_containing(at).is_none()
        && text.is_none_or(|(_, unit)| !program.is_text_type(unit.data_type))
}

/// Which function to report on, and how much to say.
#[derive(Debug, Deserialize, JsonSchema)]
struct FunctionReportRequest {
    /// The function.
    selector: EntrySelector,
    /// Most characters of the texts in the answer; 12000 when absent. Each list gets an eighth,
    /// and the C text what is left.
    #[schemars(range(min = 500, max = 200_000))]
    max_chars: Option<u32>,
    /// How long to wait for the end of analysis.
    #[allow(dead_code)] // read from the JSON before decoding
    scan: Option<ScanWait>,
    /// Which members to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    projection: Option<Projection>,
}

impl Request for FunctionReportRequest {}

/// A function in one answer.
#[derive(Debug, Serialize, JsonSchema)]
struct FunctionReport {
    /// Its entry point.
    entry: String,
    /// Its name.
    name: String,
    /// Its prototype.
    prototype: String,
    /// How many addresses its body has.
    size: u64,
    /// False when it could not be decompiled; the warnings say why.
    completed: bool,
    /// Its C text, as far as the budget goes.
    c: Option<String>,
    /// How many lines the whole text has.
    line_count: u64,
    /// How many of them were answered.
    answered_lines: Option<u64>,
    /// Who calls it, most calls first.
    callers: Vec<CallRow>,
    /// Whom it calls, most calls first.
    callees: Vec<CallRow>,
    /// The strings that it refers to.
    strings: Vec<ReportString>,
    /// The data that it refers to, strings apart.
    globals: Vec<Place>,
    /// What the decompiler could not do.
    warnings: Vec<String>,
    /// The members that were cut to the budget.
    cut: Vec<&'static str>,
    /// True when any was.
    truncated: Option<bool>,
}

impl Reply for FunctionReport {
    const IDENTITY: &'static [&'static str] = &["entry"];
}

/// A function at the other end of calls.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "counted_function")]
struct CallRow {
    /// Its entry point.
    entry: String,
    /// Its name.
    name: String,
    /// From how many places.
    call_count: u64,
}

impl CallRow {
    fn weight(&self) -> usize {
        self.name.len() + ROW
    }
}

/// A string that a function refers to.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "report_string")]
struct ReportString {
    /// Where it is.
    address: String,
    /// Its content.
    text: String,
}
