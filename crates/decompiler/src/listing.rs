//! An instruction as a listing shows it: mnemonic, operands, and what the operands are made of.
//!
//! Symbols are not substituted here; a caller that knows labels replaces the pieces.

use std::fmt::Write as _;

use ghidra_decompiler::context::{ParserContext, ParserWalker};
use ghidra_decompiler::error::Result;
use ghidra_decompiler::semantics::{ConstType, ConstructTpl};
use ghidra_decompiler::slghsymbol::{
    Constructor, PrintPiece, SleighSymbol, SymbolBody, SymbolType,
};

use crate::handle::{Handle, Handles, Scope, value};
use crate::language::{RegisterVarnode, Tables};
use crate::parse::Parse;
use crate::pcode::VarSpace;

/// A part of an operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperandPiece {
    /// Punctuation or a name that stands for nothing in memory.
    Text(String),
    /// A register.
    Register {
        /// Its name.
        name: String,
        /// Where it lives.
        place: RegisterVarnode,
    },
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

/// One operand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OperandText {
    /// The text with numbers for addresses.
    pub text: String,
    /// The text's parts, in order.
    pub pieces: Vec<OperandPiece>,
}

/// The text of one instruction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InstructionText {
    /// The mnemonic; an instruction in a delay slot begins with `_`.
    pub mnemonic: String,
    /// The operands in the order in which they are printed.
    pub operands: Vec<OperandText>,
    /// What stands before each operand, and after the last one; one more than operands.
    pub separators: Vec<String>,
}

impl InstructionText {
    /// The operands with their separators.
    pub fn operands_text(&self) -> String {
        let mut text = self.separators.first().cloned().unwrap_or_default();
        for (index, operand) in self.operands.iter().enumerate() {
            text.push_str(&operand.text);
            if let Some(separator) = self.separators.get(index + 1) {
                text.push_str(separator);
            }
        }
        text
    }
}

impl std::fmt::Display for InstructionText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let operands = self.operands_text();
        formatter.write_str(&self.mnemonic)?;
        if !operands.is_empty() { write!(formatter, " {operands}") } else { Ok(()) }
    }
}

/// A printed thing before it has its final form.
pub(crate) enum Item {
    Character(char),
    Value {
        handle: Handle,
        /// Whether an enclosing constructor may still turn a constant into an address.
        fixable: bool,
    },
}

/// Prints one parsed instruction; its handles must have been fixed.
pub(crate) fn text(tables: &Tables, parse: &Parse) -> Result<InstructionText> {
    let mut walker = ParserWalker::new(&parse.parsed, tables.symbols());
    walker.base_state();
    let printer = Printer { tables, parsed: &parse.parsed, handles: &parse.handles };
    let Some(constructor) = printer.owner(&mut walker)? else {
        return Ok(InstructionText::default());
    };
    let pieces = constructor.get_print_pieces();
    let is_blank =
        |piece: &PrintPiece| matches!(piece, PrintPiece::Text(text) if text.starts_with(' '));
    let split = pieces.iter().position(is_blank);
    let mut result = InstructionText::default();
    constructor.print_mnemonic(&mut result.mnemonic, &mut walker)?;
    let mut separator = String::new();
    for piece in pieces.iter().skip(split.map_or(pieces.len(), |split| split + 1)) {
        match piece {
            PrintPiece::Text(text) => separator.push_str(text),
            PrintPiece::Operand(index) => {
                result.separators.push(tight(&separator));
                separator.clear();
                let mut items = Vec::new();
                printer.operand(constructor, *index, &mut walker, &mut items)?;
                result.operands.push(printer.finish(&items));
            }
        }
    }
    result.separators.push(tight(&separator));
    Ok(result)
}

/// A separator without the blanks that follow commas.
fn tight(separator: &str) -> String {
    let mut text = String::with_capacity(separator.len());
    let mut after_comma = false;
    for character in separator.chars() {
        if after_comma && character.is_ascii_whitespace() {
            continue;
        }
        after_comma = character == ',';
        text.push(character);
    }
    text
}

pub(crate) struct Printer<'a> {
    pub(crate) tables: &'a Tables,
    pub(crate) parsed: &'a ParserContext,
    pub(crate) handles: &'a Handles,
}

impl<'a> Printer<'a> {
    /// Descends to the constructor that owns the mnemonic.
    pub(crate) fn owner(&self, walker: &mut ParserWalker<'a>) -> Result<Option<&'a Constructor>> {
        while let Some(constructor) = walker.get_constructor() {
            let [PrintPiece::Operand(index)] = constructor.get_print_pieces() else {
                return Ok(Some(constructor));
            };
            let operand = constructor.get_operand(*index).map(|id| walker.symtab().get(id));
            let symbol = operand
                .and_then(SleighSymbol::operand)
                .and_then(|operand| operand.get_defining_symbol());
            let is_table =
                symbol.is_some_and(|id| walker.symtab().get(id).get_type() == SymbolType::Subtable);
            if !is_table {
                return Ok(Some(constructor));
            }
            walker.push_operand(*index)?;
        }
        Ok(None)
    }

    pub(crate) fn operand(
        &self,
        constructor: &Constructor,
        index: i32,
        walker: &mut ParserWalker<'a>,
        items: &mut Vec<Item>,
    ) -> Result<()> {
        let symbols = self.tables.symbols();
        let operand = constructor.get_operand(index).map(|id| symbols.get(id));
        let Some(operand) = operand.and_then(SleighSymbol::operand) else {
            return Ok(());
        };
        walker.push_operand(operand.get_index())?;
        match operand.get_defining_symbol().map(|id| symbols.get(id)) {
            Some(symbol) if symbol.get_type() == SymbolType::Subtable => {
                if let Some(inner) = walker.get_constructor() {
                    self.constructor(inner, walker, items)?;
                }
            }
            Some(symbol) => self.leaf(symbol, walker, items)?,
            None => {
                let mut handle = self.handles.get(walker.point());
                if handle.offset_size == 0 {
                    handle.offset_size = walker.current_state().length.max(0) as u32;
                }
                items.push(Item::Value { handle, fixable: true });
            }
        }
        walker.pop_operand();
        Ok(())
    }

    fn leaf(
        &self,
        symbol: &SleighSymbol,
        walker: &ParserWalker<'a>,
        items: &mut Vec<Item>,
    ) -> Result<()> {
        match &symbol.body {
            SymbolBody::Name { patval, nametable, .. } => {
                let index = value(patval.as_ref(), walker)? as u32 as usize;
                let name = nametable.get(index).map_or("", String::as_str);
                items.extend(name.chars().map(Item::Character));
            }
            _ => {
                items.push(Item::Value { handle: self.handles.get(walker.point()), fixable: true })
            }
        }
        Ok(())
    }

    fn constructor(
        &self,
        constructor: &Constructor,
        walker: &mut ParserWalker<'a>,
        items: &mut Vec<Item>,
    ) -> Result<()> {
        let mut printed_operands = 0;
        let mut sole: Option<(usize, i32)> = None;
        for piece in constructor.get_print_pieces() {
            match piece {
                PrintPiece::Text(text) => items.extend(text.chars().map(Item::Character)),
                PrintPiece::Operand(index) => {
                    let before = items.len();
                    self.operand(constructor, *index, walker, items)?;
                    if items.len() == before {
                        continue;
                    }
                    printed_operands += 1;
                    if printed_operands == 1 {
                        sole = only_value(items, before).map(|position| (position, *index));
                    }
                }
            }
        }
        if let (1, Some((position, index)), Some(template)) =
            (printed_operands, sole, constructor.get_templ())
            && let Some(item) = items.get_mut(position)
        {
            self.lift(item, template, index, walker);
        }
        Ok(())
    }

    /// Turns a constant that its constructor exports as a place into that place.
    fn lift(
        &self,
        item: &mut Item,
        template: &ConstructTpl,
        index: i32,
        walker: &ParserWalker<'a>,
    ) {
        let Item::Value { handle, fixable } = item else { return };
        let Some(result) = template.get_result().filter(|_| *fixable) else { return };
        let space = result.get_space();
        let offset = result.get_ptr_offset();
        let exports_operand =
            offset.get_type() == ConstType::Handle && offset.get_handle_index() == index;
        if handle.space != self.tables.spaces.constant_index
            || space.is_unique_space()
            || !exports_operand
        {
            *fixable = false;
            return;
        }
        let scope = Scope {
            tables: self.tables,
            handles: self.handles,
            parsed: self.parsed,
            state: walker.current_state(),
        };
        handle.space = scope.space(space);
        let unit = self.tables.spaces.kind(handle.space).word_size;
        handle.offset = handle.offset.wrapping_mul(u64::from(unit));
        handle.size = scope.value(result.get_size()) as u32;
    }

    fn finish(&self, items: &[Item]) -> OperandText {
        let mut operand = OperandText::default();
        let mut plain = String::new();
        for item in items {
            match item {
                Item::Character(character) => plain.push(*character),
                Item::Value { handle, .. } => {
                    let Some(piece) = self.piece(*handle) else { continue };
                    if !plain.is_empty() {
                        operand.pieces.push(OperandPiece::Text(std::mem::take(&mut plain)));
                    }
                    operand.pieces.push(piece);
                }
            }
        }
        if !plain.is_empty() {
            operand.pieces.push(OperandPiece::Text(plain));
        }
        for piece in &operand.pieces {
            write_piece(&mut operand.text, piece, self.tables);
        }
        operand
    }

    fn piece(&self, handle: Handle) -> Option<OperandPiece> {
        if !handle.is_valid() {
            return None;
        }
        let kind = self.tables.spaces.kind(handle.space).space;
        match kind {
            VarSpace::Register | VarSpace::Other(_) if !handle.is_dynamic() => {
                Some(self.register(handle.space, handle.offset, handle.size))
            }
            VarSpace::Const => Some(self.scalar(handle)),
            VarSpace::Ram if !handle.is_dynamic() => {
                Some(OperandPiece::Address(self.tables.spaces.wrap(handle.space, handle.offset)))
            }
            VarSpace::Ram
                if self.tables.spaces.kind(handle.offset_space).space == VarSpace::Register =>
            {
                Some(self.register(handle.offset_space, handle.offset, handle.offset_size))
            }
            _ => None,
        }
    }

    fn register(&self, space: u8, offset: u64, size: u32) -> OperandPiece {
        match self.tables.register_name(space, offset, size) {
            Some(name) => OperandPiece::Register {
                name: name.to_string(),
                place: RegisterVarnode { offset, size },
            },
            None => OperandPiece::Text(format!("<BAD_register_{offset}:{size}>")),
        }
    }

    fn scalar(&self, handle: Handle) -> OperandPiece {
        let (value, bits) = self.scalar_value(handle);
        OperandPiece::Scalar { value, bits }
    }

    /// The value of a printed number and its width in bits.
    pub(crate) fn scalar_value(&self, handle: Handle) -> (i64, u32) {
        let pointer = self.tables.spaces.kind(self.tables.spaces.code_index).address_size;
        let size = [handle.size, handle.offset_size, pointer]
            .into_iter()
            .find(|size| *size != 0)
            .unwrap_or(8);
        let bits = size.saturating_mul(8).min(64);
        let value = handle.offset as i64;
        // Cut to its width, as a signed number when it is negative.
        let shift = 64 - bits;
        let value = if value < 0 {
            (value << shift) >> shift
        } else {
            ((value as u64) << shift >> shift) as i64
        };
        (value, bits)
    }
}

/// The position of the only value among the items from `start`, if there is exactly one.
fn only_value(items: &[Item], start: usize) -> Option<usize> {
    let mut values =
        (start..items.len()).filter(|index| matches!(items[*index], Item::Value { .. }));
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

fn write_piece(text: &mut String, piece: &OperandPiece, tables: &Tables) {
    let written = match piece {
        OperandPiece::Text(plain) => text.write_str(plain),
        OperandPiece::Register { name, .. } => text.write_str(name),
        OperandPiece::Scalar { value, .. } if *value < 0 => {
            write!(text, "-0x{:x}", value.unsigned_abs())
        }
        OperandPiece::Scalar { value, .. } => write!(text, "0x{value:x}"),
        OperandPiece::Address(address) => {
            let digits =
                (tables.spaces.kind(tables.spaces.code_index).address_size * 2).min(8) as usize;
            write!(text, "0x{address:0digits$x}")
        }
    };
    debug_assert!(written.is_ok(), "writing to a string does not fail");
}
