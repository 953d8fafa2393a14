//! The call graph: who calls whom, read from references; stubs are looked through, so that a call
//! of one is a call of what it passes control to.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use program::{Address, Function, Program};

/// Functions that a search visits at most.
const MAX_VISITED: usize = 20_000;

/// How a function gets to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallKind {
    /// It calls it.
    Call,
    /// It jumps to its entry and does not come back.
    TailCall,
}

/// The call graph of one state of a program. Making it walks over all functions once; what is
/// asked of it costs the references of the functions that are asked about.
pub struct CallGraph<'p> {
    program: &'p Program,
    /// Stubs by the function that they end at.
    stubs: HashMap<Address, Vec<Address>>,
}

/// Functions that a search found, by distance from where it began.
#[derive(Debug, Default)]
pub struct Reached {
    /// The distance of each.
    pub distance: BTreeMap<Address, u32>,
    /// True when there were too many to visit.
    pub is_cut: bool,
}

impl<'p> CallGraph<'p> {
    /// The graph of a program.
    #[must_use]
    pub fn new(program: &'p Program) -> CallGraph<'p> {
        let mut stubs: HashMap<Address, Vec<Address>> = HashMap::new();
        for stub in program.functions.iter().filter(|function| function.thunk_of.is_some()) {
            if let Some(target) = program.thunked(stub.entry) {
                stubs.entry(target.entry).or_default().push(stub.entry);
            }
        }
        CallGraph { program, stubs }
    }

    /// The stubs that end at a function.
    #[must_use]
    pub fn stubs_of(&self, entry: Address) -> &[Address] {
        self.stubs.get(&entry).map_or(&[], Vec::as_slice)
    }

    /// The function that is meant by an entry: what a stub ends at, or itself.
    #[must_use]
    pub fn meant(&self, entry: Address) -> Address {
        self.program.thunked(entry).map_or(entry, |function| function.entry)
    }

    /// The functions that a function calls, each with the calling places.
    #[must_use]
    pub fn callees(&self, function: &Function) -> BTreeMap<(Address, CallKind), Vec<Address>> {
        let mut found: BTreeMap<_, Vec<Address>> = BTreeMap::new();
        for range in function.body.ranges() {
            for reference in self.program.references.between(range.start, range.end) {
                if self.program.functions.at(reference.to).is_none() {
                    continue;
                }
                let kind = match reference.info.kind {
                    kind if kind.is_call() => CallKind::Call,
                    kind if kind.is_jump() && reference.to != function.entry => CallKind::TailCall,
                    _ => continue,
                };
                let sites = found.entry((self.meant(reference.to), kind)).or_default();
                if sites.last() != Some(&reference.from) {
                    sites.push(reference.from);
                }
            }
        }
        found
    }

    /// The functions that call a function, directly or through a stub, each with the calling
    /// places.
    #[must_use]
    pub fn callers(&self, entry: Address) -> BTreeMap<(Address, CallKind), Vec<Address>> {
        let mut found: BTreeMap<_, Vec<Address>> = BTreeMap::new();
        let stubs = self.stubs_of(entry);
        for place in std::iter::once(&entry).chain(stubs) {
            for reference in self.program.references.to(*place) {
                let Some(caller) = self.program.functions.containing(reference.from) else {
                    continue;
                };
                let kind = match reference.info.kind {
                    kind if kind.is_call() => CallKind::Call,
                    kind if kind.is_jump() && caller.entry != *place => CallKind::TailCall,
                    _ => continue,
                };
                if caller.thunk_of.is_none() {
                    found.entry((caller.entry, kind)).or_default().push(reference.from);
                }
            }
        }
        for sites in found.values_mut() {
            sites.sort_unstable();
            sites.dedup();
        }
        found
    }

    /// How many functions call a function.
    #[must_use]
    pub fn caller_count(&self, entry: Address) -> usize {
        let callers = self.callers(entry);
        callers.keys().map(|(caller, _)| *caller).collect::<BTreeSet<_>>().len()
    }

    /// What lies within some steps of a function, along calls or against them.
    #[must_use]
    pub fn reach(&self, from: Address, steps: u32, forward: bool) -> Reached {
        let mut reached = Reached::default();
        let from = self.meant(from);
        reached.distance.insert(from, 0);
        let mut waiting = VecDeque::from([(from, 0)]);
        while let Some((entry, distance)) = waiting.pop_front() {
            if distance == steps {
                continue;
            }
            for next in self.next(entry, forward) {
                if reached.distance.len() >= MAX_VISITED {
                    reached.is_cut = true;
                    return reached;
                }
                if let std::collections::btree_map::Entry::Vacant(place) =
                    reached.distance.entry(next)
                {
                    place.insert(distance + 1);
                    waiting.push_back((next, distance + 1));
                }
            }
        }
        reached
    }

    fn next(&self, entry: Address, forward: bool) -> Vec<Address> {
        let found = match (forward, self.program.functions.at(entry)) {
            (true, Some(function)) => self.callees(function),
            (true, None) => return Vec::new(),
            (false, _) => self.callers(entry),
        };
        found.into_keys().map(|(next, _)| next).collect()
    }
}
