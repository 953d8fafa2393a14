//! Calls: how values pass by the conventions of a program, and the list of those that were made.

use decompiler::{Convention, Language, RegisterVarnode, ValuePlace};
use program::{Function, Program, SourceType, SpaceId, Storage, TypeId};

use crate::block::Mode;
use crate::cells::{Cell, mask};
use crate::interpreter::Machine;
use crate::outcome::{AnsweredBy, CallSeen, Returned, Stop};
use crate::request::{Argument, ValueKind};

/// Registers that hold the address to return to, where the compiler specification says nothing.
const LINKS: [&str; 7] = ["lr", "ra", "x30", "LR", "r14", "RA", "blink"];
/// Processors whose registers hold numbers of four bytes as such of eight.
const WIDENS_FLOATS: &str = "PowerPC";
/// The register of x87 in which functions return numbers on 32-bit x86.
const X87_TOP: &str = "ST0";
/// Bytes told of what a result points to.
const POINTED: usize = 256;
/// Bytes of a stub that passes on to an import.
const STUB: u64 = 32;
/// The stack's alignment at a call.
const ALIGNMENT: u64 = 16;

/// Where values pass in a program.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// Bytes of a pointer.
    pub(crate) word: u32,
    pub(crate) convention: Option<Convention>,
    pub(crate) stack: Option<Cell>,
    /// Where a function finds the address it returns to.
    pub(crate) back: Option<ValuePlace>,
    /// Registers that hold a called function's address, by convention.
    callee: Vec<Cell>,
}

fn cell(register: RegisterVarnode) -> Option<Cell> {
    Some(Cell { offset: u32::try_from(register.offset).ok()?, size: register.size })
}

impl Places {
    pub(crate) fn of(language: &Language, convention: Option<&str>) -> Places {
        let named = convention.and_then(|name| language.convention(name));
        let default = || language.convention(language.default_convention()?);
        let link = || LINKS.iter().find_map(|name| language.register(name));
        let callee: &[&str] = match language.processor() {
            "MIPS" => &["t9"],
            "PowerPC" => &["r12"],
            _ => &[],
        };
        let callee = callee.iter().filter_map(|name| language.register(name).and_then(cell));
        Places {
            word: language.pointer_size().clamp(1, 8),
            convention: named.or_else(default).cloned(),
            stack: language.stack_pointer().and_then(cell),
            back: language.return_address().or_else(|| link().map(ValuePlace::Register)),
            callee: callee.collect(),
        }
    }
}

/// The calls of a run.
#[derive(Debug)]
pub(crate) struct CallLog {
    pub(crate) depth: u32,
    deepest: u32,
    pub(crate) count: u64,
    pub(crate) kept: Vec<CallSeen>,
    most: usize,
}

impl CallLog {
    pub(crate) fn new(deepest: u32, most: usize) -> CallLog {
        CallLog { depth: 0, deepest, count: 0, kept: Vec::new(), most }
    }

    /// Notes a call; refused when it is nested too deep.
    #[inline]
    pub(crate) fn enter(&mut self, from: u64, to: u64) -> Result<(), Stop> {
        self.note(from, to);
        if self.depth >= self.deepest {
            return Err(Stop::CallDepth);
        }
        self.depth += 1;
        Ok(())
    }

    fn note(&mut self, from: u64, to: u64) {
        self.count += 1;
        if self.kept.len() < self.most {
            self.kept.push(CallSeen {
                from,
                to,
                name: None,
                depth: self.depth,
                arguments: Vec::new(),
                result: None,
                answered_by: AnsweredBy::Code,
            });
        }
    }

    pub(crate) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Notes who answered the call that led to a gate; a jump to it counts as a call.
    pub(crate) fn answered(
        &mut self,
        from: u64,
        to: u64,
        arguments: Vec<u64>,
        result: Option<u64>,
        by: AnsweredBy,
    ) {
        let told = self.kept.len() as u64 == self.count;
        let around = self.depth.wrapping_sub(1);
        // Through a stub, it is the stub's caller who calls.
        let leads_here = |call: &&mut CallSeen| {
            let direct = call.from == from && call.to == to;
            let stub = from.wrapping_sub(call.to) < STUB && call.depth == around;
            call.answered_by == AnsweredBy::Code && (direct || stub)
        };
        if !told || self.kept.last_mut().filter(leads_here).is_none() {
            self.note(from, to);
            if self.kept.len() as u64 != self.count {
                return;
            }
        }
        if let Some(call) = self.kept.last_mut() {
            call.to = to;
            (call.arguments, call.result, call.answered_by) = (arguments, result, by);
        }
    }
}

impl Machine<'_> {
    fn stack_pointer(&self) -> u64 {
        self.places.stack.map_or(0, |stack| self.cells.get(stack.offset, stack.size))
    }

    fn set_stack_pointer(&mut self, value: u64) {
        if let Some(stack) = self.places.stack {
            self.cells.set(stack.offset, stack.size, value);
        }
    }

    /// The word passed as an argument, seen from a callee's entry.
    pub(crate) fn argument(&mut self, number: usize) -> Result<u64, Stop> {
        let convention = self.places.convention.as_ref();
        match convention.and_then(|convention| convention.arguments.get(number)) {
            Some(ValuePlace::Register(register)) => {
                Ok(self.cells.get(register.offset as u32, register.size.min(8)))
            }
            Some(ValuePlace::Stack(offset)) => {
                let address = self.stack_pointer().wrapping_add_signed(*offset);
                let word = self.places.word;
                self.memory.read(address, word).map_err(|fault| self.stop_of(fault))
            }
            None => Err(Stop::Unsupported("an argument that no convention passes".into())),
        }
    }

    /// The first argument, a floating point number of eight bytes, seen from a callee's entry.
    pub(crate) fn number(&mut self) -> Result<f64, Stop> {
        let unknown = |_| Stop::Unsupported("a number that no convention passes".into());
        let value = [Argument::Float { value: 0.0, size: 8 }];
        let places = self.argument_places(self.memory.program(), None, &value).map_err(unknown)?;
        let pieces = places.into_iter().next().unwrap_or_default();
        let stack = self.stack_pointer();
        let mut bits = 0u128;
        for piece in &pieces {
            let part = match piece.place {
                ValuePlace::Register(register) => {
                    self.cells.get_wide(Cell { offset: register.offset as u32, size: piece.size })
                }
                ValuePlace::Stack(offset) => {
                    let address = stack.wrapping_add_signed(offset);
                    let read = self.memory.read(address, piece.size.min(8));
                    read.map_err(|fault| self.stop_of(fault))?.into()
                }
            };
            bits = bits.checked_shl(8 * piece.size).unwrap_or(0) | part;
        }
        Ok(f64::from_bits(bits as u64))
    }

    /// Puts a floating point number of eight bytes where functions return such.
    pub(crate) fn set_number(&mut self, value: f64) -> Result<(), Stop> {
        let program = self.memory.program();
        let pieces = self.result_pieces(program, None, ValueKind::Float(8)).unwrap_or_default();
        let top = self.language.register(X87_TOP).map(|top| top.offset);
        let fits = |piece: &Piece| match piece.place {
            ValuePlace::Register(register) => Some(register.offset) != top,
            ValuePlace::Stack(_) => false,
        };
        if pieces.is_empty() || !pieces.iter().all(fits) {
            return Err(Stop::Unsupported("returning a number on this processor".into()));
        }
        let mut bits = u128::from(value.to_bits());
        for piece in pieces.iter().rev() {
            let ValuePlace::Register(register) = piece.place else { continue };
            let cell = Cell { offset: register.offset as u32, size: piece.size };
            self.cells.set_wide(cell, bits & u128::from(mask(piece.size)));
            bits = bits.checked_shr(8 * piece.size).unwrap_or(0);
        }
        Ok(())
    }

    /// Puts a word where functions return theirs.
    pub(crate) fn set_result(&mut self, value: u64) {
        let convention = self.places.convention.as_ref();
        let Some(ValuePlace::Register(register)) = convention.and_then(|c| c.result) else {
            return;
        };
        self.cells.set(register.offset as u32, register.size.min(8), value);
    }

    /// How the code at a function's entry decodes, where it does not depend on who comes there.
    pub(crate) fn mode_of(&self, entry: u64, mode: Mode) -> Mode {
        let Some((_, field)) = self.switch else { return Mode::of(mode.flow) };
        let known = self.language.mode_context(self.memory.mode_at(entry));
        let set = self.language.context_value(known, field).unwrap_or(0);
        Mode::of(self.language.with_context(mode.flow, field, set))
    }

    /// Returns from a function at its entry: where to.
    pub(crate) fn come_back(&mut self, purge: i64, mode: Mode) -> Result<(u64, Mode), Stop> {
        let word = self.places.word;
        let target = match self.places.back {
            Some(ValuePlace::Stack(offset)) => {
                let stack = self.stack_pointer();
                let address = stack.wrapping_add_signed(offset);
                let target = self.memory.read(address, word).map_err(|f| self.stop_of(f))?;
                let taken = i64::from(word) + purge;
                self.set_stack_pointer(stack.wrapping_add_signed(taken) & mask(word));
                target
            }
            Some(ValuePlace::Register(register)) => {
                self.cells.get(register.offset as u32, register.size.min(8))
            }
            None => return Err(Stop::Unsupported("returning, which no convention tells".into())),
        };
        let Some((register, field)) = self.switch else { return Ok((target, Mode::of(mode.flow))) };
        self.cells.set(register.offset, register.size, target & 1);
        let context = self.language.with_context(mode.flow, field, (target & 1) as u32);
        Ok((target & !1, Mode::of(context)))
    }

    /// Makes everything ready for a call: arguments, stack, the address to return to.
    /// `values` are the arguments with the addresses of what was put into memory.
    pub(crate) fn begin_call(
        &mut self,
        program: &Program,
        entry: u64,
        convention: Option<&str>,
        values: &[Argument],
        end: u64,
        top: u64,
    ) -> Result<(), String> {
        let word = self.places.word;
        let placed = self.argument_places(program, convention, values)?;
        let on_stack = placed.iter().flatten().filter_map(|piece| match piece.place {
            ValuePlace::Stack(offset) => Some(offset.max(0) as u64 + u64::from(piece.size)),
            ValuePlace::Register(_) => None,
        });
        let room = on_stack.max().unwrap_or(0).max(8 * u64::from(word)) + 64;
        let pushes = matches!(self.places.back, Some(ValuePlace::Stack(_)));
        let pushed = if pushes { u64::from(word) } else { 0 };
        let stack = top.saturating_sub(room) / ALIGNMENT * ALIGNMENT;
        let stack = stack.saturating_sub(pushed);
        self.set_stack_pointer(stack);
        for (value, pieces) in values.iter().zip(&placed) {
            let mut bits = self.bits_of(value, pieces);
            for piece in pieces.iter().rev() {
                self.put(piece, bits & u128::from(mask(piece.size)), stack)?;
                bits = bits.checked_shr(8 * piece.size).unwrap_or(0);
            }
        }
        match self.places.back {
            Some(ValuePlace::Stack(offset)) => {
                let back = Piece { place: ValuePlace::Stack(offset), size: word };
                self.put(&back, u128::from(end), stack)?;
            }
            Some(ValuePlace::Register(register)) => {
                let mut back = end;
                // The place to return to decodes as the function does.
                if let Some((switch, _)) = self.switch {
                    back |= self.cells.get(switch.offset, switch.size) & 1;
                }
                self.cells.set(register.offset as u32, register.size.min(8), back);
            }
            None => {}
        }
        for callee in self.places.callee.clone() {
            self.cells.set(callee.offset, callee.size.min(8), entry);
        }
        Ok(())
    }

    /// The bits that pass for an argument.
    fn bits_of(&self, value: &Argument, pieces: &[Piece]) -> u128 {
        match value {
            Argument::Integer { value, .. } => u128::from(*value),
            Argument::Float { value, size: 4 } => {
                let widened = pieces.iter().any(|piece| piece.size == 8);
                if widened { value.to_bits().into() } else { (*value as f32).to_bits().into() }
            }
            Argument::Float { value, .. } => value.to_bits().into(),
            Argument::Bytes(_) => 0,
        }
    }

    fn put(&mut self, piece: &Piece, bits: u128, stack: u64) -> Result<(), String> {
        match piece.place {
            ValuePlace::Register(register) => {
                let cell = Cell { offset: register.offset as u32, size: piece.size };
                self.cells.set_wide(cell, bits);
                Ok(())
            }
            ValuePlace::Stack(offset) => {
                let address = stack.wrapping_add_signed(offset);
                let size = piece.size.min(8);
                let written = self.memory.write(address, size, bits as u64);
                written.map(|_| ()).map_err(|_| "the stack has no room for the arguments".into())
            }
        }
    }

    fn argument_places(
        &self,
        program: &Program,
        convention: Option<&str>,
        values: &[Argument],
    ) -> Result<Vec<Vec<Piece>>, String> {
        let word = self.places.word;
        let plain = values.iter().all(|value| match value {
            Argument::Integer { size, .. } => size.is_none_or(|size| size <= word),
            Argument::Bytes(_) => true,
            Argument::Float { .. } => false,
        });
        let known = self.places.convention.as_ref().map(|convention| &convention.arguments);
        if let Some(known) = known.filter(|known| plain && known.len() >= values.len()) {
            let pieces = known.iter().take(values.len());
            return Ok(pieces.map(|place| vec![Piece { place: *place, size: word }]).collect());
        }
        if values.is_empty() {
            return Ok(Vec::new());
        }
        let types: Vec<TypeId> = values.iter().map(|value| type_of(program, value, word)).collect();
        let returned = program.types.builtin("void");
        let passed = decompiler::assign_storage(
            &self.language,
            program,
            convention,
            returned,
            &types,
            false,
        )?;
        let pieces = passed.parameters.iter().zip(values).map(|(storage, value)| {
            let mut pieces = pieces_of(storage);
            let is_single = matches!(value, Argument::Float { size: 4, .. });
            if is_single && self.language.processor() == WIDENS_FLOATS {
                let registers = pieces
                    .iter_mut()
                    .filter(|piece| matches!(piece.place, ValuePlace::Register(_)));
                registers.for_each(widen);
            }
            if pieces.is_empty() {
                Err("an argument cannot be passed".to_string())
            } else {
                Ok(pieces)
            }
        });
        pieces.collect()
    }

    /// What the function called returned.
    pub(crate) fn returned(
        &self,
        program: &Program,
        convention: Option<&str>,
        kind: ValueKind,
    ) -> Returned {
        let word = self.places.word;
        let read = |kind: ValueKind| {
            let pieces = self.result_pieces(program, convention, kind)?;
            let single = kind == ValueKind::Float(4);
            Some(self.read_pieces(&pieces, matches!(kind, ValueKind::Float(_)), single))
        };
        let integer = match kind {
            ValueKind::Integer(size) if size > word => read(kind),
            _ => match self.places.convention.as_ref().and_then(|c| c.result) {
                Some(ValuePlace::Register(register)) => {
                    Some(self.cells.get(register.offset as u32, register.size.min(8)))
                }
                _ => None,
            },
        };
        let cut = |value: u64| match kind {
            ValueKind::Integer(size) => value & mask(size),
            _ => value,
        };
        let float = match kind {
            ValueKind::Float(_) => read(kind),
            ValueKind::Unknown => read(ValueKind::Float(8)),
            ValueKind::Integer(_) => None,
        };
        let pointed = Vec::new();
        Returned { integer: integer.map(cut), float: float.map(f64::from_bits), pointed }
    }

    /// The bytes at an address up to a zero byte, as far as memory is there.
    pub(crate) fn pointed(&mut self, address: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < POINTED {
            match self.memory.read(address.wrapping_add(bytes.len() as u64), 1) {
                Ok(byte) if byte != 0 => bytes.push(byte as u8),
                _ => break,
            }
        }
        bytes
    }

    fn result_pieces(
        &self,
        program: &Program,
        convention: Option<&str>,
        kind: ValueKind,
    ) -> Option<Vec<Piece>> {
        let returned = match kind {
            ValueKind::Float(4) => program.types.builtin("float"),
            ValueKind::Float(_) => program.types.builtin("double"),
            ValueKind::Integer(size) => integer_type(program, size),
            ValueKind::Unknown => return None,
        };
        let passed =
            decompiler::assign_storage(&self.language, program, convention, returned, &[], false);
        Some(pieces_of(&passed.ok()?.returned)).filter(|pieces| !pieces.is_empty())
    }

    /// The number in some pieces; floating point numbers as eight bytes.
    fn read_pieces(&self, pieces: &[Piece], is_float: bool, single: bool) -> u64 {
        let mut bits = 0u128;
        for piece in pieces {
            let ValuePlace::Register(register) = piece.place else { continue };
            let cell = Cell { offset: register.offset as u32, size: piece.size };
            bits = bits.checked_shl(8 * piece.size).unwrap_or(0) | self.cells.get_wide(cell);
        }
        if !is_float {
            return bits as u64;
        }
        let first = pieces.first().map(|piece| piece.place);
        let top = self.language.register(X87_TOP).filter(|_| self.language.processor() == "x86");
        if let (Some(ValuePlace::Register(first)), Some(top)) = (first, top)
            && first.offset == top.offset
        {
            let whole = self.cells.get_wide(Cell { offset: top.offset as u32, size: 10 });
            return crate::extended::to_double(whole);
        }
        match (single, self.language.processor()) {
            (true, WIDENS_FLOATS) => pieces.first().map_or(0, |piece| {
                let mut wide = *piece;
                widen(&mut wide);
                let ValuePlace::Register(register) = wide.place else { return 0 };
                self.cells.get(register.offset as u32, 8)
            }),
            (true, _) => f64::from(f32::from_bits(bits as u32)).to_bits(),
            (false, _) => bits as u64,
        }
    }
}

/// Part of a value and where it passes, the most significant first.
#[derive(Debug, Clone, Copy)]
struct Piece {
    place: ValuePlace,
    size: u32,
}

/// A register of four bytes as that of eight in which it lies.
fn widen(piece: &mut Piece) {
    if let ValuePlace::Register(register) = &mut piece.place
        && piece.size == 4
    {
        register.offset &= !7;
        register.size = 8;
        piece.size = 8;
    }
}

fn pieces_of(storage: &Storage) -> Vec<Piece> {
    let place = |piece: &program::StoragePiece| match piece.address.space {
        SpaceId::REGISTER => {
            let register = RegisterVarnode { offset: piece.address.offset, size: piece.size };
            Some(Piece { place: ValuePlace::Register(register), size: piece.size })
        }
        SpaceId::STACK => {
            let place = ValuePlace::Stack(piece.address.offset as i64);
            Some(Piece { place, size: piece.size })
        }
        _ => None,
    };
    storage.pieces().iter().map(place).collect::<Option<_>>().unwrap_or_default()
}

fn integer_type(program: &Program, size: u32) -> TypeId {
    program.types.builtin(match size {
        1 => "byte",
        2 => "word",
        3 => "uint3",
        4 => "dword",
        5 => "uint5",
        6 => "uint6",
        7 => "uint7",
        _ => "qword",
    })
}

fn type_of(program: &Program, value: &Argument, word: u32) -> TypeId {
    match value {
        Argument::Integer { size, .. } => integer_type(program, size.unwrap_or(word)),
        Argument::Float { size: 4, .. } => program.types.builtin("float"),
        Argument::Float { .. } => program.types.builtin("double"),
        Argument::Bytes(_) => program.types.builtin("pointer"),
    }
}

/// What a function's prototype says that it returns, where somebody said it.
pub(crate) fn declared(program: &Program, function: Option<&Function>) -> ValueKind {
    use program::data_type::Builtin;
    let signature = function.map(|function| &function.signature);
    let Some(signature) = signature.filter(|s| s.source != SourceType::Default) else {
        return ValueKind::Unknown;
    };
    let id = program.types.resolve(signature.return_type);
    let size = program.types.length(id).unwrap_or(0);
    if program.types.is_undefined(id) || !(1..=8).contains(&size) {
        return ValueKind::Unknown;
    }
    match program.types.as_builtin(id) {
        Some(Builtin::Float) => ValueKind::Float(size),
        Some(Builtin::Void) => ValueKind::Unknown,
        _ => ValueKind::Integer(size),
    }
}
