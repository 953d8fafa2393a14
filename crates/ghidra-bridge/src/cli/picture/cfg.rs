//! The control flow of a function: its basic blocks with their instructions, and how control goes
//! from one to the next.

use super::graph::{Edge, Graph, Kind, Node};
use crate::cli::program::{Program, text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Longest line of a block.
const LONGEST: usize = 72;

/// One instruction, as far as it matters here.
struct Instruction {
    address: String,
    text: String,
    flow: String,
    fall_through: Option<String>,
}

/// The flow of the function at an entry point; of each block at most `lines` instructions.
pub fn graph(program: &Program, entry: &str, lines: usize) -> anyhow::Result<Graph> {
    let function = program.call("function.get", json!({ "selector": { "entry": entry } }))?;
    let instructions = instructions(program, entry)?;
    let jumps = jumps(program, entry, &instructions)?;
    let starts = starts(entry, &instructions, &jumps);
    let blocks = blocks(&instructions, &starts);
    let index: HashMap<&str, usize> =
        blocks.iter().enumerate().map(|(at, block)| (block[0].address.as_str(), at)).collect();
    let mut graph = Graph {
        heading: format!("{} at {}", text(&function, "name"), program.place(entry)),
        ..Graph::default()
    };
    for block in &blocks {
        graph.nodes.push(node(program, entry, block, lines)?);
    }
    for (from, block) in blocks.iter().enumerate() {
        graph.edges.extend(out_of(from, block, &jumps, &index));
    }
    Ok(graph)
}

fn instructions(program: &Program, entry: &str) -> anyhow::Result<Vec<Instruction>> {
    let params = json!({
        "filter": { "function": entry },
        "projection": { "fields": ["text", "flow_type", "fall_through"] },
    });
    let mut found = Vec::new();
    program.each("instruction.list", params, |row| {
        found.push(Instruction {
            address: text(row, "address").to_owned(),
            text: text(row, "text").to_owned(),
            flow: text(row, "flow_type").to_owned(),
            fall_through: row["fall_through"].as_str().map(str::to_owned),
        });
        Ok(true)
    })?;
    Ok(found)
}

/// Where the jumps of the function go, inside of it.
fn jumps(
    program: &Program,
    entry: &str,
    instructions: &[Instruction],
) -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
    let inside: BTreeSet<&str> = instructions.iter().map(|one| one.address.as_str()).collect();
    let mut jumps: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    program.each("reference.list", json!({ "filter": { "from_function": entry } }), |row| {
        let (from, to) = (text(row, "from"), text(row, "to"));
        if text(row, "type").contains("JUMP") && inside.contains(to) && inside.contains(from) {
            jumps.entry(from.to_owned()).or_default().insert(to.to_owned());
        }
        Ok(true)
    })?;
    Ok(jumps)
}

/// Whether control leaves the straight line behind an instruction.
fn branches(instruction: &Instruction) -> bool {
    let flow = instruction.flow.as_str();
    flow.contains("JUMP") || flow.contains("TERMINATOR") || instruction.fall_through.is_none()
}

/// The addresses at which blocks start.
fn starts(
    entry: &str,
    instructions: &[Instruction],
    jumps: &BTreeMap<String, BTreeSet<String>>,
) -> BTreeSet<String> {
    let mut starts: BTreeSet<String> = jumps.values().flatten().cloned().collect();
    starts.insert(entry.to_owned());
    starts.extend(
        instructions.iter().filter(|one| branches(one)).filter_map(|one| one.fall_through.clone()),
    );
    starts
}

/// Instructions block by block. What stands in the slot behind a branch belongs to the branch.
fn blocks<'i>(
    instructions: &'i [Instruction],
    starts: &BTreeSet<String>,
) -> Vec<Vec<&'i Instruction>> {
    let mut blocks: Vec<Vec<&Instruction>> = Vec::new();
    let mut follows = String::new();
    for instruction in instructions {
        let adjoins = follows == instruction.address || follows.is_empty();
        match blocks.last_mut() {
            Some(block) if adjoins && !starts.contains(&instruction.address) => {
                block.push(instruction)
            }
            _ => blocks.push(vec![instruction]),
        }
        follows = match (&instruction.fall_through, branches(instruction)) {
            (Some(next), false) => next.clone(),
            _ => String::new(),
        };
    }
    blocks
}

fn out_of(
    from: usize,
    block: &[&Instruction],
    jumps: &BTreeMap<String, BTreeSet<String>>,
    index: &HashMap<&str, usize>,
) -> Vec<Edge> {
    let mut edges = Vec::new();
    let last = block.iter().rev().find(|one| branches(one)).or(block.last());
    let Some(last) = last else { return edges };
    let targets: Vec<usize> = jumps
        .get(&last.address)
        .into_iter()
        .flatten()
        .filter_map(|to| index.get(to.as_str()).copied())
        .collect();
    let next = last.fall_through.as_deref().and_then(|to| index.get(to).copied());
    let kind = match (last.flow.contains("COMPUTED"), next) {
        (true, _) => Kind::Computed,
        (false, Some(_)) => Kind::Taken,
        (false, None) => Kind::Always,
    };
    edges.extend(targets.iter().map(|&to| Edge { from, to, kind }));
    if let Some(to) = next {
        let kind = if branches(last) && !targets.is_empty() { Kind::Not } else { Kind::Always };
        edges.push(Edge { from, to, kind });
    }
    edges
}

fn node(
    program: &Program,
    entry: &str,
    block: &[&Instruction],
    most: usize,
) -> anyhow::Result<Node> {
    let mut lines = Vec::new();
    for instruction in block.iter().take(most) {
        lines.push(cut(&with_note(program, instruction)?));
    }
    if block.len() > most {
        lines.push(format!("... {} more", block.len() - most));
    }
    let start = &block[0].address;
    Ok(Node { title: program.place(start).to_owned(), lines, is_root: start == entry })
}

/// An instruction with the name or the text that it refers to, where that is outside.
fn with_note(program: &Program, instruction: &Instruction) -> anyhow::Result<String> {
    let filter = json!({ "filter": { "from": instruction.address } });
    let references = program.all("reference.list", filter)?;
    let far =
        |row: &&Value| !text(row, "type").contains("JUMP") && !text(row, "to").starts_with("Stack");
    let note = references.iter().filter(far).find_map(|row| match row["to_text"].as_str() {
        Some(string) => Some(format!("\"{string}\"")),
        None => row["to_symbol"].as_str().map(str::to_owned),
    });
    Ok(match note {
        Some(note) => format!("{}  ; {note}", instruction.text),
        None => instruction.text.clone(),
    })
}

fn cut(line: &str) -> String {
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    line.chars().take(LONGEST - 3).chain("...".chars()).collect()
}
