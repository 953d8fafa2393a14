//! Symbols and namespaces.

use crate::address::{Address, SpaceId};
use crate::table::Table;
use std::sync::Arc;

/// Identifies a symbol for its whole life, renames included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub u64);

impl SymbolId {
    /// The global namespace, which has no stored symbol.
    pub const GLOBAL: SymbolId = SymbolId(0);
    /// Ids from here on name synthetic symbols (see `naming.rs`).
    pub const FIRST_SYNTHETIC: u64 = 1 << 62;
}

/// What a symbol names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolKind {
    /// A place in memory.
    Label,
    /// A function.
    Function,
    /// An external library.
    Library,
    /// A namespace.
    Namespace,
    /// A class.
    Class,
}

impl SymbolKind {
    /// Every kind.
    pub const ALL: [SymbolKind; 5] = [
        SymbolKind::Label,
        SymbolKind::Function,
        SymbolKind::Library,
        SymbolKind::Namespace,
        SymbolKind::Class,
    ];

    /// Ghidra's name, such as `Function`.
    pub fn name(self) -> &'static str {
        match self {
            SymbolKind::Label => "Label",
            SymbolKind::Function => "Function",
            SymbolKind::Library => "Library",
            SymbolKind::Namespace => "Namespace",
            SymbolKind::Class => "Class",
        }
    }
}

/// Whether a symbol's name says that compilers moved the code away from the function that it is part
/// of, since it seldom runs: `name.cold`, `name.cold.3`.
pub fn is_cold(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let base =
        name.rsplit_once('.').filter(|(_, last)| number(last)).map_or(name, |(base, _)| base);
    base.strip_suffix(".cold").is_some_and(|of| !of.is_empty())
}

/// Who said so; later ones override earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SourceType {
    /// Made up.
    #[default]
    Default,
    /// Found by analysis.
    Analysis,
    /// Read from the file.
    Imported,
    /// Set by a user.
    UserDefined,
}

impl SourceType {
    /// Ghidra's name, such as `USER_DEFINED`.
    pub fn name(self) -> &'static str {
        match self {
            SourceType::Default => "DEFAULT",
            SourceType::Analysis => "ANALYSIS",
            SourceType::Imported => "IMPORTED",
            SourceType::UserDefined => "USER_DEFINED",
        }
    }
}

/// One stored symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name, without namespaces. Empty for a function that bears its
    /// default name (`FUN_...`) or its thunked function's name.
    pub name: Arc<str>,
    /// Where it lies. Namespaces lie at [`Address::MAX`].
    pub address: Address,
    /// What it names.
    pub kind: SymbolKind,
    /// The namespace it is in.
    pub parent: SymbolId,
    /// Who named it.
    pub source: SourceType,
    /// Whether it is the one to show at its address.
    pub primary: bool,
    /// Whether it is an entry point for the outside.
    pub external_entry: bool,
    /// Whether it stays at its address when the image moves.
    pub pinned: bool,
}

impl Symbol {
    /// Whether it names a place in the program's own memory.
    pub fn is_in_memory(&self) -> bool {
        self.names_a_place() && self.address.space != SpaceId::EXTERNAL
    }

    /// Whether it names a place, be that in the program's memory or in another file.
    pub fn names_a_place(&self) -> bool {
        matches!(self.kind, SymbolKind::Label | SymbolKind::Function)
            && self.address != Address::MAX
    }
}

/// All stored symbols of a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Symbols {
    by_id: Table<SymbolId, Symbol>,
    by_address: Table<(Address, SymbolId), ()>,
    by_name: Table<(Arc<str>, SymbolId), ()>,
    next: u64,
}

impl Symbols {
    /// Number of stored symbols, namespaces included.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Whether both share their storage, so that no symbol differs.
    pub fn same(&self, other: &Symbols) -> bool {
        self.by_id.same(&other.by_id)
    }

    /// The symbols that differ, or that only one of both has.
    pub fn differences(&self, other: &Symbols) -> Vec<SymbolId> {
        self.by_id.differences(&other.by_id, PartialEq::eq)
    }

    /// All stored symbols by id.
    pub fn table(&self) -> &Table<SymbolId, Symbol> {
        &self.by_id
    }

    /// The greatest id handed out so far.
    pub fn last_id(&self) -> u64 {
        self.next
    }

    /// The symbols of a saved program, with the greatest id handed out then.
    /// `None` when an id is greater than that or not a stored symbol's.
    pub fn restore(by_id: Table<SymbolId, Symbol>, last_id: u64) -> Option<Symbols> {
        let first = by_id.first().is_none_or(|(id, _)| *id > SymbolId::GLOBAL);
        let last = by_id.last().is_none_or(|(id, _)| id.0 <= last_id);
        if !first || !last || last_id >= SymbolId::FIRST_SYNTHETIC {
            return None;
        }
        let mut places: Vec<(Address, SymbolId)> =
            by_id.iter().map(|(id, symbol)| (symbol.address, *id)).collect();
        places.sort_unstable();
        let mut names: Vec<(Arc<str>, SymbolId)> =
            by_id.iter().map(|(id, symbol)| (Arc::clone(&symbol.name), *id)).collect();
        names.sort_unstable();
        Some(Symbols {
            by_address: places.into_iter().map(|place| (place, ())).collect(),
            by_name: names.into_iter().map(|name| (name, ())).collect(),
            by_id,
            next: last_id,
        })
    }

    /// A symbol by id.
    pub fn get(&self, id: SymbolId) -> Option<&Symbol> {
        self.by_id.get(&id)
    }

    /// All symbols in id order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (SymbolId, &Symbol)> {
        self.by_id.iter().map(|(id, s)| (*id, s))
    }

    /// The symbols at one address in id order.
    pub fn at(&self, address: Address) -> impl Iterator<Item = (SymbolId, &Symbol)> {
        self.in_order((address, SymbolId(0)), address)
    }

    /// Symbols in (address, id) order from `from` on, up to address `end`.
    pub fn in_order(
        &self,
        from: (Address, SymbolId),
        end: Address,
    ) -> impl Iterator<Item = (SymbolId, &Symbol)> {
        self.by_address
            .range(from..=(end, SymbolId(u64::MAX)))
            .filter_map(|((_, id), ())| Some((*id, self.by_id.get(id)?)))
    }

    /// The primary symbol at an address.
    pub fn primary_at(&self, address: Address) -> Option<(SymbolId, &Symbol)> {
        self.at(address).find(|(_, s)| s.primary)
    }

    /// The symbols of that exact name, in id order. O(log n).
    pub fn named(&self, name: &str) -> impl Iterator<Item = (SymbolId, &Symbol)> {
        let name: Arc<str> = name.into();
        self.by_name
            .range((Arc::clone(&name), SymbolId(0))..=(name, SymbolId(u64::MAX)))
            .filter_map(|((_, id), ())| Some((*id, self.by_id.get(id)?)))
    }

    /// Adds a symbol as it is given; the caller decides about primacy.
    pub fn add(&mut self, symbol: Symbol) -> SymbolId {
        self.next += 1;
        let id = SymbolId(self.next);
        self.put(id, symbol);
        id
    }

    /// Adds a symbol under an id it had before (a saved program, an undo).
    pub fn put(&mut self, id: SymbolId, symbol: Symbol) {
        self.remove(id);
        self.next = self.next.max(id.0);
        self.by_address.insert((symbol.address, id), ());
        self.by_name.insert((Arc::clone(&symbol.name), id), ());
        self.by_id.insert(id, symbol);
    }

    /// Changes a symbol through `edit`; its id stays.
    pub fn edit(&mut self, id: SymbolId, edit: impl FnOnce(&mut Symbol)) -> bool {
        let Some(old) = self.by_id.get(&id) else { return false };
        let mut symbol = old.clone();
        edit(&mut symbol);
        if symbol.address != old.address || symbol.name != old.name {
            self.put(id, symbol);
        } else if let Some(stored) = self.by_id.get_mut(&id) {
            // Neither index changes.
            *stored = symbol;
        }
        true
    }

    /// Removes a symbol.
    pub fn remove(&mut self, id: SymbolId) -> Option<Symbol> {
        let symbol = self.by_id.remove(&id)?;
        self.by_address.remove(&(symbol.address, id));
        self.by_name.remove(&(Arc::clone(&symbol.name), id));
        Some(symbol)
    }

    /// Makes `id` the only primary symbol at its address.
    pub fn make_primary(&mut self, id: SymbolId) {
        let Some(address) = self.get(id).map(|s| s.address) else { return };
        let others: Vec<SymbolId> =
            self.at(address).filter(|(i, s)| s.primary != (*i == id)).map(|(i, _)| i).collect();
        for other in others {
            if let Some(symbol) = self.by_id.get_mut(&other) {
                symbol.primary = other == id;
            }
        }
    }

    /// The namespace of that name and parent, made when missing.
    pub fn namespace(&mut self, name: &str, parent: SymbolId, kind: SymbolKind) -> SymbolId {
        let known = self.named(name).find(|(_, s)| {
            s.parent == parent
                && matches!(s.kind, SymbolKind::Namespace | SymbolKind::Class | SymbolKind::Library)
        });
        if let Some((id, _)) = known {
            return id;
        }
        self.add(Symbol {
            name: name.into(),
            address: Address::MAX,
            kind,
            parent,
            source: SourceType::Imported,
            primary: true,
            external_entry: false,
            pinned: false,
        })
    }

    /// The names of the namespaces around a symbol, outermost first.
    pub fn path(&self, mut parent: SymbolId) -> Vec<Arc<str>> {
        let mut path = Vec::new();
        while let Some(symbol) = self.get(parent) {
            path.push(Arc::clone(&symbol.name));
            parent = symbol.parent;
            if path.len() > 64 {
                break;
            }
        }
        path.reverse();
        path
    }
}
