//! `disasm`: instructions and data as a listing, with the names and texts that they refer to.

use crate::cli::output::{Output, plain};
use crate::cli::program::{Program, Source, rows_of, text};
use clap::Args;
use console::Style;
use serde_json::{Value, json};

/// Units that are shown from an address that lies in no function.
const OUTSIDE: usize = 32;

/// Bytes of a unit that are shown.
const BYTES: usize = 8;

/// `disasm FILE NAME|ADDRESS|START..END`
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// A function by its name or any address in it, or the first and the last address of a range
    #[arg(value_name = "NAME|ADDRESS|START..END")]
    place: String,
    /// Leave the bytes out
    #[arg(long)]
    no_bytes: bool,
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let program = Program::open(&arguments.source)?;
    let place = &arguments.place;
    if let Some((start, end)) = place.split_once("..") {
        let range = json!({ "scan": { "range": { "start": start, "end": end } } });
        return show(&program, arguments, "code_unit.list", range, usize::MAX, out);
    }
    if let Ok(entry) = program.function_at(place) {
        let mut params = json!({ "filter": { "function": entry } });
        params["projection"] =
            json!({ "fields": ["text", "length", "bytes", "mnemonic", "operands", "flow_type"] });
        return show(&program, arguments, "instruction.list", params, usize::MAX, out);
    }
    let found = program.call("address.resolve", json!({ "selector": { "address": place } }))?;
    let range = json!({ "scan": { "range": { "start": found["address"] } } });
    show(&program, arguments, "code_unit.list", range, OUTSIDE, out)
}

fn show(
    program: &Program,
    arguments: &Arguments,
    method: &str,
    params: Value,
    most: usize,
    out: &mut Output,
) -> anyhow::Result<()> {
    let mut shown = 0;
    program.each(method, params, |row| {
        if !out.is_json() {
            for name in names_at(program, text(row, "address"))? {
                out.line(&out.paint(&Style::new().bold(), &format!("{}:", plain(&name))))?;
            }
        }
        let note = if out.is_json() { String::new() } else { note(program, text(row, "address"))? };
        out.row(row, |out| line(program, arguments, row, &note, out))?;
        shown += 1;
        Ok(shown < most)
    })
}

/// The stored names of an address, that which is shown first; a jump's target without one has
/// the name that references show.
fn names_at(program: &Program, address: &str) -> anyhow::Result<Vec<String>> {
    let mut symbols = program.all("symbol.list", json!({ "filter": { "address": address } }))?;
    symbols.sort_by_key(|symbol| symbol["primary"] != true);
    if !symbols.is_empty() {
        return Ok(symbols.iter().map(super::functions::qualified).collect());
    }
    let answer = program.call("reference.list", json!({ "filter": { "to": address } }))?;
    let jump = rows_of(&answer).find(|row| text(row, "type").contains("JUMP"));
    Ok(jump.and_then(|row| row["to_symbol"].as_str()).map(str::to_owned).into_iter().collect())
}

/// What a unit refers to, by name or as text.
fn note(program: &Program, address: &str) -> anyhow::Result<String> {
    let answer = program.call("reference.list", json!({ "filter": { "from": address } }))?;
    let mut notes = Vec::new();
    for reference in rows_of(&answer) {
        let note = match (reference["to_text"].as_str(), reference["to_symbol"].as_str()) {
            (Some(string), _) => format!("\"{}\"", plain(string)),
            (None, Some(name)) => plain(name),
            (None, None) => continue,
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    Ok(notes.join(", "))
}

fn line(program: &Program, arguments: &Arguments, row: &Value, note: &str, out: &Output) -> String {
    let address = out.paint(&Style::new().cyan(), program.place(text(row, "address")));
    let mut line = format!("{address}  ");
    if !arguments.no_bytes {
        line.push_str(&out.paint(&Style::new().dim(), &bytes(row)));
    }
    let unit = match row["text"].as_str() {
        Some(unit) => plain(unit),
        None => "??".to_owned(),
    };
    if note.is_empty() {
        line.push_str(&paint_mnemonic(&unit, out));
        return line;
    }
    let padding = " ".repeat(36usize.saturating_sub(unit.chars().count()));
    line.push_str(&paint_mnemonic(&unit, out));
    line.push_str(&padding);
    line.push_str(&out.paint(&Style::new().green(), &format!(" ; {note}")));
    line
}

fn paint_mnemonic(unit: &str, out: &Output) -> String {
    match unit.split_once(' ') {
        Some((mnemonic, rest)) => format!("{} {rest}", out.paint(&Style::new().yellow(), mnemonic)),
        None => out.paint(&Style::new().yellow(), unit),
    }
}

/// The first bytes of a unit, in a column.
fn bytes(row: &Value) -> String {
    let digits = text(&row["bytes"], "data");
    let mut shown: String = digits.chars().take(2 * BYTES).collect();
    if digits.len() > 2 * BYTES {
        shown.push_str("..");
    }
    format!("{shown:<18}  ")
}
