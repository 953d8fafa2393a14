//! Operations as they are run: p-code with its operands resolved to places in the register file.

use decompiler::{Opcode, VarSpace};
use smallvec::SmallVec;

use crate::cells::Cell;

/// What an operation does. Those on at most eight bytes each have their own; the rest are `Wide`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Copies, cut or extended with zeros to the output's size.
    Copy,
    /// Copies as many bytes as the output has.
    CopyBytes,
    /// Copies `size` bytes and extends them with zeros.
    Extend,
    /// Reads at most 8 bytes.
    Load,
    /// Reads as many bytes as the output has.
    LoadBytes,
    /// Writes at most 8 bytes: `a` is where, `b` what, `out_size` how many.
    Store,
    /// Writes more.
    StoreBytes,
    /// Goes on at the operation `out`.
    Branch,
    /// Goes on at the operation `out` if `a` is true.
    BranchIf,
    /// Leaves the block by the exit `out`.
    Exit,
    /// Leaves the block by the exit `out` if `a` is true.
    ExitIf,
    /// Leaves for the address in `a`.
    Jump,
    /// Calls the address in `a`.
    CallTo,
    /// Returns to the address in `a`.
    Return,
    /// One of the block's wide operations, by `out`.
    Wide,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    SignedLess,
    SignedLessEqual,
    SignExtend,
    Add,
    Subtract,
    Carry,
    SignedCarry,
    SignedBorrow,
    Negate,
    Not,
    Xor,
    And,
    Or,
    Left,
    Right,
    SignedRight,
    Multiply,
    Divide,
    SignedDivide,
    Remainder,
    SignedRemainder,
    BoolNot,
    Piece,
    CountOnes,
    CountLeadingZeros,
    /// Floating point of four or eight bytes.
    Float(Opcode),
}

/// One operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    /// Bytes of the first input.
    pub(crate) size: u8,
    /// Bytes of the second input.
    pub(crate) second_size: u8,
    /// Bytes of the output.
    pub(crate) out_size: u8,
    pub(crate) out: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
}

impl Operation {
    pub(crate) fn new(kind: Kind) -> Operation {
        Operation { kind, size: 0, second_size: 0, out_size: 0, out: 0, a: 0, b: 0 }
    }
}

/// An operation that is not of the narrow kind.
#[derive(Debug, Clone)]
pub(crate) struct WideOperation {
    pub(crate) opcode: Opcode,
    /// The memory that a load or store touches, and how many bytes one address there stands for.
    pub(crate) space: Option<(VarSpace, u32)>,
    pub(crate) output: Option<Cell>,
    pub(crate) inputs: SmallVec<[Cell; 4]>,
    /// The number of an undefined operation.
    pub(crate) number: u32,
}

/// The narrow kind of an opcode with one or two inputs.
pub(crate) fn narrow(opcode: Opcode) -> Option<Kind> {
    Some(match opcode {
        Opcode::Copy | Opcode::IntZExt => Kind::Copy,
        Opcode::IntEqual => Kind::Equal,
        Opcode::IntNotEqual => Kind::NotEqual,
        Opcode::IntSLess => Kind::SignedLess,
        Opcode::IntSLessEqual => Kind::SignedLessEqual,
        Opcode::IntLess => Kind::Less,
        Opcode::IntLessEqual => Kind::LessEqual,
        Opcode::IntSExt => Kind::SignExtend,
        Opcode::IntAdd => Kind::Add,
        Opcode::IntSub => Kind::Subtract,
        Opcode::IntCarry => Kind::Carry,
        Opcode::IntSCarry => Kind::SignedCarry,
        Opcode::IntSBorrow => Kind::SignedBorrow,
        Opcode::Int2Comp => Kind::Negate,
        Opcode::IntNegate => Kind::Not,
        Opcode::IntXor | Opcode::BoolXor => Kind::Xor,
        Opcode::IntAnd | Opcode::BoolAnd => Kind::And,
        Opcode::IntOr | Opcode::BoolOr => Kind::Or,
        Opcode::IntLeft => Kind::Left,
        Opcode::IntRight => Kind::Right,
        Opcode::IntSRight => Kind::SignedRight,
        Opcode::IntMult => Kind::Multiply,
        Opcode::IntDiv => Kind::Divide,
        Opcode::IntSDiv => Kind::SignedDivide,
        Opcode::IntRem => Kind::Remainder,
        Opcode::IntSRem => Kind::SignedRemainder,
        Opcode::BoolNegate => Kind::BoolNot,
        Opcode::Piece => Kind::Piece,
        Opcode::Popcount => Kind::CountOnes,
        Opcode::LzCount => Kind::CountLeadingZeros,
        _ => return None,
    })
}

/// Whether an opcode computes with floating point numbers.
pub(crate) fn is_float(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::FloatEqual
            | Opcode::FloatNotEqual
            | Opcode::FloatLess
            | Opcode::FloatLessEqual
            | Opcode::FloatNan
            | Opcode::FloatAdd
            | Opcode::FloatDiv
            | Opcode::FloatMult
            | Opcode::FloatSub
            | Opcode::FloatNeg
            | Opcode::FloatAbs
            | Opcode::FloatSqrt
            | Opcode::FloatInt2Float
            | Opcode::FloatFloat2Float
            | Opcode::FloatTrunc
            | Opcode::FloatCeil
            | Opcode::FloatFloor
            | Opcode::FloatRound
    )
}
