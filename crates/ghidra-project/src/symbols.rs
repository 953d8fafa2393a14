//! Symbols under the numbers that Ghidra gave them; variables are left to the functions that they
//! belong to.

use std::collections::HashMap;

use program::{Address, SourceType, Symbol, SymbolId, SymbolKind, Symbols, Table};

use crate::import::Importer;

const LABEL: i64 = 0;
const LIBRARY: i64 = 1;
const NAMESPACE: i64 = 3;
const CLASS: i64 = 4;
const FUNCTION: i64 = 5;

/// Namespaces are followed this far; no real program comes near.
const DEEPEST: usize = 200;

/// Who said something, by the number that tables have for it.
pub(crate) fn source(number: i64) -> SourceType {
    match number {
        1 => SourceType::UserDefined,
        3 => SourceType::Imported,
        2 => SourceType::Default,
        // Analysis is 0; what an AI said, 4, counts as that too.
        _ => SourceType::Analysis,
    }
}

/// The source in a symbol's flags: two bits and a third apart.
pub(crate) fn source_in(flags: i64) -> SourceType {
    source(flags & 3 | flags >> 1 & 4)
}

impl Importer<'_> {
    /// Takes over symbols and namespaces.
    pub(crate) fn symbols(&mut self) {
        let mut found: HashMap<i64, Symbol> = HashMap::new();
        for row in self.rows("Symbols").iter() {
            let kind = match row.int("Symbol Type") {
                LABEL => SymbolKind::Label,
                LIBRARY => SymbolKind::Library,
                NAMESPACE => SymbolKind::Namespace,
                CLASS => SymbolKind::Class,
                FUNCTION => SymbolKind::Function,
                _ => continue,
            };
            let is_place = matches!(kind, SymbolKind::Label | SymbolKind::Function);
            let address = match (is_place, self.addresses.decode(row.int("Address"))) {
                (false, _) => Address::MAX,
                (true, Some(address)) => address,
                (true, None) => {
                    let name = row.word("Name");
                    self.notices.push(format!("The symbol {name} has no address we know."));
                    continue;
                }
            };
            let flags = row.int("Flags");
            let source = source_in(flags);
            let key = row.key();
            if key <= 0 || key as u64 >= SymbolId::FIRST_SYNTHETIC {
                continue;
            }
            // The names of functions and labels without one are made up from their places.
            let symbol = Symbol {
                name: row.word("Name").into(),
                address,
                kind,
                parent: SymbolId(u64::try_from(row.int("Namespace")).unwrap_or(0)),
                source,
                primary: !is_place
                    || kind == SymbolKind::Function
                    || row.number("Primary").is_some(),
                external_entry: false,
                pinned: flags & 4 != 0,
            };
            found.insert(key, symbol);
        }
        self.mend_namespaces(&mut found);
        show_one_each(&mut found);
        let last = found.keys().copied().max().unwrap_or(0) as u64;
        let mut sorted: Vec<(SymbolId, Symbol)> =
            found.into_iter().map(|(key, symbol)| (SymbolId(key as u64), symbol)).collect();
        sorted.sort_by_key(|(id, _)| *id);
        let table: Table<SymbolId, Symbol> = sorted.into_iter().collect();
        if let Some(symbols) = Symbols::restore(table, last) {
            self.program.symbols = symbols;
        }
    }

    /// Moves symbols out of namespaces that are not there, or that lead back to themselves.
    fn mend_namespaces(&mut self, found: &mut HashMap<i64, Symbol>) {
        let lost: Vec<i64> = found
            .iter()
            .filter(|(_, symbol)| {
                let (mut parent, mut steps) = (symbol.parent.0, 0);
                while parent != 0 {
                    let next = i64::try_from(parent).ok().and_then(|parent| found.get(&parent));
                    let Some(next) = next.filter(|_| steps < DEEPEST) else { return true };
                    (parent, steps) = (next.parent.0, steps + 1);
                }
                false
            })
            .map(|(key, _)| *key)
            .collect();
        if !lost.is_empty() {
            self.notices.push(format!("{} symbols are in no namespace that is there.", lost.len()));
        }
        for key in lost {
            if let Some(symbol) = found.get_mut(&key) {
                symbol.parent = SymbolId::GLOBAL;
            }
        }
    }
}

/// Leaves one primary symbol at each address: a function's before labels, the first before others.
fn show_one_each(found: &mut HashMap<i64, Symbol>) {
    let mut shown: HashMap<Address, (bool, i64)> = HashMap::new();
    for (key, symbol) in found.iter().filter(|(_, s)| s.primary && s.names_a_place()) {
        let rank = (symbol.kind != SymbolKind::Function, *key);
        let best = shown.entry(symbol.address).or_insert(rank);
        *best = (*best).min(rank);
    }
    for (key, symbol) in found.iter_mut() {
        if symbol.primary && symbol.names_a_place() {
            symbol.primary = shown.get(&symbol.address).is_some_and(|best| best.1 == *key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_spread_over_the_flags() {
        let expected = [
            (0, SourceType::Analysis),
            (1, SourceType::UserDefined),
            (2, SourceType::Default),
            (3, SourceType::Imported),
            (8, SourceType::Analysis),
            (7, SourceType::Imported),
        ];
        for (flags, source) in expected {
            assert_eq!(source_in(flags), source, "{flags}");
        }
    }
}
