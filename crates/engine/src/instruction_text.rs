//! Instructions as text: decoded again from their bytes when somebody asks.

use decompiler::{Decoder, PcodeOp};
use program::{Address, Instruction, Program};

use crate::Session;

/// Most bytes one instruction takes, its delay slot included.
const MAX_BYTES: usize = 32;

/// One instruction as a listing shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InstructionText {
    /// Its name.
    pub mnemonic: String,
    /// Its operands, one by one.
    pub operands: Vec<String>,
    /// Name and operands with what stands between them.
    pub text: String,
}

/// Prints instructions of one session; made once for a run of them.
pub struct InstructionPrinter {
    decoder: Decoder,
}

impl InstructionPrinter {
    /// A printer for the session's processor.
    pub fn new(session: &Session) -> InstructionPrinter {
        InstructionPrinter { decoder: Decoder::new(session.language()) }
    }

    /// The text of an instruction of the listing; `None` when its bytes no longer decode.
    pub fn text(
        &mut self,
        program: &Program,
        address: Address,
        instruction: &Instruction,
    ) -> Option<InstructionText> {
        let mut bytes = [0u8; MAX_BYTES];
        let read = program.memory.read(address, &mut bytes).ok()?;
        let context = self.decoder.language().mode_context(instruction.mode);
        let bytes = &bytes[..read];
        let shown = if instruction.in_delay_slot {
            self.decoder.delay_slot_listing(bytes, address.offset, context)
        } else {
            self.decoder.listing(bytes, address.offset, context)
        };
        let shown = shown.ok()?;
        let text = shown.to_string();
        let operands = shown.operands.into_iter().map(|operand| operand.text).collect();
        Some(InstructionText { mnemonic: shown.mnemonic, operands, text })
    }
}

/// Gives the p-code of instructions of one session; made once for a run of them.
pub struct RawPcode {
    decoder: Decoder,
}

impl RawPcode {
    /// For the session's processor.
    #[must_use]
    pub fn new(session: &Session) -> RawPcode {
        RawPcode { decoder: Decoder::new(session.language()) }
    }

    /// The operations of an instruction of the listing, its delay slot included; `None` when its
    /// bytes no longer decode.
    pub fn of(
        &mut self,
        program: &Program,
        address: Address,
        instruction: &Instruction,
    ) -> Option<Vec<PcodeOp>> {
        let mut bytes = [0u8; MAX_BYTES];
        let read = program.memory.read(address, &mut bytes).ok()?;
        let context = self.decoder.language().mode_context(instruction.mode);
        let mut operations = Vec::new();
        self.decoder.pcode(&bytes[..read], address.offset, context, &mut operations).ok()?;
        Some(operations)
    }
}
