//! Values of a stretch of code as expressions over what is unknown at its start.

use crate::evaluate::{binary, unary};
use crate::values::{mask, sign_extend};
use decompiler::{Opcode, PcodeOp, VarSpace, Varnode};
use foldhash::HashMap;
use program::{Address, Program};

/// Most expressions kept for one stretch of code.
const NODES: usize = 2048;
/// Deepest nesting evaluated.
const DEPTH: u32 = 64;

/// An expression, by number; later ones never occur in earlier ones.
pub(crate) type NodeId = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    Constant(u64),
    /// Something unknown of a size, told apart by a number.
    Unknown(u32, u32),
    Operation(Opcode, NodeId, Option<NodeId>, [u32; 3]),
    /// What memory holds; loads across a store may differ.
    Load(NodeId, u32, u32),
}

/// Expressions, and what registers and temporaries hold.
#[derive(Default)]
pub(crate) struct Expressions {
    nodes: Vec<Node>,
    known: HashMap<Node, NodeId>,
    places: HashMap<(VarSpace, u64, u32), NodeId>,
    /// Registers as they were at the start, by what stands for them.
    origins: HashMap<NodeId, Varnode>,
    /// Registers that were written, as offsets from and to.
    written: Vec<(u64, u64)>,
    unknowns: u32,
    stores: u32,
    /// Those of them that may hit places of fixed addresses: all but those to the stack frame.
    fixed_stores: u32,
    /// Where the stack pointer lies among registers.
    stack_pointer: Option<u64>,
    stored: Vec<Stored>,
    big_endian: bool,
    /// Bytes of a whole register.
    word: u32,
}

/// A value that was put into memory, at a distance from something else.
struct Stored {
    base: NodeId,
    distance: u64,
    size: u32,
    value: NodeId,
}

impl Expressions {
    /// Expressions over the registers of a processor of some bytes a register.
    pub(crate) fn new(big_endian: bool, word: u32, stack_pointer: Option<u64>) -> Expressions {
        Expressions { big_endian, word, stack_pointer, ..Expressions::default() }
    }

    /// What memory holds at an address, as far as nothing was stored since.
    fn load(&mut self, address: NodeId, size: u32) -> NodeId {
        let fixed = matches!(self.nodes.get(address as usize), Some(Node::Constant(_)));
        let stores = if fixed { self.fixed_stores } else { self.stores };
        self.node(Node::Load(address, size, stores))
    }

    fn node(&mut self, node: Node) -> NodeId {
        if let Some(known) = self.known.get(&node) {
            return *known;
        }
        if self.nodes.len() >= NODES {
            return 0;
        }
        let id = self.nodes.len() as NodeId;
        self.nodes.push(node);
        self.known.insert(node, id);
        id
    }

    fn unknown(&mut self, size: u32) -> NodeId {
        self.unknowns += 1;
        self.node(Node::Unknown(self.unknowns, size))
    }

    /// Starts the next instruction: temporaries do not outlive one.
    pub(crate) fn next_instruction(&mut self) {
        self.places.retain(|(space, _, _), _| *space != VarSpace::Unique);
    }

    /// The expression of an operation's input.
    pub(crate) fn get(&mut self, place: &Varnode) -> NodeId {
        if place.is_constant() {
            return self.node(Node::Constant(place.offset & mask(place.size)));
        }
        if place.space == VarSpace::Ram {
            let address = self.node(Node::Constant(place.offset));
            return self.load(address, place.size);
        }
        let key = (place.space, place.offset, place.size);
        if let Some(known) = self.places.get(&key) {
            return *known;
        }
        let wide = self.places.iter().find(|((space, offset, size), _)| {
            let same = *space == place.space && *offset == place.offset;
            same && *size > place.size && !self.big_endian
        });
        let id = match wide.map(|((_, _, size), id)| (*size, *id)) {
            Some((size, whole)) => self.low_part(whole, (place.size, size)),
            None => self.at_start(place),
        };
        self.places.insert(key, id);
        id
    }

    /// What a place that nothing is known of holds since the start. Parts of a register are cut
    /// out of the whole one, so that what bounds one of its parts bounds the others.
    fn at_start(&mut self, place: &Varnode) -> NodeId {
        let end = place.offset.saturating_add(u64::from(place.size));
        let changed = |end: u64| self.written.iter().any(|(f, t)| *f < end && place.offset < *t);
        if place.space != VarSpace::Register || changed(end) {
            return self.unknown(place.size);
        }
        let whole = Varnode { size: self.word, ..*place };
        let starts = !self.big_endian && place.offset.is_multiple_of(u64::from(self.word.max(1)));
        if place.size < self.word && starts && !changed(place.offset + u64::from(self.word)) {
            let id = self.unknown(self.word);
            self.origins.insert(id, whole);
            self.places.insert((whole.space, whole.offset, whole.size), id);
            return self.low_part(id, (place.size, self.word));
        }
        let id = self.unknown(place.size);
        self.origins.insert(id, *place);
        id
    }

    /// The first bytes of something wider.
    fn low_part(&mut self, whole: NodeId, (size, of): (u32, u32)) -> NodeId {
        let low = self.node(Node::Constant(0));
        self.node(Node::Operation(Opcode::Subpiece, whole, Some(low), [size, of, 4]))
    }

    /// Gives a register its value at the start, before anything is applied.
    pub(crate) fn assume(&mut self, register: &Varnode, value: u64) {
        let id = self.node(Node::Constant(value & mask(register.size)));
        self.places.insert((register.space, register.offset, register.size), id);
    }

    /// The registers whose values at the start an expression depends on.
    pub(crate) fn registers_at_start(&self, root: NodeId) -> Vec<Varnode> {
        let parts = self.parts(root).into_iter();
        parts.filter_map(|part| self.origins.get(&part).copied()).collect()
    }

    fn put(&mut self, place: &Varnode, id: NodeId) {
        if place.space == VarSpace::Ram {
            self.forget_memory();
            return;
        }
        let end = place.offset.saturating_add(u64::from(place.size));
        if place.space == VarSpace::Register {
            self.written.push((place.offset, end));
        }
        self.places.retain(|(space, offset, size), _| {
            *space != place.space
                || *offset >= end
                || offset.saturating_add(u64::from(*size)) <= place.offset
        });
        self.places.insert((place.space, place.offset, place.size), id);
    }

    /// Applies one operation that does not branch.
    pub(crate) fn apply(&mut self, op: &PcodeOp) {
        if op.opcode == Opcode::Store {
            self.store(op);
        }
        let Some(output) = op.output else { return };
        let id = self.result(op, output.size).unwrap_or_else(|| self.unknown(output.size));
        self.put(&output, id);
    }

    /// Forgets what one operation writes: it may or may not happen.
    pub(crate) fn apply_maybe(&mut self, op: &PcodeOp) {
        if op.opcode == Opcode::Store {
            self.forget_memory();
        }
        if let Some(output) = op.output {
            let id = self.unknown(output.size);
            self.put(&output, id);
        }
    }

    fn forget_memory(&mut self) {
        self.stores += 1;
        self.fixed_stores += 1;
        self.stored.clear();
    }

    /// Remembers what a store puts where; compilers that do not optimise keep an index in the
    /// stack frame between its check and its use. What lies at distances from something else
    /// may be the same memory, and is forgotten.
    fn store(&mut self, op: &PcodeOp) {
        self.stores += 1;
        let (Some(to), Some(from), true) = (op.inputs.get(1), op.inputs.get(2), op.is_ram_access())
        else {
            self.fixed_stores += 1;
            return self.stored.clear();
        };
        let (address, value, size) = (self.get(to), self.get(from), from.size);
        let (base, distance) = self.apart(address);
        let origin = self.origins.get(&base).map(|register| register.offset);
        let in_frame = origin.is_some() && origin == self.stack_pointer;
        self.fixed_stores += u32::from(!in_frame);
        self.stored.retain(|other| {
            let apart = distance.wrapping_sub(other.distance);
            let overlap = apart < u64::from(other.size) || apart.wrapping_neg() < u64::from(size);
            other.base == base && !overlap
        });
        self.stored.push(Stored { base, distance, size, value });
    }

    /// What was put at an address, as far as it fills the size wanted.
    fn stored_at(&mut self, address: NodeId, size: u32) -> Option<NodeId> {
        let (base, distance) = self.apart(address);
        let here = |s: &&Stored| s.base == base && s.distance == distance && s.size >= size;
        let &Stored { value, size: whole, .. } = self.stored.iter().find(here)?;
        if whole == size {
            return Some(value);
        }
        let low = self.node(Node::Constant(0));
        let part = Node::Operation(Opcode::Subpiece, value, Some(low), [size, whole, 4]);
        (!self.big_endian).then(|| self.node(part))
    }

    /// An address as a distance from something that is no sum with a number.
    fn apart(&self, address: NodeId) -> (NodeId, u64) {
        let (mut base, mut distance) = (address, 0u64);
        for _ in 0..DEPTH {
            let Some(Node::Operation(opcode, a, Some(b), _)) = self.nodes.get(base as usize) else {
                break;
            };
            let number = |id: &NodeId| match self.nodes.get(*id as usize) {
                Some(Node::Constant(number)) => Some(*number),
                _ => None,
            };
            (base, distance) = match (opcode, number(a), number(b)) {
                (Opcode::IntAdd, _, Some(by)) => (*a, distance.wrapping_add(by)),
                (Opcode::IntAdd, Some(by), _) => (*b, distance.wrapping_add(by)),
                (Opcode::IntSub, _, Some(by)) => (*a, distance.wrapping_sub(by)),
                _ => break,
            };
        }
        (base, distance)
    }

    fn result(&mut self, op: &PcodeOp, size: u32) -> Option<NodeId> {
        let first = op.inputs.first()?;
        match op.opcode {
            Opcode::Load => {
                let address = self.get(op.inputs.get(1).filter(|_| op.is_ram_access())?);
                let stored = self.stored_at(address, size);
                Some(stored.unwrap_or_else(|| self.load(address, size)))
            }
            Opcode::Copy => Some(self.get(first)),
            Opcode::CallOther => None,
            opcode if op.inputs.len() <= 2 => {
                let a = self.get(first);
                let second = op.inputs.get(1);
                let b = second.map(|second| self.get(second));
                let sizes = [size, first.size, second.map_or(0, |second| second.size)];
                Some(self.node(Node::Operation(opcode, a, b, sizes)))
            }
            _ => None,
        }
    }

    /// The parts of an expression, itself included, the outermost first.
    pub(crate) fn parts(&self, root: NodeId) -> Vec<NodeId> {
        self.parts_down(root, true)
    }

    /// The parts of an expression; those of addresses that it loads from only if asked for.
    fn parts_down(&self, root: NodeId, into_loads: bool) -> Vec<NodeId> {
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = vec![root];
        let mut parts = Vec::new();
        while let Some(id) = stack.pop() {
            let Some(seen) = seen.get_mut(id as usize) else { continue };
            if std::mem::replace(seen, true) {
                continue;
            }
            parts.push(id);
            match self.nodes[id as usize] {
                Node::Operation(_, a, b, _) => stack.extend(std::iter::once(a).chain(b)),
                Node::Load(address, _, _) if into_loads => stack.push(address),
                Node::Load(..) | Node::Constant(_) | Node::Unknown(..) => {}
            }
        }
        parts.sort_unstable_by(|a, b| b.cmp(a));
        parts
    }

    /// The value that is told of a case when a part has the value given: that of what the part
    /// was made of by adding or taking away a constant, by widening or by cutting off its head.
    pub(crate) fn before_offset(&self, part: NodeId, value: u64) -> u64 {
        let (mut part, mut value, mut bits) = (part, value, u64::MAX);
        let mut widened = false;
        for _ in 0..DEPTH {
            let Some(Node::Operation(opcode, inner, by, [size, from, _])) =
                self.nodes.get(part as usize).copied()
            else {
                break;
            };
            let by = by.and_then(|by| match self.nodes.get(by as usize) {
                Some(Node::Constant(by)) => Some(*by),
                _ => None,
            });
            match (opcode, by) {
                (Opcode::IntAdd, Some(by)) => return value.wrapping_sub(by) & mask(size) & bits,
                (Opcode::IntSub, Some(by)) => return value.wrapping_add(by) & mask(size) & bits,
                (Opcode::Subpiece, Some(0)) => bits &= mask(size),
                (Opcode::IntZExt | Opcode::IntSExt, None) if !widened => {
                    widened = true;
                    bits &= mask(from);
                    value &= bits;
                }
                _ => break,
            }
            part = inner;
        }
        value
    }

    /// The size of a part's value in bytes.
    pub(crate) fn size(&self, part: NodeId) -> u32 {
        match self.nodes.get(part as usize) {
            Some(
                Node::Unknown(_, size)
                | Node::Operation(_, _, _, [size, _, _])
                | Node::Load(_, size, _),
            ) => *size,
            Some(Node::Constant(_)) | None => 8,
        }
    }

    /// The numbers in an expression.
    pub(crate) fn constants(&self, root: NodeId) -> Vec<u64> {
        let parts = self.parts(root).into_iter();
        let number = |part: NodeId| match self.nodes.get(part as usize) {
            Some(Node::Constant(number)) => Some(*number),
            _ => None,
        };
        parts.filter_map(number).collect()
    }

    /// Whether a part is a constant.
    pub(crate) fn is_constant(&self, id: NodeId) -> bool {
        matches!(self.nodes.get(id as usize), Some(Node::Constant(_)))
    }

    /// Whether an expression reads memory at an address made of a register's value at the start
    /// and a number for which `is_table` answers true, or of a scaled index. What comes out of
    /// other memory is no index that anything before the start could have bounded.
    pub(crate) fn loads_from(&self, root: NodeId, is_table: impl Fn(u64) -> bool) -> bool {
        let table = |id: &NodeId| match self.nodes[*id as usize] {
            Node::Constant(number) => is_table(number),
            Node::Operation(opcode, ..) => matches!(opcode, Opcode::IntMult | Opcode::IntLeft),
            _ => false,
        };
        let mut addresses = self.loads(&self.parts(root));
        while let Some(address) = addresses.pop() {
            let parts = self.parts_down(address, false);
            if parts.iter().any(table) {
                if parts.iter().any(|id| self.origins.contains_key(id)) {
                    return true;
                }
                addresses.extend(self.loads(&parts));
            }
        }
        false
    }

    /// The addresses that some parts load from.
    fn loads(&self, parts: &[NodeId]) -> Vec<NodeId> {
        let address = |id: &NodeId| match self.nodes[*id as usize] {
            Node::Load(address, _, _) => Some(address),
            _ => None,
        };
        parts.iter().filter_map(address).collect()
    }

    /// The number that a part is masked with, if it is the result of a mask, and whether the code
    /// masks it with an operation. One byte of a larger number is masked as well, but what comes
    /// out of a table has the bounds of that table.
    pub(crate) fn masked(&self, id: NodeId) -> Option<(u64, bool)> {
        match *self.nodes.get(id as usize)? {
            Node::Operation(Opcode::IntZExt, byte, None, [_, 1, _]) => {
                let far = |number: &u64| (0x1000..u64::MAX - 0xfff).contains(number);
                let from_table = match self.nodes[byte as usize] {
                    Node::Load(address, ..) => self.constants(address).iter().any(far),
                    _ => false,
                };
                (!from_table).then_some((0xff, false))
            }
            Node::Operation(Opcode::IntAnd, _, Some(bits), _) => match self.nodes[bits as usize] {
                Node::Constant(bits) => Some((bits, true)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Evaluates expressions with one of their parts given.
pub(crate) struct Evaluation<'a> {
    expressions: &'a Expressions,
    program: &'a Program,
    /// Known values, each with the round in which it was found.
    values: Vec<(u32, Option<u64>)>,
    round: u32,
    loads: Vec<(Address, u32)>,
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(expressions: &'a Expressions, program: &'a Program) -> Evaluation<'a> {
        let values = vec![(0, None); expressions.nodes.len()];
        Evaluation { expressions, program, values, round: 1, loads: Vec::new() }
    }

    /// Gives a part a value, and forgets what followed from an earlier one.
    pub(crate) fn set(&mut self, part: NodeId, value: u64) {
        self.round += 1;
        self.loads.clear();
        if let Some(slot) = self.values.get_mut(part as usize) {
            *slot = (self.round, Some(value));
        }
    }

    /// What was read from memory since a part was given a value.
    pub(crate) fn take_loads(&mut self) -> Vec<(Address, u32)> {
        std::mem::take(&mut self.loads)
    }

    /// The value of an expression, if it depends on nothing unknown.
    pub(crate) fn value(&mut self, id: NodeId) -> Option<u64> {
        self.evaluate(id, 0)
    }

    fn evaluate(&mut self, id: NodeId, depth: u32) -> Option<u64> {
        if depth > DEPTH {
            return None;
        }
        let (round, known) = *self.values.get(id as usize)?;
        if round == self.round {
            return known;
        }
        let value = match self.expressions.nodes[id as usize] {
            Node::Constant(value) => Some(value),
            Node::Unknown(..) => None,
            Node::Load(address, size, _) => self.evaluate(address, depth + 1).and_then(|at| {
                let at = Address::ram(at);
                // Tables may be writable, as those of object files are until they are linked.
                let lasts = !self.expressions.is_constant(address)
                    || crate::explore::is_constant(self.program, at);
                self.loads.push((at, size));
                lasts.then(|| self.program.memory.read_uint(at, size))?
            }),
            Node::Operation(opcode, a, b, sizes) => {
                let a = self.evaluate(a, depth + 1);
                let b = b.map(|b| self.evaluate(b, depth + 1));
                match b {
                    None => a.and_then(|a| one(opcode, a, sizes)),
                    Some(b) => a.zip(b).and_then(|(a, b)| two(opcode, a, b, sizes)),
                }
            }
        };
        self.values[id as usize] = (self.round, value);
        value
    }
}

fn one(opcode: Opcode, a: u64, [size, from, _]: [u32; 3]) -> Option<u64> {
    let value = match opcode {
        Opcode::IntZExt => a & mask(from),
        Opcode::IntSExt => sign_extend(a, from),
        opcode => unary(opcode, a)?,
    };
    Some(value & mask(size))
}

fn two(opcode: Opcode, a: u64, b: u64, [size, from, other]: [u32; 3]) -> Option<u64> {
    let signed = (sign_extend(a, from), sign_extend(b, other));
    let value = match opcode {
        Opcode::IntAdd => a.wrapping_add(b),
        Opcode::IntSub => a.wrapping_sub(b),
        Opcode::IntAnd => a & b,
        Opcode::IntOr => a | b,
        Opcode::Subpiece => a.checked_shr(u32::try_from(b).ok()?.checked_mul(8)?).unwrap_or(0),
        Opcode::IntCarry => u64::from((a.wrapping_add(b) & mask(from)) < a),
        Opcode::IntSBorrow => {
            let exact = i128::from(signed.0 as i64) - i128::from(signed.1 as i64);
            u64::from(exact != i128::from(sign_extend(a.wrapping_sub(b), from) as i64))
        }
        Opcode::IntSCarry => {
            let exact = i128::from(signed.0 as i64) + i128::from(signed.1 as i64);
            u64::from(exact != i128::from(sign_extend(a.wrapping_add(b), from) as i64))
        }
        Opcode::IntSLess | Opcode::IntSLessEqual | Opcode::IntSRight => {
            let b = if opcode == Opcode::IntSRight { b } else { signed.1 };
            binary(opcode, signed.0, b)?
        }
        opcode => binary(opcode, a, b)?,
    };
    Some(value & mask(size))
}
