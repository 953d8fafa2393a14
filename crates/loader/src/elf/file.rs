//! An ELF file's tables in one shape for both classes and byte orders.

use std::sync::Arc;

/// The file header.
#[derive(Debug, Clone, Default)]
pub(crate) struct Header {
    pub(crate) is_64: bool,
    pub(crate) big_endian: bool,
    pub(crate) kind: u16,
    pub(crate) machine: u16,
    pub(crate) flags: u32,
    pub(crate) entry: u64,
    pub(crate) segment_table: u64,
    pub(crate) segment_size: u64,
    pub(crate) section_table: u64,
    pub(crate) section_size: u64,
    /// Bytes of the file header.
    pub(crate) size: u64,
}

/// One program header.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Segment {
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) file_size: u64,
    pub(crate) memory_size: u64,
}

impl Segment {
    /// Whether the address lies in the segment's memory.
    pub(crate) fn contains(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|at| at < self.memory_size)
    }

    /// Bytes taken from the file.
    pub(crate) fn load_size(&self) -> u64 {
        self.file_size.min(self.memory_size)
    }

    pub(crate) fn is_load(&self) -> bool {
        self.kind == object::elf::PT_LOAD
    }
}

/// One section header.
#[derive(Debug, Clone, Default)]
pub(crate) struct Section {
    pub(crate) name: Arc<str>,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) link: u32,
    pub(crate) info: u32,
    pub(crate) align: u64,
    pub(crate) entry_size: u64,
}

impl Section {
    fn has(&self, flag: u32) -> bool {
        self.flags & u64::from(flag) != 0
    }

    /// Its bytes, if the file holds all of them.
    pub(crate) fn bytes<'a>(&self, file: &'a [u8]) -> Option<&'a [u8]> {
        let start = usize::try_from(self.offset).ok()?;
        file.get(start..start.checked_add(usize::try_from(self.size).ok()?)?)
    }

    /// Whether it is in memory at run time.
    pub(crate) fn is_alloc(&self) -> bool {
        self.has(object::elf::SHF_ALLOC)
    }

    pub(crate) fn is_write(&self) -> bool {
        self.has(object::elf::SHF_WRITE)
    }

    pub(crate) fn is_execute(&self) -> bool {
        self.has(object::elf::SHF_EXECINSTR)
    }

    pub(crate) fn is_nobits(&self) -> bool {
        self.kind == object::elf::SHT_NOBITS
    }

    /// Whether the address lies in the section's memory.
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.is_alloc() && address.checked_sub(self.address).is_some_and(|at| at < self.size)
    }
}

/// One symbol.
#[derive(Debug, Clone, Default)]
pub(crate) struct ElfSymbol {
    pub(crate) name: Arc<str>,
    /// Whether the name is not the empty string at offset zero.
    pub(crate) named: bool,
    pub(crate) kind: u8,
    pub(crate) binding: u8,
    /// What the processor's conventions say of it.
    pub(crate) other: u8,
    /// Section index as stored, reserved values included.
    pub(crate) index: u16,
    /// Section index with the extension table applied.
    pub(crate) section: u32,
    pub(crate) value: u64,
    pub(crate) size: u64,
}

impl ElfSymbol {
    pub(crate) fn is_global_or_weak(&self) -> bool {
        matches!(self.binding, object::elf::STB_GLOBAL | object::elf::STB_WEAK)
    }

    /// Whether another file defines it.
    pub(crate) fn is_external(&self) -> bool {
        self.is_global_or_weak() && self.index == object::elf::SHN_UNDEF
    }

    pub(crate) fn is_function(&self) -> bool {
        self.kind == object::elf::STT_FUNC
    }

    pub(crate) fn is_object(&self) -> bool {
        self.kind == object::elf::STT_OBJECT
    }
}

/// One symbol table.
#[derive(Debug, Clone, Default)]
pub(crate) struct SymbolTable {
    pub(crate) section: Option<usize>,
    pub(crate) offset: u64,
    /// Whether it serves dynamic linking.
    pub(crate) dynamic: bool,
    pub(crate) entry_size: u64,
    pub(crate) symbols: Vec<ElfSymbol>,
}

/// One relocation.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reloc {
    pub(crate) offset: u64,
    pub(crate) symbol: u32,
    pub(crate) kind: u32,
    /// Absent when the patched place holds it.
    pub(crate) addend: Option<i64>,
}

/// How a relocation table stores its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelocForm {
    Rel,
    Rela,
    /// Packed places of relative relocations.
    Relr,
}

/// One relocation table.
#[derive(Debug, Clone)]
pub(crate) struct RelocTable {
    pub(crate) section: Option<usize>,
    /// The section it patches, if only one.
    pub(crate) target: Option<usize>,
    /// Index of its symbol table.
    pub(crate) symbols: Option<usize>,
    pub(crate) form: RelocForm,
    pub(crate) offset: u64,
    pub(crate) relocs: Vec<Reloc>,
}

/// One string table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StringTable {
    pub(crate) section: Option<usize>,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// The dynamic table: tags and values up to and with the terminator.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dynamic {
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) entries: Vec<(u64, u64)>,
}

impl Dynamic {
    /// The value of the first entry with that tag.
    pub(crate) fn value(&self, tag: u32) -> Option<u64> {
        self.entries.iter().find(|(t, _)| *t == u64::from(tag)).map(|(_, v)| *v)
    }
}

/// Everything the loader uses of an ELF file.
#[derive(Debug, Clone)]
pub(crate) struct ElfFile {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) header: Header,
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: Vec<Section>,
    pub(crate) dynamic: Option<Dynamic>,
    /// The string table of the dynamic table.
    pub(crate) dynamic_strings: Option<StringTable>,
    pub(crate) strings: Vec<StringTable>,
    pub(crate) symbol_tables: Vec<SymbolTable>,
    pub(crate) reloc_tables: Vec<RelocTable>,
    pub(crate) warnings: Vec<String>,
}

impl ElfFile {
    /// Bytes of an address.
    pub(crate) fn word(&self) -> u64 {
        if self.header.is_64 { 8 } else { 4 }
    }

    /// Whether it is an object file that a linker still has to place.
    pub(crate) fn is_relocatable(&self) -> bool {
        self.header.kind == object::elf::ET_REL
    }

    /// Whether it can be loaded anywhere, so that its pointers are relocated.
    pub(crate) fn is_movable(&self) -> bool {
        self.is_relocatable() || self.header.kind == object::elf::ET_DYN
    }

    /// The lowest address of a loaded segment: what the linker based it on.
    pub(crate) fn base(&self) -> u64 {
        if self.is_relocatable() {
            return 0;
        }
        let loads = self.segments.iter().filter(|s| s.is_load() && s.memory_size > 0);
        loads.map(|s| s.address).min().unwrap_or(0)
    }

    /// The loaded segment around an address.
    pub(crate) fn load_around(&self, address: u64) -> Option<usize> {
        self.segments.iter().position(|s| s.is_load() && s.contains(address))
    }

    /// The file offset of an address, through the loaded segments.
    pub(crate) fn offset_of(&self, address: u64) -> Option<u64> {
        let segment = self.segments.get(self.load_around(address)?)?;
        let at = address - segment.address;
        if at < segment.file_size { segment.offset.checked_add(at) } else { None }
    }

    /// The text at an offset of a string table, without its terminator.
    pub(crate) fn string(&self, table: &StringTable, at: u64) -> Option<String> {
        let start = usize::try_from(table.offset).ok()?;
        let length = usize::try_from(table.length).ok()?;
        let all = self.bytes.get(start..start.saturating_add(length).min(self.bytes.len()))?;
        let text = all.get(usize::try_from(at).ok()?..)?;
        let text = text.split(|b| *b == 0).next()?;
        Some(String::from_utf8_lossy(text.get(..text.len().min(4096))?).into_owned())
    }

    /// The dynamic symbol table.
    pub(crate) fn dynamic_symbols(&self) -> Option<&SymbolTable> {
        self.symbol_tables.iter().find(|t| t.dynamic)
    }
}
