//! C data model and record-layout rules of the compiler that made a program (ABI): sizes beside
//! those of the compiler specification, alignment caps, bit-field allocation, `va_list`.

use crate::ProgramInfo;

/// How records are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordRules {
    /// As gcc and clang do for System V and its likes; bit-fields may share the unit of a
    /// neighbour of another type.
    Gcc {
        /// Whether bit-fields without a name align the record as well.
        aligned_unnamed: bool,
    },
    /// As gcc does where the type of a bit-field means nothing: one behind the other.
    Untyped {
        /// Where the member after a bit-field without bits starts, in bytes.
        boundary: u32,
    },
    /// As gcc does for Windows: bit-fields as Microsoft, all else as gcc.
    MinGw,
    /// As Microsoft's compilers do.
    Microsoft,
}

impl RecordRules {
    /// Whether the program is one for Windows.
    pub fn is_windows(self) -> bool {
        matches!(self, RecordRules::MinGw | RecordRules::Microsoft)
    }
}

/// What `va_list` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VaList {
    /// A pointer.
    Pointer,
    /// An array of one record: two counts, two pointers.
    Amd64,
    /// A record of three pointers and two offsets.
    Aarch64,
    /// A record of one pointer.
    Arm,
    /// An array of one record: two counts of a byte, two pointers.
    PowerPc,
    /// A record of five pointers.
    SuperH,
    /// A record of two pointers and an index.
    Xtensa,
}

/// What a C compiler decides beside the sizes that the compiler specification fixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compiler {
    /// Size of `int` in bytes.
    pub int: u32,
    /// Size of `long` in bytes as the compiler has it, where the specification says another.
    pub long: u32,
    /// Size of `double` in bytes.
    pub double: u32,
    /// Size of `long double` in bytes as the compiler has it.
    pub long_double: u32,
    /// No number or pointer in a record is aligned to more bytes.
    pub scalar_alignment: u32,
    /// What `aligned` without a number means, in bytes.
    pub biggest_alignment: u32,
    /// How records are laid out.
    pub rules: RecordRules,
    /// Whether the first bits are the most significant ones.
    pub big_endian: bool,
    /// What `va_list` is.
    pub va_list: VaList,
}

impl Default for Compiler {
    /// gcc for x86-64 Linux.
    fn default() -> Compiler {
        Compiler {
            int: 4,
            long: 8,
            double: 8,
            long_double: 16,
            scalar_alignment: 16,
            biggest_alignment: 16,
            rules: RecordRules::Gcc { aligned_unnamed: false },
            big_endian: false,
            va_list: VaList::Amd64,
        }
    }
}

impl Compiler {
    /// The compiler of a program, by its processor and compiler specification. `mingw` says
    /// that gcc made a program for Windows.
    pub fn of(info: &ProgramInfo, mingw: bool) -> Compiler {
        let big_endian = info.language_id.split(':').nth(1) == Some("BE");
        let pointer = (info.address_bits / 8).max(2);
        let windows = info.compiler_spec_id.contains("windows")
            || info.executable_format.contains("(PE)")
            || info.executable_format.starts_with("MS ");
        let mut compiler = by_processor(&info.processor, info.address_bits);
        compiler.big_endian = big_endian;
        compiler.long = compiler.long.min(pointer.max(4));
        let apple = info.executable_format.contains("Mach-O");
        if windows {
            compiler.rules = if mingw { RecordRules::MinGw } else { RecordRules::Microsoft };
            compiler.long = 4;
            compiler.scalar_alignment = compiler.scalar_alignment.max(8);
            compiler.va_list = VaList::Pointer;
            if !mingw {
                compiler.long_double = 8;
            }
        } else if apple && info.processor == "AARCH64" {
            compiler.rules = RecordRules::Gcc { aligned_unnamed: false };
            (compiler.long_double, compiler.va_list) = (8, VaList::Pointer);
        }
        compiler
    }
}

/// What compilers of the family of gcc do on a processor.
fn by_processor(processor: &str, bits: u32) -> Compiler {
    let wide = bits >= 64;
    let unnamed = RecordRules::Gcc { aligned_unnamed: true };
    let common = Compiler {
        long_double: if wide { 16 } else { 8 },
        scalar_alignment: if wide { 16 } else { 8 },
        biggest_alignment: if wide { 16 } else { 8 },
        va_list: VaList::Pointer,
        ..Compiler::default()
    };
    match (processor, wide) {
        ("x86", true) => Compiler::default(),
        ("x86", false) => {
            let sizes = Compiler { long_double: 12, scalar_alignment: 4, ..common };
            Compiler { biggest_alignment: 16, ..sizes }
        }
        ("AARCH64", _) => Compiler { rules: unnamed, va_list: VaList::Aarch64, ..common },
        ("ARM", _) => Compiler { rules: unnamed, va_list: VaList::Arm, ..common },
        ("PowerPC", false) => Compiler {
            long_double: 16,
            scalar_alignment: 16,
            biggest_alignment: 16,
            va_list: VaList::PowerPc,
            ..common
        },
        ("RISCV" | "sparc", _) => {
            Compiler { long_double: 16, scalar_alignment: 16, biggest_alignment: 16, ..common }
        }
        ("68000", _) => {
            let rules = RecordRules::Untyped { boundary: 2 };
            let sizes = Compiler { scalar_alignment: 2, biggest_alignment: 2, ..common };
            Compiler { long_double: 12, rules, ..sizes }
        }
        ("SuperH4" | "SuperH", _) => Compiler {
            scalar_alignment: 4,
            biggest_alignment: 4,
            va_list: VaList::SuperH,
            ..common
        },
        ("Xtensa", _) => Compiler { biggest_alignment: 16, va_list: VaList::Xtensa, ..common },
        ("AVR8", _) => {
            let rules = RecordRules::Untyped { boundary: 1 };
            small(Compiler { double: 4, long_double: 4, rules, ..common }, 1)
        }
        ("TI_MSP430", _) => small(common, 2),
        _ => common,
    }
}

/// A processor of 16 bits or fewer.
fn small(compiler: Compiler, alignment: u32) -> Compiler {
    Compiler {
        int: 2,
        long: 4,
        scalar_alignment: alignment,
        biggest_alignment: alignment,
        ..compiler
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(language: &str, spec: &str) -> Compiler {
        let mut parts = language.split(':');
        let processor = parts.next().unwrap().to_owned();
        let address_bits = parts.nth(1).unwrap().parse().unwrap();
        let info = ProgramInfo {
            language_id: language.to_owned(),
            compiler_spec_id: spec.to_owned(),
            processor,
            address_bits,
            ..ProgramInfo::default()
        };
        Compiler::of(&info, false)
    }

    #[test]
    fn data_models_follow_processor_and_compiler() {
        assert_eq!(of("x86:LE:64:default", "gcc"), Compiler::default());
        let windows = of("x86:LE:32:default", "windows");
        assert_eq!((windows.long, windows.scalar_alignment), (4, 8));
        assert_eq!(windows.rules, RecordRules::Microsoft);
        let linux = of("x86:LE:32:default", "gcc");
        assert_eq!((linux.long, linux.scalar_alignment, linux.long_double), (4, 4, 12));
        let avr = of("AVR8:LE:16:default", "gcc");
        assert_eq!((avr.int, avr.long, avr.double, avr.scalar_alignment), (2, 4, 4, 1));
        assert!(of("MIPS:BE:32:default", "default").big_endian);
    }
}
