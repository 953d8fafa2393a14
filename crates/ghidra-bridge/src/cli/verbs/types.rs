//! `types`: the program's data types, as a list or as C.

use crate::cli::output::{Output, plain};
use crate::cli::program::{Program, Source, text};
use crate::cli::{c_text, c_types};
use clap::Args;
use serde_json::{Value, json};

/// `types FILE [NAME]`
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Only those with this in their name, in any case
    name: Option<String>,
    /// Only those of this kind (struct, union, enum, typedef, function, ...)
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Print them as C, with all members
    #[arg(long, short)]
    c: bool,
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let program = Program::open(&arguments.source)?;
    let mut params = json!({ "filter": {} });
    for (member, value) in [("query", &arguments.name), ("kind", &arguments.kind)] {
        if let Some(value) = value {
            params["filter"][member] = json!(value);
        }
    }
    if arguments.c {
        let rows = c_types::described(&program, params["filter"].take())?;
        return rows.iter().try_for_each(|row| match c_types::declaration(row) {
            Some(declaration) => out.row(row, |_| c_text::lines(&declaration)),
            None => Ok(()),
        });
    }
    program.each("data_type.list", params, |row| out.row(row, |_| line(row)).map(|()| true))
}

fn line(row: &Value) -> String {
    let length = row["length"].as_u64().map_or("-".to_owned(), |length| length.to_string());
    format!("{:<8} {length:>6} {}", text(row, "kind"), plain(text(row, "path")))
}
