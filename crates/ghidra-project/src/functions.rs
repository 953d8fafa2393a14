//! Functions: bodies, prototypes, variables, what they merely pass on to.

use std::collections::HashMap;
use std::sync::Arc;

use decompiler::Passing;
use program::{
    Address, AddressRange, AddressSet, Function, LocalVariable, Parameter, Signature, SourceType,
    SpaceId, Storage, SymbolId, SymbolKind, TypeId, TypeKind,
};

use crate::addresses::Addresses;
use crate::import::Importer;
use crate::storage::{self, Place};
use crate::symbols::{source, source_in};

const PARAMETER: i64 = 6;
const LOCAL: i64 = 7;

/// What the stack purge is when nobody knows it; the one before says that it cannot be known.
const UNKNOWN_PURGE: i64 = i32::MAX as i64 - 1;

/// The convention of methods, which pass their object first.
const THIS_CALL: &str = "__thiscall";

/// Parameters and locals of one function, each with its place in the list.
#[derive(Default)]
struct Variables {
    parameters: Vec<(i64, Parameter)>,
    locals: Vec<LocalVariable>,
}

impl Importer<'_> {
    /// Takes over functions.
    pub(crate) fn functions(&mut self) {
        let bodies = self.bodies();
        let mut variables = self.variables();
        let tags = self.tags();
        let fixups = self.call_fixups();
        let thunks: HashMap<i64, i64> = self
            .rows("Thunk Functions")
            .iter()
            .map(|row| (row.key(), row.int("Linked Function ID")))
            .collect();
        let mut taken = AddressSet::new();
        for row in self.rows("Function Data").iter() {
            let id = row.key();
            let Some(entry) = self.entry_of(id) else {
                self.notices.push(format!("The function number {id} has no symbol."));
                continue;
            };
            let body = apart(bodies.get(&id), &mut taken, entry);
            let flags = row.int("Flags");
            let of = variables.remove(&id).unwrap_or_default();
            let mut parameters = of.parameters;
            parameters.sort_by_key(|(ordinal, _)| *ordinal);
            let signature = Signature {
                return_type: self.type_of(row.int("Return DataType ID")),
                return_storage: storage::parse(row.text("Return Storage"), &self.program.spaces)
                    .storage,
                parameters: parameters.into_iter().map(|(_, parameter)| parameter).collect(),
                varargs: flags & 1 != 0,
                convention: self.convention(row.int("Calling Convention ID")),
                custom_storage: flags & 8 != 0,
                source: source(flags >> 4 & 7),
            };
            let undefined = self.program.types.builtin("undefined");
            let mut function = Function::new(entry, SymbolId(id as u64), body, undefined);
            function.signature = signature;
            function.locals = of.locals;
            function.inline = flags & 2 != 0;
            function.no_return = flags & 4 != 0;
            function.stack_purge =
                Some(row.int("StackPurge")).filter(|p| *p < UNKNOWN_PURGE).map(|p| p as i32);
            function.thunk_of = self.thunked(id, &thunks);
            function.tags = tags.get(&id).cloned().unwrap_or_default();
            function.call_fixup = fixups.get(&entry).cloned();
            number_variables(&mut function);
            self.program.functions.put(function);
        }
    }

    fn entry_of(&self, id: i64) -> Option<Address> {
        let symbol = self.program.symbols.get(SymbolId(u64::try_from(id).ok()?))?;
        (symbol.kind == SymbolKind::Function).then_some(symbol.address)
    }

    /// The entry of the function that a thunk passes on to, unless that leads back to it.
    fn thunked(&self, id: i64, thunks: &HashMap<i64, i64>) -> Option<Address> {
        let first = *thunks.get(&id)?;
        let (mut at, mut steps) = (first, 0);
        while let Some(&next) = thunks.get(&at) {
            if next == id || at == id || steps > thunks.len() {
                return None;
            }
            (at, steps) = (next, steps + 1);
        }
        self.entry_of(first)
    }

    /// The code of each function, by the number that it shares with its namespace.
    fn bodies(&mut self) -> HashMap<i64, AddressSet> {
        let mut bodies: HashMap<i64, AddressSet> = HashMap::new();
        for (range, row) in self.ranges("Range Map - SCOPE ADDRESSES") {
            bodies.entry(row).or_default().insert(range);
        }
        bodies
    }

    /// Ranges of a table of ranges, each with the number that it stands for.
    pub(crate) fn ranges(&mut self, table: &str) -> Vec<(AddressRange, i64)> {
        let rows = self.rows(table);
        let ranges = rows.iter().filter_map(|row| {
            let start = self.addresses.decode(row.key())?;
            let end = self.addresses.decode(row.int("To"))?;
            Some((AddressRange::new(start, end)?, row.int("Value")))
        });
        ranges.collect()
    }

    fn variables(&mut self) -> HashMap<i64, Variables> {
        let mut places: HashMap<i64, Place> = HashMap::new();
        for row in self.rows("Variable Storage").iter() {
            places.insert(row.key(), storage::parse(row.text("Storage"), &self.program.spaces));
        }
        let mut found: HashMap<i64, Variables> = HashMap::new();
        for row in self.rows("Symbols").iter() {
            let kind = row.int("Symbol Type");
            if kind != PARAMETER && kind != LOCAL {
                continue;
            }
            let place = Addresses::variable(row.int("Address"));
            let place = place.and_then(|number| places.get(&number)).cloned().unwrap_or_default();
            let data_type = self.type_of(row.int("Datatype"));
            let position = row.int("Variable Offset");
            let (name, source) = (row.word("Name"), source_in(row.int("Flags")));
            let of = found.entry(row.int("Namespace")).or_default();
            if kind == PARAMETER {
                let (name, storage) = (name.into(), place.storage);
                let automatic = false;
                let parameter = Parameter { name, data_type, storage, source, automatic, id: 0 };
                of.parameters.push((position, parameter));
            } else {
                let first_use = u32::try_from(position).unwrap_or(0);
                let name = match name {
                    "" => self.default_local_name(&place, first_use),
                    name => name.to_owned(),
                };
                let type_locked = !self.program.types.is_undefined(data_type);
                let of = found.entry(row.int("Namespace")).or_default();
                of.locals.push(LocalVariable {
                    name: name.into(),
                    data_type,
                    storage: place.storage,
                    first_use,
                    hash: place.hash,
                    source,
                    type_locked,
                    id: 0,
                });
            }
        }
        found
    }

    /// The name that Ghidra shows for a local that has none.
    fn default_local_name(&self, place: &Place, first_use: u32) -> String {
        let Some(piece) = place.storage.pieces().first() else {
            return format!("local_{:x}", place.hash);
        };
        match piece.address.space {
            SpaceId::STACK => {
                let offset = piece.address.offset as i64;
                match offset {
                    0.. => format!("local_res{offset:x}"),
                    _ => format!("local_{:x}", offset.unsigned_abs()),
                }
            }
            SpaceId::REGISTER => {
                let known = self.language.register_name(piece.address.offset, piece.size);
                let name =
                    known.map_or_else(|| format!("{:x}", piece.address.offset), str::to_owned);
                format!("local_{name}_{first_use}")
            }
            _ => format!("local_{:x}", piece.address.offset),
        }
    }

    fn tags(&mut self) -> HashMap<i64, Vec<Arc<str>>> {
        let names: HashMap<i64, Arc<str>> = self
            .rows("Function Tags")
            .iter()
            .map(|row| (row.key(), row.word("Tag").into()))
            .collect();
        let mut tags: HashMap<i64, Vec<Arc<str>>> = HashMap::new();
        for row in self.rows("Function Tag Map").iter() {
            let name = names.get(&row.int("Tag ID")).cloned();
            tags.entry(row.int("Function ID")).or_default().extend(name);
        }
        tags.values_mut().for_each(|tags| tags.sort());
        tags
    }

    fn call_fixups(&mut self) -> HashMap<Address, Arc<str>> {
        let rows = self.rows("Property Map - CallFixup");
        let fixups = rows
            .iter()
            .filter_map(|row| Some((self.addresses.decode(row.key())?, row.word("Value").into())));
        fixups.collect()
    }

    /// Gives the values of prototypes storage by their conventions: Ghidra stores it only where it
    /// was set by hand. Cost: linear in the functions with prototypes.
    pub(crate) fn lay_out_signatures(&mut self) {
        let open: Vec<Arc<Function>> = self
            .program
            .functions
            .iter()
            .filter(|f| !f.signature.custom_storage)
            .cloned()
            .collect();
        let Ok(mut passing) = Passing::new(&self.language, &self.program) else { return };
        // Pointers to objects are made before anything is asked about types.
        let objects: Vec<Option<TypeId>> = open.iter().map(|f| self.object_of(f)).collect();
        let pointers: Vec<TypeId> =
            open.iter().map(|f| self.program.types.pointer_to(f.signature.return_type)).collect();
        let undefined = self.program.types.builtin("undefined");
        for ((function, object), pointer) in open.into_iter().zip(objects).zip(pointers) {
            let mut signature = function.signature.clone();
            let written = signature.parameters.iter().map(|parameter| parameter.data_type);
            let types: Vec<TypeId> = object.into_iter().chain(written).collect();
            let convention = signature.convention.as_deref().filter(|name| *name != "default");
            let (returned, varargs) = (signature.return_type, signature.varargs);
            let passed = passing.assign(&self.program.types, convention, returned, &types, varargs);
            let Ok(passed) = passed else { continue };
            let mut storages = passed.parameters.into_iter();
            let mut automatic = Vec::new();
            let mut add = |name: &str, data_type, storage| {
                let (name, source) = (name.into(), SourceType::Analysis);
                let automatic_one =
                    Parameter { name, data_type, storage, source, automatic: true, id: 0 };
                automatic.push(automatic_one);
            };
            if let Some(storage) = passed.return_pointer {
                add("__return_storage_ptr__", pointer, storage);
            }
            if let Some(object) = object {
                add("this", object, storages.next().unwrap_or_default());
            }
            for (parameter, storage) in signature.parameters.iter_mut().zip(storages) {
                parameter.storage = storage;
            }
            let unsaid = returned == undefined;
            signature.return_storage = if unsaid { Storage::Unassigned } else { passed.returned };
            automatic.append(&mut signature.parameters);
            signature.parameters = automatic;
            self.program.functions.edit(function.entry, |function| {
                function.signature = signature;
                number_variables(function);
            });
        }
    }

    /// What `this` points to in a method; `None` for what is none.
    fn object_of(&mut self, function: &Function) -> Option<TypeId> {
        if function.signature.convention.as_deref() != Some(THIS_CALL) {
            return None;
        }
        let parent = self.program.symbols.get(function.symbol)?.parent;
        let class = self.program.symbols.get(parent);
        let class = class.filter(|parent| parent.kind == SymbolKind::Class);
        let object = class.and_then(|class| {
            let types = &self.program.types;
            let is_record =
                |id: &TypeId| matches!(types.get(*id)?.kind, TypeKind::Struct { .. }).then_some(());
            types.named(&class.name).find(|id| is_record(id).is_some())
        });
        let object = object.unwrap_or_else(|| self.program.types.builtin("void"));
        Some(self.program.types.pointer_to(object))
    }
}

/// A body without what another function has already. Ghidra's own never overlap.
fn apart(body: Option<&AddressSet>, taken: &mut AddressSet, entry: Address) -> AddressSet {
    if entry.space == SpaceId::EXTERNAL {
        return AddressSet::new();
    }
    let mut own = body.cloned().unwrap_or_default();
    for range in body.map(AddressSet::ranges).unwrap_or_default() {
        if taken.intersects(range) {
            for other in taken.ranges() {
                own.remove(other);
            }
        }
    }
    if own.is_empty() && !taken.contains(entry) {
        own.insert(AddressRange { start: entry, end: entry });
    }
    own.ranges().iter().for_each(|range| taken.insert(*range));
    own
}

/// Gives variables their identities.
fn number_variables(function: &mut Function) {
    let mut next = 0;
    let mut number = |id: &mut u32| {
        *id = next;
        next += 1;
    };
    function.signature.parameters.iter_mut().for_each(|parameter| number(&mut parameter.id));
    function.locals.iter_mut().for_each(|local| number(&mut local.id));
    function.next_variable = next;
}
