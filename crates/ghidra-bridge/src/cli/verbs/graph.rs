//! `graph`: the control flow of a function, or the calls around it, as a picture.

use crate::cli::output::Output;
use crate::cli::picture::calls::Direction;
use crate::cli::picture::graph::Graph;
use crate::cli::picture::svg::Theme;
use crate::cli::picture::{calls, cfg, dot, svg};
use crate::cli::program::{Program, Source};
use crate::cli::whole;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Boxes and edges that are laid out; DOT has no limit.
const MOST_BOXES: usize = 1500;
const MOST_EDGES: usize = 4000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Control flow: basic blocks with their instructions
    Cfg,
    /// Calls
    Calls,
}

/// `graph cfg|calls FILE NAME`
#[derive(Args, Debug)]
pub struct Arguments {
    what: What,
    #[command(flatten)]
    source: Source,
    /// A function by its name or any address in it
    #[arg(value_name = "NAME|ADDRESS")]
    function: String,
    /// The picture to write, ending in .svg or .dot (default: SVG to standard output)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Colours of the picture
    #[arg(long, value_name = "THEME", default_value = "auto")]
    theme: Theme,
    /// Calls to follow
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    depth: usize,
    /// Which calls to follow
    #[arg(long, value_name = "DIRECTION", default_value = "callees")]
    direction: Direction,
    /// Instructions shown of each block
    #[arg(long, value_name = "COUNT", default_value_t = 40)]
    lines: usize,
    /// Functions shown of a graph of calls
    #[arg(long, value_name = "COUNT", default_value_t = 150)]
    functions: usize,
}

pub fn run(arguments: &Arguments, out: &mut Output) -> anyhow::Result<()> {
    let is_dot = match arguments.output.as_deref().map(ending) {
        None => false,
        Some(Some("svg")) => false,
        Some(Some("dot" | "gv")) => true,
        Some(_) => bail!("name a file that ends in .svg or .dot"),
    };
    let program = Program::open(&arguments.source)?;
    let entry = program.function_at(&arguments.function)?;
    let graph = match arguments.what {
        What::Cfg => cfg::graph(&program, &entry, arguments.lines)?,
        What::Calls => calls::graph(
            &program,
            &entry,
            arguments.direction,
            arguments.depth,
            arguments.functions.max(1),
        )?,
    };
    let drawn = match is_dot {
        true => dot::draw(&graph),
        false if graph.nodes.len() > MOST_BOXES || graph.edges.len() > MOST_EDGES => bail!(
            "{} boxes and {} edges are too many for a picture; write a .dot, or follow fewer calls",
            graph.nodes.len(),
            graph.edges.len()
        ),
        false => guarded(&graph, arguments.theme)?,
    };
    finish(
        &drawn,
        arguments.output.as_deref(),
        json!({ "boxes": graph.nodes.len(), "edges": graph.edges.len() }),
        out,
    )
}

/// The picture of a graph. The layout is a stranger's work over a stranger's graph.
pub fn guarded(graph: &Graph, theme: Theme) -> anyhow::Result<String> {
    let drawn = catch_unwind(AssertUnwindSafe(|| svg::draw(graph, theme)));
    drawn.ok().context("the picture cannot be laid out; write a .dot")
}

/// The ending of a file's name.
pub fn ending(path: &Path) -> Option<&str> {
    path.extension()?.to_str()
}

/// Writes a picture to its file, or prints it.
pub fn finish(
    drawn: &str,
    place: Option<&Path>,
    mut facts: serde_json::Value,
    out: &mut Output,
) -> anyhow::Result<()> {
    let Some(place) = place else {
        return out.row(&json!({ "picture": drawn }), |_| drawn.trim_end().to_owned());
    };
    whole::file(place, |file| file.write_all(drawn.as_bytes()).map_err(Into::into))?;
    facts["output"] = json!(place.to_string_lossy());
    out.row(&facts, |_| place.display().to_string())
}
