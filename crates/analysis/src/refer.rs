//! Which values become references, and on which operand.

use crate::follow::{Follower, Found, Step};
use crate::machine::Family;
use decompiler::{Opcode, Operand, OperandKind, OperandPart, Varnode};
use program::reference::MNEMONIC;
use program::{Address, FlowOverride, RefType};

/// Numbers that are flags or masks much more often than addresses.
const MASKS: [u64; 3] = [0xffff, 0xffff_ffff, u64::MAX];
/// Places this near to either end of memory are not used by accident only.
const EDGE: u64 = 4;

/// What a value may lead to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// A place in memory.
    Ram(u64),
    /// A place in another library.
    External(u64),
    /// A number that may be an address.
    Guess(u64),
}

impl Place {
    pub(crate) fn of(address: Address) -> Place {
        match address.space {
            program::SpaceId::EXTERNAL => Place::External(address.offset),
            _ => Place::Ram(address.offset),
        }
    }

    fn offset(self) -> u64 {
        match self {
            Place::Ram(offset) | Place::External(offset) | Place::Guess(offset) => offset,
        }
    }

    fn is_guess(self) -> bool {
        matches!(self, Place::Guess(_))
    }
}

/// How a place is used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use {
    pub(crate) kind: RefType,
    /// The operation that uses it.
    pub(crate) opcode: Opcode,
    /// Whether the code surely uses it as an address.
    pub(crate) known: bool,
    /// Whether the reference is there already.
    pub(crate) existing: bool,
    /// The pointer of a load or store.
    pub(crate) pointer: Option<Varnode>,
}

impl Use {
    pub(crate) fn known(kind: RefType, opcode: Opcode) -> Use {
        Use { kind, opcode, known: true, existing: false, pointer: None }
    }

    pub(crate) fn guess(kind: RefType, opcode: Opcode) -> Use {
        Use { known: false, ..Use::known(kind, opcode) }
    }

    fn is_flow(&self) -> bool {
        matches!(self.kind, RefType::Flow(_))
    }

    /// Whether the place is only meant, neither read nor written.
    fn is_mention(&self) -> bool {
        matches!(self.kind, RefType::Data | RefType::Param)
    }

    fn is_access(&self) -> bool {
        matches!(self.kind, RefType::Read | RefType::Write | RefType::ReadWrite)
    }
}

impl Follower<'_> {
    /// Whether a number is large enough to be taken for an address, and is no usual mask.
    pub(crate) fn may_be_address(&self, offset: u64) -> bool {
        offset >= self.machine.least_guess && u64::MAX - offset >= EDGE && !MASKS.contains(&offset)
    }

    /// Makes a reference from an instruction, if the place is worth one.
    pub(crate) fn refer(&mut self, index: usize, place: Place, usage: Use) {
        let Some(target) = self.admitted(index, place, &usage) else { return };
        if usage.existing {
            return;
        }
        let step = self.steps[index].clone();
        if usage.is_mention() && !self.may_be_meant(&step, target) {
            return;
        }
        if let RefType::Flow(flow) = usage.kind
            && flow.is_jump()
            && flow.is_computed()
            && self.has_flow(step.at, target)
        {
            return;
        }
        if self.machine.family == Family::Arm && usage.is_access() && place.offset() != 0 {
            return self.refer_from_last(&step, target, usage);
        }
        self.place(&step, target, &usage);
    }

    /// The destination, unless the use is too doubtful.
    fn admitted(&mut self, index: usize, place: Place, usage: &Use) -> Option<Address> {
        let offset = place.offset();
        let target = match place {
            Place::External(offset) => Address::external(offset),
            Place::Guess(offset) if offset <= 4 || offset == u64::MAX => return None,
            Place::Ram(offset) | Place::Guess(offset) => {
                if offset == 0 || offset & !self.machine.address_mask != 0 && !usage.known {
                    return None;
                }
                Address::ram(offset & self.machine.address_mask)
            }
        };
        let external = matches!(place, Place::External(_));
        let in_memory = external || self.program.memory.contains(target) || self.is_named(target);
        if !external && !usage.known && !in_memory && !usage.is_flow() {
            return None;
        }
        if let RefType::Flow(flow) = usage.kind {
            if flow.is_call() && !flow.is_computed() {
                return None;
            }
            if self.machine.family == Family::X86 && !in_memory {
                return None;
            }
        }
        if (place.is_guess() || !usage.known) && !self.may_be_address(offset) {
            return None;
        }
        let edge = offset < EDGE || self.machine.address_mask - target.offset < EDGE;
        if !external && usage.opcode != Opcode::Copy && edge && self.ops_of(index).len() > 1 {
            return None;
        }
        self.fits_processor(index, usage).then_some(target)
    }

    /// Whether a stored symbol names a place, maybe one right behind memory. The global pointer's
    /// value has a name, but is no place.
    fn is_named(&self, target: Address) -> bool {
        let global = self.machine.global_pointer.map(|(_, value)| value);
        Some(target.offset) != global && self.program.symbols.primary_at(target).is_some()
    }

    /// Processors on which some instructions only prepare an address.
    fn fits_processor(&mut self, index: usize, usage: &Use) -> bool {
        let step = &self.steps[index];
        let (at, mode) = (Address::ram(step.at), step.mode);
        match self.machine.family {
            Family::Mips if !usage.is_flow() => {
                let context = self.reader.context(mode);
                !self.reader.mnemonic(self.program, at, context).ends_with("lui")
            }
            _ => true,
        }
    }

    /// Whether a place may be meant by an address that the code only computes or stores: not the
    /// next instruction, nor any but the first of a function.
    fn may_be_meant(&self, step: &Step, target: Address) -> bool {
        let goes_on = step.flow.has_fall_through() || step.flow_override != FlowOverride::None;
        if goes_on && self.after_step(step) == target.offset {
            return false;
        }
        let code = self.code_address(target);
        let Some((start, unit)) = self.program.listing.instruction_containing(target) else {
            return true;
        };
        if start != code || unit.in_delay_slot {
            return false;
        }
        self.program.functions.containing(target).is_none_or(|f| f.entry == code)
    }

    /// The address after an instruction and its delay slots.
    fn after_step(&self, step: &Step) -> u64 {
        step.next.unwrap_or_else(|| step.at.wrapping_add(u64::from(step.length)))
    }

    /// Where the code of a pointer to code is: some processors keep a mode in its lowest bit.
    pub(crate) fn code_address(&self, target: Address) -> Address {
        match self.machine.family {
            Family::Arm | Family::Mips => Address::ram(target.offset & !1),
            _ => target,
        }
    }

    /// Whether a computed jump has this destination already, or several of its own.
    fn has_flow(&self, at: u64, target: Address) -> bool {
        let stored = self.program.references.from(Address::ram(at));
        let stored = stored.filter(|r| r.info.kind.is_flow()).map(|r| r.to);
        let found = self.found.get(&at).into_iter().flatten();
        let found = found.filter(|f| f.kind.is_flow()).map(|f| f.to);
        let flows: Vec<Address> = stored.chain(found).collect();
        flows.len() > 1 || flows.contains(&target)
    }

    /// ARM's loads and stores name the place in their last operand.
    fn refer_from_last(&mut self, step: &Step, target: Address, usage: Use) {
        let operands = self.operands_of(step.at, step.mode);
        if operands.len() <= 2 && !operands.is_empty() {
            self.record(step.at, target, operands.len() as i8 - 1, usage.kind);
        } else {
            self.place(step, target, &usage);
        }
    }

    pub(crate) fn operands_of(&mut self, at: u64, mode: u8) -> decompiler::Operands {
        let context = self.reader.context(mode);
        self.reader.operands(self.program, Address::ram(at), context)
    }

    /// Finds the operand for a reference and records it.
    fn place(&mut self, step: &Step, target: Address, usage: &Use) {
        let mut at = step.at;
        let mut operands = self.operands_of(at, step.mode);
        let computed = usage.pointer.and_then(|pointer| self.operand_of(step, &operands, pointer));
        let mut operand = self.operand_for(&operands, computed, target.offset, usage);
        if operand.is_none()
            && step.delay_slots > 0
            && usage.kind != RefType::Flow(step.flow)
            && let Some(slot) = Address::ram(at).checked_add(u64::from(step.length))
            && let Some(instruction) = self.program.listing.instructions.get(&slot)
        {
            at = slot.offset;
            operands = self.operands_of(at, instruction.mode);
            operand = self.operand_for(&operands, None, target.offset, usage);
        }
        let external = target.space == program::SpaceId::EXTERNAL;
        if operand.is_none() && (!usage.is_flow() || external) {
            let last = operands.len().checked_sub(1);
            operand = last.filter(|last| operands[*last].visible);
            if external && self.has_reference(at) {
                operand = None;
            }
        }
        let operand = operand.map_or(MNEMONIC, |operand| operand as i8);
        self.record(at, target, operand, usage.kind);
    }

    fn has_reference(&self, at: u64) -> bool {
        self.found.contains_key(&at)
            || self.program.references.from(Address::ram(at)).next().is_some()
    }

    /// The operand whose own p-code computes the pointer of a load or store.
    fn operand_of(&mut self, step: &Step, operands: &[Operand], pointer: Varnode) -> Option<usize> {
        if pointer.space != decompiler::VarSpace::Unique {
            return None;
        }
        let context = self.reader.context(step.mode);
        let at = Address::ram(step.at);
        (0..operands.len()).find(|index| {
            let ops = self.reader.operand_pcode(self.program, at, context, *index);
            ops.iter().any(|op| op.output == Some(pointer))
        })
    }

    /// The operand that shows a place, going by numbers, addresses and register values.
    fn operand_for(
        &self,
        operands: &[Operand],
        computed: Option<usize>,
        offset: u64,
        usage: &Use,
    ) -> Option<usize> {
        let mut chosen = computed;
        for (index, operand) in operands.iter().enumerate() {
            match operand.kind {
                OperandKind::Address(place) if place == offset => return Some(index),
                OperandKind::Scalar { value, bits } => {
                    let value = unsigned(value, bits);
                    if value == offset || value == offset >> 1 {
                        return Some(index);
                    }
                }
                OperandKind::Register(register) if chosen.is_none() => {
                    if usage.is_flow() && Some(register) == self.machine.program_counter {
                        return Some(index);
                    }
                    if self.holds(register, offset) {
                        chosen = Some(index);
                        if usage.is_flow() {
                            return chosen;
                        }
                    }
                }
                OperandKind::Dynamic if chosen.is_none() => {
                    let last = index + 1 == operands.len() && !operand.parts.is_empty();
                    match self.parts_give(&operand.parts, offset) {
                        Match::Whole => return Some(index),
                        Match::Part => chosen = Some(index),
                        Match::None if last => chosen = Some(index),
                        Match::None => {}
                    }
                }
                _ => {}
            }
        }
        chosen
    }

    /// Whether a register, or the wider one that it begins, holds an address; its lowest bit
    /// aside.
    fn holds(&self, register: decompiler::RegisterVarnode, offset: u64) -> bool {
        let wider = self.machine.wider(register);
        std::iter::once(register).chain(wider).any(|register| {
            self.register_number(register)
                .is_some_and(|value| (value & self.machine.address_mask) ^ offset <= 1)
        })
    }

    /// Whether registers and numbers of an operand add up to an address.
    fn parts_give(&self, parts: &[OperandPart], offset: u64) -> Match {
        let mask = self.machine.address_mask;
        let mut base = 0u64;
        let (mut less, mut more) = (offset, offset);
        let mut found = Match::None;
        for part in parts {
            match *part {
                OperandPart::Scalar { value, bits } => {
                    let plain = unsigned(value, bits);
                    let sum = plain.wrapping_add(base);
                    if plain == offset || plain == offset >> 1 || sum & mask == offset {
                        found = Match::Part;
                        break;
                    }
                    let signed = crate::values::sign_extend(plain, bits / 8);
                    less = less.wrapping_sub(signed);
                    more = more.wrapping_add(signed);
                }
                OperandPart::Register(register) => {
                    let Some(value) = self.register_number(register) else { continue };
                    base = value;
                    if value & mask == offset {
                        found = Match::Part;
                    }
                    less = less.wrapping_sub(value);
                    more = more.wrapping_sub(value);
                }
                OperandPart::Address(_) => {}
            }
        }
        if less & mask == 0 || more & mask == 0 { Match::Whole } else { found }
    }

    /// Notes a reference; one more use of the same place widens its kind.
    pub(crate) fn record(&mut self, at: u64, to: Address, operand: i8, kind: RefType) {
        let stored = self.program.references.from(Address::ram(at));
        let mut stored = stored.filter(|r| r.to == to && r.operand == operand);
        let stored = stored.next().map(|r| r.info.kind);
        let found = self.found.entry(at).or_default();
        match found.iter_mut().find(|f| f.to == to && f.operand == operand) {
            Some(known) => known.kind = joined(kind, known.kind),
            None => {
                let widened = stored.map_or(kind, |old| joined(kind, old));
                if stored != Some(widened) {
                    found.push(Found { to, operand, kind: widened });
                }
            }
        }
        if found.is_empty() {
            self.found.remove(&at);
        }
    }
}

/// How well an operand fits an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    None,
    Part,
    Whole,
}

fn unsigned(value: i64, bits: u32) -> u64 {
    value as u64 & crate::values::mask(bits.div_ceil(8))
}

/// The kind of a reference that is used in two ways.
pub(crate) fn joined(new: RefType, old: RefType) -> RefType {
    use RefType::{Data, Param, Read, ReadWrite, Write};
    match (new, old) {
        (Data, Data | Param | Read | Write | ReadWrite) => old,
        (Read, Write | ReadWrite) | (Write, Read | ReadWrite) => ReadWrite,
        _ => new,
    }
}
