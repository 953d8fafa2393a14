//! File formats and how they are told apart.

use crate::{LoadError, LoadOptions};
use std::fmt;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Whatever the first bytes say.
    #[default]
    Auto,
    /// Executable and Linking Format.
    Elf,
    /// Portable Executable.
    Pe,
    /// Object file of Windows' compilers.
    Coff,
    /// Mach object, thin or fat.
    MachO,
    /// Bytes as they are.
    Raw,
    /// Intel HEX text.
    IntelHex,
    /// Motorola S-record text.
    SRecord,
    /// `ar` archive.
    Archive,
    /// ZIP archive, under whatever name: `apk`, `ipa`, `jar`, `whl`.
    Zip,
}

impl Format {
    /// The format that the first bytes announce. Bytes of no known format are
    /// a raw image when the options name a language.
    pub(crate) fn detect(bytes: &[u8], options: &LoadOptions) -> Result<Format, LoadError> {
        if let Some(format) = Self::by_magic(bytes) {
            return Ok(format);
        }
        if options.language.is_some() {
            return Ok(Format::Raw);
        }
        Err(LoadError::UnknownFormat { found: describe_start(bytes) })
    }

    /// Whether such a file holds others.
    pub(crate) fn is_archive(self) -> bool {
        matches!(self, Format::Archive | Format::Zip)
    }

    /// The name of an archive's format.
    pub(crate) fn archive_name(self) -> &'static str {
        if self == Format::Zip { "ZIP" } else { "ar" }
    }

    pub(crate) fn by_magic(bytes: &[u8]) -> Option<Format> {
        match bytes {
            [0x7f, b'E', b'L', b'F', ..] => Some(Format::Elf),
            [b'M', b'Z', ..] => Some(Format::Pe),
            [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..] | [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..] => {
                Some(Format::MachO)
            }
            // A Java class file shares this magic; a fat header counts its few
            // slices where a class file has its version, at least 45.
            [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, count, ..] if *count < 40 => Some(Format::MachO),
            [0xca, 0xfe, 0xba, 0xbf, ..] => Some(Format::MachO),
            _ if bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n") => {
                Some(Format::Archive)
            }
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(Format::Zip),
            _ if crate::coff::is_object(bytes) => Some(Format::Coff),
            [b':', rest @ ..] if is_hex(rest, 8) => Some(Format::IntelHex),
            [b'S', b'0'..=b'9', rest @ ..] if is_hex(rest, 4) => Some(Format::SRecord),
            _ => None,
        }
    }
}

fn is_hex(bytes: &[u8], count: usize) -> bool {
    bytes.get(..count).is_some_and(|b| b.iter().all(u8::is_ascii_hexdigit))
}

/// The first bytes in hex, with a word for kinds of file that are often tried.
fn describe_start(bytes: &[u8]) -> String {
    let known = match bytes {
        [b'#', b'!', ..] => " (a script)",
        [0x1f, 0x8b, ..] => " (gzip data)",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => " (xz data)",
        [0xca, 0xfe, 0xba, 0xbe, ..] => " (a Java class)",
        [0, b'a', b's', b'm', ..] => " (WebAssembly)",
        _ if bytes.iter().take(64).all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) => {
            " (text)"
        }
        _ => "",
    };
    let hex: Vec<String> = bytes.iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("{}{known}", hex.join(" "))
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Auto => "automatic",
            Format::Elf => "ELF",
            Format::Pe => "PE",
            Format::Coff => "COFF",
            Format::MachO => "Mach-O",
            Format::Raw => "raw",
            Format::IntelHex => "Intel HEX",
            Format::SRecord => "S-record",
            Format::Archive | Format::Zip => self.archive_name(),
        })
    }
}
