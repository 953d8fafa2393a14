//! Operands as numbers: what a listing prints, without the text.

use ghidra_decompiler::context::{ConstructState, ParserWalker};
use ghidra_decompiler::error::Result;
use ghidra_decompiler::opcodes::OpCode;
use ghidra_decompiler::semantics::ConstType;
use ghidra_decompiler::slghsymbol::{Constructor, PrintPiece, SleighSymbol, SymbolType};
use smallvec::SmallVec;

use crate::context::Context;
use crate::decoder::Decoder;
use crate::error::DecodeError;
use crate::handle::{Handle, Scope};
use crate::language::{RegisterVarnode, Tables};
use crate::listing::{Item, Printer};
use crate::parse::Parse;
use crate::pcode::{Emitter, PcodeOp, VarSpace, Varnode};

/// What an operand is as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandKind {
    /// A register.
    Register(RegisterVarnode),
    /// A number.
    Scalar {
        /// The value, sign included.
        value: i64,
        /// The width in bits.
        bits: u32,
    },
    /// A fixed place in the default memory.
    Address(u64),
    /// Something computed.
    Dynamic,
}

/// A printed part of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandPart {
    /// A register.
    Register(RegisterVarnode),
    /// A number.
    Scalar {
        /// The value, sign included.
        value: i64,
        /// The width in bits.
        bits: u32,
    },
    /// An address in the default memory.
    Address(u64),
}

/// One operand, as numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    /// What it is as a whole.
    pub kind: OperandKind,
    /// Its printed parts in order; punctuation left out.
    pub parts: SmallVec<[OperandPart; 4]>,
    /// Whether a computed jump or call goes through it.
    pub indirect: bool,
    /// Whether anything of it is printed at all.
    pub visible: bool,
}

/// The operands of one instruction.
pub type Operands = SmallVec<[Operand; 3]>;

impl Decoder {
    /// The operands of one instruction in the order in which a listing prints them.
    pub fn operands(
        &mut self,
        bytes: &[u8],
        offset: u64,
        context: Context,
    ) -> std::result::Result<Operands, DecodeError> {
        let (tables, parse) = self.parsed(bytes, offset, context)?;
        operands(tables, parse).map_err(|_| DecodeError::BadInstruction)
    }

    /// Whether one instruction prints any operand that is a fixed place in memory; cheaper than
    /// asking for the operands.
    pub fn names_memory(
        &mut self,
        bytes: &[u8],
        offset: u64,
        context: Context,
    ) -> std::result::Result<bool, DecodeError> {
        let (tables, parse) = self.parsed(bytes, offset, context)?;
        Ok(parse.handles.any(|handle| {
            !handle.is_dynamic() && tables.spaces.kind(handle.space).space == VarSpace::Ram
        }))
    }

    /// Appends the p-code that computes one operand.
    pub fn operand_pcode(
        &mut self,
        bytes: &[u8],
        offset: u64,
        context: Context,
        index: usize,
        out: &mut Vec<PcodeOp>,
    ) -> std::result::Result<(), DecodeError> {
        let (tables, parse) = self.parsed(bytes, offset, context)?;
        let symbols = tables.symbols();
        let mut walker = ParserWalker::new(&parse.parsed, symbols);
        walker.base_state();
        let owner = printer(tables, parse).owner(&mut walker);
        let Ok(Some(constructor)) = owner else { return Ok(()) };
        let printed = printed(constructor).nth(index);
        let symbol = printed.and_then(|number| constructor.get_operand(number));
        let symbol = symbol.map(|id| symbols.get(id)).and_then(SleighSymbol::operand);
        let (Some(symbol), Some(number)) = (symbol, printed) else { return Ok(()) };
        let is_table = symbol
            .get_defining_symbol()
            .is_some_and(|id| symbols.get(id).get_type() == SymbolType::Subtable);
        let scope = scope(tables, parse, walker.current_state());
        match scope.operand(number).filter(|inner| is_table && inner.state.ct.is_some()) {
            Some(inner) => Emitter::run_part(tables, parse, inner, out),
            None => Ok(()),
        }
    }
}

fn printer<'a>(tables: &'a Tables, parse: &'a Parse) -> Printer<'a> {
    Printer { tables, parsed: &parse.parsed, handles: &parse.handles }
}

fn scope<'a>(tables: &'a Tables, parse: &'a Parse, state: &'a ConstructState) -> Scope<'a> {
    Scope { tables, handles: &parse.handles, parsed: &parse.parsed, state }
}

/// The operands that a constructor prints after its mnemonic, by number.
fn printed(constructor: &Constructor) -> impl Iterator<Item = i32> {
    let pieces = constructor.get_print_pieces();
    let is_blank =
        |piece: &PrintPiece| matches!(piece, PrintPiece::Text(text) if text.starts_with(' '));
    let split = pieces.iter().position(is_blank).map_or(pieces.len(), |split| split + 1);
    pieces.iter().skip(split).filter_map(|piece| match piece {
        PrintPiece::Operand(index) => Some(*index),
        PrintPiece::Text(_) => None,
    })
}

fn operands(tables: &Tables, parse: &Parse) -> Result<Operands> {
    let mut walker = ParserWalker::new(&parse.parsed, tables.symbols());
    walker.base_state();
    let printer = printer(tables, parse);
    let mut operands = Operands::new();
    let Some(constructor) = printer.owner(&mut walker)? else { return Ok(operands) };
    let mut items = Vec::new();
    for number in printed(constructor) {
        items.clear();
        printer.operand(constructor, number, &mut walker, &mut items)?;
        let parts = items.iter().filter_map(|item| match item {
            Item::Character(_) => None,
            Item::Value { handle, .. } => part(&printer, *handle),
        });
        let handle = scope(tables, parse, walker.current_state()).handle(number);
        operands.push(Operand {
            kind: kind(&printer, handle),
            parts: parts.collect(),
            indirect: is_indirect(constructor, number),
            visible: !items.is_empty(),
        });
    }
    Ok(operands)
}

fn kind(printer: &Printer<'_>, handle: Handle) -> OperandKind {
    if !handle.is_valid() || handle.is_dynamic() {
        return OperandKind::Dynamic;
    }
    match part(printer, handle) {
        Some(OperandPart::Register(place)) => OperandKind::Register(place),
        Some(OperandPart::Scalar { value, bits }) => OperandKind::Scalar { value, bits },
        Some(OperandPart::Address(offset)) => OperandKind::Address(offset),
        None => OperandKind::Dynamic,
    }
}

fn part(printer: &Printer<'_>, handle: Handle) -> Option<OperandPart> {
    if !handle.is_valid() {
        return None;
    }
    let spaces = &printer.tables.spaces;
    match spaces.kind(handle.space).space {
        VarSpace::Register | VarSpace::Other(_) if !handle.is_dynamic() => {
            let place = RegisterVarnode { offset: handle.offset, size: handle.size };
            Some(OperandPart::Register(place))
        }
        VarSpace::Const => {
            let (value, bits) = printer.scalar_value(handle);
            Some(OperandPart::Scalar { value, bits })
        }
        VarSpace::Ram if !handle.is_dynamic() => {
            Some(OperandPart::Address(spaces.wrap(handle.space, handle.offset)))
        }
        VarSpace::Ram if spaces.kind(handle.offset_space).space == VarSpace::Register => {
            let place = RegisterVarnode { offset: handle.offset, size: handle.offset_size };
            Some(OperandPart::Register(place))
        }
        _ => None,
    }
}

fn is_indirect(constructor: &Constructor, number: i32) -> bool {
    let Some(template) = constructor.get_templ() else { return false };
    template.get_opvec().iter().any(|op| {
        matches!(op.get_opcode(), OpCode::Callind | OpCode::Branchind) && {
            let space = op.get_in(0).get_space();
            space.get_type() == ConstType::Handle && space.get_handle_index() == number
        }
    })
}

impl PcodeOp {
    /// The place that the operation reads or writes when it is a load or store at a fixed place
    /// of the default memory.
    pub fn fixed_access(&self) -> Option<u64> {
        let pointer = self.inputs.get(1).filter(|_| self.is_ram_access())?;
        (pointer.space == VarSpace::Const).then_some(pointer.offset)
    }
}

impl Varnode {
    /// Whether it is a constant.
    pub fn is_constant(&self) -> bool {
        self.space == VarSpace::Const
    }
}
