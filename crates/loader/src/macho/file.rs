//! A Mach-O file's load commands in one shape for both widths and byte orders.

use crate::LoadError;
use object::endian::{BigEndian, Endianness};
use object::macho as m;
use object::pod::Pod;
use object::read::ReadRef;
use object::read::macho::{MachHeader, Nlist, Section as RawSection, Segment as RawSegment};
use std::sync::Arc;

/// Most load commands, sections and libraries that are believed.
const LIMIT: usize = 65536;

#[derive(Debug, Clone, Default)]
pub(super) struct Segment {
    pub(super) name: String,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) offset: u64,
    pub(super) file_size: u64,
    pub(super) protection: u32,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Section {
    pub(super) name: String,
    /// Index of its segment.
    pub(super) segment: usize,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) offset: u64,
    pub(super) flags: u32,
    /// First entry of the indirect symbol table.
    pub(super) indirect: u32,
    /// Bytes of a stub.
    pub(super) stub_size: u32,
}

impl Section {
    pub(super) fn kind(&self) -> u32 {
        self.flags & m::SECTION_TYPE
    }

    pub(super) fn is_zero_fill(&self) -> bool {
        matches!(self.kind(), m::S_ZEROFILL | m::S_GB_ZEROFILL | m::S_THREAD_LOCAL_ZEROFILL)
    }

    pub(super) fn has_code(&self) -> bool {
        self.flags & (m::S_ATTR_PURE_INSTRUCTIONS | m::S_ATTR_SOME_INSTRUCTIONS) != 0
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct MachSymbol {
    pub(super) name: Arc<str>,
    pub(super) kind: u8,
    pub(super) description: u16,
    pub(super) value: u64,
}

impl MachSymbol {
    pub(super) fn is_debug(&self) -> bool {
        self.kind & m::N_STAB != 0
    }

    pub(super) fn is_undefined(&self) -> bool {
        !self.is_debug() && self.kind & m::N_TYPE == m::N_UNDF
    }

    pub(super) fn is_external(&self) -> bool {
        self.kind & (m::N_EXT | m::N_PEXT) != 0
    }

    /// Number of the library that has it, from 1 on.
    pub(super) fn library(&self) -> usize {
        usize::from(self.description >> 8)
    }
}

/// A part of the file: offset and size.
pub(super) type Part = (u64, u64);

/// Everything the loader uses of a Mach-O file.
#[derive(Debug, Clone, Default)]
pub(super) struct MachFile {
    pub(super) bytes: Arc<[u8]>,
    pub(super) is_64: bool,
    pub(super) big_endian: bool,
    pub(super) cpu: u32,
    pub(super) kind: u32,
    pub(super) segments: Vec<Segment>,
    pub(super) sections: Vec<Section>,
    pub(super) symbols: Vec<MachSymbol>,
    pub(super) indirect: Vec<u32>,
    pub(super) libraries: Vec<String>,
    /// Offset of the entry from the start of the text segment.
    pub(super) entry: Option<u64>,
    pub(super) rebase: Option<Part>,
    /// Bind, weak bind and lazy bind programs.
    pub(super) binds: Vec<Part>,
    pub(super) chained: Option<Part>,
    pub(super) function_starts: Option<Part>,
    pub(super) warnings: Vec<String>,
}

/// A plain structure at a file offset.
fn at<T: Pod>(bytes: &[u8], offset: u64) -> Option<&T> {
    bytes.read_at::<T>(offset).ok()
}

/// The slices of a fat file: processor, offset, size.
pub(super) fn slices(bytes: &[u8]) -> Option<Vec<(u32, u64, u64)>> {
    let header: &m::FatHeader = at(bytes, 0)?;
    let (wide, count) = match header.magic.get(BigEndian) {
        m::FAT_MAGIC => (false, header.nfat_arch.get(BigEndian)),
        m::FAT_MAGIC_64 => (true, header.nfat_arch.get(BigEndian)),
        _ => return None,
    };
    let all = (0..u64::from(count.min(64))).map_while(|index| {
        if wide {
            let raw: &m::FatArch64 = at(bytes, 8 + 32 * index)?;
            let offset = raw.offset.get(BigEndian);
            return Some((raw.cputype.get(BigEndian), offset, raw.size.get(BigEndian)));
        }
        let raw: &m::FatArch32 = at(bytes, 8 + 20 * index)?;
        let offset = u64::from(raw.offset.get(BigEndian));
        Some((raw.cputype.get(BigEndian), offset, u64::from(raw.size.get(BigEndian))))
    });
    Some(all.collect())
}

/// Reads a thin file.
pub(super) fn read(bytes: Arc<[u8]>) -> Result<MachFile, LoadError> {
    let magic: [u8; 4] = bytes.get(..4).and_then(|b| b.try_into().ok()).unwrap_or_default();
    match u32::from_be_bytes(magic) {
        m::MH_MAGIC | m::MH_CIGAM => read_class::<m::MachHeader32<Endianness>>(bytes),
        m::MH_MAGIC_64 | m::MH_CIGAM_64 => read_class::<m::MachHeader64<Endianness>>(bytes),
        other => {
            Err(LoadError::UnknownFormat { found: format!("{other:08x}, not a Mach-O magic") })
        }
    }
}

fn read_class<H>(bytes: Arc<[u8]>) -> Result<MachFile, LoadError>
where
    H: MachHeader<Endian = Endianness>,
{
    let truncated = || LoadError::Truncated {
        format: "Mach-O",
        what: "the file header",
        needed: size_of::<H>() as u64,
        have: bytes.len() as u64,
    };
    let header: &H = at(&bytes, 0).ok_or_else(truncated)?;
    let endian = header.endian().map_err(|_| truncated())?;
    let mut file = MachFile {
        bytes: Arc::clone(&bytes),
        is_64: header.is_type_64(),
        big_endian: endian == Endianness::Big,
        cpu: header.cputype(endian),
        kind: header.filetype(endian),
        ..MachFile::default()
    };
    let count = header.ncmds(endian) as usize;
    let mut offset = size_of::<H>() as u64;
    for index in 0..count.min(LIMIT) {
        let Some(command) = at::<m::LoadCommand<Endianness>>(&bytes, offset) else {
            file.warnings
                .push(format!("{count} load commands are announced, the file has {index}"));
            break;
        };
        let size = u64::from(command.cmdsize.get(endian));
        read_command::<H>(&mut file, endian, command.cmd.get(endian), offset);
        if size < 8 {
            file.warnings.push(format!("load command {index} has an impossible size"));
            break;
        }
        offset += size;
    }
    Ok(file)
}

fn read_command<H>(file: &mut MachFile, endian: Endianness, command: u32, offset: u64)
where
    H: MachHeader<Endian = Endianness>,
{
    let bytes = Arc::clone(&file.bytes);
    match command {
        m::LC_SEGMENT if !file.is_64 => read_segment::<H>(file, endian, offset),
        m::LC_SEGMENT_64 if file.is_64 => read_segment::<H>(file, endian, offset),
        m::LC_SYMTAB => {
            if let Some(raw) = at::<m::SymtabCommand<Endianness>>(&bytes, offset) {
                read_symbols::<H>(file, endian, raw);
            }
        }
        m::LC_DYSYMTAB => {
            if let Some(raw) = at::<m::DysymtabCommand<Endianness>>(&bytes, offset) {
                let start = u64::from(raw.indirectsymoff.get(endian));
                let count = u64::from(raw.nindirectsyms.get(endian));
                let words = (0..count).map_while(|n| {
                    at::<object::U32Bytes<Endianness>>(&bytes, start + 4 * n).map(|w| w.get(endian))
                });
                file.indirect = words.collect();
            }
        }
        m::LC_LOAD_DYLIB
        | m::LC_LOAD_WEAK_DYLIB
        | m::LC_REEXPORT_DYLIB
        | m::LC_LAZY_LOAD_DYLIB
        | m::LC_LOAD_UPWARD_DYLIB => {
            if let Some(raw) = at::<m::DylibCommand<Endianness>>(&bytes, offset)
                && file.libraries.len() < LIMIT
            {
                let name_at = offset + u64::from(raw.dylib.name.offset.get(endian));
                file.libraries.push(text(&bytes, name_at).unwrap_or_default());
            }
        }
        m::LC_MAIN => {
            let raw = at::<m::EntryPointCommand<Endianness>>(&bytes, offset);
            file.entry = raw.map(|raw| raw.entryoff.get(endian));
        }
        m::LC_DYLD_INFO | m::LC_DYLD_INFO_ONLY => {
            if let Some(raw) = at::<m::DyldInfoCommand<Endianness>>(&bytes, offset) {
                let part = |offset: object::endian::U32<Endianness>,
                            size: object::endian::U32<Endianness>| {
                    (u64::from(offset.get(endian)), u64::from(size.get(endian)))
                };
                file.rebase = Some(part(raw.rebase_off, raw.rebase_size));
                file.binds = vec![
                    part(raw.bind_off, raw.bind_size),
                    part(raw.weak_bind_off, raw.weak_bind_size),
                    part(raw.lazy_bind_off, raw.lazy_bind_size),
                ];
            }
        }
        m::LC_DYLD_CHAINED_FIXUPS | m::LC_FUNCTION_STARTS => {
            if let Some(raw) = at::<m::LinkeditDataCommand<Endianness>>(&bytes, offset) {
                let part =
                    Some((u64::from(raw.dataoff.get(endian)), u64::from(raw.datasize.get(endian))));
                if command == m::LC_FUNCTION_STARTS {
                    file.function_starts = part;
                } else {
                    file.chained = part;
                }
            }
        }
        _ => {}
    }
}

/// The terminated text at a file offset.
pub(super) fn text(bytes: &[u8], offset: u64) -> Option<String> {
    let rest = bytes.get(usize::try_from(offset).ok()?..)?;
    let text = rest.get(..rest.len().min(4096))?.split(|b| *b == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

fn fixed_name(raw: &[u8]) -> String {
    let text = raw.split(|b| *b == 0).next().unwrap_or(&[]);
    String::from_utf8_lossy(text).into_owned()
}

fn read_segment<H>(file: &mut MachFile, endian: Endianness, offset: u64)
where
    H: MachHeader<Endian = Endianness>,
{
    let bytes = Arc::clone(&file.bytes);
    let Some(raw) = at::<H::Segment>(&bytes, offset) else { return };
    let segment = file.segments.len();
    file.segments.push(Segment {
        name: fixed_name(raw.segname()),
        address: raw.vmaddr(endian).into(),
        size: raw.vmsize(endian).into(),
        offset: raw.fileoff(endian).into(),
        file_size: raw.filesize(endian).into(),
        protection: raw.initprot(endian),
    });
    let first = offset + size_of::<H::Segment>() as u64;
    let stride = size_of::<H::Section>() as u64;
    for index in 0..u64::from(raw.nsects(endian)) {
        let Some(raw) = at::<H::Section>(&bytes, first + stride * index) else { break };
        if file.sections.len() >= LIMIT {
            break;
        }
        file.sections.push(Section {
            name: fixed_name(raw.sectname()),
            segment,
            address: raw.addr(endian).into(),
            size: raw.size(endian).into(),
            offset: u64::from(raw.offset(endian)),
            flags: raw.flags(endian),
            // The two reserved words stand at the same place in both widths,
            // behind the flags.
            indirect: reserved(&bytes, endian, first + stride * index, file.is_64, 0),
            stub_size: reserved(&bytes, endian, first + stride * index, file.is_64, 1),
        });
    }
}

fn reserved(bytes: &[u8], endian: Endianness, section: u64, wide: bool, n: u64) -> u32 {
    let after_flags = if wide { 68 } else { 60 };
    let word = at::<object::U32Bytes<Endianness>>(bytes, section + after_flags + 4 * n);
    word.map_or(0, |w| w.get(endian))
}

fn read_symbols<H>(file: &mut MachFile, endian: Endianness, raw: &m::SymtabCommand<Endianness>)
where
    H: MachHeader<Endian = Endianness>,
{
    let bytes = Arc::clone(&file.bytes);
    let strings = u64::from(raw.stroff.get(endian));
    let start = u64::from(raw.symoff.get(endian));
    let stride = size_of::<H::Nlist>() as u64;
    // Names of all symbols together stay within a small multiple of the file.
    let mut budget = bytes.len().saturating_mul(4).saturating_add(1 << 16);
    for index in 0..u64::from(raw.nsyms.get(endian)) {
        let Some(symbol) = at::<H::Nlist>(&bytes, start + stride * index) else { break };
        let name = text(&bytes, strings + u64::from(symbol.n_strx(endian))).unwrap_or_default();
        let name = if name.len() > budget { String::new() } else { name };
        budget -= name.len();
        file.symbols.push(MachSymbol {
            name: name.into(),
            kind: symbol.n_type(),
            description: symbol.n_desc(endian),
            value: symbol.n_value(endian).into(),
        });
    }
}
