//! Edits that people make: defining and clearing data, naming places, correcting
//! flow, removing functions. Each leaves the program consistent or untouched.

use crate::Program;
use crate::address::{Address, AddressRange};
use crate::data_type::{Builtin, TypeId, TypeKind};
use crate::flow::{FlowOverride, RefType};
use crate::listing::DataUnit;
use crate::reference::Reference;
use crate::symbol::{SourceType, Symbol, SymbolId, SymbolKind};

/// Longest string that is given its length by its terminator.
const MAX_STRING: usize = 1 << 20;

/// Why data could not be defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefineError {
    /// Part of it would lie outside of memory.
    NoMemory,
    /// The type has no length here (`void`, a function, a text without end).
    NoLength,
    /// What starts here may not be overwritten.
    InTheWay(Address),
}

impl Program {
    /// The bytes a type takes at an address; texts are measured.
    pub fn length_at(&self, data_type: TypeId, address: Address) -> Option<u32> {
        if let Some(length) = self.types.length(data_type) {
            return (length > 0).then_some(length);
        }
        let Some(Builtin::String(_)) = self.types.as_builtin(data_type) else { return None };
        let unit = self.string_unit(data_type);
        let run = self.memory.run(address);
        let run = &run[..run.len().min(MAX_STRING)];
        let end = run.chunks_exact(unit).position(|unit| unit.iter().all(|byte| *byte == 0))?;
        u32::try_from((end + 1) * unit).ok()
    }

    fn string_unit(&self, data_type: TypeId) -> usize {
        match self.types.as_builtin(data_type) {
            Some(Builtin::String(crate::data_type::Charset::Utf16)) => 2,
            Some(Builtin::String(crate::data_type::Charset::Utf32)) => 4,
            _ => 1,
        }
    }

    /// Defines data. Bytes of undefined types in the way are cleared; so is what is defined
    /// exactly there, if `replace` says so. Anything else in the way is kept, and named.
    pub fn define_over(
        &mut self,
        address: Address,
        data_type: TypeId,
        replace: bool,
    ) -> Result<u32, DefineError> {
        let length = self.length_at(data_type, address).ok_or(DefineError::NoLength)?;
        let range = AddressRange::with_length(address, u64::from(length))
            .filter(|range| range.len() == u64::from(length))
            .ok_or(DefineError::NoMemory)?;
        if let Some((start, _)) = self.listing.instruction_containing(range.start) {
            return Err(DefineError::InTheWay(start));
        }
        if let Some((start, _)) = self.listing.instructions.range(range.start..=range.end).next() {
            return Err(DefineError::InTheWay(*start));
        }
        let over = self.listing.data_containing(range.start).filter(|(start, _)| *start < address);
        let inside =
            self.listing.data.range(range.start..=range.end).map(|(at, unit)| (*at, *unit));
        let in_the_way: Vec<(Address, DataUnit)> = over.into_iter().chain(inside).collect();
        for (start, unit) in &in_the_way {
            let gives_way =
                (replace && *start == address) || self.types.is_undefined(unit.data_type);
            if !gives_way {
                return Err(DefineError::InTheWay(*start));
            }
        }
        let first = self.memory.block_at(range.start).ok_or(DefineError::NoMemory)?;
        if !first.range().contains(range.end) {
            return Err(DefineError::NoMemory);
        }
        for (start, _) in in_the_way {
            self.clear_data(start);
        }
        self.types.mark_used(data_type);
        self.listing.data.insert(address, DataUnit { data_type, length });
        self.refer_to_target(address, data_type, length);
        Ok(length)
    }

    /// A pointer refers to what it points at.
    fn refer_to_target(&mut self, address: Address, data_type: TypeId, length: u32) {
        let id = self.types.resolve(data_type);
        let kind = self.types.get(id).map(|known| &known.kind);
        let points =
            matches!(kind, Some(TypeKind::Pointer(_) | TypeKind::Builtin(Builtin::Pointer)));
        let target = self.memory.read_uint(address, length).map(Address::ram);
        if let Some(target) = target.filter(|target| points && self.memory.contains(*target)) {
            self.add_reference(address, target, RefType::Data, 0, SourceType::Default);
        }
    }

    /// Undefines the data that starts at an address; what it refers to is forgotten.
    pub fn clear_data(&mut self, address: Address) -> bool {
        let Some(unit) = self.listing.data.remove(&address) else { return false };
        let last = address.wrapping_add(u64::from(unit.length.max(1)) - 1);
        self.references.remove_from(address, last);
        true
    }

    /// Names a place: its primary label is renamed, or a new label made primary.
    pub fn name_place(&mut self, address: Address, name: &str) -> SymbolId {
        let user = SourceType::UserDefined;
        if let Some((id, primary)) = self.symbols.primary_at(address) {
            if &*primary.name == name {
                return id;
            }
            if primary.kind == SymbolKind::Label {
                self.symbols.edit(id, |symbol| {
                    symbol.name = name.into();
                    symbol.source = user;
                });
                return id;
            }
        }
        let id = self.add_label(address, name, SymbolId::GLOBAL, user);
        self.symbols.make_primary(id);
        id
    }

    /// Removes the primary label at an address, if it is one; another label there takes over.
    pub fn remove_label(&mut self, address: Address) -> bool {
        let primary = self.symbols.primary_at(address);
        let Some((id, _)) = primary.filter(|(_, symbol)| symbol.kind == SymbolKind::Label) else {
            return false;
        };
        self.symbols.remove(id);
        self.promote_any(address);
        true
    }

    /// Makes some symbol primary where none is.
    fn promote_any(&mut self, address: Address) {
        let next = self.symbols.at(address).map(|(id, _)| id).next();
        if let Some(next) = next {
            self.symbols.make_primary(next);
        }
    }

    /// Lays a correction over an instruction's flow; references that follow the flow change
    /// their kind with it. False when no instruction starts there.
    pub fn set_flow_override(&mut self, address: Address, change: FlowOverride) -> bool {
        let Some(instruction) = self.listing.instructions.get_mut(&address) else { return false };
        let before = instruction.effective_flow();
        instruction.flow_override = change;
        let after = instruction.effective_flow();
        if before == after {
            return true;
        }
        let followed: Vec<Reference> = self
            .references
            .from(address)
            .filter(|reference| reference.info.kind == RefType::Flow(before))
            .collect();
        for mut reference in followed {
            reference.info.kind = RefType::Flow(after);
            self.references.add(reference);
        }
        true
    }

    /// Removes a function. Its instructions, references and comments stay, and so does a name
    /// that somebody gave it, as a label. False when none starts there.
    pub fn remove_function(&mut self, entry: Address) -> bool {
        let Some(function) = self.functions.take(entry) else { return false };
        let given =
            |symbol: &Symbol| !symbol.name.is_empty() && symbol.source != SourceType::Default;
        match self.symbols.get(function.symbol) {
            Some(symbol) if given(symbol) => {
                self.symbols.edit(function.symbol, |symbol| symbol.kind = SymbolKind::Label);
            }
            _ => {
                self.symbols.remove(function.symbol);
                self.promote_any(entry);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AddressSet, BlockSource, DataOrganization, FlowType, Instruction, MemoryBlock, ProgramInfo,
    };

    fn program() -> Program {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut p = Program::new(info, false, DataOrganization::default());
        let bytes = b"text\0\0\0\0\x00\x10\0\0\0\0\0\0\0\0\0\0";
        let source =
            BlockSource::Bytes { bytes: bytes.as_slice().into(), offset: 0, length: bytes.len() };
        let block = MemoryBlock::new("b", Address::ram(0x1000), bytes.len() as u64, source);
        p.memory.add_block(block).expect("is free");
        p
    }

    fn at(offset: u64) -> Address {
        Address::ram(offset)
    }

    #[test]
    fn data_gives_way_only_where_it_may() {
        let mut p = program();
        let (int, byte, four) =
            (p.types.builtin("int"), p.types.builtin("byte"), p.types.builtin("undefined4"));
        assert_eq!(p.define_over(at(0x1000), four, false), Ok(4));
        assert_eq!(p.define_over(at(0x1002), byte, false), Ok(1), "undefined data gives way");
        assert_eq!(p.define_over(at(0x1002), int, false), Err(DefineError::InTheWay(at(0x1002))));
        assert_eq!(p.define_over(at(0x1002), int, true), Ok(4));
        assert_eq!(p.define_over(at(0x1004), byte, true), Err(DefineError::InTheWay(at(0x1002))));
        assert_eq!(p.define_over(at(0x1012), int, false), Err(DefineError::NoMemory));
        assert_eq!(p.define_over(at(0x9000), int, false), Err(DefineError::NoMemory));
        let void = p.types.builtin("void");
        assert_eq!(p.define_over(at(0x1000), void, false), Err(DefineError::NoLength));
    }

    #[test]
    fn texts_are_measured_and_pointers_refer() {
        let mut p = program();
        let (string, pointer) = (p.types.builtin("string"), p.types.builtin("pointer"));
        assert_eq!(p.define_over(at(0x1000), string, false), Ok(5));
        assert_eq!(p.define_over(at(0x1008), pointer, false), Ok(8));
        assert!(p.references.to(at(0x1000)).any(|reference| reference.from == at(0x1008)));
        assert!(p.clear_data(at(0x1008)));
        assert!(!p.references.is_referenced(at(0x1000)));
    }

    #[test]
    fn names_are_given_and_taken() {
        let mut p = program();
        let first = p.name_place(at(0x1000), "one");
        assert_eq!(p.name_place(at(0x1000), "two"), first, "a label is renamed in place");
        assert_eq!(p.label_at(at(0x1000)).as_deref(), Some("two"));
        p.add_label(at(0x1000), "three", SymbolId::GLOBAL, SourceType::UserDefined);
        assert!(p.remove_label(at(0x1000)));
        assert_eq!(p.label_at(at(0x1000)).as_deref(), Some("three"));
    }

    #[test]
    fn corrected_flow_changes_what_follows_it() {
        let mut p = program();
        let call = Instruction {
            length: 5,
            delay_slots: 0,
            in_delay_slot: false,
            mode: 0,
            flow: FlowType::UnconditionalCall,
            flow_override: FlowOverride::None,
        };
        p.listing.instructions.insert(at(0x1000), call);
        let kind = RefType::Flow(FlowType::UnconditionalCall);
        p.add_reference(at(0x1000), at(0x1010), kind, 0, SourceType::Analysis);
        let kind = |p: &Program| p.references.from(at(0x1000)).map(|r| r.info.kind).next();
        assert!(p.set_flow_override(at(0x1000), FlowOverride::Branch));
        assert_eq!(kind(&p), Some(RefType::Flow(FlowType::UnconditionalJump)));
        assert!(p.set_flow_override(at(0x1000), FlowOverride::None));
        assert_eq!(kind(&p), Some(RefType::Flow(FlowType::UnconditionalCall)));
        assert!(!p.set_flow_override(at(0x1001), FlowOverride::None));
    }

    #[test]
    fn a_removed_function_leaves_the_name_it_was_given() {
        let mut p = program();
        p.add_label(at(0x1000), "given", SymbolId::GLOBAL, SourceType::UserDefined);
        p.add_function(at(0x1000), AddressSet::new());
        p.add_function(at(0x1008), AddressSet::new());
        assert!(p.remove_function(at(0x1000)) && p.remove_function(at(0x1008)));
        assert_eq!(p.symbols.primary_at(at(0x1000)).map(|(_, s)| s.kind), Some(SymbolKind::Label));
        assert!(p.symbols.primary_at(at(0x1008)).is_none());
        assert!(!p.remove_function(at(0x1000)));
    }
}
