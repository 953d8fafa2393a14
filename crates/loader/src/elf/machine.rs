//! Which language and compiler specification an ELF header calls for.

use super::file::{ElfFile, Header};
use crate::language::Language;
use crate::{LoadError, LoadOptions};
use object::elf as e;

/// Code is of the compact kind.
const EF_MIPS_MICROMIPS: u32 = 0x0200_0000;

const SUPPORTED: &str = "x86, x86-64, ARM, AArch64, MIPS, PowerPC and RISC-V";

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
        _ => return None,
    };
    Some((id, compiler))
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
        e::EM_SPARC | e::EM_SPARCV9 | e::EM_SPARC32PLUS => "SPARC",
        e::EM_68K => "Motorola 68000",
        e::EM_PARISC => "HP PA-RISC",
        e::EM_S390 => "IBM S/390",
        e::EM_SH => "SuperH",
        e::EM_IA_64 => "Intel Itanium",
        e::EM_AVR => "Atmel AVR",
        e::EM_MSP430 => "MSP430",
        e::EM_XTENSA => "Xtensa",
        e::EM_BPF => "Linux BPF",
        e::EM_LOONGARCH => "LoongArch",
        e::EM_ALPHA => "Alpha",
        e::EM_HEXAGON => "Hexagon",
        _ => "an unknown machine",
    };
    format!("{name} (e_machine {machine})")
}
