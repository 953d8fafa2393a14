//! Symbols, indirect symbols, and made-up places for those of other files.

use super::{Loader, SOURCE};
use crate::elf::ARTIFICIAL;
use object::macho as m;
use program::{
    Address, AddressRange, AddressSet, BlockSource, Function, MemoryBlock, Permissions, SourceType,
    SpaceId, Symbol, SymbolId, SymbolKind,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Made-up blocks start at such a boundary.
const ALIGNMENT: u64 = 0x1000;

impl Loader {
    fn label(&mut self, place: Address, name: &str) -> SymbolId {
        let name: String = name
            .chars()
            .map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c })
            .collect();
        self.program.add_label(place, &name, SymbolId::GLOBAL, SourceType::Imported)
    }

    pub(super) fn load_entry(&mut self) {
        let (Some(offset), Some(text)) = (self.file.entry, self.text_start()) else { return };
        let place = self.ram(text.wrapping_add(offset));
        if offset > 0 && self.in_memory(place) {
            self.label(place, "entry");
            self.program.entry_points.insert(place, ());
            self.function_starts.insert(place);
        }
    }

    pub(super) fn load_symbols(&mut self) {
        let file = Arc::clone(&self.file);
        for symbol in &file.symbols {
            let kind = symbol.kind & m::N_TYPE;
            if symbol.is_debug() || kind != m::N_SECT || symbol.name.is_empty() {
                continue;
            }
            let place = self.ram(symbol.value);
            if symbol.description & m::N_ARM_THUMB_DEF != 0 && file.cpu == m::CPU_TYPE_ARM {
                self.program.modes.insert(place, 1);
            }
            self.label(place, &symbol.name);
            if symbol.is_external() {
                self.program.entry_points.insert(place, ());
            }
            let code = self.program.memory.block_at(place).is_some_and(|b| b.permissions.execute);
            if code && symbol.is_external() {
                self.function_starts.insert(place);
            }
        }
    }

    /// Stubs and pointers bear the names of what they stand for, in a
    /// namespace of their section.
    pub(super) fn name_indirect(&mut self) {
        let file = Arc::clone(&self.file);
        let word = self.word();
        for section in &file.sections {
            let step = match section.kind() {
                m::S_SYMBOL_STUBS => u64::from(section.stub_size),
                m::S_NON_LAZY_SYMBOL_POINTERS | m::S_LAZY_SYMBOL_POINTERS => word,
                _ => continue,
            };
            if step == 0 || section.size == 0 {
                continue;
            }
            let space = self.program.symbols.namespace(
                &section.name,
                SymbolId::GLOBAL,
                SymbolKind::Namespace,
            );
            let entries = file.indirect.iter().skip(section.indirect as usize);
            for (index, symbol) in entries.take((section.size / step) as usize).enumerate() {
                let Some(symbol) = file.symbols.get(*symbol as usize) else { continue };
                let place = self.ram(section.address.wrapping_add(index as u64 * step));
                if symbol.name.is_empty() || !self.in_memory(place) {
                    continue;
                }
                self.program.add_label(place, &symbol.name, space, SourceType::Imported);
                if section.kind() == m::S_SYMBOL_STUBS {
                    self.function_starts.insert(place);
                }
            }
        }
    }

    /// Gives the undefined symbols places in an EXTERNAL block.
    pub(super) fn make_externals(&mut self) {
        let file = Arc::clone(&self.file);
        let mut wanted: BTreeMap<usize, &super::file::MachSymbol> = BTreeMap::new();
        for (index, symbol) in file.symbols.iter().enumerate() {
            if symbol.is_undefined() && !symbol.name.is_empty() {
                wanted.insert(index, symbol);
            }
        }
        let Some(start) = self.room().filter(|_| !wanted.is_empty()) else { return };
        let length = self.word() * wanted.len() as u64;
        let mut block =
            MemoryBlock::new("EXTERNAL", Address::ram(start), length, BlockSource::Uninitialized);
        block.permissions =
            Permissions { read: true, write: true, artificial: true, ..Permissions::default() };
        block.source_name = SOURCE.into();
        block.comment = ARTIFICIAL.into();
        if self.program.memory.add_block(block).is_err() {
            self.warn("there is no room for the EXTERNAL block");
            return;
        }
        for (index, symbol) in wanted.values().enumerate() {
            let place = Address::ram(start + self.word() * index as u64);
            if self.externals.insert(Arc::clone(&symbol.name), place).is_none() {
                let library = symbol.library().checked_sub(1);
                let library = library.and_then(|n| file.libraries.get(n)).cloned();
                self.link_function(&symbol.name, place, library.as_deref());
            }
        }
    }

    /// The first boundary after all memory.
    fn room(&self) -> Option<u64> {
        let (_, end) = self.program.memory.bounds()?;
        let start = end.offset.checked_add(1)?.checked_next_multiple_of(ALIGNMENT)?;
        (start < self.mask - (1 << 28)).then_some(start)
    }

    /// A thunk at a made-up place for the function of another file.
    fn link_function(&mut self, name: &Arc<str>, place: Address, library: Option<&str>) {
        let library = library.filter(|l| !l.is_empty()).unwrap_or("<EXTERNAL>");
        let parent = self.program.symbols.namespace(library, SymbolId::GLOBAL, SymbolKind::Library);
        self.next_function += 1;
        let target = Address::external(self.next_function);
        let symbol = |name: &str, address, parent, source| Symbol {
            name: name.into(),
            address,
            kind: SymbolKind::Function,
            parent,
            source,
            primary: true,
            external_entry: false,
            pinned: false,
        };
        let undefined = self.program.types.builtin("undefined");
        let named = symbol(name, target, parent, SourceType::Imported);
        let named = self.program.symbols.add(named);
        self.program.functions.put(Function::new(target, named, AddressSet::new(), undefined));
        let thunk = symbol("", place, SymbolId::GLOBAL, SourceType::Default);
        let thunk = self.program.symbols.add(thunk);
        let body: AddressSet = AddressRange::with_length(place, 1).into_iter().collect();
        let mut function = Function::new(place, thunk, body, undefined);
        function.thunk_of = Some(target);
        self.program.functions.put(function);
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

    /// Text and pointers that sections are full of.
    pub(super) fn mark_sections(&mut self) {
        let file = Arc::clone(&self.file);
        let text = self.program.types.builtin("TerminatedCString");
        for section in &file.sections {
            let start = self.ram(section.address);
            match section.kind() {
                m::S_CSTRING_LITERALS => self.mark_texts(start, section.size, text),
                m::S_NON_LAZY_SYMBOL_POINTERS
                | m::S_LAZY_SYMBOL_POINTERS
                | m::S_LITERAL_POINTERS
                | m::S_MOD_INIT_FUNC_POINTERS
                | m::S_MOD_TERM_FUNC_POINTERS => {
                    let word = self.word();
                    let count = section.size.min(file.bytes.len() as u64) / word;
                    for index in 0..count {
                        let Some(at) = start.checked_add(index * word) else { break };
                        self.mark_pointer(at);
                    }
                }
                _ => {}
            }
        }
    }

    fn mark_texts(&mut self, start: Address, size: u64, text: program::TypeId) {
        let mut at = 0u64;
        let limit = size.min(self.file.bytes.len() as u64);
        while at < limit {
            let Some(place) = start.checked_add(at) else { break };
            let run = self.program.memory.run(place);
            let Some(length) = run.iter().position(|b| *b == 0).map(|n| n + 1) else { break };
            if length as u64 > limit - at {
                break;
            }
            self.program.define_data(place, text, length as u32);
            at += length as u64;
        }
    }
}
