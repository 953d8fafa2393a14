//! Data items, references and comments that the loader itself sets.

use super::Loader;
use crate::offset_pointer;
use program::{Address, AddressRange, CommentKind, RefType, SourceType, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest item that a symbol's size reserves.
const LARGEST: u64 = 1 << 28;

impl Loader {
    /// Defines data of a type with a length of its own; gives whether it could.
    pub(super) fn define(&mut self, place: Address, data_type: TypeId) -> bool {
        let Some(length) = self.program.types.length(data_type).filter(|n| *n > 0) else {
            return false;
        };
        self.program.define_data(place, data_type, length)
    }

    /// Defines data in place of bytes that only a symbol's size reserved.
    pub(super) fn redefine(&mut self, place: Address, data_type: TypeId) -> bool {
        let reserved = self.program.listing.data.get(&place).map(|unit| unit.data_type);
        if let Some(known) = reserved
            && self.is_reserved(known)
        {
            self.program.listing.data.remove(&place);
        }
        self.define(place, data_type)
    }

    /// Whether a type says nothing but a size.
    fn is_reserved(&self, data_type: TypeId) -> bool {
        let types = &self.program.types;
        match types.get(data_type).map(|t| &t.kind) {
            Some(program::TypeKind::Array { element, .. }) => types.is_undefined(*element),
            _ => types.is_undefined(data_type),
        }
    }

    /// Defines data of a built-in type.
    pub(super) fn define_builtin(&mut self, place: Address, name: &str) -> bool {
        let data_type = self.program.types.builtin(name);
        self.define(place, data_type)
    }

    /// Defines an array; a count of zero defines nothing.
    pub(super) fn define_array(&mut self, place: Address, element: TypeId, count: u64) -> bool {
        let Ok(count) = u32::try_from(count) else { return false };
        if count == 0 || self.room_at(place) < u64::from(count) {
            return false;
        }
        let array = self.program.types.array_of(element, count);
        self.define(place, array)
    }

    /// Bytes from a place to the end of its block.
    pub(super) fn room_at(&self, place: Address) -> u64 {
        let block = self.program.memory.block_at(place);
        block.map_or(0, |b| b.end().offset - place.offset + 1)
    }

    /// Bytes up to and with a terminating zero, if one comes soon enough.
    pub(super) fn text_length(&self, place: Address, limit: u64) -> Option<u32> {
        let limit = limit.min(self.room_at(place)).min(1 << 20);
        let mut length = 0u64;
        while length < limit {
            let run = self.program.memory.run(place.checked_add(length)?);
            let run = run.get(..run.len().min((limit - length) as usize))?;
            if run.is_empty() {
                return None;
            }
            if let Some(at) = run.iter().position(|b| *b == 0) {
                return u32::try_from(length + at as u64 + 1).ok();
            }
            length += run.len() as u64;
        }
        None
    }

    /// Makes a pointer of what is at a place, whatever was defined there.
    pub(super) fn mark_pointer(&mut self, place: Address) {
        let word = self.file.word();
        let pointer = self.program.types.builtin("pointer");
        if self.program.types.length(pointer).map(u64::from) != Some(word) {
            return;
        }
        let Some(range) = AddressRange::with_length(place, word) else { return };
        self.program.listing.data.remove_where(range.start..=range.end, |_, _| true);
        if self.define(place, pointer) {
            self.pointers.push(place);
        }
    }

    /// The reference that a pointer is by itself.
    pub(super) fn refer_pointer(&mut self, from: Address, to: Address) {
        self.program.add_reference(from, to, RefType::Data, 0, SourceType::Default);
    }

    /// A pointer that lies `offset` bytes behind what it refers to.
    pub(super) fn mark_offset_pointer(&mut self, place: Address, target: Address, offset: i64) {
        self.mark_pointer(place);
        let marked = self.pointers.last() == Some(&place);
        if marked && offset_pointer::define(&mut self.program, place, offset) {
            let default = SourceType::Default;
            self.program.add_reference(place, target, RefType::Data, 0, default);
        }
    }

    /// A data reference from a place to another.
    pub(super) fn refer(&mut self, from: Address, to: Address) {
        self.program.add_reference(from, to, RefType::Data, 0, SourceType::Analysis);
    }

    /// A data reference that the file's headers state.
    pub(super) fn refer_imported(&mut self, from: Address, to: Address) {
        self.program.add_reference(from, to, RefType::Data, 0, SourceType::Imported);
    }

    pub(super) fn comment(&mut self, place: Address, text: &str) {
        self.program.comments.insert((place, CommentKind::Eol), text.into());
    }

    /// Adds a line to a comment.
    pub(super) fn append_comment(&mut self, place: Address, kind: CommentKind, text: &str) {
        let text: Arc<str> = match self.program.comments.get(&(place, kind)) {
            Some(before) => format!("{before}\n{text}").into(),
            None => text.into(),
        };
        self.program.comments.insert((place, kind), text);
    }

    /// Undefined data of one byte wherever a mark says that data begins, but no symbol how long it
    /// is.
    pub(super) fn reserve_marked(&mut self) {
        let places: Vec<Address> = self.data_marks.iter().copied().collect();
        for place in places {
            if !self.program.memory.contains(place) {
                continue;
            }
            let undefined = self.program.types.undefined(1);
            self.define(place, undefined);
        }
    }

    /// Data of unknown content where symbols say how long it is.
    pub(super) fn reserve_data(&mut self, sized: &BTreeMap<Address, u64>) {
        for (place, size) in sized {
            if *size > LARGEST || *size > self.room_at(*place) {
                continue;
            }
            // A mark of data claims one byte before any symbol does.
            let size = if self.data_marks.contains(place) { &1 } else { size };
            if *size <= 8 {
                let undefined = self.program.types.undefined(*size as u32);
                self.define(*place, undefined);
            } else {
                let byte = self.program.types.builtin("undefined1");
                self.define_array(*place, byte, *size);
            }
        }
    }
}
