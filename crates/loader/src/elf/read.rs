//! Reads an ELF file's tables, as far as the bytes reach: a table that lies
//! outside of the file is left out with a warning.

use super::file::{Dynamic, ElfFile, Header, Section, Segment, StringTable};
use super::tables;
use crate::LoadError;
use object::elf::{FileHeader32, FileHeader64};
use object::endian::Endianness;
use object::pod::Pod;
use object::read::ReadRef;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader};
use std::sync::Arc;

/// Reads everything.
pub(crate) fn read(bytes: Arc<[u8]>) -> Result<ElfFile, LoadError> {
    let class = bytes.get(4).copied().unwrap_or(0);
    match class {
        1 => read_class::<FileHeader32<Endianness>>(bytes),
        2 => read_class::<FileHeader64<Endianness>>(bytes),
        _ if bytes.len() < 16 => Err(truncated("the identification", 16, &bytes)),
        other => Err(LoadError::Malformed {
            format: "ELF",
            what: format!("its class byte is {other}, neither 1 (32-bit) nor 2 (64-bit)"),
        }),
    }
}

fn truncated(what: &'static str, needed: u64, bytes: &[u8]) -> LoadError {
    LoadError::Truncated { format: "ELF", what, needed, have: bytes.len() as u64 }
}

fn read_class<E>(bytes: Arc<[u8]>) -> Result<ElfFile, LoadError>
where
    E: FileHeader<Endian = Endianness>,
{
    let size = size_of::<E>() as u64;
    let raw: &E =
        bytes.as_ref().read_at(0).map_err(|()| truncated("the file header", size, &bytes))?;
    let endian = match bytes.get(5) {
        Some(1) => Endianness::Little,
        Some(2) => Endianness::Big,
        other => {
            let other = other.copied().unwrap_or(0);
            let what = format!("its data byte is {other}, neither 1 (little) nor 2 (big endian)");
            return Err(LoadError::Malformed { format: "ELF", what });
        }
    };
    let header = Header {
        is_64: raw.is_type_64(),
        big_endian: endian == Endianness::Big,
        kind: raw.e_type(endian),
        machine: raw.e_machine(endian),
        flags: raw.e_flags(endian),
        entry: raw.e_entry(endian).into(),
        segment_table: raw.e_phoff(endian).into(),
        segment_size: u64::from(raw.e_phentsize(endian)),
        section_table: raw.e_shoff(endian).into(),
        section_size: u64::from(raw.e_shentsize(endian)),
        size,
    };
    let counts = (raw.e_phnum(endian), raw.e_shnum(endian), raw.e_shstrndx(endian));
    let mut file = ElfFile {
        bytes: Arc::clone(&bytes),
        header,
        segments: Vec::new(),
        sections: Vec::new(),
        dynamic: None,
        dynamic_strings: None,
        strings: Vec::new(),
        symbol_tables: Vec::new(),
        reloc_tables: Vec::new(),
        warnings: Vec::new(),
    };
    read_headers::<E>(&mut file, endian, counts);
    file.dynamic = read_dynamic::<E>(&file, endian);
    read_strings(&mut file);
    tables::read_symbols::<E>(&mut file, endian);
    tables::read_relocs::<E>(&mut file, endian);
    Ok(file)
}

/// The entries of a table, as many as the file holds.
pub(super) fn entries<T: Pod>(bytes: &[u8], offset: u64, stride: u64, count: u64) -> Vec<&T> {
    let size = size_of::<T>() as u64;
    if stride < size || offset >= bytes.len() as u64 {
        return Vec::new();
    }
    let fitting = (bytes.len() as u64 - offset).saturating_sub(size) / stride + 1;
    let wanted = (0..count.min(fitting)).map_while(|n| {
        let at = offset.checked_add(n.checked_mul(stride)?)?;
        bytes.read_at::<T>(at).ok()
    });
    wanted.collect()
}

fn read_headers<E>(file: &mut ElfFile, endian: Endianness, counts: (u16, u16, u16))
where
    E: FileHeader<Endian = Endianness>,
{
    let bytes = Arc::clone(&file.bytes);
    let (mut segments, mut sections, mut names) =
        (u64::from(counts.0), u64::from(counts.1), u32::from(counts.2));
    // Numbers that do not fit their fields stand in the first section header.
    if file.header.section_table != 0 {
        let first = entries::<E::SectionHeader>(
            &bytes,
            file.header.section_table,
            file.header.section_size,
            1,
        );
        if let Some(first) = first.first() {
            if sections == 0 {
                sections = first.sh_size(endian).into();
            }
            if names == u32::from(object::elf::SHN_XINDEX) {
                names = first.sh_link(endian);
            }
            if segments == u64::from(object::elf::PN_XNUM) {
                segments = u64::from(first.sh_info(endian));
            }
        }
    }
    let table = &file.header;
    let raw =
        entries::<E::ProgramHeader>(&bytes, table.segment_table, table.segment_size, segments);
    missing(&mut file.warnings, "program header", segments, raw.len());
    file.segments = raw.iter().map(|h| segment(*h, endian)).collect();
    if file.header.section_table == 0 {
        return;
    }
    let table = &file.header;
    let raw =
        entries::<E::SectionHeader>(&bytes, table.section_table, table.section_size, sections);
    missing(&mut file.warnings, "section header", sections, raw.len());
    let strings = raw.get(names as usize).map(|h| StringTable {
        section: None,
        offset: h.sh_offset(endian).into(),
        length: h.sh_size(endian).into(),
    });
    if strings.is_none() && !raw.is_empty() {
        file.warnings.push(format!("no section {names} holds the section names"));
    }
    let mut all = Vec::with_capacity(raw.len());
    let mut room = bytes.len().saturating_mul(2);
    for (index, header) in raw.iter().enumerate() {
        let name = strings.and_then(|s| file.string(&s, u64::from(header.sh_name(endian))));
        let name = match name {
            Some(name) if !name.is_empty() && name.len() <= room => {
                room -= name.len();
                name
            }
            _ => format!("SECTION{index}"),
        };
        all.push(section(*header, endian, name));
    }
    file.sections = all;
}

fn missing(warnings: &mut Vec<String>, what: &str, wanted: u64, read: usize) {
    if (read as u64) < wanted {
        warnings.push(format!("the {what} table announces {wanted} entries, the file has {read}"));
    }
}

fn segment<P: ProgramHeader<Endian = Endianness>>(raw: &P, endian: Endianness) -> Segment {
    Segment {
        kind: raw.p_type(endian),
        flags: raw.p_flags(endian),
        offset: raw.p_offset(endian).into(),
        address: raw.p_vaddr(endian).into(),
        file_size: raw.p_filesz(endian).into(),
        memory_size: raw.p_memsz(endian).into(),
    }
}

fn section<S>(raw: &S, endian: Endianness, name: String) -> Section
where
    S: SectionHeader<Endian = Endianness>,
{
    Section {
        name: name.into(),
        kind: raw.sh_type(endian),
        flags: raw.sh_flags(endian).into(),
        address: raw.sh_addr(endian).into(),
        offset: raw.sh_offset(endian).into(),
        size: raw.sh_size(endian).into(),
        link: raw.sh_link(endian),
        info: raw.sh_info(endian),
        align: raw.sh_addralign(endian).into(),
        entry_size: raw.sh_entsize(endian).into(),
    }
}

fn read_dynamic<E>(file: &ElfFile, endian: Endianness) -> Option<Dynamic>
where
    E: FileHeader<Endian = Endianness>,
{
    let by_segment = file
        .segments
        .iter()
        .find(|s| s.kind == object::elf::PT_DYNAMIC && s.offset != 0)
        .map(|s| (s.offset, s.address, s.file_size));
    let by_section = || {
        let section = file.sections.iter().find(|s| s.kind == object::elf::SHT_DYNAMIC)?;
        Some((section.offset, section.address, section.size))
    };
    let (offset, address, length) = by_segment.or_else(by_section)?;
    let stride = size_of::<E::Dyn>() as u64;
    let raw = entries::<E::Dyn>(&file.bytes, offset, stride, length / stride);
    let mut all = Vec::new();
    for entry in raw {
        let tag: u64 = entry.d_tag(endian).into();
        all.push((tag, entry.d_val(endian).into()));
        if tag == 0 {
            break;
        }
    }
    (!all.is_empty()).then_some(Dynamic { offset, address, entries: all })
}

fn read_strings(file: &mut ElfFile) {
    let from_sections = file.sections.iter().enumerate().filter_map(|(index, s)| {
        (s.kind == object::elf::SHT_STRTAB).then_some(StringTable {
            section: Some(index),
            offset: s.offset,
            length: s.size,
        })
    });
    let mut all: Vec<StringTable> = from_sections.collect();
    let dynamic = file.dynamic.as_ref().and_then(|dynamic| {
        let address = dynamic.value(object::elf::DT_STRTAB)?;
        let length = dynamic.value(object::elf::DT_STRSZ)?;
        Some(StringTable { section: None, offset: file.offset_of(address)?, length })
    });
    if let Some(table) = dynamic {
        let same = all.iter().find(|t| t.offset == table.offset).copied();
        file.dynamic_strings = Some(same.unwrap_or(table));
        if same.is_none() {
            all.push(table);
        }
    }
    file.strings = all;
}
