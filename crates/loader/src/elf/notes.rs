//! Marks up note sections, debug links and compiler comments.

use super::Loader;
use program::{Address, TypeId};
use std::sync::Arc;

/// The three numbers before a note's name.
#[derive(Clone, Copy)]
struct NoteHead {
    name_size: u32,
    data_size: u32,
    kind: u32,
}

impl Loader {
    pub(super) fn mark_notes(&mut self) {
        let file = Arc::clone(&self.file);
        for (index, section) in file.sections.iter().enumerate() {
            let Some(place) = self.section_place(index, 0) else { continue };
            match &*section.name {
                ".note.gnu.build-id" => self.mark_build_id(place),
                ".note.ABI-tag" => self.mark_abi_tag(place),
                ".note.gnu.property" => self.mark_properties(place, section.size),
                ".gnu_debuglink" => self.mark_debug_link(place, section.size),
                ".gnu_debugaltlink" => self.mark_alternate_link(place, section.size),
                ".comment" => self.mark_compiler_comments(place, section.size),
                _ => None,
            };
        }
        if file.sections.is_empty() {
            self.mark_note_segments();
        }
    }

    /// Without sections, notes are told apart by their names and types.
    fn mark_note_segments(&mut self) {
        let file = Arc::clone(&self.file);
        for segment in file.segments.iter().filter(|s| s.kind == object::elf::PT_NOTE) {
            let mut at = 0;
            while at < segment.file_size {
                let place = segment.offset.checked_add(at).and_then(|o| self.file_place(o, 12));
                let Some(place) = place else { break };
                let Some(head) = self.note_head(place) else { break };
                match head.kind {
                    1 => self.mark_abi_tag(place),
                    3 => self.mark_build_id(place),
                    5 => self.mark_properties(place, segment.file_size - at),
                    _ => None,
                };
                let padded = |n: u32| u64::from(n).next_multiple_of(4);
                at += 12 + padded(head.name_size) + padded(head.data_size);
            }
        }
    }

    /// Reads the head of a note called `GNU`.
    fn note_head(&self, place: Address) -> Option<NoteHead> {
        let word = |at| {
            let value = self.program.memory.read_uint(place.checked_add(at)?, 4)?;
            u32::try_from(value).ok()
        };
        let head = NoteHead { name_size: word(0)?, data_size: word(4)?, kind: word(8)? };
        let name: [u8; 4] = self.program.memory.read_array(place.checked_add(12)?)?;
        (head.name_size == 4 && &name == b"GNU\0").then_some(head)
    }

    /// A structure that starts with a note's head and name.
    fn note_type(&mut self, name: &str, rest: &[(TypeId, &str, &str)]) -> TypeId {
        let dword = self.program.types.builtin("dword");
        let text = self.program.types.builtin("string");
        let mut members = vec![
            (dword, "namesz", "Length of name field"),
            (dword, "descsz", "Length of description field"),
            (dword, "type", "Vendor specific type"),
            (text, "name", "Vendor name"),
        ];
        members.extend_from_slice(rest);
        self.elf_struct(name, &members)
    }

    fn mark_build_id(&mut self, place: Address) -> Option<()> {
        let head = self.note_head(place)?;
        if head.kind != 3 || !(1..=256).contains(&head.data_size) {
            return None;
        }
        let byte = self.program.types.builtin("byte");
        let hash = self.program.types.array_of(byte, head.data_size);
        let data_type = self.note_type("GnuBuildId", &[(hash, "hash", "")]);
        self.redefine(place, data_type).then_some(())
    }

    fn mark_abi_tag(&mut self, place: Address) -> Option<()> {
        let head = self.note_head(place)?;
        if head.kind != 1 || head.data_size < 16 {
            return None;
        }
        let dword = self.program.types.builtin("dword");
        let version = self.program.types.array_of(dword, 3);
        let rest = [
            (dword, "abiType", "0 == Linux"),
            (version, "requiredKernelVersion", "Major.minor.patch"),
        ];
        let data_type = self.note_type("NoteAbiTag", &rest);
        self.redefine(place, data_type).then_some(())
    }

    fn mark_properties(&mut self, place: Address, length: u64) -> Option<()> {
        let head = self.note_head(place)?;
        if head.kind != 5 {
            return None;
        }
        let data_type = self.note_type("NoteGnuProperty_4", &[]);
        if !self.redefine(place, data_type) {
            return None;
        }
        let end = (16 + u64::from(head.data_size)).min(length);
        let mut at = 16;
        while at + 8 <= end {
            let here = place.checked_add(at)?;
            let kind = self.program.memory.read_uint(here, 4)?;
            let size = self.program.memory.read_uint(here.checked_add(4)?, 4)?;
            if size > end - at - 8 {
                break;
            }
            self.mark_property(here, kind, size as u32)?;
            at = (at + 8 + size).next_multiple_of(self.file.word());
        }
        Some(())
    }

    fn mark_property(&mut self, place: Address, kind: u64, size: u32) -> Option<()> {
        let dword = self.program.types.builtin("dword");
        let byte = self.program.types.builtin("byte");
        let mut members = vec![(dword, "prType", ""), (dword, "prDatasz", "")];
        let mut text = format!("processor opt 0x{kind:x}=");
        if size > 0 {
            members.push((self.program.types.array_of(byte, size), "data", ""));
            let mut bytes = vec![0; size.min(64) as usize];
            let _ = self.program.memory.read(place.checked_add(8)?, &mut bytes);
            let shown: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
            text.push_str(&shown.join(" "));
        }
        let data_type = self.elf_struct(&format!("NoteGnuPropertyElement_{size}"), &members);
        if self.define(place, data_type) && (0xc000_0000..0xe000_0000).contains(&kind) {
            self.comment(place, &text);
        }
        Some(())
    }

    /// A file name, padding, a checksum.
    fn mark_debug_link(&mut self, place: Address, length: u64) -> Option<()> {
        let text = self.text_length(place, length)?;
        let padded = text.checked_next_multiple_of(4)?;
        if u64::from(padded) + 4 > length {
            return None;
        }
        let types = &self.program.types;
        let members =
            [(types.builtin("string"), "filename", ""), (types.builtin("dword"), "crc", "")];
        let id = self.elf_struct(&format!("GnuDebugLink_{padded}"), &members);
        let id = self.with_text(id, 0, padded);
        self.define(place, id).then_some(())
    }

    /// A file name and a build id.
    fn mark_alternate_link(&mut self, place: Address, length: u64) -> Option<()> {
        let text = self.text_length(place, length)?;
        let rest = u32::try_from(length.checked_sub(u64::from(text))?).ok()?;
        let byte = self.program.types.builtin("byte");
        if !(1..=256).contains(&rest) {
            return None;
        }
        let hash = self.program.types.array_of(byte, rest);
        let string = self.program.types.builtin("string");
        let members = [(string, "filename", ""), (hash, "hash", "")];
        let id = self.elf_struct(&format!("GnuDebugAltLink_{text}"), &members);
        let id = self.with_text(id, 0, text);
        self.define(place, id).then_some(())
    }

    fn mark_compiler_comments(&mut self, place: Address, length: u64) -> Option<()> {
        let text = self.program.types.builtin("string-utf8");
        let mut at = 0;
        for index in 0..1000 {
            if at >= length {
                break;
            }
            let here = place.checked_add(at)?;
            let size = self.text_length(here, length - at)?;
            self.program.define_data(here, text, size);
            self.label(here, &format!("ElfComment[{index}]"), true);
            at += u64::from(size);
        }
        Some(())
    }
}
