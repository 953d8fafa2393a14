//! Calls and returns: what they pass, and what they leave behind.

use crate::follow::Follower;
use crate::machine::Family;
use crate::refer::{Place, Use};
use crate::values::{Base, Reading};
use decompiler::{Opcode, PcodeOp, RegisterVarnode, ValuePlace, VarSpace};
use program::data_type::Builtin;
use program::{Address, Function, Parameter, RefType, SpaceId, TypeId, TypeKind};
use smallvec::SmallVec;
use std::sync::Arc;

/// Arguments looked at when the function called is not known.
const GUESSED_ARGUMENTS: usize = 8;

impl<'a> Follower<'a> {
    /// Puts what the processor and the convention promise into registers at the entry.
    pub(crate) fn set_entry_values(&mut self) {
        let entry = self.entry;
        let global = self.machine.global_pointer;
        let called = self.machine.call_register.map(|register| (register, entry));
        let stub = self.machine.stub_base.filter(|_| self.machine.is_stub(self.program, entry));
        let thread = self.machine.thread_base;
        let known = global.into_iter().chain(called).chain(stub).chain(thread);
        for (register, value) in known {
            self.set_register(entry, register, value);
        }
    }

    fn set_register(&mut self, at: u64, register: RegisterVarnode, number: u64) {
        let place = decompiler::Varnode {
            space: VarSpace::Register,
            offset: register.offset,
            size: register.size,
        };
        let value = crate::values::Value::constant(number, register.size);
        self.put(at, &place, Some(value));
    }

    /// The function called, its thunks looked through for what matters here.
    fn callee(&self, target: Option<Address>) -> Option<Arc<Function>> {
        self.program.functions.at(target?).cloned()
    }

    /// What a function stands for: the convention of a thunk is the one behind it.
    fn real<'f>(&self, function: Option<&'f Function>) -> Option<&'f Function>
    where
        'a: 'f,
    {
        let function = function?;
        Some(self.program.thunked(function.entry).map_or(function, |real| real.as_ref()))
    }

    /// Applies a call: references for what it passes, and what it changes. What a pointer that may
    /// change leads to does not tell how the stack is left.
    pub(crate) fn called(&mut self, index: usize, target: Option<Address>, settled: bool) {
        let step = self.steps[index].clone();
        let callee = self.callee(target);
        let next = step.next.unwrap_or(u64::MAX);
        if self.is_replaced_by_nothing(callee.as_deref())
            || self.takes_stack(step.at, callee.as_deref())
        {
            return;
        }
        if self.reads_its_return_address(index, callee.as_deref()) {
            return;
        }
        if target.is_none_or(|target| target.offset != next) {
            if self.passes_references(target) {
                self.refer_arguments(index, callee.as_deref(), target);
            }
            self.forget_after_call(step.at, callee.as_deref());
        }
        self.adjust_stack(index, callee.as_deref().filter(|_| settled));
    }

    /// Whether a function makes room on the stack of 32-bit x86 for its caller, as many bytes as EAX
    /// says, and changes nothing else; if so, applies that.
    fn takes_stack(&mut self, at: u64, callee: Option<&Function>) -> bool {
        const PROBE: &str = "alloca_probe";
        let probes = self.real(callee).is_some_and(|f| f.call_fixup.as_deref() == Some(PROBE));
        let machine = self.machine;
        let (Some(stack), Some(size)) = (machine.stack, machine.probe_size) else { return false };
        if probes {
            let address = crate::values::Value::constant(machine.call_push as u64, stack.size);
            let room = self.register(size.offset, size.size, false);
            let top = self.register(stack.offset, stack.size, true);
            let popped = crate::values::add(Some(top), Some(address));
            let value = crate::values::subtract(popped, Some(room).filter(|room| room.is_number()));
            let place = decompiler::Varnode {
                space: VarSpace::Register,
                offset: stack.offset,
                size: stack.size,
            };
            self.put(at, &place, value);
        }
        probes
    }

    /// Whether the decompiler replaces the call by nothing: then what it put on the stack stays
    /// there, as in the decompiler.
    fn is_replaced_by_nothing(&self, callee: Option<&Function>) -> bool {
        let fixup = self.real(callee).and_then(|function| function.call_fixup.as_deref());
        fixup.is_some_and(|fixup| self.reader.language().is_idle_fixup(fixup))
    }

    /// Whether the arguments of a call are worth looking at.
    fn passes_references(&self, target: Option<Address>) -> bool {
        match (self.machine.family, target) {
            (Family::X86, None) => false,
            (Family::X86, Some(target)) => {
                target.space == SpaceId::EXTERNAL || self.program.memory.contains(target)
            }
            _ => true,
        }
    }

    /// A callee that only loads its return address into a register, as position-independent
    /// code does to find out where it is: the register is known after the call.
    fn reads_its_return_address(&mut self, index: usize, callee: Option<&Function>) -> bool {
        let (Some(callee), Some(next)) = (callee, self.steps[index].next) else { return false };
        if self.machine.family != Family::X86 || callee.body.len() > 8 {
            return false;
        }
        let Some(register) = self.loaded_return_address(callee) else { return false };
        let at = self.steps[index].at;
        self.set_register(at, register, next);
        self.adjust_stack(index, Some(callee));
        true
    }

    /// The register that a function of two instructions fills with its return address.
    fn loaded_return_address(&mut self, callee: &Function) -> Option<RegisterVarnode> {
        let instruction = self.program.listing.instructions.get(&callee.entry)?;
        let context = self.reader.context(instruction.mode);
        let mut ops: Vec<PcodeOp> = Vec::new();
        self.reader.pcode(self.program, callee.entry, context, &mut ops).ok()?;
        let stack = self.machine.stack?;
        let [load, copies @ ..] = ops.as_slice() else { return None };
        let pointer = load.inputs.get(1)?;
        let from_stack = load.opcode == Opcode::Load
            && pointer.space == VarSpace::Register
            && pointer.offset == stack.offset;
        let result = match copies {
            [] => load.output?,
            [copy]
                if copy.opcode == Opcode::Copy && copy.inputs.first() == load.output.as_ref() =>
            {
                copy.output?
            }
            _ => return None,
        };
        let after = callee.entry.checked_add(u64::from(instruction.length))?;
        let last = self.program.listing.instructions.get(&after)?;
        let fits = from_stack && result.space == VarSpace::Register && last.flow.is_terminal();
        fits.then_some(RegisterVarnode { offset: result.offset, size: result.size })
    }

    /// Registers whose values do not survive a call.
    fn forget_after_call(&mut self, at: u64, callee: Option<&Function>) {
        let machine = self.machine;
        let Some(convention) = machine.convention(self.real(callee)) else { return };
        if let Some(ValuePlace::Register(register)) = convention.result {
            self.forget(at, register);
        }
        for register in &convention.killed {
            self.forget(at, *register);
        }
    }

    /// Moves the stack pointer as the callee's return does.
    fn adjust_stack(&mut self, index: usize, callee: Option<&Function>) {
        let machine = self.machine;
        let Some(stack) = machine.stack else { return };
        let (at, length) = (self.steps[index].at, self.steps[index].length);
        let callee = self.real(callee);
        let fixed = machine.convention(callee).and_then(|convention| convention.extra_pop);
        let purge = match fixed {
            Some(_) => Some(machine.call_push),
            None => callee
                .and_then(|callee| callee.stack_purge)
                .map(|purge| machine.call_push + i64::from(purge)),
        };
        let place = decompiler::Varnode {
            space: VarSpace::Register,
            offset: stack.offset,
            size: stack.size,
        };
        match purge {
            Some(0) => {}
            Some(purge) => {
                let value = self.get(&place, true);
                let amount = crate::values::Value::constant(purge as u64, stack.size);
                let value = value.and_then(|value| crate::values::add(Some(value), Some(amount)));
                self.put(at, &place, value);
            }
            None if length != 1 => self.put(at, &place, None),
            None => {}
        }
    }

    /// References for the addresses among a call's arguments.
    fn refer_arguments(
        &mut self,
        index: usize,
        callee: Option<&Function>,
        target: Option<Address>,
    ) {
        let program = self.program;
        let described = callee.and_then(|callee| {
            let function = program.thunked(callee.entry).map_or(callee, |f| f.as_ref());
            let signature = &function.signature;
            let stated = signature.source != program::SourceType::Default;
            (stated || !signature.parameters.is_empty()).then(|| function.clone())
        });
        if let Some(function) = described.filter(|function| !function.signature.varargs) {
            let places = self.plain_places(&function);
            for (number, parameter) in function.signature.parameters.iter().enumerate() {
                if !self.may_point(parameter) {
                    continue;
                }
                match places.get(number) {
                    Some(register) if parameter.storage.pieces().is_empty() => {
                        self.refer_register(index, *register, target);
                    }
                    _ => self.refer_parameter(index, parameter, target),
                }
            }
            return;
        }
        let machine = self.machine;
        let Some(convention) = machine.convention(self.real(callee)) else { return };
        for place in convention.arguments.iter().take(GUESSED_ARGUMENTS) {
            if let ValuePlace::Register(register) = place {
                self.refer_register(index, *register, target);
            }
        }
    }

    /// The registers of a prototype's first parameters, as far as they are plain: numbers and
    /// pointers take one register each, or two when they are twice as wide.
    fn plain_places(&self, function: &Function) -> SmallVec<[RegisterVarnode; 4]> {
        let mut places = SmallVec::new();
        let word = self.machine.pointer_size;
        let result = self.plain_length(function.signature.return_type);
        let convention = self.machine.convention(Some(function));
        let (Some(convention), Some(_)) = (convention, result) else { return places };
        let mut next = 0;
        for parameter in &function.signature.parameters {
            let registers = match self.plain_length(parameter.data_type) {
                Some(length) if length <= word => 1,
                Some(_) => 2,
                None => break,
            };
            next = usize::next_multiple_of(next, registers) + registers;
            match convention.arguments.get(next - registers) {
                Some(ValuePlace::Register(register)) => places.push(*register),
                _ => break,
            }
        }
        places
    }

    /// The length of a number or pointer in registers for such (a result may be nothing).
    fn plain_length(&self, data_type: TypeId) -> Option<u32> {
        let types = &self.program.types;
        let mut id = data_type;
        for _ in 0..16 {
            match types.get(id).map(|known| &known.kind)? {
                TypeKind::Typedef(inner) => id = *inner,
                TypeKind::Builtin(Builtin::Float | Builtin::String(_)) => return None,
                TypeKind::Builtin(_) | TypeKind::Pointer(_) | TypeKind::Enum { .. } => {
                    let length = types.length(id)?;
                    return (length <= 2 * self.machine.pointer_size).then_some(length);
                }
                _ => return None,
            }
        }
        None
    }

    /// Whether a parameter's type may be a pointer's.
    fn may_point(&self, parameter: &Parameter) -> bool {
        let types = &self.program.types;
        let mut id: TypeId = parameter.data_type;
        for _ in 0..16 {
            match types.get(id).map(|known| &known.kind) {
                Some(TypeKind::Typedef(inner)) => id = *inner,
                Some(TypeKind::Pointer(_)) => return true,
                Some(TypeKind::Builtin(Builtin::Pointer | Builtin::Undefined)) => return true,
                Some(TypeKind::Builtin(Builtin::Signed)) => return types.name(id) == "int",
                _ => return false,
            }
        }
        false
    }

    fn refer_parameter(&mut self, index: usize, parameter: &Parameter, target: Option<Address>) {
        let [piece] = parameter.storage.pieces() else { return };
        match piece.address.space {
            SpaceId::REGISTER => {
                let register = RegisterVarnode { offset: piece.address.offset, size: piece.size };
                self.refer_register(index, register, target);
            }
            SpaceId::STACK => self.refer_stack_argument(index, piece.address.offset, target),
            _ => {}
        }
    }

    /// A reference for an address that a register passes.
    fn refer_register(&mut self, index: usize, register: RegisterVarnode, target: Option<Address>) {
        let Some(number) = self.register_number(register) else { return };
        let set_at = self.state.registers.set_at(Base::REGISTERS, register.offset);
        self.refer_passed(index, number, set_at, target.map_or(u64::MAX, |to| to.offset));
    }

    /// A reference for an address that the stack passes.
    fn refer_stack_argument(&mut self, index: usize, offset: u64, target: Option<Address>) {
        let Some(stack) = self.machine.stack else { return };
        let top = self.register(stack.offset, stack.size, false);
        if !top.is_offset() {
            return;
        }
        let mask = crate::values::mask(stack.size);
        let place = top.offset.wrapping_add(offset) & mask;
        let size = self.machine.pointer_size;
        let reading = self.state.memory.read(top.base, place, size, self.machine.big_endian);
        let Reading::Value(value) = reading else { return };
        let Some(number) = value.number().filter(|number| *number != 0) else { return };
        let set_at = self.state.memory.set_at(top.base, place);
        self.refer_passed(index, number, set_at, target.map_or(u64::MAX, |to| to.offset));
    }

    /// A reference from where a passed number was made.
    fn refer_passed(&mut self, index: usize, number: u64, set_at: Option<u64>, target: u64) {
        if number == target {
            return;
        }
        let at = set_at.unwrap_or(self.steps[index].at);
        let Some(from) = self.step_index(at) else { return };
        let kind = if target == 0 { RefType::Data } else { RefType::Param };
        let existing = self.refers(at, number & self.machine.address_mask);
        let usage = Use { existing, ..Use::guess(kind, Opcode::CallOther) };
        self.refer(from, Place::Guess(number), usage);
    }

    /// Whether an instruction refers to a place already.
    fn refers(&self, at: u64, offset: u64) -> bool {
        let stored = self.program.references.from(Address::ram(at)).map(|r| r.to.offset);
        let found = self.found.get(&at).into_iter().flatten().map(|f| f.to.offset);
        stored.chain(found).any(|known| known == offset)
    }

    /// A return: an address in the result register is worth a reference.
    pub(crate) fn returned(&mut self, index: usize) {
        let program = self.program;
        let function = program.functions.containing(Address::ram(self.steps[index].at));
        if let Some(function) = function
            && !self.may_return_address(function)
        {
            return;
        }
        let machine = self.machine;
        let Some(convention) = machine.convention(function.map(|f| f.as_ref())) else { return };
        let Some(ValuePlace::Register(register)) = convention.result else { return };
        let Some(number) = self.register_number(register) else { return };
        let set_at = self.state.registers.set_at(Base::REGISTERS, register.offset);
        self.refer_passed(index, number, set_at, 0);
    }

    fn may_return_address(&self, function: &Function) -> bool {
        let types = &self.program.types;
        let returned = function.signature.return_type;
        if types.name(returned) == "undefined" {
            return true;
        }
        types.length(returned).is_some_and(|length| length >= self.machine.pointer_size)
    }
}
