//! Which language and compiler specification an ELF header calls for.

use super::file::{ElfFile, Header};
use crate::language::Language;
use crate::{LoadError, LoadOptions};
use object::elf as e;

/// Code is of the compact kind.
const EF_MIPS_MICROMIPS: u32 = 0x0200_0000;

const SUPPORTED: &str = "x86, x86-64, ARM, AArch64, MIPS, PowerPC, RISC-V, \
     68000, SPARC, SuperH, LoongArch, MSP430, Xtensa, TriCore, PA-RISC, NDS32, AVR32, CR16, HC08 and eBPF";

/// Xtensa's number before it had one of its own.
const EM_XTENSA_OLD: u16 = 0xabc7;
/// AVR32's.
const EM_AVR32_OLD: u16 = 0x18ad;
const EM_CR16: u16 = 177;
const EM_NDS32: u16 = 167;
/// The flags of an MSP430 program with 20-bit addresses.
const EF_MSP430X: u32 = 0x2d;

/// The language of a file, unless the options know better.
pub(crate) fn language(file: &ElfFile, options: &LoadOptions) -> Result<Language, LoadError> {
    let header = &file.header;
    let natural = natural(header);
    let (id, compiler) = match (&options.language, &natural) {
        (Some(id), natural) => (id.clone(), natural.as_ref().map_or("default", |(_, c)| c)),
        (None, Some((id, compiler))) => (id.clone(), *compiler),
        (None, None) => {
            return Err(LoadError::UnsupportedMachine {
                format: "ELF",
                machine: machine_name(header.machine),
                supported: SUPPORTED,
            });
        }
    };
    let go = Language::has_go(&id) && Language::is_go(file.sections.iter().map(|s| &*s.name));
    let compiler = if go { "golang" } else { compiler };
    Language::new(&id, options.compiler_spec.as_deref().unwrap_or(compiler))
}

fn natural(header: &Header) -> Option<(String, &'static str)> {
    let endian = if header.big_endian { "BE" } else { "LE" };
    let bits = if header.is_64 { 64 } else { 32 };
    let (id, compiler) = match header.machine {
        e::EM_386 | e::EM_IAMCU => ("x86:LE:32:default".to_owned(), "gcc"),
        e::EM_X86_64 if header.is_64 => ("x86:LE:64:default".to_owned(), "gcc"),
        e::EM_X86_64 => ("x86:LE:64:compat32".to_owned(), "gcc"),
        e::EM_AARCH64 if header.is_64 => (format!("AARCH64:{endian}:64:v8A"), "default"),
        e::EM_AARCH64 => (format!("AARCH64:{endian}:64:v8A"), "ilp32"),
        // Big-endian data with code stored the other way round.
        e::EM_ARM if header.big_endian && header.flags & e::EF_ARM_BE8 != 0 => {
            ("ARM:LEBE:32:v8LEInstruction".to_owned(), "default")
        }
        e::EM_ARM => (format!("ARM:{endian}:32:v8"), "default"),
        e::EM_MIPS | e::EM_MIPS_RS3_LE => (mips(header, endian), mips_compiler(header)),
        e::EM_PPC => (format!("PowerPC:{endian}:32:default"), "default"),
        e::EM_PPC64 => (format!("PowerPC:{endian}:64:default"), "default"),
        e::EM_RISCV => (format!("RISCV:{endian}:{bits}:default"), "gcc"),
        _ => (further(header, endian)?, "default"),
    };
    Some((id, compiler))
}

/// Processors that are met less often.
fn further(header: &Header, endian: &str) -> Option<String> {
    let bits = if header.is_64 { 64 } else { 32 };
    let id = match header.machine {
        e::EM_68K => "68000:BE:32:default",
        e::EM_SPARC | e::EM_SPARC32PLUS => "sparc:BE:32:default",
        e::EM_SPARCV9 => "sparc:BE:64:default",
        e::EM_PARISC if !header.is_64 => "pa-risc:BE:32:default",
        e::EM_HEXAGON => "Hexagon:LE:32:default",
        e::EM_MSP430 if header.flags == EF_MSP430X => "TI_MSP430X:LE:32:default",
        e::EM_MSP430 => "TI_MSP430:LE:16:default",
        e::EM_V800 | e::EM_V850 if header.flags >> 28 == 0xf => "V850:LE:32:v850e3v5",
        e::EM_V800 | e::EM_V850 => "V850:LE:32:default",
        e::EM_TRICORE => "tricore:LE:32:default",
        e::EM_AVR32 | EM_AVR32_OLD => "avr32:BE:32:default",
        e::EM_68HC08 | e::EM_68HC05 => "HCS08:BE:16:default",
        EM_CR16 => "CR16C:LE:16:default",
        e::EM_SH => return Some(format!("SuperH4:{endian}:32:default")),
        e::EM_XTENSA | EM_XTENSA_OLD => return Some(format!("Xtensa:{endian}:32:default")),
        EM_NDS32 => return Some(format!("NDS32:{endian}:32:default")),
        e::EM_BPF => return Some(format!("eBPF:{endian}:64:default")),
        e::EM_LOONGARCH => {
            let single = header.flags & e::EF_LARCH_ABI_MODIFIER_MASK
                == e::EF_LARCH_ABI_SINGLE_FLOAT
                || !header.is_64 && header.flags & 7 == e::EF_LARCH_ABI_SOFT_FLOAT;
            let abi = if header.is_64 { "lp64" } else { "ilp32" };
            return Some(format!("Loongarch:LE:{bits}:{abi}{}", if single { "f" } else { "d" }));
        }
        _ => return None,
    };
    Some(id.to_owned())
}

fn mips(header: &Header, endian: &str) -> String {
    let release_6 =
        matches!(header.flags & e::EF_MIPS_ARCH, e::EF_MIPS_ARCH_32R6 | e::EF_MIPS_ARCH_64R6);
    let bits = if header.is_64 { 64 } else { 32 };
    let micro = header.flags & EF_MIPS_MICROMIPS != 0;
    let n32 = !header.is_64 && header.flags & e::EF_MIPS_ABI2 != 0;
    match (n32, micro, release_6) {
        (true, _, _) => format!("MIPS:{endian}:64:64-32addr"),
        (_, true, _) => format!("MIPS:{endian}:{bits}:micro"),
        (_, _, true) => format!("MIPS:{endian}:{bits}:R6"),
        _ => format!("MIPS:{endian}:{bits}:default"),
    }
}

fn mips_compiler(header: &Header) -> &'static str {
    if !header.is_64 && header.flags & e::EF_MIPS_ABI2 != 0 { "n32" } else { "default" }
}

fn machine_name(machine: u16) -> String {
    let name = match machine {
        e::EM_NONE => "no machine",
        e::EM_M32 => "AT&T WE 32100",
        e::EM_PARISC => "HP PA-RISC with 64 bits",
        e::EM_S390 => "IBM S/390",
        e::EM_IA_64 => "Intel Itanium",
        e::EM_AVR => "Atmel AVR",
        e::EM_ALPHA => "Alpha",
        _ => "an unknown machine",
    };
    format!("{name} (e_machine {machine})")
}
