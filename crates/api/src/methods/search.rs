//! Searching code: instructions, calls with their arguments, C text.

use std::cell::Cell;

use engine::decompiler::Limits;
use engine::{
    CTexts, CallGraph, CodeQuery, CodeSearcher, InstructionText, Number, Pattern, call_arguments,
};
use program::{Address, Function, Instruction, SpaceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::methods::address::{FunctionSummary, function_holding};
use crate::methods::string::pattern;
use crate::shapes::{Reply, ScanOf, ScanPage, ScanProgress};
use crate::view::View;
use crate::walk::{OpenEnd, Walk, position};

/// Longest line of C that a row shows, in characters.
const MAX_LINE: usize = 300;
/// What the text of one caller may take.
const ONE_CALLER: std::time::Duration = std::time::Duration::from_secs(5);

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "search.code",
            "Find instructions by name, operands or constant, or the calls of a function with the arguments of each.",
            code,
        )
        .since("1.1")
        .brief(&["text", "function.name", "arguments"])
        .cost(
            "Grows with the instructions walked over; numbers are compared faster than texts. For `calls` with the \
             callers, each of which is decompiled once, for at most 5 s.",
        ),
        Method::read(
            "search.c",
            "Find lines of C text by a regular expression, decompiling on all cores what was not decompiled before.",
            c,
        )
        .since("1.1")
        .brief(&["name", "text"])
        .cost(
            "Grows with the functions walked over: the first time that of decompiling them, at most 5 s for each; \
             then what is kept is read, up to 96 MiB of it. `functions` says how many are still unseen.",
        ),
    ]
}

fn code(view: &View<'_>, request: ScanOf<CodeFilter>) -> Answer<ScanPage<CodeRow>> {
    let filter = &request.filter;
    let walk = Walk::new(view, request.page.as_ref(), request.scan.as_ref(), OpenEnd::OfSpace)?;
    let inside = filter.in_function.as_deref();
    let inside = inside.map(|text| view.function(text, "/filter/in_function")).transpose()?;
    let wanted = |at: Address| inside.is_none_or(|function| function.body.contains(at));
    if let Some(callee) = &filter.calls {
        filter.only_calls()?;
        let callee = view.function(callee, "/filter/calls")?;
        let graph = CallGraph::new(&view.program);
        let callers = graph.callers(graph.meant(callee.entry));
        let mut sites: Vec<Address> = callers.into_values().flatten().collect();
        sites.sort_unstable();
        sites.dedup();
        let (from, last) = walk.positions();
        let after = sites.into_iter().filter(|at| position(*at, 0) >= from && *at <= last);
        let mut printer = engine::InstructionPrinter::new(view.bridge.session());
        return walk.run(view, after.map(|at| (position(at, 0), at)), |at| {
            let instruction = view.program.listing.instructions.get(&at).filter(|_| wanted(at));
            let text = instruction.and_then(|i| printer.text(&view.program, at, i));
            Ok(text.map(|text| CodeRow::of(view, at, text, arguments(view, at))))
        });
    }
    let query = filter.query()?;
    let mut searcher = CodeSearcher::new(view.bridge.session());
    let listing = &view.program.listing.instructions;
    let mut row = |(at, instruction): (Address, Instruction)| {
        let found = searcher.find(&view.program, at, &instruction, &query);
        Ok(found.map(|text| CodeRow::of(view, at, text, None)))
    };
    if let Some(function) = inside {
        let (from, last) = walk.positions();
        let parts = function.body.ranges().iter();
        let all = parts.flat_map(|part| listing.range(part.start..=part.end));
        let after = all.filter(|(at, _)| position(**at, 0) >= from && **at <= last);
        return walk.run(view, after.map(|(at, i)| (position(*at, 0), (*at, *i))), &mut row);
    }
    let all = listing.range(walk.addresses());
    walk.run(view, all.map(|(at, i)| (position(*at, 0), (*at, *i))), &mut row)
}

/// The arguments of a call, when the C text shows it.
fn arguments(view: &View<'_>, site: Address) -> Option<Vec<String>> {
    if !view.wants("arguments") {
        return None;
    }
    let caller = view.program.functions.containing(site)?;
    let limits = Limits { timeout: ONE_CALLER, ..Limits::default() };
    let cancel = view.cx.cancel.flag();
    let text = view.bridge.session().decompile(&view.program, caller.entry, &limits, &cancel);
    call_arguments(&text, site)
}

fn c(view: &View<'_>, request: ScanOf<CFilter>) -> Answer<CPage> {
    let filter = &request.filter;
    let wanted = pattern(&filter.regex, filter.case_sensitive.unwrap_or(false), "/filter/regex")?;
    let mut walk = Walk::new(view, request.page.as_ref(), request.scan.as_ref(), OpenEnd::OfSpace)?;
    if let Some(entry) = &filter.function {
        let entry = view.function(entry, "/filter/function")?.entry;
        walk.narrow(request.scan.as_ref(), entry, entry);
    }
    let ((space, offset, line), last) = walk.positions();
    let from = Address::new(SpaceId(space), offset);
    let functions = &view.program.functions;
    let to_see = |from, last| functions.between(from, last).filter(|f| has_text(f));
    let total = to_see(walk.first(), last).count() as u64;
    let entries: Vec<Address> =
        if from <= last { to_see(from, last).map(|f| f.entry).collect() } else { Vec::new() };
    let before = total - entries.len() as u64;
    let session = view.bridge.session();
    let texts = CTexts::new(session, &view.program, entries.into_iter(), view.cx.cancel.flag());
    let (seen, failed) = (Cell::new(0), Cell::new(0));
    let candidates = texts.flat_map(|(entry, text)| {
        if !text.completed {
            failed.set(failed.get() + 1);
        }
        let mut rows = lines(entry, &text, &wanted);
        if entry == from {
            rows.retain(|(position, _)| position.2 >= line);
        }
        // The end of a function counts as progress, whether it has such lines or not.
        rows.push((position(entry, u64::MAX), None));
        rows
    });
    let page = walk.run(view, candidates, |line| {
        if line.is_none() {
            seen.set(seen.get() + 1);
        }
        Ok(line.map(|line| CRow::of(view, line)))
    })?;
    Ok(CPage {
        items: page.items,
        next_cursor: page.next_cursor,
        scan: page.scan,
        functions: Some(FunctionsSeen {
            total,
            unseen: total - before - seen.get(),
            failed: failed.get(),
        }),
    })
}

/// Whether there is anything to decompile.
fn has_text(function: &Function) -> bool {
    !function.is_external() && function.thunk_of.is_none()
}

/// A line of C that fits.
struct Line {
    entry: Address,
    number: u32,
    text: String,
    address: Option<Address>,
}

type Candidate = (crate::walk::Position, Option<Line>);

/// The lines of a function that fit, with their places in the walk.
fn lines(
    entry: Address,
    text: &engine::decompiler::Decompilation,
    wanted: &Pattern,
) -> Vec<Candidate> {
    // Most functions have none: one look at the whole text is enough.
    if !wanted.is_in(&text.c) {
        return Vec::new();
    }
    let numbered = text.c.lines().zip(1u32..);
    let fitting = numbered.filter(|(line, _)| wanted.is_in(line));
    let described = fitting.map(|(line, number)| {
        let mut tokens = text.tokens.iter().filter(|token| token.line == number);
        let address = tokens.find_map(|token| token.address);
        let text = line.trim().chars().take(MAX_LINE).collect();
        (position(entry, number.into()), Some(Line { entry, number, text, address }))
    });
    described.collect()
}

/// Which code to find.
#[derive(Debug, Deserialize, JsonSchema)]
struct CodeFilter {
    /// A regular expression that the whole name of the instruction must match, in any case:
    /// `mov.*`.
    #[schemars(length(min = 1, max = 256))]
    mnemonic: Option<String>,
    /// A regular expression that the operands must match anywhere, in any case; they are written
    /// with `, ` between them.
    #[schemars(length(min = 1, max = 1024))]
    operands: Option<String>,
    /// A number among the operands, as people write it: `0x5f3759df`, `-1`, `'abcd'`.
    #[schemars(length(min = 1, max = 64))]
    constant: Option<String>,
    /// In place of these: the entry point of a function, whose calls are found.
    #[schemars(length(min = 1))]
    calls: Option<String>,
    /// Only in the function at this entry point.
    #[schemars(length(min = 1))]
    in_function: Option<String>,
}

impl CodeFilter {
    fn only_calls(&self) -> Answer<()> {
        if self.mnemonic.is_none() && self.operands.is_none() && self.constant.is_none() {
            return Ok(());
        }
        let message = "calls stand alone, or with in_function; leave the other members out";
        Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/filter/calls"))
    }

    fn query(&self) -> Answer<CodeQuery> {
        let mnemonic = self.mnemonic.as_deref().map(|text| {
            // Checked alone first, so that nobody closes the group around it.
            pattern(text, false, "/filter/mnemonic")?;
            pattern(&format!("^(?:{text})$"), false, "/filter/mnemonic")
        });
        let operands = self.operands.as_deref();
        let operands = operands.map(|text| pattern(text, false, "/filter/operands")).transpose()?;
        let constant = self.constant.as_deref().map(constant).transpose()?;
        let query = CodeQuery { mnemonic: mnemonic.transpose()?, operands, constant };
        if query.mnemonic.is_none() && query.operands.is_none() && query.constant.is_none() {
            let message = "say what to find: mnemonic, operands or constant, or calls";
            return Err(BridgeError::new(ErrorCode::InvalidRequest, message).at("/filter"));
        }
        Ok(query)
    }
}

fn constant(text: &str) -> Answer<i128> {
    let number = Number::parse(text, None).map_err(|error| error.to_string());
    let value = number.and_then(|number| {
        let value = if text.trim().starts_with('-') { number.signed() } else { number.unsigned() };
        value.parse().map_err(|_| "the number is too large for an operand".to_owned())
    });
    value.map_err(|message| {
        BridgeError::new(ErrorCode::InvalidValue, message).at("/filter/constant")
    })
}

/// One instruction that was found.
#[derive(Debug, Serialize, JsonSchema)]
struct CodeRow {
    /// Where it is.
    address: String,
    /// As a listing shows it.
    text: String,
    /// The function that it belongs to.
    function: Option<FunctionSummary>,
    /// For `calls`: the arguments as the C text has them; absent when it does not show the call.
    arguments: Option<Vec<String>>,
}

impl CodeRow {
    fn of(
        view: &View<'_>,
        at: Address,
        text: InstructionText,
        arguments: Option<Vec<String>>,
    ) -> CodeRow {
        let function = function_holding(&view.program, at);
        CodeRow {
            address: view.print(at),
            text: text.text,
            function: function.map(|function| FunctionSummary::of(&view.program, function)),
            arguments,
        }
    }
}

impl Reply for CodeRow {
    const IDENTITY: &'static [&'static str] = &["address"];
    const NESTED: &'static [&'static str] = &["function.entry", "function.name"];
}

/// Which lines of C to find.
#[derive(Debug, Deserialize, JsonSchema)]
struct CFilter {
    /// A regular expression that a line must match anywhere.
    #[schemars(length(min = 1, max = 1024))]
    regex: String,
    /// True to match in its case only; false when absent.
    case_sensitive: Option<bool>,
    /// Only in the function at this entry point.
    #[schemars(length(min = 1))]
    function: Option<String>,
}

/// One line of C.
#[derive(Debug, Serialize, JsonSchema)]
struct CRow {
    /// The function's entry point.
    entry: String,
    /// The function's name.
    name: String,
    /// The line of its text, from 1.
    line: u32,
    /// The line, without its indentation; its first 300 characters.
    text: String,
    /// An address of the code that it stands for.
    address: Option<String>,
}

impl CRow {
    fn of(view: &View<'_>, line: Line) -> CRow {
        CRow {
            entry: view.print(line.entry),
            name: view.program.function_name(line.entry),
            line: line.number,
            text: line.text,
            address: line.address.map(|address| view.print(address)),
        }
    }
}

/// One page of lines.
#[derive(Debug, Serialize, JsonSchema)]
struct CPage {
    /// The rows, in the order of the functions.
    items: Vec<CRow>,
    /// Give this as `page.cursor` to go on; absent when the walk is complete.
    #[schemars(length(min = 1))]
    next_cursor: Option<String>,
    /// How far the walk came.
    scan: Option<ScanProgress>,
    /// How many functions there are, and how many this walk has not seen.
    functions: Option<FunctionsSeen>,
}

impl Reply for CPage {
    const IDENTITY: &'static [&'static str] = &["entry", "line"];
    const LIST: bool = true;
}

/// How much of the program a search has seen.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "functions_seen")]
struct FunctionsSeen {
    /// Functions in the range that have a text.
    total: u64,
    /// Those that the walk has not reached yet.
    unseen: u64,
    /// Those of this page that could not be decompiled, so that nothing was found in them.
    failed: u64,
}
