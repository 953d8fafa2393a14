//! What the program knows about places, told to the engine: names, data, functions, mutability.

use std::collections::{BTreeMap, HashMap};

use ghidra_decompiler::address::{Address, Range, RangeList};
use ghidra_decompiler::architecture::Architecture;
use ghidra_decompiler::database::{Database, ScopeId, SymbolId as EngineSymbol};
use ghidra_decompiler::error::{Error, Result};
use ghidra_decompiler::funcdata::Funcdata;
use ghidra_decompiler::space::SpaceRef;
use ghidra_decompiler::types::{TypeId as EngineType, TypeMetatype};
use ghidra_decompiler::varnode::Varnode;
use program::data_type::Builtin;
use program::{
    Address as Place, AddressRange, CodeUnit, DataTypes, DataUnit, Program, RefType, SpaceId,
    SymbolId, SymbolKind, TypeId, TypeKind,
};

use super::Purpose;
use super::types::{TypeMap, undefined, unknown};

/// Where places in other libraries begin among registers, behind all of them, and how many can be.
const FIRST_EXTERNAL: u64 = 0x1000_0000;
const MOST_EXTERNALS: u64 = 0x0fff_ffff;
/// Namespaces nested deeper than this are cut off.
const MAX_NAMESPACES: usize = 32;

/// References to a place that are looked at.
const MAX_USES: usize = 100;

/// The engine's symbols for a program's places.
pub(crate) struct Symbols {
    space: SpaceRef,
    global: ScopeId,
    /// Whether functions are known by their names; flow needs none.
    named: bool,
    pub(crate) functions: HashMap<Place, EngineSymbol>,
    /// Data and labels.
    places: HashMap<Place, EngineSymbol>,
    scopes: HashMap<SymbolId, ScopeId>,
    /// What each namespace owns, gathered until all is known: the engine goes over all of a
    /// namespace's places each time it is told of one more.
    gathered: Option<BTreeMap<ScopeId, RangeList>>,
}

impl Symbols {
    /// Tells the engine everything that holds for all functions alike.
    pub(crate) fn feed(
        architecture: &mut Architecture,
        program: &Program,
        types: &mut TypeMap,
        purpose: Purpose,
    ) -> Result<Symbols> {
        let missing = |what: &str| Error::Lowlevel(format!("the engine has no {what}"));
        let space = architecture.manager.get_default_code_space();
        let global = architecture.symboltab_ref()?.get_global_scope();
        let mut symbols = Symbols {
            space: space.ok_or_else(|| missing("code space"))?,
            global: global.ok_or_else(|| missing("global scope"))?,
            named: purpose != Purpose::Flow,
            functions: HashMap::new(),
            places: HashMap::new(),
            scopes: HashMap::new(),
            gathered: Some(BTreeMap::new()),
        };
        symbols.feed_mutability(architecture, program)?;
        // In address order: the engine's maps are arrays, and adding at their end is cheap.
        let items = match purpose {
            Purpose::Text | Purpose::Everything => items(program),
            Purpose::Flow => functions(program).collect(),
        };
        for (place, item) in items {
            symbols.add_item(architecture, program, types, place, item)?;
        }
        symbols.feed_externals(architecture, program)?;
        let database = architecture.symboltab_mut()?;
        for (scope, places) in symbols.gathered.take().into_iter().flatten() {
            database.set_range(scope, &places);
        }
        Ok(symbols)
    }

    fn add_item(
        &mut self,
        architecture: &mut Architecture,
        program: &Program,
        types: &mut TypeMap,
        place: Place,
        item: Item,
    ) -> Result<()> {
        let named = self.functions.contains_key(&place);
        match item {
            Item::Function => self.add_function(architecture, program, place).map(|_| ()),
            Item::Data(unit) if !named && !is_external_slot(program, place) => {
                self.add_data(architecture, program, types, place, unit)
            }
            Item::Label(namespace) if !named => {
                self.add_label(architecture, program, place, namespace)
            }
            Item::Data(_) | Item::Label(_) => Ok(()),
        }
    }

    /// Tells the engine anew what stands at a place. What it holds of a function there must be
    /// destroyed before.
    pub(crate) fn renew(
        &mut self,
        architecture: &mut Architecture,
        program: &Program,
        types: &mut TypeMap,
        place: Place,
    ) -> Result<()> {
        let known = [self.functions.remove(&place), self.places.remove(&place)];
        for symbol in known.into_iter().flatten() {
            let database = architecture.symboltab_mut()?;
            let entry = database.symbol(symbol).get_map_entry_index(0);
            let size = u64::try_from(database.entry(entry).get_size()).unwrap_or(1);
            self.set_written(architecture, program, place, size, false)?;
            let database = architecture.symboltab_mut()?;
            let scope = database.symbol(symbol).get_scope();
            database.scope_remove_symbol(scope, symbol);
        }
        for item in items_at(program, place) {
            self.add_item(architecture, program, types, place, item)?;
        }
        Ok(())
    }

    pub(crate) fn address(&self, place: Place) -> Address {
        Address::new(self.space.clone(), place.offset)
    }

    fn feed_mutability(&self, architecture: &mut Architecture, program: &Program) -> Result<()> {
        let manager = architecture.manager.clone();
        let database = architecture.symboltab_mut()?;
        let mut set = |flags, range: &AddressRange| {
            if range.start.space == SpaceId::RAM {
                let range = Range::new(self.space.clone(), range.start.offset, range.end.offset);
                database.set_property_range(flags, &range, &manager);
            }
        };
        for block in program.memory.blocks() {
            if !block.permissions.write {
                set(Varnode::READONLY, &block.range());
            }
            if block.permissions.volatile {
                set(Varnode::VOLATIL, &block.range());
            }
        }
        program.protected.ranges().iter().for_each(|range| set(Varnode::READONLY, range));
        Ok(())
    }

    /// What is written to is not constant, whatever the permissions of its block say.
    fn feed_written(
        &self,
        architecture: &mut Architecture,
        program: &Program,
        place: Place,
        length: u64,
    ) -> Result<()> {
        let mut uses = program.references.to(place).take(MAX_USES);
        if uses.any(|reference| matches!(reference.info.kind, RefType::Write | RefType::ReadWrite))
        {
            self.set_written(architecture, program, place, length, true)?;
        }
        Ok(())
    }

    fn set_written(
        &self,
        architecture: &mut Architecture,
        program: &Program,
        place: Place,
        length: u64,
        written: bool,
    ) -> Result<()> {
        let constant = program.protected.contains(place)
            || program.memory.block_at(place).is_some_and(|block| !block.permissions.write);
        let range = AddressRange::with_length(place, length.max(1)).filter(|_| constant);
        let Some(range) = range else { return Ok(()) };
        let manager = architecture.manager.clone();
        let database = architecture.symboltab_mut()?;
        let range = Range::new(self.space.clone(), range.start.offset, range.end.offset);
        match written {
            true => database.clear_property_range(Varnode::READONLY, &range, &manager),
            false => database.set_property_range(Varnode::READONLY, &range, &manager),
        }
        Ok(())
    }

    /// Adds a function's symbol, and gives it back if it is there already.
    pub(crate) fn add_function(
        &mut self,
        architecture: &mut Architecture,
        program: &Program,
        entry: Place,
    ) -> Result<EngineSymbol> {
        if let Some(known) = self.functions.get(&entry) {
            return Ok(*known);
        }
        let address = self.address(entry);
        self.add_function_at(architecture, program, entry, &address)
    }

    fn add_function_at(
        &mut self,
        architecture: &mut Architecture,
        program: &Program,
        entry: Place,
        address: &Address,
    ) -> Result<EngineSymbol> {
        if !self.named {
            let name = format!("f_{:x}_{:x}", entry.space.0, entry.offset);
            let symbol = Database::scope_add_function(architecture, self.global, address, &name)?;
            self.functions.insert(entry, symbol);
            return Ok(symbol);
        }
        let name = program.function_name(entry);
        let scope = self.scope(architecture, program, program.function_namespace(entry))?;
        let raw: String = name.chars().take(2000).filter(|c| !c.is_control()).collect();
        let symbol = Database::scope_add_function(architecture, scope, address, &raw)?;
        let database = architecture.symboltab_mut()?;
        // The engine's note on a replaced call gives the name as it is.
        let replaced = program.functions.at(entry).is_some_and(|f| f.call_fixup.is_some());
        if !replaced {
            database.symbol_mut(symbol).display_name = engine_name(&name);
        }
        self.own(database, scope, address, 1);
        self.functions.insert(entry, symbol);
        Ok(symbol)
    }

    /// Shows a function under the name that C allows, for its own text.
    pub(crate) fn show_allowed_name(
        architecture: &mut Architecture,
        symbol: EngineSymbol,
        allowed: bool,
    ) -> Result<()> {
        let symbol = architecture.symboltab_mut()?.symbol_mut(symbol);
        let shown = if allowed { engine_name(&symbol.name) } else { symbol.name.clone() };
        symbol.display_name = shown;
        Ok(())
    }

    /// Makes a namespace the owner of a place: the engine looks for symbols there and nowhere else.
    fn own(&mut self, database: &mut Database, scope: ScopeId, address: &Address, size: u64) {
        let Some(space) = address.get_space().filter(|_| scope != self.global) else { return };
        let first = address.get_offset();
        let last = first.saturating_add(size.max(1) - 1);
        match &mut self.gathered {
            Some(all) => all.entry(scope).or_default().insert_range(space, first, last),
            None => database.add_range(scope, space, first, last),
        }
    }

    /// The engine's scope for a namespace. What lies in libraries counts as global.
    fn scope(
        &mut self,
        architecture: &mut Architecture,
        program: &Program,
        namespace: SymbolId,
    ) -> Result<ScopeId> {
        if let Some(known) = self.scopes.get(&namespace) {
            return Ok(*known);
        }
        let mut path = Vec::new();
        let mut at = namespace;
        while at != SymbolId::GLOBAL && path.len() < MAX_NAMESPACES {
            let Some(symbol) = program.symbols.get(at) else { break };
            if !matches!(symbol.kind, SymbolKind::Namespace | SymbolKind::Class) {
                break;
            }
            path.push((at, symbol.name.clone()));
            at = symbol.parent;
        }
        let mut scope = self.global;
        for (id, name) in path.into_iter().rev() {
            scope = match self.scopes.get(&id) {
                Some(known) => *known,
                None => {
                    let spaces = architecture.manager.num_spaces();
                    let database = architecture.symboltab_mut()?;
                    let made = database.find_create_scope(id.0, &name, Some(scope), spaces)?;
                    self.scopes.insert(id, made);
                    made
                }
            };
        }
        self.scopes.insert(namespace, scope);
        Ok(scope)
    }

    fn add_data(
        &mut self,
        architecture: &mut Architecture,
        program: &Program,
        types: &mut TypeMap,
        address: Place,
        unit: DataUnit,
    ) -> Result<()> {
        let label = program.label_at(address).or_else(|| program.synthetic_label(address));
        let Some(name) = label else { return Ok(()) };
        self.feed_written(architecture, program, address, u64::from(unit.length))?;
        let data_type = data_type(architecture, program, types, unit)?;
        let undefined = is_undefined(&program.types, unit.data_type);
        let namespace = program.symbols.primary_at(address).map(|(_, symbol)| symbol.parent);
        let scope = self.scope(architecture, program, namespace.unwrap_or(SymbolId::GLOBAL))?;
        self.add_place(architecture, scope, address, &name, data_type, !undefined)
    }

    fn add_place(
        &mut self,
        architecture: &mut Architecture,
        scope: ScopeId,
        address: Place,
        name: &str,
        data_type: EngineType,
        typed: bool,
    ) -> Result<()> {
        let place = self.address(address);
        let (symbol, size) = enter(architecture, scope, &place, name, data_type, typed)?;
        self.own(architecture.symboltab_mut()?, scope, &place, size);
        self.places.insert(address, symbol);
        Ok(())
    }

    /// Labels where nothing is defined, and places in code that data refers to.
    fn add_label(
        &mut self,
        architecture: &mut Architecture,
        program: &Program,
        place: Place,
        namespace: SymbolId,
    ) -> Result<()> {
        match program.listing.unit_containing(place) {
            Some((start, CodeUnit::Instruction(_))) if start == place => {
                // Those that are only jumped to matter to their own function alone.
                let stored = program.symbols.primary_at(place).is_some();
                let meant = |r: program::Reference| !r.info.kind.is_flow();
                if stored || program.references.to(place).any(meant) {
                    let symbol = self.add_code_label(architecture, program, place)?;
                    self.places.extend(symbol.map(|symbol| (place, symbol)));
                }
            }
            Some(_) => {}
            None => {
                let Some(name) = program.label_at(place) else { return Ok(()) };
                let scope = self.scope(architecture, program, namespace)?;
                self.feed_written(architecture, program, place, 1)?;
                let byte = undefined(architecture)?;
                self.add_place(architecture, scope, place, &name, byte, false)?;
            }
        }
        Ok(())
    }

    /// Names places where nothing is defined, for one run.
    pub(crate) fn feed_undefined(
        &self,
        architecture: &mut Architecture,
        program: &Program,
        places: &[Place],
    ) -> Result<()> {
        for place in places {
            let byte = undefined(architecture)?;
            let name = unknown_name(program, *place);
            enter(architecture, self.global, &self.address(*place), &name, byte, false)?;
        }
        Ok(())
    }

    /// Whether a place has a symbol of its own here.
    pub(crate) fn is_named(&self, place: Place) -> bool {
        self.places.contains_key(&place) || self.functions.contains_key(&place)
    }

    fn add_code_label(
        &self,
        architecture: &mut Architecture,
        program: &Program,
        place: Place,
    ) -> Result<Option<EngineSymbol>> {
        let Some(label) = program.label_at(place) else { return Ok(None) };
        // C has no namespaces for labels.
        let mut name = engine_name(&label);
        let mut at = program.symbols.primary_at(place).map(|(_, symbol)| symbol.parent);
        for _ in 0..MAX_NAMESPACES {
            let Some(outer) = at.and_then(|id| program.symbols.get(id)) else { break };
            if !matches!(outer.kind, SymbolKind::Namespace | SymbolKind::Class) {
                break;
            }
            name = format!("{}_{name}", engine_name(&outer.name));
            at = Some(outer.parent);
        }
        let address = self.address(place);
        Database::scope_add_code_label(architecture, self.global, &address, &name).map(Some)
    }

    /// Labels of the places that a finished run may print: where its blocks begin.
    pub(crate) fn feed_inner_labels(
        &self,
        data: &Funcdata,
        architecture: &mut Architecture,
        program: &Program,
    ) -> Result<()> {
        let blocks = data.get_basic_blocks();
        let count = data.block(blocks).get_size();
        let mut places: Vec<Place> = (0..count)
            .map(|index| data.block_get_entry_addr(data.block(blocks).get_block(index)))
            .filter(|start| !start.is_invalid())
            .map(|start| Place::ram(start.get_offset()))
            .collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            let known = self.functions.contains_key(&place)
                || self.places.contains_key(&place)
                || program.symbols.primary_at(place).is_some()
                || program.references.to(place).any(|r| !r.info.kind.is_flow());
            if !known {
                self.add_code_label(architecture, program, place)?;
            }
        }
        Ok(())
    }

    /// Pointers that the system fills in with places in other libraries. Those have no place
    /// in memory; a space that holds no memory of the program gives them one.
    fn feed_externals(&mut self, architecture: &mut Architecture, program: &Program) -> Result<()> {
        // A slot is as wide as addresses of that space are.
        let wide = self.space.get_addr_size() == 8;
        let (name, first) = if wide { ("OTHER", 0) } else { ("register", FIRST_EXTERNAL) };
        let Some(space) = architecture.manager.get_space_by_name(name) else { return Ok(()) };
        let end = Place::new(SpaceId::EXTERNAL, u64::MAX);
        let externals: Vec<Place> =
            program.references.destinations(Place::new(SpaceId::EXTERNAL, 0), end).collect();
        for external in externals {
            let target = Address::new(space.clone(), first + (external.offset & MOST_EXTERNALS));
            let name = if program.functions.at(external).is_some() {
                self.add_function_at(architecture, program, external, &target)?;
                program.function_name(external)
            } else if let Some((_, symbol)) = program.symbols.primary_at(external) {
                symbol.name.to_string()
            } else {
                continue;
            };
            let name = engine_name(&name) + "_exref";
            let slots = program.references.to(external).map(|r| r.from);
            let slots: Vec<Place> = slots
                .filter(|slot| slot.space == SpaceId::RAM)
                .filter(|slot| !program.listing.instructions.contains_key(slot))
                .filter(|slot| program.functions.at(*slot).is_none())
                .collect();
            for slot in slots {
                let slot = self.address(slot);
                let global = self.global;
                Database::scope_add_external_ref(architecture, global, &slot, &target, &name)?;
            }
        }
        Ok(())
    }

    /// The number that the engine will give to its next symbol.
    pub(crate) fn mark(architecture: &Architecture) -> Result<EngineSymbol> {
        Ok(architecture.symboltab_ref()?.symbols.next_id())
    }

    /// Removes the global symbols that a run added: the next run must not see its guesses.
    pub(crate) fn forget_since(
        &self,
        architecture: &mut Architecture,
        mark: EngineSymbol,
    ) -> Result<()> {
        let global = self.global;
        let database = architecture.symboltab_mut()?;
        let end = database.symbols.next_id();
        let added = (mark.0..end.0).map(EngineSymbol);
        let added: Vec<_> = added
            .filter(|symbol| database.symbols.try_get(*symbol).is_some())
            .filter(|symbol| database.symbol(*symbol).get_scope() == global)
            .collect();
        added.into_iter().for_each(|symbol| database.scope_remove_symbol(global, symbol));
        Ok(())
    }
}

/// The name of a place where nothing is defined and nothing refers to.
fn unknown_name(program: &Program, place: Place) -> String {
    format!("UNK_{}", program.address_in_name(place))
}

/// Adds the symbol of a place; its size with it.
fn enter(
    architecture: &mut Architecture,
    scope: ScopeId,
    place: &Address,
    name: &str,
    data_type: EngineType,
    typed: bool,
) -> Result<(EngineSymbol, u64)> {
    let nowhere = Address::invalid();
    let name = engine_name(name);
    let entry = Database::scope_add_symbol_at(
        architecture,
        scope,
        &name,
        Some(data_type),
        place,
        &nowhere,
    )?;
    let flags = if typed { Varnode::NAMELOCK | Varnode::TYPELOCK } else { Varnode::NAMELOCK };
    let missing = || Error::Lowlevel("the engine has no symbols or types".to_string());
    let Architecture { symboltab, types, .. } = architecture;
    let database = symboltab.as_deref_mut().ok_or_else(missing)?;
    let types = types.as_deref().ok_or_else(missing)?;
    let symbol = database.entry(entry).get_symbol();
    let size = u64::try_from(database.entry(entry).get_size()).unwrap_or(1);
    database.scope_set_attribute(types, scope, symbol, flags);
    Ok((symbol, size))
}

/// What stands at a place, as far as the engine is to know it.
enum Item {
    Function,
    Data(DataUnit),
    /// A label without data, and its namespace.
    Label(SymbolId),
}

/// Functions, data and labels of the default space in address order; at one place in this order.
fn items(program: &Program) -> Vec<(Place, Item)> {
    let end = Place::new(SpaceId::RAM, u64::MAX);
    let start = (Place::new(SpaceId::RAM, 0), SymbolId(0));
    let mut labels: Vec<(Place, SymbolId)> = program
        .symbols
        .in_order(start, end)
        .filter(|(_, symbol)| symbol.primary && symbol.kind == SymbolKind::Label)
        .map(|(_, symbol)| (symbol.address, symbol.parent))
        .collect();
    let referenced = program.references.destinations(start.0, end);
    labels.extend(referenced.map(|place| (place, SymbolId::GLOBAL)));
    // Stored symbols come first at their place, with their namespace.
    labels.sort_by_key(|(place, _)| *place);
    labels.dedup_by_key(|(place, _)| *place);
    let in_memory = |place: &Place| place.space == SpaceId::RAM;
    let data = program.listing.data.iter().map(|(place, unit)| (*place, Item::Data(*unit)));
    let labels = labels.into_iter().map(|(place, namespace)| (place, Item::Label(namespace)));
    let mut all: Vec<(Place, Item)> =
        data.chain(labels).filter(|(place, _)| in_memory(place)).collect();
    all.extend(functions(program));
    all.sort_by_key(|(place, item)| (*place, !matches!(item, Item::Function)));
    all
}

/// The functions of the default space in address order.
fn functions(program: &Program) -> impl Iterator<Item = (Place, Item)> + '_ {
    let entries = program.functions.iter().map(|function| function.entry);
    entries.filter(|entry| entry.space == SpaceId::RAM).map(|entry| (entry, Item::Function))
}

/// What stands at one place, in the order of [`items`].
fn items_at(program: &Program, place: Place) -> Vec<Item> {
    let mut all = Vec::new();
    if place.space != SpaceId::RAM {
        return all;
    }
    all.extend(program.functions.at(place).map(|_| Item::Function));
    all.extend(program.listing.data.get(&place).map(|unit| Item::Data(*unit)));
    let stored = program.symbols.primary_at(place).map(|(_, symbol)| symbol);
    match stored.filter(|symbol| symbol.kind == SymbolKind::Label) {
        Some(label) => all.push(Item::Label(label.parent)),
        None if program.references.is_referenced(place) => {
            all.push(Item::Label(SymbolId::GLOBAL));
        }
        None => {}
    }
    all
}

/// Whether a place holds a pointer that the system fills in.
fn is_external_slot(program: &Program, place: Place) -> bool {
    program.references.from(place).any(|reference| {
        reference.to.space == SpaceId::EXTERNAL
            && (program.functions.at(reference.to).is_some()
                || program.symbols.primary_at(reference.to).is_some())
    })
}

/// Whether a type only says how many bytes there are.
pub(crate) fn is_undefined(types: &DataTypes, id: TypeId) -> bool {
    match types.get(types.resolve(id)).map(|known| &known.kind) {
        Some(TypeKind::Array { element, .. }) => types.is_undefined(*element),
        _ => types.is_undefined(id),
    }
}

/// The type of a data unit, at the length it has there.
fn data_type(
    architecture: &mut Architecture,
    program: &Program,
    types: &mut TypeMap,
    unit: DataUnit,
) -> Result<EngineType> {
    let converted = match types.get(architecture, &program.types, unit.data_type) {
        Ok(converted) => converted,
        Err(_) => return unknown(architecture, unit.length),
    };
    let factory = architecture.types_mut()?;
    let size = factory.get(converted).get_size();
    let length = i32::try_from(unit.length.max(1)).unwrap_or(i32::MAX);
    if size == length {
        return Ok(converted);
    }
    let is_text = matches!(program.types.as_builtin(unit.data_type), Some(Builtin::String(_)));
    if is_text && size > 0 && length % size == 0 {
        return factory.get_type_array(length / size, converted);
    }
    if size > 0 && size < length && factory.get(converted).get_metatype() == TypeMetatype::Array {
        return Ok(converted);
    }
    unknown(architecture, unit.length)
}

/// A name as C text shows it: what C++ does not allow in a name becomes an underscore.
pub(crate) fn engine_name(name: &str) -> String {
    const LONGEST: usize = 2000;
    const OPERATOR: &str = "operator";
    let is_operator = name.starts_with(OPERATOR);
    let mut depth = 0_u32;
    let mut out = String::with_capacity(name.len());
    for (index, character) in name.chars().take(LONGEST).enumerate() {
        let in_operator = is_operator && (OPERATOR.len()..OPERATOR.len() + 3).contains(&index);
        let allowed = match character {
            '<' => {
                depth += 1;
                true
            }
            '>' => {
                depth = depth.saturating_sub(1);
                true
            }
            '_' => true,
            '0'..='9' => index > 0,
            '~' => index == 0 || depth > 0 || in_operator,
            '*' | '(' | ')' | '[' | ']' | '&' => depth > 0 || in_operator,
            ':' | ',' => depth > 0,
            '+' | '-' | '|' | '=' | '!' | '/' | '%' | '^' => in_operator,
            other => other.is_alphabetic(),
        };
        out.push(if allowed { character } else { '_' });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::engine_name;

    #[test]
    fn names_are_what_cpp_allows() {
        assert_eq!(engine_name("__i686.get_pc_thunk.bx"), "__i686_get_pc_thunk_bx");
        assert_eq!(engine_name("~Rect"), "~Rect");
        assert_eq!(engine_name("operator.new"), "operator_new");
        assert_eq!(engine_name("operator+="), "operator+=");
        assert_eq!(engine_name("vector<int,a::b>"), "vector<int,a::b>");
        assert_eq!(engine_name("0day x"), "_day_x");
    }
}
