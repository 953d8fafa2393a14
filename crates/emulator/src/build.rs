//! Makes blocks: decodes instructions one after another and resolves the operands of their p-code
//! to places in the register file.

use std::cell::Cell as Shared;

use decompiler::{Decoded, Decoder, Language, Opcode, PcodeOp, RegisterVarnode, VarSpace, Varnode};
use smallvec::SmallVec;

use crate::block::{Block, Exit, Mode, UNKNOWN};
use crate::cells::{Cell, Cells, SCRATCH};
use crate::memory::{Fault, Memory};
use crate::operation::{Kind, Operation, WideOperation, is_float, narrow};
use crate::outcome::Stop;

/// No instruction of any processor is longer, delay slot included.
const LONGEST: usize = 32;
/// Instructions of one block.
const MOST_INSTRUCTIONS: usize = 64;
/// Operations behind which no further instruction is added.
const MANY_OPERATIONS: usize = 1000;
/// The widest value.
const WIDEST: u32 = 1024;

/// Decodes instructions to blocks.
pub(crate) struct Builder {
    language: Language,
    decoder: Decoder,
    pcode: Vec<PcodeOp>,
    switch: Option<(u64, u32)>,
    /// Whether a product and a sum in one instruction are rounded once.
    fuses: bool,
}

/// The register by which a processor chooses its instruction set, if it has more than one.
pub(crate) fn switch(language: &Language) -> Option<RegisterVarnode> {
    match language.processor() {
        "ARM" => language.register("TB"),
        _ => language.register("ISAModeSwitch"),
    }
}

/// Processors whose products are rounded before something is added to them: their p-code says
/// the same for others, which round once.
const ROUND_TWICE: [&str; 2] = ["ARM", "MIPS"];

/// What a block is being made of.
struct Draft<'a> {
    language: &'a Language,
    cells: &'a mut Cells,
    operations: Vec<Operation>,
    wide: Vec<WideOperation>,
    starts: Vec<(u32, u64)>,
    exits: Vec<Exit>,
    /// The temporaries of the instruction: first and last offset, and their place.
    temporaries: Vec<(u64, u64, u32)>,
    /// The next free place for temporaries.
    free: u32,
    /// The register that says which instruction set comes next.
    switch: Option<(u64, u32)>,
    fuses: bool,
    /// Where the temporaries that the instruction fills begin.
    named: Vec<u64>,
    /// The products of the instruction: where each goes, of what, and whether it is negated.
    products: Vec<(Varnode, Cell, Cell, bool)>,
    /// Branches whose target is an operation of p-code.
    branches: Vec<(usize, usize)>,
}

impl Builder {
    pub(crate) fn new(language: &Language) -> Builder {
        Builder {
            decoder: Decoder::new(language),
            language: language.clone(),
            pcode: Vec::new(),
            switch: switch(language).map(|register| (register.offset, register.size)),
            fuses: !ROUND_TWICE.contains(&language.processor()),
        }
    }

    /// The block that begins at an address: at most so many instructions, none of them behind the
    /// first at a place where `ends` says that something else stands.
    pub(crate) fn build(
        &mut self,
        memory: &mut Memory<'_>,
        cells: &mut Cells,
        address: u64,
        mode: Mode,
        most: u64,
        ends: impl Fn(u64) -> bool,
    ) -> Result<Block, Stop> {
        let mut draft = Draft {
            language: &self.language,
            cells,
            operations: Vec::new(),
            wide: Vec::new(),
            starts: Vec::new(),
            exits: Vec::new(),
            temporaries: Vec::new(),
            free: 0,
            switch: self.switch,
            fuses: self.fuses,
            named: Vec::new(),
            products: Vec::new(),
            branches: Vec::new(),
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(MOST_INSTRUCTIONS);
        let (mut at, mut mode) = (address, mode);
        loop {
            self.pcode.clear();
            let decoded = decode(&mut self.decoder, memory, &mut self.pcode, at, mode);
            let decoded = match decoded {
                Ok(decoded) => decoded,
                Err(stop) if draft.starts.is_empty() => return Err(stop),
                // Found again when control arrives there.
                Err(_) => break,
            };
            let length = u64::from(decoded.length) + u64::from(decoded.delay_bytes);
            let next = at.wrapping_add(length) & memory.highest();
            memory.keep_code(at, length);
            let exits = draft.exits.len();
            let computed = draft.instruction(at, next, &decoded, mode, &self.pcode)?;
            mode = behind(&decoded, next, mode);
            at = next;
            let leaves = computed || draft.exits.len() > exits;
            let full = draft.starts.len() >= most || draft.operations.len() > MANY_OPERATIONS;
            if leaves || full || ends(at) {
                break;
            }
        }
        draft.leave(at, mode, false, Kind::Exit, 0);
        Ok(Block {
            operations: draft.operations.into(),
            wide: draft.wide.into(),
            starts: draft.starts.into(),
            exits: draft.exits.into_iter().map(Shared::new).collect(),
            mode,
            end: at,
            gate: None,
        })
    }
}

/// How the instruction behind one decodes.
fn behind(decoded: &Decoded, next: u64, mode: Mode) -> Mode {
    let changes = || decoded.context_changes.iter().filter(|change| change.offset == next);
    let flow = changes().filter(|change| change.flows).fold(mode.flow, |flow, c| flow.with(c));
    let here = changes().filter(|change| !change.flows).fold(flow, |here, c| here.with(c));
    Mode { flow, here }
}

fn decode(
    decoder: &mut Decoder,
    memory: &mut Memory<'_>,
    pcode: &mut Vec<PcodeOp>,
    at: u64,
    mode: Mode,
) -> Result<Decoded, Stop> {
    let mut bytes = [0; LONGEST];
    let count = memory.fetch(at, &mut bytes).map_err(|fault| match fault {
        Fault::Unmapped(address, access) => Stop::Unmapped { address, access },
        Fault::Forbidden(address, access) => Stop::Forbidden { address, access },
        Fault::Limit => Stop::MemoryLimit,
    })?;
    let decoded = decoder.pcode(&bytes[..count], at, mode.here, pcode);
    decoded.map_err(|error| Stop::BadInstruction { address: at, reason: error.to_string() })
}

impl Draft<'_> {
    /// Adds an instruction; tells whether control may leave it for a computed place.
    fn instruction(
        &mut self,
        at: u64,
        next: u64,
        decoded: &Decoded,
        mode: Mode,
        pcode: &[PcodeOp],
    ) -> Result<bool, Stop> {
        self.starts.push((self.operations.len() as u32, at));
        self.place_temporaries(pcode)?;
        self.branches.clear();
        self.products.clear();
        let mut firsts: Vec<usize> = Vec::with_capacity(pcode.len() + 1);
        let mut computed = false;
        for (index, op) in pcode.iter().enumerate() {
            firsts.push(self.operations.len());
            match op.opcode {
                Opcode::Branch | Opcode::CBranch | Opcode::Call => {
                    self.branch(index, op, next, decoded, mode)?;
                }
                Opcode::BranchInd | Opcode::CallInd | Opcode::Return => {
                    computed = true;
                    self.jump(op, pcode)?;
                }
                _ => self.compute(op)?,
            }
        }
        firsts.push(self.operations.len());
        // An instruction without p-code is still there to be counted and jumped to.
        for (operation, index) in std::mem::take(&mut self.branches) {
            let target = firsts.get(index).copied().unwrap_or(self.operations.len());
            self.operations[operation].out = target as u32;
        }
        Ok(computed)
    }

    /// Gives each temporary of an instruction a place; overlapping ones share it.
    fn place_temporaries(&mut self, pcode: &[PcodeOp]) -> Result<(), Stop> {
        self.temporaries.clear();
        self.free = self.cells.scratch();
        let plain = pcode.iter().flat_map(|op| op.inputs.iter().chain(op.output.as_ref()).copied());
        self.named = pcode
            .iter()
            .filter_map(|op| op.output.filter(|output| output.space == VarSpace::Unique))
            .map(|output| output.offset)
            .collect();
        let pointed = pcode.iter().filter_map(|op| self.pointed(op));
        let mut ranges: Vec<(u64, u64)> = plain
            .chain(pointed)
            .filter(|varnode| varnode.space == VarSpace::Unique && varnode.size > 0)
            .map(|varnode| (varnode.offset, varnode.offset + u64::from(varnode.size - 1)))
            .collect();
        ranges.sort_unstable();
        for (first, last) in ranges {
            match self.temporaries.last_mut().filter(|(_, end, _)| first <= *end) {
                Some((_, end, _)) => *end = last.max(*end),
                None => self.temporaries.push((first, last, 0)),
            }
        }
        for index in 0..self.temporaries.len() {
            let (first, last, _) = self.temporaries[index];
            let size = u32::try_from(last - first + 1).unwrap_or(u32::MAX);
            self.temporaries[index].2 = self.room(size)?.offset;
        }
        Ok(())
    }

    /// A free place for a temporary.
    fn room(&mut self, size: u32) -> Result<Cell, Stop> {
        let offset = self.free;
        let end = offset.checked_add(size).filter(|end| *end <= self.cells.scratch() + SCRATCH);
        let end = end.ok_or_else(|| Stop::Unsupported("an instruction of this size".into()))?;
        self.free = end.next_multiple_of(8);
        Ok(Cell { offset, size })
    }

    /// The place that an input is read from; loads it first where it lies in memory.
    fn input(&mut self, varnode: Varnode) -> Result<Cell, Stop> {
        match varnode.space {
            VarSpace::Const => Ok(self.cells.constant(varnode.offset, varnode.size.min(WIDEST))),
            VarSpace::Register | VarSpace::Unique => self.place(varnode),
            VarSpace::Ram | VarSpace::Other(_) => {
                let cell = self.room(varnode.size)?;
                let pointer = self.cells.constant(varnode.offset, 8);
                self.load(Some((varnode.space, 1)), pointer, cell);
                Ok(cell)
            }
        }
    }

    fn place(&self, varnode: Varnode) -> Result<Cell, Stop> {
        let size = varnode.size;
        let unknown = || Stop::Unsupported(format!("a place of {size} bytes"));
        if varnode.space == VarSpace::Register {
            let end = varnode.offset.checked_add(u64::from(size));
            let inside = end.is_some_and(|end| end <= u64::from(self.cells.scratch()));
            return if inside {
                Ok(Cell { offset: varnode.offset as u32, size })
            } else {
                Err(unknown())
            };
        }
        let after = self.temporaries.partition_point(|(first, _, _)| *first <= varnode.offset);
        let found = after.checked_sub(1).and_then(|index| self.temporaries.get(index));
        let (first, _, place) = found.ok_or_else(unknown)?;
        Ok(Cell { offset: place + (varnode.offset - first) as u32, size })
    }

    fn push(&mut self, operation: Operation) {
        self.operations.push(operation);
    }

    fn wide(&mut self, operation: WideOperation) {
        let out = self.wide.len() as u32;
        self.wide.push(operation);
        self.push(Operation { out, ..Operation::new(Kind::Wide) });
    }

    fn load(&mut self, space: Option<(VarSpace, u32)>, pointer: Cell, to: Cell) {
        if !matches!(space, Some((VarSpace::Ram, _))) || pointer.size > 8 {
            let inputs = [pointer].into_iter().collect();
            let output = Some(to);
            let opcode = Opcode::Load;
            return self.wide(WideOperation { opcode, space, output, inputs, number: 0 });
        }
        let kind = if to.size <= 8 { Kind::Load } else { Kind::LoadBytes };
        self.push(Operation {
            size: pointer.size as u8,
            out_size: to.size.min(255) as u8,
            out: to.offset,
            a: pointer.offset,
            b: to.size,
            ..Operation::new(kind)
        });
    }

    fn store(&mut self, space: Option<(VarSpace, u32)>, pointer: Cell, from: Cell) {
        if !matches!(space, Some((VarSpace::Ram, _))) || pointer.size > 8 {
            let inputs = [pointer, from].into_iter().collect();
            let opcode = Opcode::Store;
            return self.wide(WideOperation { opcode, space, output: None, inputs, number: 0 });
        }
        let kind = if from.size <= 8 { Kind::Store } else { Kind::StoreBytes };
        self.push(Operation {
            size: pointer.size as u8,
            out_size: from.size.min(255) as u8,
            out: from.size,
            a: pointer.offset,
            b: from.offset,
            ..Operation::new(kind)
        });
    }

    /// An operation that computes something.
    fn compute(&mut self, op: &PcodeOp) -> Result<(), Stop> {
        let sizes = op.inputs.iter().chain(op.output.as_ref()).map(|varnode| varnode.size);
        if sizes.max().is_some_and(|size| size > WIDEST) {
            return Err(Stop::Unsupported(format!("{} of this size", op.opcode.name())));
        }
        match op.opcode {
            Opcode::Load | Opcode::Store => return self.access(op),
            Opcode::CallOther => return self.undefined(op),
            _ => {}
        }
        let inputs = op.inputs.iter().map(|input| self.input(*input));
        let inputs = inputs.collect::<Result<SmallVec<[Cell; 4]>, Stop>>()?;
        let Some(output) = op.output else { return Ok(()) };
        let in_memory = matches!(output.space, VarSpace::Ram | VarSpace::Other(_));
        let to = if in_memory { self.room(output.size)? } else { self.place(output)? };
        if op.opcode == Opcode::Subpiece {
            self.cut(op, &inputs, to);
        } else if let Some(fused) = self.fused(op, &inputs, to) {
            self.wide(fused);
        } else {
            self.operate(op.opcode, &inputs, to);
        }
        if in_memory {
            let pointer = self.cells.constant(output.offset, 8);
            self.store(Some((output.space, 1)), pointer, to);
        }
        Ok(())
    }

    /// The temporary or register that a load or store reaches by a constant pointer. Languages
    /// that take the address of an operand call it a register's even where it is a temporary.
    fn pointed(&self, op: &PcodeOp) -> Option<Varnode> {
        let space = self.language.accessed_space(op)?;
        if space == VarSpace::Ram {
            return None;
        }
        let pointer = op.inputs.get(1).filter(|pointer| pointer.space == VarSpace::Const)?;
        let size = op.output.or(op.inputs.get(2).copied())?.size;
        let is_temporary = self.named.contains(&pointer.offset);
        let space = if is_temporary { VarSpace::Unique } else { space };
        matches!(space, VarSpace::Unique | VarSpace::Register).then_some(Varnode {
            space,
            offset: pointer.offset,
            size,
        })
    }

    fn access(&mut self, op: &PcodeOp) -> Result<(), Stop> {
        if let Some(place) = self.pointed(op) {
            let place = self.place(place)?;
            let (from, to) = match op.output {
                Some(output) => (place, self.place(output)?),
                None => (self.input(op.inputs[2])?, place),
            };
            self.operate(Opcode::Copy, &[from], to);
            return Ok(());
        }
        let space = self.language.accessed_space(op);
        let space = space.map(|space| (space, self.language.word_size(space)));
        let missing = || Stop::Unsupported("an access without a pointer".into());
        let pointer = self.input(*op.inputs.get(1).ok_or_else(missing)?)?;
        if let Some(output) = op.output {
            let in_memory = matches!(output.space, VarSpace::Ram | VarSpace::Other(_));
            let to = if in_memory { self.room(output.size)? } else { self.place(output)? };
            self.load(space, pointer, to);
            if in_memory {
                let pointer = self.cells.constant(output.offset, 8);
                self.store(Some((output.space, 1)), pointer, to);
            }
            return Ok(());
        }
        let from = self.input(*op.inputs.get(2).ok_or_else(missing)?)?;
        self.store(space, pointer, from);
        Ok(())
    }

    fn undefined(&mut self, op: &PcodeOp) -> Result<(), Stop> {
        let number = op.inputs.first().map_or(u32::MAX, |number| number.offset as u32);
        let inputs = op.inputs.iter().skip(1).map(|input| self.input(*input));
        let inputs = inputs.collect::<Result<_, Stop>>()?;
        let in_memory = op.output.filter(|o| matches!(o.space, VarSpace::Ram | VarSpace::Other(_)));
        let output = match (op.output, in_memory) {
            (None, _) => None,
            (Some(_), Some(output)) => Some(self.room(output.size)?),
            (Some(output), None) => Some(self.place(output)?),
        };
        let opcode = Opcode::CallOther;
        self.wide(WideOperation { opcode, space: None, output, inputs, number });
        if let (Some(output), Some(from)) = (in_memory, output) {
            let pointer = self.cells.constant(output.offset, 8);
            self.store(Some((output.space, 1)), pointer, from);
        }
        Ok(())
    }

    /// A sum with a product of the same instruction as an operation of three inputs that rounds
    /// once; its number tells by bits whether the product and the addend are negated.
    fn fused(&mut self, op: &PcodeOp, inputs: &[Cell], to: Cell) -> Option<WideOperation> {
        let numbers = inputs.iter().chain([&to]).all(|cell| cell.size == 4 || cell.size == 8);
        if !self.fuses || !numbers {
            return None;
        }
        let output = op.output.filter(|output| output.space == VarSpace::Unique);
        let known = |at: usize| {
            let input = op.inputs.get(at)?;
            self.products.iter().find(|(place, ..)| place == input).copied()
        };
        let subtracts = u32::from(op.opcode == Opcode::FloatSub);
        match op.opcode {
            Opcode::FloatMult => {
                self.products.push((output?, *inputs.first()?, *inputs.get(1)?, false));
                None
            }
            Opcode::FloatNeg => {
                let (_, a, b, negated) = known(0)?;
                self.products.push((output?, a, b, !negated));
                None
            }
            Opcode::FloatAdd | Opcode::FloatSub => {
                let (product, addend, number) = match known(0) {
                    Some(product) => {
                        (product, *inputs.get(1)?, u32::from(product.3) | subtracts << 1)
                    }
                    None => {
                        let product = known(1)?;
                        (product, *inputs.first()?, u32::from(product.3) ^ subtracts)
                    }
                };
                let inputs = [product.1, product.2, addend].into_iter().collect();
                let (opcode, output) = (op.opcode, Some(to));
                Some(WideOperation { opcode, space: None, output, inputs, number })
            }
            _ => None,
        }
    }

    /// Part of a value: a copy, where the part lies in it.
    fn cut(&mut self, op: &PcodeOp, inputs: &[Cell], to: Cell) {
        let from = op.inputs.get(1).filter(|from| from.space == VarSpace::Const);
        let from = from.and_then(|from| u32::try_from(from.offset).ok());
        let part = from.zip(inputs.first()).and_then(|(from, whole)| {
            let size = to.size.min(whole.size.checked_sub(from)?);
            self.cells.part(*whole, from, size)
        });
        match part {
            Some(part) => self.operate(Opcode::IntZExt, &[part], to),
            None => self.operate(op.opcode, inputs, to),
        }
    }

    fn operate(&mut self, opcode: Opcode, inputs: &[Cell], to: Cell) {
        let first = inputs.first().copied().unwrap_or(Cell { offset: 0, size: 0 });
        let second = inputs.get(1).copied().unwrap_or(Cell { offset: 0, size: 0 });
        let is_narrow = to.size <= 8 && inputs.iter().all(|input| (1..=8).contains(&input.size));
        let kind = if is_narrow {
            narrow(opcode).or_else(|| {
                let numbers = |size| size == 4 || size == 8;
                let fits = match opcode {
                    Opcode::FloatInt2Float => numbers(to.size),
                    Opcode::FloatFloat2Float => numbers(to.size) && numbers(first.size),
                    _ => is_float(opcode) && numbers(first.size),
                };
                fits.then_some(Kind::Float(opcode))
            })
        } else {
            match opcode {
                Opcode::Copy if first.size == to.size => Some(Kind::CopyBytes),
                Opcode::Copy | Opcode::IntZExt if first.size <= to.size => Some(Kind::Extend),
                _ => None,
            }
        };
        let Some(kind) = kind else {
            let (output, inputs) = (Some(to), inputs.iter().copied().collect());
            return self.wide(WideOperation { opcode, space: None, output, inputs, number: 0 });
        };
        let out_size = to.size.min(255) as u8;
        // What needs more room for its sizes has it in the second input's place.
        let b = match kind {
            Kind::CopyBytes => to.size,
            Kind::Extend => first.size << 16 | to.size,
            _ => second.offset,
        };
        self.push(Operation {
            size: first.size.min(255) as u8,
            second_size: second.size.min(255) as u8,
            out_size,
            out: to.offset,
            a: first.offset,
            b,
            kind,
        });
    }

    /// A jump, branch or call to a fixed place.
    fn branch(
        &mut self,
        index: usize,
        op: &PcodeOp,
        next: u64,
        decoded: &Decoded,
        mode: Mode,
    ) -> Result<(), Stop> {
        let missing = || Stop::Unsupported("a branch without a target".into());
        let target = *op.inputs.first().ok_or_else(missing)?;
        let condition = match op.opcode {
            Opcode::CBranch => {
                let condition = *op.inputs.get(1).ok_or_else(missing)?;
                let condition = self.input(condition)?;
                (Kind::BranchIf, Kind::ExitIf, condition)
            }
            _ => (Kind::Branch, Kind::Exit, Cell { offset: 0, size: 1 }),
        };
        let (inside, outside, condition) = condition;
        let end = usize::MAX;
        let goal = match target.space {
            VarSpace::Const => {
                let shift = 64 - 8 * target.size.clamp(1, 8);
                let distance = ((target.offset << shift) as i64) >> shift;
                Some(usize::try_from(index as i64 + distance).map_err(|_| missing())?)
            }
            VarSpace::Ram if target.offset == next && op.opcode != Opcode::Call => Some(end),
            VarSpace::Ram => None,
            _ => return Err(Stop::Unsupported("a branch to another memory".into())),
        };
        if let Some(goal) = goal {
            self.branches.push((self.operations.len(), goal));
            let size = condition.size.min(8) as u8;
            self.push(Operation { a: condition.offset, size, ..Operation::new(inside) });
            return Ok(());
        }
        let changes = decoded.context_changes.iter().filter(|c| c.offset == target.offset);
        let there = Mode::of(changes.fold(mode.flow, |context, change| context.with(change)));
        self.leave(target.offset, there, op.opcode == Opcode::Call, outside, condition.offset);
        Ok(())
    }

    fn leave(&mut self, target: u64, mode: Mode, is_call: bool, kind: Kind, condition: u32) {
        let out = self.exits.len() as u32;
        self.exits.push(Exit { target, mode, is_call, next: UNKNOWN });
        self.push(Operation { out, a: condition, size: 1, ..Operation::new(kind) });
    }

    /// A jump, call or return to a computed place.
    fn jump(&mut self, op: &PcodeOp, pcode: &[PcodeOp]) -> Result<(), Stop> {
        let missing = || Stop::Unsupported("a jump without a target".into());
        let target = self.input(*op.inputs.first().ok_or_else(missing)?)?;
        let kind = match op.opcode {
            Opcode::CallInd => Kind::CallTo,
            Opcode::Return => Kind::Return,
            _ => Kind::Jump,
        };
        let size = target.size.min(8) as u8;
        // Whether the instruction also says which instruction set comes next.
        let chooses = |output: &Varnode| Some((output.offset, output.size)) == self.switch;
        let registers = pcode.iter().filter_map(|op| op.output.as_ref());
        let mut registers = registers.filter(|output| output.space == VarSpace::Register);
        let out = u32::from(registers.any(chooses));
        self.push(Operation { a: target.offset, size, out, ..Operation::new(kind) });
        Ok(())
    }
}
