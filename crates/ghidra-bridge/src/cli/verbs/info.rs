//! `info`: what a program is, on one screen.

use crate::cli::output::{Output, plain};
use crate::cli::program::{Program, Source, text};
use clap::Args;
use console::Style;
use serde_json::{Map, Value, json};

/// Imports of one library that are named.
const NAMED: usize = 12;

/// Warnings that are shown.
const WARNINGS: usize = 10;

/// `info FILE`
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let program = Program::open(&arguments.source)?;
    let facts = gather(&program)?;
    out.row(&facts, |out| screen(&program, &facts, out))
}

/// Everything that is shown, as the methods answered it.
fn gather(program: &Program) -> anyhow::Result<Value> {
    let exports = json!({ "filter": { "entry_point": true, "external": false } });
    let imports = json!({ "filter": { "external": true, "type": "Function" } });
    let strings = json!({ "filter": { "string": true }, "projection": { "fields": ["length"] } });
    Ok(json!({
        "program": program.call("program.get", json!({}))?,
        "language": program.call("program_language.get", json!({}))?,
        "memory_blocks": program.all("memory_block.list", json!({ "projection": { "fields": ["start", "end", "length", "read", "write", "execute", "initialized"] } }))?,
        "entry_points": program.all("symbol.list", exports)?,
        "imports": program.all("symbol.list", imports)?,
        "string_count": program.all("data_unit.list", strings)?.len(),
        "analysis": program.call("analysis.get", json!({}))?,
    }))
}

fn screen(program: &Program, facts: &Value, out: &Output) -> String {
    let about = &facts["program"];
    let mut lines = Vec::new();
    let mut say = |name: &str, value: String| {
        lines.push(format!("{} {value}", out.paint(&Style::new().bold(), &format!("{name:<10}"))));
    };
    say("File", format!("{} ({} bytes)", plain(&program.shown_path(about)), about["file_size"]));
    say("Format", plain(text(about, "executable_format")));
    let language = &facts["language"];
    say(
        "Processor",
        format!("{} ({} compiler)", text(language, "language_id"), text(about, "compiler_spec_id")),
    );
    say("SHA-256", text(about, "sha256").to_owned());
    say("Image", format!("based at {}", program.place(text(about, "image_base"))));
    if let Some(entry) = entry(program, facts) {
        say("Entry", entry);
    }
    say(
        "Found",
        format!(
            "{} functions, {} symbols, {} strings, {} imports, {} exports",
            about["function_count"],
            about["symbol_count"],
            facts["string_count"],
            count(&facts["imports"]),
            count(&facts["entry_points"]),
        ),
    );
    lines.push(String::new());
    lines.extend(memory(program, facts, out));
    lines.extend(imports(facts, out));
    lines.extend(warnings(facts, out));
    lines.join("\n")
}

fn count(rows: &Value) -> usize {
    rows.as_array().map_or(0, Vec::len)
}

/// Where the program starts.
fn entry(program: &Program, facts: &Value) -> Option<String> {
    let points = facts["entry_points"].as_array()?;
    let names = ["entry", "_start", "main", "WinMain"];
    let named = names.iter().find_map(|name| points.iter().find(|row| row["name"] == **name));
    let row = named.or_else(|| points.first().filter(|_| points.len() == 1))?;
    Some(format!("{} {}", program.place(text(row, "address")), plain(text(row, "name"))))
}

fn memory(program: &Program, facts: &Value, out: &Output) -> Vec<String> {
    let mut blocks: Vec<&Value> = facts["memory_blocks"].as_array().into_iter().flatten().collect();
    let own = |block: &&Value| !text(block, "start").contains("::") && is_memory(program, block);
    blocks.retain(own);
    blocks.sort_by(|left, right| text(left, "start").cmp(text(right, "start")));
    let mut lines = vec![out.paint(&Style::new().bold(), "Memory")];
    for block in blocks {
        let flag = |member: &str, letter| if block[member] == true { letter } else { '-' };
        let flags: String =
            [flag("read", 'r'), flag("write", 'w'), flag("execute", 'x')].into_iter().collect();
        lines.push(format!(
            "  {} {flags} {:>9} {}",
            out.paint(&Style::new().cyan(), program.place(text(block, "start"))),
            block["length"],
            plain(text(block, "name")),
        ));
    }
    lines
}

/// Whether a block lies in the program's memory, and not beside it in the file.
fn is_memory(program: &Program, block: &Value) -> bool {
    !program.place(text(block, "start")).contains(':')
}

fn imports(facts: &Value, out: &Output) -> Vec<String> {
    let mut libraries: Map<String, Value> = Map::new();
    for row in facts["imports"].as_array().into_iter().flatten() {
        let names = libraries.entry(text(row, "namespace")).or_insert_with(|| json!([]));
        if let Some(names) = names.as_array_mut() {
            names.push(row["name"].clone());
        }
    }
    let mut lines = Vec::new();
    if !libraries.is_empty() {
        lines.push(out.paint(&Style::new().bold(), "Imports"));
    }
    for (library, names) in &libraries {
        let names: Vec<&str> =
            names.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let shown = names.iter().take(NAMED).map(|name| plain(name)).collect::<Vec<_>>().join(", ");
        let more = if names.len() > NAMED {
            format!(", ... ({} in all)", names.len())
        } else {
            String::new()
        };
        let library = if library == "<EXTERNAL>" { "any library" } else { library };
        lines.push(format!("  {}: {shown}{more}", plain(library)));
    }
    lines
}

fn warnings(facts: &Value, out: &Output) -> Vec<String> {
    let warnings: Vec<&str> = facts["analysis"]["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut lines = Vec::new();
    if !warnings.is_empty() {
        lines.push(out.paint(&Style::new().bold(), "Warnings"));
    }
    lines.extend(warnings.iter().take(WARNINGS).map(|warning| format!("  {}", plain(warning))));
    if warnings.len() > WARNINGS {
        lines.push(format!("  ... ({} in all)", warnings.len()));
    }
    lines
}
