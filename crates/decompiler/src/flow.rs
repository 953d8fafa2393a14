//! How an instruction passes control on, read off the templates of its constructors.
//!
//! The flow type follows from which branches, calls and returns the templates hold and in which
//! order; no p-code is made for it.

use ghidra_decompiler::opcodes::OpCode;
use ghidra_decompiler::semantics::{BUILD, ConstType, ConstructTpl, LABELBUILD, OpTpl};
use program::FlowType;
use smallvec::SmallVec;

use crate::handle::Scope;

/// Direct targets of one instruction.
pub type FlowTargets = SmallVec<[u64; 2]>;

const RETURN: u16 = 1;
const CALL_INDIRECT: u16 = 2;
const BRANCH_INDIRECT: u16 = 4;
const CALL: u16 = 8;
const JUMP_OUT: u16 = 0x10;
const NO_FALL_THROUGH: u16 = 0x20;
const BRANCH_TO_END: u16 = 0x40;
const LABEL: u16 = 0x80;

/// The flow of one instruction as its templates tell it.
#[derive(Default)]
pub(crate) struct FlowSummary {
    flags: u16,
    pub(crate) targets: FlowTargets,
}

impl FlowSummary {
    pub(crate) fn of(scope: Scope<'_>) -> FlowSummary {
        let mut summary = FlowSummary::default();
        summary.walk(scope, 0);
        summary
    }

    fn walk(&mut self, scope: Scope<'_>, depth: u32) {
        let constructor = scope.state.ct.map(|ct| scope.tables.symbols().get_constructor(ct));
        let Some(template) = constructor.and_then(|constructor| constructor.get_templ()) else {
            return;
        };
        self.walk_template(scope, template, depth);
    }

    fn walk_template(&mut self, scope: Scope<'_>, template: &ConstructTpl, depth: u32) {
        for op in template.get_opvec() {
            let opcode = op.get_opcode();
            if opcode == BUILD {
                let operand = op.get_in(0).get_offset().get_real() as i32;
                // The parse tree is no deeper than the engine's own limit.
                if let Some(inner) = scope.operand(operand).filter(|_| depth < 64) {
                    self.walk(inner, depth + 1);
                }
            } else if let Some(flags) = flow_flags(op, opcode) {
                // Only the last flow of an instruction decides whether it falls through.
                self.flags = self.flags & !(NO_FALL_THROUGH | LABEL) | flags;
                if flags & (JUMP_OUT | CALL) != 0 {
                    self.add_target(scope, op);
                }
            }
        }
    }

    fn add_target(&mut self, scope: Scope<'_>, op: &OpTpl) {
        let offset = op.get_in(0).get_offset();
        if offset.get_type() != ConstType::Handle {
            return;
        }
        let index = offset.get_handle_index();
        let symbols = scope.tables.symbols();
        let constructor = scope.state.ct.map(|ct| symbols.get_constructor(ct));
        let operand = constructor.and_then(|constructor| constructor.get_operand(index));
        let is_code = operand
            .and_then(|id| symbols.get(id).operand())
            .is_some_and(|operand| operand.is_code_address());
        let handle = scope.handle(index);
        if is_code
            && handle.is_valid()
            && !handle.is_dynamic()
            && handle.space != scope.tables.spaces.unique_index
        {
            self.targets
                .push(scope.tables.spaces.wrap(scope.tables.spaces.code_index, handle.offset));
        }
    }

    pub(crate) fn flow_type(&self) -> FlowType {
        let mut flags = self.flags;
        if flags & LABEL != 0 {
            flags |= BRANCH_TO_END;
        }
        flow_type(flags & !LABEL)
    }
}

fn flow_flags(op: &OpTpl, opcode: OpCode) -> Option<u16> {
    if opcode == LABELBUILD {
        return Some(LABEL);
    }
    let inside = |op: &OpTpl| match op.get_in(0).get_offset().get_type() {
        ConstType::JNext => Some(BRANCH_TO_END),
        ConstType::JStart | ConstType::JRelative => Some(0),
        _ => None,
    };
    Some(match opcode {
        OpCode::Branchind => BRANCH_INDIRECT | NO_FALL_THROUGH,
        OpCode::Branch => match inside(op) {
            Some(0) => NO_FALL_THROUGH,
            Some(flags) => flags,
            None => JUMP_OUT | NO_FALL_THROUGH,
        },
        OpCode::Cbranch => inside(op).unwrap_or(JUMP_OUT),
        OpCode::Call => CALL,
        OpCode::Callind => CALL_INDIRECT,
        OpCode::Return => RETURN | NO_FALL_THROUGH,
        _ => return None,
    })
}

fn flow_type(flags: u16) -> FlowType {
    const STAY: u16 = NO_FALL_THROUGH;
    const END: u16 = BRANCH_TO_END;
    const CALL_RETURN: u16 = CALL | STAY | RETURN;
    const COMPUTED_CALL_RETURN: u16 = CALL_INDIRECT | STAY | RETURN;
    const CALL_JUMP: u16 = CALL | STAY | JUMP_OUT;
    const CALL_OR_RETURN: u16 = CALL | STAY | END | RETURN;
    const COMPUTED: u16 = BRANCH_INDIRECT | STAY;
    const COMPUTED_END: u16 = BRANCH_INDIRECT | END;
    const COMPUTED_STAY_END: u16 = BRANCH_INDIRECT | STAY | END;
    const COMPUTED_JUMP_END: u16 = BRANCH_INDIRECT | JUMP_OUT | STAY | END;
    const COMPUTED_CALL_END: u16 = CALL_INDIRECT | END;
    const COMPUTED_CALL_STAY_END: u16 = CALL_INDIRECT | STAY | END;
    const RETURNS: u16 = RETURN | STAY;
    const RETURN_END: u16 = RETURN | END;
    const RETURN_STAY_END: u16 = RETURN | STAY | END;
    const JUMP: u16 = JUMP_OUT | STAY;
    const JUMP_STAY_END: u16 = JUMP_OUT | STAY | END;
    const JUMP_END: u16 = JUMP_OUT | END;
    const JUMP_RETURN: u16 = JUMP_OUT | STAY | RETURN;
    const JUMP_COMPUTED: u16 = JUMP_OUT | STAY | BRANCH_INDIRECT;
    const COMPUTED_RETURN: u16 = BRANCH_INDIRECT | STAY | RETURN;
    const CALL_END: u16 = CALL | END;
    const STAY_END: u16 = STAY | END;
    match flags {
        0 | END | STAY_END => FlowType::FallThrough,
        CALL | CALL_OR_RETURN => FlowType::UnconditionalCall,
        CALL_RETURN => FlowType::CallTerminator,
        COMPUTED_CALL_RETURN => FlowType::ComputedCallTerminator,
        CALL_END => FlowType::ConditionalCall,
        CALL_JUMP | COMPUTED | JUMP_COMPUTED => FlowType::ComputedJump,
        CALL_INDIRECT => FlowType::ComputedCall,
        COMPUTED_END | COMPUTED_STAY_END | COMPUTED_JUMP_END => FlowType::ConditionalComputedJump,
        COMPUTED_CALL_END | COMPUTED_CALL_STAY_END => FlowType::ConditionalComputedCall,
        RETURNS | STAY => FlowType::Terminator,
        RETURN_END | RETURN_STAY_END => FlowType::ConditionalTerminator,
        JUMP_OUT | JUMP_STAY_END | JUMP_END => FlowType::ConditionalJump,
        JUMP => FlowType::UnconditionalJump,
        JUMP_RETURN | COMPUTED_RETURN => FlowType::JumpTerminator,
        _ => FlowType::Invalid,
    }
}
