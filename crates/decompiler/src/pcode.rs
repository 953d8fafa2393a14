//! P-code: the processor-neutral operations an instruction stands for.

use ghidra_decompiler::context::ConstructState;
use ghidra_decompiler::opcodes::OpCode;
use ghidra_decompiler::semantics::{
    BUILD, CROSSBUILD, ConstType, ConstructTpl, DELAY_SLOT, LABELBUILD, OpTpl, VField, VarnodeTpl,
};
use ghidra_decompiler::translate::UniqueLayout;
use smallvec::SmallVec;

use crate::error::DecodeError;
use crate::handle::Scope;
use crate::language::{Language, Tables};
use crate::parse::Parse;

/// The kind of place a varnode lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VarSpace {
    /// A constant; the offset is its value.
    Const,
    /// A processor register.
    Register,
    /// A temporary of one instruction.
    Unique,
    /// The default memory.
    Ram,
    /// Another memory of the language, by its number in the language.
    Other(u8),
}

/// A place or constant of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Varnode {
    /// Where it lies.
    pub space: VarSpace,
    /// The offset there, or the constant's value.
    pub offset: u64,
    /// The size in bytes.
    pub size: u32,
}

/// One operation. `Load` and `Store` name the memory they use by their first input, a constant:
/// [`PcodeOp::is_ram_access`] tells the default one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PcodeOp {
    /// What is done.
    pub opcode: Opcode,
    /// Where the result goes.
    pub output: Option<Varnode>,
    /// What it is done with.
    pub inputs: SmallVec<[Varnode; 3]>,
}

impl PcodeOp {
    /// Whether a load or store touches the default memory.
    pub fn is_ram_access(&self) -> bool {
        matches!(self.opcode, Opcode::Load | Opcode::Store)
            && self.inputs.first().is_some_and(|space| space.offset == RAM_MARK)
    }
}

/// The first input of loads and stores to the default memory.
const RAM_MARK: u64 = 1;
/// Added to a space's number in the first input of loads and stores elsewhere.
const OTHER_MARK: u64 = 0x100;

impl Language {
    /// The memory that a load or store touches.
    pub fn accessed_space(&self, op: &PcodeOp) -> Option<VarSpace> {
        let space = op.inputs.first().map(|input| input.offset);
        match space.filter(|_| matches!(op.opcode, Opcode::Load | Opcode::Store))? {
            RAM_MARK => Some(VarSpace::Ram),
            other => {
                let number = u8::try_from(other.checked_sub(OTHER_MARK)?).ok()?;
                Some(self.tables.spaces.kind(number).space)
            }
        }
    }
}

macro_rules! opcodes {
    ($($variant:ident $engine:ident $name:literal,)*) => {
        /// What an operation does, by Ghidra's names.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Opcode { $($variant,)* }

        impl Opcode {
            /// Ghidra's spelling.
            pub fn name(self) -> &'static str {
                match self { $(Opcode::$variant => $name,)* }
            }

            fn new(opcode: OpCode) -> Option<Opcode> {
                match opcode { $(OpCode::$engine => Some(Opcode::$variant),)* _ => None }
            }
        }
    };
}

opcodes! {
    Copy Copy "COPY", Load Load "LOAD", Store Store "STORE",
    Branch Branch "BRANCH", CBranch Cbranch "CBRANCH", BranchInd Branchind "BRANCHIND",
    Call Call "CALL", CallInd Callind "CALLIND", CallOther Callother "CALLOTHER", Return Return "RETURN",
    IntEqual IntEqual "INT_EQUAL", IntNotEqual IntNotequal "INT_NOTEQUAL",
    IntSLess IntSless "INT_SLESS", IntSLessEqual IntSlessequal "INT_SLESSEQUAL",
    IntLess IntLess "INT_LESS", IntLessEqual IntLessequal "INT_LESSEQUAL",
    IntZExt IntZext "INT_ZEXT", IntSExt IntSext "INT_SEXT",
    IntAdd IntAdd "INT_ADD", IntSub IntSub "INT_SUB",
    IntCarry IntCarry "INT_CARRY", IntSCarry IntScarry "INT_SCARRY", IntSBorrow IntSborrow "INT_SBORROW",
    Int2Comp Int2comp "INT_2COMP", IntNegate IntNegate "INT_NEGATE",
    IntXor IntXor "INT_XOR", IntAnd IntAnd "INT_AND", IntOr IntOr "INT_OR",
    IntLeft IntLeft "INT_LEFT", IntRight IntRight "INT_RIGHT", IntSRight IntSright "INT_SRIGHT",
    IntMult IntMult "INT_MULT", IntDiv IntDiv "INT_DIV", IntSDiv IntSdiv "INT_SDIV",
    IntRem IntRem "INT_REM", IntSRem IntSrem "INT_SREM",
    BoolNegate BoolNegate "BOOL_NEGATE", BoolXor BoolXor "BOOL_XOR", BoolAnd BoolAnd "BOOL_AND", BoolOr BoolOr "BOOL_OR",
    FloatEqual FloatEqual "FLOAT_EQUAL", FloatNotEqual FloatNotequal "FLOAT_NOTEQUAL",
    FloatLess FloatLess "FLOAT_LESS", FloatLessEqual FloatLessequal "FLOAT_LESSEQUAL",
    FloatNan FloatNan "FLOAT_NAN", FloatAdd FloatAdd "FLOAT_ADD", FloatDiv FloatDiv "FLOAT_DIV",
    FloatMult FloatMult "FLOAT_MULT", FloatSub FloatSub "FLOAT_SUB", FloatNeg FloatNeg "FLOAT_NEG",
    FloatAbs FloatAbs "FLOAT_ABS", FloatSqrt FloatSqrt "FLOAT_SQRT",
    FloatInt2Float FloatInt2float "INT2FLOAT", FloatFloat2Float FloatFloat2float "FLOAT2FLOAT",
    FloatTrunc FloatTrunc "TRUNC", FloatCeil FloatCeil "CEIL", FloatFloor FloatFloor "FLOOR", FloatRound FloatRound "ROUND",
    Piece Piece "PIECE", Subpiece Subpiece "SUBPIECE", CPoolRef Cpoolref "CPOOLREF", New New "NEW",
    SegmentOp Segmentop "SEGMENTOP", Insert Insert "INSERT", ZPull Zpull "ZPULL", SPull Spull "SPULL",
    Popcount Popcount "POPCOUNT", LzCount Lzcount "LZCOUNT",
}

/// Makes the p-code of one instruction, its delay slot included.
pub(crate) struct Emitter<'a> {
    tables: &'a Tables,
    delay: &'a [Parse],
    out: &'a mut Vec<PcodeOp>,
    start: usize,
    /// Where each label of the instruction lies, as a count of operations.
    labels: SmallVec<[Option<usize>; 8]>,
    /// Operations whose first input is a label.
    jumps: SmallVec<[usize; 8]>,
    label_base: usize,
    unique_bits: u64,
}

impl<'a> Emitter<'a> {
    pub(crate) fn run(
        tables: &'a Tables,
        parse: &'a Parse,
        delay: &'a [Parse],
        out: &'a mut Vec<PcodeOp>,
    ) -> Result<(), DecodeError> {
        Self::run_scope(tables, parse, parse.scope(tables), delay, out)
    }

    /// Makes the p-code of one operand.
    pub(crate) fn run_part(
        tables: &'a Tables,
        parse: &'a Parse,
        scope: Scope<'_>,
        out: &'a mut Vec<PcodeOp>,
    ) -> Result<(), DecodeError> {
        Self::run_scope(tables, parse, scope, &[], out)
    }

    fn run_scope(
        tables: &'a Tables,
        parse: &'a Parse,
        scope: Scope<'_>,
        delay: &'a [Parse],
        out: &'a mut Vec<PcodeOp>,
    ) -> Result<(), DecodeError> {
        let start = out.len();
        let mut emitter = Emitter {
            tables,
            delay,
            start,
            out,
            labels: SmallVec::new(),
            jumps: SmallVec::new(),
            label_base: 0,
            unique_bits: unique_bits(tables, parse.offset()),
        };
        let result = emitter.build(scope, 0).and_then(|()| emitter.resolve_labels());
        if result.is_err() {
            emitter.out.truncate(start);
        }
        result
    }

    fn build(&mut self, scope: Scope<'_>, depth: u32) -> Result<(), DecodeError> {
        let Some(template) = template(self.tables, scope.state).filter(|_| depth < 64) else {
            return Err(DecodeError::Unimplemented);
        };
        let outer = self.label_base;
        self.label_base = self.labels.len();
        self.labels.resize(self.label_base + template.num_labels() as usize, None);
        let base = self.label_base;
        for op in template.get_opvec() {
            match op.get_opcode() {
                BUILD => {
                    let operand = op.get_in(0).get_offset().get_real() as i32;
                    match scope.operand(operand) {
                        Some(inner) if inner.state.ct.is_some() => self.build(inner, depth + 1)?,
                        _ => {}
                    }
                    self.label_base = base;
                }
                DELAY_SLOT => self.build_delay_slot(depth)?,
                LABELBUILD => {
                    let label = self.label_base + op.get_in(0).get_offset().get_real() as usize;
                    let here = self.out.len() - self.start;
                    *self.labels.get_mut(label).ok_or(DecodeError::BadInstruction)? = Some(here);
                }
                CROSSBUILD => return Err(DecodeError::Unimplemented),
                opcode => self.operation(scope, op, opcode)?,
            }
        }
        self.label_base = outer;
        Ok(())
    }

    fn build_delay_slot(&mut self, depth: u32) -> Result<(), DecodeError> {
        let outer = self.unique_bits;
        let base = self.label_base;
        let delay = self.delay;
        for parse in delay {
            self.unique_bits = unique_bits(self.tables, parse.offset());
            self.build(parse.scope(self.tables), depth + 1)?;
            self.label_base = base;
        }
        self.unique_bits = outer;
        Ok(())
    }

    fn operation(
        &mut self,
        scope: Scope<'_>,
        op: &OpTpl,
        opcode: OpCode,
    ) -> Result<(), DecodeError> {
        let opcode = Opcode::new(opcode).ok_or(DecodeError::BadInstruction)?;
        let mut inputs: SmallVec<[Varnode; 3]> = SmallVec::new();
        for template in op.get_inputs() {
            let place = self.location(scope, template);
            if is_dynamic(scope, template) {
                let (space, pointer) = self.pointer(scope, template);
                self.out.push(PcodeOp {
                    opcode: Opcode::Load,
                    output: Some(place),
                    inputs: [space, pointer].into_iter().collect(),
                });
            }
            inputs.push(place);
        }
        if op.get_inputs().first().is_some_and(VarnodeTpl::is_relative) {
            let first = &mut inputs[0];
            first.offset = first.offset.wrapping_add(self.label_base as u64);
            self.jumps.push(self.out.len());
        }
        if matches!(opcode, Opcode::Load | Opcode::Store)
            && let Some(space) = inputs.first_mut()
        {
            *space = self.space_input(space.offset as u8);
        }
        let output = op.get_out().map(|template| self.location(scope, template));
        self.out.push(PcodeOp { opcode, output, inputs });
        if let (Some(template), Some(place)) = (op.get_out(), output)
            && is_dynamic(scope, template)
        {
            let (space, pointer) = self.pointer(scope, template);
            self.out.push(PcodeOp {
                opcode: Opcode::Store,
                output: None,
                inputs: [space, pointer, place].into_iter().collect(),
            });
        }
        Ok(())
    }

    fn location(&self, scope: Scope<'_>, template: &VarnodeTpl) -> Varnode {
        let space = scope.space(template.get_space());
        let size = scope.value(template.get_size()) as u32;
        self.varnode(space, scope.value(template.get_offset()), size)
    }

    fn varnode(&self, space: u8, offset: u64, size: u32) -> Varnode {
        let spaces = &self.tables.spaces;
        let offset = if space == spaces.constant_index {
            offset & mask(size)
        } else if space == spaces.unique_index {
            offset | self.unique_bits
        } else {
            spaces.wrap(space, offset)
        };
        Varnode { space: spaces.kind(space).space, offset, size }
    }

    /// The memory and pointer through which a dynamic operand is reached.
    fn pointer(&mut self, scope: Scope<'_>, template: &VarnodeTpl) -> (Varnode, Varnode) {
        let handle = scope.handle(template.get_offset().get_handle_index());
        let pointer = self.varnode(handle.offset_space, handle.offset, handle.offset_size);
        let space = self.space_input(handle.space);
        let plus = template.get_offset().get_real() & 0xffff;
        if template.get_offset().get_select() != VField::VOffsetPlus || plus == 0 {
            return (space, pointer);
        }
        let translate = &self.tables.base.translate;
        let moved = Varnode {
            space: VarSpace::Unique,
            offset: u64::from(translate.get_unique_start(UniqueLayout::RuntimeBitrangeEa)),
            size: pointer.size,
        };
        let amount = Varnode { space: VarSpace::Const, offset: plus, size: pointer.size };
        self.out.push(PcodeOp {
            opcode: Opcode::IntAdd,
            output: Some(moved),
            inputs: [pointer, amount].into_iter().collect(),
        });
        (space, moved)
    }

    fn space_input(&self, space: u8) -> Varnode {
        let offset = match self.tables.spaces.kind(space).space {
            VarSpace::Ram => RAM_MARK,
            _ => OTHER_MARK + u64::from(space),
        };
        Varnode { space: VarSpace::Const, offset, size: 8 }
    }

    /// Turns labels into distances, now that every operation has its place.
    fn resolve_labels(&mut self) -> Result<(), DecodeError> {
        for index in &self.jumps {
            let op = self.out.get_mut(*index).ok_or(DecodeError::BadInstruction)?;
            let input = op.inputs.first_mut().ok_or(DecodeError::BadInstruction)?;
            let label = self.labels.get(input.offset as usize).copied().flatten();
            let label = label.ok_or(DecodeError::BadInstruction)?;
            let here = index - self.start;
            input.offset = (label as u64).wrapping_sub(here as u64) & mask(input.size);
        }
        Ok(())
    }
}

fn template<'a>(tables: &'a Tables, state: &ConstructState) -> Option<&'a ConstructTpl> {
    tables.symbols().get_constructor(state.ct?).get_templ()
}

fn is_dynamic(scope: Scope<'_>, template: &VarnodeTpl) -> bool {
    let offset = template.get_offset();
    offset.get_type() == ConstType::Handle && scope.handle(offset.get_handle_index()).is_dynamic()
}

fn unique_bits(tables: &Tables, offset: u64) -> u64 {
    (offset & u64::from(tables.base.get_unique_allocate_mask())) << 8
}

fn mask(size: u32) -> u64 {
    if size >= 8 { u64::MAX } else { (1 << (8 * size)) - 1 }
}
