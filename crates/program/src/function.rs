//! Functions, their parameters, variables and storage.

use crate::address::{Address, AddressSet};
use crate::data_type::TypeId;
use crate::symbol::{SourceType, SymbolId};
use crate::table::Table;
use std::sync::Arc;

/// Where a value lives, piece by piece (most significant piece first).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Storage {
    /// Not known.
    #[default]
    Unassigned,
    /// Nowhere: a value of type `void`.
    Void,
    /// In these places.
    Pieces(Vec<StoragePiece>),
}

/// One piece of a variable's storage: an address in the register, stack or a
/// memory space, and a size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoragePiece {
    /// The place; stack offsets are signed.
    pub address: Address,
    /// Bytes.
    pub size: u32,
}

impl Storage {
    /// One piece at `address`.
    pub fn at(address: Address, size: u32) -> Storage {
        Storage::Pieces(vec![StoragePiece { address, size }])
    }

    /// The pieces; empty for the special kinds.
    pub fn pieces(&self) -> &[StoragePiece] {
        match self {
            Storage::Pieces(pieces) => pieces,
            _ => &[],
        }
    }
}

/// One parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name; empty for the default `param_N`.
    pub name: Arc<str>,
    /// Its type.
    pub data_type: TypeId,
    /// Where it is passed.
    pub storage: Storage,
    /// Who set it.
    pub source: SourceType,
    /// Added by the convention (`this`, a hidden return pointer), not written.
    pub automatic: bool,
    /// Identity across renames.
    pub id: u32,
}

/// One local variable that is stored in the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalVariable {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub data_type: TypeId,
    /// Where it lives.
    pub storage: Storage,
    /// Offset from the entry at which it comes to life; 0 for stack variables.
    pub first_use: u32,
    /// Dynamic hash for a temporary that has no storage of its own, or 0.
    pub hash: u64,
    /// Who set it.
    pub source: SourceType,
    /// Whether `data_type` was set on purpose, not only the name.
    pub type_locked: bool,
    /// Identity across renames.
    pub id: u32,
}

/// How a function is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// What it returns.
    pub return_type: TypeId,
    /// Where it returns it.
    pub return_storage: Storage,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// Whether more arguments may follow.
    pub varargs: bool,
    /// The calling convention; `None` when unknown.
    pub convention: Option<Arc<str>>,
    /// Whether storage was set by hand rather than by the convention.
    pub custom_storage: bool,
    /// Who set it.
    pub source: SourceType,
}

/// One function. External functions have an entry in the external space and
/// no body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Where it starts.
    pub entry: Address,
    /// Its symbol, which holds the name.
    pub symbol: SymbolId,
    /// Its code.
    pub body: AddressSet,
    /// The entry of the function that this one merely passes on to.
    pub thunk_of: Option<Address>,
    /// How it is called.
    pub signature: Signature,
    /// Variables stored in the program, by id.
    pub locals: Vec<LocalVariable>,
    /// Never returns.
    pub no_return: bool,
    /// Expanded where it is called.
    pub inline: bool,
    /// A named p-code replacement at call sites.
    pub call_fixup: Option<Arc<str>>,
    /// Bytes that it removes from the stack on return, when known.
    pub stack_purge: Option<i32>,
    /// Free labels.
    pub tags: Vec<Arc<str>>,
    /// Next identity for a parameter or local.
    pub next_variable: u32,
}

impl Function {
    /// A function of which only the place is known.
    pub fn new(entry: Address, symbol: SymbolId, body: AddressSet, undefined: TypeId) -> Self {
        Function {
            entry,
            symbol,
            body,
            thunk_of: None,
            signature: Signature {
                return_type: undefined,
                return_storage: Storage::Unassigned,
                parameters: Vec::new(),
                varargs: false,
                convention: None,
                custom_storage: false,
                source: SourceType::Default,
            },
            locals: Vec::new(),
            no_return: false,
            inline: false,
            call_fixup: None,
            stack_purge: None,
            tags: Vec::new(),
            next_variable: 1,
        }
    }

    /// Whether it lies in another library.
    pub fn is_external(&self) -> bool {
        self.entry.space == crate::address::SpaceId::EXTERNAL
    }

    /// Hands out an identity for a parameter or local.
    pub fn new_variable_id(&mut self) -> u32 {
        self.next_variable += 1;
        self.next_variable - 1
    }
}

/// All functions of a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Functions {
    by_entry: Table<Address, Arc<Function>>,
    /// Body ranges by start: end and entry. Bodies do not overlap.
    ranges: Table<Address, (Address, Address)>,
}

impl Functions {
    /// All functions by entry.
    pub fn table(&self) -> &Table<Address, Arc<Function>> {
        &self.by_entry
    }

    /// The functions of a saved program; `None` when bodies overlap.
    pub fn restore(by_entry: Table<Address, Arc<Function>>) -> Option<Functions> {
        let mut ranges: Vec<(Address, (Address, Address))> = Vec::new();
        for function in by_entry.values() {
            ranges
                .extend(function.body.ranges().iter().map(|r| (r.start, (r.end, function.entry))));
        }
        ranges.sort_unstable();
        let apart = ranges.windows(2).all(|pair| pair[0].1.0 < pair[1].0);
        apart.then(|| Functions { by_entry, ranges: ranges.into_iter().collect() })
    }

    /// Number of functions, external ones included.
    pub fn len(&self) -> usize {
        self.by_entry.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_entry.is_empty()
    }

    /// Whether both share their storage, so that no function differs.
    pub fn same(&self, other: &Functions) -> bool {
        self.by_entry.same(&other.by_entry)
    }

    /// The entries of functions that differ, or that only one of both has.
    pub fn differences(&self, other: &Functions) -> Vec<Address> {
        self.by_entry.differences(&other.by_entry, |one, two| Arc::ptr_eq(one, two) || one == two)
    }

    /// The function with that entry.
    pub fn at(&self, entry: Address) -> Option<&Arc<Function>> {
        self.by_entry.get(&entry)
    }

    /// The function whose body holds the address. O(log n).
    pub fn containing(&self, address: Address) -> Option<&Arc<Function>> {
        let (_, (end, entry)) = self.ranges.at_or_below(&address)?;
        if address <= *end && end.space == address.space { self.at(*entry) } else { None }
    }

    /// The first part of any body at or after `from` and not after `to`: whose it is, and where
    /// it ends. O(log n).
    pub(crate) fn body_part(
        &self,
        from: Address,
        to: Address,
    ) -> Option<(&Arc<Function>, Address)> {
        let before = self.ranges.at_or_below(&from).filter(|(_, (end, _))| *end >= from);
        let found = before.or_else(|| self.ranges.at_or_above(&from));
        let (_, (end, entry)) = found.filter(|(start, _)| **start <= to)?;
        Some((self.at(*entry)?, *end))
    }

    /// Functions with entries in `start..=end`, in order.
    pub fn between(
        &self,
        start: Address,
        end: Address,
    ) -> impl DoubleEndedIterator<Item = &Arc<Function>> {
        self.by_entry.range(start..=end).map(|(_, f)| f)
    }

    /// Functions with entries in a range, in order.
    pub fn range(
        &self,
        entries: impl std::ops::RangeBounds<Address>,
    ) -> impl DoubleEndedIterator<Item = &Arc<Function>> {
        self.by_entry.range(entries).map(|(_, function)| function)
    }

    /// All functions in entry order, external ones after those in memory.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Function>> {
        self.by_entry.values()
    }

    /// Stores a function, replacing the one with its entry. Parts of its body
    /// that belong to other functions are left out of it.
    pub fn put(&mut self, mut function: Function) {
        self.take(function.entry);
        for range in function.body.ranges().to_vec() {
            let before = self.ranges.at_or_below(&range.start).map(|(s, (e, _))| (*s, *e));
            let inside: Vec<_> = before
                .into_iter()
                .chain(self.ranges.range(range.start..=range.end).map(|(s, (e, _))| (*s, *e)))
                .filter_map(|(s, e)| crate::address::AddressRange::new(s, e))
                .filter(|taken| taken.intersects(&range))
                .collect();
            inside.iter().for_each(|taken| function.body.remove(taken));
        }
        for range in function.body.ranges() {
            self.ranges.insert(range.start, (range.end, function.entry));
        }
        self.by_entry.insert(function.entry, Arc::new(function));
    }

    /// Changes a function in place through `edit`, which must leave entry and
    /// body alone.
    pub fn edit(&mut self, entry: Address, edit: impl FnOnce(&mut Function)) -> bool {
        let Some(function) = self.by_entry.get_mut(&entry) else { return false };
        edit(Arc::make_mut(function));
        true
    }

    /// Removes the function with that entry.
    pub fn take(&mut self, entry: Address) -> Option<Arc<Function>> {
        let function = self.by_entry.remove(&entry)?;
        for range in function.body.ranges() {
            self.ranges.remove(&range.start);
        }
        Some(function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::AddressRange;

    fn function(entry: u64, ranges: &[(u64, u64)]) -> Function {
        let range =
            |&(a, b): &(u64, u64)| AddressRange::new(Address::ram(a), Address::ram(b)).unwrap();
        let body = ranges.iter().map(range).collect();
        Function::new(Address::ram(entry), SymbolId(1), body, TypeId(1))
    }

    #[test]
    fn bodies_never_overlap_and_are_found_by_any_address() {
        let mut functions = Functions::default();
        functions.put(function(0x10, &[(0x10, 0x1f), (0x40, 0x4f)]));
        functions.put(function(0x20, &[(0x18, 0x2f)]));
        let at = |f: &Functions, a| f.containing(Address::ram(a)).map(|f| f.entry.offset);
        assert_eq!(at(&functions, 0x18), Some(0x10));
        assert_eq!(at(&functions, 0x20), Some(0x20));
        assert_eq!(at(&functions, 0x4f), Some(0x10));
        assert_eq!(at(&functions, 0x50), None);
        functions.take(Address::ram(0x10));
        assert_eq!(at(&functions, 0x18), None);
        assert_eq!(functions.len(), 1);
    }
}
