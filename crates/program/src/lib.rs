//! The program database: plain data about one binary, without I/O.
//!
//! A [`Program`] is a handful of tables that share their storage with every
//! clone ([`table`]): a clone is a consistent snapshot in O(1), and a
//! transaction is a clone that is edited and then either published or dropped.

pub mod address;
mod address_text;
mod carried_address;
pub mod changes;
pub mod comment;
mod compiler;
pub mod composite;
mod data_text;
pub mod data_type;
mod dependants;
mod dos_stub;
mod edit;
pub mod flow;
pub mod function;
mod function_edit;
pub mod layout;
pub mod listing;
pub mod memory;
mod naming;
mod offcut;
pub mod reference;
pub mod search;
mod signature_text;
pub mod symbol;
pub mod table;
mod type_edit;
mod verify;

pub use address::{
    Address, AddressRange, AddressSet, AddressSpace, AddressSpaces, SpaceId, SpaceKind,
};
pub use address_text::AddressTextError;
pub use changes::Changes;
pub use comment::CommentKind;
pub use compiler::{Compiler, RecordRules, VaList};
pub use data_type::{DataOrganization, DataType, DataTypes, TypeId, TypeKind};
pub use dependants::TypeFault;
pub use dos_stub::DosStub;
pub use edit::DefineError;
pub use flow::{FlowOverride, FlowType, RefType};
pub use function::{
    Function, Functions, LocalVariable, Parameter, Signature, Storage, StoragePiece,
};
pub use listing::{CodeUnit, DataUnit, Instruction, Listing};
pub use memory::{BlockKind, BlockSource, Memory, MemoryBlock, MemoryError, PAGE, Permissions};
pub use reference::{Reference, ReferenceInfo, References};
pub use search::{BytePattern, SearchStep, TextEncoding};
pub use signature_text::parameter_name;
pub use symbol::{SourceType, Symbol, SymbolId, SymbolKind, Symbols};
pub use table::{Change, Table};
pub use verify::Violation;

use std::sync::Arc;
use std::time::SystemTime;

/// What is known about the file and its processor as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProgramInfo {
    /// Short name, usually the file's.
    pub name: String,
    /// Where the file was read from.
    pub executable_path: String,
    /// Ghidra's name of the format, such as
    /// `Executable and Linking Format (ELF)`.
    pub executable_format: String,
    /// Address the image is loaded at.
    pub image_base: u64,
    /// Language id, such as `x86:LE:64:default`.
    pub language_id: String,
    /// Compiler specification id, such as `gcc`.
    pub compiler_spec_id: String,
    /// Processor name, such as `x86`.
    pub processor: String,
    /// Width of the default space's addresses in bits.
    pub address_bits: u32,
    /// MD5 of the file, lower-case hex.
    pub md5: String,
    /// SHA-256 of the file, lower-case hex.
    pub sha256: String,
    /// Bytes of the file.
    pub file_size: u64,
    /// When the file was made, if known.
    pub created: Option<SystemTime>,
    /// When the file was last changed, if known.
    pub modified: Option<SystemTime>,
    /// Whether the image can be moved as a whole, so that every pointer in it
    /// is among the relocations.
    pub relocatable: bool,
    /// What the loader found broken and how it went on.
    pub warnings: Vec<String>,
    /// Entries of functions that are stated to return, whatever their names and their code tell.
    pub returning: std::collections::BTreeSet<Address>,
}

/// A place that the loader patched, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// The patched place.
    pub address: Address,
    /// The format's type number.
    pub kind: u32,
    /// The symbol's name; empty when it has none.
    pub symbol: Arc<str>,
    /// Bytes patched.
    pub length: u8,
    /// Whether it could be applied.
    pub applied: bool,
}

/// One binary and everything known about it. Clone to snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// The file and its processor.
    pub info: Arc<ProgramInfo>,
    /// Address spaces.
    pub spaces: Arc<AddressSpaces>,
    /// Blocks and bytes.
    pub memory: Memory,
    /// Instructions and data.
    pub listing: Listing,
    /// Stored symbols.
    pub symbols: Symbols,
    /// Functions.
    pub functions: Functions,
    /// References.
    pub references: References,
    /// Comments by address and kind.
    pub comments: Table<(Address, CommentKind), Arc<str>>,
    /// Data types.
    pub types: DataTypes,
    /// Where a decoding mode other than the default begins (and the default
    /// comes back): mode by first address.
    pub modes: Table<Address, u8>,
    /// Relocations in address order.
    pub relocations: Arc<Vec<Relocation>>,
    /// Places that the file marks as entries for the outside.
    pub entry_points: Table<Address, ()>,
    /// Addresses in code that hold read-only data although their block can be
    /// written (relocated once, then protected), as the format says.
    pub protected: AddressSet,
    /// The file of Ghidra's that the program was taken over from, verbatim: what these tables have
    /// no place for is given back from there.
    pub origin: Option<Arc<[u8]>>,
}

/// The block of what FS or GS points to in Windows programs.
pub const THREAD_BLOCK: &str = "tdb";

impl Program {
    /// Where the thread environment block is that analysis made of a Windows program for x86.
    pub fn thread_block(&self) -> Option<Address> {
        let block = self.memory.block_named(THREAD_BLOCK);
        block.filter(|block| block.permissions.artificial).map(|block| block.start)
    }

    /// An empty program for a processor.
    pub fn new(info: ProgramInfo, big_endian: bool, organization: DataOrganization) -> Program {
        let bits = info.address_bits;
        let organization = organization.made_for(&info);
        Program {
            info: Arc::new(info),
            spaces: Arc::new(AddressSpaces::new(bits)),
            memory: Memory::new(big_endian),
            listing: Listing::default(),
            symbols: Symbols::default(),
            functions: Functions::default(),
            references: References::default(),
            comments: Table::new(),
            types: DataTypes::new(organization),
            modes: Table::new(),
            relocations: Arc::default(),
            entry_points: Table::new(),
            protected: AddressSet::new(),
            origin: None,
        }
    }

    /// Whether both share all their storage: nothing was changed since one was
    /// cloned from the other. O(1); false is no proof of a difference.
    pub fn same(&self, other: &Program) -> bool {
        Arc::ptr_eq(&self.info, &other.info)
            && Arc::ptr_eq(&self.spaces, &other.spaces)
            && self.memory.same(&other.memory)
            && self.listing.instructions.same(&other.listing.instructions)
            && self.listing.data.same(&other.listing.data)
            && self.symbols.same(&other.symbols)
            && self.functions.same(&other.functions)
            && self.references.same(&other.references)
            && self.comments.same(&other.comments)
            && self.types.same(&other.types)
            && self.modes.same(&other.modes)
            && Arc::ptr_eq(&self.relocations, &other.relocations)
            && self.entry_points.same(&other.entry_points)
            && self.protected == other.protected
    }

    /// Notes something that the loader repaired or left out.
    pub fn warn(&mut self, text: impl Into<String>) {
        Arc::make_mut(&mut self.info).warnings.push(text.into());
    }

    /// The decoding mode in force at an address.
    pub fn mode_at(&self, address: Address) -> u8 {
        match self.modes.at_or_below(&address) {
            Some((start, mode)) if start.space == address.space => *mode,
            _ => 0,
        }
    }

    /// Sets the decoding mode of a range; what follows keeps its mode.
    pub fn set_mode(&mut self, range: AddressRange, mode: u8) {
        if let Some(next) = range.end.checked_add(1) {
            let after = self.mode_at(next);
            self.modes.insert(next, after);
        }
        self.modes.remove_where(range.start..=range.end, |_, _| true);
        self.modes.insert(range.start, mode);
    }

    /// What stands at an address: a unit that starts there, or an undefined
    /// byte where nothing is defined; `None` inside of a unit or outside of
    /// memory.
    pub fn code_unit_at(&self, address: Address) -> Option<CodeUnit> {
        match self.listing.unit_containing(address) {
            Some((start, unit)) => (start == address).then_some(unit),
            None => self.memory.contains(address).then_some(CodeUnit::Undefined),
        }
    }

    /// Every unit that starts in `from..=to`, undefined bytes included, in address order.
    pub fn units(&self, from: Address, to: Address) -> impl Iterator<Item = (Address, CodeUnit)> {
        let mut next = self.unit_start(from);
        std::iter::from_fn(move || {
            let at = next.filter(|at| *at <= to)?;
            let unit = self.code_unit_at(at)?;
            next = at.checked_add(unit.length().max(1)).and_then(|after| self.unit_start(after));
            Some((at, unit))
        })
    }

    /// The first address from `at` on where a unit starts.
    fn unit_start(&self, at: Address) -> Option<Address> {
        let mut at = at;
        loop {
            if let Some((start, unit)) = self.listing.unit_containing(at) {
                if start == at {
                    return Some(at);
                }
                at = start.checked_add(unit.length().max(1))?;
            } else if self.memory.contains(at) {
                return Some(at);
            } else {
                let after = self.memory.blocks().partition_point(|block| block.start <= at);
                at = self.memory.blocks().get(after)?.start;
            }
        }
    }

    /// The shown name of a stored symbol: functions without a name of their
    /// own bear that of what they thunk, or the default one.
    pub fn symbol_name(&self, id: SymbolId) -> String {
        let Some(symbol) = self.symbols.get(id) else { return String::new() };
        if symbol.name.is_empty() && symbol.kind == SymbolKind::Function {
            return self.function_name(symbol.address);
        }
        symbol.name.to_string()
    }

    /// The shown name of the function with that entry.
    pub fn function_name(&self, entry: Address) -> String {
        let mut at = entry;
        for _ in 0..16 {
            let Some(function) = self.functions.at(at) else { break };
            match self.symbols.get(function.symbol) {
                Some(symbol) if !symbol.name.is_empty() => return symbol.name.to_string(),
                _ => {}
            }
            match function.thunk_of {
                Some(next) => at = next,
                None => break,
            }
        }
        let default = self.default_function_name(at);
        if at == entry { default } else { format!("thunk_{default}") }
    }

    /// The namespace of a function: its symbol's, or for a nameless thunk that
    /// of what it thunks.
    pub fn function_namespace(&self, entry: Address) -> SymbolId {
        let mut at = entry;
        for _ in 0..16 {
            let Some(function) = self.functions.at(at) else { break };
            let Some(symbol) = self.symbols.get(function.symbol) else { break };
            match function.thunk_of {
                Some(next) if symbol.name.is_empty() => at = next,
                _ => return symbol.parent,
            }
        }
        SymbolId::GLOBAL
    }

    /// The function that a chain of thunks ends at.
    pub fn thunked(&self, entry: Address) -> Option<&Arc<Function>> {
        let mut function = self.functions.at(entry)?;
        for _ in 0..16 {
            match function.thunk_of.and_then(|next| self.functions.at(next)) {
                Some(next) => function = next,
                None => break,
            }
        }
        Some(function)
    }

    /// Adds a label and makes it primary if it is the first at its address.
    /// A label of the same name there is given back instead.
    pub fn add_label(
        &mut self,
        address: Address,
        name: &str,
        parent: SymbolId,
        source: SourceType,
    ) -> SymbolId {
        let same = |s: &Symbol| &*s.name == name && s.parent == parent;
        if let Some((id, _)) = self.symbols.at(address).find(|(_, s)| same(s)) {
            return id;
        }
        let primary = self.symbols.primary_at(address).is_none();
        self.symbols.add(Symbol {
            name: name.into(),
            address,
            kind: SymbolKind::Label,
            parent,
            source,
            primary,
            external_entry: false,
            pinned: false,
        })
    }

    /// Makes a function of a body that belongs to nobody yet. A primary label
    /// at the entry becomes its symbol; otherwise it bears its default name.
    /// Gives back the function already there, if there is one.
    pub fn add_function(&mut self, entry: Address, body: AddressSet) -> Arc<Function> {
        if let Some(known) = self.functions.at(entry) {
            return Arc::clone(known);
        }
        let symbol = match self.symbols.primary_at(entry) {
            Some((id, _)) => {
                self.symbols.edit(id, |s| s.kind = SymbolKind::Function);
                id
            }
            None => self.symbols.add(Symbol {
                name: "".into(),
                address: entry,
                kind: SymbolKind::Function,
                parent: SymbolId::GLOBAL,
                source: SourceType::Default,
                primary: true,
                external_entry: false,
                pinned: false,
            }),
        };
        let undefined = self.types.builtin("undefined");
        let function = Function::new(entry, symbol, body, undefined);
        self.functions.put(function.clone());
        match self.functions.at(entry) {
            Some(stored) => Arc::clone(stored),
            None => Arc::new(function),
        }
    }

    /// Defines data where nothing is defined yet; its type counts as used.
    /// False when a unit is in the way or the memory is not there.
    pub fn define_data(&mut self, address: Address, data_type: TypeId, length: u32) -> bool {
        let Some(range) = AddressRange::with_length(address, u64::from(length)) else {
            return false;
        };
        let inside = self.memory.contains(range.start) && self.memory.contains(range.end);
        if !inside || self.listing.is_defined(&range) {
            return false;
        }
        self.types.mark_used(data_type);
        self.listing.data.insert(address, DataUnit { data_type, length });
        true
    }

    /// Adds a reference; the first on its operand is the primary one.
    pub fn add_reference(
        &mut self,
        from: Address,
        to: Address,
        kind: RefType,
        operand: i8,
        source: SourceType,
    ) {
        let primary = !self.references.from(from).any(|r| r.operand == operand && r.info.primary);
        let info = ReferenceInfo { kind, source, primary };
        self.references.add(Reference { from, to, operand, info });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut program = Program::new(info, false, DataOrganization::default());
        let bytes: Arc<[u8]> = b"Hello, world!\0\x90\x90\0\0\0\0\0\0\0\0".as_slice().into();
        let source =
            BlockSource::Bytes { bytes: Arc::clone(&bytes), offset: 0, length: bytes.len() };
        let block = MemoryBlock::new(".x", Address::ram(0x1000), bytes.len() as u64, source);
        program.memory.add_block(block).unwrap();
        program
    }

    #[test]
    fn a_dropped_transaction_leaves_no_trace() {
        let before = program();
        let mut transaction = before.clone();
        transaction.add_function(Address::ram(0x100e), AddressSet::new());
        transaction.memory.write(Address::ram(0x1000), b"J").unwrap();
        assert_eq!(transaction.functions.len(), 1);
        drop(transaction);
        assert_eq!(before.functions.len(), 0);
        assert!(before.symbols.is_empty());
        assert_eq!(before.memory.read_uint(Address::ram(0x1000), 1), Some(u64::from(b'H')));
    }

    #[test]
    fn synthetic_names_follow_what_stands_there() {
        let mut p = program();
        let text = p.types.builtin("string");
        assert!(p.define_data(Address::ram(0x1000), text, 14));
        assert!(!p.define_data(Address::ram(0x1004), text, 1));
        let label = |p: &Program, a| p.label_at(Address::ram(a));
        assert_eq!(label(&p, 0x1000), None, "nothing refers to it");
        let source = SourceType::Analysis;
        p.add_reference(Address::ram(0x100e), Address::ram(0x1000), RefType::Data, 0, source);
        assert_eq!(label(&p, 0x1000).as_deref(), Some("s_Hello,_world!_00001000"));
        assert_eq!(p.synthetic_label(Address::ram(0x1010)).as_deref(), Some("DAT_00001010"));
        let entry = Address::ram(0x100e);
        p.add_function(entry, AddressSet::new());
        assert_eq!(p.function_name(entry), "FUN_0000100e");
    }

    #[test]
    fn places_outside_of_memory_are_named_by_what_refers_to_them() {
        let mut p = program();
        let from = Address::ram(0x1000);
        let (called, jumped, read) = (0x9000, 0xffff_0000, 0x9010);
        let call = RefType::Flow(FlowType::UnconditionalCall);
        let jump = RefType::Flow(FlowType::UnconditionalJump);
        for (to, kind) in [(called, jump), (called, call), (jumped, jump), (read, RefType::Read)] {
            p.add_reference(from, Address::ram(to), kind, 0, SourceType::Analysis);
        }
        let label = |a| p.label_at(Address::ram(a));
        assert_eq!(label(called).as_deref(), Some("SUB_00009000"));
        assert_eq!(label(jumped).as_deref(), Some("LAB_ffff0000"));
        assert_eq!(label(read).as_deref(), Some("DAT_00009010"));
        assert_eq!(label(0x9020), None);
    }

    #[test]
    fn modes_change_only_inside_their_range() {
        let mut p = program();
        p.set_mode(AddressRange::new(Address::ram(0x1002), Address::ram(0x1005)).unwrap(), 1);
        let mode = |a| p.mode_at(Address::ram(a));
        assert_eq!([mode(0x1001), mode(0x1002), mode(0x1005), mode(0x1006)], [0, 1, 1, 0]);
    }
}
