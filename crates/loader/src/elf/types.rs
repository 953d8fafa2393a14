//! The data types under `/ELF` that describe the file's own tables.

use super::dynamic_tags;
use super::{Loader, names};
use program::data_type::Field;
use program::{DataType, TypeId, TypeKind};

const CATEGORY: &str = "/ELF";

/// Types made so far.
#[derive(Debug, Default)]
pub(super) struct ElfTypes {
    header: Option<TypeId>,
    segment: Option<TypeId>,
    section: Option<TypeId>,
    symbol: Option<TypeId>,
    dynamic: Option<TypeId>,
}

/// A member: its type, name and note.
type Member<'a> = (TypeId, &'a str, &'a str);

impl Loader {
    /// A structure under `/ELF` with its members one after the other.
    pub(super) fn elf_struct(&mut self, name: &str, members: &[Member]) -> TypeId {
        let mut offset = 0;
        let mut fields = Vec::with_capacity(members.len());
        for (data_type, name, note) in members {
            let length = self.program.types.length(*data_type).unwrap_or(4);
            fields.push(Field {
                offset,
                data_type: *data_type,
                length,
                name: (*name).into(),
                comment: (*note).into(),
                bits: None,
            });
            offset += length;
        }
        self.program.types.add_struct(CATEGORY, name, offset, fields)
    }

    /// A structure that begins with the text member `at`, `length` bytes long.
    pub(super) fn with_text(&mut self, id: TypeId, at: usize, length: u32) -> TypeId {
        let Some(known) = self.program.types.get(id) else { return id };
        let mut changed = DataType::clone(known);
        if let TypeKind::Struct { fields, .. } = &mut changed.kind {
            let mut shift = 0i64;
            for (index, field) in fields.iter_mut().enumerate() {
                field.offset = (i64::from(field.offset) + shift) as u32;
                if index == at {
                    shift = i64::from(length) - i64::from(field.length);
                    field.length = length;
                }
            }
            changed.length = changed.length.map(|n| (i64::from(n) + shift) as u32);
        }
        self.program.types.replace(id, changed);
        id
    }

    pub(super) fn enumeration(
        &mut self,
        name: String,
        length: u32,
        values: Vec<(u32, &str)>,
    ) -> TypeId {
        let mut values: Vec<_> =
            values.into_iter().map(|(v, n)| (n.into(), i64::from(v), "".into())).collect();
        values.sort_by(|a: &(std::sync::Arc<str>, i64, _), b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        self.program.types.add(DataType {
            category: CATEGORY.into(),
            name: name.into(),
            length: Some(length),
            alignment: length,
            description: "".into(),
            kind: TypeKind::Enum { values },
            used: true,
        })
    }

    fn word_type(&self) -> TypeId {
        self.program.types.builtin(if self.file.header.is_64 { "qword" } else { "dword" })
    }

    /// `Elf32_` or `Elf64_` before a name.
    pub(super) fn class_name(&self, name: &str) -> String {
        format!("Elf{}_{name}", if self.file.header.is_64 { 64 } else { 32 })
    }

    pub(super) fn header_type(&mut self) -> TypeId {
        if let Some(known) = self.types.header {
            return known;
        }
        let word = self.word_type();
        let types = &self.program.types;
        let (byte, half, dword) =
            (types.builtin("byte"), types.builtin("word"), types.builtin("dword"));
        let text = types.builtin("string");
        let pad = self.program.types.array_of(byte, 7);
        let members = [
            (byte, "e_ident_magic_num", ""),
            (text, "e_ident_magic_str", ""),
            (byte, "e_ident_class", ""),
            (byte, "e_ident_data", ""),
            (byte, "e_ident_version", ""),
            (byte, "e_ident_osabi", ""),
            (byte, "e_ident_abiversion", ""),
            (pad, "e_ident_pad", ""),
            (half, "e_type", ""),
            (half, "e_machine", ""),
            (dword, "e_version", ""),
            (word, "e_entry", ""),
            (word, "e_phoff", ""),
            (word, "e_shoff", ""),
            (dword, "e_flags", ""),
            (half, "e_ehsize", ""),
            (half, "e_phentsize", ""),
            (half, "e_phnum", ""),
            (half, "e_shentsize", ""),
            (half, "e_shnum", ""),
            (half, "e_shstrndx", ""),
        ];
        let name = self.class_name("Ehdr");
        let id = self.elf_struct(&name, &members);
        let id = self.with_text(id, 1, 3);
        self.types.header = Some(id);
        id
    }

    pub(super) fn segment_type(&mut self) -> TypeId {
        if let Some(known) = self.types.segment {
            return known;
        }
        let machine = self.file.header.machine;
        let all = names::SEGMENT_TYPES.iter().chain(names::special_segments(machine));
        let values = all.map(|(v, n, _)| (*v, *n)).collect();
        let name = format!("Elf_ProgramHeaderType{}", names::type_suffix(machine));
        let kind = self.enumeration(name, 4, values);
        let (word, dword) = (self.word_type(), self.program.types.builtin("dword"));
        let mut members = vec![(kind, "p_type", "")];
        if self.file.header.is_64 {
            members.push((dword, "p_flags", ""));
        }
        for name in ["p_offset", "p_vaddr", "p_paddr", "p_filesz", "p_memsz"] {
            members.push((word, name, ""));
        }
        if !self.file.header.is_64 {
            members.push((dword, "p_flags", ""));
        }
        members.push((word, "p_align", ""));
        let name = self.class_name("Phdr");
        let id = self.elf_struct(&name, &members);
        self.types.segment = Some(id);
        id
    }

    pub(super) fn section_type(&mut self) -> TypeId {
        if let Some(known) = self.types.section {
            return known;
        }
        let machine = self.file.header.machine;
        let all = names::SECTION_TYPES.iter().chain(names::special_sections(machine));
        let values = all.copied().collect();
        let name = format!("Elf_SectionHeaderType{}", names::type_suffix(machine));
        let kind = self.enumeration(name, 4, values);
        let (word, dword) = (self.word_type(), self.program.types.builtin("dword"));
        let members = [
            (dword, "sh_name", ""),
            (kind, "sh_type", ""),
            (word, "sh_flags", ""),
            (word, "sh_addr", ""),
            (word, "sh_offset", ""),
            (word, "sh_size", ""),
            (dword, "sh_link", ""),
            (dword, "sh_info", ""),
            (word, "sh_addralign", ""),
            (word, "sh_entsize", ""),
        ];
        let name = self.class_name("Shdr");
        let id = self.elf_struct(&name, &members);
        self.types.section = Some(id);
        id
    }

    pub(super) fn symbol_type(&mut self) -> TypeId {
        if let Some(known) = self.types.symbol {
            return known;
        }
        let types = &self.program.types;
        let (byte, half) = (types.builtin("byte"), types.builtin("word"));
        let (dword, qword) = (types.builtin("dword"), types.builtin("qword"));
        let name = (dword, "st_name", "");
        let kind = [(byte, "st_info", ""), (byte, "st_other", ""), (half, "st_shndx", "")];
        let mut members = vec![name];
        if self.file.header.is_64 {
            members.extend(kind);
            members.extend([(qword, "st_value", ""), (qword, "st_size", "")]);
        } else {
            members.extend([(dword, "st_value", ""), (dword, "st_size", "")]);
            members.extend(kind);
        }
        let name = self.class_name("Sym");
        let id = self.elf_struct(&name, &members);
        self.types.symbol = Some(id);
        id
    }

    pub(super) fn reloc_type(&mut self, with_addend: bool) -> TypeId {
        let word = self.word_type();
        let mut members = vec![
            (word, "r_offset", "location to apply the relocation action"),
            (word, "r_info", "the symbol table index and the type of relocation"),
        ];
        if with_addend {
            let note = "a constant addend used to compute the relocatable field value";
            members.push((word, "r_addend", note));
        }
        let name = self.class_name(if with_addend { "Rela" } else { "Rel" });
        self.elf_struct(&name, &members)
    }

    pub(super) fn dynamic_type(&mut self) -> TypeId {
        if let Some(known) = self.types.dynamic {
            return known;
        }
        let machine = self.file.header.machine;
        let all = dynamic_tags::COMMON.iter().chain(dynamic_tags::special(machine));
        let values = all.map(|(v, n, _, _)| (*v, *n)).collect();
        let suffix = names::type_suffix(machine);
        let name = format!("{}{suffix}", self.class_name("DynTag"));
        let tag = self.enumeration(name, self.file.word() as u32, values);
        let word = self.word_type();
        let name = format!("{}{suffix}", self.class_name("Dyn"));
        let id = self.elf_struct(&name, &[(tag, "d_tag", ""), (word, "d_val", "")]);
        self.types.dynamic = Some(id);
        id
    }
}
