//! Names and descriptions of ELF constants, as blocks, comments and enums
//! spell them.

use object::elf as e;

/// One processor's own constants.
struct Special {
    machine: u16,
    /// Suffix of the processor's own types.
    suffix: &'static str,
    sections: &'static [(u32, &'static str)],
    segments: &'static [(u32, &'static str, &'static str)],
}

/// Section types that every machine knows, in numeric order.
pub(crate) const SECTION_TYPES: &[(u32, &str)] = &[
    (0, "SHT_NULL"),
    (1, "SHT_PROGBITS"),
    (2, "SHT_SYMTAB"),
    (3, "SHT_STRTAB"),
    (4, "SHT_RELA"),
    (5, "SHT_HASH"),
    (6, "SHT_DYNAMIC"),
    (7, "SHT_NOTE"),
    (8, "SHT_NOBITS"),
    (9, "SHT_REL"),
    (10, "SHT_SHLIB"),
    (11, "SHT_DYNSYM"),
    (14, "SHT_INIT_ARRAY"),
    (15, "SHT_FINI_ARRAY"),
    (16, "SHT_PREINIT_ARRAY"),
    (17, "SHT_GROUP"),
    (18, "SHT_SYMTAB_SHNDX"),
    (0x6000_0001, "SHT_ANDROID_REL"),
    (0x6000_0002, "SHT_ANDROID_RELA"),
    (0x6fff_fff5, "SHT_GNU_ATTRIBUTES"),
    (0x6fff_fff6, "SHT_GNU_HASH"),
    (0x6fff_fff7, "SHT_GNU_LIBLIST"),
    (0x6fff_fff8, "SHT_CHECKSUM"),
    (0x6fff_fffa, "SHT_SUNW_move"),
    (0x6fff_fffb, "SHT_SUNW_COMDAT"),
    (0x6fff_fffc, "SHT_SUNW_syminfo"),
    (0x6fff_fffd, "SHT_GNU_verdef"),
    (0x6fff_fffe, "SHT_GNU_verneed"),
    (0x6fff_ffff, "SHT_GNU_versym"),
];

/// Segment types that every machine knows: number, name, description.
pub(crate) const SEGMENT_TYPES: &[(u32, &str, &str)] = &[
    (0, "PT_NULL", "Unused/Undefined segment"),
    (1, "PT_LOAD", "Loadable segment"),
    (2, "PT_DYNAMIC", "Dynamic linking information"),
    (3, "PT_INTERP", "Interpreter path name"),
    (4, "PT_NOTE", "Auxiliary information location"),
    (5, "PT_SHLIB", ""),
    (6, "PT_PHDR", "Program header table"),
    (7, "PT_TLS", "Thread-Local Storage template"),
    (0x6474_e550, "PT_GNU_EH_FRAME", "GCC .eh_frame_hdr segment"),
    (0x6474_e551, "PT_GNU_STACK", "Indicates stack executability"),
    (0x6474_e552, "PT_GNU_RELRO", "Specifies segments which may be read-only post-relocation"),
];

const MIPS_SECTIONS: &[(u32, &str)] = &[
    (0x7000_0000, "SHT_MIPS_LIBLIST"),
    (0x7000_0001, "SHT_MIPS_MSYM"),
    (0x7000_0002, "SHT_MIPS_CONFLICT"),
    (0x7000_0003, "SHT_MIPS_GPTAB"),
    (0x7000_0004, "SHT_MIPS_UCODE"),
    (0x7000_0005, "SHT_MIPS_DEBUG"),
    (0x7000_0006, "SHT_MIPS_REGINFO"),
    (0x7000_0007, "SHT_MIPS_PACKAGE"),
    (0x7000_0008, "SHT_MIPS_PACKSYM"),
    (0x7000_0009, "SHT_MIPS_RELD"),
    (0x7000_000b, ""),
    (0x7000_000c, "SHT_MIPS_CONTENT"),
    (0x7000_000d, "SHT_MIPS_OPTIONS"),
    (0x7000_0010, "SHT_MIPS_SHDR"),
    (0x7000_0011, "SHT_MIPS_FDESC"),
    (0x7000_0012, "SHT_MIPS_EXTSYM"),
    (0x7000_0013, "SHT_MIPS_DENSE"),
    (0x7000_0014, "SHT_MIPS_PDESC"),
    (0x7000_0015, "SHT_MIPS_LOCSYM"),
    (0x7000_0016, "SHT_MIPS_AUXSYM"),
    (0x7000_0017, "SHT_MIPS_OPTSYM"),
    (0x7000_0018, "SHT_MIPS_LOCSTR"),
    (0x7000_0019, "SHT_MIPS_LINE"),
    (0x7000_001a, "SHT_MIPS_RFDESC"),
    (0x7000_001b, "SHT_MIPS_DELTASYM"),
    (0x7000_001c, "SHT_MIPS_DELTAINST"),
    (0x7000_001d, "SHT_MIPS_DELTACLASS"),
    (0x7000_001e, "SHT_MIPS_DWARF"),
    (0x7000_001f, "SHT_MIPS_DELTADECL"),
    (0x7000_0020, "SHT_MIPS_SYMBOL_LIB"),
    (0x7000_0021, "SHT_MIPS_EVENTS"),
    (0x7000_0022, "SHT_MIPS_TRANSLATE"),
    (0x7000_0023, "SHT_MIPS_PIXIE"),
    (0x7000_0024, "SHT_MIPS_XLATE"),
    (0x7000_0025, "SHT_MIPS_XLATE_DEBUG"),
    (0x7000_0026, "SHT_MIPS_WHIRL"),
    (0x7000_0027, "SHT_MIPS_EH_REGION"),
    (0x7000_0028, "SHT_MIPS_XLATE_OLD"),
    (0x7000_0029, "SHT_MIPS_PDR_EXCEPTION"),
    (0x7000_002a, "SHT_MIPS_ABIFLAGS"),
    (0x7000_00a0, "SHT_MIPS_PSPREL"),
];

const SPECIALS: &[Special] = &[
    Special { machine: e::EM_386, suffix: "_x86", sections: &[], segments: &[] },
    Special {
        machine: e::EM_AARCH64,
        suffix: "_AARCH64",
        sections: &[(0x7000_0003, "SHT_AARCH64_ATTRIBUTES")],
        segments: &[(0x7000_0000, "PT_AARCH64_ARCHEXT", "AARCH64 extension")],
    },
    Special {
        machine: e::EM_ARM,
        suffix: "_ARM",
        sections: &[
            (0x7000_0001, "SHT_ARM_EXIDX"),
            (0x7000_0002, "SHT_ARM_PREEMPTMAP"),
            (0x7000_0003, "SHT_ARM_ATTRIBUTES"),
            (0x7000_0004, "SHT_ARM_DEBUGOVERLAY"),
            (0x7000_0005, "SHT_ARM_OVERLAYSECTION"),
        ],
        segments: &[(0x7000_0000, "PT_ARM_EXIDX", "Frame unwind information")],
    },
    Special {
        machine: e::EM_MIPS,
        suffix: "_MIPS",
        sections: MIPS_SECTIONS,
        segments: &[
            (
                0x7000_0000,
                "PT_MIPS_REGINFO",
                "Register usage information.  Identifies one .reginfo section",
            ),
            (0x7000_0001, "PT_MIPS_RTPROC", "Runtime procedure table"),
            (0x7000_0002, "PT_MIPS_OPTIONS", ".MIPS.options section"),
            (0x7000_0003, "PT_MIPS_ABIFLAGS", "Records ABI related flags"),
            (0x7000_00a0, "PT_MIPS_PSPREL1", ""),
            (0x7000_00a1, "PT_MIPS_PSPREL2", ""),
        ],
    },
    Special { machine: e::EM_RISCV, suffix: "_RISCV", sections: &[], segments: &[] },
    Special { machine: e::EM_PPC, suffix: "_PPC", sections: &[], segments: &[] },
    Special { machine: e::EM_PPC64, suffix: "_PPC64", sections: &[], segments: &[] },
];

fn special(machine: u16) -> Option<&'static Special> {
    SPECIALS.iter().find(|s| s.machine == machine)
}

/// Suffix of the names of a machine's own types; empty for most.
pub(crate) fn type_suffix(machine: u16) -> &'static str {
    special(machine).map_or("", |s| s.suffix)
}

/// The section types of a machine beyond the common ones.
pub(crate) fn special_sections(machine: u16) -> &'static [(u32, &'static str)] {
    special(machine).map_or(&[], |s| s.sections)
}

/// The segment types of a machine beyond the common ones.
pub(crate) fn special_segments(machine: u16) -> &'static [(u32, &'static str, &'static str)] {
    special(machine).map_or(&[], |s| s.segments)
}

/// The name of a section type.
pub(crate) fn section_type(machine: u16, kind: u32) -> String {
    let known = special_sections(machine).iter().chain(SECTION_TYPES).find(|(k, _)| *k == kind);
    match known {
        Some((_, name)) => (*name).to_owned(),
        None => format!("SHT_0x{kind:08x}"),
    }
}

/// The name and description of a segment type.
fn segment_type(machine: u16, kind: u32) -> Option<(&'static str, &'static str)> {
    let mut known = special_segments(machine).iter().chain(SEGMENT_TYPES);
    known.find(|(k, _, _)| *k == kind).map(|(_, name, text)| (*name, *text))
}

/// What a segment type means; its name when nobody described it.
pub(crate) fn segment_description(machine: u16, kind: u32) -> String {
    match segment_type(machine, kind) {
        Some((_, text)) if !text.is_empty() => text.to_owned(),
        Some((name, _)) => name.to_owned(),
        None => format!("PT_0x{kind:08x}"),
    }
}

/// The comment on a program header.
pub(crate) fn segment_comment(machine: u16, kind: u32) -> String {
    match segment_type(machine, kind) {
        Some((name, text)) if !text.is_empty() => format!("{name} - {text}"),
        Some((name, _)) => name.to_owned(),
        None => format!("PT_0x{kind:08x}"),
    }
}
