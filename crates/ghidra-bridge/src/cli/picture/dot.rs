//! Graphs in the language of Graphviz, for whoever lays them out there.

use super::graph::Graph;
use crate::cli::output::plain;
use std::fmt::Write;

/// A graph as DOT.
pub fn draw(graph: &Graph) -> String {
    let mut out = format!(
        "digraph {} {{\n  node [shape=box, fontname=\"monospace\"];\n  edge [fontname=\"monospace\"];\n",
        quoted(&graph.heading)
    );
    for (at, node) in graph.nodes.iter().enumerate() {
        let mut label = quoted(&node.title);
        label.pop();
        for line in &node.lines {
            // Left-aligned lines.
            label.push_str("\\l");
            label.push_str(quoted(line).trim_matches('"'));
        }
        label.push_str("\\l\"");
        let style = if node.is_root { ", penwidth=2" } else { "" };
        let _ = writeln!(out, "  n{at} [label={label}{style}];");
    }
    for edge in &graph.edges {
        let _ = writeln!(out, "  n{} -> n{} [class={}];", edge.from, edge.to, edge.kind.word());
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", plain(text).replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn text_stays_inside_of_its_quotes() {
        assert_eq!(quoted("a\"];x\\\n"), "\"a\\\"];x\\\\\\\\n\"");
    }
}
