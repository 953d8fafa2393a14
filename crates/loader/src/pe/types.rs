//! The data types under `/DOS` and `/PE` that describe the headers.

use super::Loader;
use program::data_type::Field;
use program::{DataType, TypeId, TypeKind};
use std::sync::Arc;

/// A member: its type, length, name and note.
pub(super) type Member<'a> = (TypeId, u32, &'a str, &'a str);

impl Loader {
    pub(super) fn structure(&mut self, category: &str, name: &str, members: &[Member]) -> TypeId {
        let mut offset = 0;
        let mut fields = Vec::with_capacity(members.len());
        for (data_type, length, name, note) in members {
            fields.push(Field {
                offset,
                data_type: *data_type,
                length: *length,
                name: (*name).into(),
                comment: (*note).into(),
                bits: None,
            });
            offset += length;
        }
        self.program.types.add_struct(category, name, offset, fields)
    }

    fn sized(&self, name: &str) -> (TypeId, u32) {
        let id = self.program.types.builtin(name);
        (id, self.program.types.length(id).unwrap_or(1))
    }

    fn array(&mut self, element: &str, count: u32) -> (TypeId, u32) {
        let (element, size) = self.sized(element);
        (self.program.types.array_of(element, count), size * count)
    }

    /// The DOS header with the small program up to the new header.
    pub(super) fn dos_type(&mut self, length: u32) -> TypeId {
        let (word, dword) = (self.sized("word"), self.sized("dword"));
        let magic = self.array("char", 2);
        let (reserved, more) = (self.array("word", 4), self.array("word", 10));
        let mut members = vec![(magic.0, magic.1, "e_magic", "Magic number")];
        let plain = [
            ("e_cblp", "Bytes of last page"),
            ("e_cp", "Pages in file"),
            ("e_crlc", "Relocations"),
            ("e_cparhdr", "Size of header in paragraphs"),
            ("e_minalloc", "Minimum extra paragraphs needed"),
            ("e_maxalloc", "Maximum extra paragraphs needed"),
            ("e_ss", "Initial (relative) SS value"),
            ("e_sp", "Initial SP value"),
            ("e_csum", "Checksum"),
            ("e_ip", "Initial IP value"),
            ("e_cs", "Initial (relative) CS value"),
            ("e_lfarlc", "File address of relocation table"),
            ("e_ovno", "Overlay number"),
        ];
        members.extend(plain.map(|(name, note)| (word.0, word.1, name, note)));
        members.push((reserved.0, reserved.1, "e_res[4]", "Reserved words"));
        members.push((word.0, word.1, "e_oemid", "OEM identifier (for e_oeminfo)"));
        members.push((word.0, word.1, "e_oeminfo", "OEM information; e_oemid specific"));
        members.push((more.0, more.1, "e_res2[10]", "Reserved words"));
        members.push((dword.0, dword.1, "e_lfanew", "File address of new exe header"));
        let rest = length.saturating_sub(64);
        if rest > 0 {
            let code = self.array("byte", rest);
            members.push((code.0, code.1, "e_program", "Actual DOS program"));
        }
        self.structure("/DOS", "IMAGE_DOS_HEADER", &members)
    }

    /// The list of tools that made the program, disguised as it is in the file.
    pub(super) fn tools_type(&mut self, length: u32) -> TypeId {
        let (dword, size) = self.sized("dword");
        let tool = self.structure(
            "/",
            "RICH_TABLE_RECORD",
            &[(dword, size, "id", ""), (dword, size, "count", "")],
        );
        let padding = self.array("dword", 3);
        let count = length.saturating_sub(24) / 8;
        let tools = self.program.types.array_of(tool, count.max(1));
        let mut members =
            vec![(dword, size, "signature", ""), (padding.0, padding.1, "padding", "")];
        if count > 0 {
            members.push((tools, 8 * count, "records", ""));
        }
        members.extend([(dword, size, "rich", ""), (dword, size, "mask", "")]);
        self.structure("/", "IMAGE_RICH_HEADER", &members)
    }

    /// Signature, file header and optional header.
    pub(super) fn nt_type(&mut self) -> TypeId {
        let signature = self.array("char", 4);
        let file_header = self.file_header_type();
        let (optional, size, name) = if self.file.is_64 {
            (self.optional_type(true), 240, "IMAGE_NT_HEADERS64")
        } else {
            (self.optional_type(false), 224, "IMAGE_NT_HEADERS32")
        };
        let members = [
            (signature.0, signature.1, "Signature", ""),
            (file_header, 20, "FileHeader", ""),
            (optional, size, "OptionalHeader", ""),
        ];
        self.structure("/PE", name, &members)
    }

    fn file_header_type(&mut self) -> TypeId {
        let (word, dword) = (self.sized("word"), self.sized("dword"));
        let machine = self.file.machine.to_string();
        let members = [
            (word.0, 2, "Machine", machine.as_str()),
            (word.0, 2, "NumberOfSections", ""),
            (dword.0, 4, "TimeDateStamp", ""),
            (dword.0, 4, "PointerToSymbolTable", ""),
            (dword.0, 4, "NumberOfSymbols", ""),
            (word.0, 2, "SizeOfOptionalHeader", ""),
            (word.0, 2, "Characteristics", ""),
        ];
        self.structure("/PE", "IMAGE_FILE_HEADER", &members)
    }

    fn optional_type(&mut self, wide: bool) -> TypeId {
        let (byte, word) = (self.sized("byte"), self.sized("word"));
        let (dword, qword) = (self.sized("dword"), self.sized("qword"));
        let (offset, pointer) = (self.sized("ImageBaseOffset32"), self.sized("pointer"));
        let size = if wide { qword } else { dword };
        let directory = self.structure(
            "/PE",
            "IMAGE_DATA_DIRECTORY",
            &[(offset.0, 4, "VirtualAddress", ""), (dword.0, 4, "Size", "")],
        );
        let directories = self.program.types.array_of(directory, 16);
        let mut members: Vec<(TypeId, u32, &str, &str)> = Vec::new();
        let mut add = |kind: (TypeId, u32), names: &[&'static str]| {
            members.extend(names.iter().map(|name| (kind.0, kind.1, *name, "")));
        };
        add(word, &["Magic"]);
        add(byte, &["MajorLinkerVersion", "MinorLinkerVersion"]);
        add(dword, &["SizeOfCode", "SizeOfInitializedData", "SizeOfUninitializedData"]);
        add(offset, &["AddressOfEntryPoint", "BaseOfCode"]);
        if !wide {
            add(offset, &["BaseOfData"]);
        }
        add(pointer, &["ImageBase"]);
        add(dword, &["SectionAlignment", "FileAlignment"]);
        add(word, &["MajorOperatingSystemVersion", "MinorOperatingSystemVersion"]);
        add(word, &["MajorImageVersion", "MinorImageVersion"]);
        add(word, &["MajorSubsystemVersion", "MinorSubsystemVersion"]);
        add(dword, &["Win32VersionValue", "SizeOfImage", "SizeOfHeaders", "CheckSum"]);
        add(word, &["Subsystem", "DllCharacteristics"]);
        add(size, &["SizeOfStackReserve", "SizeOfStackCommit"]);
        add(size, &["SizeOfHeapReserve", "SizeOfHeapCommit"]);
        add(dword, &["LoaderFlags", "NumberOfRvaAndSizes"]);
        add((directories, 128), &["DataDirectory"]);
        let name = if wide { "IMAGE_OPTIONAL_HEADER64" } else { "IMAGE_OPTIONAL_HEADER32" };
        self.structure("/PE", name, &members)
    }

    pub(super) fn section_type(&mut self) -> TypeId {
        let (word, dword) = (self.sized("word"), self.sized("dword"));
        let offset = self.sized("ImageBaseOffset32");
        let name = self.array("char", 8);
        let field = |name: &str| Field {
            offset: 0,
            data_type: dword.0,
            length: 4,
            name: name.into(),
            comment: "".into(),
            bits: None,
        };
        let misc = self.program.types.add(DataType {
            category: "/PE".into(),
            name: "Misc".into(),
            length: Some(4),
            alignment: 1,
            description: "".into(),
            kind: TypeKind::Union { fields: vec![field("PhysicalAddress"), field("VirtualSize")] },
            used: true,
        });
        let members = [
            (name.0, 8, "Name", ""),
            (misc, 4, "Misc", ""),
            (offset.0, 4, "VirtualAddress", ""),
            (dword.0, 4, "SizeOfRawData", ""),
            (dword.0, 4, "PointerToRawData", ""),
            (dword.0, 4, "PointerToRelocations", ""),
            (dword.0, 4, "PointerToLinenumbers", ""),
            (word.0, 2, "NumberOfRelocations", ""),
            (word.0, 2, "NumberOfLinenumbers", ""),
            (self.section_flags_type(), 4, "Characteristics", ""),
        ];
        self.structure("/PE", "IMAGE_SECTION_HEADER", &members)
    }

    /// What a section is and what may be done with it. Alignments are numbers among the bits.
    fn section_flags_type(&mut self) -> TypeId {
        const BITS: [(&str, i64); 23] = [
            ("TYPE_NO_PAD", 0x8),
            ("RESERVED_0001", 0x10),
            ("CNT_CODE", 0x20),
            ("CNT_INITIALIZED_DATA", 0x40),
            ("CNT_UNINITIALIZED_DATA", 0x80),
            ("LNK_OTHER", 0x100),
            ("LNK_INFO", 0x200),
            ("RESERVED_0040", 0x400),
            ("LNK_REMOVE", 0x800),
            ("LNK_COMDAT", 0x1000),
            ("GPREL", 0x8000),
            ("MEM_16BIT", 0x2_0000),
            ("MEM_PURGEABLE", 0x2_0000),
            ("MEM_LOCKED", 0x4_0000),
            ("MEM_PRELOAD", 0x8_0000),
            ("LNK_NRELOC_OVFL", 0x100_0000),
            ("MEM_DISCARDABLE", 0x200_0000),
            ("MEM_NOT_CACHED", 0x400_0000),
            ("MEM_NOT_PAGED", 0x800_0000),
            ("MEM_SHARED", 0x1000_0000),
            ("MEM_EXECUTE", 0x2000_0000),
            ("MEM_READ", 0x4000_0000),
            ("MEM_WRITE", 0x8000_0000),
        ];
        let aligned = (0..14).map(|n| (format!("ALIGN_{}BYTES", 1u32 << n), (n + 1) << 20));
        let plain = BITS.iter().map(|(name, bit)| ((*name).to_owned(), *bit));
        let mut values: Vec<(Arc<str>, i64, Arc<str>)> = plain
            .chain(aligned)
            .map(|(name, value)| (format!("IMAGE_SCN_{name}").into(), value, "".into()))
            .collect();
        values.sort_by_key(|(_, value, _)| *value);
        self.program.types.add(DataType {
            category: "/PE".into(),
            name: "SectionFlags".into(),
            length: Some(4),
            alignment: 4,
            description: "".into(),
            kind: TypeKind::Enum { values },
            used: true,
        })
    }

    pub(super) fn export_type(&mut self) -> TypeId {
        let (word, dword) = (self.sized("word").0, self.sized("dword").0);
        let members = [
            (dword, 4, "Characteristics", ""),
            (dword, 4, "TimeDateStamp", ""),
            (word, 2, "MajorVersion", ""),
            (word, 2, "MinorVersion", ""),
            (dword, 4, "Name", ""),
            (dword, 4, "Base", ""),
            (dword, 4, "NumberOfFunctions", ""),
            (dword, 4, "NumberOfNames", ""),
            (dword, 4, "AddressOfFunctions", ""),
            (dword, 4, "AddressOfNames", ""),
            (dword, 4, "AddressOfNameOrdinals", ""),
        ];
        self.structure("/PE", "IMAGE_DIRECTORY_ENTRY_EXPORT", &members)
    }

    pub(super) fn delayed_type(&mut self) -> TypeId {
        let (offset, dword) = (self.sized("ImageBaseOffset32").0, self.sized("dword").0);
        let members = [
            (dword, 4, "grAttrs", ""),
            (offset, 4, "szName", ""),
            (offset, 4, "phmod", ""),
            (offset, 4, "pIAT", ""),
            (offset, 4, "pINT", ""),
            (offset, 4, "pBoundIAT", ""),
            (offset, 4, "pUnloadIAT", ""),
            (dword, 4, "dwTimeStamp", ""),
        ];
        self.structure("/PE", "ImgDelayDescr", &members)
    }

    /// A hint and a name of some length, with the bytes of both.
    pub(super) fn import_by_name_type(&mut self, length: u32) -> (TypeId, u32) {
        let name = format!("IMAGE_IMPORT_BY_NAME_{length}");
        if let Some(known) = self.program.types.named(&name).next() {
            return (known, 2 + length);
        }
        let (word, text) = (self.sized("word").0, self.sized("string").0);
        let members = [(word, 2, "Hint", ""), (text, length, "Name", "")];
        (self.structure("/PE", &name, &members), 2 + length)
    }

    pub(super) fn relocation_type(&mut self) -> TypeId {
        let dword = self.sized("dword").0;
        let members = [(dword, 4, "VirtualAddress", ""), (dword, 4, "SizeOfBlock", "")];
        self.structure("/PE", "IMAGE_BASE_RELOCATION", &members)
    }

    /// The thread-local storage directory, under the name that Ghidra gives it.
    pub(super) fn tls_type(&mut self) -> TypeId {
        let word = if self.file.is_64 { self.sized("qword") } else { self.sized("dword") };
        let dword = self.sized("dword").0;
        let members = [
            (word.0, word.1, "StartAddressOfRawData", ""),
            (word.0, word.1, "EndAddressOfRawData", ""),
            (word.0, word.1, "AddressOfIndex", ""),
            (word.0, word.1, "AddressOfCallBacks", ""),
            (dword, 4, "SizeOfZeroFill", ""),
            (dword, 4, "Characteristics", ""),
        ];
        let name = if self.file.is_64 { "IMAGE_THUNK_DATA64" } else { "IMAGE_THUNK_DATA32" };
        self.structure("/PE", name, &members)
    }

    pub(super) fn exception_type(&mut self) -> TypeId {
        let (offset, dword) = (self.sized("ImageBaseOffset32").0, self.sized("dword").0);
        let note = "Apply ImageBaseOffset32 to see reference";
        let members = [
            (offset, 4, "BeginAddress", ""),
            (dword, 4, "EndAddress", note),
            (offset, 4, "UnwindInfoAddressOrData", ""),
        ];
        self.structure("/PE", "_IMAGE_RUNTIME_FUNCTION_ENTRY", &members)
    }

    /// An entry for ARM: it leads to what unwinding takes, or holds it.
    pub(super) fn exception_type_arm(&mut self, packed: bool) -> TypeId {
        let (offset, dword) = (self.sized("ImageBaseOffset32").0, self.sized("dword").0);
        let name = match packed {
            true => "_IMAGE_RUNTIME_FUNCTION_ENTRY_2",
            false => "_IMAGE_RUNTIME_FUNCTION_ENTRY",
        };
        if let Some(known) = self.program.types.named(name).next() {
            return known;
        }
        if !packed {
            let members = [(offset, 4, "BeginAddress", ""), (offset, 4, "ExceptionInfo", "")];
            return self.structure("/PE", name, &members);
        }
        let members = [(offset, 4, "BeginAddress", ""), (dword, 4, "UnwindData", "")];
        self.structure("/PE", name, &members)
    }

    /// The head of what unwinding one function takes; codes follow it.
    pub(super) fn unwind_info_type(&mut self) -> TypeId {
        if let Some(known) = self.program.types.named("PEx64_UnwindInfo").next() {
            return known;
        }
        let byte = self.sized("byte").0;
        let members = [
            (byte, 1, "VersionAndFlags", ""),
            (byte, 1, "SizeOfProlog", ""),
            (byte, 1, "CountOfCodes", ""),
            (byte, 1, "FrameRegisterAndOffset", ""),
        ];
        self.structure("/", "PEx64_UnwindInfo", &members)
    }

    pub(super) fn debug_directory_type(&mut self) -> TypeId {
        let (word, dword) = (self.sized("word").0, self.sized("dword").0);
        let members = [
            (dword, 4, "Characteristics", ""),
            (dword, 4, "TimeDateStamp", ""),
            (word, 2, "MajorVersion", ""),
            (word, 2, "MinorVersion", ""),
            (dword, 4, "Type", ""),
            (dword, 4, "SizeOfData", ""),
            (dword, 4, "AddressOfRawData", ""),
            (dword, 4, "PointerToRawData", ""),
        ];
        self.structure("/PE", "IMAGE_DEBUG_DIRECTORY", &members)
    }

    /// What leads to a PDB file whose name has some length, with the bytes of all.
    pub(super) fn code_view_type(&mut self, length: u32) -> (TypeId, u32) {
        let (text, dword) = (self.sized("string").0, self.sized("dword").0);
        let guid = self.array("byte", 16);
        let members = [
            (text, 4, "signature", ""),
            (guid.0, 16, "guid", ""),
            (dword, 4, "age", ""),
            (text, length, "pdbname", ""),
        ];
        (self.structure("/PDB", "DotNetPdbInfo", &members), 24 + length)
    }

    /// What control-flow guard does. The four highest bits are a number.
    pub(super) fn guard_flags_type(&mut self) -> TypeId {
        const BITS: [(&str, i64); 16] = [
            ("CF_INSTRUMENTED", 0x100),
            ("CFW_INSTRUMENTED", 0x200),
            ("CF_FUNCTION_TABLE_PRESENT", 0x400),
            ("SECURITY_COOKIE_UNUSED", 0x800),
            ("PROTECT_DELAYLOAD_IAT", 0x1000),
            ("DELAYLOAD_IAT_IN_ITS_OWN_SECTION", 0x2000),
            ("CF_EXPORT_SUPPRESSION_INFO_PRESENT", 0x4000),
            ("CF_ENABLE_EXPORT_SUPPRESSION", 0x8000),
            ("CF_LONGJUMP_TABLE_PRESENT", 0x1_0000),
            ("RF_INSTRUMENTED", 0x2_0000),
            ("RF_ENABLE", 0x4_0000),
            ("RF_STRICT", 0x8_0000),
            ("CF_FUNCTION_TABLE_SIZE_MASK_1", 0x1000_0000),
            ("CF_FUNCTION_TABLE_SIZE_MASK_2", 0x2000_0000),
            ("CF_FUNCTION_TABLE_SIZE_MASK_4", 0x4000_0000),
            ("CF_FUNCTION_TABLE_SIZE_MASK_8", 0x8000_0000),
        ];
        self.flags("/PE", "IMAGE_GUARD_FLAGS", "IMAGE_GUARD_", &BITS)
    }

    /// Four bytes of flags, whose names all begin alike.
    pub(super) fn flags(
        &mut self,
        category: &str,
        name: &str,
        prefix: &str,
        bits: &[(&str, i64)],
    ) -> TypeId {
        let values = bits.iter();
        let values = values.map(|(name, bit)| (format!("{prefix}{name}").into(), *bit, "".into()));
        self.program.types.add(DataType {
            category: category.into(),
            name: name.into(),
            length: Some(4),
            alignment: 4,
            description: "".into(),
            kind: TypeKind::Enum { values: values.collect() },
            used: true,
        })
    }

    pub(super) fn code_integrity_type(&mut self) -> TypeId {
        let (word, dword) = (self.sized("word").0, self.sized("dword").0);
        let members = [
            (word, 2, "Flags", ""),
            (word, 2, "Catalog", ""),
            (dword, 4, "CatalogOffset", ""),
            (dword, 4, "Reserved", ""),
        ];
        self.structure("/PE", "IMAGE_LOAD_CONFIG_CODE_INTEGRITY", &members)
    }

    /// A function that control-flow guard lets be called, and some bytes more; with its length.
    pub(super) fn guard_entry_type(&mut self, extra: u32) -> (TypeId, u32) {
        let offset = self.sized("ImageBaseOffset32").0;
        let mut members = vec![(offset, 4, "Offset", "")];
        if extra > 0 {
            members.push((self.array("byte", extra).0, extra, "Pad", ""));
        }
        (self.structure("/CFG", "GuardCfgTableEntry", &members), 4 + extra)
    }

    pub(super) fn resource_directory_type(&mut self) -> TypeId {
        const NAME: &str = "IMAGE_RESOURCE_DIRECTORY";
        if let Some(known) = self.program.types.named(NAME).next() {
            return known;
        }
        let (word, dword) = (self.sized("word").0, self.sized("dword").0);
        let members = [
            (dword, 4, "Characteristics", ""),
            (dword, 4, "TimeDateStamp", ""),
            (word, 2, "MajorVersion", ""),
            (word, 2, "MinorVersion", ""),
            (word, 2, "NumberOfNamedEntries", ""),
            (word, 2, "NumberOfIdEntries", ""),
        ];
        self.structure("/PE", NAME, &members)
    }

    pub(super) fn resource_entry_type(&mut self) -> TypeId {
        const NAME: &str = "IMAGE_RESOURCE_DIRECTORY_ENTRY";
        if let Some(known) = self.program.types.named(NAME).next() {
            return known;
        }
        let dword = self.sized("dword").0;
        let members = [(dword, 4, "NameUnion", ""), (dword, 4, "DirectoryUnion", "")];
        self.structure("/PE", NAME, &members)
    }

    pub(super) fn resource_data_type(&mut self) -> TypeId {
        const NAME: &str = "IMAGE_RESOURCE_DATA_ENTRY";
        if let Some(known) = self.program.types.named(NAME).next() {
            return known;
        }
        let dword = self.sized("dword").0;
        let members = [
            (dword, 4, "OffsetToData", ""),
            (dword, 4, "Size", ""),
            (dword, 4, "CodePage", ""),
            (dword, 4, "Reserved", ""),
        ];
        self.structure("/PE", NAME, &members)
    }

    /// A counted text of some bytes.
    pub(super) fn resource_text_type(&mut self, length: u32) -> TypeId {
        let name = format!("IMAGE_RESOURCE_DIR_STRING_U_{length}");
        if let Some(known) = self.program.types.named(&name).next() {
            return known;
        }
        let (word, text) = (self.sized("word").0, self.sized("unicode").0);
        let members = [(word, 2, "Length", ""), (text, length, "NameString", "")];
        self.structure("/PE", &name, &members)
    }
}
