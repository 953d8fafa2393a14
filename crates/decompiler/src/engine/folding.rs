//! Constant folding that has no result, such as a division by a constant zero: the operation is
//! left as it is, and the run goes on.
//!
//! The engine gives the whole function up there. A rule marks such operations as soon as their
//! inputs are constant; where another rule made them so, the run that ended is taken up again
//! behind the rule that failed.

use ghidra_decompiler::action::{
    Action, ActionGroupList, Rule, RuleBase, STATUS_END, STATUS_MID, STATUS_START,
};
use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::error::Result;
use ghidra_decompiler::funcdata::Funcdata;
use ghidra_decompiler::op::OpId;
use ghidra_decompiler::opcodes::OpCode;

/// The engine's actions around the rules that fold constants, from the outermost.
const AROUND: [&str; 5] = ["universal", "fullloop", "mainloop", "stackstall", "oppool1"];

/// How often one run is taken up again: each time marks an operation at least.
pub(super) const MAX_RESUMED: usize = 4096;

/// A rule that marks what cannot be folded, and changes nothing.
pub(super) struct FoldingGuard {
    base: RuleBase,
}

impl FoldingGuard {
    pub(super) fn new() -> FoldingGuard {
        FoldingGuard { base: RuleBase::new("analysis", 0, "foldingguard") }
    }
}

impl Rule for FoldingGuard {
    fn base(&self) -> &RuleBase {
        &self.base
    }

    fn base_mut(&mut self) -> &mut RuleBase {
        &mut self.base
    }

    fn clone_rule(&self, _groups: &ActionGroupList) -> Option<Box<dyn Rule>> {
        Some(Box::new(FoldingGuard::new()))
    }

    fn get_op_list(&self, list: &mut Vec<OpCode>) {
        list.extend([OpCode::IntDiv, OpCode::IntSdiv, OpCode::IntRem, OpCode::IntSrem]);
    }

    fn apply_op(&mut self, op: OpId, data: &mut Funcdata, glb: &mut Architecture) -> Result<i32> {
        mark(op, data, glb);
        Ok(0)
    }
}

/// Marks an operation on constants that has no result; whether it is one.
fn mark(op: OpId, data: &mut Funcdata, glb: &Architecture) -> bool {
    let fails = data.op_is_collapsible(op) && data.op_collapse(op, &mut false, glb).is_err();
    if fails {
        data.op_mark_no_collapse(op);
    }
    fails
}

/// Makes ready to go on with a run that ended because a constant could not be folded; whether
/// that was why.
pub(super) fn resume(
    action: &mut dyn Action,
    data: &mut Funcdata,
    architecture: &Architecture,
) -> bool {
    // What runs is neither to be started nor at its end.
    let rules = action.get_sub_action(AROUND[AROUND.len() - 1]);
    let runs = rules.is_some_and(|rules| !is_at_rest(rules));
    if !runs {
        return false;
    }
    let folded: Vec<OpId> =
        data.obank.alive_ops().into_iter().filter(|op| !data.op(*op).is_dead()).collect();
    let marked = folded.into_iter().filter(|op| mark(*op, data, architecture)).count();
    if marked == 0 {
        return false;
    }
    for name in AROUND {
        if let Some(outer) = action.get_sub_action(name)
            && !is_at_rest(outer)
        {
            outer.base_mut().status = STATUS_MID;
        }
    }
    true
}

fn is_at_rest(action: &dyn Action) -> bool {
    matches!(action.base().status, STATUS_START | STATUS_END)
}
