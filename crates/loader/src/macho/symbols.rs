//! Symbols, stubs, and made-up places for what other files have.

use super::Loader;
use object::macho as m;
use program::{
    Address, AddressRange, AddressSet, Function, Permissions, SourceType, SpaceId, Symbol,
    SymbolId, SymbolKind, TypeId,
};
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The note on blocks that no file has.
const ARTIFICIAL: &str =
    "NOTE: This block is artificial and is used to make relocations work correctly";
/// The library of what no library is known for.
const NO_LIBRARY: &str = "<EXTERNAL>";
/// Marks of indirect symbols that are none.
const NO_SYMBOL: u32 = m::INDIRECT_SYMBOL_LOCAL | m::INDIRECT_SYMBOL_ABS;

impl Loader {
    fn label(&mut self, place: Address, name: &str) -> SymbolId {
        let name = plain(name);
        self.claim(&name, place);
        self.program.add_label(place, &name, SymbolId::GLOBAL, SourceType::Imported)
    }

    /// Notes what a name stands for, unless it stands for something already.
    fn claim(&mut self, name: &Arc<str>, place: Address) {
        if let Entry::Vacant(free) = self.globals.entry(Arc::clone(name)) {
            free.insert(place);
        }
    }

    /// What a name stands for.
    pub(super) fn global(&self, name: &str) -> Option<Address> {
        self.globals.get(name).or_else(|| self.globals.get(&plain(name))).copied()
    }

    pub(super) fn load_entry(&mut self) {
        let text = self.file.segments.iter().find(|s| s.name == "__TEXT").map(|s| s.address);
        let by_offset = self.file.entry.filter(|offset| *offset > 0);
        let by_offset = by_offset.and_then(|offset| Some(text?.wrapping_add(offset)));
        let Some(entry) = by_offset.or(self.file.thread_entry) else { return };
        let place = self.ram(entry);
        if self.in_memory(place) {
            self.label(place, "entry");
            self.program.entry_points.insert(place, ());
            self.function_starts.insert(place);
        }
    }

    /// Names what the tree of exports tells of; whether it does.
    pub(super) fn load_exports(&mut self) -> bool {
        let file = Arc::clone(&self.file);
        let text = file.segments.iter().find(|s| s.name == "__TEXT").map(|s| s.address);
        let mut names = file.export_trees.iter().flat_map(|tree| &tree.names).peekable();
        let Some(text) = text.filter(|_| names.peek().is_some()) else { return false };
        for (name, distance) in names {
            let place = self.ram(text.wrapping_add(*distance));
            if !name.is_empty() {
                self.label(place, name);
            }
            self.show(place);
        }
        true
    }

    /// Marks a place as known to the outside: a function, if code is there.
    fn show(&mut self, place: Address) {
        self.program.entry_points.insert(place, ());
        if self.is_code(place) {
            self.function_starts.insert(place);
        }
    }

    /// Names what symbols tell of; of those for the outside only if no tree of exports tells.
    pub(super) fn load_symbols(&mut self, exports: bool) {
        let file = Arc::clone(&self.file);
        for symbol in &file.symbols {
            if symbol.is_debug() || symbol.kind & m::N_TYPE != m::N_SECT {
                continue;
            }
            let place = self.ram(symbol.value);
            let shown = exports && symbol.is_external();
            if shown {
                self.show(place);
            }
            if symbol.name.is_empty() {
                continue;
            }
            if symbol.description & m::N_ARM_THUMB_DEF != 0 && file.cpu == m::CPU_TYPE_ARM {
                self.program.modes.insert(place, 1);
                self.function_starts.insert(place);
            }
            if shown || !symbol.is_external() {
                self.label(place, &symbol.name);
            }
        }
    }

    /// Stubs are functions that stand for those of other files.
    pub(super) fn name_stubs(&mut self) {
        let file = Arc::clone(&self.file);
        for section in file.sections.iter().filter(|s| s.kind() == m::S_SYMBOL_STUBS) {
            let step = u64::from(section.stub_size);
            if step == 0 {
                continue;
            }
            let entries = file.indirect.iter().skip(section.indirect as usize);
            for (index, symbol) in entries.take((section.size / step) as usize).enumerate() {
                let known = file.symbols.get(*symbol as usize).filter(|_| symbol & NO_SYMBOL == 0);
                let Some(symbol) = known.filter(|symbol| !symbol.name.is_empty()) else { continue };
                let place = self.ram(section.address.wrapping_add(index as u64 * step));
                if self.in_memory(place) && self.program.functions.at(place).is_none() {
                    let name = plain(&symbol.name);
                    let target = self.import(&name, symbol.library(), SymbolKind::Function);
                    let stub = self.label(place, &name);
                    self.thunk(place, stub, target);
                }
            }
        }
    }

    /// Makes the function at a place stand for one of another file.
    fn thunk(&mut self, place: Address, symbol: SymbolId, target: Address) {
        let undefined = self.program.types.builtin("undefined");
        self.program.functions.put(Function {
            thunk_of: Some(target),
            ..Function::new(place, symbol, one_byte(place), undefined)
        });
        self.program.symbols.edit(symbol, |s| s.kind = SymbolKind::Function);
        self.program.symbols.make_primary(symbol);
    }

    /// What another file has: a place that is none of the program's.
    fn import(&mut self, name: &Arc<str>, library: usize, kind: SymbolKind) -> Address {
        let library = library.checked_sub(1).and_then(|n| self.file.libraries.get(n));
        let library = library.filter(|l| !l.is_empty()).map(|l| l.replace(' ', "_"));
        let library = library.as_deref().unwrap_or(NO_LIBRARY);
        let parent = self.program.symbols.namespace(library, SymbolId::GLOBAL, SymbolKind::Library);
        self.next_function += 1;
        let address = Address::external(self.next_function);
        let symbol = self.program.symbols.add(Symbol {
            name: Arc::clone(name),
            address,
            kind,
            parent,
            source: SourceType::Imported,
            primary: true,
            external_entry: false,
            pinned: false,
        });
        if kind == SymbolKind::Function {
            let undefined = self.program.types.builtin("undefined");
            let function = Function::new(address, symbol, AddressSet::new(), undefined);
            self.program.functions.put(function);
        }
        address
    }

    /// Gives the undefined symbols that have no stub places in an EXTERNAL block.
    pub(super) fn make_externals(&mut self) {
        let file = Arc::clone(&self.file);
        let open = |symbol: &&super::file::MachSymbol| {
            symbol.is_undefined() && self.global(&symbol.name).is_none()
        };
        let wanted: Vec<&super::file::MachSymbol> = file.symbols.iter().filter(open).collect();
        let permissions =
            Permissions { read: true, write: true, artificial: true, ..Permissions::default() };
        let length = super::SPACING * wanted.len() as u64;
        if wanted.is_empty() {
            return;
        }
        let Some(start) = self.add_made_up("EXTERNAL", length, permissions, ARTIFICIAL) else {
            return;
        };
        for (index, symbol) in wanted.iter().enumerate().filter(|(_, s)| !s.name.is_empty()) {
            let place = Address::ram(start + super::SPACING * index as u64);
            let name = plain(&symbol.name);
            self.label(place, &name);
            if !self.externals.contains_key(&name) {
                let import = self.import(&name, symbol.library(), SymbolKind::Label);
                self.externals.insert(name, (place, import));
            }
        }
    }

    /// What is called is a function: that of another file, and the place that stands for it.
    pub(super) fn mark_called(&mut self, name: &str) {
        let Some((place, import)) = self.externals.get(&plain(name)).copied() else { return };
        if self.program.functions.at(place).is_none() {
            self.program.add_function(import, AddressSet::new());
            let stub = self.program.add_function(place, one_byte(place)).symbol;
            self.thunk(place, stub, import);
        }
    }

    /// Symbols that are numbers get places too.
    pub(super) fn place_absolutes(&mut self) {
        let file = Arc::clone(&self.file);
        let all: Vec<_> = file.symbols.iter().filter(|symbol| symbol.is_absolute()).collect();
        if all.is_empty() {
            return;
        }
        let permissions = Permissions { read: true, ..Permissions::default() };
        let length = self.word() * all.len() as u64;
        let Some(start) = self.add_made_up("ABSOLUTE", length, permissions, "") else { return };
        for (index, symbol) in all.iter().enumerate().filter(|(_, s)| !s.name.is_empty()) {
            self.label(Address::ram(start + self.word() * index as u64), &symbol.name);
        }
    }

    /// Functions that the linker lists, most of them without names.
    pub(super) fn load_function_starts(&mut self) {
        let file = Arc::clone(&self.file);
        let (Some((offset, size)), Some(mut at)) = (file.function_starts, self.text_start()) else {
            return;
        };
        let mut bytes = super::bind::Program::new(&file.bytes, offset, size);
        while let Some(distance) = bytes.unsigned() {
            if distance == 0 {
                break;
            }
            at = at.wrapping_add(distance);
            let mut place = self.ram(at);
            if file.cpu == m::CPU_TYPE_ARM && place.offset & 1 != 0 {
                place.offset &= !1;
                self.program.modes.insert(place, 1);
            }
            let code = self.program.memory.block_at(place).is_some_and(|b| b.permissions.execute);
            if code {
                self.function_starts.insert(place);
            }
        }
    }

    /// Makes a function's symbol of the one at a place, or a nameless one.
    pub(super) fn mark_function(&mut self, place: Address) {
        if place.space != SpaceId::RAM {
            return;
        }
        match self.program.symbols.primary_at(place) {
            Some((id, _)) => {
                self.program.symbols.edit(id, |s| s.kind = SymbolKind::Function);
            }
            None => {
                self.program.symbols.add(Symbol {
                    name: "".into(),
                    address: place,
                    kind: SymbolKind::Function,
                    parent: SymbolId::GLOBAL,
                    source: SourceType::Default,
                    primary: true,
                    external_entry: false,
                    pinned: false,
                });
            }
        }
    }

    /// Texts, numbers and pointers that sections are full of, up to the ends of their blocks.
    pub(super) fn mark_sections(&mut self) {
        let file = Arc::clone(&self.file);
        // The same bytes may be in many sections.
        let mut budget = 2 * file.bytes.len() as u64;
        for section in file.sections.iter().filter(|section| section.size > 0) {
            let start = self.ram(section.address);
            let Some(end) = self.program.memory.block_at(start).map(|block| block.end().offset)
            else {
                continue;
            };
            if budget == 0 {
                break;
            }
            let end = end.min(start.offset.saturating_add(budget - 1));
            let before = self.program.listing.data.len();
            match section.kind() {
                m::S_CSTRING_LITERALS => self.mark_texts(start, end),
                m::S_4BYTE_LITERALS => self.mark_numbers(start, end, "float", 4),
                m::S_8BYTE_LITERALS => self.mark_numbers(start, end, "double", 8),
                m::S_NON_LAZY_SYMBOL_POINTERS
                | m::S_LAZY_SYMBOL_POINTERS
                | m::S_LITERAL_POINTERS
                | m::S_MOD_INIT_FUNC_POINTERS
                | m::S_MOD_TERM_FUNC_POINTERS => self.mark_pointers(start, end),
                _ => {}
            }
            if self.program.listing.data.len() > before {
                budget = budget.saturating_sub(end - start.offset + 1);
            }
        }
    }

    fn mark_pointers(&mut self, start: Address, end: u64) {
        let word = self.word();
        for at in (start.offset..=end).step_by(word as usize) {
            if !self.mark_pointer(Address::ram(at)) {
                break;
            }
        }
    }

    fn mark_numbers(&mut self, start: Address, end: u64, name: &str, length: u32) {
        let number: TypeId = self.program.types.builtin(name);
        for at in (start.offset..=end).step_by(length as usize) {
            if !self.program.define_data(Address::ram(at), number, length) {
                break;
            }
        }
    }

    fn mark_texts(&mut self, start: Address, end: u64) {
        let text = self.program.types.builtin("TerminatedCString");
        let mut place = start;
        while place.offset <= end {
            let run = self.program.memory.run(place);
            let Some(length) = run.iter().position(|b| *b == 0).map(|n| n as u64 + 1) else {
                break;
            };
            if !self.program.define_data(place, text, length as u32) {
                break;
            }
            let Some(next) = place.checked_add(length) else { break };
            place = next;
        }
    }
}

/// A name without characters that no symbol may have.
fn plain(name: &str) -> Arc<str> {
    let odd = |c: char| c.is_whitespace() || c.is_control();
    if !name.contains(odd) {
        return name.into();
    }
    name.chars().map(|c| if odd(c) { '_' } else { c }).collect::<String>().into()
}

fn one_byte(place: Address) -> AddressSet {
    AddressRange::with_length(place, 1).into_iter().collect()
}
