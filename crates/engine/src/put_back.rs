//! What Ghidra and its users had said stands after an analysis of ours: it adds where nothing was.
//! Facts of the state before are put back over those that differ, and what was added gives way
//! where it would contradict them.

use std::sync::Arc;

use program::{Address, AddressSet, Function, Program, SymbolKind};

/// Puts back into `after` what differs from `before`. Cost: linear in both programs.
pub(crate) fn put_back(before: &Program, after: &mut Program) {
    types(before, after);
    symbols(before, after);
    functions(before, after);
    listing(before, after);
    references(before, after);
    for (key, text) in before.comments.iter() {
        after.comments.insert(*key, Arc::clone(text));
    }
    for (place, ()) in before.entry_points.iter() {
        after.entry_points.insert(*place, ());
    }
    after.info = Arc::clone(&before.info);
}

fn types(before: &Program, after: &mut Program) {
    for (id, data_type) in before.types.iter().filter(|(_, data_type)| data_type.used) {
        if after.types.get(id) == Some(data_type) {
            continue;
        }
        // One that took its path since is moved out of the way by its own number.
        if let Some(other) = after.types.at_path(&data_type.path()).filter(|other| *other != id)
            && let Some(found) = after.types.get(other).cloned()
        {
            let name = format!("{}.{}", found.name, other.0).into();
            let moved = program::DataType { name, ..program::DataType::clone(&found) };
            after.types.replace(other, moved);
        }
        after.types.replace(id, program::DataType::clone(data_type));
    }
}

fn symbols(before: &Program, after: &mut Program) {
    for (id, symbol) in before.symbols.iter() {
        if after.symbols.get(id) != Some(symbol) {
            after.symbols.put(id, symbol.clone());
        }
    }
    // What was shown at a place is shown there again.
    for (id, symbol) in before.symbols.iter().filter(|(_, symbol)| symbol.primary) {
        let others = after.symbols.at(symbol.address).filter(|(_, other)| other.primary).count();
        if symbol.names_a_place() && others > 1 {
            after.symbols.make_primary(id);
        }
    }
}

fn functions(before: &Program, after: &mut Program) {
    let own: AddressSet = before.functions.iter().flat_map(|f| f.body.ranges().to_vec()).collect();
    let added: Vec<Arc<Function>> = after
        .functions
        .iter()
        .filter(|function| before.functions.at(function.entry).is_none())
        .cloned()
        .collect();
    for function in added {
        let stands = function.body.ranges().iter().all(|range| !own.intersects(range));
        let symbol = after.symbols.get(function.symbol);
        let named = symbol.is_some_and(|s| s.kind == SymbolKind::Function);
        if !stands || !named {
            after.functions.take(function.entry);
            let unnamed = named.then_some(function.symbol);
            unnamed.and_then(|id| after.symbols.remove(id));
        }
    }
    for function in before.functions.iter() {
        if after.functions.at(function.entry) != Some(function) {
            after.functions.put(Function::clone(function));
        }
    }
}

fn listing(before: &Program, after: &mut Program) {
    let mut own = AddressSet::new();
    let mut cover = |at: Address, length: u64| {
        let range = program::AddressRange::with_length(at, length.max(1));
        range.into_iter().for_each(|range| own.insert(range));
    };
    for (at, unit) in before.listing.instructions.iter() {
        cover(*at, u64::from(unit.length));
    }
    for (at, unit) in before.listing.data.iter() {
        cover(*at, u64::from(unit.length));
    }
    let touches = |at: Address, length: u64| {
        let range = program::AddressRange::with_length(at, length.max(1));
        range.is_some_and(|range| own.intersects(&range))
    };
    let instructions = after.listing.instructions.iter();
    let wrong: Vec<Address> = instructions
        .filter(|(at, unit)| {
            before.listing.instructions.get(at) != Some(unit) && touches(**at, unit.length.into())
        })
        .map(|(at, _)| *at)
        .collect();
    for at in wrong {
        after.listing.instructions.remove(&at);
    }
    let data = after.listing.data.iter();
    let wrong: Vec<Address> = data
        .filter(|(at, unit)| {
            before.listing.data.get(at) != Some(unit) && touches(**at, unit.length.into())
        })
        .map(|(at, _)| *at)
        .collect();
    for at in wrong {
        after.listing.data.remove(&at);
    }
    for (at, unit) in before.listing.instructions.iter() {
        if !after.listing.instructions.contains_key(at) {
            after.listing.instructions.insert(*at, *unit);
        }
    }
    for (at, unit) in before.listing.data.iter() {
        if !after.listing.data.contains_key(at) {
            after.listing.data.insert(*at, *unit);
        }
    }
}

fn references(before: &Program, after: &mut Program) {
    let mut operands = std::collections::HashSet::new();
    for reference in before.references.iter() {
        operands.insert((reference.from, reference.operand));
        after.references.add(reference);
    }
    // An operand shows the reference that it showed.
    let wrong: Vec<_> = after
        .references
        .iter()
        .filter(|r| r.info.primary && operands.contains(&(r.from, r.operand)))
        .filter(|r| !before.references.from(r.from).any(|other| other == *r))
        .collect();
    for mut reference in wrong {
        reference.info.primary = false;
        after.references.add(reference);
    }
}
