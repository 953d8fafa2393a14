//! Gates: places where no code is run, but something else happens: the end of the run, a hook, an
//! import.

use foldhash::HashMap;
use program::{Address, BlockSource, MemoryBlock, Program, RefType, SpaceId, SymbolId};

use crate::block::Mode;
use crate::interpreter::Machine;
use crate::models;
use crate::outcome::{AnsweredBy, Stop};
use crate::request::{Hook, HookAction};

/// What happens at a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// The function called returned here.
    End,
    /// The run is to stop.
    Stop,
    /// A function of another file.
    Import,
    /// A stub for a function that the program itself has: control goes on there.
    Own(u64),
    /// A hook of the request.
    Hook(HookAction),
}

#[derive(Debug, Clone)]
struct Gate {
    kind: Kind,
    name: String,
    /// Bytes that the function takes off the stack beside its return address.
    purge: i64,
    convention: Option<String>,
}

/// All gates of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gates {
    all: Vec<Gate>,
    places: HashMap<u64, u32>,
}

impl Gates {
    #[inline]
    pub(crate) fn find(&self, address: u64) -> Option<u32> {
        self.places.get(&address).copied()
    }

    fn put(&mut self, address: u64, gate: Gate) {
        self.places.insert(address, self.all.len() as u32);
        self.all.push(gate);
    }

    pub(crate) fn end(&mut self, address: u64) {
        self.put(address, Gate::plain(Kind::End, String::new()));
    }

    pub(crate) fn stop(&mut self, address: u64) {
        self.put(address, Gate::plain(Kind::Stop, String::new()));
    }

    /// Sets a hook; refused when it names no import.
    pub(crate) fn hook(&mut self, hook: &Hook) -> Result<(), String> {
        if let HookAction::Model(name) = &hook.action
            && models::find(name).is_none()
        {
            return Err(format!("there is no model of {name}"));
        }
        let kind = Kind::Hook(hook.action.clone());
        if let Some(address) = hook.address {
            let known = self.find(address).and_then(|number| self.all.get(number as usize));
            let gate = known.cloned().unwrap_or_else(|| Gate::plain(Kind::Stop, String::new()));
            self.put(address, Gate { kind: kind.clone(), ..gate });
        }
        if let Some(name) = &hook.import {
            let named = self.all.iter_mut().filter(|gate| gate.name == *name);
            if named.map(|gate| gate.kind = kind.clone()).count() == 0 {
                return Err(format!("no import is called {name}"));
            }
        }
        Ok(())
    }

    /// The name of what stands at an address.
    pub(crate) fn name(&self, address: u64) -> Option<&str> {
        let gate = self.all.get(self.find(address)? as usize)?;
        (!gate.name.is_empty()).then_some(gate.name.as_str())
    }
}

impl Gate {
    fn plain(kind: Kind, name: String) -> Gate {
        Gate { kind, name, purge: 0, convention: None }
    }
}

/// The imports of a program: gates for them, and what their slots hold instead of what the file
/// has there. Slots that lead nowhere are led to made-up places from `free` on.
/// Cost: the functions and the references to those of other files.
pub(crate) fn imports(program: &Program, word: u32, free: u64) -> (Gates, Vec<(u64, Vec<u8>)>) {
    let mut gates = Gates::default();
    let mut slots = Vec::new();
    let mut next = free;
    made_up_places(program, &mut gates);
    for (entry, function) in program.functions.table().iter() {
        let Some(end) = program.thunked(*entry).filter(|end| end.is_external()) else { continue };
        let gate = Gate {
            kind: Kind::Import,
            name: program.function_name(end.entry),
            purge: i64::from(end.stack_purge.unwrap_or(0)),
            convention: end.signature.convention.as_ref().map(ToString::to_string),
        };
        if entry.space == SpaceId::RAM {
            let own = own_function(program, &gate.name, *entry).map(Kind::Own);
            gates.put(entry.offset, Gate { kind: own.unwrap_or(Kind::Import), ..gate });
            continue;
        }
        if !function.is_external() {
            continue;
        }
        let slot = |from: &Address| {
            let held = program.memory.read_uint(*from, word);
            from.space == SpaceId::RAM
                && program.listing.instructions.get(from).is_none()
                && !held.is_some_and(|held| leads_outside(program, held))
        };
        let bound = program.references.to(*entry).filter(|r| r.info.kind == RefType::Data);
        let bound: Vec<Address> = bound.map(|r| r.from).filter(slot).collect();
        if bound.is_empty() {
            continue;
        }
        gates.put(next, gate);
        let bytes = if program.memory.big_endian() {
            next.to_be_bytes()[8 - word as usize..].to_vec()
        } else {
            next.to_le_bytes()[..word as usize].to_vec()
        };
        slots.extend(bound.into_iter().map(|place| (place.offset, bytes.clone())));
        next += SPACING;
    }
    (gates, slots)
}

/// Makes gates of the named places in memory that the loader made up for other files' symbols.
fn made_up_places(program: &Program, gates: &mut Gates) {
    let made_up = |block: &&MemoryBlock| {
        block.permissions.artificial
            && block.start.space == SpaceId::RAM
            && matches!(block.source(), BlockSource::Uninitialized)
    };
    for block in program.memory.blocks().iter().filter(made_up) {
        for (id, symbol) in program.symbols.in_order((block.start, SymbolId(0)), block.end()) {
            let name = program.symbol_name(id);
            let own = own_function(program, &name, symbol.address).map(Kind::Own);
            let gate = Gate::plain(own.unwrap_or(Kind::Import), name);
            gates.put(symbol.address.offset, gate);
        }
    }
}

/// The function of the program that bears the name of one that a stub is for.
fn own_function(program: &Program, name: &str, stub: Address) -> Option<u64> {
    let is_own = |at: &Address| {
        let block = program.memory.block_at(*at);
        let is_code = block.is_some_and(|b| b.permissions.execute && b.is_initialized());
        let passes_on = program.functions.at(*at).is_some_and(|f| f.thunk_of.is_some());
        *at != stub && at.space == SpaceId::RAM && is_code && !passes_on
    };
    let named = program.symbols.named(name).map(|(_, symbol)| symbol.address);
    named.filter(is_own).map(|at| at.offset).next()
}

/// Bytes between two made-up places.
pub(crate) const SPACING: u64 = 16;

/// Whether a function at a place stands for one of another file.
fn leads_outside(program: &Program, place: u64) -> bool {
    program.thunked(Address::ram(place)).is_some_and(|function| function.is_external())
}

impl Machine<'_> {
    /// What happens at a gate: where the run goes on, or why it ends.
    pub(crate) fn pass(
        &mut self,
        number: u32,
        address: u64,
        from: u64,
        mode: Mode,
    ) -> Result<(u64, Mode), Stop> {
        let gate = self.gates.all.get(number as usize).cloned();
        let gate = gate.ok_or_else(|| Stop::Unsupported("a gate that is not there".into()))?;
        let (result, by) = match &gate.kind {
            Kind::End => return Err(Stop::Returned),
            Kind::Own(place) => return Ok((*place, self.mode_of(*place, mode))),
            Kind::Stop => return Err(Stop::StopAddress(address)),
            Kind::Hook(HookAction::Return(value)) => {
                self.set_result(*value);
                (Some(*value), AnsweredBy::Hook)
            }
            Kind::Hook(HookAction::Model(name)) => (self.model(name)?, AnsweredBy::Model),
            Kind::Import if models::find(&gate.name).is_some() => {
                (self.model(&gate.name)?, AnsweredBy::Model)
            }
            Kind::Import | Kind::Hook(HookAction::Stop) => (None, AnsweredBy::Nobody),
        };
        let known = models::find(&gate.name).map_or(4, |model| model.arguments);
        // What cannot be read was not passed.
        let arguments = (0..known).map_while(|at| self.argument(at).ok()).collect();
        let stops = by == AnsweredBy::Nobody;
        self.calls.answered(from, address, arguments, result, by);
        if stops {
            let name = if gate.name.is_empty() { format!("{address:#x}") } else { gate.name };
            return Err(Stop::Import { name, address });
        }
        self.instructions += 1;
        let takes_off = gate.convention.as_deref() == Some("__stdcall");
        let word = i64::from(self.places.word);
        let purge = match gate.purge {
            0 if takes_off => known as i64 * word,
            purge => purge.clamp(0, 1024),
        };
        self.calls.leave();
        self.come_back(purge, mode)
    }
}
