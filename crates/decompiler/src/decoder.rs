//! The decoder: bytes to lengths, flow, p-code and text. One per thread.

use program::FlowType;
use smallvec::SmallVec;

use crate::context::{Context, ContextChange};
use crate::error::DecodeError;
use crate::flow::{FlowSummary, FlowTargets};
use crate::language::{Language, Tables};
use crate::listing::{self, InstructionText};
use crate::parse::Parse;
use crate::pcode::{Emitter, PcodeOp};

/// What the fast path tells about one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The instruction's bytes, its delay slot not counted.
    pub length: u8,
    /// The instructions in its delay slot.
    pub delay_slots: u8,
    /// The bytes of the instructions in its delay slot.
    pub delay_bytes: u8,
    /// How control leaves it, before any override.
    pub flow: FlowType,
    /// Where control goes on when it does not leave: after the instruction and its delay slot.
    pub fall_through: Option<u64>,
    /// The fixed targets of its jumps and calls.
    pub flow_targets: FlowTargets,
    /// The changes of context it makes, here or elsewhere.
    pub context_changes: SmallVec<[ContextChange; 1]>,
}

/// Decodes instructions of one language. Cheap to make, reused for any number of instructions.
///
/// All methods take the bytes that start at `offset`; they may be longer than the instruction.
/// An instruction with a delay slot is complete only if the bytes of the slot are there too.
pub struct Decoder {
    language: Language,
    main: Parse,
    delay: Vec<Parse>,
}

impl Decoder {
    /// A decoder for a language.
    pub fn new(language: &Language) -> Decoder {
        Decoder {
            main: Parse::new(&language.tables),
            delay: Vec::new(),
            language: language.clone(),
        }
    }

    /// The language decoded.
    pub fn language(&self) -> &Language {
        &self.language
    }

    /// Length, flow and context changes of one instruction.
    pub fn decode(
        &mut self,
        bytes: &[u8],
        offset: u64,
        context: Context,
    ) -> Result<Decoded, DecodeError> {
        let tables = &*self.language.tables;
        self.main.resolve(tables, bytes, offset, context)?;
        let length = self.main.length();
        let mut context_changes = SmallVec::new();
        self.main.context_changes(tables, |change| context_changes.push(change))?;
        let mut decoded = Decoded {
            length: length as u8,
            delay_slots: 0,
            delay_bytes: 0,
            flow: FlowType::FallThrough,
            fall_through: None,
            flow_targets: FlowTargets::new(),
            context_changes,
        };
        if self.main.flows {
            self.main.fix_handles(tables)?;
            let summary = FlowSummary::of(self.main.scope(tables));
            decoded.flow = summary.flow_type();
            decoded.flow_targets = summary.targets;
            let slot = self.delay_slot(bytes, offset, context);
            (decoded.delay_slots, decoded.delay_bytes) = slot;
        }
        if decoded.flow.has_fall_through() {
            let next = offset.checked_add(length as u64 + u64::from(decoded.delay_bytes));
            decoded.fall_through = next;
        }
        Ok(decoded)
    }

    /// Appends the p-code of one instruction, its delay slot included.
    pub fn pcode(
        &mut self,
        bytes: &[u8],
        offset: u64,
        context: Context,
        out: &mut Vec<PcodeOp>,
    ) -> Result<Decoded, DecodeError> {
        let decoded = self.decode(bytes, offset, context)?;
        let tables = &*self.language.tables;
        self.main.fix_handles(tables)?;
        let slots = if decoded.delay_slots > 0 {
            self.parse_delay_slot(bytes, offset, context)?
        } else {
            0
        };
        let tables = &*self.language.tables;
        let after = ghidra_decompiler::address::Address::new(
            tables.spaces.code.clone(),
            offset.wrapping_add(u64::from(decoded.length) + u64::from(decoded.delay_bytes)),
        );
        self.main.parsed.set_naddr(&after);
        Emitter::run(tables, &self.main, &self.delay[..slots], out)?;
        Ok(decoded)
    }

    /// Takes one instruction apart, its handles included.
    pub(crate) fn parsed(
        &mut self,
        bytes: &[u8],
        offset: u64,
        context: Context,
    ) -> Result<(&Tables, &Parse), DecodeError> {
        let tables = &*self.language.tables;
        self.main.resolve(tables, bytes, offset, context)?;
        self.main.fix_handles(tables)?;
        Ok((tables, &self.main))
    }

    /// The text of one instruction.
    pub fn listing(
        &mut self,
        bytes: &[u8],
        offset: u64,
        context: Context,
    ) -> Result<InstructionText, DecodeError> {
        let tables = &*self.language.tables;
        self.main.resolve(tables, bytes, offset, context)?;
        self.main.fix_handles(tables)?;
        listing::text(tables, &self.main).map_err(|_| DecodeError::BadInstruction)
    }

    /// The text of an instruction that stands in the delay slot of the one before it.
    pub fn delay_slot_listing(
        &mut self,
        bytes: &[u8],
        offset: u64,
        context: Context,
    ) -> Result<InstructionText, DecodeError> {
        let mut text = self.listing(bytes, offset, context)?;
        text.mnemonic.insert(0, '_');
        Ok(text)
    }

    /// Instructions and bytes of the delay slot; nothing when its bytes are no instructions, as
    /// in Ghidra.
    fn delay_slot(&mut self, bytes: &[u8], offset: u64, context: Context) -> (u8, u8) {
        if self.main.delay_bytes() == 0 {
            return (0, 0);
        }
        let Ok(slots) = self.parse_delay_slot(bytes, offset, context) else { return (0, 0) };
        let length: usize = self.delay[..slots].iter().map(Parse::length).sum();
        (slots as u8, u8::try_from(length).unwrap_or(0))
    }

    /// Parses the instructions of the delay slot and tells how many there are.
    fn parse_delay_slot(
        &mut self,
        bytes: &[u8],
        offset: u64,
        context: Context,
    ) -> Result<usize, DecodeError> {
        let tables = &*self.language.tables;
        let wanted = self.main.delay_bytes();
        let mut at = self.main.length();
        let end = at + wanted;
        let mut slots = 0;
        while at < end {
            if self.delay.len() == slots {
                self.delay.push(Parse::new(tables));
            }
            let parse = &mut self.delay[slots];
            let rest = bytes.get(at..).ok_or(DecodeError::Truncated)?;
            parse.resolve(tables, rest, offset.wrapping_add(at as u64), context)?;
            parse.fix_handles(tables)?;
            at += parse.length();
            slots += 1;
        }
        Ok(slots)
    }
}

impl Tables {
    /// The register of exactly this place, in the register space or another one.
    pub(crate) fn register_name(&self, space: u8, offset: u64, size: u32) -> Option<&str> {
        self.register_names.get(&(space, offset, size)).map(String::as_str)
    }
}
