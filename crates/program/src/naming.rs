//! Synthetic names: those that Ghidra shows at places without a stored symbol
//! (`LAB_`, `DAT_`, `s_text_`, `PTR_`, `FUN_` ...).

use crate::Program;
use crate::address::{Address, SpaceId};
use crate::data_type::{Builtin, Charset, TypeId, TypeKind};
use crate::listing::CodeUnit;

/// Longest text part of a string's name, in characters.
const STRING_NAME: usize = 32;

impl Program {
    /// The address as names carry it: at least eight hex digits, for overlays
    /// with the space's name before them.
    pub fn address_in_name(&self, address: Address) -> String {
        let offset = address.offset;
        match self.spaces.get(address.space) {
            Some(space) if space.id != SpaceId::RAM => format!("{}__{offset:08x}", space.name),
            _ => format!("{offset:08x}"),
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
        if self.references.is_referenced(address) { self.synthetic_label(address) } else { None }
    }

    /// The synthetic name of a place in memory, whether referred to or not;
    /// `None` inside of an instruction and outside of memory.
    pub fn synthetic_label(&self, address: Address) -> Option<String> {
        self.memory.block_at(address)?;
        let place = self.address_in_name(address);
        match self.listing.unit_containing(address) {
            Some((start, CodeUnit::Instruction(_))) if start == address => {
                let called = self.references.to(address).any(|r| r.info.kind.is_call());
                Some(format!("{}_{place}", if called { "SUB" } else { "LAB" }))
            }
            Some((_, CodeUnit::Instruction(_))) => None,
            Some((start, CodeUnit::Data(unit))) if start == address => Some(format!(
                "{}_{place}",
                self.data_name_prefix(address, unit.data_type, unit.length)
            )),
            _ => Some(format!("DAT_{place}")),
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
            TypeKind::Struct { .. } | TypeKind::Union { .. } => known.name.to_string(),
            TypeKind::Enum { .. } | TypeKind::Typedef(_) => "DAT".into(),
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
        for (byte, some) in characters.take(STRING_NAME) {
            match byte {
                _ if !some => break,
                b'!'..=b'~' => name.push(byte as char),
                _ if !name.ends_with('_') => name.push('_'),
                _ => {}
            }
        }
        let name = name.trim_matches('_');
        if name.is_empty() { prefix.into() } else { format!("{prefix}_{name}") }
    }

    /// `PTR_name` for a pointer to a named place, else `PTR`.
    fn pointer_prefix(&self, address: Address) -> String {
        let target = self.references.from(address).find(|r| r.info.primary).map(|r| r.to);
        match target.and_then(|to| self.label_at(to)) {
            Some(label) => format!("PTR_{label}"),
            None => "PTR".into(),
        }
    }
}
