//! Kinds of control flow and of references, in Ghidra's spelling.

/// How control leaves an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FlowType {
    /// Goes on with the next instruction.
    FallThrough,
    /// Direct jump.
    UnconditionalJump,
    /// Direct jump, maybe.
    ConditionalJump,
    /// Direct call.
    UnconditionalCall,
    /// Direct call, maybe.
    ConditionalCall,
    /// Return or stop.
    Terminator,
    /// Return, maybe.
    ConditionalTerminator,
    /// Jump to a computed place.
    ComputedJump,
    /// Jump to a computed place, maybe.
    ConditionalComputedJump,
    /// Call of a computed place.
    ComputedCall,
    /// Call of a computed place, maybe.
    ConditionalComputedCall,
    /// Direct call that does not come back here.
    CallTerminator,
    /// Computed call that does not come back here.
    ComputedCallTerminator,
    /// Direct call that may come and does not come back here.
    ConditionalCallTerminator,
    /// Jump or return, by condition.
    JumpTerminator,
    /// Reference through a pointer that a flow follows.
    Indirection,
    /// Bytes that decode to no flow.
    Invalid,
    /// Flow of unknown kind.
    Flow,
    /// Call made of another instruction by an override reference.
    CallOverrideUnconditional,
    /// Jump made of another instruction by an override reference.
    JumpOverrideUnconditional,
    /// Call made of a user operation.
    CallotherOverrideCall,
    /// Jump made of a user operation.
    CallotherOverrideJump,
}

impl FlowType {
    /// Every flow type with its name.
    const NAMES: [(FlowType, &'static str); 22] = [
        (FlowType::FallThrough, "FALL_THROUGH"),
        (FlowType::UnconditionalJump, "UNCONDITIONAL_JUMP"),
        (FlowType::ConditionalJump, "CONDITIONAL_JUMP"),
        (FlowType::UnconditionalCall, "UNCONDITIONAL_CALL"),
        (FlowType::ConditionalCall, "CONDITIONAL_CALL"),
        (FlowType::Terminator, "TERMINATOR"),
        (FlowType::ConditionalTerminator, "CONDITIONAL_TERMINATOR"),
        (FlowType::ComputedJump, "COMPUTED_JUMP"),
        (FlowType::ConditionalComputedJump, "CONDITIONAL_COMPUTED_JUMP"),
        (FlowType::ComputedCall, "COMPUTED_CALL"),
        (FlowType::ConditionalComputedCall, "CONDITIONAL_COMPUTED_CALL"),
        (FlowType::CallTerminator, "CALL_TERMINATOR"),
        (FlowType::ComputedCallTerminator, "COMPUTED_CALL_TERMINATOR"),
        (FlowType::ConditionalCallTerminator, "CONDITIONAL_CALL_TERMINATOR"),
        (FlowType::JumpTerminator, "JUMP_TERMINATOR"),
        (FlowType::Indirection, "INDIRECTION"),
        (FlowType::Invalid, "INVALID"),
        (FlowType::Flow, "FLOW"),
        (FlowType::CallOverrideUnconditional, "CALL_OVERRIDE_UNCONDITIONAL"),
        (FlowType::JumpOverrideUnconditional, "JUMP_OVERRIDE_UNCONDITIONAL"),
        (FlowType::CallotherOverrideCall, "CALLOTHER_OVERRIDE_CALL"),
        (FlowType::CallotherOverrideJump, "CALLOTHER_OVERRIDE_JUMP"),
    ];

    /// Ghidra's name, such as `UNCONDITIONAL_CALL`.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    /// The flow type of that exact name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, n)| *n == name).map(|(t, _)| *t)
    }

    /// Whether it calls.
    pub fn is_call(self) -> bool {
        use FlowType::*;
        matches!(
            self,
            UnconditionalCall
                | ConditionalCall
                | ComputedCall
                | ConditionalComputedCall
                | CallTerminator
                | ComputedCallTerminator
                | ConditionalCallTerminator
                | CallOverrideUnconditional
                | CallotherOverrideCall
        )
    }

    /// Whether it jumps.
    pub fn is_jump(self) -> bool {
        use FlowType::*;
        matches!(
            self,
            UnconditionalJump
                | ConditionalJump
                | ComputedJump
                | ConditionalComputedJump
                | JumpTerminator
                | JumpOverrideUnconditional
                | CallotherOverrideJump
        )
    }

    /// Whether its destination is computed.
    pub fn is_computed(self) -> bool {
        use FlowType::*;
        matches!(
            self,
            ComputedJump
                | ConditionalComputedJump
                | ComputedCall
                | ConditionalComputedCall
                | ComputedCallTerminator
        )
    }

    /// Whether it depends on a condition.
    pub fn is_conditional(self) -> bool {
        use FlowType::*;
        matches!(
            self,
            ConditionalJump
                | ConditionalCall
                | ConditionalTerminator
                | ConditionalComputedJump
                | ConditionalComputedCall
                | ConditionalCallTerminator
        )
    }

    /// Whether it ends the function (with or without a condition).
    pub fn is_terminal(self) -> bool {
        use FlowType::*;
        matches!(
            self,
            Terminator
                | ConditionalTerminator
                | CallTerminator
                | ComputedCallTerminator
                | ConditionalCallTerminator
                | JumpTerminator
        )
    }

    /// Whether control can go on with the next instruction.
    pub fn has_fall_through(self) -> bool {
        use FlowType::*;
        match self {
            FallThrough | UnconditionalCall | ComputedCall => true,
            CallOverrideUnconditional | CallotherOverrideCall => true,
            other => other.is_conditional(),
        }
    }

    /// The flow after an override is laid over it.
    pub fn overridden(self, change: FlowOverride) -> FlowType {
        use FlowType::*;
        match (change, self) {
            (FlowOverride::None, flow) => flow,
            (FlowOverride::Branch, UnconditionalCall | CallTerminator) => UnconditionalJump,
            (FlowOverride::Branch, ConditionalCall | ConditionalCallTerminator) => ConditionalJump,
            (FlowOverride::Branch, ComputedCall | ComputedCallTerminator | Terminator) => {
                ComputedJump
            }
            (FlowOverride::Branch, ConditionalComputedCall | ConditionalTerminator) => {
                ConditionalComputedJump
            }
            (FlowOverride::Call, UnconditionalJump) => UnconditionalCall,
            (FlowOverride::Call, ConditionalJump) => ConditionalCall,
            (FlowOverride::Call, ComputedJump | Terminator) => ComputedCall,
            (FlowOverride::Call, ConditionalComputedJump | ConditionalTerminator) => {
                ConditionalComputedCall
            }
            (FlowOverride::CallReturn, UnconditionalJump | UnconditionalCall) => CallTerminator,
            (FlowOverride::CallReturn, ComputedJump | ComputedCall | Terminator) => {
                ComputedCallTerminator
            }
            (FlowOverride::Return, flow) if flow.is_jump() || flow.is_call() => {
                if flow.is_conditional() { ConditionalTerminator } else { Terminator }
            }
            (_, flow) => flow,
        }
    }
}

/// A user's or analyzer's correction of an instruction's flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum FlowOverride {
    /// As decoded.
    #[default]
    None,
    /// Treat as a jump.
    Branch,
    /// Treat as a call.
    Call,
    /// Treat as a call followed by a return.
    CallReturn,
    /// Treat as a return.
    Return,
}

/// How one place refers to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefType {
    /// Control flow.
    Flow(FlowType),
    /// Data is meant, not touched.
    Data,
    /// Passed as a call's argument.
    Param,
    /// Data, through a pointer.
    DataInd,
    /// Read.
    Read,
    /// Written.
    Write,
    /// Read and written.
    ReadWrite,
    /// Read through a pointer.
    ReadInd,
    /// Written through a pointer.
    WriteInd,
    /// Read and written through a pointer.
    ReadWriteInd,
    /// To an external location.
    External,
    /// From a thunk to what it stands for.
    Thunk,
}

impl RefType {
    /// The kinds that are no control flow.
    const OTHERS: [RefType; 11] = [
        RefType::Data,
        RefType::Param,
        RefType::DataInd,
        RefType::Read,
        RefType::Write,
        RefType::ReadWrite,
        RefType::ReadInd,
        RefType::WriteInd,
        RefType::ReadWriteInd,
        RefType::External,
        RefType::Thunk,
    ];

    /// The names of all kinds, those of control flow first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let others = RefType::OTHERS.iter().map(|kind| kind.name());
        FlowType::NAMES.iter().map(|(_, name)| *name).chain(others)
    }

    /// Ghidra's name, such as `READ` or `UNCONDITIONAL_CALL`.
    pub fn name(self) -> &'static str {
        match self {
            RefType::Flow(flow) => flow.name(),
            RefType::Data => "DATA",
            RefType::Param => "PARAM",
            RefType::DataInd => "DATA_IND",
            RefType::Read => "READ",
            RefType::Write => "WRITE",
            RefType::ReadWrite => "READ_WRITE",
            RefType::ReadInd => "READ_IND",
            RefType::WriteInd => "WRITE_IND",
            RefType::ReadWriteInd => "READ_WRITE_IND",
            RefType::External => "EXTERNAL",
            RefType::Thunk => "THUNK",
        }
    }

    /// Whether it calls.
    pub fn is_call(self) -> bool {
        matches!(self, RefType::Flow(flow) if flow.is_call())
    }

    /// Whether it jumps.
    pub fn is_jump(self) -> bool {
        matches!(self, RefType::Flow(flow) if flow.is_jump())
    }

    /// Whether control follows it (indirections only point at a pointer).
    pub fn is_flow(self) -> bool {
        matches!(self, RefType::Flow(flow) if flow != FlowType::Indirection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_declaration_order() {
        for (index, (flow, name)) in FlowType::NAMES.iter().enumerate() {
            assert_eq!(*flow as usize, index);
            assert_eq!(FlowType::from_name(name), Some(*flow));
        }
    }

    #[test]
    fn overrides_keep_condition_and_computedness() {
        use FlowType::*;
        let after = |flow: FlowType, change| flow.overridden(change);
        assert_eq!(after(UnconditionalCall, FlowOverride::Branch), UnconditionalJump);
        assert_eq!(after(Terminator, FlowOverride::Branch), ComputedJump);
        assert_eq!(after(ConditionalJump, FlowOverride::Call), ConditionalCall);
        assert_eq!(after(ConditionalJump, FlowOverride::CallReturn), ConditionalJump);
        assert_eq!(after(UnconditionalJump, FlowOverride::CallReturn), CallTerminator);
        assert_eq!(after(ConditionalComputedCall, FlowOverride::Return), ConditionalTerminator);
        assert_eq!(after(FallThrough, FlowOverride::Return), FallThrough);
        assert!(!CallTerminator.has_fall_through() && UnconditionalCall.has_fall_through());
    }
}
