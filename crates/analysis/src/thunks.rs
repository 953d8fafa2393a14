//! Thunks: functions that only pass on to another one, such as the stubs of a
//! procedure linkage table. They take the name of what they stand for.

use crate::code::CodeReader;
use crate::explore::{import_slot, is_constant};
use crate::linkage;
use crate::machine::{global_pointer_of, stub_base_of};
use crate::no_return;
use crate::pass::{Analysis, Stopped};
use decompiler::{Opcode, PcodeOp, VarSpace, Varnode};
use program::{Address, FlowType, Function, Program, RefType, SourceType, SpaceId};
use std::collections::{HashMap, HashSet};

/// A thunk has at most this many instructions.
const LONGEST: usize = 8;

/// Finds thunks among the functions. Cost: a few instructions per function.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let mut reader = CodeReader::new(analysis.language);
    let program = &mut *analysis.program;
    let candidates: Vec<Address> = program
        .functions
        .iter()
        .filter(|f| f.thunk_of.is_none() && f.entry.space == SpaceId::RAM)
        .filter(|f| f.body.ranges().len() == 1 && f.body.len() <= 16 * LONGEST as u64)
        .filter(|f| !has_mangled_name(program, f.entry))
        .map(|f| f.entry)
        .collect();
    for entry in candidates {
        let Some(target) =
            target(program, &mut reader, entry).or_else(|| jump_alone(program, entry))
        else {
            continue;
        };
        let leads_back = program.thunked(target).is_some_and(|f| f.entry == entry);
        if target != entry && !leads_back && program.functions.at(target).is_some() {
            let no_return = program.functions.at(target).is_some_and(|f| f.no_return)
                && !no_return::is_stated_to_return(program, entry);
            program.functions.edit(entry, |f: &mut Function| {
                f.thunk_of = Some(target);
                f.no_return |= no_return;
            });
        }
    }
    Ok(())
}

/// Whether a function has a mangled name of its own, which says what it is: it passes on to something
/// else, and takes and returns what its own name tells.
fn has_mangled_name(program: &Program, entry: Address) -> bool {
    let mut there = program.symbols.at(entry);
    there.any(|(_, s)| s.source == SourceType::Imported && demangler::is_mangled(&s.name))
}

/// Where the jump leads that is all of a function, as references tell.
fn jump_alone(program: &Program, entry: Address) -> Option<Address> {
    let instruction = program.listing.instructions.get(&entry)?;
    let alone = program.functions.at(entry)?.body.len() == u64::from(instruction.length);
    if !alone || instruction.flow != FlowType::ComputedJump {
        return None;
    }
    let mut flows = program.references.from(entry).filter(|r| {
        r.to.space == SpaceId::RAM && r.info.kind == RefType::Flow(FlowType::ComputedJump)
    });
    let first = flows.next()?;
    flows.next().is_none().then_some(first.to)
}

/// What a function passes on to, if it does nothing else.
pub(crate) fn target(
    program: &Program,
    reader: &mut CodeReader,
    entry: Address,
) -> Option<Address> {
    passes_on(program, reader, entry).map(|passed| passed.target)
}

/// How a function passes on that does nothing else.
pub(crate) struct Passed {
    /// The jump at its end.
    pub(crate) jump: Address,
    /// What it passes on to.
    pub(crate) target: Address,
    /// The decoding mode there, where the lowest bit of the pointer chooses it.
    pub(crate) mode: Option<u8>,
}

/// Where a function that does nothing else passes on, and what to: its straight line of code is
/// run on constants, up to the jump at its end.
pub(crate) fn passes_on(
    program: &Program,
    reader: &mut CodeReader,
    entry: Address,
) -> Option<Passed> {
    let in_stubs = program.memory.block_at(entry).is_some_and(linkage::holds_stubs);
    let mut values = Values::at_entry(program, reader, in_stubs);
    let mut at = entry;
    for _ in 0..LONGEST {
        let mode = match program.listing.instructions.get(&at) {
            Some(instruction) => instruction.mode,
            None => program.mode_at(at),
        };
        let mut ops = Vec::new();
        let context = reader.context(mode);
        let decoded = reader.pcode(program, at, context, &mut ops).ok()?;
        match decoded.flow {
            FlowType::FallThrough => {
                for op in &ops {
                    values.apply(program, op)?;
                }
                at = at.checked_add(u64::from(decoded.length))?;
            }
            FlowType::UnconditionalJump => {
                if values.leaves_something() {
                    return None;
                }
                let target = decoded.flow_targets.first().map(|to| Address::ram(*to))?;
                return Some(Passed { jump: at, target, mode: None });
            }
            FlowType::ComputedJump => {
                let (last, before) = ops.split_last()?;
                for op in before {
                    values.apply(program, op)?;
                }
                last.inputs.first().into_iter().for_each(|input| values.read(input));
                if values.leaves_something() {
                    return None;
                }
                let target = values.jump(program, last)?;
                return Some(values.settled(at, target, reader));
            }
            _ => return None,
        }
    }
    None
}

/// Known values while a thunk runs.
#[derive(Default)]
struct Values {
    known: HashMap<Varnode, u64>,
    /// Places whose value was read from a slot bound to an import.
    imports: HashMap<Varnode, Address>,
    /// Registers that were given a value.
    written: HashSet<Varnode>,
    /// Those of them whose last value was not read yet.
    unread: HashSet<Varnode>,
    /// Whether the code is a stub of a linkage table, which may use what its caller left.
    in_stubs: bool,
    /// The register that points to the table of pointers, which stubs may save for their caller.
    base: Option<Varnode>,
    /// The bit of a pointer that was looked at on its own: ARM's choice of Thumb code.
    lowest: Option<u64>,
}

impl Values {
    /// What holds at the entry of a stub.
    fn at_entry(program: &Program, reader: &CodeReader, in_stubs: bool) -> Values {
        let mut values = Values { in_stubs, ..Values::default() };
        let language = reader.language();
        let base = match language.processor() {
            "PowerPC" => global_pointer_of(program, language),
            "x86" if in_stubs => stub_base_of(program, language),
            _ => None,
        };
        if let Some((register, number)) = base {
            let (offset, size) = (register.offset, register.size);
            let place = Varnode { space: VarSpace::Register, offset, size };
            values.known.insert(place, number);
            values.base = Some(place);
        }
        values
    }

    fn get(&self, program: &Program, place: &Varnode) -> Option<u64> {
        match place.space {
            VarSpace::Const => Some(place.offset),
            VarSpace::Ram => {
                let at = Address::ram(place.offset);
                is_constant(program, at).then(|| program.memory.read_uint(at, place.size))?
            }
            _ => self.known.get(place).copied(),
        }
    }

    fn import(&self, program: &Program, place: &Varnode) -> Option<Address> {
        match place.space {
            VarSpace::Ram => import_slot(program, Address::ram(place.offset), place.size),
            _ => self.imports.get(place).copied(),
        }
    }

    /// Runs one operation; `None` when a thunk would not have it.
    fn apply(&mut self, program: &Program, op: &PcodeOp) -> Option<()> {
        let saves = op.opcode == Opcode::Store && self.base.is_some();
        if saves && op.inputs.get(2) == self.base.as_ref() {
            return Some(());
        }
        if matches!(op.opcode, Opcode::Store | Opcode::Call | Opcode::CallInd | Opcode::CBranch) {
            return None;
        }
        let changes_nothing = op.opcode == Opcode::Copy && op.inputs.first() == op.output.as_ref();
        if !changes_nothing && op.inputs.iter().any(|input| self.is_of_caller(input)) {
            return None;
        }
        op.inputs.iter().for_each(|input| self.read(input));
        let Some(output) = op.output else { return Some(()) };
        // Registers of a byte hold flags, which no function called looks at.
        if output.space == VarSpace::Register && output.size > 1 {
            self.unread.insert(output);
            self.written.insert(output);
        }
        if output.space == VarSpace::Ram {
            return None;
        }
        let input = |n: usize| op.inputs.get(n).and_then(|v| self.get(program, v));
        let import = match op.opcode {
            // A mask takes the bit off that chooses a mode.
            Opcode::Copy | Opcode::IntAnd => {
                op.inputs.first().and_then(|v| self.import(program, v))
            }
            Opcode::Load => input(1)
                .and_then(|pointer| import_slot(program, Address::ram(pointer), output.size)),
            _ => None,
        };
        let value = match op.opcode {
            Opcode::Copy | Opcode::IntZExt => input(0),
            Opcode::IntAdd => input(0).zip(input(1)).map(|(a, b)| a.wrapping_add(b)),
            Opcode::IntSub => input(0).zip(input(1)).map(|(a, b)| a.wrapping_sub(b)),
            Opcode::IntAnd => input(0).zip(input(1)).map(|(a, b)| a & b),
            Opcode::IntOr => input(0).zip(input(1)).map(|(a, b)| a | b),
            Opcode::IntLeft => {
                input(0).zip(input(1)).and_then(|(a, b)| a.checked_shl(u32::try_from(b).ok()?))
            }
            Opcode::Load => input(1).map(Address::ram).and_then(|at| {
                is_constant(program, at).then(|| program.memory.read_uint(at, output.size))?
            }),
            _ => None,
        };
        let is_lowest = op.opcode == Opcode::IntAnd && input(1) == Some(1);
        if is_lowest {
            self.lowest = import.map(|at| at.offset & 1).or(value);
        }
        let bits = output.size.saturating_mul(8);
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        match value {
            Some(value) => self.known.insert(output, value & mask),
            None => self.known.remove(&output),
        };
        match import {
            Some(at) => self.imports.insert(output, at),
            None => self.imports.remove(&output),
        };
        Some(())
    }

    fn read(&mut self, place: &Varnode) {
        let overlap = |a: &Varnode, b: &Varnode| {
            a.space == b.space
                && a.offset < b.offset.saturating_add(u64::from(b.size))
                && b.offset < a.offset.saturating_add(u64::from(a.size))
        };
        self.unread.retain(|written| !overlap(written, place));
    }

    /// Whether a register got a value that nothing read: the function called would see it.
    fn leaves_something(&self) -> bool {
        !self.in_stubs && !self.unread.is_empty()
    }

    /// Whether a register holds what the caller left there. Stubs, and those that save the base of
    /// the table of pointers, may use it.
    fn is_of_caller(&self, place: &Varnode) -> bool {
        let covers = |written: &Varnode| {
            written.offset <= place.offset
                && written.offset.saturating_add(u64::from(written.size))
                    >= place.offset.saturating_add(u64::from(place.size))
        };
        let register = place.space == VarSpace::Register && place.size > 1;
        let may = self.in_stubs || self.base.is_some();
        register && !may && !self.written.iter().any(covers)
    }

    /// The jump's end with the bit taken off that chooses how code there is decoded.
    fn settled(&self, jump: Address, mut target: Address, reader: &CodeReader) -> Passed {
        let thumb = reader.language().thumb_mode().filter(|_| target.space == SpaceId::RAM);
        let Some(thumb) = thumb else { return Passed { jump, target, mode: None } };
        let lowest = self.lowest.unwrap_or(target.offset & 1);
        target.offset &= !1;
        let mode = if lowest == 1 { Some(thumb) } else { self.lowest.map(|_| 1 - thumb) };
        Passed { jump, target, mode }
    }

    /// Where the final jump leads.
    fn jump(&self, program: &Program, op: &PcodeOp) -> Option<Address> {
        if op.opcode != Opcode::BranchInd {
            return None;
        }
        let place = op.inputs.first()?;
        self.import(program, place).or_else(|| self.get(program, place).map(Address::ram))
    }
}
