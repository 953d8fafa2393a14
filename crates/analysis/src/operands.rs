//! References that an instruction's own operands state: jump and call destinations, and places
//! in memory whose address stands in the instruction.

use crate::code::CodeReader;
use decompiler::{Context, Decoded, Opcode, Operand, OperandKind, OperandPart, PcodeOp, VarSpace};
use program::reference::MNEMONIC;
use program::{Address, FlowType, Program, RefType};
use smallvec::SmallVec;

/// References of one instruction: destination, kind, operand.
pub(crate) type OperandReferences = SmallVec<[(Address, RefType, i8); 2]>;

/// The references that the operands of a freshly decoded instruction make. Cheap for the many
/// instructions that neither jump nor name memory.
pub(crate) fn references_of(
    reader: &mut CodeReader,
    program: &Program,
    at: Address,
    context: Context,
    decoded: &Decoded,
) -> OperandReferences {
    let mut found = OperandReferences::new();
    if decoded.flow_targets.is_empty() && !reader.names_memory(program, at, context) {
        return found;
    }
    let mut code = Code { reader, program, at, context, ops: None };
    let operands = code.reader.operands(program, at, context);
    let mut flows: SmallVec<[Option<u64>; 2]> =
        decoded.flow_targets.iter().copied().map(Some).collect();
    let mut left = flows.len() as isize;
    for (index, operand) in operands.iter().enumerate() {
        let index = index as i8;
        for place in places(operand, left > 0) {
            let kind = match flows.iter_mut().find(|flow| **flow == Some(place)) {
                Some(flow) => {
                    *flow = None;
                    code.flow_kind(decoded, place)
                }
                None => code.data_kind(place),
            };
            left -= 1;
            found.push((Address::ram(place), kind, index));
        }
    }
    let next = at.offset.wrapping_add(u64::from(decoded.length));
    for target in flows.into_iter().flatten() {
        let kind = code.flow_kind(decoded, target);
        if !(kind.is_jump() && target == next) {
            found.push((Address::ram(target), kind, MNEMONIC));
        }
    }
    found
}

/// The places in memory that an operand names: those it prints, else, while there are
/// destinations to place, the one it stands for.
fn places(operand: &Operand, whole: bool) -> SmallVec<[u64; 2]> {
    let printed = operand.parts.iter().filter_map(|part| match part {
        OperandPart::Address(place) => Some(*place),
        _ => None,
    });
    let mut places: SmallVec<[u64; 2]> = printed.collect();
    if let OperandKind::Address(place) = operand.kind
        && places.is_empty()
        && whole
    {
        places.push(place);
    }
    places
}

/// The instruction in question; its p-code is made when first asked for.
struct Code<'a> {
    reader: &'a mut CodeReader,
    program: &'a Program,
    at: Address,
    context: Context,
    ops: Option<Vec<PcodeOp>>,
}

impl Code<'_> {
    fn ops(&mut self) -> &[PcodeOp] {
        let Code { reader, program, at, context, ops } = self;
        ops.get_or_insert_with(|| {
            let mut ops = Vec::new();
            match reader.pcode(program, *at, *context, &mut ops) {
                Ok(_) => ops,
                Err(_) => Vec::new(),
            }
        })
    }

    /// How control reaches one of the instruction's fixed destinations.
    fn flow_kind(&mut self, decoded: &Decoded, target: u64) -> RefType {
        if decoded.flow != FlowType::Invalid && decoded.flow_targets.len() <= 1 {
            return plain_flow(decoded.flow);
        }
        // Several flows: each is conditional.
        let leads_there = |op: &&PcodeOp| {
            matches!(op.opcode, Opcode::Branch | Opcode::CBranch | Opcode::Call)
                && op.inputs.first().is_some_and(|to| is_place(to, target))
        };
        match self.ops().iter().find(leads_there).map(|op| op.opcode) {
            Some(Opcode::Call) => RefType::Flow(FlowType::ConditionalCall),
            Some(_) => RefType::Flow(FlowType::ConditionalJump),
            None => RefType::Flow(FlowType::Invalid),
        }
    }

    /// How the instruction uses a place that it does not jump to.
    fn data_kind(&mut self, place: u64) -> RefType {
        let mut written = false;
        let mut read = false;
        let mut followed = false;
        for op in self.ops() {
            let input = reads(op, place) && !written;
            read |= input;
            written |= writes(op, place);
            let through = matches!(op.opcode, Opcode::BranchInd | Opcode::CallInd | Opcode::Return);
            followed |= through && op.inputs.first().is_some_and(|to| is_place(to, place));
        }
        match (read, written) {
            (true, true) => RefType::ReadWrite,
            (false, true) => RefType::Write,
            (true, false) if followed => RefType::Flow(FlowType::Indirection),
            (true, false) => RefType::Read,
            (false, false) => self.constant_kind(place),
        }
    }

    /// How the instruction uses a place whose address is one of its constants.
    fn constant_kind(&mut self, place: u64) -> RefType {
        let mut pointer = None;
        let mut value = None;
        for op in self.ops() {
            match op.opcode {
                Opcode::IntZExt | Opcode::Copy
                    if op.inputs.first().is_some_and(|v| v.is_constant() && v.offset == place) =>
                {
                    pointer = op.output;
                }
                Opcode::Load if op.inputs.get(1).is_some_and(|v| Some(*v) == pointer) => {
                    value = op.output;
                }
                Opcode::BranchInd | Opcode::CallInd
                    if value.is_some() && op.inputs.first() == value.as_ref() =>
                {
                    return RefType::Flow(FlowType::Indirection);
                }
                _ => {}
            }
        }
        if value.is_some() { RefType::Read } else { RefType::Data }
    }
}

/// How the instruction at an address uses a place that one of its numbers is the address of.
pub(crate) fn scalar_kind(
    reader: &mut CodeReader,
    program: &Program,
    at: Address,
    instruction: &program::Instruction,
    place: u64,
) -> RefType {
    let context = reader.context(instruction.mode);
    let mut code = Code { reader, program, at, context, ops: None };
    match code.data_kind(place) {
        RefType::Data if instruction.flow.is_call() || instruction.flow.is_jump() => {
            plain_flow(instruction.effective_flow())
        }
        kind => kind,
    }
}

/// The kind of a reference along a flow, whether or not the flow ends the function.
pub(crate) fn plain_flow(flow: FlowType) -> RefType {
    RefType::Flow(match flow {
        FlowType::CallTerminator => FlowType::UnconditionalCall,
        FlowType::ConditionalCallTerminator => FlowType::ConditionalCall,
        FlowType::ComputedCallTerminator => FlowType::ComputedCall,
        FlowType::JumpTerminator => FlowType::UnconditionalJump,
        other => other,
    })
}

fn is_place(varnode: &decompiler::Varnode, place: u64) -> bool {
    varnode.space == VarSpace::Ram && varnode.offset == place
}

fn writes(op: &PcodeOp, place: u64) -> bool {
    op.output.as_ref().is_some_and(|output| is_place(output, place))
        || op.opcode == Opcode::Store && op.fixed_access() == Some(place)
}

fn reads(op: &PcodeOp, place: u64) -> bool {
    match op.opcode {
        Opcode::Call | Opcode::Branch => false,
        Opcode::CBranch => op.inputs.iter().skip(1).any(|input| is_place(input, place)),
        Opcode::Load => op.fixed_access() == Some(place),
        _ => op.inputs.iter().any(|input| is_place(input, place)),
    }
}
