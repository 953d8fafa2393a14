//! `strings`: the texts that analysis found, with who uses them.

use crate::cli::output::{Output, plain};
use crate::cli::program::{Program, Source, text};
use clap::Args;
use console::Style;
use serde_json::{Value, json};

/// `strings FILE [TEXT]`
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Only those that hold this text, in any case
    text: Option<String>,
    /// Only those of at least this many characters
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 1)]
    min_length: usize,
    /// Show which functions refer to each
    #[arg(long, short)]
    xrefs: bool,
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let program = Program::open(&arguments.source)?;
    let mut params = json!({ "filter": { "string": true } });
    if let Some(text) = &arguments.text {
        params["filter"]["text"] = json!(text);
    }
    program.each("data_unit.list", params, |row| {
        if text(row, "value").chars().count() < arguments.min_length {
            return Ok(true);
        }
        let users = if arguments.xrefs { users(&program, row)? } else { Vec::new() };
        let mut row = row.clone();
        if arguments.xrefs {
            row["used_by"] = json!(users);
        }
        out.row(&row, |out| line(&program, &row, &users, out)).map(|()| true)
    })
}

/// The functions that refer to a string; places outside of functions by their address.
fn users(program: &Program, row: &Value) -> anyhow::Result<Vec<String>> {
    let mut users: Vec<String> = Vec::new();
    program.each("reference.list", json!({ "filter": { "to": row["address"] } }), |reference| {
        let user = match reference["from_function"]["name"].as_str() {
            Some(name) => name,
            None => program.place(text(reference, "from")),
        };
        if !users.iter().any(|known| known == user) {
            users.push(user.to_owned());
        }
        Ok(true)
    })?;
    Ok(users)
}

fn line(program: &Program, row: &Value, users: &[String], out: &Output) -> String {
    let address = out.paint(&Style::new().cyan(), program.place(text(row, "address")));
    let more = if row["truncated"] == true { "..." } else { "" };
    let mut line = format!("{address} {}{more}", plain(text(row, "value")));
    if !users.is_empty() {
        let users = plain(&format!("  <- {}", users.join(", ")));
        line.push_str(&out.paint(&Style::new().dim(), &users));
    }
    line
}
