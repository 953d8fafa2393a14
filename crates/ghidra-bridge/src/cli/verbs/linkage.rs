//! `imports` and `exports`: what a program takes from other files and what it offers to them.

use crate::cli::output::{Output, plain};
use crate::cli::program::{Program, Source, text};
use clap::Args;
use console::Style;
use serde_json::{Value, json};

/// `imports FILE [NAME]`
#[derive(Args, Debug)]
pub struct Imports {
    #[command(flatten)]
    source: Source,
    /// Only those with this in their name, in any case
    name: Option<String>,
}

/// `exports FILE [NAME]`
#[derive(Args, Debug)]
pub struct Exports {
    #[command(flatten)]
    source: Source,
    /// Only those with this in their name, in any case
    name: Option<String>,
}

pub fn imports(arguments: &Imports, out: &mut Output) -> anyhow::Result<()> {
    let program = Program::open(&arguments.source)?;
    let rows = program.all("symbol.list", named(json!({ "external": true }), &arguments.name))?;
    let longest = rows.iter().map(|row| library(row).chars().count()).max().unwrap_or_default();
    let width = longest.min(30);
    rows.iter().filter(|row| row["type"] != "Library").try_for_each(|row| {
        out.row(row, |out| {
            let library =
                out.paint(&Style::new().dim(), &format!("{:<width$}", plain(library(row))));
            format!("{library} {}", plain(text(row, "name"))).trim_start().to_owned()
        })
    })
}

/// The library of an import, when the file tells it.
fn library(row: &Value) -> &str {
    match text(row, "namespace") {
        "<EXTERNAL>" => "",
        library => library,
    }
}

pub fn exports(arguments: &Exports, out: &mut Output) -> anyhow::Result<()> {
    let program = Program::open(&arguments.source)?;
    let filter = json!({ "entry_point": true, "external": false });
    program.each("symbol.list", named(filter, &arguments.name), |row| {
        let line = |out: &Output| {
            let address = out.paint(&Style::new().cyan(), program.place(text(row, "address")));
            format!("{address} {}", super::functions::qualified(row))
        };
        out.row(row, line).map(|()| true)
    })
}

fn named(mut filter: Value, name: &Option<String>) -> Value {
    if let Some(name) = name {
        filter["name"] = json!(name);
    }
    json!({ "filter": filter })
}
