//! Decoding instructions out of a program's memory.

use decompiler::{Context, DecodeError, Decoded, Decoder, Language, Operands, PcodeOp};
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

    /// The bytes of a whole register, such as holds a pointer.
    pub(crate) fn word(&self) -> u32 {
        self.language.pointer_size()
    }

    /// The processor whose code it reads.
    pub(crate) fn language(&self) -> &Language {
        &self.language
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

    /// The operands of the instruction at an address; none where there is no instruction.
    pub(crate) fn operands(
        &mut self,
        program: &Program,
        at: Address,
        context: Context,
    ) -> Operands {
        with_bytes(program, at, |bytes| self.decoder.operands(bytes, at.offset, context))
            .unwrap_or_default()
    }

    /// Whether an operand of the instruction at an address may be a fixed place in memory.
    pub(crate) fn names_memory(
        &mut self,
        program: &Program,
        at: Address,
        context: Context,
    ) -> bool {
        with_bytes(program, at, |bytes| self.decoder.names_memory(bytes, at.offset, context))
            .unwrap_or(false)
    }

    /// The p-code that computes one operand of the instruction at an address.
    pub(crate) fn operand_pcode(
        &mut self,
        program: &Program,
        at: Address,
        context: Context,
        operand: usize,
    ) -> Vec<PcodeOp> {
        let mut ops = Vec::new();
        let made = with_bytes(program, at, |bytes| {
            self.decoder.operand_pcode(bytes, at.offset, context, operand, &mut ops)
        });
        if made.is_err() {
            ops.clear();
        }
        ops
    }

    /// The mnemonic of the instruction at an address.
    pub(crate) fn mnemonic(&mut self, program: &Program, at: Address, context: Context) -> String {
        with_bytes(program, at, |bytes| self.decoder.listing(bytes, at.offset, context))
            .map(|text| text.mnemonic)
            .unwrap_or_default()
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
