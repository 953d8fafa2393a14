//! Decompilations kept for as long as nothing changes that they depend on.

use std::collections::HashMap;
use std::sync::Arc;

use program::{Address, Program};

use crate::engine::{Decompilation, Depends};

/// Bytes of kept decompilations at most, as far as they are counted.
const MAX_BYTES: usize = 96 << 20;

struct Entry {
    value: Arc<Decompilation>,
    depends: Depends,
    bytes: usize,
    /// When it was asked for last, in calls.
    used: u64,
}

/// Decompilations of one program's functions, all valid for one state of it.
#[derive(Default)]
pub(crate) struct Cache {
    state: Option<Program>,
    entries: HashMap<Address, Entry>,
    bytes: usize,
    clock: u64,
}

impl Cache {
    /// The decompilation of a function, if it is known and still holds for this state.
    pub(crate) fn get(&mut self, program: &Program, entry: Address) -> Option<Arc<Decompilation>> {
        self.move_to(program);
        self.clock += 1;
        let found = self.entries.get_mut(&entry)?;
        found.used = self.clock;
        Some(Arc::clone(&found.value))
    }

    /// Keeps a decompilation that was made for a state of the program.
    pub(crate) fn put(
        &mut self,
        program: &Program,
        entry: Address,
        value: &Arc<Decompilation>,
        depends: Depends,
    ) {
        let bytes = size(value);
        if bytes > MAX_BYTES / 4 {
            return;
        }
        match &self.state {
            None => self.state = Some(program.clone()),
            Some(state) => {
                // Others may have moved on meanwhile.
                let changes = state.changes_since(program);
                if depends.touched(&changes, &changes.places(), program) {
                    return;
                }
            }
        }
        self.drop_one(entry);
        while self.bytes + bytes > MAX_BYTES {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(at, _)| *at) else { break };
            self.drop_one(oldest);
        }
        self.bytes += bytes;
        self.clock += 1;
        let kept = Entry { value: Arc::clone(value), depends, bytes, used: self.clock };
        self.entries.insert(entry, kept);
    }

    pub(crate) fn clear(&mut self) {
        *self = Cache::default();
    }

    /// Drops what does not hold for another state of the program.
    fn move_to(&mut self, program: &Program) {
        let Some(state) = self.state.replace(program.clone()) else { return };
        let changes = program.changes_since(&state);
        if changes.is_empty() {
            return;
        }
        let touched = changes.places();
        let doomed: Vec<Address> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.depends.touched(&changes, &touched, &state))
            .map(|(at, _)| *at)
            .collect();
        doomed.into_iter().for_each(|at| self.drop_one(at));
    }

    fn drop_one(&mut self, entry: Address) {
        if let Some(gone) = self.entries.remove(&entry) {
            self.bytes -= gone.bytes;
        }
    }
}

/// What a decompilation takes, roughly.
fn size(value: &Decompilation) -> usize {
    const TOKEN: usize = 96;
    const VARIABLE: usize = 256;
    let variables = value.parameters.len() + value.locals.len();
    value.c.len() + value.tokens.len() * TOKEN + variables * VARIABLE + 1024
}
