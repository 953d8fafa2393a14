//! Which language and compiler specification an ELF header calls for: the variant that Ghidra's
//! opinions choose, where they leave a choice the one that Ghidra takes first.

use super::attributes::states_altivec;
use super::file::{ElfFile, Header};
use crate::language::Language;
use crate::{LoadError, LoadOptions};
use object::elf as e;

/// Code is of the compact kind.
const EF_MIPS_MICROMIPS: u32 = 0x0200_0000;

const SUPPORTED: &str = "x86, x86-64, ARM, AArch64, MIPS, PowerPC, RISC-V, \
     68000, SPARC, SuperH, LoongArch, AVR, MSP430, Xtensa, TriCore, PA-RISC, NDS32, AVR32, CR16, HC08 and eBPF";

/// Xtensa's number before it had one of its own.
const EM_XTENSA_OLD: u16 = 0xabc7;
/// AVR32's.
const EM_AVR32_OLD: u16 = 0x18ad;
const EM_CR16: u16 = 177;
const EM_NDS32: u16 = 167;
/// The part of AVR's flags that names the machine.
const EF_AVR_MACH: u32 = 0x7f;
/// The flags of an MSP430 program with 20-bit addresses.
const EF_MSP430X: u32 = 0x2d;

/// The language of a file, unless the options know better.
pub(crate) fn language(file: &ElfFile, options: &LoadOptions) -> Result<Language, LoadError> {
    let header = &file.header;
    let natural = natural(header).map(|natural| by_attributes(file, natural));
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

/// Code for AltiVec's registers: where the embedded cores that Ghidra takes have others.
fn by_attributes(file: &ElfFile, natural: (String, &'static str)) -> (String, &'static str) {
    match natural.0.as_str() {
        "PowerPC:BE:32:e500" if states_altivec(file) => {
            ("PowerPC:BE:32:default".to_owned(), natural.1)
        }
        _ => natural,
    }
}

fn natural(header: &Header) -> Option<(String, &'static str)> {
    let endian = if header.big_endian { "BE" } else { "LE" };
    let (id, compiler) = match header.machine {
        e::EM_386 | e::EM_IAMCU => ("x86:LE:32:default".to_owned(), "gcc"),
        e::EM_X86_64 if header.is_64 => ("x86:LE:64:default".to_owned(), "gcc"),
        e::EM_X86_64 => ("x86:LE:64:compat32".to_owned(), "gcc"),
        e::EM_AARCH64 if header.is_64 => (format!("AARCH64:{endian}:64:v8A"), "default"),
        e::EM_AARCH64 => (format!("AARCH64:{endian}:32:ilp32"), "default"),
        // Big-endian data with code stored the other way round.
        e::EM_ARM if header.big_endian && header.flags & e::EF_ARM_BE8 != 0 => {
            ("ARM:LEBE:32:v8LEInstruction".to_owned(), "default")
        }
        e::EM_ARM => (format!("ARM:{endian}:32:v8"), "default"),
        e::EM_MIPS | e::EM_MIPS_RS3_LE => mips(header, endian),
        // Embedded cores, and the 64-bit architecture with vectors: what Ghidra takes of the many
        // that fit, and the only ones that know `isel` and VSX.
        e::EM_PPC if header.big_endian => ("PowerPC:BE:32:e500".to_owned(), "default"),
        e::EM_PPC => ("PowerPC:LE:32:4xx".to_owned(), "default"),
        e::EM_PPC64 => (format!("PowerPC:{endian}:64:A2ALT"), "default"),
        e::EM_RISCV if header.is_64 => (format!("RISCV:{endian}:64:default"), "gcc"),
        e::EM_RISCV => (format!("RISCV:{endian}:32:AndeStar_v5"), "gcc"),
        e::EM_AVR => (avr(header), "gcc"),
        _ => (further(header, endian)?, "default"),
    };
    Some((id, compiler))
}

/// Processors that are met less often.
fn further(header: &Header, endian: &str) -> Option<String> {
    let bits = if header.is_64 { 64 } else { 32 };
    let id = match header.machine {
        e::EM_68K => "68000:BE:32:Coldfire",
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

/// AVR by its machine number: how wide its program counter is and where its registers lie.
fn avr(header: &Header) -> String {
    let variant = match header.flags & EF_AVR_MACH {
        6 => "16:atmega256",
        51 => "16:extended",
        100.. => "24:xmega",
        _ => "16:default",
    };
    format!("avr8:LE:{variant}")
}

/// MIPS by instruction set, ABI and compact code. Programs with 32-bit addresses for a 64-bit
/// processor have languages of their own.
fn mips(header: &Header, endian: &str) -> (String, &'static str) {
    let set = header.flags & e::EF_MIPS_ARCH;
    let release_6 = matches!(set, e::EF_MIPS_ARCH_32R6 | e::EF_MIPS_ARCH_64R6);
    let micro = header.flags & EF_MIPS_MICROMIPS != 0;
    if header.is_64 {
        let variant = mips_variant(micro, release_6);
        return (format!("MIPS:{endian}:64:{variant}"), "default");
    }
    let abi = header.flags & e::EF_MIPS_ABI;
    let n32 = header.flags & e::EF_MIPS_ABI2 != 0;
    let wide_set = match set {
        e::EF_MIPS_ARCH_64 | e::EF_MIPS_ARCH_64R2 | e::EF_MIPS_ARCH_64R6 => true,
        // What runs on both kinds tells by its ABI.
        _ => n32,
    };
    if !wide_set {
        let eabi = abi == e::EF_MIPS_ABI_EABI32 && !release_6 && !micro;
        let compiler = if eabi { "eabi" } else { "default" };
        return (format!("MIPS:{endian}:32:{}", mips_variant(micro, release_6)), compiler);
    }
    let variant = match (micro, release_6) {
        (true, _) => "micro64-32addr",
        (_, true) => "64-32R6addr",
        _ => "64-32addr",
    };
    let compiler = match abi {
        _ if n32 => "n32",
        e::EF_MIPS_ABI_O32 if set == e::EF_MIPS_ARCH_64R2 => "o32",
        e::EF_MIPS_ABI_O64 if set == e::EF_MIPS_ARCH_64R2 => "o64",
        _ => "default",
    };
    (format!("MIPS:{endian}:64:{variant}"), compiler)
}

fn mips_variant(micro: bool, release_6: bool) -> &'static str {
    match (micro, release_6) {
        (true, _) => "micro",
        (_, true) => "R6",
        _ => "default",
    }
}

fn machine_name(machine: u16) -> String {
    let name = match machine {
        e::EM_NONE => "no machine",
        e::EM_M32 => "AT&T WE 32100",
        e::EM_PARISC => "HP PA-RISC with 64 bits",
        e::EM_S390 => "IBM S/390",
        e::EM_IA_64 => "Intel Itanium",
        e::EM_ALPHA => "Alpha",
        _ => "an unknown machine",
    };
    format!("{name} (e_machine {machine})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variant_follows_instruction_set_abi_and_byte_order() {
        let header = |machine, is_64, big_endian, flags| Header {
            is_64,
            big_endian,
            machine,
            flags,
            ..Header::default()
        };
        let rows = [
            (header(e::EM_PPC, false, true, 0), "PowerPC:BE:32:e500", "default"),
            (header(e::EM_PPC, false, false, 0), "PowerPC:LE:32:4xx", "default"),
            (header(e::EM_PPC64, true, false, 2), "PowerPC:LE:64:A2ALT", "default"),
            (header(e::EM_PPC64, true, true, 1), "PowerPC:BE:64:A2ALT", "default"),
            (header(e::EM_68K, false, true, 0), "68000:BE:32:Coldfire", "default"),
            (header(e::EM_AARCH64, false, false, 0), "AARCH64:LE:32:ilp32", "default"),
            (header(e::EM_RISCV, true, false, 5), "RISCV:LE:64:default", "gcc"),
            (header(e::EM_AVR, false, false, 0x85), "avr8:LE:16:default", "gcc"),
            (header(e::EM_AVR, false, false, 0x86), "avr8:LE:16:atmega256", "gcc"),
            (header(e::EM_AVR, false, false, 104), "avr8:LE:24:xmega", "gcc"),
            (header(e::EM_MIPS, false, false, 0x7000_1007), "MIPS:LE:32:default", "default"),
            (header(e::EM_MIPS, false, true, 0x7000_3001), "MIPS:BE:32:default", "eabi"),
            (header(e::EM_MIPS, false, true, 0x2000_1000), "MIPS:BE:32:default", "default"),
            (header(e::EM_MIPS, false, true, 0x2000_0020), "MIPS:BE:64:64-32addr", "n32"),
            (header(e::EM_MIPS, false, true, 0x8000_1000), "MIPS:BE:64:64-32addr", "o32"),
            (header(e::EM_MIPS, false, false, 0xa000_0020), "MIPS:LE:64:64-32R6addr", "n32"),
            (header(e::EM_MIPS, false, false, 0x7200_1000), "MIPS:LE:32:micro", "default"),
            (header(e::EM_MIPS, false, false, 0x9000_1400), "MIPS:LE:32:R6", "default"),
            (header(e::EM_MIPS, true, false, 0x8000_0007), "MIPS:LE:64:default", "default"),
        ];
        for (header, id, compiler) in rows {
            assert_eq!(natural(&header), Some((id.to_owned(), compiler)), "{header:?}");
        }
    }
}
