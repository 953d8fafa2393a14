//! What each constructor of a language's tables means for flow, computed once per language.
//!
//! Most instructions neither branch nor have delay slots; knowing that per constructor spares
//! the fast path from looking at their semantics at all.

use ghidra_decompiler::context::ConstructorRef;
use ghidra_decompiler::opcodes::OpCode;
use ghidra_decompiler::semantics::{ConstructTpl, DELAY_SLOT, LABELBUILD};
use ghidra_decompiler::slghsymbol::SymbolTable;

/// Per constructor: whether its semantics hold an operation that shapes flow.
pub(crate) struct Shapes {
    flows: Vec<Vec<bool>>,
}

impl Shapes {
    pub(crate) fn new(symbols: &SymbolTable) -> Shapes {
        let count = u32::try_from(symbols.num_symbols()).unwrap_or(u32::MAX);
        let flows = (0..count).map(|id| match symbols.get(id).subtable() {
            Some(table) => {
                table.construct.iter().map(|ct| ct.get_templ().is_some_and(shapes_flow)).collect()
            }
            None => Vec::new(),
        });
        Shapes { flows: flows.collect() }
    }

    pub(crate) fn flows(&self, constructor: ConstructorRef) -> bool {
        self.flows
            .get(constructor.table as usize)
            .and_then(|table| table.get(constructor.index as usize))
            .copied()
            .unwrap_or(false)
    }
}

fn shapes_flow(template: &ConstructTpl) -> bool {
    template.get_opvec().iter().any(|op| {
        let opcode = op.get_opcode();
        opcode == DELAY_SLOT
            || opcode == LABELBUILD
            || matches!(
                opcode,
                OpCode::Branch
                    | OpCode::Cbranch
                    | OpCode::Branchind
                    | OpCode::Call
                    | OpCode::Callind
                    | OpCode::Return
            )
    })
}
