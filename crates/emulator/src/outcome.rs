//! What a run answers: why it ended, and what it left.

use crate::memory::Access;

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The function returned to its caller.
    #[error("the function returned")]
    Returned,
    /// A place was reached where it was to end.
    #[error("it reached {0:#x}, where it was to stop")]
    StopAddress(u64),
    /// As many instructions were run as allowed.
    #[error("it ran as many instructions as it may")]
    InstructionLimit,
    /// An instruction jumps to itself and changes nothing.
    #[error("the instruction at {0:#x} jumps to itself for ever")]
    EndlessLoop(u64),
    /// The time is over.
    #[error("it took as long as it may")]
    TimeLimit,
    /// Ended from outside.
    #[error("it was cancelled")]
    Cancelled,
    /// As much memory was touched as allowed.
    #[error("it touched as much memory as it may")]
    MemoryLimit,
    /// Too many calls within calls.
    #[error("calls are nested deeper than they may be")]
    CallDepth,
    /// The stack is full.
    #[error("the stack is full: {address:#x} lies below it")]
    StackOverflow {
        /// The place that was to be used.
        address: u64,
    },
    /// Nothing is at the place used.
    #[error("no memory is at {address:#x}, which was to be {}", done(*access))]
    Unmapped {
        /// The place.
        address: u64,
        /// What was to be done there.
        access: Access,
    },
    /// The memory there may not be used so.
    #[error("memory at {address:#x} may not be {}", done(*access))]
    Forbidden {
        /// The place.
        address: u64,
        /// What was to be done there.
        access: Access,
    },
    /// No instruction is there.
    #[error("no instruction is at {address:#x}: {reason}")]
    BadInstruction {
        /// The place.
        address: u64,
        /// Why not.
        reason: String,
    },
    /// A function of another file was called that nothing answers for.
    #[error("{name} is imported: hook it to go on")]
    Import {
        /// Its name.
        name: String,
        /// Where control went.
        address: u64,
    },
    /// An operation that the language names but does not define.
    #[error("the operation {name} is not known here")]
    UserOperation {
        /// Its name.
        name: String,
    },
    /// A number was divided by zero.
    #[error("a number was divided by zero")]
    DivisionByZero,
    /// An operation on values of a size that is not known here.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// The request itself could not be followed; nothing ran.
    #[error("{0}")]
    Refused(String),
}

fn done(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "written",
        Access::Execute => "executed",
    }
}

impl Stop {
    /// A word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Stop::Returned => "returned",
            Stop::StopAddress(_) => "stop_address",
            Stop::InstructionLimit => "instruction_limit",
            Stop::EndlessLoop(_) => "endless_loop",
            Stop::TimeLimit => "time_limit",
            Stop::Cancelled => "cancelled",
            Stop::MemoryLimit => "memory_limit",
            Stop::CallDepth => "call_depth",
            Stop::StackOverflow { .. } => "stack_overflow",
            Stop::Unmapped { access: Access::Read, .. } => "unmapped_read",
            Stop::Unmapped { access: Access::Write, .. } => "unmapped_write",
            Stop::Unmapped { access: Access::Execute, .. } => "unmapped_code",
            Stop::Forbidden { access: Access::Execute, .. } => "not_executable",
            Stop::Forbidden { .. } => "write_protected",
            Stop::BadInstruction { .. } => "bad_instruction",
            Stop::Import { .. } => "import",
            Stop::UserOperation { .. } => "user_operation",
            Stop::DivisionByZero => "division_by_zero",
            Stop::Unsupported(_) => "unsupported",
            Stop::Refused(_) => "refused",
        }
    }
}

/// Who answered a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnsweredBy {
    /// The program's own code.
    Code,
    /// A built-in model.
    Model,
    /// A hook of the request.
    Hook,
    /// Nobody: the run ended.
    Nobody,
}

/// One call that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSeen {
    /// The instruction that called (or jumped).
    pub from: u64,
    /// Where to.
    pub to: u64,
    /// The name of the function there, if it has one.
    pub name: Option<String>,
    /// Calls around it.
    pub depth: u32,
    /// For what is not run: the first words passed.
    pub arguments: Vec<u64>,
    /// For what is not run: what it returned.
    pub result: Option<u64>,
    /// Who answered.
    pub answered_by: AnsweredBy,
}

/// Bytes that differ from what was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryChange {
    /// The first byte's place.
    pub address: u64,
    /// The bytes now.
    pub bytes: Vec<u8>,
    /// Which argument lies there, from 0, if one does.
    pub argument: Option<usize>,
}

/// The value of a register at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterValue {
    /// Ghidra's name.
    pub name: String,
    /// Its bits, most significant byte first.
    pub bytes: Vec<u8>,
}

/// What a function returned.
#[derive(Debug, Clone, PartialEq)]
pub struct Returned {
    /// The bits of the integer register of the convention (or of what was asked for).
    pub integer: Option<u64>,
    /// What the floating point register of the convention holds, where the convention has one.
    pub float: Option<f64>,
    /// The bytes at the place that the integer is the address of, up to a zero byte and at most
    /// 256; empty where no memory is there.
    pub pointed: Vec<u8>,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub stop: Stop,
    /// The instruction at which it ended: the one that failed, or the next.
    pub address: u64,
    /// Instructions run.
    pub instructions: u64,
    /// What it returned, if it did.
    pub returned: Option<Returned>,
    /// Where each argument's bytes were put, for those that are bytes.
    pub argument_addresses: Vec<Option<u64>>,
    /// Registers that changed or were asked for; of overlapping ones the widest.
    pub registers: Vec<RegisterValue>,
    /// Memory that changed, the stack apart, in order of addresses.
    pub memory: Vec<MemoryChange>,
    /// Whether more memory changed than is told.
    pub memory_truncated: bool,
    /// The first calls.
    pub calls: Vec<CallSeen>,
    /// All calls.
    pub call_count: u64,
    /// What is to be known about the answer.
    pub notes: Vec<String>,
}
