//! A processor language with one of its compiler specifications: tables, registers, conventions.
//!
//! Opening a language parses its tables once per process; afterwards a [`Language`] is a shared
//! handle that any number of decoders and decompilers use.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use ghidra_decompiler::address::Address;
use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::sleigh_arch::{LanguageDescription, global_language_registry};
use ghidra_decompiler::sleighbase::SleighBase;
use ghidra_decompiler::slghsymbol::{SymbolId, SymbolTable};
use ghidra_decompiler::space::{SpaceRef, SpaceType};
use ghidra_decompiler::translate::AddrSpaceManager;
use ghidra_decompiler::xml::{DocumentStorage, Element, xml_tree};

use crate::architecture::prepare;
use crate::call_fixup::{self, CallFixups};
use crate::context::{Context, ContextField};
use crate::convention::{self, Convention, ValuePlace};
use crate::error::LanguageError;
use crate::extensions;
use crate::handle::{NO_SPACE, space_index};
use crate::image::NoImage;
use crate::mode::Modes;
use crate::own_memory::OwnMemory;
use crate::pcode::VarSpace;
use crate::shape::Shapes;

/// The byte order of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// Where a register lives in the register space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RegisterVarnode {
    /// The offset in the register space.
    pub offset: u64,
    /// The size in bytes.
    pub size: u32,
}

/// A processor language and compiler specification, cheap to clone.
#[derive(Clone)]
pub struct Language {
    pub(crate) tables: Arc<Tables>,
}

/// What a language is made of; immutable once built.
pub(crate) struct Tables {
    id: String,
    compiler: String,
    description: LanguageDescription,
    pub(crate) base: SleighBase,
    pub(crate) root: SymbolId,
    pub(crate) shapes: Shapes,
    pub(crate) spaces: Spaces,
    registers: HashMap<String, RegisterVarnode>,
    pub(crate) register_names: HashMap<(u8, u64, u32), String>,
    register_space: u8,
    fields: BTreeMap<String, ContextField>,
    default_context: Context,
    stack_pointer: Option<RegisterVarnode>,
    program_counter: Option<RegisterVarnode>,
    return_address: Option<ValuePlace>,
    user_operations: Vec<String>,
    conventions: Vec<String>,
    default_convention: Option<String>,
    pub(crate) convention_facts: Vec<Convention>,
    call_fixups: CallFixups,
    pub(crate) own_memory: OwnMemory,
    pub(crate) modes: OnceLock<Modes>,
}

/// The address spaces of a language by their number in the engine.
pub(crate) struct Spaces {
    pub(crate) code: SpaceRef,
    pub(crate) constant: SpaceRef,
    pub(crate) kinds: Vec<SpaceKind>,
    pub(crate) constant_index: u8,
    pub(crate) unique_index: u8,
    pub(crate) code_index: u8,
}

/// What decoding has to know about one address space.
#[derive(Clone, Copy)]
pub(crate) struct SpaceKind {
    pub(crate) space: VarSpace,
    pub(crate) highest: u64,
    pub(crate) word_size: u32,
    pub(crate) address_size: u32,
}

impl Spaces {
    fn new(manager: &AddrSpaceManager) -> Option<Spaces> {
        let code = manager.get_default_code_space()?;
        let constant = manager.get_constant_space()?;
        let unique = manager.get_unique_space()?;
        let code_index = u8::try_from(code.get_index()).ok()?;
        let count = u8::try_from(manager.num_spaces()).ok()?;
        let kinds = (0..count)
            .map(|index| {
                let space = manager.get_space(i32::from(index));
                let kind = match &space {
                    Some(space) if space.get_type() == SpaceType::Constant => VarSpace::Const,
                    Some(space) if space.get_type() == SpaceType::Internal => VarSpace::Unique,
                    Some(_) if index == code_index => VarSpace::Ram,
                    Some(space) if space.get_name() == "register" => VarSpace::Register,
                    _ => VarSpace::Other(index),
                };
                SpaceKind {
                    space: kind,
                    highest: space.as_ref().map_or(u64::MAX, |space| space.get_highest()),
                    word_size: space.as_ref().map_or(1, |space| space.get_word_size()),
                    address_size: space.as_ref().map_or(0, |space| space.get_addr_size()),
                }
            })
            .collect();
        Some(Spaces {
            constant_index: u8::try_from(constant.get_index()).ok()?,
            unique_index: u8::try_from(unique.get_index()).ok()?,
            code,
            constant,
            kinds,
            code_index,
        })
    }

    pub(crate) fn kind(&self, index: u8) -> SpaceKind {
        self.kinds.get(usize::from(index)).copied().unwrap_or(SpaceKind {
            space: VarSpace::Other(index),
            highest: u64::MAX,
            word_size: 1,
            address_size: 0,
        })
    }

    /// What is known of a memory.
    fn kind_of(&self, space: VarSpace) -> SpaceKind {
        let known = self.kinds.iter().find(|kind| kind.space == space).copied();
        known.unwrap_or_else(|| self.kind(NO_SPACE))
    }

    /// An offset folded into its space, as the processor would.
    pub(crate) fn wrap(&self, index: u8, offset: u64) -> u64 {
        let highest = self.kind(index).highest;
        if offset <= highest || highest == u64::MAX { offset } else { offset % (highest + 1) }
    }
}

impl Tables {
    pub(crate) fn symbols(&self) -> &SymbolTable {
        &self.base.symtab
    }
}

type Opened = Mutex<HashMap<(String, String), Language>>;

fn opened() -> &'static Opened {
    static OPENED: OnceLock<Opened> = OnceLock::new();
    OPENED.get_or_init(Mutex::default)
}

impl Language {
    /// Opens a language by Ghidra's ids, for instance `x86:LE:64:default` and `gcc`.
    pub fn open(language: &str, compiler: &str) -> Result<Language, LanguageError> {
        let key = (language.to_string(), compiler.to_string());
        // Held while parsing: two threads that open the same language parse it once.
        let mut opened = opened().lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(found) = opened.get(&key) {
            return Ok(found.clone());
        }
        let tables = Tables::build(language, compiler)?;
        let built = Language { tables: Arc::new(tables) };
        opened.insert(key, built.clone());
        Ok(built)
    }

    /// The ids of all built-in languages, each with the ids of its compiler specifications.
    pub fn available() -> Vec<(String, Vec<String>)> {
        let registry = global_language_registry();
        let describe = |entry: &LanguageDescription| {
            let compilers = entry.get_compilers().iter().map(|tag| tag.get_id().to_string());
            (entry.get_id().to_string(), compilers.collect())
        };
        registry.get_descriptions().iter().map(describe).collect()
    }

    /// The language id, for instance `x86:LE:64:default`.
    pub fn language_id(&self) -> &str {
        &self.tables.id
    }

    /// The compiler specification id, for instance `gcc`.
    pub fn compiler_spec_id(&self) -> &str {
        &self.tables.compiler
    }

    pub(crate) fn description(&self) -> &LanguageDescription {
        &self.tables.description
    }

    /// The processor's name, for instance `x86`.
    pub fn processor(&self) -> &str {
        self.tables.description.get_processor()
    }

    /// The version of the language's description, for instance `4.6`.
    pub fn version(&self) -> &str {
        self.tables.description.get_version()
    }

    /// The byte order of data.
    pub fn endian(&self) -> Endian {
        if self.tables.base.translate.is_big_endian() { Endian::Big } else { Endian::Little }
    }

    /// The size of a pointer in bytes.
    pub fn pointer_size(&self) -> u32 {
        self.tables.spaces.kind(self.tables.spaces.code_index).address_size
    }

    /// The width of the processor's addresses in bits, as the language states it.
    pub fn address_bits(&self) -> u32 {
        u32::try_from(self.tables.description.get_size()).unwrap_or(0)
    }

    /// The alignment every instruction has, in bytes.
    pub fn instruction_alignment(&self) -> u32 {
        u32::try_from(self.tables.base.translate.get_alignment()).unwrap_or(1).max(1)
    }

    /// Where a register lives; the name is spelled as Ghidra spells it.
    pub fn register(&self, name: &str) -> Option<RegisterVarnode> {
        self.tables.registers.get(name).copied()
    }

    /// All registers of the register space, in no order; many overlap.
    pub fn registers(&self) -> impl Iterator<Item = (&str, RegisterVarnode)> {
        self.tables.registers.iter().map(|(name, place)| (name.as_str(), *place))
    }

    /// The register of exactly this offset and size.
    pub fn register_name(&self, offset: u64, size: u32) -> Option<&str> {
        self.tables.register_name(self.tables.register_space, offset, size)
    }

    /// The stack pointer of the compiler specification.
    pub fn stack_pointer(&self) -> Option<RegisterVarnode> {
        self.tables.stack_pointer
    }

    /// The program counter.
    pub fn program_counter(&self) -> Option<RegisterVarnode> {
        self.tables.program_counter
    }

    /// Where a function finds the address that it returns to, as far as the compiler
    /// specification says.
    pub fn return_address(&self) -> Option<ValuePlace> {
        self.tables.return_address
    }

    /// The names of the operations that the language leaves undefined, by the number that is the
    /// first input of `CALLOTHER`.
    pub fn user_operations(&self) -> &[String] {
        &self.tables.user_operations
    }

    /// How many bytes one address of a memory stands for.
    pub fn word_size(&self, space: VarSpace) -> u32 {
        self.tables.spaces.kind_of(space).word_size.max(1)
    }

    /// The highest byte offset of a memory.
    pub fn highest_offset(&self, space: VarSpace) -> u64 {
        self.tables.spaces.kind_of(space).highest
    }

    pub(crate) fn call_fixups(&self) -> &CallFixups {
        &self.tables.call_fixups
    }

    /// The calling conventions of the compiler specification.
    pub fn calling_conventions(&self) -> &[String] {
        &self.tables.conventions
    }

    /// The convention of functions that state none.
    pub fn default_convention(&self) -> Option<&str> {
        self.tables.default_convention.as_deref()
    }

    /// Whether the context register has a field of this name (`TMode` tells that Thumb exists).
    pub fn has_context(&self, field: &str) -> bool {
        self.tables.fields.contains_key(field)
    }

    /// The words of 32 bits that the fields of the context register take.
    pub fn context_words(&self) -> u32 {
        let last = self.tables.fields.values().map(|field| field.word).max();
        last.map_or(1, |word| word as u32 + 1)
    }

    /// The context that holds where nothing else is said.
    pub fn default_context(&self) -> Context {
        self.tables.default_context
    }

    /// A context with one field changed; unknown fields change nothing.
    #[must_use]
    pub fn with_context(&self, mut context: Context, field: &str, value: u32) -> Context {
        if let Some(field) = self.tables.fields.get(field) {
            field.set(&mut context, value);
        }
        context
    }

    /// The value of a context field, if the language has it.
    pub fn context_value(&self, context: Context, field: &str) -> Option<u32> {
        self.tables.fields.get(field).map(|field| field.get(context))
    }
}

impl std::fmt::Debug for Language {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Language({}:{})", self.tables.id, self.tables.compiler)
    }
}

impl Tables {
    fn build(language: &str, compiler: &str) -> Result<Tables, LanguageError> {
        let registry = global_language_registry();
        let description = registry
            .get_descriptions()
            .iter()
            .find(|entry| entry.get_id() == language)
            .ok_or_else(|| LanguageError::UnknownLanguage(language.to_string()))?
            .clone();
        if !description.get_compilers().iter().any(|tag| tag.get_id() == compiler) {
            return Err(LanguageError::UnknownCompiler {
                language: language.to_string(),
                compiler: compiler.to_string(),
            });
        }
        let broken = |reason: &str| LanguageError::Broken {
            language: language.to_string(),
            reason: reason.to_string(),
        };
        let mut architecture = prepare(&description, compiler, Arc::new(NoImage));
        let mut store = DocumentStorage::new();
        let initialized = extensions::register_all(&mut store, language, compiler)
            .and_then(|()| architecture.init(&mut store));
        initialized.map_err(|error| broken(error.explain()))?;
        let specification = registry
            .find_file(description.get_processor_spec())
            .and_then(|bytes| xml_tree(&bytes).ok());
        let root = specification.as_ref().map(|document| document.get_root());
        let own = description.get_compilers().iter().find(|tag| tag.get_id() == compiler);
        let call_fixups = own
            .and_then(|tag| registry.find_file(tag.get_spec()))
            .and_then(|bytes| xml_tree(&bytes).ok())
            .map(|document| call_fixup::read(document.get_root()));
        let tables =
            Tables::read(&mut architecture, description, compiler, root.map(|root| &**root));
        let tables = tables.ok_or_else(|| broken("the tables are incomplete"))?;
        Ok(Tables { call_fixups: call_fixups.unwrap_or_default(), ..tables })
    }

    fn read(
        architecture: &mut Architecture,
        description: LanguageDescription,
        compiler: &str,
        specification: Option<&Element>,
    ) -> Option<Tables> {
        let conventions = conventions(architecture);
        let convention_facts = convention::read(architecture, &conventions);
        let translate = architecture.translate.as_ref()?;
        let base = translate.as_sleigh()?.base().clone();
        let root = base.get_root()?;
        let spaces = Spaces::new(&base.translate.manager)?;
        let (registers, register_names) = registers(&base, &spaces);
        let is_register = |kind: &SpaceKind| kind.space == VarSpace::Register;
        let register_space =
            spaces.kinds.iter().position(is_register).map_or(NO_SPACE, |index| index as u8);
        let fields = context_fields(&base);
        let return_address = return_address(architecture);
        let mut user_operations = Vec::new();
        base.get_user_op_names(&mut user_operations);
        let default_context = default_context(architecture, &spaces);
        let stack_pointer = stack_pointer(&architecture.manager);
        let program_counter = specification
            .and_then(program_counter_name)
            .and_then(|name| registers.get(name).copied());
        let own_memory =
            specification.map(|root| own_memory(root, &base, &register_names)).unwrap_or_default();
        Some(Tables {
            id: description.get_id().to_string(),
            compiler: compiler.to_string(),
            shapes: Shapes::new(&base.symtab),
            conventions,
            convention_facts,
            call_fixups: CallFixups::default(),
            default_convention: architecture
                .defaultfp
                .and_then(|model| architecture.proto_models.try_get(model))
                .map(|model| model.get_name().to_string()),
            description,
            base,
            root,
            spaces,
            registers,
            register_names,
            register_space,
            fields,
            default_context,
            stack_pointer,
            program_counter,
            return_address,
            user_operations,
            own_memory,
            modes: OnceLock::new(),
        })
    }
}

fn program_counter_name(specification: &Element) -> Option<&str> {
    let children = specification.get_children();
    let element = children.iter().find(|child| child.get_name() == "programcounter")?;
    element.get_attribute_value("register").ok()
}

fn own_memory(
    specification: &Element,
    base: &SleighBase,
    registers: &HashMap<(u8, u64, u32), String>,
) -> OwnMemory {
    let manager = &base.translate.manager;
    let mut own = OwnMemory::read(specification, manager);
    let mut registers: Vec<_> = registers.iter().collect();
    registers.sort_unstable();
    for ((space, offset, _), name) in registers {
        if let Some(space) = manager.get_space(i32::from(*space)) {
            own.add_register(name, space.get_name(), *offset);
        }
    }
    own
}

type Registers = (HashMap<String, RegisterVarnode>, HashMap<(u8, u64, u32), String>);

fn registers(base: &SleighBase, spaces: &Spaces) -> Registers {
    let mut by_name = HashMap::new();
    let mut by_place = HashMap::new();
    let Some(scope) = base.symtab.get_global_scope() else {
        return (by_name, by_place);
    };
    for id in scope.iter() {
        let symbol = base.symtab.get(id);
        let Some(place) = symbol.get_fixed_varnode() else { continue };
        let space = space_index(place.space.as_ref());
        let name = symbol.get_name().to_string();
        by_place.entry((space, place.offset, place.size)).or_insert_with(|| name.clone());
        if spaces.kind(space).space == VarSpace::Register {
            by_name.insert(name, RegisterVarnode { offset: place.offset, size: place.size });
        }
    }
    (by_name, by_place)
}

fn context_fields(base: &SleighBase) -> BTreeMap<String, ContextField> {
    let mut fields = BTreeMap::new();
    // The walk cannot fail: the closure never does.
    let _ = base.reregister_context(&mut |name, first, last| {
        let bits = u32::try_from(first).ok().zip(u32::try_from(last).ok());
        if let Some(field) = bits.and_then(|(first, last)| ContextField::new(first, last)) {
            fields.insert(name.to_string(), field);
        }
        Ok(())
    });
    fields
}

fn default_context(architecture: &Architecture, spaces: &Spaces) -> Context {
    let mut context = Context::default();
    let Some(database) = architecture.context.as_ref() else { return context };
    let Ok(database) = database.lock() else { return context };
    let start = Address::new(spaces.code.clone(), 0);
    for (word, value) in context.words.iter_mut().zip(database.get_context(&start)) {
        *word = *value;
    }
    context
}

fn return_address(architecture: &Architecture) -> Option<ValuePlace> {
    let place = &architecture.default_return_addr;
    let space = place.space.as_ref()?;
    match space.get_type() {
        SpaceType::Spacebase => Some(ValuePlace::Stack(place.offset as i64)),
        SpaceType::Processor if space.get_name() == "register" => {
            Some(ValuePlace::Register(RegisterVarnode { offset: place.offset, size: place.size }))
        }
        _ => None,
    }
}

fn stack_pointer(manager: &AddrSpaceManager) -> Option<RegisterVarnode> {
    let base = manager.get_stack_space()?.get_spacebase_full(0).ok()?;
    Some(RegisterVarnode { offset: base.offset, size: base.size })
}

/// The names in the order in which the compiler specification defines them.
fn conventions(architecture: &Architecture) -> Vec<String> {
    let mut models: Vec<_> = architecture.proto_model_map.iter().collect();
    models.sort_by_key(|(_, model)| **model);
    let usable = |model| {
        architecture
            .proto_models
            .try_get(model)
            .is_some_and(|model| !model.is_merged() && !model.is_unknown())
    };
    models.into_iter().filter(|(_, model)| usable(**model)).map(|(name, _)| name.clone()).collect()
}
