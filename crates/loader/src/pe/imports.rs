//! Imports: libraries, their functions and data, and the slots through which
//! the program reaches them.

use super::Loader;
use program::{
    Address, AddressSet, CommentKind, Function, RefType, SourceType, Symbol, SymbolId, SymbolKind,
};

const IMPORT: usize = object::pe::IMAGE_DIRECTORY_ENTRY_IMPORT;

/// Most libraries and most imports of one library that are believed.
pub(super) const LIBRARIES: u32 = 4096;
pub(super) const FUNCTIONS: u32 = 65536;

/// One library's tables, as offsets from the image base.
#[derive(Debug, Clone, Copy)]
struct Table {
    name: u32,
    /// Names or ordinals.
    lookup: u32,
    /// The slots that the system fills.
    slots: u32,
}

impl Loader {
    pub(super) fn load_imports(&mut self) {
        let Some(directory) = self.file.directory(IMPORT) else { return };
        for index in 0..LIBRARIES {
            let Some(at) = directory.address.checked_add(20 * index) else { break };
            let place = self.place(at);
            let Some([lookup, _, _, name, slots]) = self.words::<5>(place) else { break };
            if name == 0 || slots == 0 {
                break;
            }
            for word in 0..5 {
                self.define(self.place(at.wrapping_add(4 * word)), "dword");
            }
            self.plate(place, "IMAGE_IMPORT_DESCRIPTOR");
            let lookup = if lookup == 0 { slots } else { lookup };
            self.load_library(Table { name, lookup, slots });
        }
    }

    fn load_library(&mut self, table: Table) {
        let Some(library) = self.text(self.place(table.name)) else {
            self.warn("the name of an imported library is not in memory");
            return;
        };
        self.mark_text(table.name);
        self.plate(self.place(table.name), "IMAGE_IMPORT_DESCRIPTOR - DLL NAME");
        let library = library.to_uppercase();
        let id = self.program.symbols.namespace(&library, SymbolId::GLOBAL, SymbolKind::Library);
        let word = self.file.word() as u32;
        let ordinal_flag = 1u64 << (8 * word - 1);
        for index in 0..FUNCTIONS {
            if !self.has_room_for_import() {
                break;
            }
            let entry = table.lookup.checked_add(word * index);
            let slot = table.slots.checked_add(word * index);
            let (Some(entry), Some(slot)) = (entry, slot) else { break };
            let Some(value) = self.read(self.place(entry), word) else { break };
            if value == 0 {
                break;
            }
            let mut convention = None;
            let (name, shown) = if value & ordinal_flag != 0 {
                let ordinal = value & 0xffff;
                (format!("Ordinal_{ordinal}"), format!("{ordinal}  <<not bound>>"))
            } else {
                let Some((hint, name)) = self.hint_name(value as u32) else { break };
                let plain = demangler::plain(&name, 8 * word);
                convention = plain.map(|plain| plain.convention);
                let shown = format!("{hint}  {name}  <<not bound>>");
                (plain.map_or(name.as_str(), |plain| plain.name).to_owned(), shown)
            };
            self.mark_entry(entry, table.lookup != table.slots);
            self.program
                .comments
                .insert((self.place(slot), CommentKind::Pre), shown.as_str().into());
            let target = self.external(id, &name);
            if convention.is_some() {
                let convention = convention.map(Into::into);
                self.program.functions.edit(target, |f| f.signature.convention = convention);
            }
            self.bind(self.place(slot), target);
        }
    }

    /// Counts one more import. Many libraries may claim the same slots.
    pub(super) fn has_room_for_import(&mut self) -> bool {
        self.imports += 1;
        let room = self.imports <= self.file.bytes.len() as u64 / self.file.word();
        if !room {
            self.warn("there are more imports than the file has room for");
        }
        room
    }

    fn mark_entry(&mut self, entry: u32, separate: bool) {
        let (wide, name) = if self.file.is_64 {
            ("qword", "IMAGE_THUNK_DATA64")
        } else {
            ("dword", "IMAGE_THUNK_DATA32")
        };
        let place = self.place(entry);
        if separate {
            self.define(place, wide);
        }
        self.program.comments.insert((place, CommentKind::Eol), name.into());
    }

    /// A hint and a name.
    fn hint_name(&mut self, at: u32) -> Option<(u64, String)> {
        let place = self.place(at);
        let hint = self.read(place, 2)?;
        let name_at = at.checked_add(2)?;
        let name = self.text(self.place(name_at)).filter(|n| !n.is_empty())?;
        self.define(place, "word");
        self.mark_text(name_at);
        self.plate(place, "IMAGE_IMPORT_BY_NAME");
        Some((hint, name))
    }

    /// The place of a library that a name stands for, whatever is there.
    pub(super) fn external_label(&mut self, library: &str, name: &str) -> Address {
        let parent = self.program.symbols.namespace(library, SymbolId::GLOBAL, SymbolKind::Library);
        match self.known_external(parent, name) {
            Some((_, known)) => known,
            None => self.external_symbol(parent, name, SymbolKind::Label).1,
        }
    }

    fn known_external(&self, library: SymbolId, name: &str) -> Option<(SymbolId, Address)> {
        let mut known = self.program.symbols.named(name);
        let known = known.find(|(_, symbol)| symbol.parent == library)?;
        Some((known.0, known.1.address))
    }

    fn external_symbol(
        &mut self,
        library: SymbolId,
        name: &str,
        kind: SymbolKind,
    ) -> (SymbolId, Address) {
        self.next_external += 1;
        let place = Address::external(self.next_external);
        let symbol = self.program.symbols.add(Symbol {
            name: name.into(),
            address: place,
            kind,
            parent: library,
            source: SourceType::Imported,
            primary: true,
            external_entry: false,
            pinned: false,
        });
        (symbol, place)
    }

    /// An external function of a library.
    pub(super) fn external(&mut self, library: SymbolId, name: &str) -> Address {
        let (symbol, place) = match self.known_external(library, name) {
            Some((_, place)) if self.program.functions.at(place).is_some() => return place,
            Some((symbol, place)) => {
                self.program.symbols.edit(symbol, |s| s.kind = SymbolKind::Function);
                (symbol, place)
            }
            None => self.external_symbol(library, name, SymbolKind::Function),
        };
        let undefined = self.program.types.builtin("undefined");
        let function = Function::new(place, symbol, AddressSet::new(), undefined);
        self.program.functions.put(function);
        place
    }

    /// The slot is a pointer to the external location, whatever the file has
    /// in it.
    pub(super) fn bind(&mut self, place: Address, target: Address) {
        self.define(place, "pointer");
        self.program.add_reference(place, target, RefType::Data, 0, SourceType::Imported);
    }

    /// Consecutive double words.
    pub(super) fn words<const N: usize>(&self, place: Address) -> Option<[u32; N]> {
        let mut words = [0; N];
        for (word, at) in words.iter_mut().zip((0u64..).step_by(4)) {
            *word = self.read(place.checked_add(at)?, 4)? as u32;
        }
        Some(words)
    }

    pub(super) fn plate(&mut self, place: Address, text: &str) {
        self.program.comments.insert((place, CommentKind::Plate), text.into());
    }

    /// Defines data of a built-in type.
    pub(super) fn define(&mut self, place: Address, name: &str) -> bool {
        let data_type = self.program.types.builtin(name);
        let length = self.program.types.length(data_type).unwrap_or(1);
        self.program.define_data(place, data_type, length)
    }

    /// The terminated text at a place, up to 4 KiB.
    pub(super) fn text(&self, place: Address) -> Option<String> {
        let mut bytes = vec![0u8; 4096];
        let read = self.program.memory.read(place, &mut bytes).ok()?;
        let text = bytes.get(..read)?;
        let end = text.iter().position(|b| *b == 0)?;
        Some(String::from_utf8_lossy(text.get(..end)?).into_owned())
    }

    pub(super) fn mark_text(&mut self, at: u32) {
        self.mark_text_at(self.place(at));
    }

    pub(super) fn mark_text_at(&mut self, place: Address) {
        let Some(length) = self.text(place).and_then(|t| u32::try_from(t.len() + 1).ok()) else {
            return;
        };
        let text = self.program.types.builtin("TerminatedCString");
        self.program.define_data(place, text, length);
    }
}
