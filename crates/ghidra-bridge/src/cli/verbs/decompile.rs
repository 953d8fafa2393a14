//! `decompile`: functions as C, to read here or all of them into files.

use crate::cli::c_text;
use crate::cli::output::Output;
use crate::cli::program::{Program, Source, text};
use anyhow::bail;
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

/// `decompile FILE [NAME|ADDRESS ...]`
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Functions by name or any address in them (default: main, or where the program starts)
    #[arg(value_name = "NAME|ADDRESS", conflicts_with = "all")]
    places: Vec<String>,
    /// Every function, on all cores
    #[arg(long)]
    all: bool,
    /// Write to a file (ending in .c), or with --all a .c for each function into a new folder
    #[arg(long, short, value_name = "FILE.c|DIR")]
    output: Option<PathBuf>,
    /// Longest time for one function, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=60))]
    timeout: u32,
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let program = Program::open(&arguments.source)?;
    let timeout = arguments.timeout * 1000;
    let entries = match arguments.places.as_slice() {
        _ if arguments.all => None,
        [] => Some(vec![beginning(&program)?]),
        places => Some(entries(&program, places)?),
    };
    match (&arguments.output, entries) {
        (None, Some(entries)) => print(&program, &entries, timeout, out),
        (None, None) => crate::cli::bulk::print(&program, timeout, out),
        (Some(place), entries) => crate::cli::bulk::write(&program, entries, place, timeout, out),
    }
}

fn entries(program: &Program, places: &[String]) -> anyhow::Result<Vec<String>> {
    places.iter().map(|place| program.function_at(place)).collect()
}

/// The function to show when none is named.
fn beginning(program: &Program) -> anyhow::Result<String> {
    for name in ["main", "WinMain", "wWinMain", "wmain", "_main", "entry", "_start"] {
        if let Ok(entry) = program.function_at(name) {
            return Ok(entry);
        }
    }
    bail!("there is no main and no entry; name a function, or write --all")
}

/// Prints some functions, in the order in which they were named.
fn print(
    program: &Program,
    entries: &[String],
    timeout: u32,
    out: &mut Output,
) -> anyhow::Result<()> {
    let mut failed = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let mut params = params(entry, timeout);
        if out.has_colours() && !out.is_json() {
            params["format"] = json!("tokens");
        }
        let answer = program.call("decompilation.get", params)?;
        if at > 0 {
            out.line("")?;
        }
        out.row(&answer, |out| c_text::painted(&answer, out))?;
        if answer["completed"] != true {
            failed.push(why_not(program, &answer));
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("not decompiled: {}", failed.join("; ")),
    }
}

/// The parameters of one decompilation.
pub fn params(entry: &str, timeout: u32) -> Value {
    json!({ "selector": { "entry": entry }, "scan": { "timeout_ms": timeout } })
}

/// Which function has no complete C text, and why.
pub fn why_not(program: &Program, answer: &Value) -> String {
    let last = answer["warnings"].as_array().and_then(|warnings| warnings.last());
    let why = last.and_then(Value::as_str).unwrap_or("no reason is known");
    format!("{} at {} ({why})", text(answer, "name"), program.place(text(answer, "entry")))
}
