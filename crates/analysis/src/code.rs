//! Decoding instructions out of a program's memory.

use decompiler::{Context, DecodeError, Decoded, Decoder, Language, PcodeOp};
use program::{Address, Program};

/// No instruction of any processor is longer, delay slot included.
const LONGEST: usize = 32;

/// Reads and decodes instructions of one program.
pub(crate) struct CodeReader {
    decoder: Decoder,
    language: Language,
}

impl CodeReader {
    pub(crate) fn new(language: &Language) -> CodeReader {
        CodeReader { decoder: Decoder::new(language), language: language.clone() }
    }

    /// The context of a stored decoding mode.
    pub(crate) fn context(&self, mode: u8) -> Context {
        self.language.mode_context(mode)
    }

    /// The stored mode of a context.
    pub(crate) fn mode(&self, context: Context) -> u8 {
        self.language.context_mode(context).unwrap_or(0)
    }

    /// Length, flow and context changes of the instruction at an address.
    pub(crate) fn decode(
        &mut self,
        program: &Program,
        at: Address,
        context: Context,
    ) -> Result<Decoded, DecodeError> {
        with_bytes(program, at, |bytes| self.decoder.decode(bytes, at.offset, context))
    }

    /// Appends the p-code of the instruction at an address.
    pub(crate) fn pcode(
        &mut self,
        program: &Program,
        at: Address,
        context: Context,
        out: &mut Vec<PcodeOp>,
    ) -> Result<Decoded, DecodeError> {
        with_bytes(program, at, |bytes| self.decoder.pcode(bytes, at.offset, context, out))
    }
}

/// Lends the bytes at an address: in place, or copied where they cross runs.
fn with_bytes<T>(
    program: &Program,
    at: Address,
    use_them: impl FnOnce(&[u8]) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let run = program.memory.run(at);
    if run.len() >= LONGEST {
        return use_them(&run[..LONGEST]);
    }
    let mut copy = [0u8; LONGEST];
    let read = program.memory.read(at, &mut copy).unwrap_or(0);
    if read == 0 {
        return Err(DecodeError::Truncated);
    }
    use_them(&copy[..read])
}
