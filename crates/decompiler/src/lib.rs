//! The adapter over the decompiler engine: processor languages, decoding, listing text, p-code,
//! C text.
//!
//! No other crate names the engine or its SLEIGH types; everything that leaves this crate is a
//! plain value. [`Language`] opens a processor's tables, [`Decoder`] turns bytes into lengths,
//! flow, p-code and text, [`Decompiler`] turns functions into C.

mod architecture;
mod cache;
mod call_fixup;
mod context;
mod convention;
mod decoder;
mod decompiler;
mod engine;
mod error;
mod extensions;
mod flow;
mod handle;
mod image;
mod language;
mod listing;
mod mode;
mod operand;
mod own_memory;
mod parse;
mod pcode;
mod shape;

pub use context::{Context, ContextChange};
pub use convention::{Convention, ValuePlace};
pub use decoder::{Decoded, Decoder};
pub use decompiler::Decompiler;
pub use engine::{
    Call, Decompilation, JumpTable, Limits, PassedStorage, Passing, Token, TokenKind, TypeOf,
    Variable, assign_storage, parameter_id,
};
pub use error::{DecodeError, LanguageError};
pub use flow::FlowTargets;
pub use language::{Endian, Language, RegisterVarnode};
pub use listing::{InstructionText, OperandPiece, OperandText};
pub use operand::{Operand, OperandKind, OperandPart, Operands};
pub use pcode::{Opcode, PcodeOp, VarSpace, Varnode};
