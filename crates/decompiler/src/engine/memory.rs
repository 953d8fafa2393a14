//! The program's bytes as the engine reads them.

use std::sync::Arc;

use ghidra_decompiler::address::Address;
use ghidra_decompiler::error::{Error, Result};
use ghidra_decompiler::loadimage::LoadImage;
use parking_lot::{Mutex, RwLock};
use program::Program;

use super::watch::Watch;

/// The bytes the engine asks for when it decodes; it asks for data in other sizes.
const INSTRUCTION: usize = ghidra_decompiler::context::MAX_INSTRUCTION_LEN as usize;

/// Reads noted down before repetitions are looked for.
const MAX_READS: usize = 1 << 18;

/// A program's memory as an engine sees it: the bytes, the texts that are defined in them, and which
/// of them were read.
pub(crate) struct SharedMemory {
    program: RwLock<Program>,
    reads: Mutex<Vec<(u64, u32)>>,
}

impl SharedMemory {
    pub(crate) fn new(program: Program) -> SharedMemory {
        SharedMemory { program: RwLock::new(program), reads: Mutex::default() }
    }

    /// Puts another state in place of the old one.
    pub(crate) fn replace(&self, program: Program) {
        *self.program.write() = program;
    }

    /// Looks at the state that bytes are read from.
    pub(crate) fn read_program<T>(&self, look: impl FnOnce(&Program) -> T) -> T {
        look(&self.program.read())
    }

    /// What was read since the last time: offset and length.
    pub(crate) fn take_reads(&self) -> Vec<(u64, u32)> {
        std::mem::take(&mut *self.reads.lock())
    }

    /// Notes that bytes were read.
    pub(crate) fn note(&self, offset: u64, length: usize) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let mut reads = self.reads.lock();
        if reads.len() >= MAX_READS && reads.len() == reads.capacity() {
            reads.sort_unstable();
            reads.dedup();
        }
        reads.push((offset, length));
    }
}

/// A program's memory. Reading takes no lock that anybody else holds during a run.
pub(crate) struct MemoryImage {
    memory: Arc<SharedMemory>,
    watch: Arc<Watch>,
}

impl MemoryImage {
    pub(crate) fn new(memory: Arc<SharedMemory>, watch: Arc<Watch>) -> MemoryImage {
        MemoryImage { memory, watch }
    }
}

impl LoadImage for MemoryImage {
    fn get_file_name(&self) -> &str {
        "program"
    }

    fn load_fill(&self, bytes: &mut [u8], address: &Address) -> Result<()> {
        self.watch.check()?;
        let start = program::Address::ram(address.get_offset());
        self.memory.note(start.offset, bytes.len());
        match self.memory.program.read().memory.read(start, bytes) {
            Ok(read) if read > 0 => {
                bytes[read..].fill(0);
                Ok(())
            }
            // Flow into nothing ends a function with a warning instead of failing it.
            _ if bytes.len() == INSTRUCTION => Err(Error::BadData("no memory".to_string())),
            _ => Err(Error::DataUnavail("no memory".to_string())),
        }
    }

    fn get_arch_type(&self) -> String {
        String::new()
    }

    fn adjust_vma(&mut self, _adjust: i64) {}
}
