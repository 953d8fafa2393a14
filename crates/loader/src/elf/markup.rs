//! Marks up the file's own tables where they are in memory: headers, strings,
//! symbols, hash tables, versions.

use super::Loader;
use super::names;
use program::Address;
use std::sync::Arc;

impl Loader {
    pub(super) fn mark_headers(&mut self) {
        self.mark_file_header();
        self.mark_segments();
        self.mark_sections();
    }

    fn header_place(&self, offset: u64, size: u64, block: &str) -> Option<Address> {
        self.file_place(offset, size).or_else(|| self.block_start(block))
    }

    fn mark_file_header(&mut self) {
        let size = self.file.header.size;
        if let Some(place) = self.header_place(0, size, "_elfHeader") {
            let data_type = self.header_type();
            self.define(place, data_type);
        }
    }

    /// A reference from a member of the file header.
    pub(super) fn refer_from_header(&mut self, member: &str, to: Address) {
        let wide = self.file.header.is_64;
        let offset = match member {
            "e_entry" => 24,
            "e_phoff" if wide => 32,
            "e_phoff" => 28,
            _ if wide => 40,
            _ => 32,
        };
        let place = self.header_place(0, self.file.header.size, "_elfHeader");
        let from = place.and_then(|p| p.checked_add(offset));
        if let Some(from) = from.filter(|f| self.program.listing.data_containing(*f).is_some()) {
            self.refer_imported(from, to);
        }
    }

    fn mark_segments(&mut self) {
        let file = Arc::clone(&self.file);
        let header = &file.header;
        let count = file.segments.len() as u64;
        let size = count * header.segment_size;
        if count == 0 {
            return;
        }
        let place = self.header_place(header.segment_table, size, "_elfProgramHeaders");
        let Some(place) = place else { return };
        self.refer_from_header("e_phoff", place);
        let element = self.segment_type();
        if !self.define_array(place, element, count) {
            return;
        }
        let address_at = if header.is_64 { 16 } else { 8 };
        for (index, segment) in file.segments.iter().enumerate() {
            let Some(at) = place.checked_add(index as u64 * header.segment_size) else { break };
            self.comment(at, &names::segment_comment(header.machine, segment.kind));
            if segment.kind == object::elf::PT_NULL || segment.offset == 0 {
                continue;
            }
            let target = self.segment_place(index, 0);
            if let (Some(target), Some(from)) = (target, at.checked_add(address_at)) {
                self.refer_imported(from, target);
            }
        }
    }

    fn mark_sections(&mut self) {
        let file = Arc::clone(&self.file);
        let header = &file.header;
        let count = file.sections.len() as u64;
        if count == 0 {
            return;
        }
        let size = count * header.section_size;
        let place = self.header_place(header.section_table, size, "_elfSectionHeaders");
        let Some(place) = place else { return };
        self.refer_from_header("e_shoff", place);
        let element = self.section_type();
        if !self.define_array(place, element, count) {
            return;
        }
        let address_at = if header.is_64 { 16 } else { 12 };
        for (index, section) in file.sections.iter().enumerate() {
            let Some(at) = place.checked_add(index as u64 * header.section_size) else { break };
            let kind = names::section_type(header.machine, section.kind);
            self.comment(at, &format!("{} - {kind}", section.name));
            let target = self.section_place(index, 0);
            if let (Some(target), Some(from)) = (target, at.checked_add(address_at)) {
                self.refer_imported(from, target);
            }
        }
    }

    pub(super) fn mark_interpreter(&mut self) {
        let segment = self.file.segments.iter().find(|s| s.kind == object::elf::PT_INTERP).copied();
        let place = match segment {
            Some(segment) if segment.offset == 0 => None,
            Some(segment) => self.file_place(segment.offset, 1),
            None => self.section_start(".interp"),
        };
        let Some(place) = place else { return };
        if let Some(length) = self.text_length(place, u64::MAX) {
            let text = self.program.types.builtin("TerminatedCString");
            self.program.define_data(place, text, length);
        }
        self.comment(place, "Initial Elf program interpreter");
    }

    /// Where the section of that name starts.
    pub(super) fn section_start(&self, name: &str) -> Option<Address> {
        let index = self.file.sections.iter().position(|s| &*s.name == name)?;
        self.section_place(index, 0)
    }

    pub(super) fn mark_strings(&mut self) {
        let file = Arc::clone(&self.file);
        // Many tables may claim the same bytes.
        let mut left = (file.bytes.len() as u64).saturating_mul(2);
        for table in &file.strings {
            let place = match table.section {
                Some(section) => self.section_place(section, 0),
                None => self.file_place(table.offset, 1),
            };
            let Some(place) = place else { continue };
            let end = table.length.min(self.room_at(place)).min(left);
            left -= end;
            self.mark_string_table(place, end);
        }
    }

    /// Strings one after the other; stops at the first that does not fit.
    fn mark_string_table(&mut self, place: Address, length: u64) {
        let text = self.program.types.builtin("string-utf8");
        let mut at = 1u64;
        while at + 1 < length {
            let Some(here) = place.checked_add(at) else { break };
            let Some(size) = self.text_length(here, length - at) else { break };
            if !self.program.define_data(here, text, size) {
                break;
            }
            at += u64::from(size);
        }
    }

    pub(super) fn mark_symbol_table(&mut self, index: usize) {
        let file = Arc::clone(&self.file);
        let Some(table) = file.symbol_tables.get(index) else { return };
        let count = table.symbols.len() as u64;
        let place = match table.section {
            Some(section) => self.section_place(section, 0),
            None => self.file_place(table.offset, count.saturating_mul(table.entry_size)),
        };
        let Some(place) = place else { return };
        let element = self.symbol_type();
        if !self.define_array(place, element, count) {
            return;
        }
        for (index, symbol) in table.symbols.iter().enumerate() {
            let at = place.checked_add(index as u64 * table.entry_size);
            if let Some(at) = at.filter(|_| symbol.named) {
                self.comment(at, &symbol.name);
            }
        }
    }

    pub(super) fn mark_hash_tables(&mut self) {
        let value = |tag| self.file.dynamic.as_ref().and_then(|d| d.value(tag));
        let (plain, gnu) = (value(object::elf::DT_HASH), value(object::elf::DT_GNU_HASH));
        if let Some(address) = plain.filter(|a| *a != 0) {
            self.mark_hash(self.ram(address));
        }
        if let Some(address) = gnu.filter(|a| *a != 0) {
            self.mark_gnu_hash(self.ram(address));
        }
    }

    /// A commented double word; gives its value and the place after it.
    fn mark_count(&mut self, place: Address, comment: &str) -> Option<(u64, Address)> {
        if !self.define_builtin(place, "dword") {
            return None;
        }
        self.comment(place, comment);
        Some((self.program.memory.read_uint(place, 4)?, place.checked_add(4)?))
    }

    /// A commented array; gives the place after it.
    fn mark_words(
        &mut self,
        place: Address,
        element: &str,
        count: u64,
        comment: &str,
    ) -> Option<Address> {
        let element = self.program.types.builtin(element);
        let size = u64::from(self.program.types.length(element)?);
        if !self.define_array(place, element, count) {
            return None;
        }
        self.comment(place, comment);
        place.checked_add(count.checked_mul(size)?)
    }

    fn mark_hash(&mut self, place: Address) -> Option<()> {
        let (buckets, place) = self.mark_count(place, "Hash Table - nbucket")?;
        let (chains, place) = self.mark_count(place, "Hash Table - nchain")?;
        let place = self.mark_words(place, "dword", buckets, "Hash Table - buckets")?;
        self.mark_words(place, "dword", chains, "Hash Table - chains")?;
        Some(())
    }

    fn mark_gnu_hash(&mut self, place: Address) -> Option<()> {
        let (buckets, place) = self.mark_count(place, "GNU Hash Table - nbucket")?;
        let (base, place) = self.mark_count(place, "GNU Hash Table - symbase")?;
        let (blooms, place) = self.mark_count(place, "GNU Hash Table - bloom_size")?;
        let (_, place) = self.mark_count(place, "GNU Hash Table - bloom_shift")?;
        let word = if self.file.header.is_64 { "qword" } else { "dword" };
        let place = self.mark_words(place, word, blooms, "GNU Hash Table - bloom")?;
        let place = self.mark_words(place, "dword", buckets, "GNU Hash Table - buckets")?;
        let count = self.file.dynamic_symbols()?.symbols.len() as u64;
        let count = count.checked_sub(base)?;
        self.mark_words(place, "dword", count, "GNU Hash Table - chain")?;
        Some(())
    }

    /// The version number of each dynamic symbol.
    pub(super) fn mark_versions(&mut self) {
        let file = Arc::clone(&self.file);
        let Some(symbols) = file.dynamic_symbols().map(|t| &t.symbols) else { return };
        let by_tag = file.dynamic.as_ref().and_then(|d| d.value(object::elf::DT_VERSYM));
        let place = by_tag.map(|address| self.ram(address)).or_else(|| {
            let kind = object::elf::SHT_GNU_VERSYM;
            let index = file.sections.iter().position(|s| s.kind == kind)?;
            self.section_place(index, 0)
        });
        let Some(place) = place else { return };
        let fitting = (self.room_at(place) / 2).min(symbols.len() as u64);
        for (index, symbol) in symbols.iter().take(fitting as usize).enumerate() {
            let Some(at) = place.checked_add(2 * index as u64) else { break };
            self.define_builtin(at, "word");
            let shown = if symbol.name.is_empty() {
                format!("{:x}", symbol.value)
            } else {
                symbol.name.to_string()
            };
            self.comment(at, &shown);
        }
    }
}
