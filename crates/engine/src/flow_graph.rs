//! The flow graph of a function: basic blocks, and how control gets from one to another.

use std::collections::BTreeSet;

use program::{Address, Function, Program};

/// A run of instructions that control enters at its start and leaves at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasicBlock {
    /// Its first address.
    pub start: Address,
    /// Its last address.
    pub end: Address,
    /// How many instructions it has, delay slots included.
    pub instructions: u32,
}

/// How control gets from a block to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowEdge {
    /// The start of the block that it leaves.
    pub from: Address,
    /// The start of the block that it enters.
    pub to: Address,
    /// Ghidra's name of the kind: `FALL_THROUGH`, `CONDITIONAL_JUMP`, ...
    pub kind: &'static str,
}

/// Blocks in address order and edges between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowGraph {
    /// The blocks.
    pub blocks: Vec<BasicBlock>,
    /// The edges; those that leave the function are left out.
    pub edges: Vec<FlowEdge>,
}

/// The flow graph of a function, as its instructions and references say. Calls do not end a
/// block. Cost: its instructions and references.
#[must_use]
pub fn flow_graph(program: &Program, function: &Function) -> FlowGraph {
    let leaders = leaders(program, function);
    let mut graph = FlowGraph::default();
    for range in function.body.ranges() {
        let mut open: Option<BasicBlock> = None;
        for (at, instruction) in program.listing.instructions.range(range.start..=range.end) {
            let end = at.checked_add(u64::from(instruction.length).max(1) - 1).unwrap_or(*at);
            if let Some(done) =
                open.take_if(|block| leaders.contains(at) || block.end.checked_add(1) != Some(*at))
            {
                graph.blocks.push(done);
            }
            let block = open.get_or_insert(BasicBlock { start: *at, end, instructions: 0 });
            block.end = end;
            block.instructions += 1;
        }
        graph.blocks.extend(open);
    }
    let edges: BTreeSet<FlowEdge> =
        graph.blocks.iter().flat_map(|block| edges(program, &graph.blocks, block)).collect();
    graph.edges = edges.into_iter().collect();
    graph
}

/// The places where a block begins: where jumps lead and behind what ends a block.
fn leaders(program: &Program, function: &Function) -> BTreeSet<Address> {
    let mut leaders = BTreeSet::from([function.entry]);
    for range in function.body.ranges() {
        for (at, instruction) in program.listing.instructions.range(range.start..=range.end) {
            let flow = instruction.effective_flow();
            if flow.is_jump() || flow.is_terminal() {
                let after = at.checked_add(u64::from(instruction.length));
                leaders.extend(behind_slots(program, after));
            }
        }
        for reference in program.references.between(range.start, range.end) {
            if reference.info.kind.is_jump() && function.body.contains(reference.to) {
                leaders.insert(reference.to);
            }
        }
    }
    leaders
}

/// The place behind the delay slots that stand at a place.
fn behind_slots(program: &Program, at: Option<Address>) -> Option<Address> {
    let mut at = at?;
    while let Some(slot) = program.listing.instructions.get(&at).filter(|i| i.in_delay_slot) {
        at = at.checked_add(u64::from(slot.length).max(1))?;
    }
    Some(at)
}

fn edges(program: &Program, blocks: &[BasicBlock], block: &BasicBlock) -> Vec<FlowEdge> {
    let holding = |place: Address| {
        let after = blocks.partition_point(|block| block.start <= place);
        let found = blocks.get(after.checked_sub(1)?)?;
        (place <= found.end).then_some(found.start)
    };
    let mut found = Vec::new();
    for reference in program.references.between(block.start, block.end) {
        if let (true, Some(to)) = (reference.info.kind.is_jump(), holding(reference.to)) {
            found.push(FlowEdge { from: block.start, to, kind: reference.info.kind.name() });
        }
    }
    let inside = program.listing.instructions.range(block.start..=block.end);
    let last = inside.rev().find(|(_, instruction)| !instruction.in_delay_slot);
    let next = last.and_then(|(at, last)| program.listing.fall_through(*at, last));
    if let Some(to) = next.and_then(holding) {
        found.push(FlowEdge { from: block.start, to, kind: "FALL_THROUGH" });
    }
    found
}
