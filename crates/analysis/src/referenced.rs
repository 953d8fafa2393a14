//! What stands at places that are referred to: texts, wide texts and pointers.
//!
//! Every destination is looked at once; new pointers lead to new ones.

use crate::address_tables;
use crate::pass::{Analysis, Stopped};
use crate::strings::{is_character, is_undefined, is_undefined_type};
use program::{Address, AddressRange, CodeUnit, Program, RefType, Reference, SourceType};
use std::collections::{HashSet, VecDeque};

/// Longest text looked for, in characters.
const LONGEST: usize = 1000;
/// Fewest characters of a text, and of one of two-byte characters.
const SHORTEST: usize = 5;
const SHORTEST_WIDE: usize = 4;
/// Smaller numbers are no pointers.
const LOWEST_POINTER: u64 = 0x1000;
/// Fewest entries of a run that is left to the search for tables.
const TABLE: usize = 3;
/// References between two reports of progress.
const STEP: usize = 1 << 14;

/// Runs the pass: first what code refers to, then what data refers to.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let references = analysis.program.references.clone();
    let total = 2.0 * references.len().max(1) as f32;
    let mut examiner = Examiner::default();
    for (round, from_code) in [true, false].into_iter().enumerate() {
        for (done, reference) in references.iter().enumerate() {
            if done % STEP == 0 {
                let over = round * references.len() + done;
                analysis.step(over as f32 / total)?;
            }
            let instruction = analysis.program.listing.instruction_containing(reference.from);
            if instruction.is_some() == from_code {
                examiner.examine(analysis.program, &reference, from_code);
            }
        }
        examiner.follow(analysis.program);
    }
    Ok(())
}

/// Looks at destinations, each once.
#[derive(Default)]
pub(crate) struct Examiner {
    seen: HashSet<Address>,
    /// Pointers made, whose destinations are still to be looked at.
    pointers: VecDeque<Address>,
}

/// Whether a number at a place that is referred to is taken for a pointer. Not on ARM, where the
/// lowest bit of a pointer may tell a mode: Ghidra leaves these numbers to the search for tables.
fn takes_numbers_for_pointers(program: &Program) -> bool {
    &*program.info.processor != "ARM"
}

impl Examiner {
    /// Looks at what new pointers refer to.
    pub(crate) fn follow(&mut self, program: &mut Program) {
        while let Some(pointer) = self.pointers.pop_front() {
            let target = program.references.from(pointer).next();
            if let Some(reference) = target {
                self.examine(program, &reference, false);
            }
        }
    }

    /// Notes that a pointer was made.
    pub(crate) fn made(&mut self, pointer: Address) {
        self.pointers.push_back(pointer);
    }

    fn examine(&mut self, program: &mut Program, reference: &Reference, from_code: bool) {
        let to = reference.to;
        if from_code && reference.info.kind.is_flow() {
            return;
        }
        if !self.seen.insert(to) || !program.memory.contains(to) {
            return;
        }
        match program.listing.unit_containing(to) {
            Some((_, CodeUnit::Data(unit))) if is_undefined_type(program, unit.data_type) => {}
            Some(_) => return,
            None => {}
        }
        if from_code && address_tables::is_table(program, to, TABLE) {
            return;
        }
        let is_text = make_text(program, to) || make_wide_text(program, to);
        if !is_text && takes_numbers_for_pointers(program) {
            self.make_pointer(program, to);
        }
    }

    fn make_pointer(&mut self, program: &mut Program, at: Address) {
        let size = program.types.organization().pointer;
        let Some(target) = program.memory.read_uint(at, size).map(Address::ram) else { return };
        let possible = address_tables::may_hold_pointer(program, at)
            && target.offset >= LOWEST_POINTER
            && program.memory.contains(target)
            && !is_referred_into(program, at, u64::from(size))
            && is_entry(program, target);
        if possible && clear(program, at, u64::from(size)) {
            let pointer = program.types.builtin("pointer");
            define_pointer(program, at, pointer, target);
            self.made(at);
        }
    }
}

/// Defines a pointer and its reference.
pub(crate) fn define_pointer(
    program: &mut Program,
    at: Address,
    data_type: program::TypeId,
    target: Address,
) -> bool {
    let size = program.types.organization().pointer;
    if !program.define_data(at, data_type, size) {
        return false;
    }
    program.add_reference(at, target, RefType::Data, 0, SourceType::Default);
    true
}

/// Whether a pointer may lead there: not into the middle of anything, and to
/// code only where no other code runs into it.
fn is_entry(program: &Program, target: Address) -> bool {
    match program.listing.unit_containing(target) {
        None => true,
        Some((start, _)) if start != target => false,
        Some((_, CodeUnit::Instruction(unit))) => {
            if unit.in_delay_slot {
                return false;
            }
            let is_function = program.functions.at(target).is_some();
            is_function
                || (!address_tables::is_fallen_into(program, target)
                    && program.functions.containing(target).is_none())
        }
        Some(_) => true,
    }
}

/// Whether anything refers to a place after the first of `length` bytes.
fn is_referred_into(program: &Program, at: Address, length: u64) -> bool {
    let Some(range) = AddressRange::with_length(at, length) else { return false };
    let Some(second) = at.checked_add(1).filter(|second| *second <= range.end) else {
        return false;
    };
    program.references.destinations(second, range.end).next().is_some()
}

/// Makes room of undefined data; false when something defined is there.
fn clear(program: &mut Program, at: Address, length: u64) -> bool {
    let Some(range) = AddressRange::with_length(at, length) else { return false };
    if !is_undefined(program, &range) {
        return false;
    }
    crate::strings::clear(program, &range);
    true
}

/// Makes the text that begins there. True also when there is one that other
/// references cut: nothing else is looked for then.
fn make_text(program: &mut Program, at: Address) -> bool {
    let mut bytes = [0u8; LONGEST];
    let read = program.memory.read(at, &mut bytes).unwrap_or(0);
    let Some(end) = bytes[..read].iter().position(|b| !is_character(*b)) else { return false };
    if bytes[end] != 0 || end < SHORTEST {
        return false;
    }
    let length = end as u64 + 1;
    if !is_referred_into(program, at, length) && clear(program, at, length) {
        let text = program.types.builtin("string");
        program.define_data(at, text, length as u32);
    }
    true
}

/// Makes the text of two- or four-byte characters that begins there.
fn make_wide_text(program: &mut Program, at: Address) -> bool {
    let found = [(2, SHORTEST_WIDE, "unicode"), (4, SHORTEST, "unicode32")].into_iter().find_map(
        |(size, shortest, name)| {
            let count = wide_length(program, at, size)?;
            // A text that began earlier would be the better one.
            let before = at.checked_sub(u64::from(4 * size));
            let earlier = before.and_then(|at| wide_length(program, at, size)).unwrap_or(0);
            (count >= shortest && earlier <= count + 2).then_some((size, count, name))
        },
    );
    let Some((size, count, name)) = found else { return false };
    let length = (count as u64 + 1) * u64::from(size);
    if is_referred_into(program, at, length) {
        return false;
    }
    if clear(program, at, length) {
        let text = program.types.builtin(name);
        program.define_data(at, text, length as u32);
    }
    true
}

/// Characters before the zero of a text of such characters.
fn wide_length(program: &Program, at: Address, size: u32) -> Option<usize> {
    for count in 0..LONGEST {
        let place = at.checked_add(count as u64 * u64::from(size))?;
        match u8::try_from(program.memory.read_uint(place, size)?) {
            Ok(0) => return Some(count),
            Ok(byte) if is_character(byte) => {}
            _ => return None,
        }
    }
    None
}
