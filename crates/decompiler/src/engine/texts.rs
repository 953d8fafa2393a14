//! String literals: what a pointer to text shows. Where the listing defines a text, it says how its
//! bytes are read and where it ends; elsewhere a text ends at its zero.

use std::sync::Arc;

use ghidra_decompiler::address::Address;
use ghidra_decompiler::error::Result;
use ghidra_decompiler::loadimage::LoadImage;
use ghidra_decompiler::stringmanage::{
    StringData, StringManager, StringManagerBase, StringManagerUnicode,
};
use ghidra_decompiler::types::{TypeFactory, TypeId};
use program::data_type::{Builtin, Charset, TypeKind};
use program::{Address as Place, Program};

use super::memory::SharedMemory;

/// Longest literal that is shown, in characters.
const LONGEST: i32 = 2048;

/// Texts as the listing defines them, and before all others.
pub(crate) struct ListingTexts {
    memory: Arc<SharedMemory>,
    ended: StringManagerUnicode,
}

impl ListingTexts {
    pub(crate) fn new(memory: Arc<SharedMemory>) -> ListingTexts {
        ListingTexts { memory, ended: StringManagerUnicode::new(LONGEST) }
    }
}

impl StringManager for ListingTexts {
    fn base(&self) -> &StringManagerBase {
        self.ended.base()
    }

    fn base_mut(&mut self) -> &mut StringManagerBase {
        self.ended.base_mut()
    }

    fn get_string_data(
        &mut self,
        addr: &Address,
        char_type: TypeId,
        types: &TypeFactory,
        loader: &dyn LoadImage,
    ) -> Result<(&Vec<u8>, bool)> {
        let known = self.ended.base().string_map.contains_key(addr);
        let is_opaque = types.get(char_type).is_opaque_string();
        let at = Place::ram(addr.get_offset());
        if !known
            && !is_opaque
            && !addr.is_constant()
            && let Some(text) = self.memory.read_program(|program| defined(program, at))
        {
            self.memory.note(at.offset, text.bytes.len());
            let data = text.decoded(addr.is_big_endian())?;
            self.ended.base_mut().string_map.insert(addr.clone(), data);
        }
        self.ended.get_string_data(addr, char_type, types, loader)
    }
}

/// A text that the listing defines, from some place on.
struct Text {
    bytes: Vec<u8>,
    charset: Charset,
}

/// The text around a place, if one is defined there.
fn defined(program: &Program, at: Place) -> Option<Text> {
    let (start, unit) = program.listing.data_containing(at)?;
    let types = &program.types;
    let charset = match types.get(types.resolve(unit.data_type)).map(|known| &known.kind)? {
        TypeKind::Builtin(Builtin::String(charset)) => *charset,
        TypeKind::Array { element, .. } => match types.as_builtin(*element)? {
            Builtin::Char => Charset::Ascii,
            Builtin::WideChar if types.organization().wide_char == 2 => Charset::Utf16,
            Builtin::WideChar => Charset::Utf32,
            _ => return None,
        },
        _ => return None,
    };
    let inside = at.offset.checked_sub(start.offset)?;
    let length = u64::from(unit.length).checked_sub(inside)?;
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    let read = program.memory.read(at, &mut bytes).ok()?;
    (read == bytes.len()).then_some(Text { bytes, charset })
}

impl Text {
    /// The text in UTF-8; nothing when its bytes are not of its character set.
    fn decoded(&self, big_endian: bool) -> Result<StringData> {
        let mut data = StringData::default();
        let unit = match self.charset {
            Charset::Ascii | Charset::Utf8 => 1,
            Charset::Utf16 => 2,
            Charset::Utf32 => 4,
        };
        let size = i32::try_from(self.bytes.len()).unwrap_or(i32::MAX);
        let characters = StringManagerBase::check_characters(&self.bytes, size, unit, big_endian);
        if characters < 0 {
            return Ok(data);
        }
        let bytes = &mut data.byte_data;
        if StringManagerBase::write_unicode_with(
            LONGEST,
            bytes,
            &self.bytes,
            size,
            unit,
            big_endian,
        )? {
            data.byte_data.push(0);
            data.is_truncated = characters > LONGEST;
        } else {
            data.byte_data.clear();
        }
        Ok(data)
    }
}
