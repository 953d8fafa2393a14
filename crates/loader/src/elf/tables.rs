//! Symbol and relocation tables of an ELF file, found through sections or,
//! where there are none, through the dynamic table.

use super::file::{ElfFile, ElfSymbol, Reloc, RelocForm, RelocTable, StringTable, SymbolTable};
use super::read::entries;
use object::endian::Endianness;
use object::read::ReadRef;
use object::read::elf::{FileHeader, Rel, Rela, Sym};
use std::collections::HashMap;
use std::sync::Arc;

/// Longest symbol name that is kept.
const NAME_LIMIT: usize = 16 * 1024;

/// Names this short are kept whatever was kept before: their number bounds them.
const SHORT: usize = 64;

/// What tables may take, all together: the same bytes of a file can be claimed by many.
struct Room {
    /// Bytes of table entries.
    entries: u64,
    names: NameRoom,
    /// Whether entries had to be left out.
    cut: bool,
}

/// What long names may take.
struct NameRoom {
    left: usize,
    /// Whether names had to be left out.
    cut: bool,
}

impl Room {
    fn new(file: &ElfFile) -> Room {
        let size = file.bytes.len();
        let names = size.saturating_mul(8).saturating_add(1 << 16);
        let names = NameRoom { left: names, cut: false };
        Room { entries: (size as u64).saturating_mul(2), names, cut: false }
    }

    /// How much of a table of that size is read.
    fn grant(&mut self, offset: u64, size: u64, file: &ElfFile) -> u64 {
        let there = size.min((file.bytes.len() as u64).saturating_sub(offset));
        let granted = there.min(self.entries);
        self.entries -= granted;
        self.cut |= granted < there;
        granted
    }

    /// Tells what was left out of the tables of a kind.
    fn tell(&self, kind: &str, warnings: &mut Vec<String>) {
        if self.cut {
            warnings.push(format!("{kind} tables claim the same bytes; the rest was left out"));
        }
        if self.names.cut {
            warnings.push("many symbols share long names; the rest of them lost theirs".to_owned());
        }
    }
}

/// Names by offset in one string table.
struct Names<'a> {
    text: &'a [u8],
    known: HashMap<u32, Arc<str>>,
    room: &'a mut NameRoom,
}

impl<'a> Names<'a> {
    fn new(file: &'a ElfFile, table: Option<StringTable>, room: &'a mut NameRoom) -> Names<'a> {
        let text = table.and_then(|t| {
            let start = usize::try_from(t.offset).ok()?;
            let end = start.saturating_add(usize::try_from(t.length).ok()?);
            file.bytes.get(start..end.min(file.bytes.len()))
        });
        Names { text: text.unwrap_or(&[]), known: HashMap::new(), room }
    }

    /// The name at an offset. Every use of a long one counts: users make copies.
    fn get(&mut self, at: u32) -> Arc<str> {
        if at == 0 {
            return Arc::from("");
        }
        if let Some(name) = self.known.get(&at) {
            let name = Arc::clone(name);
            return if self.fits(name.len()) { name } else { Arc::from("") };
        }
        let rest = self.text.get(at as usize..).unwrap_or(&[]);
        let rest = rest.get(..NAME_LIMIT.min(rest.len())).unwrap_or(&[]);
        let text = rest.split(|b| *b == 0).next().unwrap_or(&[]);
        let text = if self.fits(text.len()) { text } else { &[] };
        let name: Arc<str> = String::from_utf8_lossy(text).into();
        self.known.insert(at, Arc::clone(&name));
        name
    }

    fn fits(&mut self, length: usize) -> bool {
        let fits = length <= SHORT || length <= self.room.left;
        if length > SHORT && fits {
            self.room.left -= length;
        }
        self.room.cut |= !fits;
        fits
    }
}

fn string_table(file: &ElfFile, section: u32) -> Option<StringTable> {
    let found = file.sections.get(section as usize)?;
    Some(StringTable { section: Some(section as usize), offset: found.offset, length: found.size })
}

/// Reads all symbol tables into the file.
pub(super) fn read_symbols<E>(file: &mut ElfFile, endian: Endianness)
where
    E: FileHeader<Endian = Endianness>,
{
    use object::elf::{SHT_DYNSYM, SHT_SYMTAB};
    let mut tables = Vec::new();
    let mut room = Room::new(file);
    for (index, section) in file.sections.iter().enumerate() {
        if !matches!(section.kind, SHT_SYMTAB | SHT_DYNSYM) {
            continue;
        }
        let minimum = size_of::<E::Sym>() as u64;
        let stride = section.entry_size.max(minimum);
        let mut table = SymbolTable {
            section: Some(index),
            offset: section.offset,
            dynamic: section.kind == SHT_DYNSYM,
            entry_size: stride,
            symbols: Vec::new(),
        };
        let count = room.grant(section.offset, section.size, file) / stride;
        let names = string_table(file, section.link);
        table.symbols = symbols::<E>(file, endian, &table, count, (names, &mut room.names));
        let extended = file
            .sections
            .iter()
            .find(|s| s.kind == object::elf::SHT_SYMTAB_SHNDX && s.link as usize == index);
        if let Some(extended) = extended {
            extend_indices(file, endian, &mut table, extended.offset);
        }
        tables.push(table);
    }
    if !tables.iter().any(|t: &SymbolTable| t.dynamic) {
        tables.extend(dynamic_symbols::<E>(file, endian, &mut room.names));
    }
    room.tell("symbol", &mut file.warnings);
    file.symbol_tables = tables;
}

/// Section numbers that do not fit 16 bits stand in a table of their own.
fn extend_indices(file: &ElfFile, endian: Endianness, table: &mut SymbolTable, offset: u64) {
    use object::endian::U32;
    let count = table.symbols.len() as u64;
    let raw = entries::<U32<Endianness>>(&file.bytes, offset, 4, count);
    for (symbol, wide) in table.symbols.iter_mut().zip(raw) {
        if symbol.index == object::elf::SHN_XINDEX {
            symbol.section = wide.get(endian);
        }
    }
}

fn symbols<E>(
    file: &ElfFile,
    endian: Endianness,
    table: &SymbolTable,
    count: u64,
    (names, room): (Option<StringTable>, &mut NameRoom),
) -> Vec<ElfSymbol>
where
    E: FileHeader<Endian = Endianness>,
{
    let mut names = Names::new(file, names, room);
    let raw = entries::<E::Sym>(&file.bytes, table.offset, table.entry_size, count);
    let symbol = |raw: &E::Sym| {
        let index = raw.st_shndx(endian);
        let name_at = raw.st_name(endian);
        let mut symbol = ElfSymbol {
            name: names.get(name_at),
            named: name_at != 0,
            kind: raw.st_type(),
            binding: raw.st_bind(),
            other: raw.st_other(),
            index,
            section: u32::from(index),
            value: raw.st_value(endian).into(),
            size: raw.st_size(endian).into(),
        };
        if symbol.kind == object::elf::STT_SECTION && symbol.name.is_empty() {
            let section = file.sections.get(usize::from(index));
            symbol.name = section.map_or_else(|| Arc::from(""), |s| Arc::clone(&s.name));
        }
        symbol
    };
    raw.into_iter().map(symbol).collect()
}

/// The dynamic symbol table of a file without sections.
fn dynamic_symbols<E>(
    file: &ElfFile,
    endian: Endianness,
    room: &mut NameRoom,
) -> Option<SymbolTable>
where
    E: FileHeader<Endian = Endianness>,
{
    use object::elf::{DT_GNU_HASH, DT_HASH, DT_SYMENT, DT_SYMTAB};
    let dynamic = file.dynamic.as_ref()?;
    let offset = file.offset_of(dynamic.value(DT_SYMTAB)?)?;
    let minimum = size_of::<E::Sym>() as u64;
    let stride = dynamic.value(DT_SYMENT).unwrap_or(minimum).max(minimum);
    let by_hash = dynamic.value(DT_HASH).and_then(|address| {
        let at = file.offset_of(address)?.checked_add(4)?;
        word(file, endian, at).map(u64::from)
    });
    let by_gnu_hash = || {
        dynamic.value(DT_GNU_HASH).and_then(|a| gnu_hash_count(file, endian, file.offset_of(a)?))
    };
    let count = by_hash.or_else(by_gnu_hash)?;
    let mut table = SymbolTable {
        section: None,
        offset,
        dynamic: true,
        entry_size: stride,
        symbols: Vec::new(),
    };
    table.symbols = symbols::<E>(file, endian, &table, count, (file.dynamic_strings, room));
    Some(table)
}

fn word(file: &ElfFile, endian: Endianness, at: u64) -> Option<u32> {
    use object::endian::U32;
    file.bytes.as_ref().read_at::<U32<Endianness>>(at).ok().map(|w| w.get(endian))
}

/// Number of symbols that a GNU hash table speaks of: the end of the chain
/// that starts farthest.
fn gnu_hash_count(file: &ElfFile, endian: Endianness, at: u64) -> Option<u64> {
    let buckets = u64::from(word(file, endian, at)?);
    let first = u64::from(word(file, endian, at.checked_add(4)?)?);
    let bloom = u64::from(word(file, endian, at.checked_add(8)?)?);
    let bucket_at = at.checked_add(16)?.checked_add(bloom.checked_mul(file.word())?)?;
    let limit = file.bytes.len() as u64 / 4;
    let mut last = 0u64;
    for bucket in 0..buckets.min(limit) {
        let Some(start) = word(file, endian, bucket_at.checked_add(bucket * 4)?) else { break };
        last = last.max(u64::from(start));
    }
    if last < first {
        return Some(first);
    }
    let chain_at = bucket_at.checked_add(buckets.checked_mul(4)?)?;
    loop {
        let hash = word(file, endian, chain_at.checked_add((last - first).checked_mul(4)?)?)?;
        last += 1;
        if hash & 1 != 0 {
            return Some(last);
        }
    }
}

/// Reads all relocation tables into the file.
pub(super) fn read_relocs<E>(file: &mut ElfFile, endian: Endianness)
where
    E: FileHeader<Endian = Endianness>,
{
    use object::elf::{SHT_REL, SHT_RELA, SHT_RELR};
    let mut tables: Vec<RelocTable> = Vec::new();
    let mut room = Room::new(file);
    for (index, section) in file.sections.iter().enumerate() {
        let form = match section.kind {
            SHT_REL => RelocForm::Rel,
            SHT_RELA => RelocForm::Rela,
            SHT_RELR => RelocForm::Relr,
            _ => continue,
        };
        let target = section.info as usize;
        let symbols = section.link as usize;
        let symbols = file.symbol_tables.iter().position(|t| t.section == Some(symbols));
        let by_default = || file.symbol_tables.iter().position(|t| t.dynamic);
        tables.push(RelocTable {
            section: Some(index),
            target: (target != 0 && target < file.sections.len()).then_some(target),
            symbols: symbols.or_else(by_default),
            form,
            offset: section.offset,
            relocs: {
                let size = room.grant(section.offset, section.size, file);
                relocs::<E>(file, endian, form, section.offset, size)
            },
        });
    }
    for (form, address, offset, size) in dynamic_relocs(file) {
        // The same table by another way: by the bytes of the file, or by the place in memory.
        let at = |index: usize| file.sections.get(index).map_or(0, |section| section.address);
        let known = |t: &RelocTable| {
            t.offset == offset || address != 0 && t.section.map(at) == Some(address)
        };
        if tables.iter().any(known) {
            continue;
        }
        tables.push(RelocTable {
            section: None,
            target: None,
            symbols: file.symbol_tables.iter().position(|t| t.dynamic),
            form,
            offset,
            relocs: relocs::<E>(file, endian, form, offset, size),
        });
    }
    room.tell("relocation", &mut file.warnings);
    file.reloc_tables = tables;
}

/// Form, address, file offset and size of each table that the dynamic table names.
fn dynamic_relocs(file: &ElfFile) -> Vec<(RelocForm, u64, u64, u64)> {
    use object::elf::{DT_JMPREL, DT_PLTREL, DT_PLTRELSZ, DT_REL, DT_RELA, DT_RELASZ, DT_RELSZ};
    const DT_RELRSZ: u32 = 35;
    const DT_RELR: u32 = 36;
    let Some(dynamic) = &file.dynamic else { return Vec::new() };
    let plt = match dynamic.value(DT_PLTREL) {
        Some(form) if form == u64::from(DT_REL) => RelocForm::Rel,
        _ => RelocForm::Rela,
    };
    let named = [
        (plt, DT_JMPREL, DT_PLTRELSZ),
        (RelocForm::Rel, DT_REL, DT_RELSZ),
        (RelocForm::Rela, DT_RELA, DT_RELASZ),
        (RelocForm::Relr, DT_RELR, DT_RELRSZ),
    ];
    named
        .into_iter()
        .filter_map(|(form, address, size)| {
            let address = dynamic.value(address)?;
            let offset = file.offset_of(address)?;
            Some((form, address, offset, dynamic.value(size)?))
        })
        .collect()
}

fn relocs<E>(
    file: &ElfFile,
    endian: Endianness,
    form: RelocForm,
    offset: u64,
    size: u64,
) -> Vec<Reloc>
where
    E: FileHeader<Endian = Endianness>,
{
    let mips64_little =
        file.header.machine == object::elf::EM_MIPS && file.header.is_64 && !file.header.big_endian;
    match form {
        RelocForm::Rel => {
            let stride = size_of::<E::Rel>() as u64;
            let raw = entries::<E::Rel>(&file.bytes, offset, stride, size / stride);
            let reloc = |r: &E::Rel| {
                let (mut symbol, mut kind) = (r.r_sym(endian), r.r_type(endian));
                if mips64_little {
                    // Each of the two words stands where a number of both would have the other.
                    (symbol, kind) = (kind, symbol.swap_bytes());
                }
                Reloc { offset: r.r_offset(endian).into(), symbol, kind, addend: None }
            };
            raw.into_iter().map(reloc).collect()
        }
        RelocForm::Rela => {
            let stride = size_of::<E::Rela>() as u64;
            let raw = entries::<E::Rela>(&file.bytes, offset, stride, size / stride);
            let reloc = |r: &E::Rela| Reloc {
                offset: r.r_offset(endian).into(),
                symbol: r.r_sym(endian, mips64_little),
                kind: r.r_type(endian, mips64_little),
                addend: Some(r.r_addend(endian).into()),
            };
            raw.into_iter().map(reloc).collect()
        }
        RelocForm::Relr => packed(file, endian, offset, size),
    }
}

/// Unpacks relative relocations: an even word is a place, an odd one a bitmap
/// of the words that follow the last place.
fn packed(file: &ElfFile, endian: Endianness, offset: u64, size: u64) -> Vec<Reloc> {
    use object::endian::{U32, U64};
    let words: Vec<u64> = if file.header.is_64 {
        let raw = entries::<U64<Endianness>>(&file.bytes, offset, 8, size / 8);
        raw.into_iter().map(|w| w.get(endian)).collect()
    } else {
        let raw = entries::<U32<Endianness>>(&file.bytes, offset, 4, size / 4);
        raw.into_iter().map(|w| u64::from(w.get(endian))).collect()
    };
    let step = file.word();
    // No more places than the file has words: each patches one of them.
    let limit = file.bytes.len() / step as usize;
    let mut all = Vec::new();
    let mut next = 0u64;
    let mut place = |offset| {
        if all.len() < limit {
            all.push(Reloc { offset, symbol: 0, kind: 0, addend: None });
        }
    };
    for word in words {
        if word & 1 == 0 {
            place(word);
            next = word.wrapping_add(step);
            continue;
        }
        for bit in 1..8 * step {
            if word >> bit & 1 != 0 {
                place(next.wrapping_add((bit - 1) * step));
            }
        }
        next = next.wrapping_add((8 * step - 1) * step);
    }
    all
}
