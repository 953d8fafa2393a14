//! `export`: a whole program as tables for other programs: JSON, JSON lines or SQLite; its C, or
//! its calls as a graph.

use super::output::Output;
use super::picture::graph::{Edge, Graph, Kind, Node};
use super::picture::{dot, svg};
use super::program::{Program, Source, text};
use super::{bulk, c_types, whole};
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Functions that a picture of all calls can hold.
const MOST_BOXES: usize = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One object, an array for each table
    Json,
    /// A row on each line, with its table
    Jsonl,
    /// A database with a table for each
    Sqlite,
    /// Types, prototypes and functions as C
    C,
    /// All calls as a graph for Graphviz
    Dot,
    /// All calls of a small program as a picture
    Svg,
}

/// `export FILE --format FORMAT -o OUT`
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// What to write
    #[arg(long, short)]
    format: Format,
    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Put the C text of every function into the tables as well
    #[arg(long)]
    with_c: bool,
    /// Longest time for one function, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=60))]
    timeout: u32,
}

/// One table: its columns, and where each is found in the rows of the method.
struct Table {
    name: &'static str,
    columns: &'static [(&'static str, &'static str)],
}

const TABLES: &[Table] = &[
    Table {
        name: "program",
        columns: &[
            ("name", "/name"),
            ("path", "/executable_path"),
            ("format", "/executable_format"),
            ("language", "/language_id"),
            ("compiler", "/compiler_spec_id"),
            ("image_base", "/image_base"),
            ("sha256", "/sha256"),
            ("size", "/file_size"),
        ],
    },
    Table {
        name: "memory_blocks",
        columns: &[
            ("name", "/name"),
            ("start", "/start"),
            ("end", "/end"),
            ("length", "/length"),
            ("read", "/read"),
            ("write", "/write"),
            ("execute", "/execute"),
            ("initialized", "/initialized"),
        ],
    },
    Table {
        name: "functions",
        columns: &[
            ("entry", "/entry"),
            ("name", "/name"),
            ("namespace", "/namespace"),
            ("size", "/body/num_addresses"),
            ("signature", "/signature"),
            ("thunk", "/thunk"),
            ("no_return", "/has_no_return"),
            ("c", "/c"),
        ],
    },
    Table {
        name: "calls",
        columns: &[("caller", "/caller"), ("callee", "/entry"), ("call_site", "/call_site")],
    },
    Table {
        name: "symbols",
        columns: &[
            ("id", "/id"),
            ("address", "/address"),
            ("name", "/name"),
            ("namespace", "/namespace"),
            ("type", "/type"),
            ("source", "/source_type"),
            ("is_primary", "/primary"),
            ("entry_point", "/entry_point"),
        ],
    },
    Table {
        name: "strings",
        columns: &[("address", "/address"), ("length", "/length"), ("value", "/value")],
    },
    Table {
        name: "xrefs",
        columns: &[
            ("from_address", "/from"),
            ("to_address", "/to"),
            ("type", "/type"),
            ("operand", "/operand_index"),
            ("from_function", "/from_function/entry"),
        ],
    },
    Table {
        name: "comments",
        columns: &[("address", "/address"), ("type", "/type"), ("text", "/text")],
    },
    Table {
        name: "data_types",
        columns: &[
            ("path", "/path"),
            ("kind", "/kind"),
            ("length", "/length"),
            ("declaration", "/declaration"),
        ],
    },
];

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let program = Program::open(&arguments.source)?;
    let place = &arguments.output;
    match arguments.format {
        Format::C => return bulk::write_file(&program, place, arguments.timeout * 1000, out),
        Format::Json => in_one(&program, arguments)?,
        Format::Jsonl => in_lines(&program, arguments)?,
        Format::Sqlite => in_database(&program, arguments)?,
        Format::Dot => {
            let drawn = dot::draw(&calls(&program)?);
            whole::file(place, |file| file.write_all(drawn.as_bytes()).map_err(Into::into))?;
        }
        Format::Svg => picture(&program, place)?,
    }
    out.row(&json!({ "output": place.to_string_lossy() }), |_| place.display().to_string())
}

/// Every row of every table.
fn each(
    program: &Program,
    arguments: &Arguments,
    mut take: impl FnMut(&Table, Map<String, Value>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for table in TABLES {
        let mut put = |row: &Value| {
            let cell = |(column, pointer): &(&str, &str)| {
                Some((
                    (*column).to_owned(),
                    row.pointer(pointer).filter(|value| !value.is_null())?.clone(),
                ))
            };
            take(table, table.columns.iter().filter_map(cell).collect())?;
            Ok(true)
        };
        match table.name {
            "program" => put(&program.call("program.get", json!({}))?).map(|_: bool| ())?,
            "functions" => functions(program, arguments, &mut put)?,
            "calls" => of_functions(program, &mut put, |entry| {
                (
                    "function_call.list",
                    json!({ "filter": { "entry": entry, "direction": "callees" } }),
                )
            })?,
            "xrefs" => of_functions(program, &mut put, |entry| {
                ("reference.list", json!({ "filter": { "from_function": entry } }))
            })?,
            "data_types" => {
                for mut row in c_types::described(program, json!({}))? {
                    row["declaration"] = json!(c_types::declaration(&row));
                    put(&row)?;
                }
            }
            "strings" => {
                program.each("data_unit.list", json!({ "filter": { "string": true } }), put)?
            }
            "memory_blocks" => program.each("memory_block.list", json!({}), put)?,
            "symbols" => program.each("symbol.list", json!({}), put)?,
            "comments" => program.each("comment.list", json!({}), put)?,
            other => bail!("the table {other} has no source"),
        }
    }
    Ok(())
}

fn functions(
    program: &Program,
    arguments: &Arguments,
    put: &mut impl FnMut(&Value) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let mut texts: HashMap<String, String> = HashMap::new();
    if arguments.with_c {
        let entries = bulk::all_entries(program)?;
        // What is not complete is told by the text itself.
        bulk::decompile(program, &entries, arguments.timeout * 1000, |answer| {
            texts.insert(text(answer, "entry").to_owned(), text(answer, "c").to_owned());
            Ok(true)
        })?;
    }
    program.each("function.list", json!({ "filter": { "external": false } }), |row| {
        let mut row = row.clone();
        if let Some(c) = texts.remove(text(&row, "entry")) {
            row["c"] = json!(c);
        }
        put(&row)
    })
}

/// Rows that are listed function by function.
fn of_functions(
    program: &Program,
    put: &mut impl FnMut(&Value) -> anyhow::Result<bool>,
    ask: impl Fn(&str) -> (&'static str, Value),
) -> anyhow::Result<()> {
    for entry in bulk::all_entries(program)? {
        let (method, params) = ask(&entry);
        program.each(method, params, |row| {
            let mut row = row.clone();
            row["caller"] = json!(entry);
            put(&row)
        })?;
    }
    Ok(())
}

fn in_one(program: &Program, arguments: &Arguments) -> anyhow::Result<()> {
    whole::file(&arguments.output, |file| {
        let mut open = "";
        each(program, arguments, |table, row| {
            match (open == table.name, open.is_empty()) {
                (true, _) => writeln!(file, ",")?,
                (false, true) => write!(file, "{{\n{:?}: [\n", table.name)?,
                (false, false) => write!(file, "\n],\n{:?}: [\n", table.name)?,
            }
            open = table.name;
            write!(file, "{}", Value::Object(row)).map_err(Into::into)
        })?;
        writeln!(file, "\n]}}").map_err(Into::into)
    })
}

fn in_lines(program: &Program, arguments: &Arguments) -> anyhow::Result<()> {
    whole::file(&arguments.output, |file| {
        each(program, arguments, |table, row| {
            let mut line = Map::from_iter([("table".to_owned(), json!(table.name))]);
            line.extend(row);
            writeln!(file, "{}", Value::Object(line)).map_err(Into::into)
        })
    })
}

fn in_database(program: &Program, arguments: &Arguments) -> anyhow::Result<()> {
    whole::at(&arguments.output, |beside| {
        let mut database = Connection::open(beside).context("the database cannot be made")?;
        let written = database.transaction().context("the database cannot be written")?;
        for table in TABLES {
            let columns: Vec<String> =
                table.columns.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            written.execute_batch(&format!(
                "CREATE TABLE {} ({})",
                table.name,
                columns.join(", ")
            ))?;
        }
        each(program, arguments, |table, row| {
            let places = vec!["?"; table.columns.len()].join(", ");
            let mut insert =
                written.prepare_cached(&format!("INSERT INTO {} VALUES ({places})", table.name))?;
            let cells = table.columns.iter().map(|(column, _)| cell(row.get(*column)));
            insert.execute(params_from_iter(cells))?;
            Ok(())
        })?;
        written.execute_batch(
            "CREATE INDEX functions_by_entry ON functions(entry); CREATE INDEX symbols_by_address ON symbols(address);
             CREATE INDEX xrefs_by_target ON xrefs(to_address); CREATE INDEX calls_by_callee ON calls(callee);",
        )?;
        written.commit().context("the database cannot be written")
    })
}

fn cell(value: Option<&Value>) -> Cell {
    match value {
        None | Some(Value::Null) => Cell::Null,
        Some(Value::Bool(flag)) => Cell::Integer(i64::from(*flag)),
        Some(Value::Number(number)) => {
            number.as_i64().map_or_else(|| Cell::Text(number.to_string()), Cell::Integer)
        }
        Some(Value::String(text)) => Cell::Text(text.clone()),
        Some(other) => Cell::Text(other.to_string()),
    }
}

/// All functions and who calls whom.
fn calls(program: &Program) -> anyhow::Result<Graph> {
    let about = program.call("program.get", json!({}))?;
    let mut graph =
        Graph { heading: format!("calls of {}", text(&about, "name")), ..Graph::default() };
    let mut index = HashMap::new();
    program.each("function.list", json!({ "filter": { "external": false } }), |row| {
        index.insert(text(row, "entry").to_owned(), graph.nodes.len());
        graph.nodes.push(Node {
            title: text(row, "name").to_owned(),
            lines: vec![program.place(text(row, "entry")).to_owned()],
            is_root: false,
        });
        Ok(true)
    })?;
    let mut seen = HashSet::new();
    let entries: Vec<String> = index.keys().cloned().collect();
    for entry in entries {
        let from = index[&entry];
        program.each("function_call.list", json!({ "filter": { "entry": entry } }), |row| {
            if let Some(&to) = index.get(text(row, "entry"))
                && seen.insert((from, to))
            {
                graph.edges.push(Edge { from, to, kind: Kind::Call });
            }
            Ok(true)
        })?;
    }
    graph.edges.sort_by_key(|edge| (edge.from, edge.to));
    Ok(graph)
}

fn picture(program: &Program, place: &Path) -> anyhow::Result<()> {
    let graph = calls(program)?;
    if graph.nodes.len() > MOST_BOXES {
        bail!(
            "{} functions are too many for one picture; write a .dot, or draw graph calls around one of them",
            graph.nodes.len()
        );
    }
    let drawn = super::verbs::graph::guarded(&graph, svg::Theme::Auto)?;
    whole::file(place, |file| file.write_all(drawn.as_bytes()).map_err(Into::into))
}
