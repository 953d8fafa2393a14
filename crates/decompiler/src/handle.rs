//! Values of operands: the engine's fixed handles, as small copyable values.
//!
//! The engine's own handles hold shared pointers to address spaces; copying those for every
//! operand of every instruction costs more than the decoding and stops threads from scaling.

use ghidra_decompiler::context::{ConstructState, ParserContext, ParserWalker, StateId};
use ghidra_decompiler::error::Result;
use ghidra_decompiler::pcoderaw::VarnodeData;
use ghidra_decompiler::semantics::{ConstTpl, ConstType, HandleTpl, VField};
use ghidra_decompiler::slghpatexpress::PatternExpression;
use ghidra_decompiler::slghsymbol::{SleighSymbol, SymbolBody, SymbolType};
use ghidra_decompiler::space::SpaceRef;

use crate::language::Tables;

/// Stands for "no address space".
pub(crate) const NO_SPACE: u8 = u8::MAX;

/// What an operand stands for: a place, a constant, or a place reached through a pointer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handle {
    pub(crate) space: u8,
    /// The space of the pointer; `NO_SPACE` when the place is fixed.
    pub(crate) offset_space: u8,
    pub(crate) temp_space: u8,
    pub(crate) size: u32,
    pub(crate) offset: u64,
    pub(crate) offset_size: u32,
    pub(crate) temp_offset: u64,
}

impl Default for Handle {
    fn default() -> Handle {
        Handle {
            space: NO_SPACE,
            offset_space: NO_SPACE,
            temp_space: NO_SPACE,
            size: 0,
            offset: 0,
            offset_size: 0,
            temp_offset: 0,
        }
    }
}

impl Handle {
    pub(crate) fn is_valid(&self) -> bool {
        self.space != NO_SPACE
    }

    pub(crate) fn is_dynamic(&self) -> bool {
        self.offset_space != NO_SPACE
    }

    fn place(space: u8, offset: u64, size: u32) -> Handle {
        Handle { space, offset, size, ..Handle::default() }
    }
}

/// The number of a space, as handles keep it.
pub(crate) fn space_index(space: Option<&SpaceRef>) -> u8 {
    space.and_then(|space| u8::try_from(space.get_index()).ok()).unwrap_or(NO_SPACE)
}

/// The handles of one parsed instruction, by the state of the parse tree they belong to.
#[derive(Default)]
pub(crate) struct Handles {
    list: Vec<Handle>,
}

impl Handles {
    pub(crate) fn get(&self, state: StateId) -> Handle {
        self.list.get(state as usize).copied().unwrap_or_default()
    }

    /// Whether any handle satisfies a condition; may ask about handles of an earlier instruction.
    pub(crate) fn any(&self, condition: impl Fn(&Handle) -> bool) -> bool {
        self.list.iter().any(condition)
    }

    fn set(&mut self, state: StateId, handle: Handle) {
        let index = state as usize;
        if index >= self.list.len() {
            self.list.resize(index + 1, Handle::default());
        }
        self.list[index] = handle;
    }

    /// Computes the handles of every operand of a parsed instruction, innermost first.
    pub(crate) fn fix(&mut self, tables: &Tables, parsed: &ParserContext) -> Result<()> {
        let symbols = tables.symbols();
        let mut walker = ParserWalker::new(parsed, symbols);
        walker.base_state();
        while walker.is_state() {
            let Some(constructor) = walker.get_constructor() else {
                walker.pop_operand();
                continue;
            };
            let mut operand = walker.get_operand();
            let count = constructor.get_num_operands();
            while operand < count {
                walker.push_operand(operand)?;
                let symbol = constructor.get_operand(operand).map(|id| symbols.get(id));
                let symbol = symbol.and_then(SleighSymbol::operand);
                let handle = match symbol.and_then(|symbol| symbol.get_defining_symbol()) {
                    Some(triple) => {
                        let triple = symbols.get(triple);
                        if triple.get_type() == SymbolType::Subtable {
                            break;
                        }
                        self.leaf(tables, triple, &walker)?
                    }
                    None => {
                        let expression = symbol.and_then(|symbol| symbol.get_defining_expression());
                        constant(tables, value(expression, &walker)?)
                    }
                };
                self.set(walker.point(), handle);
                walker.pop_operand();
                operand += 1;
            }
            if operand >= count {
                let result = constructor.get_templ().and_then(|template| template.get_result());
                let handle = match result {
                    Some(result) => {
                        let scope =
                            Scope { tables, handles: self, parsed, state: walker.current_state() };
                        scope.export(result)
                    }
                    None => Handle::default(),
                };
                self.set(walker.point(), handle);
                walker.pop_operand();
            }
        }
        Ok(())
    }

    fn leaf(
        &self,
        tables: &Tables,
        symbol: &SleighSymbol,
        walker: &ParserWalker<'_>,
    ) -> Result<Handle> {
        let code = tables.spaces.code_index;
        let at = |offset| Handle::place(code, offset, tables.spaces.kind(code).address_size);
        Ok(match &symbol.body {
            SymbolBody::Value { patval }
            | SymbolBody::Name { patval, .. }
            | SymbolBody::Context { patval, .. } => {
                constant(tables, value(patval.as_ref(), walker)?)
            }
            SymbolBody::Valuemap { patval, valuetable, .. } => {
                let index = value(patval.as_ref(), walker)? as u32 as usize;
                constant(tables, valuetable.get(index).copied().unwrap_or(0))
            }
            SymbolBody::Varnode { fix, .. } => fixed(fix),
            SymbolBody::Varnodelist { patval, varnode_table, .. } => {
                let index = value(patval.as_ref(), walker)? as u32 as usize;
                let entry = varnode_table.get(index).copied().flatten();
                let place = entry.and_then(|id| tables.symbols().get(id).get_fixed_varnode());
                place.map(fixed).unwrap_or_default()
            }
            SymbolBody::Operand(operand) => {
                let sibling =
                    walker.current_state().resolve.get(operand.get_index().max(0) as usize);
                sibling.map(|state| self.get(*state)).unwrap_or_default()
            }
            SymbolBody::Start { .. } => at(walker.get_addr().get_offset()),
            SymbolBody::End { .. } => at(walker.get_naddr().get_offset()),
            SymbolBody::Next2 { .. } => at(walker.get_n2addr()?.get_offset()),
            SymbolBody::Epsilon { .. } => constant(tables, 0),
            _ => Handle::default(),
        })
    }
}

fn constant(tables: &Tables, value: i64) -> Handle {
    Handle::place(tables.spaces.constant_index, value as u64, 0)
}

fn fixed(place: &VarnodeData) -> Handle {
    Handle::place(space_index(place.space.as_ref()), place.offset, place.size)
}

pub(crate) fn value(
    expression: Option<&PatternExpression>,
    walker: &ParserWalker<'_>,
) -> Result<i64> {
    expression.map_or(Ok(0), |expression| expression.get_value(walker))
}

/// One state of a parse tree, in which templates are given their values.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) tables: &'a Tables,
    pub(crate) handles: &'a Handles,
    pub(crate) parsed: &'a ParserContext,
    pub(crate) state: &'a ConstructState,
}

impl<'a> Scope<'a> {
    /// The scope of an operand of this constructor.
    pub(crate) fn operand(self, index: i32) -> Option<Scope<'a>> {
        let state = *self.state.resolve.get(usize::try_from(index).ok()?)?;
        Some(Scope { state: self.parsed.state_ref(state), ..self })
    }

    /// The handle of an operand of this constructor.
    pub(crate) fn handle(&self, index: i32) -> Handle {
        let state = usize::try_from(index).ok().and_then(|index| self.state.resolve.get(index));
        state.map(|state| self.handles.get(*state)).unwrap_or_default()
    }

    /// The value of a template constant; spaces give their number.
    pub(crate) fn value(&self, template: &ConstTpl) -> u64 {
        let code = self.tables.spaces.code_index;
        match template.get_type() {
            ConstType::JStart => self.parsed.get_addr().get_offset(),
            ConstType::JNext => self.parsed.get_naddr().get_offset(),
            ConstType::JNext2 => self.parsed.get_n2addr(None).map_or(0, |addr| addr.get_offset()),
            ConstType::JFlowref | ConstType::JFlowdest => self.parsed.get_ref_addr().get_offset(),
            ConstType::JCurspace => u64::from(code),
            ConstType::JCurspaceSize | ConstType::JFlowrefSize | ConstType::JFlowdestSize => {
                u64::from(self.tables.spaces.kind(code).address_size)
            }
            ConstType::Spaceid => u64::from(space_index(template.get_space())),
            ConstType::Real | ConstType::JRelative => template.get_real(),
            ConstType::Handle => self.handle_field(template),
        }
    }

    fn handle_field(&self, template: &ConstTpl) -> u64 {
        let handle = self.handle(template.get_handle_index());
        let (space, offset) = if handle.is_dynamic() {
            (handle.temp_space, handle.temp_offset)
        } else {
            (handle.space, handle.offset)
        };
        let plus = template.get_real();
        match template.get_select() {
            VField::VSpace => u64::from(space),
            VField::VOffset => offset,
            VField::VSize => u64::from(handle.size),
            VField::VOffsetPlus if handle.space == self.tables.spaces.constant_index => {
                offset.wrapping_shr((8 * (plus >> 16)) as u32)
            }
            VField::VOffsetPlus => offset.wrapping_add(plus & 0xffff),
        }
    }

    /// The space a template names.
    pub(crate) fn space(&self, template: &ConstTpl) -> u8 {
        match template.get_type() {
            ConstType::JCurspace | ConstType::JFlowref => self.tables.spaces.code_index,
            ConstType::Spaceid => space_index(template.get_space()),
            ConstType::Handle if template.get_select() == VField::VSpace => {
                let handle = self.handle(template.get_handle_index());
                if handle.is_dynamic() { handle.temp_space } else { handle.space }
            }
            _ => NO_SPACE,
        }
    }

    /// What a constructor exports to the operand that holds it.
    pub(crate) fn export(&self, result: &HandleTpl) -> Handle {
        if result.get_ptr_space().get_type() == ConstType::Real {
            return self.export_place(result);
        }
        let mut handle = Handle {
            space: self.space(result.get_space()),
            size: self.value(result.get_size()) as u32,
            offset: self.value(result.get_ptr_offset()),
            ..Handle::default()
        };
        let pointer = self.space(result.get_ptr_space());
        if pointer == self.tables.spaces.constant_index {
            let unit = u64::from(self.tables.spaces.kind(handle.space).word_size);
            handle.offset = self.tables.spaces.wrap(handle.space, handle.offset.wrapping_mul(unit));
        } else {
            handle.offset_space = pointer;
            handle.offset_size = self.value(result.get_ptr_size()) as u32;
            handle.temp_space = self.space(result.get_temp_space());
            handle.temp_offset = self.value(result.get_temp_offset());
        }
        handle
    }

    fn export_place(&self, result: &HandleTpl) -> Handle {
        let space = result.get_space();
        let space = match space.get_type() {
            // Unlike elsewhere, a pointed-to place keeps the space it points into.
            ConstType::Handle => self.handle(space.get_handle_index()).space,
            _ => self.space(space),
        };
        let size = self.value(result.get_size()) as u32;
        let offset = result.get_ptr_offset();
        if offset.get_type() == ConstType::Handle {
            let inner = self.handle(offset.get_handle_index());
            return Handle { space, size, ..inner };
        }
        Handle::place(space, self.tables.spaces.wrap(space, self.value(offset)), size)
    }
}
