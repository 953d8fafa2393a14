//! What a run is asked: where it begins, with what, and where it ends.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A value that is passed to the function called.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// An integer or address; the convention's word unless a size in bytes (1 to 8) is given.
    Integer {
        /// Its bits.
        value: u64,
        /// Bytes; a word when absent.
        size: Option<u32>,
    },
    /// A floating point number of 4 or 8 bytes, passed where the convention passes such.
    Float {
        /// The number.
        value: f64,
        /// 4 or 8.
        size: u32,
    },
    /// Bytes that are put into memory; their address is passed.
    Bytes(Vec<u8>),
}

/// What kind of value a function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValueKind {
    /// As the program's prototype says; a word where it says nothing.
    #[default]
    Unknown,
    /// An integer of so many bytes (1 to 8).
    Integer(u32),
    /// A floating point number of 4 or 8 bytes.
    Float(u32),
}

/// What happens when control reaches a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAction {
    /// It returns at once with this value.
    Return(u64),
    /// A built-in model of a function answers, by the name given.
    Model(String),
    /// The run stops there, even where a model would answer.
    Stop,
}

/// A function that is not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// Its address; for an import that of its thunk or of its made-up place.
    pub address: Option<u64>,
    /// The name of an import, wherever it is called from.
    pub import: Option<String>,
    /// What happens instead.
    pub action: HookAction,
}

/// One run.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Where it begins, in the program's memory.
    pub entry: u64,
    /// What is passed, in order.
    pub arguments: Vec<Argument>,
    /// The calling convention; that of the function, else the program's, when absent.
    pub convention: Option<String>,
    /// What it returns.
    pub returns: ValueKind,
    /// Values of registers at the entry, by Ghidra's names; they win over all else.
    pub registers: Vec<(String, u128)>,
    /// Bytes put into memory before; places where nothing is become memory.
    pub memory: Vec<(u64, Vec<u8>)>,
    /// What is not run, but answered.
    pub hooks: Vec<Hook>,
    /// Where the run ends, before the instruction there.
    pub stop: Vec<u64>,
    /// Registers to answer in any case.
    pub watch: Vec<String>,
}

/// How far a run may go.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Instructions.
    pub instructions: u64,
    /// Time.
    pub time: Duration,
    /// Bytes of memory touched.
    pub memory: u64,
    /// Calls within calls.
    pub depth: u32,
    /// Bytes of the stack.
    pub stack: u64,
    /// Bytes of the heap that models allot.
    pub heap: u64,
    /// Calls told of; more are only counted.
    pub calls: usize,
    /// Bytes of changed memory told of.
    pub changes: usize,
    /// Set from outside to end the run.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            instructions: 10_000_000,
            time: Duration::from_secs(10),
            memory: 64 << 20,
            depth: 10_000,
            stack: 1 << 20,
            heap: 16 << 20,
            calls: 1000,
            changes: 1 << 16,
            cancel: None,
        }
    }
}
