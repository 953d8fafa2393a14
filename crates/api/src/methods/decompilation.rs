//! C text of a function, or its tokens.

use std::collections::HashSet;
use std::time::Duration;

use engine::decompiler::{self, Decompilation as Found, Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::{Answer, Method};
use crate::methods::function::variable::{LocalVariableRow, ParameterRow};
use crate::shapes::{EntrySelector, MAX_NESTED, Projection, Reply, Request, cut};
use crate::view::View;

const DEFAULT_TIMEOUT_MS: u32 = 30_000;
/// Characters of C text, and tokens, that a model is answered at once without having asked for
/// lines. More comes by `lines`.
const MODEL_CHARACTERS: usize = 12_000;
const MODEL_TOKENS: usize = 200;

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "decompilation.get",
            "Decompile the function at an entry point to C text or to tokens.",
            get,
        )
        .growing()
        .brief(&["name", "completed", "c", "tokens", "warnings", "line_count", "lines"])
        .cost("Milliseconds to seconds, by the function's size; bounded by `scan.timeout_ms`."),
    ]
}

fn get(view: &View<'_>, request: DecompileRequest) -> Answer<Decompilation> {
    let function = view.function(&request.selector.entry, "/selector/entry")?;
    let timeout = request.scan.and_then(|scan| scan.timeout_ms).unwrap_or(DEFAULT_TIMEOUT_MS);
    let limits = Limits { timeout: Duration::from_millis(timeout.into()), ..Limits::default() };
    let session = view.bridge.session();
    let found = session.decompile(&view.program, function.entry, &limits, &view.cx.cancel.flag());
    // The text begins with an empty line; counting starts at the first that is not.
    let text = found.c.trim_start_matches('\n');
    let skipped = (found.c.len() - text.len()) as u64;
    let text = text.trim_end();
    let format = request.format.unwrap_or_default();
    let first_page = || view.is_for_a_model().then(|| affordable(text, format, &found, skipped));
    let wanted = request.lines.or_else(|| first_page().flatten());
    let (c, lines) = match (format, &wanted) {
        (Format::Tokens, None) => (None, None),
        (Format::Tokens, Some(lines)) => (None, Some(lines.cut(text).1)),
        (Format::Text, None) => (Some(text.to_owned()), None),
        (Format::Text, Some(lines)) => {
            let (part, answered) = lines.cut(text);
            (Some(part), Some(answered))
        }
    };
    let tokens = (format == Format::Tokens).then(|| {
        let tokens = found.tokens.iter().map(|token| Token::of(view, token, skipped));
        tokens.filter(|token| wanted.as_ref().is_none_or(|lines| lines.hold(token.line))).collect()
    });
    let cut_to = wanted.filter(|_| view.is_for_a_model());
    let shown = cut_to.map(|lines| variables_on(&lines, &found, skipped));
    let is_shown = |name: &str| shown.as_ref().is_none_or(|names| names.contains(name));
    let truncated = cut([
        view.wants("parameters").then_some(found.parameters.len()),
        view.wants("local_variables").then_some(found.locals.len()),
    ]);
    let program = &view.program;
    let callee = program.calling_function(function);
    let parameters = view.wants("parameters").then(|| {
        let rows = found.parameters.iter().enumerate().take(MAX_NESTED);
        rows.filter(|(_, variable)| is_shown(&variable.name))
            .map(|(at, variable)| ParameterRow::found(program, callee, at, variable))
            .collect()
    });
    let local_variables = view.wants("local_variables").then(|| {
        let rows = found.locals.iter().take(MAX_NESTED);
        rows.filter(|variable| is_shown(&variable.name))
            .map(|variable| LocalVariableRow::found(program, function, variable))
            .collect()
    });
    Ok(Decompilation {
        entry: view.print(function.entry),
        name: view.program.function_name(function.entry),
        format: if format == Format::Text { "text" } else { "tokens" },
        completed: found.completed,
        c,
        tokens,
        // A model that has all lines needs no number of them.
        line_count: (!view.is_for_a_model() || lines.is_some() || view.has_chosen())
            .then(|| text.lines().count() as u64),
        lines,
        parameters,
        local_variables,
        truncated,
        warnings: if view.is_for_a_model() {
            told_once(&found.warnings)
        } else {
            found.warnings.clone()
        },
        elapsed_ms: u64::try_from(found.elapsed.as_millis()).unwrap_or(u64::MAX),
    })
}

/// The first lines of a long function: as many as a model may read without having asked for
/// them. Nothing when all of it is that short.
fn affordable(text: &str, format: Format, found: &Found, skipped: u64) -> Option<LineRange> {
    let mut left = if format == Format::Text { MODEL_CHARACTERS } else { MODEL_TOKENS };
    let mut costs = vec![0; text.lines().count()];
    if format == Format::Text {
        costs = text.lines().map(|line| line.len() + 1).collect();
    } else {
        for token in &found.tokens {
            let at = line_of(token, skipped) as usize - 1;
            if let Some(cost) = costs.get_mut(at) {
                *cost += 1;
            }
        }
    }
    let fitting = costs.iter().take_while(|cost| {
        let fits = **cost <= left;
        left = left.saturating_sub(**cost);
        fits
    });
    let count = fitting.count();
    (count < costs.len()).then(|| LineRange { start: 1, count: count.max(1) as u32 })
}

/// The names of the variables on some lines.
fn variables_on(lines: &LineRange, found: &Found, skipped: u64) -> HashSet<String> {
    let variable = |token: &&decompiler::Token| {
        matches!(token.kind, decompiler::TokenKind::Variable | decompiler::TokenKind::Parameter)
            && lines.hold(Some(line_of(token, skipped)))
    };
    found.tokens.iter().filter(variable).map(|token| token.text.clone()).collect()
}

/// The line of a token in the answered text, from 1.
fn line_of(token: &decompiler::Token, skipped: u64) -> u64 {
    u64::from(token.line).saturating_sub(skipped).max(1)
}

/// Equal warnings once, with their number.
fn told_once(warnings: &[String]) -> Vec<String> {
    let mut counted: Vec<(&String, usize)> = Vec::new();
    for warning in warnings {
        match counted.iter_mut().find(|(known, _)| *known == warning) {
            Some((_, count)) => *count += 1,
            None => counted.push((warning, 1)),
        }
    }
    let told = counted.into_iter().map(|(warning, count)| match count {
        1 => warning.clone(),
        count => format!("{warning} ({count} times)"),
    });
    told.collect()
}

/// What to decompile, and how to answer.
#[derive(Debug, Deserialize, JsonSchema)]
struct DecompileRequest {
    /// The function.
    selector: EntrySelector,
    /// C text or tokens; `text` when absent.
    format: Option<Format>,
    /// How long it may take.
    scan: Option<DecompileTimeout>,
    /// Which lines of the C text to answer. When absent: all, but over MCP no more than the
    /// first 12,000 characters or 200 tokens.
    lines: Option<LineRange>,
    /// Which members to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    projection: Option<Projection>,
}

impl Request for DecompileRequest {}

/// The form of the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Text,
    Tokens,
}

/// How long a decompilation may take.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "decompile_timeout")]
struct DecompileTimeout {
    /// After this many milliseconds it is given up.
    #[schemars(range(min = 100, max = 300_000), extend("default" = 30_000))]
    timeout_ms: Option<u32>,
    /// First waits up to this many milliseconds for the end of analysis; a batch does not.
    #[allow(dead_code)] // read from the JSON before decoding
    #[schemars(range(min = 0, max = 60000))]
    wait_ms: Option<u32>,
}

/// A run of lines.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
struct LineRange {
    /// First line, from 1.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    start: u32,
    /// How many lines.
    #[schemars(range(min = 1, max = 5000))]
    count: u32,
}

impl LineRange {
    /// The wanted lines of a text, and which they are.
    fn cut(&self, text: &str) -> (String, AnsweredLines) {
        let wanted = text.lines().skip(self.start.max(1) as usize - 1).take(self.count as usize);
        let lines: Vec<&str> = wanted.collect();
        let answered = AnsweredLines { start: self.start.into(), count: lines.len() as u64 };
        (lines.join("\n"), answered)
    }

    fn hold(&self, line: Option<u64>) -> bool {
        let first = u64::from(self.start);
        line.is_some_and(|line| (first..first + u64::from(self.count)).contains(&line))
    }
}

/// A decompiled function.
#[derive(Debug, Serialize, JsonSchema)]
struct Decompilation {
    /// The function's entry point.
    entry: String,
    /// The function's name.
    name: String,
    /// `text` or `tokens`, as asked.
    format: &'static str,
    /// False when it failed or ran out of time; the warnings say why.
    completed: bool,
    /// The C text.
    c: Option<String>,
    /// The tokens, in order; their texts joined spell the function.
    tokens: Option<Vec<Token>>,
    /// What the decompiler could not do.
    warnings: Vec<String>,
    /// Time it took, in milliseconds.
    elapsed_ms: u64,
    /// How many lines the whole C text has.
    line_count: Option<u64>,
    /// Which lines were answered, when they were asked for.
    lines: Option<AnsweredLines>,
    /// The parameters as the text shows them.
    #[schemars(length(max = 1000))]
    parameters: Option<Vec<ParameterRow>>,
    /// The local variables that the text shows; by `id` they can be renamed and retyped.
    #[schemars(length(max = 1000))]
    local_variables: Option<Vec<LocalVariableRow>>,
    /// True when a nested list was cut at 1000 rows.
    truncated: Option<bool>,
}

impl Reply for Decompilation {
    const IDENTITY: &'static [&'static str] = &["entry"];
    const NESTED: &'static [&'static str] = &[
        "local_variables.data_type",
        "local_variables.id",
        "local_variables.name",
        "local_variables.storage",
        "parameters.data_type",
        "parameters.id",
        "parameters.name",
        "parameters.ordinal",
        "parameters.storage",
    ];
}

/// The lines in an answer.
#[derive(Debug, Serialize, JsonSchema)]
struct AnsweredLines {
    /// First line, from 1.
    start: u64,
    /// How many lines; fewer than asked at the end of the text.
    count: u64,
}

/// One piece of the C text.
#[derive(Debug, Serialize, JsonSchema)]
struct Token {
    /// What it is.
    kind: TokenKind,
    /// Its text.
    text: String,
    /// The code it stands for.
    address: Option<String>,
    /// The line it is on, from 1.
    line: Option<u64>,
}

impl Token {
    fn of(view: &View<'_>, token: &decompiler::Token, skipped: u64) -> Token {
        Token {
            kind: TokenKind::of(token.kind),
            text: token.text.clone(),
            address: token.address.map(|address| view.print(address)),
            line: Some(line_of(token, skipped)),
        }
    }
}

/// What a token is.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TokenKind {
    Comment,
    Constant,
    Default,
    Error,
    Function,
    Global,
    Keyword,
    Parameter,
    Special,
    Type,
    Variable,
}

impl TokenKind {
    fn of(kind: decompiler::TokenKind) -> TokenKind {
        match kind {
            decompiler::TokenKind::Comment => TokenKind::Comment,
            decompiler::TokenKind::Constant => TokenKind::Constant,
            decompiler::TokenKind::Default => TokenKind::Default,
            decompiler::TokenKind::Error => TokenKind::Error,
            decompiler::TokenKind::Function => TokenKind::Function,
            decompiler::TokenKind::Global => TokenKind::Global,
            decompiler::TokenKind::Keyword => TokenKind::Keyword,
            decompiler::TokenKind::Parameter => TokenKind::Parameter,
            decompiler::TokenKind::Special => TokenKind::Special,
            decompiler::TokenKind::Type => TokenKind::Type,
            decompiler::TokenKind::Variable => TokenKind::Variable,
        }
    }
}
