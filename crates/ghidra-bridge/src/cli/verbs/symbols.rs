//! `symbols`: every stored name and where it lies.

use super::functions::qualified;
use crate::cli::output::Output;
use crate::cli::program::{Program, Source, text};
use clap::Args;
use console::Style;
use serde_json::json;

/// `symbols FILE [NAME]`
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Only those with this in their name, in any case
    name: Option<String>,
    /// Only those of this type (function, label, namespace, class, ...)
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let program = Program::open(&arguments.source)?;
    let mut params = json!({ "filter": {} });
    for (member, value) in [("text", &arguments.name), ("type", &arguments.kind)] {
        if let Some(value) = value {
            params["filter"][member] = json!(value);
        }
    }
    program.each("symbol.list", params, |row| {
        let line = |out: &Output| {
            let address = out.paint(&Style::new().cyan(), program.place(text(row, "address")));
            format!("{address} {:<9} {}", text(row, "type").to_lowercase(), qualified(row))
        };
        out.row(row, line).map(|()| true)
    })
}
