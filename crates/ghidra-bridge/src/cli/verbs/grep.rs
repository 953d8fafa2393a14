//! `grep`: lines of C text, or instructions, that match a pattern.

use crate::cli::bulk;
use crate::cli::output::{Output, plain};
use crate::cli::program::{Program, Source, text};
use anyhow::Context;
use clap::Args;
use console::Style;
use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

/// Largest compiled pattern, in bytes.
const MAX_PATTERN: usize = 16 << 20;

/// `grep PATTERN FILE`
#[derive(Args, Debug)]
pub struct Arguments {
    /// A regular expression, as the regex crate and ripgrep know it
    pattern: String,
    #[command(flatten)]
    source: Source,
    /// Search instructions in place of C text; much faster
    #[arg(long)]
    asm: bool,
    /// Match in any case
    #[arg(long, short)]
    ignore_case: bool,
    /// The pattern is plain text
    #[arg(long, short = 'F')]
    fixed_strings: bool,
    /// Print only which functions match
    #[arg(long, short = 'l')]
    functions_with_matches: bool,
    /// Longest time for one function, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=60))]
    timeout: u32,
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let pattern = pattern(arguments)?;
    let program = Program::open(&arguments.source)?;
    match arguments.asm {
        true => instructions(&program, arguments, &pattern, out),
        false => functions(&program, arguments, &pattern, out),
    }
}

fn pattern(arguments: &Arguments) -> anyhow::Result<Regex> {
    let text = match arguments.fixed_strings {
        true => regex::escape(&arguments.pattern),
        false => arguments.pattern.clone(),
    };
    let mut builder = RegexBuilder::new(&text);
    builder.case_insensitive(arguments.ignore_case).size_limit(MAX_PATTERN);
    builder
        .build()
        .map_err(|error| {
            let last = error.to_string();
            let last =
                last.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            anyhow::anyhow!("{last}; -F takes the pattern as plain text")
        })
        .with_context(|| format!("{:?} is no regular expression", arguments.pattern))
}

fn functions(
    program: &Program,
    arguments: &Arguments,
    pattern: &Regex,
    out: &mut Output,
) -> anyhow::Result<()> {
    let entries = bulk::all_entries(program)?;
    let failed = bulk::decompile(program, &entries, arguments.timeout * 1000, |answer| {
        let (name, entry) = (text(answer, "name"), text(answer, "entry"));
        for (at, line) in text(answer, "c").lines().enumerate() {
            if !pattern.is_match(line) {
                continue;
            }
            if arguments.functions_with_matches {
                let row = json!({ "entry": entry, "name": name });
                out.row(&row, |out| function(program, entry, name, out))?;
                break;
            }
            let row = json!({ "entry": entry, "name": name, "line": at + 1, "text": line });
            out.row(&row, |out| {
                let name = out.paint(&Style::new().magenta(), &plain(name));
                let number = out.paint(&Style::new().green(), &(at + 1).to_string());
                format!("{name}:{number}: {}", painted(line.trim_start(), pattern, out))
            })?;
        }
        Ok(true)
    })?;
    bulk::complain(&failed, entries.len())
}

fn function(program: &Program, entry: &str, name: &str, out: &Output) -> String {
    let address = out.paint(&Style::new().cyan(), program.place(entry));
    format!("{address} {}", plain(name))
}

/// A walk over all instructions; the function of each match is looked up.
fn instructions(
    program: &Program,
    arguments: &Arguments,
    pattern: &Regex,
    out: &mut Output,
) -> anyhow::Result<()> {
    let params = json!({ "projection": { "fields": ["text"] } });
    let mut last = String::new();
    program.each("instruction.list", params, |row| {
        let line = text(row, "text");
        if !pattern.is_match(line) {
            return Ok(true);
        }
        let address = text(row, "address");
        let selector = json!({ "selector": { "address": address } });
        let within = program.call("address.resolve", selector)?["function"].take();
        let (entry, name) = (text(&within, "entry"), text(&within, "name"));
        if arguments.functions_with_matches {
            if !entry.is_empty() && entry != last {
                last = entry.to_owned();
                out.row(&json!({ "entry": entry, "name": name }), |out| {
                    function(program, entry, name, out)
                })?;
            }
            return Ok(true);
        }
        let mut found = json!({ "address": address, "text": line });
        if let Value::Object(_) = within {
            found["function"] = within.clone();
        }
        out.row(&found, |out| {
            let address = out.paint(&Style::new().cyan(), program.place(address));
            let name = if name.is_empty() { String::new() } else { format!(" {}:", plain(name)) };
            format!(
                "{address}{} {}",
                out.paint(&Style::new().magenta(), &name),
                painted(line, pattern, out)
            )
        })?;
        Ok(true)
    })
}

/// A line with what matches marked.
fn painted(line: &str, pattern: &Regex, out: &Output) -> String {
    let mut painted = String::new();
    let mut end = 0;
    for found in pattern.find_iter(line) {
        painted.push_str(&plain(&line[end..found.start()]));
        painted.push_str(&out.paint(&Style::new().red().bold(), &plain(found.as_str())));
        end = found.end();
    }
    painted + &plain(&line[end..])
}
