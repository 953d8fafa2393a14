//! Load images handed to the engine.

use ghidra_decompiler::address::Address;
use ghidra_decompiler::error::{Error, Result};
use ghidra_decompiler::loadimage::LoadImage;

/// An image without bytes: enough to parse a language's tables.
pub(crate) struct NoImage;

impl LoadImage for NoImage {
    fn get_file_name(&self) -> &str {
        ""
    }

    fn load_fill(&self, _ptr: &mut [u8], _addr: &Address) -> Result<()> {
        Err(Error::DataUnavail("no memory".to_string()))
    }

    fn get_arch_type(&self) -> String {
        String::new()
    }

    fn adjust_vma(&mut self, _adjust: i64) {}
}
