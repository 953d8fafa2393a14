//! A PE file's headers in one shape for both widths.

use crate::LoadError;
use object::LittleEndian as LE;
use object::pe;
use object::pod::Pod;
use object::read::ReadRef;
use std::sync::Arc;

/// Most sections that are believed.
const SECTIONS: usize = 4096;

/// One section header.
#[derive(Debug, Clone, Default)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) address: u32,
    pub(super) virtual_size: u32,
    pub(super) raw_offset: u32,
    pub(super) raw_size: u32,
    pub(super) flags: u32,
}

/// One entry of the directory table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) address: u32,
    pub(super) size: u32,
}

/// Everything the loader uses of a PE file's headers.
#[derive(Debug, Clone)]
pub(super) struct PeFile {
    pub(super) bytes: Arc<[u8]>,
    pub(super) is_64: bool,
    pub(super) machine: u16,
    pub(super) image_base: u64,
    pub(super) entry: u32,
    pub(super) code_base: u32,
    pub(super) data_base: u32,
    pub(super) section_alignment: u32,
    pub(super) file_alignment: u32,
    pub(super) headers_size: u32,
    pub(super) subsystem: u16,
    /// File offset of the `PE` signature.
    pub(super) signature: u32,
    pub(super) optional_size: u16,
    /// Directories that the optional header has room for.
    pub(super) directory_count: u32,
    pub(super) directories: Vec<Directory>,
    pub(super) symbol_table: u32,
    pub(super) symbol_count: u32,
    pub(super) sections: Vec<Section>,
    pub(super) warnings: Vec<String>,
}

/// A plain structure at a file offset.
pub(super) fn at<T: Pod>(bytes: &[u8], offset: u64) -> Option<&T> {
    bytes.read_at::<T>(offset).ok()
}

fn truncated(what: &'static str, needed: u64, bytes: &[u8]) -> LoadError {
    LoadError::Truncated { format: "PE", what, needed, have: bytes.len() as u64 }
}

/// Reads the headers.
pub(super) fn read(bytes: Arc<[u8]>) -> Result<PeFile, LoadError> {
    let dos: &pe::ImageDosHeader =
        at(&bytes, 0).ok_or_else(|| truncated("the DOS header", 64, &bytes))?;
    let signature = dos.e_lfanew.get(LE);
    let from = u64::from(signature);
    let magic = bytes.get(signature as usize..).and_then(|b| b.get(..4));
    match magic {
        None => return Err(truncated("the PE signature", from + 4, &bytes)),
        Some(b"PE\0\0") => {}
        Some(other) => {
            let found = match other {
                [b'N', b'E', ..] => "a 16-bit Windows program (NE)".to_owned(),
                [b'L', b'E' | b'X', ..] => "a linear executable (LE/LX)".to_owned(),
                _ => "a DOS program (MZ without a PE header)".to_owned(),
            };
            return Err(LoadError::UnknownFormat { found });
        }
    }
    let header: &pe::ImageFileHeader =
        at(&bytes, from + 4).ok_or_else(|| truncated("the file header", from + 24, &bytes))?;
    let optional = from + 24;
    let kind: &object::U16Bytes<LE> = at(&bytes, optional)
        .ok_or_else(|| truncated("the optional header", optional + 2, &bytes))?;
    let mut file = PeFile {
        bytes: Arc::clone(&bytes),
        is_64: kind.get(LE) == pe::IMAGE_NT_OPTIONAL_HDR64_MAGIC,
        machine: header.machine.get(LE),
        image_base: 0,
        entry: 0,
        code_base: 0,
        data_base: 0,
        section_alignment: 0,
        file_alignment: 0,
        headers_size: 0,
        subsystem: 0,
        signature,
        optional_size: header.size_of_optional_header.get(LE),
        directory_count: 0,
        directories: Vec::new(),
        symbol_table: header.pointer_to_symbol_table.get(LE),
        symbol_count: header.number_of_symbols.get(LE),
        sections: Vec::new(),
        warnings: Vec::new(),
    };
    let fixed = read_optional(&mut file, optional)?;
    read_directories(&mut file, optional + fixed, fixed);
    let count = usize::from(header.number_of_sections.get(LE));
    read_sections(&mut file, optional + u64::from(header.size_of_optional_header.get(LE)), count);
    Ok(file)
}

/// Reads the fixed part of the optional header; gives its size.
fn read_optional(file: &mut PeFile, offset: u64) -> Result<u64, LoadError> {
    let bytes = Arc::clone(&file.bytes);
    if file.is_64 {
        let size = size_of::<pe::ImageOptionalHeader64>() as u64;
        let raw: &pe::ImageOptionalHeader64 = at(&bytes, offset)
            .ok_or_else(|| truncated("the optional header", offset + size, &bytes))?;
        file.image_base = raw.image_base.get(LE);
        file.entry = raw.address_of_entry_point.get(LE);
        file.code_base = raw.base_of_code.get(LE);
        file.section_alignment = raw.section_alignment.get(LE);
        file.file_alignment = raw.file_alignment.get(LE);
        file.headers_size = raw.size_of_headers.get(LE);
        file.subsystem = raw.subsystem.get(LE);
        file.directory_count = raw.number_of_rva_and_sizes.get(LE);
        return Ok(size);
    }
    let size = size_of::<pe::ImageOptionalHeader32>() as u64;
    let raw: &pe::ImageOptionalHeader32 = at(&bytes, offset)
        .ok_or_else(|| truncated("the optional header", offset + size, &bytes))?;
    file.image_base = u64::from(raw.image_base.get(LE));
    file.entry = raw.address_of_entry_point.get(LE);
    file.code_base = raw.base_of_code.get(LE);
    file.data_base = raw.base_of_data.get(LE);
    file.section_alignment = raw.section_alignment.get(LE);
    file.file_alignment = raw.file_alignment.get(LE);
    file.headers_size = raw.size_of_headers.get(LE);
    file.subsystem = raw.subsystem.get(LE);
    file.directory_count = raw.number_of_rva_and_sizes.get(LE);
    Ok(size)
}

fn read_directories(file: &mut PeFile, offset: u64, fixed: u64) {
    let room = u64::from(file.optional_size).saturating_sub(fixed) / 8;
    let count = u64::from(file.directory_count).min(16).min(room);
    let bytes = Arc::clone(&file.bytes);
    for index in 0..count {
        let Some(raw) = at::<pe::ImageDataDirectory>(&bytes, offset + 8 * index) else { break };
        file.directories
            .push(Directory { address: raw.virtual_address.get(LE), size: raw.size.get(LE) });
    }
}

fn read_sections(file: &mut PeFile, offset: u64, count: usize) {
    let bytes = Arc::clone(&file.bytes);
    for index in 0..count.min(SECTIONS) {
        let at_offset = offset + 40 * index as u64;
        let Some(raw) = at::<pe::ImageSectionHeader>(&bytes, at_offset) else {
            file.warnings.push(format!(
                "the section table announces {count} sections, the file has {index}"
            ));
            break;
        };
        file.sections.push(Section {
            name: section_name(file, &raw.name),
            address: raw.virtual_address.get(LE),
            virtual_size: raw.virtual_size.get(LE),
            raw_offset: raw.pointer_to_raw_data.get(LE),
            raw_size: raw.size_of_raw_data.get(LE),
            flags: raw.characteristics.get(LE),
        });
    }
}

/// A section's name; long ones stand in the string table.
fn section_name(file: &PeFile, raw: &[u8; 8]) -> String {
    let short = raw.split(|b| *b == 0).next().unwrap_or(&[]);
    let short = String::from_utf8_lossy(short).into_owned();
    let long = short.strip_prefix('/').and_then(|n| n.parse::<u32>().ok());
    long.and_then(|at| file.string(at)).filter(|n| !n.is_empty()).unwrap_or(short)
}

impl PeFile {
    /// A text of the string table, which follows the symbol table.
    pub(super) fn string(&self, at: u32) -> Option<String> {
        if self.symbol_table == 0 {
            return None;
        }
        let table = u64::from(self.symbol_table) + 18 * u64::from(self.symbol_count);
        let start = usize::try_from(table + u64::from(at)).ok()?;
        let rest = self.bytes.get(start..)?;
        let text = rest.get(..rest.len().min(4096))?.split(|b| *b == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// A directory by number.
    pub(super) fn directory(&self, index: usize) -> Option<Directory> {
        self.directories.get(index).copied().filter(|d| d.address != 0)
    }

    /// Whether the lowest bit of an address of code chooses between ARM's kinds of code.
    pub(super) fn is_arm(&self) -> bool {
        let arm = [
            pe::IMAGE_FILE_MACHINE_ARM,
            pe::IMAGE_FILE_MACHINE_THUMB,
            pe::IMAGE_FILE_MACHINE_ARMNT,
        ];
        arm.contains(&self.machine)
    }

    /// Whether it runs in the system itself.
    pub(super) fn is_driver(&self) -> bool {
        self.subsystem == pe::IMAGE_SUBSYSTEM_NATIVE
    }

    /// Bytes of an address.
    pub(super) fn word(&self) -> u64 {
        if self.is_64 { 8 } else { 4 }
    }

    /// The page-like unit of sections in memory.
    pub(super) fn alignment(&self) -> u64 {
        match self.section_alignment {
            0 => 0x1000,
            other => u64::from(other),
        }
    }
}
