//! Dead side effects: a value that an operation creates besides its own is zero once the operation
//! that it waits for is gone.
//!
//! A call may return a value in the lower part of a register of which code reads the whole. The
//! rest is then an effect of the operation that stands for the value until the call is known to
//! return it. The engine leaves it undetermined; in Ghidra it is zero from then on.

use ghidra_decompiler::action::{ActionGroupList, Rule, RuleBase};
use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::error::Result;
use ghidra_decompiler::funcdata::Funcdata;
use ghidra_decompiler::op::{OpId, PcodeOp};
use ghidra_decompiler::opcodes::OpCode;

/// What reads a part of a register: effects themselves are not looked at by rules.
const READERS: [OpCode; 14] = [
    OpCode::Piece,
    OpCode::Copy,
    OpCode::Multiequal,
    OpCode::Subpiece,
    OpCode::IntEqual,
    OpCode::IntNotequal,
    OpCode::IntLess,
    OpCode::IntSless,
    OpCode::IntSext,
    OpCode::IntZext,
    OpCode::IntAnd,
    OpCode::IntOr,
    OpCode::IntRight,
    OpCode::IntSright,
];

/// A rule that makes zero of what a dead operation creates.
pub(super) struct DeadEffects {
    base: RuleBase,
}

impl DeadEffects {
    pub(super) fn new() -> DeadEffects {
        DeadEffects { base: RuleBase::new("analysis", 0, "deadeffects") }
    }
}

impl Rule for DeadEffects {
    fn base(&self) -> &RuleBase {
        &self.base
    }

    fn base_mut(&mut self) -> &mut RuleBase {
        &mut self.base
    }

    fn clone_rule(&self, _groups: &ActionGroupList) -> Option<Box<dyn Rule>> {
        Some(Box::new(DeadEffects::new()))
    }

    fn get_op_list(&self, list: &mut Vec<OpCode>) {
        list.extend(READERS);
    }

    fn apply_op(&mut self, op: OpId, data: &mut Funcdata, _glb: &mut Architecture) -> Result<i32> {
        for slot in 0..data.op(op).num_input() {
            let piece = data.op(op).get_in(slot);
            let Some(creation) = data.vn(piece).get_def() else { continue };
            if is_left_over(data, creation) {
                let zero = data.op(creation).get_in(0);
                data.total_replace(piece, zero)?;
                data.op_destroy(creation)?;
                return Ok(1);
            }
        }
        Ok(0)
    }
}

/// Whether an operation creates a value as the effect of one that is gone.
fn is_left_over(data: &Funcdata, creation: OpId) -> bool {
    let creation = data.op(creation);
    if creation.code() != OpCode::Indirect || !creation.is_indirect_creation() {
        return false;
    }
    let effect = PcodeOp::get_op_from_const(data.vn(creation.get_in(1)).get_addr());
    data.op(effect).is_dead()
}
