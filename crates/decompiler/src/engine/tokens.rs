//! The printed C as tokens: an output of the engine's pretty printer that keeps what each piece is.

use std::sync::Arc;

use ghidra_decompiler::error::Result;
use ghidra_decompiler::op::OpId;
use ghidra_decompiler::prettyprint::{
    BlockMark, Emit, EmitBase, FuncMark, OpMark, SymbolMark, SyntaxHighlight, TypeMark, VarnodeMark,
};
use ghidra_decompiler::space::SpaceRef;
use parking_lot::Mutex;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A keyword of C.
    Keyword,
    /// Part of a comment.
    Comment,
    /// A type's name.
    Type,
    /// A function's name.
    Function,
    /// A local variable's name.
    Variable,
    /// A literal.
    Constant,
    /// A parameter's name.
    Parameter,
    /// A global variable's name.
    Global,
    /// Punctuation and blanks.
    Default,
    /// Something the decompiler could not make sense of.
    Error,
    /// Something that is not C.
    Special,
}

impl TokenKind {
    /// The lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            TokenKind::Keyword => "keyword",
            TokenKind::Comment => "comment",
            TokenKind::Type => "type",
            TokenKind::Function => "function",
            TokenKind::Variable => "variable",
            TokenKind::Constant => "constant",
            TokenKind::Parameter => "parameter",
            TokenKind::Global => "global",
            TokenKind::Default => "default",
            TokenKind::Error => "error",
            TokenKind::Special => "special",
        }
    }
}

impl From<SyntaxHighlight> for TokenKind {
    fn from(highlight: SyntaxHighlight) -> TokenKind {
        match highlight {
            SyntaxHighlight::KeywordColor => TokenKind::Keyword,
            SyntaxHighlight::CommentColor => TokenKind::Comment,
            SyntaxHighlight::TypeColor => TokenKind::Type,
            SyntaxHighlight::FuncnameColor => TokenKind::Function,
            SyntaxHighlight::VarColor => TokenKind::Variable,
            SyntaxHighlight::ConstColor => TokenKind::Constant,
            SyntaxHighlight::ParamColor => TokenKind::Parameter,
            SyntaxHighlight::GlobalColor => TokenKind::Global,
            SyntaxHighlight::NoColor => TokenKind::Default,
            SyntaxHighlight::ErrorColor => TokenKind::Error,
            SyntaxHighlight::SpecialColor => TokenKind::Special,
        }
    }
}

/// Where a token comes from, before the function's operations are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    None,
    Operation(OpId),
    Place(u64),
}

/// A token as the printer hands it out.
#[derive(Debug, Clone)]
pub(crate) struct RawToken {
    pub(crate) kind: TokenKind,
    pub(crate) text: String,
    pub(crate) origin: Origin,
}

/// Where the printer's tokens go.
pub(crate) type TokenSink = Arc<Mutex<Vec<RawToken>>>;

/// The output end of the pretty printer.
pub(crate) struct TokenEmit {
    base: EmitBase,
    sink: TokenSink,
    stream: Vec<u8>,
}

impl TokenEmit {
    pub(crate) fn new(sink: TokenSink) -> TokenEmit {
        TokenEmit { base: EmitBase::new(), sink, stream: Vec::new() }
    }

    fn push(&mut self, text: &str, highlight: SyntaxHighlight, origin: Origin) -> Result<()> {
        if !text.is_empty() {
            let token = RawToken { kind: highlight.into(), text: text.to_string(), origin };
            self.sink.lock().push(token);
        }
        Ok(())
    }

    fn line(&mut self, indent: i32) -> Result<()> {
        let blanks = usize::try_from(indent).unwrap_or(0);
        let text = format!("\n{:blanks$}", "");
        self.push(&text, SyntaxHighlight::NoColor, Origin::None)
    }
}

fn origin(op: Option<OpMark>) -> Origin {
    op.map_or(Origin::None, |mark| Origin::Operation(mark.id))
}

impl Emit for TokenEmit {
    fn base(&self) -> &EmitBase {
        &self.base
    }

    fn base_mut(&mut self) -> &mut EmitBase {
        &mut self.base
    }

    fn as_dyn(&mut self) -> &mut dyn Emit {
        self
    }

    fn begin_document(&mut self) -> Result<i32> {
        Ok(0)
    }

    fn end_document(&mut self, _id: i32) -> Result<()> {
        Ok(())
    }

    fn begin_function(&mut self, _function: Option<&FuncMark>) -> Result<i32> {
        Ok(0)
    }

    fn end_function(&mut self, _id: i32) -> Result<()> {
        Ok(())
    }

    fn begin_block(&mut self, _block: Option<BlockMark>) -> Result<i32> {
        Ok(0)
    }

    fn end_block(&mut self, _id: i32) -> Result<()> {
        Ok(())
    }

    fn tag_line(&mut self) -> Result<()> {
        self.line(self.base.indentlevel)
    }

    fn tag_line_indent(&mut self, indent: i32) -> Result<()> {
        self.line(indent)
    }

    fn begin_return_type(&mut self, _varnode: Option<VarnodeMark>) -> Result<i32> {
        Ok(0)
    }

    fn end_return_type(&mut self, _id: i32) -> Result<()> {
        Ok(())
    }

    fn begin_var_decl(&mut self, _symbol: Option<SymbolMark>) -> Result<i32> {
        Ok(0)
    }

    fn end_var_decl(&mut self, _id: i32) -> Result<()> {
        Ok(())
    }

    fn begin_statement(&mut self, _op: Option<OpMark>) -> Result<i32> {
        Ok(0)
    }

    fn end_statement(&mut self, _id: i32) -> Result<()> {
        Ok(())
    }

    fn begin_func_proto(&mut self) -> Result<i32> {
        Ok(0)
    }

    fn end_func_proto(&mut self, _id: i32) -> Result<()> {
        Ok(())
    }

    fn tag_variable(
        &mut self,
        name: &str,
        highlight: SyntaxHighlight,
        _varnode: Option<VarnodeMark>,
        op: Option<OpMark>,
    ) -> Result<()> {
        self.push(name, highlight, origin(op))
    }

    fn tag_op(&mut self, name: &str, highlight: SyntaxHighlight, op: Option<OpMark>) -> Result<()> {
        self.push(name, highlight, origin(op))
    }

    fn tag_func_name(
        &mut self,
        name: &str,
        highlight: SyntaxHighlight,
        _function: Option<&FuncMark>,
        op: Option<OpMark>,
    ) -> Result<()> {
        self.push(name, highlight, origin(op))
    }

    fn tag_type(
        &mut self,
        name: &str,
        highlight: SyntaxHighlight,
        _mark: Option<&TypeMark>,
    ) -> Result<()> {
        self.push(name, highlight, Origin::None)
    }

    fn tag_field(
        &mut self,
        name: &str,
        highlight: SyntaxHighlight,
        _mark: Option<&TypeMark>,
        _offset: i32,
        op: Option<OpMark>,
    ) -> Result<()> {
        self.push(name, highlight, origin(op))
    }

    fn tag_bit_field(
        &mut self,
        name: &str,
        highlight: SyntaxHighlight,
        _mark: Option<&TypeMark>,
        _id: i32,
        op: Option<OpMark>,
    ) -> Result<()> {
        self.push(name, highlight, origin(op))
    }

    fn tag_comment(
        &mut self,
        text: &str,
        highlight: SyntaxHighlight,
        _space: Option<&SpaceRef>,
        offset: u64,
    ) -> Result<()> {
        self.push(text, highlight, Origin::Place(offset))
    }

    fn tag_label(
        &mut self,
        name: &str,
        highlight: SyntaxHighlight,
        _space: Option<&SpaceRef>,
        offset: u64,
    ) -> Result<()> {
        self.push(name, highlight, Origin::Place(offset))
    }

    fn tag_case_label(
        &mut self,
        name: &str,
        highlight: SyntaxHighlight,
        op: Option<OpMark>,
        _value: u64,
    ) -> Result<()> {
        self.push(name, highlight, origin(op))
    }

    fn print(&mut self, text: &str, highlight: SyntaxHighlight) -> Result<()> {
        self.push(text, highlight, Origin::None)
    }

    fn open_paren(&mut self, paren: &str, id: i32) -> Result<i32> {
        self.push(paren, SyntaxHighlight::NoColor, Origin::None)?;
        self.base.parenlevel += 1;
        Ok(id)
    }

    fn close_paren(&mut self, paren: &str, _id: i32) -> Result<()> {
        self.push(paren, SyntaxHighlight::NoColor, Origin::None)?;
        self.base.parenlevel -= 1;
        Ok(())
    }

    fn set_output_stream(&mut self, text: Vec<u8>) {
        self.stream = text;
    }

    fn get_output_stream(&mut self) -> &mut Vec<u8> {
        &mut self.stream
    }

    fn emits_markup(&self) -> bool {
        // Otherwise the printer drops what tells one token from another.
        false
    }
}
