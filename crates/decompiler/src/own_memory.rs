//! What a processor brings into every program: memory of its own beside `ram`, such as control
//! registers that are addressed like memory, and the names of its fixed places.

use std::sync::Arc;

use ghidra_decompiler::space::SpaceType;
use ghidra_decompiler::translate::AddrSpaceManager;
use ghidra_decompiler::xml::Element;
use program::{
    Address, BlockSource, MemoryBlock, Permissions, Program, RefType, SourceType, SpaceId, Symbol,
    SymbolId, SymbolKind,
};

use crate::language::Language;

/// Where a processor specification or a register table places something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// The space's number in [`OwnMemory::spaces`]; `None` is the default space.
    space: Option<usize>,
    /// In bytes.
    offset: u64,
}

#[derive(Debug, Clone)]
struct OwnSpace {
    name: String,
    bits: u32,
    unit: u32,
}

#[derive(Debug, Clone)]
struct OwnBlock {
    name: String,
    place: Place,
    length: u64,
    permissions: Permissions,
    zeroed: bool,
}

#[derive(Debug, Clone)]
struct OwnSymbol {
    name: String,
    place: Place,
    entry: bool,
    /// Nothing is entered here but what the pointer here leads to.
    pointer: bool,
    register: bool,
}

/// The memory and the names that a language defines.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnMemory {
    spaces: Vec<OwnSpace>,
    blocks: Vec<OwnBlock>,
    symbols: Vec<OwnSymbol>,
}

impl OwnMemory {
    /// Reads a processor specification.
    pub(crate) fn read(specification: &Element, manager: &AddrSpaceManager) -> OwnMemory {
        let mut own = OwnMemory { spaces: spaces(manager), ..OwnMemory::default() };
        for element in children(specification, "default_memory_blocks", "memory_block") {
            if let Some(block) = own.block(element, manager) {
                own.blocks.push(block);
            }
        }
        let mut next = None;
        for element in children(specification, "default_symbols", "symbol") {
            let Some(symbol) = own.symbol(element, manager, next) else { continue };
            next = own.behind(symbol.place, element);
            own.symbols.push(symbol);
        }
        own
    }

    /// Where a symbol lies that is said to come next after this one.
    fn behind(&self, place: Place, element: &Element) -> Option<Place> {
        let space = place.space.and_then(|space| self.spaces.get(space));
        let unit = space.map_or(1, |space| u64::from(space.unit));
        let size = attribute(element, "size").and_then(number).unwrap_or(unit);
        Some(Place { space: place.space, offset: place.offset.checked_add(size)? })
    }

    /// Adds the name of a register that lies in a space of memory; such a name does not move
    /// with the image.
    pub(crate) fn add_register(&mut self, name: &str, space: &str, offset: u64) {
        let Some(space) = self.spaces.iter().position(|own| own.name == space) else { return };
        let place = Place { space: Some(space), offset };
        match self.symbols.iter_mut().find(|s| s.place == place && s.name == name) {
            Some(symbol) => symbol.register = true,
            None => {
                let (name, entry) = (name.to_owned(), false);
                self.symbols.push(OwnSymbol { name, place, entry, pointer: false, register: true });
            }
        }
    }

    fn block(&self, element: &Element, manager: &AddrSpaceManager) -> Option<OwnBlock> {
        let mode = attribute(element, "mode").unwrap_or("rw");
        Some(OwnBlock {
            name: attribute(element, "name")?.to_owned(),
            place: self.place(attribute(element, "start_address")?, manager)?,
            length: number(attribute(element, "length")?).filter(|length| *length > 0)?,
            permissions: Permissions {
                read: mode.contains('r'),
                write: mode.contains('w'),
                execute: mode.contains('x'),
                volatile: mode.contains('v'),
                artificial: false,
            },
            zeroed: attribute(element, "initialized") == Some("true"),
        })
    }

    fn symbol(
        &self,
        element: &Element,
        manager: &AddrSpaceManager,
        next: Option<Place>,
    ) -> Option<OwnSymbol> {
        Some(OwnSymbol {
            name: attribute(element, "name")?.to_owned(),
            place: match attribute(element, "address")? {
                "next" => next?,
                text => self.place(text, manager)?,
            },
            entry: attribute(element, "entry") == Some("true"),
            pointer: attribute(element, "type") == Some("code_ptr"),
            register: false,
        })
    }

    /// Reads `space:0x10`, or `0x10` in the default space; such numbers count the space's units.
    fn place(&self, text: &str, manager: &AddrSpaceManager) -> Option<Place> {
        let default = manager.get_default_code_space()?;
        let (space, digits) = text.split_once(':').unwrap_or((default.get_name(), text));
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        let units = u64::from_str_radix(digits, 16).ok()?;
        let unit = u64::from(manager.get_space_by_name(space)?.get_word_size());
        let offset = units.checked_mul(unit)?;
        if space == default.get_name() {
            return Some(Place { space: None, offset });
        }
        let space = self.spaces.iter().position(|own| own.name == space)?;
        Some(Place { space: Some(space), offset })
    }
}

impl Language {
    /// Adds the processor's own memory to a program, with the names of its places.
    /// `name_default_space` also names the fixed places of the default space (where a reset
    /// starts, for instance): right only for images that say nothing about themselves.
    pub fn add_own_memory(&self, program: &mut Program, name_default_space: bool) {
        let own = &self.tables.own_memory;
        let spaces = Arc::make_mut(&mut program.spaces);
        for space in &own.spaces {
            spaces.add_memory(&space.name, space.bits, space.unit);
        }
        for block in &own.blocks {
            if let Some(start) = own.address(program, block.place) {
                add_block(program, block, start);
            }
        }
        for symbol in &own.symbols {
            if symbol.place.space.is_none() && !name_default_space {
                continue;
            }
            if let Some(address) = own.address(program, symbol.place) {
                add_symbol(program, symbol, address);
            }
        }
    }
}

impl OwnMemory {
    /// Where the place is in a program that has the spaces.
    fn address(&self, program: &Program, place: Place) -> Option<Address> {
        let Some(space) = place.space else { return Some(Address::ram(place.offset)) };
        let space = program.spaces.by_name(&self.spaces.get(space)?.name)?;
        (place.offset <= space.max_offset()).then_some(Address::new(space.id, place.offset))
    }
}

fn add_block(program: &mut Program, own: &OwnBlock, start: Address) {
    let source = if own.zeroed { BlockSource::Zero } else { BlockSource::Uninitialized };
    let room = program.spaces.get(start.space).map_or(0, |s| s.max_offset() - start.offset);
    let length = own.length.min(room.saturating_add(1));
    let mut block = MemoryBlock::new(own.name.as_str(), start, length, source);
    block.permissions = own.permissions;
    // Where the file itself says what lies there, the file is right.
    let _ = program.memory.add_block(block);
}

fn add_symbol(program: &mut Program, own: &OwnSymbol, address: Address) {
    let known = program.symbols.at(address).any(|(_, symbol)| *symbol.name == *own.name);
    if known || program.memory.block_at(address).is_none() {
        return;
    }
    let primary = program.symbols.at(address).next().is_none();
    program.symbols.add(Symbol {
        name: own.name.as_str().into(),
        address,
        kind: SymbolKind::Label,
        parent: SymbolId::GLOBAL,
        source: SourceType::Imported,
        primary,
        external_entry: own.entry,
        pinned: own.register,
    });
    if own.entry && own.pointer && address.space == SpaceId::RAM {
        lay_down_pointer(program, address);
    } else if own.entry && address.space == SpaceId::RAM {
        program.entry_points.insert(address, ());
    }
}

/// Makes a pointer of a place at which the processor finds where to go, such as a vector.
fn lay_down_pointer(program: &mut Program, at: Address) {
    let size = program.types.organization().pointer;
    let name = match size {
        2 => "pointer16",
        4 => "pointer32",
        _ => "pointer64",
    };
    let pointer = program.types.builtin(name);
    let Some(target) = program.memory.read_uint(at, size) else { return };
    if program.define_data(at, pointer, size) && target != 0 {
        let to = Address::ram(target);
        program.add_reference(at, to, RefType::Data, 0, SourceType::Default);
    }
}

/// The spaces of memory beside the default one.
fn spaces(manager: &AddrSpaceManager) -> Vec<OwnSpace> {
    let default = manager.get_default_code_space().map(|space| space.get_index());
    let all = (0..manager.num_spaces()).filter_map(|index| manager.get_space(index));
    all.filter(|space| space.get_type() == SpaceType::Processor)
        .filter(|space| Some(space.get_index()) != default && space.get_name() != "register")
        .map(|space| OwnSpace {
            name: space.get_name().to_owned(),
            bits: space.get_addr_size().saturating_mul(8),
            unit: space.get_word_size(),
        })
        .collect()
}

fn children<'a>(
    root: &'a Element,
    group: &'a str,
    name: &'a str,
) -> impl Iterator<Item = &'a Element> {
    let groups = root.get_children().iter().filter(move |child| child.get_name() == group);
    groups
        .flat_map(|group| group.get_children().iter())
        .filter(move |child| child.get_name() == name)
        .map(|child| &**child)
}

fn attribute<'a>(element: &'a Element, name: &str) -> Option<&'a str> {
    element.get_attribute_value(name).ok()
}

/// Decimal, or hexadecimal behind `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use program::{DataOrganization, ProgramInfo};

    fn program() -> Program {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut program = Program::new(info, false, DataOrganization::default());
        let block = MemoryBlock::new("ram", Address::ram(0), 0x100, BlockSource::Zero);
        program.memory.add_block(block).unwrap();
        program
    }

    #[test]
    fn control_registers_become_a_block_in_a_space_of_their_own() {
        let language = Language::open("RISCV:LE:64:default", "gcc").unwrap();
        let mut program = program();
        language.add_own_memory(&mut program, false);
        let block = program.memory.block_named("csr").unwrap();
        assert_eq!(program.spaces.print(block.start).to_string(), "csreg:0000");
        assert_eq!(program.spaces.print(block.end()).to_string(), "csreg:0fff.7");
        let named = |name: &str| {
            let (_, symbol) = program.symbols.named(name).next().unwrap();
            (program.spaces.print(symbol.address).to_string(), symbol.pinned)
        };
        assert_eq!(named("mstatus"), ("csreg:0300".to_owned(), false));
        assert_eq!(named("mepc"), ("csreg:0341".to_owned(), true));
        assert_eq!(named("mtval"), ("csreg:0343".to_owned(), false));
        assert_eq!(program.default_function_name(Address::ram(0x10)), "FUN_ram_00000010");
    }

    #[test]
    fn vectors_are_named_on_request_and_only_in_memory() {
        let language = Language::open("ARM:LE:32:v8", "default").unwrap();
        let mut program = program();
        language.add_own_memory(&mut program, false);
        assert!(program.symbols.named("Reset").next().is_none());
        language.add_own_memory(&mut program, true);
        assert!(program.symbols.named("Reset").next().is_some());
        assert!(program.entry_points.contains_key(&Address::ram(0)));
        assert!(program.symbols.named("H_Reset").next().is_none());
        assert!(program.listing.data.is_empty(), "code stands there");
        assert_eq!(program.default_function_name(Address::ram(0x10)), "FUN_00000010");
    }

    #[test]
    fn vectors_that_are_pointers_lead_to_code() {
        let language = Language::open("ARM:LE:32:Cortex", "default").unwrap();
        let mut program = program();
        program.memory.write(Address::ram(4), &[0x41, 0, 0, 0]).unwrap();
        language.add_own_memory(&mut program, true);
        let (_, reset) = program.symbols.named("Reset").next().unwrap();
        assert!(reset.external_entry && reset.address == Address::ram(4));
        assert!(!program.entry_points.contains_key(&Address::ram(4)), "no code stands there");
        let unit = program.listing.data.get(&Address::ram(4)).unwrap();
        let size = program.types.organization().pointer;
        assert_eq!(program.types.name(unit.data_type), format!("pointer{}", 8 * size));
        assert_eq!(program.references.from(Address::ram(4)).next().unwrap().to.offset, 0x41);
        assert!(program.references.from(Address::ram(8)).next().is_none(), "zero leads nowhere");
    }
}
