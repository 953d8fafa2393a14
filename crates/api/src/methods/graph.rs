//! Graphs: the flow inside of a function, and the calls around it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::time::Duration;

use engine::decompiler::Limits;
use engine::{CallGraph, CallKind, flow_graph};
use program::{Address, Function};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{BridgeError, ErrorCode};
use crate::method::{Answer, Method};
use crate::shapes::{EntrySelector, Projection, Reply, Request, ScanWait};
use crate::view::View;

/// Most nodes of an answer.
const MAX_NODES: usize = 1000;
/// Most edges of an answer.
const MAX_EDGES: usize = 4000;
/// Steps when nobody says how many: to neighbours, and between two functions.
const NEIGHBOURS: u32 = 1;
const BETWEEN: u32 = 8;
/// What the C text of the blocks may take.
const C_TEXT: Duration = Duration::from_secs(10);

pub(super) fn methods() -> Vec<Method> {
    vec![
        Method::read(
            "graph.get",
            "Answer a graph: basic blocks of a function (cfg), its callers or callees, or all ways from it to another \
             (paths).",
            get,
        )
        .growing()
        .since("1.1")
        .cost(
            "Grows with the references of the functions that are visited, 20000 at most; a cfg also decompiles the \
             function, for at most 10 s.",
        ),
    ]
}

fn get(view: &View<'_>, request: GraphRequest) -> Answer<Graph> {
    let function = view.function(&request.selector.entry, "/selector/entry")?;
    if request.to.is_some() != (request.kind == GraphKind::Paths) {
        let (code, message) = match request.kind {
            GraphKind::Paths => (ErrorCode::MissingField, "paths need the entry where they end"),
            _ => (ErrorCode::InvalidRequest, "only paths have an end; ask for kind paths"),
        };
        return Err(BridgeError::new(code, message).at("/to"));
    }
    let mut graph = match request.kind {
        GraphKind::Cfg => flow(view, function),
        GraphKind::Callers => around(view, function, request.depth.unwrap_or(NEIGHBOURS), false),
        GraphKind::Callees => around(view, function, request.depth.unwrap_or(NEIGHBOURS), true),
        GraphKind::Paths => {
            let to = view.function(request.to.as_deref().unwrap_or_default(), "/to")?;
            between(view, function, to, request.depth.unwrap_or(BETWEEN))
        }
    };
    graph.kind = request.kind.word();
    if request.format == Some(GraphFormat::Dot) {
        graph.dot = Some(dot(&graph));
        (graph.nodes, graph.edges) = (None, None);
    }
    Ok(graph)
}

/// The basic blocks of a function, with the first line of C of each.
fn flow(view: &View<'_>, function: &Function) -> Graph {
    let mut found = flow_graph(&view.program, function);
    let truncated = found.blocks.len() > MAX_NODES || found.edges.len() > MAX_EDGES;
    found.blocks.truncate(MAX_NODES);
    let kept: BTreeSet<Address> = found.blocks.iter().map(|block| block.start).collect();
    found.edges.retain(|edge| kept.contains(&edge.from) && kept.contains(&edge.to));
    found.edges.truncate(MAX_EDGES);
    let limits = Limits { timeout: C_TEXT, ..Limits::default() };
    let session = view.bridge.session();
    let text = session.decompile(&view.program, function.entry, &limits, &view.cx.cancel.flag());
    let lines: Vec<&str> = text.c.lines().collect();
    let mut first: BTreeMap<Address, u32> = BTreeMap::new();
    for token in &text.tokens {
        if let Some(address) = token.address {
            let line = first.entry(address).or_insert(token.line);
            *line = token.line.min(*line);
        }
    }
    let nodes = found.blocks.iter().map(|block| {
        let line = first.range(block.start..=block.end).map(|(_, line)| *line).min();
        let line = line.and_then(|line| lines.get((line as usize).checked_sub(1)?));
        Node {
            id: view.print(block.start),
            end: Some(view.print(block.end)),
            instruction_count: Some(block.instructions.into()),
            c: line.map(|line| line.trim().to_owned()),
            ..Node::default()
        }
    });
    let edges = found.edges.iter().map(|edge| Edge {
        from: view.print(edge.from),
        to: view.print(edge.to),
        kind: edge.kind,
        call_count: None,
    });
    Graph {
        entry: view.print(function.entry),
        nodes: Some(nodes.collect()),
        edges: Some(edges.collect()),
        truncated: truncated.then_some(true),
        ..Graph::default()
    }
}

/// The functions within some steps of one.
fn around(view: &View<'_>, function: &Function, depth: u32, forward: bool) -> Graph {
    let calls = CallGraph::new(&view.program);
    let reached = calls.reach(function.entry, depth, forward);
    let mut nearest: Vec<(u32, Address)> =
        reached.distance.iter().map(|(entry, distance)| (*distance, *entry)).collect();
    nearest.sort_unstable();
    let cut = reached.is_cut || nearest.len() > MAX_NODES;
    nearest.truncate(MAX_NODES);
    let distance = nearest.into_iter().map(|(distance, entry)| (entry, distance)).collect();
    called(view, function, &calls, &distance, cut)
}

/// The functions on the ways from one to another that take no more steps than allowed.
fn between(view: &View<'_>, from: &Function, to: &Function, depth: u32) -> Graph {
    let calls = CallGraph::new(&view.program);
    let ahead = calls.reach(from.entry, depth, true);
    let behind = calls.reach(to.entry, depth, false);
    let mut on_a_way: Vec<(u32, Address)> = Vec::new();
    for (entry, distance) in &ahead.distance {
        let rest = behind.distance.get(entry);
        on_a_way.extend(
            rest.filter(|rest| distance + *rest <= depth).map(|rest| (distance + rest, *entry)),
        );
    }
    on_a_way.sort_unstable();
    let cut = ahead.is_cut || behind.is_cut || on_a_way.len() > MAX_NODES;
    on_a_way.truncate(MAX_NODES);
    let distance = on_a_way.iter().map(|(_, entry)| (*entry, ahead.distance[entry])).collect();
    let mut graph = called(view, from, &calls, &distance, cut);
    graph.to = Some(view.print(to.entry));
    graph.shortest = ahead.distance.get(&calls.meant(to.entry)).copied().filter(|n| *n <= depth);
    graph
}

/// The calls between some functions.
fn called(
    view: &View<'_>,
    root: &Function,
    calls: &CallGraph<'_>,
    distance: &HashMap<Address, u32>,
    cut: bool,
) -> Graph {
    let program = &view.program;
    let mut entries: Vec<Address> = distance.keys().copied().collect();
    entries.sort_unstable_by_key(|entry| (distance[entry], *entry));
    let nodes = entries.iter().map(|entry| Node {
        id: view.print(*entry),
        name: Some(program.function_name(*entry)),
        distance: distance.get(entry).map(|distance| u64::from(*distance)),
        external: Some(entry.space == program::SpaceId::EXTERNAL),
        ..Node::default()
    });
    let mut edges = Vec::new();
    for function in entries.iter().filter_map(|entry| program.functions.at(*entry)) {
        let inside = calls.callees(function).into_iter();
        let inside = inside.filter(|((callee, _), _)| distance.contains_key(callee));
        edges.extend(inside.map(|((callee, kind), sites)| Edge {
            from: view.print(function.entry),
            to: view.print(callee),
            kind: match kind {
                CallKind::Call => "call",
                CallKind::TailCall => "tail_call",
            },
            call_count: Some(sites.len() as u64),
        }));
    }
    let truncated = cut || edges.len() > MAX_EDGES;
    edges.truncate(MAX_EDGES);
    Graph {
        entry: view.print(calls.meant(root.entry)),
        nodes: Some(nodes.collect()),
        edges: Some(edges),
        truncated: truncated.then_some(true),
        ..Graph::default()
    }
}

/// The graph in the language of Graphviz.
fn dot(graph: &Graph) -> String {
    let mut out = String::from("digraph g {\n  node [shape=box];\n");
    for node in graph.nodes.iter().flatten() {
        let mut label = node.name.clone().unwrap_or_else(|| node.id.clone());
        if let Some(c) = &node.c {
            label = format!("{label}\n{c}");
        }
        let _ = writeln!(out, "  {} [label={}];", quoted(&node.id), quoted(&label));
    }
    for edge in graph.edges.iter().flatten() {
        let (from, to) = (quoted(&edge.from), quoted(&edge.to));
        let _ = writeln!(out, "  {from} -> {to} [label={}];", quoted(edge.kind));
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// Which graph to answer.
#[derive(Debug, Deserialize, JsonSchema)]
struct GraphRequest {
    /// What its nodes and edges are.
    kind: GraphKind,
    /// The function that it begins at.
    selector: EntrySelector,
    /// For `paths`: the entry point of the function where they end.
    #[schemars(length(min = 1))]
    to: Option<String>,
    /// How many calls away; when absent 1, and 8 for `paths`. A cfg is always whole.
    #[schemars(range(min = 1, max = 32))]
    depth: Option<u32>,
    /// Nodes and edges, or the language of Graphviz; `json` when absent.
    format: Option<GraphFormat>,
    /// How long to wait for the end of analysis.
    #[allow(dead_code)] // read from the JSON before decoding
    scan: Option<ScanWait>,
    /// Which members to answer; all when absent.
    #[allow(dead_code)] // read from the JSON before decoding
    projection: Option<Projection>,
}

impl Request for GraphRequest {}

/// Kinds of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GraphKind {
    Callees,
    Callers,
    Cfg,
    Paths,
}

impl GraphKind {
    fn word(self) -> &'static str {
        match self {
            GraphKind::Callees => "callees",
            GraphKind::Callers => "callers",
            GraphKind::Cfg => "cfg",
            GraphKind::Paths => "paths",
        }
    }
}

/// Forms of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GraphFormat {
    Dot,
    Json,
}

/// Nodes and the edges between them.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Graph {
    /// The function that it begins at; for a stub, what it passes control to.
    entry: String,
    /// What it is, as asked.
    kind: &'static str,
    /// Where the ways end.
    to: Option<String>,
    /// The fewest calls from `entry` to `to`; absent when there is no way within the depth.
    shortest: Option<u32>,
    /// The nodes: blocks in address order, functions by distance.
    #[schemars(length(max = 1000))]
    nodes: Option<Vec<Node>>,
    /// The edges between these nodes.
    #[schemars(length(max = 4000))]
    edges: Option<Vec<Edge>>,
    /// The graph in the language of Graphviz, when that was asked for.
    dot: Option<String>,
    /// True when nodes or edges were left out: 1000 and 4000 are answered, the nearest first.
    truncated: Option<bool>,
}

impl Reply for Graph {
    const IDENTITY: &'static [&'static str] = &["entry"];
}

/// A basic block or a function.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "graph_node")]
struct Node {
    /// The first address of the block, or the entry point of the function.
    id: String,
    /// The function's name.
    name: Option<String>,
    /// How many calls away the function is from where the graph begins.
    distance: Option<u64>,
    /// True for a function of another file.
    external: Option<bool>,
    /// The last address of the block.
    end: Option<String>,
    /// How many instructions the block has.
    instruction_count: Option<u64>,
    /// The first line of C that comes of the block.
    c: Option<String>,
}

/// How control gets from a node to another.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "graph_edge")]
struct Edge {
    /// The `id` of a node.
    from: String,
    /// The `id` of a node.
    to: String,
    /// `call` or `tail_call` between functions; between blocks a type of flow, as
    /// `reference.list` has them, or `FALL_THROUGH`.
    kind: &'static str,
    /// From how many places the function calls the other.
    call_count: Option<u64>,
}
