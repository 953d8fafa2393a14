//! Facts as our program database states them, in the words of the dumps.

use program::data_type::{Builtin, TypeKind};
use program::{Address, AddressRange, Function, MemoryBlock, Program, SymbolKind, TypeId};

use crate::category::{Category, Facts, plain_address};

/// The facts of one category in a program; text is compared elsewhere.
pub fn facts(program: &Program, category: Category) -> Facts {
    let view = View { program };
    let in_memory = || program.functions.iter().filter(|function| !function.is_external());
    match category {
        Category::Blocks => program.memory.blocks().iter().map(|b| view.block(b)).collect(),
        Category::Instructions => {
            let units = program.listing.instructions.iter();
            units.map(|(at, unit)| format!("{} {}", view.place(*at), unit.length)).collect()
        }
        Category::Functions => in_memory().map(|f| view.place(f.entry)).collect(),
        Category::Names => in_memory().map(|f| view.name(f)).collect(),
        Category::Bodies => in_memory().flat_map(|f| view.body(f)).collect(),
        Category::NoReturn => {
            in_memory().filter(|f| f.no_return).map(|f| view.place(f.entry)).collect()
        }
        Category::Symbols => view.symbols(),
        Category::References => program
            .references
            .iter()
            .map(|r| format!("{} {} {}", view.place(r.from), view.place(r.to), r.info.kind.name()))
            .collect(),
        Category::Data => program
            .listing
            .data
            .iter()
            .map(|(at, unit)| {
                let data_type = program.types.name(unit.data_type);
                format!("{} {data_type} {}", view.place(*at), unit.length)
            })
            .collect(),
        Category::Strings => program
            .listing
            .data
            .iter()
            .filter(|(_, unit)| view.is_text(unit.data_type))
            .map(|(at, unit)| format!("{} {}", view.place(*at), unit.length))
            .collect(),
        Category::Text | Category::TextButNames | Category::Explained => Facts::new(),
    }
}

/// An address as the dumps write it.
pub fn address_text(program: &Program, address: Address) -> String {
    plain_address(&program.spaces.print(address).to_string())
}

struct View<'a> {
    program: &'a Program,
}

impl View<'_> {
    fn place(&self, address: Address) -> String {
        address_text(self.program, address)
    }

    fn block(&self, block: &MemoryBlock) -> String {
        let permissions = &block.permissions;
        let mut letters = String::new();
        letters.push(if permissions.read { 'r' } else { '-' });
        letters.push(if permissions.write { 'w' } else { '-' });
        letters.push(if permissions.execute { 'x' } else { '-' });
        if permissions.volatile {
            letters.push('v');
        }
        if permissions.artificial {
            letters.push('a');
        }
        let bytes = if block.is_initialized() { "initialized" } else { "uninitialized" };
        let (start, end) = (self.place(block.start), self.place(block.end()));
        format!("{} {start}-{end} {letters} {bytes}", block.name)
    }

    fn name(&self, function: &Function) -> String {
        let entry = function.entry;
        let path = self.program.symbols.path(self.program.function_namespace(entry));
        let namespace = if path.is_empty() { "Global".to_owned() } else { path.join("::") };
        format!("{} {namespace}::{}", self.place(entry), self.program.function_name(entry))
    }

    fn body(&self, function: &Function) -> Vec<String> {
        let entry = self.place(function.entry);
        let row = |range: &AddressRange| {
            format!("{entry} {}-{}", self.place(range.start), self.place(range.end))
        };
        function.body.ranges().iter().map(row).collect()
    }

    /// Stored symbols and the synthetic ones at places that are referred to.
    fn symbols(&self) -> Facts {
        let program = self.program;
        let mut rows = Facts::new();
        for (id, symbol) in program.symbols.iter() {
            if matches!(symbol.kind, SymbolKind::Label | SymbolKind::Function) {
                let name = program.symbol_name(id);
                rows.push(format!("{} {name} {}", self.place(symbol.address), symbol.kind.name()));
            }
        }
        for address in program.references.destinations(Address::MIN, Address::MAX) {
            if program.symbols.primary_at(address).is_some() {
                continue;
            }
            if let Some(name) = program.label_at(address) {
                rows.push(format!("{} {name} Label", self.place(address)));
            }
        }
        rows
    }

    fn is_text(&self, data_type: TypeId) -> bool {
        let types = &self.program.types;
        match types.get(types.resolve(data_type)).map(|t| &t.kind) {
            Some(TypeKind::Builtin(Builtin::String(_))) => true,
            Some(TypeKind::Array { element, .. }) => {
                matches!(types.as_builtin(*element), Some(Builtin::Char | Builtin::WideChar))
            }
            _ => false,
        }
    }
}
