//! `functions`: where functions are, how long they are and how they are called.

use crate::cli::output::{Output, plain};
use crate::cli::program::{Program, Source, text};
use clap::{Args, ValueEnum};
use console::Style;
use serde_json::{Value, json};

/// `functions FILE [NAME]`
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Only those with this in their name, in any case
    name: Option<String>,
    /// Order of the list
    #[arg(long, value_name = "BY", default_value = "address")]
    sort: Order,
    /// Show prototypes in place of names
    #[arg(long, short)]
    prototypes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// By entry point
    Address,
    /// The largest first
    Size,
    /// By name
    Name,
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let program = Program::open(&arguments.source)?;
    let mut params = json!({ "filter": { "external": false } });
    if let Some(name) = &arguments.name {
        params["filter"]["name"] = json!(name);
    }
    if !out.is_json() {
        params["projection"] =
            json!({ "fields": ["name", "namespace", "body.num_addresses", "signature", "thunk"] });
    }
    if arguments.sort == Order::Address {
        return program.each("function.list", params, |row| {
            out.row(row, |out| line(&program, arguments, row, out)).map(|()| true)
        });
    }
    let mut rows = program.all("function.list", params)?;
    match arguments.sort {
        Order::Size => rows.sort_by_key(|row| std::cmp::Reverse(size(row))),
        _ => rows.sort_by(|left, right| text(left, "name").cmp(text(right, "name"))),
    }
    rows.iter().try_for_each(|row| out.row(row, |out| line(&program, arguments, row, out)))
}

fn size(row: &Value) -> u64 {
    row["body"]["num_addresses"].as_u64().unwrap_or_default()
}

fn line(program: &Program, arguments: &Arguments, row: &Value, out: &Output) -> String {
    let address = out.paint(&Style::new().cyan(), program.place(text(row, "entry")));
    let name = match arguments.prototypes {
        true => plain(text(row, "signature")),
        false => qualified(row),
    };
    let thunk = if row["thunk"] == true {
        out.paint(&Style::new().dim(), " (thunk)")
    } else {
        String::new()
    };
    format!("{address} {:>7} {name}{thunk}", size(row))
}

/// A name with its namespace before it, where it is not in the global one.
pub fn qualified(row: &Value) -> String {
    match text(row, "namespace") {
        "" | "Global" | "<EXTERNAL>" => plain(text(row, "name")),
        namespace => plain(&format!("{namespace}::{}", text(row, "name"))),
    }
}
