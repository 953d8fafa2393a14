//! The PE loader: Windows programs and libraries of 32 and 64 bits.

mod blocks;
mod coff;
mod compiler;
mod debug_directory;
mod delayed;
mod exceptions;
mod exports;
mod file;
mod headers;
mod imports;
mod load_config;
mod managed;
mod pseudo_relocations;
mod resources;
mod tables;
mod types;
mod version;

use crate::identity::Identity;
use crate::language::Language;
use crate::{LoadError, LoadOptions};
use file::PeFile;
use object::pe;
use program::{
    Address, AddressRange, AddressSet, Program, RecordRules, RefType, Relocation, SourceType,
    SymbolId,
};
use std::collections::BTreeSet;
use std::sync::Arc;

const SUPPORTED: &str = "x86, x86-64, ARM, AArch64 and RISC-V";

/// A file on its way into a program.
struct Loader {
    file: Arc<PeFile>,
    /// Where the image is.
    base: u64,
    mask: u64,
    program: Program,
    relocations: Vec<Relocation>,
    /// Places at which a function starts.
    function_starts: BTreeSet<Address>,
    /// Those that unwinding knows.
    unwound: BTreeSet<Address>,
    next_external: u64,
    /// Slots looked at so far.
    imports: u64,
}

/// Loads a PE file.
pub(crate) fn load(
    identity: Identity,
    bytes: Arc<[u8]>,
    options: &LoadOptions,
) -> Result<Program, LoadError> {
    let file = file::read(bytes)?;
    let language = language(&file, options)?;
    let mut info = identity.into_info();
    info.executable_format = "Portable Executable (PE)".into();
    language.describe(&mut info);
    let mask = if language.bits >= 64 { u64::MAX } else { (1 << language.bits) - 1 };
    let base = options.base.unwrap_or(file.image_base) & mask;
    info.image_base = base;
    let mut organization = language.organization();
    if compiler::is_gcc(&file) {
        organization.compiler.rules = RecordRules::MinGw;
    }
    let mut program = Program::new(info, language.big_endian, organization);
    for warning in &file.warnings {
        program.warn(warning.clone());
    }
    let mut loader = Loader {
        file: Arc::new(file),
        base,
        mask,
        program,
        relocations: Vec::new(),
        function_starts: BTreeSet::new(),
        unwound: BTreeSet::new(),
        next_external: 0,
        imports: 0,
    };
    loader.run();
    Ok(loader.program)
}

fn language(file: &PeFile, options: &LoadOptions) -> Result<Language, LoadError> {
    let natural = match file.machine {
        pe::IMAGE_FILE_MACHINE_I386 => "x86:LE:32:default",
        pe::IMAGE_FILE_MACHINE_AMD64 => "x86:LE:64:default",
        pe::IMAGE_FILE_MACHINE_ARM => "ARM:LE:32:v8",
        pe::IMAGE_FILE_MACHINE_THUMB | pe::IMAGE_FILE_MACHINE_ARMNT => "ARM:LE:32:v8T",
        pe::IMAGE_FILE_MACHINE_ARM64 => "AARCH64:LE:64:v8A",
        pe::IMAGE_FILE_MACHINE_RISCV32 => "RISCV:LE:32:default",
        pe::IMAGE_FILE_MACHINE_RISCV64 => "RISCV:LE:64:default",
        _ => "",
    };
    let id = options.language.as_deref().unwrap_or(natural);
    if id.is_empty() {
        return Err(LoadError::UnsupportedMachine {
            format: "PE",
            machine: format!("machine 0x{:04x}", file.machine),
            supported: SUPPORTED,
        });
    }
    let compiler = match Language::has_go(id) && is_go(file) {
        true => "golang",
        false => compiler::specification(file),
    };
    Language::new(id, options.compiler_spec.as_deref().unwrap_or(compiler))
}

/// Whether a section begins with what Go tells about a build: sections have no names of Go's here.
fn is_go(file: &PeFile) -> bool {
    /// Far enough for what linkers put before it.
    const NEAR: usize = 1 << 16;
    file.sections.iter().any(|section| {
        let bytes = file.bytes.get(section.raw_offset as usize..).unwrap_or_default();
        let near = bytes.len().min(section.raw_size as usize).min(NEAR);
        let bytes = bytes.get(..near).unwrap_or_default();
        bytes.chunks(16).any(|chunk| chunk.starts_with(b"\xff Go buildinf:"))
    })
}

impl Loader {
    fn run(&mut self) {
        self.make_blocks();
        self.mark_headers();
        self.load_resources();
        self.load_exceptions();
        self.load_base_relocations();
        self.mark_debug_directory();
        self.load_tls();
        self.load_config();
        self.load_exports();
        self.load_imports();
        self.load_delayed_imports();
        self.load_managed();
        self.load_coff_symbols();
        self.load_pseudo_relocations();
        self.load_entry();
        self.finish();
    }

    fn warn(&mut self, text: impl Into<String>) {
        if self.program.info.warnings.len() < 500 {
            self.program.warn(text);
        }
    }

    /// An offset from the image base as an address.
    fn place(&self, offset: u32) -> Address {
        Address::ram(self.base.wrapping_add(u64::from(offset)) & self.mask)
    }

    fn read(&self, place: Address, size: u32) -> Option<u64> {
        self.program.memory.read_uint(place, size)
    }

    /// Adds an imported label. It is shown if it is the first, or if it is a
    /// function's and the one before is not.
    fn label(&mut self, place: Address, name: &str) -> SymbolId {
        let place = self.code_place(place);
        let name: String = name
            .chars()
            .map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c })
            .collect();
        self.program.add_label(place, &name, SymbolId::GLOBAL, SourceType::Imported)
    }

    /// Where code begins: the lowest bit of an address of ARM's says that it is Thumb code.
    fn code_place(&mut self, place: Address) -> Address {
        let thumb = place.offset & 1 != 0 && self.file.is_arm() && self.is_executable(place);
        if !thumb {
            return place;
        }
        let place = Address::ram(place.offset & !1);
        if self.file.machine == pe::IMAGE_FILE_MACHINE_ARM {
            self.program.set_mode(AddressRange { start: place, end: place }, 1);
        }
        place
    }

    fn is_executable(&self, place: Address) -> bool {
        self.program.memory.block_at(place).is_some_and(|block| block.permissions.execute)
    }

    /// Notes a place at which others enter the program.
    fn enter(&mut self, place: Address) {
        let place = self.code_place(place);
        self.program.entry_points.insert(place, ());
    }

    /// Notes a place at which a function starts; false if it was known.
    fn start_function(&mut self, place: Address) -> bool {
        let place = self.code_place(place);
        self.function_starts.insert(place)
    }

    fn load_entry(&mut self) {
        // A library without an entry has it at its very beginning, where no code is.
        let place = self.place(self.file.entry);
        if !self.program.memory.contains(place) {
            return;
        }
        self.label(place, "entry");
        self.enter(place);
        if self.file.entry != 0 {
            self.start_function(place);
        }
    }

    /// The reference that a pointer or an image offset is by itself.
    fn refer(&mut self, from: Address, to: Address) {
        if self.program.memory.contains(to) {
            self.program.add_reference(from, to, RefType::Data, 0, SourceType::Default);
        }
    }

    fn finish(&mut self) {
        for place in std::mem::take(&mut self.function_starts) {
            if let Some((id, _)) = self.program.symbols.primary_at(place) {
                self.program.symbols.edit(id, |s| s.kind = program::SymbolKind::Function);
            } else {
                self.program.add_function(place, AddressSet::new());
            }
        }
        let entries: Vec<Address> = self.program.entry_points.keys().copied().collect();
        for place in entries {
            let all: Vec<SymbolId> = self.program.symbols.at(place).map(|(id, _)| id).collect();
            for id in all {
                self.program.symbols.edit(id, |s| s.external_entry = true);
            }
        }
        let mut all = std::mem::take(&mut self.relocations);
        all.sort_by_key(|r| r.address);
        self.program.relocations = Arc::new(all);
        self.warn_of_unmoved();
        demangler::apply(&mut self.program);
    }
}
