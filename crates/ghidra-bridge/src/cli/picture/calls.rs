//! Who calls whom around a function, some calls deep.

use super::graph::{Edge, Graph, Kind, Node};
use crate::cli::program::{Program, text};
use serde_json::json;
use std::collections::{HashMap, VecDeque};

/// Which calls are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Direction {
    /// What the function calls
    #[default]
    Callees,
    /// Who calls the function
    Callers,
}

/// The graph of calls from a function, or to it. It stops at `most` functions, and says so.
pub fn graph(
    program: &Program,
    entry: &str,
    direction: Direction,
    depth: usize,
    most: usize,
) -> anyhow::Result<Graph> {
    let function = program.call("function.get", json!({ "selector": { "entry": entry } }))?;
    let name = text(&function, "name").to_owned();
    let word = match direction {
        Direction::Callees => "callees",
        Direction::Callers => "callers",
    };
    let mut graph = Graph::default();
    let mut index: HashMap<String, usize> = HashMap::new();
    let mut queue = VecDeque::from([(entry.to_owned(), 0)]);
    let mut left_out = 0;
    index.insert(entry.to_owned(), 0);
    graph.nodes.push(node(program, entry, &name, true));
    while let Some((from, level)) = queue.pop_front() {
        if level == depth || (level > 0 && is_thunk(program, &from)?) {
            continue;
        }
        let at = index[&from];
        let filter = json!({ "filter": { "entry": from, "direction": word } });
        program.each("function_call.list", filter, |row| {
            let entry = text(row, "entry");
            let to = match index.get(entry) {
                Some(&known) => known,
                None if graph.nodes.len() >= most => {
                    left_out += 1;
                    return Ok(true);
                }
                None => {
                    graph.nodes.push(node(program, entry, text(row, "name"), false));
                    index.insert(entry.to_owned(), graph.nodes.len() - 1);
                    queue.push_back((entry.to_owned(), level + 1));
                    graph.nodes.len() - 1
                }
            };
            let (from, to) = if direction == Direction::Callees { (at, to) } else { (to, at) };
            let edge = Edge { from, to, kind: Kind::Call };
            if !graph.edges.contains(&edge) {
                graph.edges.push(edge);
            }
            Ok(true)
        })?;
    }
    let more = if left_out > 0 {
        format!("; {left_out} calls lead to functions that are left out")
    } else {
        String::new()
    };
    graph.heading = format!("{word} of {name}, {depth} deep{more}");
    Ok(graph)
}

/// Whether a function only leads to another: to its own import, as a rule.
fn is_thunk(program: &Program, entry: &str) -> anyhow::Result<bool> {
    let function = program.call("function.get", json!({ "selector": { "entry": entry } }))?;
    Ok(function["thunk"] == true)
}

fn node(program: &Program, entry: &str, name: &str, is_root: bool) -> Node {
    Node { title: name.to_owned(), lines: vec![program.place(entry).to_owned()], is_root }
}
