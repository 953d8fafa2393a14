//! A graph to be drawn: boxes with lines of text, and edges of a few kinds.

/// What an edge stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A branch that is taken.
    Taken,
    /// What follows when a branch is not taken.
    Not,
    /// The only way to go on.
    Always,
    /// One of several ways of a computed jump.
    Computed,
    /// A call.
    Call,
}

impl Kind {
    /// As a word, for styles and attributes.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Taken => "taken",
            Kind::Not => "not",
            Kind::Always => "always",
            Kind::Computed => "computed",
            Kind::Call => "call",
        }
    }
}

/// A box.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its first line.
    pub title: String,
    /// What stands in it.
    pub lines: Vec<String>,
    /// Whether it is what the picture is about.
    pub is_root: bool,
}

/// An edge between two nodes by their place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub kind: Kind,
}

/// A graph with a heading.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub heading: String,
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}
