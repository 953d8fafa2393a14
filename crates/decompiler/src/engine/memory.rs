//! The program's bytes as the engine reads them.

use std::sync::Arc;

use ghidra_decompiler::address::Address;
use ghidra_decompiler::error::{Error, Result};
use ghidra_decompiler::loadimage::LoadImage;
use program::Memory;

use super::watch::Watch;

/// The bytes the engine asks for when it decodes; it asks for data in other sizes.
const INSTRUCTION: usize = ghidra_decompiler::context::MAX_INSTRUCTION_LEN as usize;

/// A snapshot of a program's memory. Reading takes no lock but the watch's.
pub(crate) struct MemoryImage {
    memory: Memory,
    watch: Arc<Watch>,
}

impl MemoryImage {
    pub(crate) fn new(memory: Memory, watch: Arc<Watch>) -> MemoryImage {
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
        match self.memory.read(start, bytes) {
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
