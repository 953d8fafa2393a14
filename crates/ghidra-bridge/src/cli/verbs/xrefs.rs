//! `xrefs`: who refers to a place, or what a place refers to.

use crate::cli::output::{Output, plain};
use crate::cli::program::{Program, Source, text};
use clap::Args;
use console::Style;
use serde_json::{Value, json};

/// `xrefs FILE NAME|ADDRESS`
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// A name or an address
    #[arg(value_name = "NAME|ADDRESS")]
    place: String,
    /// List what the function there calls, reads and writes, or what its one address refers to
    #[arg(long)]
    from: bool,
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let program = Program::open(&arguments.source)?;
    let place = &arguments.place;
    let member = match arguments.from {
        false => "to",
        true if starts_function(&program, place)? => "from_function",
        true => "from",
    };
    program.each("reference.list", json!({ "filter": { member: place } }), |row| {
        out.row(row, |out| line(&program, row, out)).map(|()| true)
    })
}

/// Whether a function starts at a place.
pub fn starts_function(program: &Program, place: &str) -> anyhow::Result<bool> {
    let found = program.call("address.resolve", json!({ "selector": { "address": place } }))?;
    Ok(found["function"]["entry"] == found["address"])
}

fn line(program: &Program, row: &Value, out: &Output) -> String {
    let from = out.paint(&Style::new().cyan(), program.place(text(row, "from")));
    let within = match row["from_function"]["name"].as_str() {
        Some(name) => format!(" in {}", plain(name)),
        None => String::new(),
    };
    let mut to = program.place(text(row, "to")).to_owned();
    if let Some(name) = row["to_symbol"].as_str() {
        to = plain(name);
    }
    if let Some(string) = row["to_text"].as_str() {
        to.push_str(&format!(" \"{}\"", plain(string)));
    }
    let kind = out.paint(&Style::new().dim(), &text(row, "type").to_lowercase());
    format!("{from}{within} {kind} {to}")
}
