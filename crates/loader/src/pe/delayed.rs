//! Libraries that are loaded at their first use, and the functions that load them.

use super::Loader;
use super::imports::{FUNCTIONS, LIBRARIES};
use program::{Address, CommentKind, SymbolId, SymbolKind};

const DELAY_IMPORT: usize = object::pe::IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT;

/// Bytes of one library's descriptor.
const DESCRIPTOR: u32 = 32;

/// What the entries of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entries {
    /// Slots, which lead to the function that loads the library.
    Slots,
    /// Offsets of names, and numbers.
    Names,
}

/// Where one library's name and tables are.
struct Tables {
    name: Address,
    slots: Address,
    lookup: Address,
}

impl Loader {
    pub(super) fn load_delayed_imports(&mut self) {
        let Some(directory) = self.file.directory(DELAY_IMPORT) else { return };
        for index in 0..LIBRARIES {
            let Some(at) = directory.address.checked_add(DESCRIPTOR * index) else { break };
            let place = self.place(at);
            let Some([attributes, name, handle, slots, lookup, bound, unload, _]) =
                self.words::<8>(place)
            else {
                break;
            };
            if name == 0 || slots == 0 {
                break;
            }
            // Old linkers stored addresses instead of offsets.
            let base = if attributes & 1 == 0 { self.base as u32 } else { 0 };
            let offset = |value: u32| self.place(value.wrapping_sub(base));
            let tables =
                Tables { name: offset(name), slots: offset(slots), lookup: offset(lookup) };
            let others =
                [(handle, "_Module_Handle"), (bound, "_Bound_IAT"), (unload, "_Unload_IAT")]
                    .map(|(value, suffix)| (value != 0).then(|| (offset(value), suffix)));
            self.mark_descriptor(place, [name, handle, slots, lookup, bound, unload]);
            self.label_descriptor(place, "");
            self.mark_text_at(tables.name);
            self.label_descriptor(tables.slots, "_IAT");
            self.label_descriptor(tables.lookup, "_INT");
            for (at, suffix) in others.into_iter().flatten() {
                self.label_descriptor(at, suffix);
            }
            self.load_delayed_library(&tables);
        }
    }

    fn mark_descriptor(&mut self, place: Address, offsets: [u32; 6]) {
        let data_type = self.delayed_type();
        if !self.program.define_data(place, data_type, DESCRIPTOR) {
            return;
        }
        for (offset, at) in offsets.into_iter().zip((4u64..).step_by(4)) {
            if offset != 0 {
                self.refer(place.wrapping_add(at), self.place(offset));
            }
        }
    }

    fn label_descriptor(&mut self, at: Address, suffix: &str) {
        if self.program.memory.contains(at) {
            let digits = 8;
            let name = format!("ImgDelayDescr{suffix}_{:0digits$x}", at.offset);
            self.label(at, &name);
        }
    }

    fn load_delayed_library(&mut self, tables: &Tables) {
        let Some(library) = self.text(tables.name) else {
            self.warn("the name of a library that is loaded at its first use is not in memory");
            return;
        };
        let library =
            self.program.symbols.namespace(&library, SymbolId::GLOBAL, SymbolKind::Library);
        let word = self.file.word();
        for index in 0..u64::from(FUNCTIONS) {
            if !self.has_room_for_import() {
                break;
            }
            let slot = tables.slots.wrapping_add(word * index);
            let entry = tables.lookup.wrapping_add(word * index);
            let Some(value) = self.read(entry, word as u32) else { break };
            self.mark_delayed(slot, Entries::Slots);
            self.mark_delayed(entry, Entries::Names);
            if value == 0 {
                break;
            }
            let Some(name) = self.delayed_name(value) else { break };
            let target = self.external(library, &name);
            self.bind(slot, target);
            self.label_proxy(slot, &name);
        }
    }

    /// The name of a function that is asked for by name or by number.
    fn delayed_name(&mut self, value: u64) -> Option<String> {
        if self.is_ordinal(value) {
            return Some(format!("Ordinal_{}", value & 0xffff));
        }
        let place = self.place(value as u32);
        let name = self.text(place.checked_add(2)?).filter(|name| !name.is_empty())?;
        let (data_type, length) = self.import_by_name_type(name.len() as u32 + 1);
        self.program.define_data(place, data_type, length);
        Some(name)
    }

    fn is_ordinal(&self, value: u64) -> bool {
        value >> (8 * self.file.word() - 1) != 0
    }

    /// Marks up an entry of a table; zeros end tables.
    fn mark_delayed(&mut self, at: Address, entries: Entries) {
        let word = self.file.word() as u32;
        let Some(value) = self.read(at, word) else { return };
        let wide = self.file.is_64;
        let plain = value == 0 || self.is_ordinal(value);
        let name = match (plain, entries, wide) {
            (true, _, true) => "qword",
            (true, _, false) => "dword",
            (false, Entries::Slots, _) => "pointer",
            (false, Entries::Names, true) => "ImageBaseOffset64",
            (false, Entries::Names, false) => "ImageBaseOffset32",
        };
        if self.define(at, name) && !plain && entries == Entries::Names {
            self.refer(at, self.place(value as u32));
        }
        let comment = if wide { "IMAGE_THUNK_DATA64" } else { "IMAGE_THUNK_DATA32" };
        self.program.comments.insert((at, CommentKind::Eol), comment.into());
    }

    /// The code to which a slot leads at first is a function that loads the library.
    fn label_proxy(&mut self, slot: Address, name: &str) {
        let Some(value) = self.read(slot, self.file.word() as u32) else { return };
        let proxy = Address::ram(value & self.mask);
        if self.is_executable(proxy) && self.start_function(proxy) {
            self.label(proxy, &format!("DelayLoad_{name}"));
        }
    }
}
