//! The Mach-O loader: programs, libraries and objects of macOS and iOS, thin
//! or one slice of a fat file.

mod bind;
mod blocks;
mod chained;
mod exports;
mod file;
mod header;
mod linked;
mod opcodes;
mod relocate;
mod symbols;

use crate::identity::Identity;
use crate::language::Language;
use crate::{LoadError, LoadOptions, unapplied};
use file::MachFile;
use object::macho as m;
use program::{Address, Program, RefType, Relocation, SourceType};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

const SUPPORTED: &str = "x86, x86-64, ARM, AArch64 and PowerPC";
const SOURCE: &str = "Mach-O Loader";
/// Made-up blocks start at such a boundary.
const ALIGNMENT: u64 = 0x1000;
/// Bytes between the places of other files' symbols: room for offsets from them.
const SPACING: u64 = 0x100;

/// A file on its way into a program.
struct Loader {
    file: Arc<MachFile>,
    /// What to add to the file's addresses, wrapping.
    delta: u64,
    mask: u64,
    program: Program,
    relocations: Vec<Relocation>,
    /// Made-up places of symbols that other files have, and the symbols of those files.
    externals: HashMap<Arc<str>, (Address, Address)>,
    next_function: u64,
    /// What was given its names first.
    globals: HashMap<Arc<str>, Address>,
    /// Starts and ends of sections with code.
    code: BTreeMap<u64, u64>,
    /// Pointers of chained fixups.
    pointers: Vec<Address>,
    function_starts: BTreeSet<Address>,
}

/// Loads a Mach-O file.
pub(crate) fn load(
    identity: Identity,
    bytes: Arc<[u8]>,
    options: &LoadOptions,
) -> Result<Program, LoadError> {
    let (bytes, note) = thin(bytes, options)?;
    let file = file::read(bytes)?;
    let language = language(&file, options)?;
    if file.segments.is_empty() {
        return Err(LoadError::Malformed { format: "Mach-O", what: "it has no segments".into() });
    }
    let mask = if language.bits >= 64 { u64::MAX } else { (1 << language.bits) - 1 };
    let own_base = file.segments.iter().filter(|s| s.file_size > 0).map(|s| s.address).min();
    let own_base = own_base.unwrap_or(0);
    let base = options.base.unwrap_or(own_base) & mask;
    let mut info = identity.into_info();
    info.executable_format = "Mac OS X Mach-O".into();
    info.image_base = base;
    language.describe(&mut info);
    let mut program = Program::new(info, language.big_endian, language.organization());
    for warning in note.iter().chain(&file.warnings) {
        program.warn(warning.clone());
    }
    let mut loader = Loader {
        file: Arc::new(file),
        delta: base.wrapping_sub(own_base),
        mask,
        program,
        relocations: Vec::new(),
        externals: HashMap::new(),
        next_function: 0,
        globals: HashMap::new(),
        code: BTreeMap::new(),
        pointers: Vec::new(),
        function_starts: BTreeSet::new(),
    };
    loader.run();
    Ok(loader.program)
}

/// The bytes of one slice, and a note on which one of several it is: the one
/// that the language asks for, else the host's own, else the first.
fn thin(bytes: Arc<[u8]>, options: &LoadOptions) -> Result<(Arc<[u8]>, Option<String>), LoadError> {
    let Some(slices) = file::slices(&bytes) else { return Ok((bytes, None)) };
    let part = |slice: &(u32, u64, u64)| -> Option<&[u8]> {
        let start = usize::try_from(slice.1).ok()?;
        let end = start.saturating_add(usize::try_from(slice.2).ok()?).min(bytes.len());
        bytes.get(start..end).filter(|b| !b.is_empty())
    };
    let present: Vec<_> = slices.iter().filter(|s| part(s).is_some()).collect();
    let processor = options.language.as_deref().and_then(|id| id.split(':').next());
    let wanted = |slice: &&&(u32, u64, u64)| processor_of(slice.0) == processor;
    let host = if cfg!(target_arch = "aarch64") { m::CPU_TYPE_ARM64 } else { m::CPU_TYPE_X86_64 };
    let chosen = present
        .iter()
        .find(|s| processor.is_some() && wanted(s))
        .or_else(|| present.iter().find(|s| s.0 == host))
        .or_else(|| present.first());
    let Some(chosen) = chosen else {
        let what = "its slices lie outside of the file".into();
        return Err(LoadError::Malformed { format: "fat Mach-O", what });
    };
    let names: Vec<String> = slices.iter().map(|s| cpu_name(s.0)).collect();
    let note = format!(
        "the file has slices for {}; this is the one for {}",
        names.join(", "),
        cpu_name(chosen.0)
    );
    Ok((part(chosen).unwrap_or(&[]).into(), Some(note)))
}

fn processor_of(cpu: u32) -> Option<&'static str> {
    Some(match cpu {
        m::CPU_TYPE_X86 | m::CPU_TYPE_X86_64 => "x86",
        m::CPU_TYPE_ARM => "ARM",
        m::CPU_TYPE_ARM64 | m::CPU_TYPE_ARM64_32 => "AARCH64",
        m::CPU_TYPE_POWERPC | m::CPU_TYPE_POWERPC64 => "PowerPC",
        _ => return None,
    })
}

fn cpu_name(cpu: u32) -> String {
    match cpu {
        m::CPU_TYPE_X86_64 => "x86-64".into(),
        m::CPU_TYPE_ARM64 => "AArch64".into(),
        _ => processor_of(cpu).map_or_else(|| format!("processor 0x{cpu:x}"), str::to_owned),
    }
}

fn language(file: &MachFile, options: &LoadOptions) -> Result<Language, LoadError> {
    let (natural, compiler) = match file.cpu {
        m::CPU_TYPE_X86 => ("x86:LE:32:default", "gcc"),
        m::CPU_TYPE_X86_64 => ("x86:LE:64:default", "gcc"),
        m::CPU_TYPE_ARM => ("ARM:LE:32:v8", "default"),
        m::CPU_TYPE_ARM64 => ("AARCH64:LE:64:AppleSilicon", "default"),
        m::CPU_TYPE_ARM64_32 => ("AARCH64:LE:32:ilp32", "default"),
        m::CPU_TYPE_POWERPC => ("PowerPC:BE:32:default", "macosx"),
        m::CPU_TYPE_POWERPC64 => ("PowerPC:BE:64:default", "macosx"),
        _ => ("", "default"),
    };
    let id = options.language.as_deref().unwrap_or(natural);
    if id.is_empty() {
        return Err(LoadError::UnsupportedMachine {
            format: "Mach-O",
            machine: cpu_name(file.cpu),
            supported: SUPPORTED,
        });
    }
    let go = Language::has_go(id) && Language::is_go(file.sections.iter().map(|s| &*s.name));
    let compiler = if go { "golang" } else { compiler };
    Language::new(id, options.compiler_spec.as_deref().unwrap_or(compiler))
}

impl Loader {
    fn run(&mut self) {
        self.make_blocks();
        self.load_entry();
        let exported = self.load_exports();
        self.load_symbols(!exported);
        self.name_stubs();
        self.make_externals();
        self.place_absolutes();
        self.fix_chained();
        self.rebase();
        self.bind();
        self.relocate();
        self.mark_header();
        self.mark_sections();
        self.mark_opcodes();
        self.mark_linked();
        self.mark_chained();
        self.load_function_starts();
        self.finish();
    }

    fn warn(&mut self, text: impl Into<String>) {
        if self.program.info.warnings.len() < 500 {
            self.program.warn(text);
        }
    }

    fn word(&self) -> u64 {
        if self.file.is_64 { 8 } else { 4 }
    }

    /// A file address as an address of the program.
    fn ram(&self, address: u64) -> Address {
        Address::ram(address.wrapping_add(self.delta) & self.mask)
    }

    fn write_word(&mut self, place: Address, value: u64) -> bool {
        let little = value.to_le_bytes();
        let mut bytes = little.get(..self.word() as usize).unwrap_or(&[]).to_vec();
        if self.file.big_endian {
            bytes.reverse();
        }
        self.program.memory.write(place, &bytes).is_ok()
    }

    /// Writes a pointer and records the relocation.
    fn fix(&mut self, place: Address, value: u64, symbol: &Arc<str>) {
        let length = if self.write_word(place, value) { self.word() as u8 } else { 0 };
        self.record(place, 0, length, symbol);
    }

    /// Notes a relocation; one that could not be applied has no length.
    fn record(&mut self, address: Address, kind: u32, length: u8, symbol: &Arc<str>) {
        if self.relocations.len() < self.file.bytes.len() {
            let (symbol, applied) = (Arc::clone(symbol), length != 0);
            self.relocations.push(Relocation { address, kind, symbol, length, applied });
        }
    }

    /// Defines a pointer; whether there was room for it.
    fn mark_pointer(&mut self, place: Address) -> bool {
        let pointer = self.program.types.builtin("pointer");
        let word = self.word() as u32;
        if !self.program.define_data(place, pointer, word) {
            return false;
        }
        let value = self.program.memory.read_uint(place, word).unwrap_or(0);
        let target = Address::ram(value);
        if value != 0 && self.program.memory.contains(target) {
            self.program.add_reference(place, target, RefType::Data, 0, SourceType::Default);
        }
        true
    }

    fn mark_chained(&mut self) {
        for place in std::mem::take(&mut self.pointers) {
            self.mark_pointer(place);
        }
    }

    fn finish(&mut self) {
        for place in std::mem::take(&mut self.function_starts) {
            if self.program.functions.at(place).is_some() {
                continue;
            }
            self.mark_function(place);
        }
        let entries: Vec<Address> = self.program.entry_points.keys().copied().collect();
        for place in entries {
            let all: Vec<_> = self.program.symbols.at(place).map(|(id, _)| id).collect();
            for id in all {
                self.program.symbols.edit(id, |s| s.external_entry = true);
            }
        }
        let mut all = std::mem::take(&mut self.relocations);
        all.sort_by_key(|r| r.address);
        self.program.relocations = Arc::new(all);
        unapplied::warn(&mut self.program, |kind| kind.to_string());
        demangler::apply(&mut self.program);
    }
}
