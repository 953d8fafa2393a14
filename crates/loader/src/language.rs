//! Language ids: what their parts say, and the C type sizes that follow.

use crate::LoadError;
use program::{DataOrganization, ProgramInfo};

/// A language id in its parts, and the compiler specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Language {
    /// The whole id, such as `x86:LE:64:default`.
    pub(crate) id: String,
    /// Processor name.
    pub(crate) processor: String,
    /// Whether data is stored most significant byte first.
    pub(crate) big_endian: bool,
    /// Width of addresses in bits.
    pub(crate) bits: u32,
    /// Compiler specification id.
    pub(crate) compiler: String,
}

impl Language {
    /// Takes a language id apart.
    pub(crate) fn new(id: &str, compiler: &str) -> Result<Language, LoadError> {
        let bad = || LoadError::BadLanguage { language: id.to_owned() };
        let mut parts = id.split(':');
        let (Some(processor), Some(endian), Some(bits), Some(_variant), None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(bad());
        };
        let big_endian = match endian {
            "BE" => true,
            "LE" | "LEBE" => false,
            _ => return Err(bad()),
        };
        let bits: u32 = bits.parse().map_err(|_| bad())?;
        if processor.is_empty() || !(8..=64).contains(&bits) {
            return Err(bad());
        }
        Ok(Language {
            id: id.to_owned(),
            processor: processor.to_owned(),
            big_endian,
            bits,
            compiler: compiler.to_owned(),
        })
    }

    /// Whether a processor's languages know Go's calling conventions.
    pub(crate) fn has_go(id: &str) -> bool {
        let go =
            ["x86:LE:32:default", "x86:LE:64:default", "AARCH64:LE:64:v8A", "AARCH64:BE:64:v8A"];
        go.contains(&id)
    }

    /// Whether sections are named like those that Go's linker makes.
    pub(crate) fn is_go<'a>(mut sections: impl Iterator<Item = &'a str>) -> bool {
        sections.any(|name| {
            name.contains("gopclntab")
                || name.contains("go.buildinfo")
                || name.contains("go_buildinfo")
        })
    }

    /// Writes what is known into the program's information.
    pub(crate) fn describe(&self, info: &mut ProgramInfo) {
        info.language_id.clone_from(&self.id);
        info.compiler_spec_id.clone_from(&self.compiler);
        info.processor.clone_from(&self.processor);
        info.address_bits = self.bits;
    }

    /// Sizes of the C types that the compiler specification fixes.
    pub(crate) fn organization(&self) -> DataOrganization {
        let windows = self.compiler == "windows" || self.compiler == "clangwindows";
        let pointer = (self.bits / 8).max(2);
        let long_double = match (self.processor.as_str(), self.bits) {
            ("x86", _) if windows => 8,
            ("x86", 64) => 16,
            ("x86", _) => 12,
            ("AARCH64" | "RISCV" | "PowerPC", 64) => 16,
            ("RISCV", _) => 16,
            ("sparc", _) | ("Loongarch", 64) => 16,
            ("68000", _) => 10,
            _ => 8,
        };
        let short_long = windows || ["sparc", "eBPF"].contains(&self.processor.as_str());
        DataOrganization {
            pointer,
            long: if short_long { 4 } else { pointer.max(4) },
            wide_char: if windows { 2 } else { 4 },
            long_double,
            ..DataOrganization::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_taken_apart_and_go_is_recognised_and_bad_ones_are_refused() {
        let language = Language::new("MIPS:BE:32:default", "default").unwrap();
        assert_eq!((language.bits, language.big_endian), (32, true));
        assert_eq!(language.organization().long, 4);
        assert!(Language::has_go("x86:LE:64:default") && !Language::has_go("MIPS:BE:32:default"));
        assert!(Language::is_go([".text", ".data.rel.ro.gopclntab"].into_iter()));
        assert!(!Language::is_go([".text", ".rodata"].into_iter()));
        for bad in ["", "x86", "x86:LE:64", "x86:XX:64:default", "x86:LE:no:default", ":LE:64:d"] {
            assert!(Language::new(bad, "gcc").is_err(), "{bad}");
        }
    }
}
