//! Bringing an engine from one state of its program to another, without telling it everything
//! again: the cost grows with the change.

use std::collections::BTreeSet;

use ghidra_decompiler::error::Result;
use program::{Address as Place, Changes, Program, SpaceId};

use super::Engine;

/// Places told anew at most; beyond that a new engine is cheaper.
const MAX_PLACES: usize = 4096;
/// Bytes of newly defined or undefined data that are looked through for labels.
const MAX_COVERED: u64 = 1 << 16;

impl Engine {
    /// Tells the engine what differs in `program`. False when it is better thrown away; so it is
    /// after an error.
    pub(crate) fn update(&mut self, program: &Program) -> Result<bool> {
        let old = self.snapshot.clone();
        let changes = program.changes_since(&old);
        if changes.is_empty() {
            self.snapshot = program.clone();
            return Ok(true);
        }
        if !self.can_follow(program, &old, &changes) {
            return Ok(false);
        }
        self.memory.replace(program.clone());
        self.forget_strings();
        let (mut prototypes, mut places) = (BTreeSet::new(), BTreeSet::new());
        for entry in &changes.prototypes {
            prototypes.insert(*entry);
            if is_told_otherwise(program, &old, *entry) {
                places.insert(*entry);
            }
        }
        places.extend(&changes.symbols);
        places.extend(&changes.data);
        places.extend(&changes.references_to);
        places.extend(&changes.values);
        places.extend(changes.decoded.iter().filter(|at| is_label(program, &old, **at)));
        add_covered(program, &old, &changes, &mut places);
        add_dependent_names(program, &old, &mut places, &mut prototypes);
        if places.len() > MAX_PLACES || prototypes.len() > MAX_PLACES {
            return Ok(false);
        }
        for entry in prototypes.iter().chain(&places) {
            self.forget_prototype(*entry)?;
        }
        for place in places.into_iter().filter(|place| place.space == SpaceId::RAM) {
            let Engine { architecture, types, symbols, .. } = self;
            symbols.renew(architecture, program, types, place)?;
        }
        self.snapshot = program.clone();
        Ok(true)
    }

    fn can_follow(&self, program: &Program, old: &Program, changes: &Changes) -> bool {
        let known_type = |id| self.types.knows(id);
        let code = |range: &program::AddressRange| {
            let block = program.memory.block_at(range.start);
            block.is_none_or(|block| block.permissions.execute)
        };
        let external = |place: &Place| place.space == SpaceId::EXTERNAL;
        // Functions of other libraries stand in a space of their own, with pointers to them.
        let renamed = changes.symbols.iter().any(external);
        let ends = changes.references_to.iter().chain(&changes.named_references_to);
        let bound = ends.into_iter().any(external);
        let made = changes.functions.iter().filter(|entry| external(entry)).any(|entry| {
            program.functions.at(*entry).is_some() != old.functions.at(*entry).is_some()
        });
        let too_much = changes.everything
            || changes.types.iter().any(|id| known_type(*id))
            || changes.memory.ranges().iter().any(code)
            || changes.data_covers.len() > MAX_COVERED;
        !(too_much || renamed || bound || made)
    }

    fn forget_prototype(&mut self, entry: Place) -> Result<()> {
        self.prototyped.remove(&entry);
        match self.symbols.functions.get(&entry).copied() {
            Some(symbol) => self.destroy(symbol),
            None => Ok(()),
        }
    }
}

/// Whether a function's symbol, not only what is known of it, differs.
fn is_told_otherwise(program: &Program, old: &Program, entry: Place) -> bool {
    match (program.functions.at(entry), old.functions.at(entry)) {
        (Some(new), Some(was)) => {
            new.call_fixup.is_some() != was.call_fixup.is_some()
                || new.symbol != was.symbol
                || new.thunk_of != was.thunk_of
        }
        _ => true,
    }
}

fn is_label(program: &Program, old: &Program, place: Place) -> bool {
    [program, old].into_iter().any(|state| {
        state.symbols.primary_at(place).is_some() || state.references.is_referenced(place)
    })
}

/// Labels inside of data are not told; where data comes or goes, they go or come.
fn add_covered(program: &Program, old: &Program, changes: &Changes, places: &mut BTreeSet<Place>) {
    for range in changes.data_covers.ranges() {
        for state in [program, old] {
            places.extend(state.references.destinations(range.start, range.end));
            let first = (range.start, program::SymbolId(0));
            places.extend(state.symbols.in_order(first, range.end).map(|(_, s)| s.address));
        }
    }
}

/// Thunks and pointers are named after what they lead to.
fn add_dependent_names(
    program: &Program,
    old: &Program,
    places: &mut BTreeSet<Place>,
    prototypes: &mut BTreeSet<Place>,
) {
    for state in [program, old] {
        for thunk in state.functions.iter().filter(|function| function.thunk_of.is_some()) {
            let target = state.thunked(thunk.entry).map(|function| function.entry);
            let Some(target) = target else { continue };
            if places.contains(&target) {
                places.insert(thunk.entry);
            }
            if prototypes.contains(&target) {
                prototypes.insert(thunk.entry);
            }
        }
        let pointers: Vec<Place> = places
            .iter()
            .flat_map(|place| state.references.to(*place))
            .map(|reference| reference.from)
            .filter(|from| state.listing.data.contains_key(from))
            .collect();
        places.extend(pointers);
    }
}
