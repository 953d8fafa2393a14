//! C text of a function, or its tokens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Method;
use crate::shapes::{EntrySelector, Projection, Reply, Request};

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::pending_read::<DecompileRequest, Decompilation>(
            "decompilation.get",
            "Decompile the function at an entry point to C text or to tokens.",
        )
        .cost("Milliseconds to seconds, by the function's size; bounded by `scan.timeout_ms`."),
    ]
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
    /// Which lines of the C text to answer; all when absent.
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
}

/// A run of lines.
#[derive(Debug, Deserialize, JsonSchema)]
struct LineRange {
    /// First line, from 1.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    start: u32,
    /// How many lines.
    #[schemars(range(min = 1, max = 5000))]
    count: u32,
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
    line_count: u64,
    /// Which lines were answered, when they were asked for.
    lines: Option<AnsweredLines>,
}

impl Reply for Decompilation {
    const IDENTITY: &'static [&'static str] = &["entry"];
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
