//! Synthetic names: those that Ghidra shows at places without a stored symbol
//! (`LAB_`, `DAT_`, `s_text_`, `PTR_`, `FUN_` ...).

use crate::Program;
use crate::address::{Address, SpaceId};
use crate::data_type::{Builtin, Charset, TypeId, TypeKind};
use crate::listing::CodeUnit;
use crate::symbol::SymbolKind;

/// Characters after which the text part of a string's name ends.
const STRING_NAME: usize = 32;

/// Pointers followed when looking for one that leads back.
const LONGEST_CHAIN: usize = 32;

impl Program {
    /// The address as synthetic names carry it: at least eight hex digits,
    /// before them the space's name for overlays, and where the processor has
    /// several memories.
    pub fn address_in_name(&self, address: Address) -> String {
        match self.spaces.get(address.space) {
            Some(space) if space.id.is_overlay() => {
                format!("{}__{:08x}", space.name, address.offset)
            }
            Some(space) if space.id != SpaceId::RAM || self.spaces.several_memories() => {
                self.spaces.print(address).to_string().replace(':', "_")
            }
            _ => format!("{:08x}", address.offset),
        }
    }

    /// The address as stored names carry it (`switchD_00101000`): as in
    /// synthetic ones, but a space keeps its colon.
    pub fn address_in_stored_name(&self, address: Address) -> String {
        match self.spaces.get(address.space) {
            Some(space) if space.id.is_overlay() => {
                format!("{}::{:08x}", space.name, address.offset)
            }
            Some(space) if space.id != SpaceId::RAM || self.spaces.several_memories() => {
                self.spaces.print(address).to_string()
            }
            _ => format!("{:08x}", address.offset),
        }
    }

    /// The name a function has when nobody gave it one.
    pub fn default_function_name(&self, entry: Address) -> String {
        format!("FUN_{}", self.address_in_name(entry))
    }

    /// The name shown at an address: the primary stored symbol's, else a
    /// synthetic one if the place is referred to, else `None`.
    pub fn label_at(&self, address: Address) -> Option<String> {
        if let Some((id, _)) = self.symbols.primary_at(address) {
            return Some(self.symbol_name(id));
        }
        if !self.references.is_referenced(address) {
            return None;
        }
        self.synthetic_label(address).or_else(|| self.outside_label(address))
    }

    /// The name of a place outside of memory that is referred to: what the references take it for.
    fn outside_label(&self, address: Address) -> Option<String> {
        if address.space != SpaceId::RAM {
            return None;
        }
        let flows = || self.references.to(address).map(|r| r.info.kind).filter(|k| k.is_flow());
        let prefix = match flows().next() {
            Some(_) if flows().any(|kind| kind.is_call()) => "SUB",
            Some(_) => "LAB",
            None => "DAT",
        };
        Some(format!("{prefix}_{}", self.address_in_name(address)))
    }

    /// The synthetic name of a place in memory, whether referred to or not; `None` outside of
    /// memory.
    pub fn synthetic_label(&self, address: Address) -> Option<String> {
        self.memory.block_at(address)?;
        let prefix = match self.listing.unit_containing(address) {
            Some((start, CodeUnit::Data(unit))) if start == address => {
                self.data_name_prefix(address, unit.data_type, unit.length)
            }
            Some((start, unit)) if start != address => {
                return self.offcut_label(start, &unit, address);
            }
            _ => self.plain_prefix(address).into(),
        };
        Some(format!("{prefix}_{}", self.address_in_name(address)))
    }

    /// The part before the address in the synthetic name of a place that is
    /// neither text nor pointer.
    fn plain_prefix(&self, address: Address) -> &'static str {
        match self.listing.unit_containing(address) {
            Some((start, CodeUnit::Instruction(_))) if start == address => {
                let called = self.references.to(address).any(|r| r.info.kind.is_call());
                if called { "SUB" } else { "LAB" }
            }
            _ => "DAT",
        }
    }

    /// The part of a data item's synthetic name before the address.
    fn data_name_prefix(&self, address: Address, data_type: TypeId, length: u32) -> String {
        let Some(known) = self.types.get(data_type) else { return "DAT".into() };
        match &known.kind {
            TypeKind::Builtin(Builtin::String(charset)) => {
                let prefix = match charset {
                    Charset::Utf16 | Charset::Utf32 => "u",
                    Charset::Ascii | Charset::Utf8 => "s",
                };
                self.text_prefix(prefix, address, *charset, length)
            }
            TypeKind::Array { element, .. } => {
                let inner = self.types.as_builtin(*element);
                match inner {
                    Some(Builtin::Char) => self.text_prefix("s", address, Charset::Ascii, length),
                    _ => format!("{}_ARRAY", self.types.name(*element).replace(' ', "")),
                }
            }
            TypeKind::Builtin(Builtin::Pointer) | TypeKind::Pointer(_) => {
                self.pointer_prefix(address)
            }
            // The one structure whose name is not the name of its places.
            TypeKind::Struct { .. } if &*known.name == "PEx64_UnwindInfo" => "UNWIND_INFO".into(),
            TypeKind::Struct { .. } | TypeKind::Union { .. } => known.name.to_string(),
            TypeKind::Enum { .. } | TypeKind::Typedef(_) => "DAT".into(),
            TypeKind::Builtin(Builtin::Unsigned | Builtin::Signed | Builtin::Float) => {
                known.name.to_ascii_uppercase()
            }
            TypeKind::Builtin(_) | TypeKind::Function(_) => "DAT".into(),
        }
    }

    /// `s_Hello_world` for a text; plain `s` when it has no usable character.
    fn text_prefix(&self, prefix: &str, at: Address, charset: Charset, length: u32) -> String {
        let mut bytes = vec![0u8; (length as usize).min(4 * STRING_NAME)];
        let read = self.memory.read(at, &mut bytes).unwrap_or(0);
        bytes.truncate(read);
        let step = match charset {
            Charset::Ascii | Charset::Utf8 => 1,
            Charset::Utf16 => 2,
            Charset::Utf32 => 4,
        };
        let low = if self.memory.big_endian() { step - 1 } else { 0 };
        let mut name = String::new();
        let characters =
            bytes.chunks_exact(step).map(|unit| (unit[low], unit.iter().any(|b| *b != 0)));
        // What cannot be shown between two parts is one underscore, at the ends nothing.
        let mut gap = false;
        for (byte, _) in characters.take_while(|(_, some)| *some) {
            if !matches!(byte, b'!'..=b'~') {
                gap = !name.is_empty();
                continue;
            }
            if std::mem::take(&mut gap) {
                name.push('_');
            }
            name.push(byte as char);
            if name.len() >= STRING_NAME {
                break;
            }
        }
        if name.is_empty() { prefix.into() } else { format!("{prefix}_{name}") }
    }

    /// `PTR_name` for a pointer to a named place, `PTR_DAT` and the like for one
    /// to another place, `PTR_LOOP` where pointers lead back; else `PTR`.
    fn pointer_prefix(&self, address: Address) -> String {
        let Some(target) = self.pointed_at(address) else { return "PTR".into() };
        if let Some((_, symbol)) = self.symbols.primary_at(target) {
            let name = match symbol.kind {
                SymbolKind::Function => self.function_name(target),
                _ => symbol.name.to_string(),
            };
            let default = name == self.default_function_name(target);
            return if default { "PTR_FUN".into() } else { format!("PTR_{name}") };
        }
        match self.listing.unit_containing(target) {
            Some((start, CodeUnit::Data(unit))) if start == target => {
                if !self.is_pointer(unit.data_type) {
                    let inner = self.data_name_prefix(target, unit.data_type, unit.length);
                    return format!("PTR_{inner}");
                }
                let next = self.pointed_at(target);
                if next.is_some_and(|next| next.space == SpaceId::EXTERNAL) {
                    return format!("PTR_{}", self.pointer_prefix(target));
                }
                let leads_back = self.pointers_lead_back(address);
                if leads_back { "PTR_LOOP".into() } else { "PTR_PTR".into() }
            }
            Some((start, unit @ CodeUnit::Instruction(_))) if start != target => {
                let inside = self.offcut_label(start, &unit, target);
                format!("PTR_{}", inside.unwrap_or_default())
            }
            _ => format!("PTR_{}", self.plain_prefix(target)),
        }
    }

    fn is_pointer(&self, data_type: TypeId) -> bool {
        let kind = self.types.get(data_type).map(|t| &t.kind);
        matches!(kind, Some(TypeKind::Builtin(Builtin::Pointer) | TypeKind::Pointer(_)))
    }

    /// Where the pointer at an address leads.
    fn pointed_at(&self, address: Address) -> Option<Address> {
        self.references.from(address).find(|r| r.info.primary).map(|r| r.to)
    }

    /// Whether following pointers from an address meets one of them again.
    fn pointers_lead_back(&self, address: Address) -> bool {
        let mut seen = vec![address];
        let mut at = address;
        while let Some(next) = self.pointed_at(at) {
            if seen.contains(&next) {
                return true;
            }
            match self.listing.data_containing(next) {
                Some((start, unit)) if start == next && self.is_pointer(unit.data_type) => {}
                _ => return false,
            }
            if seen.len() >= LONGEST_CHAIN {
                return false;
            }
            seen.push(next);
            at = next;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Address, BlockSource, DataOrganization, MemoryBlock, Program, ProgramInfo, RefType,
        SourceType, SymbolId,
    };

    /// Pointers at the given places, each leading to the other.
    fn program(pointers: &[(u64, u64)]) -> Program {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut program = Program::new(info, false, DataOrganization::default());
        let block = MemoryBlock::new(".data", Address::ram(0x1000), 0x100, BlockSource::Zero);
        program.memory.add_block(block).unwrap();
        let pointer = program.types.builtin("pointer");
        for (from, to) in pointers {
            let (from, to) = (Address::ram(*from), Address::ram(*to));
            assert!(program.define_data(from, pointer, 8));
            program.add_reference(from, to, RefType::Data, 0, SourceType::Analysis);
        }
        program
    }

    #[test]
    fn texts_name_their_places_by_what_can_be_shown() {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut program = Program::new(info, false, DataOrganization::default());
        let texts = [
            "__init\0",
            "  unknown bit size  %d\n\0",
            "Unexpected reloc type in static binary\0",
            "(mode_flags & PRINTF_FORTIFY) != 0\0",
            " \n\0",
        ];
        let bytes = texts.concat().into_bytes();
        let source =
            BlockSource::Bytes { bytes: bytes.as_slice().into(), offset: 0, length: bytes.len() };
        let start = Address::ram(0x1000);
        let block = MemoryBlock::new(".rodata", start, bytes.len() as u64, source);
        program.memory.add_block(block).unwrap();
        let text = program.types.builtin("string");
        let mut at = start;
        let mut names = Vec::new();
        for string in texts {
            assert!(program.define_data(at, text, string.len() as u32));
            let name = program.synthetic_label(at).unwrap_or_default();
            names.push(name.rsplit_once('_').map_or(String::new(), |(name, _)| name.to_owned()));
            at = at.wrapping_add(string.len() as u64);
        }
        assert_eq!(
            names,
            [
                "s___init",
                "s_unknown_bit_size_%d",
                "s_Unexpected_reloc_type_in_static_b",
                "s_(mode_flags_&_PRINTF_FORTIFY)_!=",
                "s",
            ]
        );
    }

    #[test]
    fn numbers_name_their_places_by_their_types() {
        let mut p = program(&[]);
        for (at, name, length) in [(0x1000, "dword", 4), (0x1008, "double", 8), (0x1010, "int", 4)]
        {
            let data_type = p.types.builtin(name);
            assert!(p.define_data(Address::ram(at), data_type, length));
        }
        let name = |at| p.synthetic_label(Address::ram(at)).unwrap_or_default();
        assert_eq!(name(0x1000), "DWORD_00001000");
        assert_eq!(name(0x1008), "DOUBLE_00001008");
        assert_eq!(name(0x1010), "INT_00001010");
    }

    #[test]
    fn pointers_to_imported_places_are_named_after_those() {
        let mut p = program(&[(0x1000, 0x1008)]);
        let place = crate::Address::external(1);
        let pointer = p.types.builtin("pointer");
        assert!(p.define_data(Address::ram(0x1008), pointer, 8));
        p.add_label(place, "_fmode", SymbolId::GLOBAL, SourceType::Imported);
        p.add_reference(Address::ram(0x1008), place, RefType::Data, 0, SourceType::Imported);
        let name = |at| p.synthetic_label(Address::ram(at)).unwrap_or_default();
        assert_eq!(name(0x1008), "PTR__fmode_00001008");
        assert_eq!(name(0x1000), "PTR_PTR__fmode_00001000");
    }

    #[test]
    fn pointers_are_named_after_what_they_lead_to() {
        let mut p = program(&[
            (0x1000, 0x1000),
            (0x1008, 0x1010),
            (0x1010, 0x1008),
            (0x1018, 0x1020),
            (0x1020, 0x1040),
            (0x1028, 0x1050),
            (0x1030, 0x9000),
        ]);
        p.add_label(Address::ram(0x1050), "shelf", SymbolId::GLOBAL, SourceType::Imported);
        let name = |at| p.synthetic_label(Address::ram(at)).unwrap_or_default();
        assert_eq!(name(0x1000), "PTR_LOOP_00001000");
        assert_eq!(name(0x1008), "PTR_LOOP_00001008");
        assert_eq!(name(0x1018), "PTR_PTR_00001018");
        assert_eq!(name(0x1020), "PTR_DAT_00001020");
        assert_eq!(name(0x1028), "PTR_shelf_00001028");
        assert_eq!(name(0x1030), "PTR_DAT_00001030", "a place outside of memory");
    }
}
