//! Tags of the dynamic table: number, name, description, and what the value is.

use DynamicValue::{Address, Text, Value};

/// What the value of a dynamic entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DynamicValue {
    /// A number.
    Value,
    /// An address of the file's own.
    Address,
    /// An offset in the dynamic string table.
    Text,
}

/// One tag.
pub(crate) type DynamicTag = (u32, &'static str, &'static str, DynamicValue);

/// Tags that every machine knows, in numeric order.
#[rustfmt::skip]
pub(crate) const COMMON: &[DynamicTag] = &[
    (0, "DT_NULL", "Marks end of dynamic section", Value),
    (1, "DT_NEEDED", "Name of needed library", Text),
    (2, "DT_PLTRELSZ", "Size in bytes of PLT relocs", Value),
    (3, "DT_PLTGOT", "Processor defined value", Address),
    (4, "DT_HASH", "Address of symbol hash table", Address),
    (5, "DT_STRTAB", "Address of string table", Address),
    (6, "DT_SYMTAB", "Address of symbol table", Address),
    (7, "DT_RELA", "Address of Rela relocs", Address),
    (8, "DT_RELASZ", "Total size of Rela relocs", Value),
    (9, "DT_RELAENT", "Size of one Rela reloc", Value),
    (10, "DT_STRSZ", "Size of string table", Value),
    (11, "DT_SYMENT", "Size of one symbol table entry", Value),
    (12, "DT_INIT", "Address of init function", Address),
    (13, "DT_FINI", "Address of termination function", Address),
    (14, "DT_SONAME", "Name of shared object (string ref)", Text),
    (15, "DT_RPATH", "Library search path", Text),
    (16, "DT_SYMBOLIC", "Start symbol search here", Value),
    (17, "DT_REL", "Address of Rel relocs", Address),
    (18, "DT_RELSZ", "Total size of Rel relocs", Value),
    (19, "DT_RELENT", "Size of one Rel reloc", Value),
    (20, "DT_PLTREL", "Type of reloc in PLT", Value),
    (21, "DT_DEBUG", "For debugging (unspecified)", Value),
    (22, "DT_TEXTREL", "Reloc might modify .text", Value),
    (23, "DT_JMPREL", "Address of PLT relocs", Address),
    (24, "DT_BIND_NOW", "Process relocations of object", Value),
    (25, "DT_INIT_ARRAY", "Address of array with addresses of init fct", Address),
    (26, "DT_FINI_ARRAY", "Address of array with addresses of fini fct", Address),
    (27, "DT_INIT_ARRAYSZ", "Size in bytes of DT_INIT_ARRAY", Value),
    (28, "DT_FINI_ARRAYSZ", "Size in bytes of DT_FINI_ARRAY", Value),
    (29, "DT_RUNPATH", "Library search path (string ref)", Text),
    (30, "DT_FLAGS", "Flags for the object being loaded", Value),
    (32, "DT_PREINIT_ARRAY", "Array with addresses of preinit fct", Address),
    (33, "DT_PREINIT_ARRAYSZ", "Size in bytes of DT_PREINIT_ARRAY", Value),
    (35, "DT_RELRSZ", "Total size of Relr relocs", Value),
    (36, "DT_RELR", "Address of Relr relocs", Address),
    (37, "DT_RELRENT", "Size of Relr reloc entry", Value),
    (0x6000_000f, "DT_ANDROID_REL", "Address of Rel relocs", Address),
    (0x6000_0010, "DT_ANDROID_RELSZ", "Total size of Rel relocs", Value),
    (0x6000_0011, "DT_ANDROID_RELA", "Address of Rela relocs", Address),
    (0x6000_0012, "DT_ANDROID_RELASZ", "Total size of Rela relocs", Value),
    (0x6fff_e000, "DT_ANDROID_RELR", "Address of Relr relocs", Address),
    (0x6fff_e001, "DT_ANDROID_RELRSZ", "Total size of Relr relocs", Value),
    (0x6fff_e003, "DT_ANDROID_RELRENT", "Size of Relr reloc entry", Value),
    (0x6fff_fdf5, "DT_GNU_PRELINKED", "Prelinking timestamp", Value),
    (0x6fff_fdf6, "DT_GNU_CONFLICTSZ", "Size of conflict section", Value),
    (0x6fff_fdf7, "DT_GNU_LIBLISTSZ", "Size of library list", Value),
    (0x6fff_fdf8, "DT_CHECKSUM", "", Value),
    (0x6fff_fdf9, "DT_PLTPADSZ", "", Value),
    (0x6fff_fdfa, "DT_MOVEENT", "", Value),
    (0x6fff_fdfb, "DT_MOVESZ", "", Value),
    (0x6fff_fdfc, "DT_FEATURE_1", "", Value),
    (0x6fff_fdfd, "DT_POSFLAG_1", "", Value),
    (0x6fff_fdfe, "DT_SYMINSZ", "", Value),
    (0x6fff_fdff, "DT_SYMINENT", "", Value),
    (0x6fff_fef4, "DT_GNU_XHASH", "GNU-style extended hash table", Address),
    (0x6fff_fef5, "DT_GNU_HASH", "GNU-style hash table", Address),
    (0x6fff_fef6, "DT_TLSDESC_PLT", "", Value),
    (0x6fff_fef7, "DT_TLSDESC_GOT", "", Value),
    (0x6fff_fef8, "DT_GNU_CONFLICT", "Start of conflict section", Address),
    (0x6fff_fef9, "DT_GNU_LIBLIST", "Library list", Value),
    (0x6fff_fefa, "DT_CONFIG", "Configuration information", Value),
    (0x6fff_fefb, "DT_DEPAUDIT", "Dependency auditing", Value),
    (0x6fff_fefc, "DT_AUDIT", "Object auditing", Value),
    (0x6fff_fefd, "DT_PLTPAD", "PLT padding", Value),
    (0x6fff_fefe, "DT_MOVETAB", "Move table", Address),
    (0x6fff_feff, "DT_SYMINFO", "Syminfo table", Address),
    (0x6fff_fff0, "DT_VERSYM", "Address of symbol version table", Address),
    (0x6fff_fff9, "DT_RELACOUNT", "", Value),
    (0x6fff_fffa, "DT_RELCOUNT", "", Value),
    (0x6fff_fffb, "DT_FLAGS_1", "State flags", Value),
    (0x6fff_fffc, "DT_VERDEF", "Address of version definition table", Address),
    (0x6fff_fffd, "DT_VERDEFNUM", "Number of version definitions", Value),
    (0x6fff_fffe, "DT_VERNEED", "Address of table with needed versions", Address),
    (0x6fff_ffff, "DT_VERNEEDNUM", "Number of needed versions", Value),
    (0x7fff_fffd, "DT_AUXILIARY", "Shared object to load before self", Value),
    (0x7fff_ffff, "DT_FILTER", "Shared object to get values from", Value),
];

/// Tags of MIPS.
#[rustfmt::skip]
const MIPS: &[DynamicTag] = &[
    (0x7000_0001, "DT_MIPS_RLD_VERSION", "32 bit version number for runtime linker interface", Value),
    (0x7000_0002, "DT_MIPS_TIME_STAMP", "", Value),
    (0x7000_0003, "DT_MIPS_ICHECKSUM", "", Value),
    (0x7000_0004, "DT_MIPS_IVERSION", "", Value),
    (0x7000_0005, "DT_MIPS_FLAGS", "32 bits of flags", Value),
    (0x7000_0006, "DT_MIPS_BASE_ADDRESS", "Base address of the segment", Value),
    (0x7000_0007, "DT_MIPS_MSYM", "", Value),
    (0x7000_0008, "DT_MIPS_CONFLICT", "", Address),
    (0x7000_0009, "DT_MIPS_LIBLIST", "", Address),
    (0x7000_000a, "DT_MIPS_LOCAL_GOTNO", "Number of local global offset table entries", Value),
    (0x7000_000b, "DT_MIPS_CONFLICTNO", "", Value),
    (0x7000_0010, "DT_MIPS_LIBLISTNO", "", Value),
    (0x7000_0011, "DT_MIPS_SYMTABNO", "Number of entries in the .dynsym section", Value),
    (0x7000_0012, "DT_MIPS_UNREFEXTNO", "Index of first external dynamic symbol not referenced locally", Value),
    (0x7000_0013, "DT_MIPS_GOTSYM", "Index of first dynamic symbol in global offset table", Value),
    (0x7000_0014, "DT_MIPS_HIPAGENO", "", Value),
    (0x7000_0016, "DT_MIPS_RLD_MAP", "", Value),
    (0x7000_0017, "DT_MIPS_DELTA_CLASS", "", Value),
    (0x7000_0018, "DT_MIPS_DELTA_CLASS_NO", "", Value),
    (0x7000_0019, "DT_MIPS_DELTA_INSTANCE", "", Value),
    (0x7000_001a, "DT_MIPS_DELTA_INSTANCE_NO", "", Value),
    (0x7000_001b, "DT_MIPS_DELTA_RELOC", "", Value),
    (0x7000_001c, "DT_MIPS_DELTA_RELOC_NO", "", Value),
    (0x7000_001d, "DT_MIPS_DELTA_SYM", "", Value),
    (0x7000_001e, "DT_MIPS_DELTA_SYM_NO", "", Value),
    (0x7000_0020, "DT_MIPS_DELTA_CLASSSYM", "", Value),
    (0x7000_0021, "DT_MIPS_DELTA_CLASSSYM_NO", "", Value),
    (0x7000_0022, "DT_MIPS_CXX_FLAGS", "", Value),
    (0x7000_0023, "DT_MIPS_PIXIE_INIT", "", Value),
    (0x7000_0024, "DT_MIPS_SYMBOL_LIB", "", Value),
    (0x7000_0025, "DT_MIPS_LOCALPAGE_GOTIDX", "", Value),
    (0x7000_0026, "DT_MIPS_LOCAL_GOTIDX", "", Value),
    (0x7000_0027, "DT_MIPS_HIDDEN_GOTIDX", "", Value),
    (0x7000_0028, "DT_MIPS_PROTECTED_GOTIDX", "", Value),
    (0x7000_0029, "DT_MIPS_OPTIONS", "", Address),
    (0x7000_002a, "DT_MIPS_INTERFACE", "", Value),
    (0x7000_002b, "DT_MIPS_DYNSTR_ALIGN", "", Value),
    (0x7000_002c, "DT_MIPS_INTERFACE_SIZE", "", Value),
    (0x7000_002d, "DT_MIPS_RLD_TEXT_RESOLVE_ADDR", "", Value),
    (0x7000_002e, "DT_MIPS_PERF_SUFFIX", "", Value),
    (0x7000_002f, "DT_MIPS_COMPACT_SIZE", "", Value),
    (0x7000_0030, "DT_MIPS_GP_VALUE", "", Value),
    (0x7000_0031, "DT_MIPS_AUX_DYNAMIC", "", Value),
    (0x7000_0032, "DT_MIPS_PLTGOT", "", Address),
    (0x7000_0034, "DT_MIPS_RWPLT", "", Value),
    (0x7000_0035, "DT_MIPS_RLD_MAP_REL", "Relative offset of run time loader map, used for debugging", Value),
];

/// The tags of a machine beyond the common ones.
pub(crate) fn special(machine: u16) -> &'static [DynamicTag] {
    if machine == object::elf::EM_MIPS { MIPS } else { &[] }
}

/// A tag by number.
pub(crate) fn find(machine: u16, tag: u64) -> Option<&'static DynamicTag> {
    special(machine).iter().chain(COMMON).find(|t| u64::from(t.0) == tag)
}
