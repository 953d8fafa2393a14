//! Symbols of the file's tables, and the entry points of its headers.

use super::Loader;
use super::file::{ElfFile, ElfSymbol};
use program::{Address, AddressRange, SourceType, SpaceId, SymbolId, SymbolKind};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What becomes of a symbol.
enum Fate {
    /// Nothing: it names no place.
    Skip,
    /// Some other file has it.
    External,
    At(Address),
}

impl Loader {
    pub(super) fn load_symbols(&mut self) {
        let file = Arc::clone(&self.file);
        let mut sized = BTreeMap::new();
        for table in 0..file.symbol_tables.len() {
            self.mark_symbol_table(table);
            let Some(symbols) = file.symbol_tables.get(table).map(|t| &t.symbols) else { continue };
            let mut places = vec![None; symbols.len()];
            for (symbol, place) in symbols.iter().zip(&mut places).skip(1) {
                *place = self.load_symbol(symbol, &mut sized);
            }
            self.symbol_places.push(places);
        }
        self.make_external_block();
        self.reserve_data(&sized);
        self.reserve_marked();
    }

    /// Loads one symbol; gives its place, also when it makes no label.
    fn load_symbol(
        &mut self,
        symbol: &ElfSymbol,
        sized: &mut BTreeMap<Address, u64>,
    ) -> Option<Address> {
        let (place, external) = match self.fate(symbol) {
            Fate::Skip => return None,
            Fate::At(place) => (place, false),
            Fate::External => {
                if symbol.name.is_empty() {
                    return None;
                }
                if let Some(known) = self.repeated_external(symbol) {
                    return Some(known);
                }
                let size = if symbol.is_object() { symbol.size } else { 1 };
                (self.new_external(&symbol.name, size.min(1 << 31))?, true)
            }
        };
        if symbol.is_object() && (1..1 << 31).contains(&symbol.size) {
            sized.insert(place, symbol.size);
        }
        if is_mapping_symbol(&self.file, symbol) {
            self.map_mode(symbol, place);
            return Some(place);
        }
        let place = self.code_place(symbol, place);
        if symbol.kind != object::elf::STT_SECTION && !symbol.name.is_empty() {
            self.name_symbol(symbol, place, external);
        }
        Some(place)
    }

    /// An external symbol that was met before, maybe without its version.
    fn repeated_external(&mut self, symbol: &ElfSymbol) -> Option<Address> {
        if let Some((bare, _)) = symbol.name.split_once('@')
            && let Some(known) = self.known_external(bare)
        {
            self.append_comment(known, program::CommentKind::Pre, &symbol.name);
            return Some(known);
        }
        self.known_external(&symbol.name)
    }

    fn fate(&self, symbol: &ElfSymbol) -> Fate {
        use object::elf::{SHN_ABS, SHN_COMMON, SHN_LORESERVE, SHN_UNDEF, STT_FILE, STT_TLS};
        if matches!(symbol.kind, STT_FILE | STT_TLS) {
            return Fate::Skip;
        }
        let section = symbol.section as usize;
        let reserved = symbol.index >= SHN_LORESERVE && symbol.section == u32::from(symbol.index);
        if symbol.index == SHN_COMMON {
            return Fate::External;
        }
        // Absolute values do not move with the image.
        if symbol.index == SHN_ABS {
            return Fate::At(Address::ram(symbol.value & self.mask));
        }
        if reserved {
            return Fate::Skip;
        }
        if symbol.index == SHN_UNDEF && symbol.is_external() {
            return Fate::External;
        }
        let file: &ElfFile = &self.file;
        let base = if symbol.index != SHN_UNDEF && section < file.sections.len() {
            match self.section_place(section, 0) {
                Some(base) => Some(base),
                None => return Fate::Skip,
            }
        } else {
            None
        };
        if file.is_relocatable() {
            return match base {
                Some(base) => Fate::At(self.wrapped(base, symbol.value)),
                None => Fate::External,
            };
        }
        let is_section = symbol.kind == object::elf::STT_SECTION;
        // Nothing a program would name lies at its very start (1: Thumb code).
        if (!is_section && symbol.value == 0) || symbol.value == 1 {
            return Fate::External;
        }
        match base {
            Some(base) if base.space != SpaceId::RAM => {
                Fate::At(Address::new(base.space, symbol.value))
            }
            _ => Fate::At(self.ram(symbol.value)),
        }
    }

    fn wrapped(&self, base: Address, at: u64) -> Address {
        let offset = base.offset.wrapping_add(at);
        Address::new(
            base.space,
            if base.space == SpaceId::RAM { offset & self.mask } else { offset },
        )
    }

    /// Takes the decoding mode out of a code symbol's address.
    fn code_place(&mut self, symbol: &ElfSymbol, place: Address) -> Address {
        match self.file.header.machine {
            object::elf::EM_ARM => self.arm_place(symbol, place),
            object::elf::EM_MIPS if symbol.is_function() && place.offset & 1 != 0 => {
                let place = Address::new(place.space, place.offset & !1);
                self.set_mode(place, 1);
                place
            }
            _ => place,
        }
    }

    fn arm_place(&mut self, symbol: &ElfSymbol, place: Address) -> Address {
        if symbol.is_function() && place.offset & 1 != 0 {
            let place = Address::new(place.space, place.offset & !1);
            self.set_mode(place, 1);
            return place;
        }
        place
    }

    /// Mapping symbols say where code of which mode and data begins.
    fn map_mode(&mut self, symbol: &ElfSymbol, place: Address) {
        match symbol.name.as_bytes().get(1) {
            Some(b't') => self.set_mode(place, 1),
            Some(b'a') => self.set_mode(place, 0),
            Some(b'd') => {
                self.data_marks.insert(place);
            }
            _ => {}
        }
    }

    fn set_mode(&mut self, place: Address, mode: u8) {
        if self.is_external_place(place) {
            return;
        }
        // A mode holds until the next symbol that sets one.
        self.program.modes.insert(place, mode);
    }

    fn name_symbol(&mut self, symbol: &ElfSymbol, place: Address, external: bool) {
        let versioned = symbol.name.contains('@');
        let strong = symbol.is_function() || symbol.is_object() || symbol.size != 0;
        let primary = !versioned
            && (strong
                || (symbol.is_global_or_weak()
                    && self.program.symbols.primary_at(place).is_none()));
        if external && symbol.is_function() {
            self.link_function(&symbol.name, place);
            return;
        }
        let id = self.label(place, &symbol.name, primary);
        if symbol.index == object::elf::SHN_ABS {
            self.program.symbols.edit(id, |s| s.pinned = true);
        }
        if symbol.is_global_or_weak() && !external {
            self.program.entry_points.insert(place, ());
        }
        if symbol.is_function() && !program::symbol::is_cold(&symbol.name) {
            self.function_starts.insert(place);
            if !external {
                self.note_local_entry(symbol, place);
            }
        }
    }

    /// Adds an imported label; a function without a name of its own takes it.
    /// Otherwise a primary one takes over unless its name says
    /// that it is of the lesser kind.
    pub(super) fn label(&mut self, place: Address, name: &str, primary: bool) -> SymbolId {
        let name: String = name
            .chars()
            .map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c })
            .collect();
        if let Some(id) = self.name_thunk(place, &name) {
            return id;
        }
        let id = self.program.add_label(place, &name, SymbolId::GLOBAL, SourceType::Imported);
        if primary {
            self.make_primary(id, place, &name);
        }
        id
    }

    /// Names the nameless function at a place, if there is one.
    fn name_thunk(&mut self, place: Address, name: &str) -> Option<SymbolId> {
        let (id, symbol) = self.program.symbols.primary_at(place)?;
        if symbol.kind != SymbolKind::Function || !symbol.name.is_empty() {
            return None;
        }
        self.program.symbols.edit(id, |s| {
            s.name = name.into();
            s.source = SourceType::Imported;
        });
        Some(id)
    }

    fn make_primary(&mut self, id: SymbolId, place: Address, name: &str) {
        let alphabetic = |name: &str| name.chars().next().is_some_and(char::is_alphabetic);
        if name.find('@').is_some_and(|at| at > 0) || name.starts_with('$') {
            return;
        }
        if let Some((known, current)) = self.program.symbols.primary_at(place) {
            let better = !alphabetic(name)
                && current.source != SourceType::Default
                && alphabetic(&current.name);
            if known == id || better {
                return;
            }
        }
        self.program.symbols.make_primary(id);
    }

    /// The entry points that headers and the dynamic table name.
    pub(super) fn load_entries(&mut self) {
        use object::elf as e;
        let entry = self.file.header.entry;
        if entry != 0 && !self.file.is_relocatable() {
            self.entry_function("entry", entry);
            self.refer_from_header("e_entry", self.ram(entry));
        }
        self.dynamic_entry(e::DT_INIT, "_DT_INIT");
        self.entry_array(e::DT_INIT_ARRAY, e::DT_INIT_ARRAYSZ, "_INIT_");
        self.entry_array(e::DT_PREINIT_ARRAY, e::DT_PREINIT_ARRAYSZ, "_PREINIT_");
        self.dynamic_entry(e::DT_FINI, "_DT_FINI");
        self.entry_array(e::DT_FINI_ARRAY, e::DT_FINI_ARRAYSZ, "_FINI_");
    }

    fn dynamic_entry(&mut self, tag: u32, name: &str) {
        let value = self.file.dynamic.as_ref().and_then(|d| d.value(tag));
        if let Some(address) = value {
            self.entry_function(name, address);
        }
    }

    /// A table of functions: each element becomes a pointer and its target an
    /// entry. The values are those of the file, before relocation.
    fn entry_array(&mut self, tag: u32, size_tag: u32, name: &str) {
        let Some(dynamic) = &self.file.dynamic else { return };
        let (Some(start), Some(size)) = (dynamic.value(tag), dynamic.value(size_tag)) else {
            return;
        };
        let word = self.file.word();
        let count = (size / word).min(self.file.bytes.len() as u64 / word);
        let moved = self.moved_words(start, start.saturating_add(count * word));
        for index in 0..count {
            let Some(at) = start.checked_add(index * word) else { break };
            let place = self.ram(at);
            let Some(value) = self.program.memory.read_uint(place, word as u32) else { break };
            self.mark_pointer(place);
            let value = moved.get(&at).copied().unwrap_or(value);
            let ends = value == 0 || value == self.mask;
            if !ends {
                self.entry_function(&format!("{name}{index}"), value);
            }
        }
    }

    /// What relocation will make of the words of a range, by file address.
    fn moved_words(&self, start: u64, end: u64) -> HashMap<u64, u64> {
        let tables = self.file.reloc_tables.iter().filter(|t| t.target.is_none());
        tables
            .flat_map(|t| &t.relocs)
            .filter(|r| r.symbol == 0 && (start..end).contains(&r.offset))
            .filter_map(|r| Some((r.offset, r.addend.filter(|a| *a != 0)? as u64)))
            .collect()
    }

    /// A function at an address that a header names, if that is code.
    pub(super) fn entry_function(&mut self, name: &str, address: u64) -> Address {
        let mut place = self.ram(address);
        if self.file.header.machine == object::elf::EM_ARM && place.offset & 1 != 0 {
            place.offset &= !1;
            // Says nothing of the code behind it, which may be of either kind.
            self.program.set_mode(AddressRange { start: place, end: place }, 1);
        }
        let executable = self.program.memory.block_at(place).is_some_and(|b| b.permissions.execute);
        if !executable {
            return place;
        }
        if self.function_starts.insert(place) {
            let id = self.label(place, name, false);
            self.program.symbols.make_primary(id);
        }
        self.program.entry_points.insert(place, ());
        place
    }

    /// Settles which symbols are functions and which are entries.
    pub(super) fn finish_symbols(&mut self) {
        let starts = std::mem::take(&mut self.function_starts);
        for place in starts {
            if self.program.functions.at(place).is_some() {
                continue;
            }
            if let Some((id, _)) = self.program.symbols.primary_at(place) {
                self.program.symbols.edit(id, |s| s.kind = SymbolKind::Function);
            }
        }
        let entries: Vec<Address> = self.program.entry_points.keys().copied().collect();
        for place in entries {
            let all: Vec<SymbolId> = self.program.symbols.at(place).map(|(id, _)| id).collect();
            for id in all {
                self.program.symbols.edit(id, |s| s.external_entry = true);
            }
        }
        self.spread_modes();
    }

    /// A mode that a symbol sets ends with the code around it.
    fn spread_modes(&mut self) {
        if self.program.modes.is_empty() {
            return;
        }
        let ends: Vec<Address> = self
            .program
            .memory
            .blocks()
            .iter()
            .filter(|b| b.permissions.execute)
            .filter_map(|b| b.end().checked_add(1))
            .collect();
        for end in ends {
            if self.program.mode_at(end) != 0 && !self.program.modes.contains_key(&end) {
                self.program.modes.insert(end, 0);
            }
        }
        let starts: Vec<Address> = self
            .program
            .memory
            .blocks()
            .iter()
            .filter(|b| b.permissions.execute)
            .map(|b| b.start)
            .collect();
        for start in starts {
            if self.program.mode_at(start) != 0 && !self.program.modes.contains_key(&start) {
                self.program.modes.insert(start, 0);
            }
        }
    }
}

/// Whether a symbol only says what the bytes at its place are.
fn is_mapping_symbol(file: &ElfFile, symbol: &ElfSymbol) -> bool {
    let kinds: &[u8] = match file.header.machine {
        object::elf::EM_ARM => b"atd",
        object::elf::EM_AARCH64 => b"xd",
        _ => return false,
    };
    match symbol.name.as_bytes() {
        [b'$', kind] | [b'$', kind, b'.', ..] => kinds.contains(kind),
        _ => false,
    }
}
