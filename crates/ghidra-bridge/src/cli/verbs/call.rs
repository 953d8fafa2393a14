//! `call`: one method once, on a program opened here or on a running server.

use crate::cli::output::Output;
use crate::cli::program::{Opening, Program, Purpose, Source};
use crate::cli::remote;
use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

/// `call FILE|URL METHOD [JSON|@FILE|-]`
#[derive(Args, Debug)]
pub struct Arguments {
    /// The program, or the address of a running server (ws://127.0.0.1:8765/ws/agent)
    #[arg(value_name = "FILE|URL")]
    target: String,
    /// The method, such as function.list
    method: String,
    /// Its parameters: JSON, @FILE that holds it, or - for standard input
    #[arg(value_name = "JSON|@FILE|-", default_value = "{}", hide_default_value = true)]
    params: String,
    /// File that holds the server's token (or set GHIDRA_BRIDGE_TOKEN)
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    opening: Opening,
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    if arguments.target == "-" && arguments.params == "-" {
        bail!("standard input holds one thing: the program or the parameters");
    }
    let params = params(&arguments.params)?;
    let (target, method) = (&arguments.target, &arguments.method);
    let answer = match target.starts_with("ws://") || target.starts_with("wss://") {
        true => remote::call(target, arguments.token_file.as_deref(), method, params)?,
        false if target.contains("://") => {
            bail!(
                "{target} is no WebSocket address; a running server prints its own: ws://HOST:PORT/PATH"
            )
        }
        false => local(arguments, params)?,
    };
    let pretty = if out.is_json() { None } else { serde_json::to_string_pretty(&answer).ok() };
    out.row(&answer, |_| pretty.unwrap_or_default())
}

fn params(word: &str) -> anyhow::Result<Value> {
    let (text, place) = match word.strip_prefix('@') {
        Some(file) => {
            (std::fs::read_to_string(file).with_context(|| format!("{file} cannot be read"))?, file)
        }
        None if word == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("standard input")?;
            (text, "standard input")
        }
        None => (word.to_owned(), "the last word"),
    };
    serde_json::from_str(&text).with_context(|| format!("{place} is not JSON"))
}

fn local(arguments: &Arguments, params: Value) -> anyhow::Result<Value> {
    let changes = api::Registry::of(api::Surface::Extensions)
        .find(&arguments.method)
        .is_some_and(|row| row.effects().mutates_program);
    let purpose = if changes { Purpose::Edit } else { Purpose::Look };
    let source =
        Source { file: PathBuf::from(&arguments.target), opening: arguments.opening.clone() };
    let program = Program::open_for(&source, purpose)?;
    let answer =
        program.ask(&arguments.method, params).map_err(|error| refusal(&error.to_json()))?;
    if changes {
        program.session().wait_for_analysis(Duration::MAX / 4);
        match program.session().project_path() {
            Some(_) => program.session().save_at_end().map(|_| ())?,
            None => crate::say("Nothing keeps this change: there is no project."),
        }
    }
    Ok(answer)
}

/// A refused call in one line: what is wrong, and where in the parameters.
pub fn refusal(error: &Value) -> anyhow::Error {
    let member = |name| error[name].as_str().unwrap_or_default();
    let place = match member("target") {
        "" => String::new(),
        target => format!(" at {target}"),
    };
    let candidates = match &error["details"] {
        Value::Object(details) if !details.is_empty() => format!("; {}", json!(details)),
        _ => String::new(),
    };
    anyhow::anyhow!("{} ({}{place}){candidates}", member("message"), member("code"))
}
