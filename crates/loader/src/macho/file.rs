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
    /// File offset of its load command.
    pub(super) header: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Section {
    pub(super) name: String,
    /// The name of the segment that it belongs to in a linked file.
    pub(super) segment_name: String,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) offset: u64,
    /// Its relocations: offset and number.
    pub(super) relocations: (u64, u32),
    pub(super) flags: u32,
    /// First entry of the indirect symbol table.
    pub(super) indirect: u32,
    /// Bytes of a stub.
    pub(super) stub_size: u32,
    /// File offset of its header.
    pub(super) header: u64,
}

impl Section {
    pub(super) fn kind(&self) -> u32 {
        self.flags & m::SECTION_TYPE
    }

    pub(super) fn is_zero_fill(&self) -> bool {
        matches!(self.kind(), m::S_ZEROFILL | m::S_GB_ZEROFILL | m::S_THREAD_LOCAL_ZEROFILL)
    }

    pub(super) fn has_code(&self) -> bool {
        self.name == "__text"
            || self.segment_name == "__TEXT_EXEC"
            || self.flags & (m::S_ATTR_PURE_INSTRUCTIONS | m::S_ATTR_SOME_INSTRUCTIONS) != 0
    }

    /// Whether Ghidra calls it writable: it goes by names, the processor by segments.
    pub(super) fn is_writable(&self) -> bool {
        let text = matches!(&*self.segment_name, "__TEXT" | "__TEXT_EXEC" | "__PRELINK_TEXT");
        self.name.starts_with("__got") || !text && self.name != "__const"
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct MachSymbol {
    pub(super) name: Arc<str>,
    /// Offset of its name in their table.
    pub(super) string: u32,
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
        self.kind & m::N_EXT != 0
    }

    /// Whether it is a number and no place.
    pub(super) fn is_absolute(&self) -> bool {
        !self.is_debug() && self.kind & m::N_TYPE == m::N_ABS
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
    pub(super) segments: Vec<Segment>,
    pub(super) sections: Vec<Section>,
    pub(super) symbols: Vec<MachSymbol>,
    pub(super) indirect: Vec<u32>,
    pub(super) libraries: Vec<String>,
    /// Offset of the entry from the start of the text segment.
    pub(super) entry: Option<u64>,
    /// The address at which a thread starts, in files without such an offset.
    pub(super) thread_entry: Option<u64>,
    /// Load commands: number, offset and size.
    pub(super) commands: Vec<(u32, u64, u32)>,
    /// The names that it exports.
    pub(super) export_trees: Vec<super::exports::Tree>,
    /// Whether the command with the binding programs states where those are.
    pub(super) exports_in_info: bool,
    /// File offsets of symbols and of their names.
    pub(super) symbol_table: Option<(u64, u64)>,
    /// Relocations of the whole file, external and local ones: offset and number.
    pub(super) relocations: [(u64, u32); 2],
    /// Whether its segments may be far from each other.
    pub(super) splits_segments: bool,
    /// File offset of the indirect symbols.
    pub(super) indirect_at: u64,
    pub(super) rebase: Option<Part>,
    /// Bind, weak bind and lazy bind programs.
    pub(super) binds: Vec<Part>,
    pub(super) chained: Option<Part>,
    pub(super) function_starts: Option<Part>,
    pub(super) warnings: Vec<String>,
}

impl MachFile {
    /// Reads a tree of exports. A file has one, by one command or another.
    fn read_exports(&mut self, offset: u64, size: u64) {
        if size != 0 && self.export_trees.is_empty() {
            self.export_trees.push(super::exports::read(&self.bytes, offset, size));
        }
    }

    /// The word at a file offset.
    pub(super) fn word_at(&self, offset: u64) -> Option<u32> {
        let endian = if self.big_endian { Endianness::Big } else { Endianness::Little };
        at_word(&self.bytes, endian, offset)
    }
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
        splits_segments: header.flags(endian) & m::MH_SPLIT_SEGS != 0,
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
        file.commands.push((command.cmd.get(endian), offset, command.cmdsize.get(endian)));
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
        // A file has one of each of these tables; more of them would only cost.
        m::LC_SYMTAB if file.symbol_table.is_none() => {
            if let Some(raw) = at::<m::SymtabCommand<Endianness>>(&bytes, offset) {
                read_symbols::<H>(file, endian, raw);
            }
        }
        m::LC_DYSYMTAB if file.indirect_at == 0 => {
            if let Some(raw) = at::<m::DysymtabCommand<Endianness>>(&bytes, offset) {
                file.relocations = [
                    (raw.extreloff.get(endian).into(), raw.nextrel.get(endian)),
                    (raw.locreloff.get(endian).into(), raw.nlocrel.get(endian)),
                ];
                let start = u64::from(raw.indirectsymoff.get(endian));
                let count = u64::from(raw.nindirectsyms.get(endian));
                let words = (0..count).map_while(|n| at_word(&bytes, endian, start + 4 * n));
                file.indirect = words.collect();
                file.indirect_at = start;
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
            file.entry = file.entry.or(raw.map(|raw| raw.entryoff.get(endian)));
        }
        m::LC_UNIXTHREAD | m::LC_THREAD => {
            file.thread_entry = file.thread_entry.or_else(|| thread_entry(file, endian, offset));
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
                let (exports, size) = part(raw.export_off, raw.export_size);
                file.exports_in_info = size != 0 && file.export_trees.is_empty();
                file.read_exports(exports, size);
            }
        }
        m::LC_DYLD_CHAINED_FIXUPS | m::LC_FUNCTION_STARTS | m::LC_DYLD_EXPORTS_TRIE => {
            if let Some(raw) = at::<m::LinkeditDataCommand<Endianness>>(&bytes, offset) {
                let (start, size) =
                    (u64::from(raw.dataoff.get(endian)), u64::from(raw.datasize.get(endian)));
                match command {
                    m::LC_FUNCTION_STARTS => file.function_starts = Some((start, size)),
                    m::LC_DYLD_CHAINED_FIXUPS => file.chained = Some((start, size)),
                    _ => file.read_exports(start, size),
                }
            }
        }
        _ => {}
    }
}

/// Where a thread starts whose registers a command holds.
fn thread_entry(file: &MachFile, endian: Endianness, offset: u64) -> Option<u64> {
    let word = |at: u64| at_word(&file.bytes, endian, offset + at);
    // Kind of registers, then the place of the one that counts instructions.
    let (kind, register) = match file.cpu {
        m::CPU_TYPE_X86 => (1, 10),
        m::CPU_TYPE_X86_64 => (4, 16),
        m::CPU_TYPE_ARM => (1, 15),
        m::CPU_TYPE_ARM64 => (6, 32),
        m::CPU_TYPE_POWERPC => (1, 0),
        m::CPU_TYPE_POWERPC64 => (5, 0),
        _ => return None,
    };
    if word(8)? != kind {
        return None;
    }
    if !file.is_64 {
        return word(16 + 4 * register).map(u64::from);
    }
    let (first, second) = (word(16 + 8 * register)?, word(20 + 8 * register)?);
    let (low, high) = if file.big_endian { (second, first) } else { (first, second) };
    Some(u64::from(high) << 32 | u64::from(low))
}

fn at_word(bytes: &[u8], endian: Endianness, offset: u64) -> Option<u32> {
    at::<object::U32Bytes<Endianness>>(bytes, offset).map(|word| word.get(endian))
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
    if file.segments.len() >= LIMIT {
        return;
    }
    let name = fixed_name(raw.segname());
    // That of an object file, in which no segment is finished, has no name.
    let nameless = name.trim().is_empty();
    let name = if nameless { format!("SEGMENT.{}", file.segments.len()) } else { name };
    file.segments.push(Segment {
        name,
        address: raw.vmaddr(endian).into(),
        size: raw.vmsize(endian).into(),
        offset: raw.fileoff(endian).into(),
        file_size: raw.filesize(endian).into(),
        protection: raw.initprot(endian),
        header: offset,
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
            segment_name: fixed_name(raw.segname()),
            address: raw.addr(endian).into(),
            size: raw.size(endian).into(),
            offset: u64::from(raw.offset(endian)),
            relocations: (u64::from(raw.reloff(endian)), raw.nreloc(endian)),
            flags: raw.flags(endian),
            // The two reserved words stand at the same place in both widths,
            // behind the flags.
            indirect: reserved(&bytes, endian, first + stride * index, file.is_64, 0),
            stub_size: reserved(&bytes, endian, first + stride * index, file.is_64, 1),
            header: first + stride * index,
        });
    }
}

fn reserved(bytes: &[u8], endian: Endianness, section: u64, wide: bool, n: u64) -> u32 {
    let after_flags = if wide { 68 } else { 60 };
    at_word(bytes, endian, section + after_flags + 4 * n).unwrap_or(0)
}

fn read_symbols<H>(file: &mut MachFile, endian: Endianness, raw: &m::SymtabCommand<Endianness>)
where
    H: MachHeader<Endian = Endianness>,
{
    let bytes = Arc::clone(&file.bytes);
    let strings = u64::from(raw.stroff.get(endian));
    let start = u64::from(raw.symoff.get(endian));
    file.symbol_table = Some((start, strings));
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
            string: symbol.n_strx(endian),
            kind: symbol.n_type(),
            description: symbol.n_desc(endian),
            value: symbol.n_value(endian).into(),
        });
    }
}
