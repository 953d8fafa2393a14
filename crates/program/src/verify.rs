//! Consistency check of a program: invariants that its tables must hold between them, whoever
//! edited it. Passes and edits are checked with it in debug builds, in tests and while fuzzing.

use crate::{Address, Functions, Program, References, SymbolId, SymbolKind, Symbols, TypeId};

/// Most violations that are listed; more add nothing.
const MOST: usize = 20;
/// Namespaces and thunks are followed this far; no real program comes near.
const DEEPEST: usize = 10_000;

/// An invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The index of body ranges does not say what the functions' bodies say.
    #[error("the bodies of functions and their index disagree, or bodies overlap")]
    Bodies,
    /// A function's symbol is missing, lies elsewhere, or names no function.
    #[error("the function at {:x} has no symbol of its own", .0.offset)]
    FunctionSymbol(Address),
    /// Following a thunk leads back to it.
    #[error("the thunk at {:x} passes on to itself", .0.offset)]
    ThunkCircle(Address),
    /// References are not the same from both ends.
    #[error("the references from both ends disagree")]
    References,
    /// Symbols by name or address are not those by id.
    #[error("the symbols and their indexes disagree")]
    Symbols,
    /// Two symbols are shown at one address.
    #[error("two primary symbols lie at {:x}", .0.offset)]
    Primary(Address),
    /// A namespace is missing, or holds itself.
    #[error("symbol {0} is in no namespace that is stored, or in itself")]
    Namespace(u64),
    /// Two code units cover one byte.
    #[error("the code units at {:x} and {:x} overlap", .0.offset, .1.offset)]
    Units(Address, Address),
    /// A data type is used that is not stored.
    #[error("a data type used at {:x} is not stored", .0.offset)]
    DataType(Address),
}

impl Program {
    /// Every invariant that does not hold, up to a score of them. Cost grows with the size of all
    /// tables.
    pub fn verify(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        self.verify_functions(&mut found);
        if References::restore(self.references.table().clone()) != self.references {
            found.push(Violation::References);
        }
        self.verify_symbols(&mut found);
        self.verify_units(&mut found);
        self.verify_types(&mut found);
        found.truncate(MOST);
        found
    }

    fn verify_functions(&self, found: &mut Vec<Violation>) {
        let indexed = Functions::restore(self.functions.table().clone());
        if indexed.as_ref() != Some(&self.functions) {
            found.push(Violation::Bodies);
        }
        for function in self.functions.iter() {
            let symbol = self.symbols.get(function.symbol);
            let own =
                |s: &crate::Symbol| s.address == function.entry && s.kind == SymbolKind::Function;
            if !symbol.is_some_and(own) {
                found.push(Violation::FunctionSymbol(function.entry));
            }
            let mut thunk = function.thunk_of;
            let mut steps = 0;
            while let Some(next) = thunk.filter(|_| steps < DEEPEST) {
                if next == function.entry {
                    found.push(Violation::ThunkCircle(function.entry));
                    break;
                }
                thunk = self.functions.at(next).and_then(|f| f.thunk_of);
                steps += 1;
            }
        }
    }

    fn verify_symbols(&self, found: &mut Vec<Violation>) {
        let restored = Symbols::restore(self.symbols.table().clone(), self.symbols.last_id());
        if restored.as_ref() != Some(&self.symbols) {
            found.push(Violation::Symbols);
        }
        let mut shown = None;
        for (_, symbol) in self.symbols.in_order((Address::MIN, SymbolId(0)), Address::MAX) {
            if symbol.primary && symbol.is_in_memory() {
                if shown == Some(symbol.address) {
                    found.push(Violation::Primary(symbol.address));
                }
                shown = Some(symbol.address);
            }
        }
        for (id, symbol) in self.symbols.iter() {
            let (mut parent, mut steps) = (symbol.parent, 0);
            while parent != SymbolId::GLOBAL {
                let Some(next) = self.symbols.get(parent).filter(|_| steps < DEEPEST) else {
                    found.push(Violation::Namespace(id.0));
                    break;
                };
                (parent, steps) = (next.parent, steps + 1);
            }
        }
    }

    fn verify_units(&self, found: &mut Vec<Violation>) {
        let code = self.listing.instructions.iter().map(|(at, unit)| (*at, u64::from(unit.length)));
        let data = self.listing.data.iter().map(|(at, unit)| (*at, u64::from(unit.length)));
        let mut units: Vec<(Address, u64)> = code.chain(data).collect();
        units.sort_unstable();
        for pair in units.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            if after.0.distance_from(before.0).is_some_and(|distance| distance < before.1) {
                found.push(Violation::Units(before.0, after.0));
            }
        }
    }

    fn verify_types(&self, found: &mut Vec<Violation>) {
        let known = |id: TypeId| self.types.get(id).is_some();
        for (at, unit) in self.listing.data.iter() {
            if !known(unit.data_type) {
                found.push(Violation::DataType(*at));
            }
        }
        for function in self.functions.iter() {
            let signature = &function.signature;
            let parameters = signature.parameters.iter().map(|p| p.data_type);
            let locals = function.locals.iter().map(|l| l.data_type);
            if !parameters.chain(locals).chain([signature.return_type]).all(known) {
                found.push(Violation::DataType(function.entry));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AddressRange, AddressSet, DataOrganization, DataUnit, FlowOverride, FlowType, Function,
        Instruction, ProgramInfo, SourceType, Symbol,
    };

    fn at(offset: u64) -> Address {
        Address::ram(offset)
    }

    fn body(start: u64, end: u64) -> AddressSet {
        AddressRange::new(at(start), at(end)).into_iter().collect()
    }

    fn symbol(address: Address, kind: SymbolKind, parent: u64) -> Symbol {
        Symbol {
            name: "s".into(),
            address,
            kind,
            parent: SymbolId(parent),
            source: SourceType::Analysis,
            primary: true,
            external_entry: false,
            pinned: false,
        }
    }

    fn program() -> Program {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut program = Program::new(info, false, DataOrganization::default());
        let id = program.symbols.add(symbol(at(0x10), SymbolKind::Function, 0));
        let undefined = program.types.iter().next().expect("built-in types").0;
        program.functions.put(Function::new(at(0x10), id, body(0x10, 0x1f), undefined));
        let instruction = Instruction {
            length: 4,
            delay_slots: 0,
            in_delay_slot: false,
            mode: 0,
            flow: FlowType::FallThrough,
            flow_override: FlowOverride::None,
        };
        program.listing.instructions.insert(at(0x10), instruction);
        program.listing.data.insert(at(0x20), DataUnit { data_type: undefined, length: 4 });
        program
    }

    #[test]
    fn each_broken_invariant_is_named_and_a_sound_program_has_none() {
        assert_eq!(program().verify(), []);
        let broken = |edit: fn(&mut Program)| {
            let mut program = program();
            edit(&mut program);
            program.verify()
        };
        let bodies = broken(|p| {
            p.functions.edit(at(0x10), |f| f.body = AddressSet::new());
        });
        assert_eq!(bodies, [Violation::Bodies]);
        let moved = broken(|p| {
            let id = p.functions.at(at(0x10)).expect("a function").symbol;
            p.symbols.edit(id, |s| s.address = at(0x14));
        });
        assert_eq!(moved, [Violation::FunctionSymbol(at(0x10))]);
        let circle = broken(|p| {
            p.functions.edit(at(0x10), |f| f.thunk_of = Some(at(0x10)));
        });
        assert_eq!(circle, [Violation::ThunkCircle(at(0x10))]);
        let shown = broken(|p| {
            p.symbols.add(symbol(at(0x10), SymbolKind::Label, 0));
        });
        assert_eq!(shown, [Violation::Primary(at(0x10))]);
        let lost = broken(|p| {
            p.symbols.add(symbol(at(0x40), SymbolKind::Label, 77));
        });
        assert_eq!(lost, [Violation::Namespace(2)]);
        let overlap = broken(|p| {
            let unit = *p.listing.data.get(&at(0x20)).expect("data");
            p.listing.data.insert(at(0x12), unit);
        });
        assert_eq!(overlap, [Violation::Units(at(0x10), at(0x12))]);
        let untyped = broken(|p| {
            p.listing.data.insert(at(0x40), DataUnit { data_type: TypeId(u32::MAX), length: 1 });
        });
        assert_eq!(untyped, [Violation::DataType(at(0x40))]);
    }
}
