//! The ELF loader: executables, shared objects and object files.

mod attributes;
mod data;
mod dynamic;
mod dynamic_tags;
mod external;
mod file;
mod got;
mod layout;
mod machine;
mod markup;
mod mips;
mod names;
mod notes;
mod place;
mod powerpc;
mod read;
mod relocate;
mod symbols;
mod tables;
mod types;
mod unallocated;
mod untyped;

use crate::identity::Identity;
use crate::{LoadError, LoadOptions, unapplied};
use external::{Externals, Promised};
use file::ElfFile;
use layout::Layout;
use program::{Address, Program, Relocation, SpaceId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Which loader made a block.
const SOURCE: &str = "Elf Loader";

/// A file on its way into a program.
struct Loader {
    file: Arc<ElfFile>,
    /// What to add to the file's addresses, wrapping.
    delta: u64,
    /// All bits of an address.
    mask: u64,
    layout: Layout,
    /// The space of each block of the layout.
    spaces: Vec<SpaceId>,
    program: Program,
    /// Where the symbols of each table ended up.
    symbol_places: Vec<Vec<Option<Address>>>,
    externals: Externals,
    /// Places at which symbols or headers say that a function starts.
    function_starts: BTreeSet<Address>,
    /// Functions with a second entry, and that (PowerPC).
    local_entries: BTreeMap<Address, Address>,
    /// Places at which mapping symbols say that data begins.
    data_marks: BTreeSet<Address>,
    relocations: Vec<Relocation>,
    /// Slots of the made-up offset table by symbol address.
    got_slots: HashMap<u64, Address>,
    /// Pointers that were marked; what they refer to is known at the end.
    pointers: Vec<Address>,
    /// Where the made-up offset table is, or will be.
    got_start: Option<u64>,
    promised: Promised,
    /// What relocations of MIPS leave to the next one.
    mips: relocate::mips::State,
    /// Distances by the instruction with their upper part (RISC-V).
    upper_parts: HashMap<u64, u64>,
    types: types::ElfTypes,
}

/// Loads an ELF file.
pub(crate) fn load(
    identity: Identity,
    bytes: Arc<[u8]>,
    options: &LoadOptions,
) -> Result<Program, LoadError> {
    let file = read::read(bytes)?;
    let language = machine::language(&file, options)?;
    if file.segments.is_empty() && file.sections.is_empty() {
        return Err(LoadError::Malformed {
            format: "ELF",
            what: "it has neither segments nor sections inside of the file".into(),
        });
    }
    let base = image_base(&file, options);
    let mut info = identity.into_info();
    info.executable_format = "Executable and Linking Format (ELF)".into();
    info.relocatable = file.is_movable();
    language.describe(&mut info);
    let mask = if language.bits >= 64 { u64::MAX } else { (1 << language.bits) - 1 };
    info.image_base = base & mask;
    let delta = base.wrapping_sub(file.base());
    let layout = layout::plan(&file, delta, language.bits);
    let mut program = Program::new(info, language.big_endian, language.organization());
    for warning in file.warnings.iter().chain(&layout.warnings) {
        program.warn(warning.clone());
    }
    let mut loader = Loader {
        file: Arc::new(file),
        delta,
        mask,
        layout,
        spaces: Vec::new(),
        program,
        symbol_places: Vec::new(),
        externals: Externals::default(),
        function_starts: BTreeSet::new(),
        local_entries: BTreeMap::new(),
        data_marks: BTreeSet::new(),
        relocations: Vec::new(),
        got_slots: HashMap::new(),
        pointers: Vec::new(),
        got_start: None,
        promised: Promised::default(),
        mips: relocate::mips::State::default(),
        upper_parts: HashMap::new(),
        types: types::ElfTypes::default(),
    };
    loader.run();
    Ok(loader.program)
}

/// Where the image goes: files that can go anywhere are kept off address zero.
fn image_base(file: &ElfFile, options: &LoadOptions) -> u64 {
    let base = file.base();
    let movable = matches!(file.header.kind, object::elf::ET_REL | object::elf::ET_DYN);
    match options.base {
        Some(base) => base,
        None if base == 0 && movable => {
            if file.header.is_64 {
                0x10_0000
            } else {
                0x1_0000
            }
        }
        None => base,
    }
}

impl Loader {
    /// The order matters: of several names for one place, the first is shown
    /// until one comes along that is known to be better.
    fn run(&mut self) {
        self.make_blocks();
        self.mark_headers();
        self.mark_dynamic();
        self.mark_interpreter();
        self.mark_strings();
        self.load_symbols();
        self.load_mips();
        self.link_mips_stubs();
        self.load_powerpc();
        self.load_entries();
        self.relocate();
        self.link_untyped();
        self.link_powerpc_stubs();
        self.link_descriptors();
        self.relocate_mips_got();
        self.mark_got();
        self.mark_hash_tables();
        self.mark_notes();
        self.mark_versions();
        self.protect();
        self.refer_pointers();
        self.finish_symbols();
        self.link_local_entries();
        self.finish_relocations();
        demangler::apply(&mut self.program);
    }

    fn warn(&mut self, text: impl Into<String>) {
        if self.program.info.warnings.len() < 500 {
            self.program.warn(text);
        }
    }

    /// A file address as an address of the program.
    fn ram(&self, address: u64) -> Address {
        Address::ram(address.wrapping_add(self.delta) & self.mask)
    }

    fn finish_relocations(&mut self) {
        let mut all = std::mem::take(&mut self.relocations);
        all.sort_by_key(|r| r.address);
        self.program.relocations = Arc::new(all);
        let packed = self.is_mips() && self.file.header.is_64;
        unapplied::warn(&mut self.program, |kind| match packed {
            true => relocate::mips::types(kind),
            false => kind.to_string(),
        });
    }
}
