//! One instruction taken apart: the tree of constructors that match its bytes.

use ghidra_decompiler::address::Address;
use ghidra_decompiler::context::{
    INITIAL_STATE_NUM, MAX_INSTRUCTION_LEN, ParserContext, ParserWalkerChange, StateId,
};
use ghidra_decompiler::error::Result;
use ghidra_decompiler::slghsymbol::{
    Constructor, ContextChange as Change, SleighSymbol, SymbolBody,
};

use crate::context::{Context, ContextChange};
use crate::error::DecodeError;
use crate::handle::{Handles, Scope};
use crate::language::Tables;

/// The most bytes an instruction of any language has.
pub(crate) const MAX_LENGTH: usize = MAX_INSTRUCTION_LEN as usize;

/// A request of the instruction to change the context somewhere, its address not yet known.
struct Commit {
    symbol: u32,
    point: StateId,
    word: u8,
    mask: u32,
    value: u32,
    flows: bool,
}

/// A parsed instruction; reused from one instruction to the next.
pub(crate) struct Parse {
    pub(crate) parsed: ParserContext,
    pub(crate) handles: Handles,
    commits: Vec<Commit>,
    /// Whether any constructor of the tree shapes flow.
    pub(crate) flows: bool,
    handles_fixed: bool,
    /// Where the instruction stands and in which context, once it is taken apart.
    resolved: Option<(u64, Context)>,
}

impl Parse {
    pub(crate) fn new(tables: &Tables) -> Parse {
        let mut parsed = ParserContext::new(Context::WORDS as i32);
        parsed.initialize(tables.spaces.constant.clone(), INITIAL_STATE_NUM);
        Parse {
            parsed,
            handles: Handles::default(),
            commits: Vec::new(),
            flows: false,
            handles_fixed: false,
            resolved: None,
        }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.parsed.get_addr().get_offset()
    }

    pub(crate) fn length(&self) -> usize {
        self.parsed.get_length().max(0) as usize
    }

    /// Bytes after the instruction that run before its flow takes effect, as the language states.
    pub(crate) fn delay_bytes(&self) -> usize {
        self.parsed.get_delay_slot().max(0) as usize
    }

    /// Takes the bytes at `offset` apart, unless they are already: those who ask for the flow of
    /// an instruction mostly ask for its operands or p-code next.
    pub(crate) fn resolve(
        &mut self,
        tables: &Tables,
        bytes: &[u8],
        offset: u64,
        context: Context,
    ) -> std::result::Result<(), DecodeError> {
        let alignment = tables.base.translate.get_alignment();
        if alignment > 1 && !offset.is_multiple_of(alignment as u64) {
            return Err(DecodeError::Unaligned);
        }
        let Some(available) =
            bytes.get(..bytes.len().min(MAX_LENGTH)).filter(|bytes| !bytes.is_empty())
        else {
            return Err(DecodeError::Truncated);
        };
        if !self.is_resolved(available, offset, context) {
            self.take_apart(tables, available, offset, context)?;
        }
        let length = self.length();
        if length == 0 {
            return Err(DecodeError::BadInstruction);
        }
        if length > bytes.len() {
            return Err(DecodeError::Truncated);
        }
        let next = self.parsed.get_addr() + length as i64;
        self.parsed.set_naddr(&next);
        Ok(())
    }

    fn is_resolved(&mut self, bytes: &[u8], offset: u64, context: Context) -> bool {
        let buffer = self.parsed.get_buffer();
        self.resolved == Some((offset, context))
            && buffer[..bytes.len()] == *bytes
            && buffer[bytes.len()..].iter().all(|byte| *byte == 0)
    }

    fn take_apart(
        &mut self,
        tables: &Tables,
        bytes: &[u8],
        offset: u64,
        context: Context,
    ) -> std::result::Result<(), DecodeError> {
        self.resolved = None;
        let buffer = self.parsed.get_buffer();
        buffer[..bytes.len()].copy_from_slice(bytes);
        buffer[bytes.len()..].fill(0);
        self.parsed.set_addr(&Address::new(tables.spaces.code.clone(), offset));
        for (index, word) in context.words.iter().enumerate() {
            self.parsed.set_context_word(index as i32, *word, u32::MAX);
        }
        self.parsed.set_delay_slot(0);
        self.commits.clear();
        self.flows = false;
        self.handles_fixed = false;
        self.build_tree(tables).map_err(|_| DecodeError::BadInstruction)?;
        self.resolved = Some((offset, context));
        Ok(())
    }

    fn build_tree(&mut self, tables: &Tables) -> Result<()> {
        let symbols = tables.symbols();
        let mut walker = ParserWalkerChange::new(&mut self.parsed, symbols);
        walker.deallocate_state();
        walker.set_offset(0);
        let root = symbols.get(tables.root).resolve(&walker.view())?;
        walker.set_constructor(root);
        if let Some(root) = root {
            self.flows |= tables.shapes.flows(root);
            apply_context(symbols.get_constructor(root), &mut walker, &mut self.commits)?;
        }
        while walker.is_state() {
            let constructor = match walker.get_constructor_ref() {
                Some(constructor) => symbols.get_constructor(constructor),
                None => Constructor::empty_static(),
            };
            let count = constructor.get_num_operands();
            let mut index = walker.get_operand();
            while index < count {
                let operand = constructor.get_operand(index).map(|id| symbols.get(id));
                let operand = operand.and_then(SleighSymbol::operand);
                let (base, relative, minimum) = operand.map_or((-1, 0, 0), |operand| {
                    (
                        operand.get_offset_base(),
                        operand.get_relative_offset(),
                        operand.get_minimum_length(),
                    )
                });
                let offset = walker.get_offset(base).wrapping_add(relative);
                walker.allocate_operand(index)?;
                walker.set_offset(offset);
                if let Some(symbol) = operand.and_then(|operand| operand.get_defining_symbol()) {
                    let chosen = symbols.get(symbol).resolve(&walker.view())?;
                    if let Some(chosen) = chosen {
                        walker.set_constructor(Some(chosen));
                        self.flows |= tables.shapes.flows(chosen);
                        apply_context(
                            symbols.get_constructor(chosen),
                            &mut walker,
                            &mut self.commits,
                        )?;
                        break;
                    }
                }
                walker.set_current_length(minimum);
                walker.pop_operand();
                index += 1;
            }
            if index >= count {
                walker.calc_current_length(constructor.get_minimum_length(), count);
                walker.pop_operand();
                let delay = constructor.get_templ().map_or(0, |template| template.delay_slot());
                if delay > 0 {
                    walker.get_parser_context().set_delay_slot(delay as i32);
                }
            }
        }
        Ok(())
    }

    /// Computes the operands' values, once per instruction.
    pub(crate) fn fix_handles(&mut self, tables: &Tables) -> std::result::Result<(), DecodeError> {
        if !self.handles_fixed {
            self.handles.fix(tables, &self.parsed).map_err(|_| DecodeError::BadInstruction)?;
            self.handles_fixed = true;
        }
        Ok(())
    }

    /// The scope of the instruction's root constructor; handles must have been fixed.
    pub(crate) fn scope<'a>(&'a self, tables: &'a Tables) -> Scope<'a> {
        Scope {
            tables,
            handles: &self.handles,
            parsed: &self.parsed,
            state: self.parsed.state_ref(self.parsed.base_state_id()),
        }
    }

    /// The changes of context the instruction asks for.
    pub(crate) fn context_changes(
        &mut self,
        tables: &Tables,
        mut found: impl FnMut(ContextChange),
    ) -> std::result::Result<(), DecodeError> {
        if self.commits.is_empty() {
            return Ok(());
        }
        self.fix_handles(tables)?;
        for commit in &self.commits {
            if let Some(offset) = self.commit_address(tables, commit) {
                found(ContextChange {
                    offset,
                    flows: commit.flows,
                    word: commit.word,
                    mask: commit.mask,
                    value: commit.value,
                });
            }
        }
        Ok(())
    }

    fn commit_address(&self, tables: &Tables, commit: &Commit) -> Option<u64> {
        let symbol = tables.symbols().get(commit.symbol);
        match &symbol.body {
            SymbolBody::Operand(operand) => {
                let point = self.parsed.state_ref(commit.point);
                let state = *point.resolve.get(usize::try_from(operand.get_index()).ok()?)?;
                let handle = self.handles.get(state);
                if handle.space == tables.spaces.constant_index {
                    let unit = tables.spaces.kind(tables.spaces.code_index).word_size;
                    return Some(handle.offset.wrapping_mul(u64::from(unit)));
                }
                handle.is_valid().then_some(handle.offset)
            }
            SymbolBody::Start { .. } => Some(self.offset()),
            SymbolBody::End { .. } => Some(self.parsed.get_naddr().get_offset()),
            SymbolBody::Varnode { fix, .. } => Some(fix.offset),
            _ => None,
        }
    }
}

/// Applies what a chosen constructor does to the context. Changes for other addresses are kept
/// aside: the engine would write them into its own database.
fn apply_context(
    constructor: &Constructor,
    walker: &mut ParserWalkerChange<'_>,
    commits: &mut Vec<Commit>,
) -> Result<()> {
    for change in constructor.get_context_changes() {
        match change {
            Change::Op { .. } => change.apply(walker)?,
            Change::Commit { sym, num, mask, flow } => {
                let words = walker.context_ref().get_context_words();
                let value = usize::try_from(*num).ok().and_then(|word| words.get(word)).copied();
                commits.push(Commit {
                    symbol: *sym,
                    point: walker.get_point(),
                    word: u8::try_from(*num).unwrap_or(u8::MAX),
                    mask: *mask,
                    value: value.unwrap_or(0) & mask,
                    flows: *flow,
                });
            }
        }
    }
    Ok(())
}
