//! Marks up the headers in memory, with the references that their offsets are.

use super::Loader;
use program::{CommentKind, DosStub};
use std::sync::Arc;

/// The directory whose offset is one into the file, not into memory.
const SECURITY: usize = object::pe::IMAGE_DIRECTORY_ENTRY_SECURITY;

impl Loader {
    pub(super) fn mark_headers(&mut self) {
        let file = Arc::clone(&self.file);
        let signature = file.signature;
        let tools = DosStub::read(&file.bytes).and_then(|stub| stub.tools());
        // The DOS program ends where the linker's list of tools begins.
        let stub = tools.map_or(signature, |(start, _)| start);
        if (64..0x1000).contains(&stub) {
            let dos = self.dos_type(stub);
            self.program.define_data(self.place(0), dos, stub);
        }
        if let Some((start, length)) = tools {
            let list = self.tools_type(length);
            self.program.define_data(self.place(start), list, length);
        }
        let nt = self.nt_type();
        let length = self.program.types.length(nt).unwrap_or(0);
        self.program.define_data(self.place(signature), nt, length);
        let optional = signature.wrapping_add(24);
        let mut offsets = vec![(16, file.entry), (20, file.code_base)];
        if !file.is_64 {
            offsets.push((24, file.data_base));
        }
        let table = if file.is_64 { 112 } else { 96 };
        for (index, directory) in file.directories.iter().enumerate() {
            if index != SECURITY {
                offsets.push((table + 8 * index as u32, directory.address));
            }
        }
        for (at, offset) in offsets {
            if offset != 0 {
                self.refer(self.place(optional.wrapping_add(at)), self.place(offset));
            }
        }
        let base_at = if file.is_64 { 24 } else { 28 };
        self.refer(self.place(optional.wrapping_add(base_at)), self.place(0));
        self.mark_sections(optional.wrapping_add(u32::from(file.optional_size)));
    }

    fn mark_sections(&mut self, table: u32) {
        let file = Arc::clone(&self.file);
        let data_type = self.section_type();
        for (index, section) in file.sections.iter().enumerate() {
            let at = table.wrapping_add(40 * index as u32);
            let place = self.place(at);
            if !self.program.define_data(place, data_type, 40) {
                break;
            }
            let name = section.name.as_str().into();
            self.program.comments.insert((place, CommentKind::Eol), name);
            if section.address != 0 {
                self.refer(self.place(at.wrapping_add(12)), self.place(section.address));
            }
        }
    }
}
