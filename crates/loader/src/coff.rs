//! The COFF loader: object files of Windows' compilers, alone or as members of libraries. Their
//! sections have no addresses yet and get some, as a linker would give them.

mod relocate;

use crate::identity::Identity;
use crate::language::Language;
use crate::{LoadError, LoadOptions, unapplied};
use object::LittleEndian as LE;
use object::pe;
use object::read::SymbolIndex;
use object::read::coff::{CoffHeader, ImageSymbol, ImportFile, SectionTable, SymbolTable};
use program::{
    Address, AddressRange, AddressSet, BlockSource, Function, MemoryBlock, Permissions, Program,
    Relocation, SourceType, Symbol, SymbolId, SymbolKind,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const FORMAT: &str = "Common Object File Format (COFF)";
const SUPPORTED: &str = "x86, x86-64, ARM and AArch64";
/// Where the first section is.
const FIRST: u64 = 0x2000;
/// Sections of one name begin at such a boundary.
const ALIGNMENT: u64 = 0x100;
/// Bytes between the places of symbols that other files have.
const SLOT: u64 = 8;
/// The library of what no library is known for.
const NO_LIBRARY: &str = "<EXTERNAL>";

/// Where a section is, and how much of it.
#[derive(Clone, Copy)]
struct Placed {
    address: u64,
    size: u64,
}

/// A file on its way into a program.
struct Loader {
    bytes: Arc<[u8]>,
    machine: u16,
    mask: u64,
    program: Program,
    sections: Vec<Placed>,
    /// Places and names by their numbers in the symbol table.
    symbols: BTreeMap<u32, (u64, Arc<str>)>,
    /// Symbols of other files by their places, with those that stand for them.
    imports: BTreeMap<u64, Address>,
    relocations: Vec<Relocation>,
}

/// Whether a file is an object file: of a known processor, with its tables inside of it.
pub(crate) fn is_object(bytes: &[u8]) -> bool {
    let [a, b, c, d, ..] = bytes else { return false };
    if (*a, *b, *c, *d) == (0, 0, 0xff, 0xff) {
        return object::read::coff::anon_object_class_id(bytes)
            .is_ok_and(|id| id == pe::ANON_OBJECT_HEADER_BIGOBJ_CLASS_ID)
            || ImportFile::parse(bytes).is_ok();
    }
    let Ok(header) = pe::ImageFileHeader::parse(bytes, &mut 0) else { return false };
    let sections = u64::from(header.number_of_sections.get(LE));
    let symbols = u64::from(header.pointer_to_symbol_table.get(LE));
    let (table, size) = (20 + 40 * sections, bytes.len() as u64);
    processor(header.machine.get(LE)).is_some()
        && header.size_of_optional_header.get(LE) == 0
        && sections > 0
        && table <= size
        && (symbols == 0 || (table..=size).contains(&symbols))
}

/// Said where Ghidra's choice is not that of the system that runs such files.
const GCC: &str = "nothing in the object file says that Microsoft's tools made it, so that it is taken for gcc's, \
     as Ghidra does; parameters of Windows programs are in other registers: \
     language=x86:LE:64:default:windows takes those";

/// The language of a processor.
fn processor(machine: u16) -> Option<&'static str> {
    Some(match machine {
        pe::IMAGE_FILE_MACHINE_I386 => "x86:LE:32:default",
        pe::IMAGE_FILE_MACHINE_AMD64 => "x86:LE:64:default",
        pe::IMAGE_FILE_MACHINE_ARM => "ARM:LE:32:v8",
        pe::IMAGE_FILE_MACHINE_ARMNT => "ARM:LE:32:v8T",
        pe::IMAGE_FILE_MACHINE_ARM64 => "AARCH64:LE:64:v8A",
        _ => return None,
    })
}

/// Loads an object file.
pub(crate) fn load(
    identity: Identity,
    bytes: Arc<[u8]>,
    options: &LoadOptions,
) -> Result<Program, LoadError> {
    if let Ok(import) = ImportFile::parse(&*bytes) {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let (name, library) = (text(import.symbol()), text(import.dll()));
        let what = format!("it has no code, it imports {name} from {library}");
        return Err(LoadError::Malformed { format: "COFF", what });
    }
    match bytes.starts_with(&[0, 0, 0xff, 0xff]) {
        true => load_class::<pe::AnonObjectHeaderBigobj>(identity, &bytes, options),
        false => load_class::<pe::ImageFileHeader>(identity, &bytes, options),
    }
}

fn load_class<H: CoffHeader>(
    identity: Identity,
    bytes: &Arc<[u8]>,
    options: &LoadOptions,
) -> Result<Program, LoadError> {
    let malformed = |what: String| LoadError::Malformed { format: "COFF", what };
    let data: &[u8] = bytes;
    let mut offset = 0;
    let header = H::parse(data, &mut offset).map_err(|e| malformed(e.to_string()))?;
    let sections = header.sections(data, offset).map_err(|e| malformed(e.to_string()))?;
    let symbols = header.symbols(data);
    let strings = symbols.as_ref().map(SymbolTable::strings).unwrap_or_default();
    let names: Vec<String> = sections
        .iter()
        .map(|section| {
            let name = section.name(strings).unwrap_or(&[]);
            String::from_utf8_lossy(name).into_owned()
        })
        .collect();
    let microsoft =
        names.iter().any(|name| name.starts_with(".drectve") || name.starts_with(".debug$S"));
    let language = language(header.machine(), microsoft, options)?;
    let mask = if language.bits >= 64 { u64::MAX } else { (1 << language.bits) - 1 };
    let base = options.base.unwrap_or(0) & mask;
    let mut info = identity.into_info();
    info.executable_format = if microsoft { format!("MS {FORMAT}") } else { FORMAT.into() };
    info.image_base = base;
    language.describe(&mut info);
    let mut loader = Loader {
        bytes: Arc::clone(bytes),
        machine: header.machine(),
        mask,
        program: Program::new(info, language.big_endian, language.organization()),
        sections: Vec::new(),
        symbols: BTreeMap::new(),
        imports: BTreeMap::new(),
        relocations: Vec::new(),
    };
    loader.place_sections(&sections, &names, base);
    loader.make_blocks(&sections, &names);
    match symbols {
        Ok(symbols) => loader.load_symbols(&symbols),
        Err(error) => loader.program.warn(format!("the symbols cannot be read: {error}")),
    }
    loader.relocate(&sections);
    let mut all = std::mem::take(&mut loader.relocations);
    all.sort_by_key(|r| r.address);
    loader.program.relocations = Arc::new(all);
    unapplied::warn(&mut loader.program, |kind| kind.to_string());
    let is_x64 = header.machine() == pe::IMAGE_FILE_MACHINE_AMD64;
    if is_x64 && !microsoft && options.language.is_none() && options.compiler_spec.is_none() {
        loader.program.warn(GCC);
    }
    demangler::apply(&mut loader.program);
    Ok(loader.program)
}

fn language(machine: u16, microsoft: bool, options: &LoadOptions) -> Result<Language, LoadError> {
    let natural = processor(machine);
    let Some(id) = options.language.as_deref().or(natural) else {
        return Err(LoadError::UnsupportedMachine {
            format: "COFF",
            machine: format!("machine 0x{machine:x}"),
            supported: SUPPORTED,
        });
    };
    let x86 = matches!(machine, pe::IMAGE_FILE_MACHINE_I386 | pe::IMAGE_FILE_MACHINE_AMD64);
    let compiler = if x86 && !microsoft { "gcc" } else { "windows" };
    Language::new(id, options.compiler_spec.as_deref().unwrap_or(compiler))
}

impl Loader {
    /// Gives the sections addresses: those of one name behind each other, the names in order.
    fn place_sections(&mut self, sections: &SectionTable, names: &[String], base: u64) {
        let sizes = sections.iter().map(|section| {
            let size = u64::from(section.size_of_raw_data.get(LE));
            let at = u64::from(section.pointer_to_raw_data.get(LE));
            let room = (self.bytes.len() as u64).saturating_sub(at);
            if is_empty(section) { size } else { size.min(room) }
        });
        let sizes: Vec<u64> = sizes.collect();
        let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, size) in names.iter().zip(&sizes) {
            *totals.entry(name).or_default() += size;
        }
        let mut next = base.saturating_add(FIRST);
        for start in totals.values_mut() {
            let total = std::mem::replace(start, next);
            next = next.saturating_add(total).checked_next_multiple_of(ALIGNMENT).unwrap_or(next);
        }
        for (name, size) in names.iter().zip(&sizes) {
            let place = totals.entry(name).or_default();
            self.sections.push(Placed { address: *place, size: *size });
            *place = place.saturating_add(*size);
        }
    }

    fn make_blocks(&mut self, sections: &SectionTable, names: &[String]) {
        let placed = self.sections.clone();
        for ((section, name), place) in sections.iter().zip(names).zip(placed) {
            let flags = section.characteristics.get(LE);
            let start = Address::ram(place.address);
            let end = place.address.checked_add(place.size.saturating_sub(1));
            if place.size == 0 || flags == 0 {
                self.label(start, name);
                continue;
            }
            if end.is_none_or(|end| end > self.mask) {
                self.program.warn(format!("{name} does not fit the memory"));
                continue;
            }
            let offset = section.pointer_to_raw_data.get(LE) as usize;
            let source = match is_empty(section) {
                true => BlockSource::Uninitialized,
                false => BlockSource::Bytes {
                    bytes: Arc::clone(&self.bytes),
                    offset,
                    length: place.size as usize,
                },
            };
            let mut block = MemoryBlock::new(name.as_str(), start, place.size, source);
            let code = flags & pe::IMAGE_SCN_CNT_CODE != 0;
            block.permissions =
                Permissions { read: true, write: !code, execute: code, ..Permissions::default() };
            let (at, size) = (place.address, place.size);
            block.comment = format!("PhysAddr:0x{at:x} Size:0x{size:x} Flags:0x{flags:x}").into();
            if self.program.memory.add_block(block).is_err() {
                self.program.warn(format!("{name} overlaps another block and was left out"));
            }
        }
    }

    fn label(&mut self, place: Address, name: &str) -> SymbolId {
        let odd = |c: char| c.is_whitespace() || c.is_control();
        let name: String = name.chars().map(|c| if odd(c) { '_' } else { c }).collect();
        self.program.add_label(place, &name, SymbolId::GLOBAL, SourceType::Imported)
    }

    fn load_symbols<'d, H: CoffHeader>(&mut self, table: &SymbolTable<'d, &'d [u8], H>) {
        let end = self.program.memory.bounds().map_or(0, |(_, end)| end.offset);
        let first = end.saturating_add(0x1000).checked_next_multiple_of(SLOT).unwrap_or(0);
        let first = if end.is_multiple_of(SLOT) { first + SLOT } else { first };
        let mut next = first;
        // Names of all symbols together stay within a small multiple of the file.
        let mut budget = self.bytes.len().saturating_mul(4).saturating_add(1 << 16);
        for (index, symbol) in table.iter() {
            let name = symbol.name(table.strings()).unwrap_or(&[]);
            let Some(left) = budget.checked_sub(name.len()) else { break };
            budget = left;
            let name: Arc<str> = String::from_utf8_lossy(name).into();
            let number = index.0 as u32;
            let section = symbol.section_number();
            if section == 0 {
                self.symbols.insert(number, (next, Arc::clone(&name)));
                next = next.saturating_add(SLOT);
                continue;
            }
            let placed = usize::try_from(section - 1).ok().and_then(|n| self.sections.get(n));
            let address = match placed {
                Some(placed) => placed.address.wrapping_add(u64::from(symbol.value())) & self.mask,
                None if section == i32::from(pe::IMAGE_SYM_ABSOLUTE as i16) => {
                    u64::from(symbol.value())
                }
                None => continue,
            };
            self.symbols.insert(number, (address, Arc::clone(&name)));
            if !names_section(table, index, symbol) && !name.is_empty() {
                self.load_symbol(symbol, Address::ram(address), &name);
            }
        }
        self.make_externals(first, next);
    }

    fn load_symbol(&mut self, symbol: &impl ImageSymbol, place: Address, name: &str) {
        let known = self.program.symbols.primary_at(place).is_some();
        let id = self.label(place, name);
        if !known || symbol.storage_class() == pe::IMAGE_SYM_CLASS_EXTERNAL {
            self.program.symbols.make_primary(id);
        }
        let function = symbol.derived_type() == pe::IMAGE_SYM_DTYPE_FUNCTION
            && symbol.storage_class() != pe::IMAGE_SYM_CLASS_STATIC;
        if function {
            self.program.entry_points.insert(place, ());
            self.program.symbols.edit(id, |s| {
                s.external_entry = true;
                s.kind = SymbolKind::Function;
            });
        }
    }

    /// Places for what other files have.
    fn make_externals(&mut self, first: u64, end: u64) {
        if end == first || end > self.mask {
            return;
        }
        let place = Address::ram(first);
        let mut block =
            MemoryBlock::new("EXTERNAL", place, end - first, BlockSource::Uninitialized);
        block.permissions =
            Permissions { read: true, write: true, artificial: true, ..Permissions::default() };
        if self.program.memory.add_block(block).is_err() {
            self.program.warn("there is no room for the EXTERNAL block");
            return;
        }
        let parent =
            self.program.symbols.namespace(NO_LIBRARY, SymbolId::GLOBAL, SymbolKind::Library);
        let outside = self.symbols.values().filter(|(at, _)| (first..end).contains(at));
        let outside: Vec<(u64, Arc<str>)> = outside.cloned().collect();
        for (number, (at, name)) in outside.into_iter().enumerate() {
            if name.is_empty() {
                continue;
            }
            self.label(Address::ram(at), &name);
            let import = Address::external(number as u64 + 1);
            self.program.symbols.add(Symbol {
                name,
                address: import,
                kind: SymbolKind::Label,
                parent,
                source: SourceType::Imported,
                primary: true,
                external_entry: false,
                pinned: false,
            });
            self.imports.insert(at, import);
        }
    }

    /// What is called is a function: that of another file, and the place that stands for it.
    fn mark_called(&mut self, at: u64) {
        let place = Address::ram(at);
        let Some(import) = self.imports.get(&at).copied() else { return };
        if self.program.functions.at(place).is_some() {
            return;
        }
        self.program.add_function(import, AddressSet::new());
        let Some((symbol, _)) = self.program.symbols.primary_at(place) else { return };
        let body: AddressSet = AddressRange::with_length(place, 1).into_iter().collect();
        let undefined = self.program.types.builtin("undefined");
        self.program.functions.put(Function {
            thunk_of: Some(import),
            ..Function::new(place, symbol, body, undefined)
        });
        self.program.symbols.edit(symbol, |s| s.kind = SymbolKind::Function);
    }
}

/// Whether a section has no bytes in the file.
fn is_empty(section: &pe::ImageSectionHeader) -> bool {
    section.characteristics.get(LE) & pe::IMAGE_SCN_CNT_UNINITIALIZED_DATA != 0
        || section.pointer_to_raw_data.get(LE) == 0
}

/// Whether a symbol only stands for its section.
fn names_section<'d, H: CoffHeader>(
    table: &SymbolTable<'d, &'d [u8], H>,
    index: SymbolIndex,
    symbol: &impl ImageSymbol,
) -> bool {
    symbol.typ() == 0
        && symbol.value() == 0
        && symbol.storage_class() == pe::IMAGE_SYM_CLASS_STATIC
        && symbol.number_of_aux_symbols() > 0
        && table.aux_section(index).is_ok()
}
