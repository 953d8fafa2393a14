//! Marks up the tables that the linker left for others: symbols, texts, starts of functions.

use super::Loader;
use super::bind::Program as Bytes;
use object::macho as m;
use program::{Address, CommentKind, RefType, SourceType};
use std::sync::Arc;

/// Longest text that is looked for an end.
const LONGEST: usize = 4096;

impl Loader {
    /// Defines the tables that are in memory.
    pub(super) fn mark_linked(&mut self) {
        self.mark_symbols();
        self.mark_indirect();
        self.mark_starts();
        self.mark_exports();
    }

    /// The place of a part of the file, in the segment that has it.
    pub(super) fn file_place(&self, offset: u64) -> Option<Address> {
        let holds = |s: &&super::file::Segment| offset.wrapping_sub(s.offset) < s.file_size;
        let segment = self.file.segments.iter().find(holds).filter(|_| offset != 0)?;
        Some(self.ram(segment.address.wrapping_add(offset - segment.offset)))
    }

    pub(super) fn title(&mut self, place: Address, text: &str) {
        let text = format!("{text} - {}", self.program.info.name);
        self.program.comments.insert((place, CommentKind::Plate), text.into());
    }

    fn refer(&mut self, from: Address, to: Option<Address>) {
        if let Some(to) = to {
            self.program.add_reference(from, to, RefType::Data, 0, SourceType::Imported);
        }
    }

    fn mark_symbols(&mut self) {
        let file = Arc::clone(&self.file);
        let Some((symbols, strings)) = file.symbol_table else { return };
        let Some(table) = self.file_place(symbols).filter(|_| !file.symbols.is_empty()) else {
            return;
        };
        let texts = table.checked_add(strings.wrapping_sub(symbols)).filter(|_| strings != 0);
        self.title(table, "LC_SYMTAB (symbols)");
        if let Some(texts) = texts {
            self.title(texts, "LC_SYMTAB (strings)");
        }
        let entry = self.structure("nlist", "d n_strx,b n_type,b n_sect,h n_desc,w n_value");
        let stride = 8 + self.word();
        let mut budget = file.bytes.len().saturating_mul(4);
        for (index, symbol) in file.symbols.iter().enumerate() {
            let Some(place) = table.checked_add(stride * index as u64) else { break };
            if !self.define(place, entry) {
                break;
            }
            let text = texts.and_then(|texts| texts.checked_add(u64::from(symbol.string)));
            if let Some(text) = text {
                self.mark_linked_text(text, &mut budget);
            }
            self.refer(place, text);
        }
    }

    fn mark_linked_text(&mut self, place: Address, budget: &mut usize) {
        let run = self.program.memory.run(place);
        let run = run.get(..run.len().min(LONGEST).min(*budget)).unwrap_or(&[]);
        *budget -= run.len().min(64);
        let Some(length) = run.iter().position(|b| *b == 0) else { return };
        *budget = budget.saturating_sub(length);
        let text = self.program.types.builtin("string");
        self.program.define_data(place, text, length as u32 + 1);
    }

    fn mark_indirect(&mut self) {
        let file = Arc::clone(&self.file);
        let Some(table) = self.file_place(file.indirect_at).filter(|_| !file.indirect.is_empty())
        else {
            return;
        };
        self.title(table, "LC_DYSYMTAB (indirect)");
        let (symbols, strings) = file.symbol_table.unzip();
        let symbols = symbols.and_then(|offset| self.file_place(offset));
        let strings = strings.and_then(|offset| self.file_place(offset));
        let word = self.program.types.builtin("dword");
        for (index, number) in file.indirect.iter().enumerate() {
            let Some(place) = table.checked_add(4 * index as u64) else { break };
            if !self.program.define_data(place, word, 4) {
                break;
            }
            let no_symbol = number & (m::INDIRECT_SYMBOL_LOCAL | m::INDIRECT_SYMBOL_ABS) != 0;
            let symbol = file.symbols.get(*number as usize).filter(|_| !no_symbol);
            let (Some(symbol), Some(symbols)) = (symbol, symbols) else { continue };
            self.refer(place, symbols.checked_add((8 + self.word()) * u64::from(*number)));
            if symbol.string != 0 {
                let text = strings.and_then(|at| at.checked_add(u64::from(symbol.string)));
                self.refer(place, text);
            }
        }
    }

    fn mark_starts(&mut self) {
        let file = Arc::clone(&self.file);
        let Some((offset, size)) = file.function_starts.filter(|(_, size)| *size != 0) else {
            return;
        };
        let text = file.segments.iter().find(|s| s.name == "__TEXT").map(|s| s.address);
        let (Some(table), Some(mut at)) = (self.file_place(offset), text) else { return };
        self.title(table, "LC_FUNCTION_STARTS");
        let number = self.program.types.builtin("uleb128");
        let mut bytes = Bytes::new(&file.bytes, offset, size);
        loop {
            let before = bytes.left();
            let Some(distance) = bytes.unsigned().filter(|distance| *distance != 0) else { break };
            let Some(place) = table.checked_add(size.saturating_sub(before as u64)) else { break };
            let length = (before - bytes.left()) as u32;
            if !self.program.define_data(place, number, length) {
                break;
            }
            at = at.wrapping_add(distance);
            let start = self.ram(at);
            self.refer(place, Some(start));
        }
    }

    /// The numbers and texts of the tree of exports.
    fn mark_exports(&mut self) {
        let file = Arc::clone(&self.file);
        let number = self.program.types.builtin("uleb128");
        let text = self.program.types.builtin("string");
        for tree in &file.export_trees {
            let Some(start) = self.file_place(tree.offset) else { continue };
            for (data_type, parts) in [(number, &tree.numbers), (text, &tree.texts)] {
                for (at, length) in parts {
                    if let Some(place) = start.checked_add(*at) {
                        self.program.define_data(place, data_type, *length);
                    }
                }
            }
        }
    }
}
