//! Tables of pointers: runs of numbers that are all addresses of the program.
//!
//! Memory is searched once, every four bytes; runs end at whatever stands or is
//! referred to inside of them, so that no entry is read more than a few times.

use crate::pass::{Analysis, Stopped};
use crate::referenced::{Examiner, define_pointer};
use crate::strings::{clear, is_undefined, is_undefined_type};
use program::{Address, AddressRange, CodeUnit, Program, RefType};

/// Tables begin at multiples of this.
const ALIGNMENT: u64 = 4;
/// Fewest entries of a table.
const SHORTEST: usize = 2;
/// Most entries of a table.
const LONGEST: usize = 1 << 16;
/// Smaller numbers are no pointers.
const LOWEST: u64 = 1024;
/// Neighbours in a table point no farther apart.
const SPREAD: u64 = 0xff_ffff;
/// Steps between two reports of progress.
const STEP: u64 = 1 << 20;

/// Runs the pass.
pub(crate) fn run(analysis: &mut Analysis<'_>) -> Result<(), Stopped> {
    let minimum = shortest_table(analysis.program);
    let Some(minimum) = minimum else { return Ok(()) };
    let blocks: Vec<_> = crate::strings::searched_blocks(&analysis.program.memory).collect();
    let total = blocks.iter().map(|b| b.len()).sum::<u64>().max(1);
    let mut examiner = Examiner::default();
    let mut done = 0u64;
    for block in blocks {
        analysis.step(done as f32 / total as f32)?;
        let mut at = first_multiple(block.start);
        let mut next_report = STEP;
        while let Some(start) = at.filter(|start| *start <= block.end) {
            let passed = start.offset - block.start.offset;
            if passed >= next_report {
                next_report = passed + STEP;
                analysis.step((done + passed) as f32 / total as f32)?;
            }
            at = start.checked_add(search(analysis.program, start, minimum, &mut examiner));
        }
        done += block.len();
    }
    Ok(())
}

fn first_multiple(at: Address) -> Option<Address> {
    at.checked_add(at.offset.wrapping_neg() % ALIGNMENT)
}

/// Makes the table that begins there; returns how far to go on.
fn search(program: &mut Program, at: Address, minimum: usize, examiner: &mut Examiner) -> u64 {
    let inside = program.listing.unit_containing(at);
    if let Some((start, CodeUnit::Instruction(unit))) = inside {
        // Code holds no tables; what follows it may.
        let rest = start.offset.wrapping_add(u64::from(unit.length)).wrapping_sub(at.offset);
        return rest.next_multiple_of(ALIGNMENT).max(ALIGNMENT);
    }
    // A run is not read any farther than it is good: its next part may be looked at as well.
    let entries = entries_at(program, at, |before, target| is_next(program, before, target));
    if entries.len() < minimum {
        return ALIGNMENT;
    }
    let size = u64::from(program.types.organization().pointer);
    let undefined = program.types.builtin("undefined");
    let pointer = program.types.pointer_to(undefined);
    for (index, target) in entries.iter().enumerate() {
        let place = at.wrapping_add(index as u64 * size);
        let range = AddressRange::with_length(place, size);
        if let Some(range) = range.filter(|range| is_undefined(program, range)) {
            clear(program, &range);
        }
        if define_pointer(program, place, pointer, *target) {
            examiner.made(place);
        }
    }
    examiner.follow(program);
    (entries.len() as u64 * size).max(ALIGNMENT)
}

/// Whether an entry is near the one before it and leads to the start of whatever stands there.
fn is_next(program: &Program, before: Option<Address>, target: Address) -> bool {
    let apart = before.is_some_and(|before| target.offset.abs_diff(before.offset) > SPREAD);
    let offcut = || match program.listing.unit_containing(target) {
        Some((start, CodeUnit::Instruction(_))) => start != target && !is_mode_bit(program, target),
        Some((start, _)) => start != target,
        None => false,
    };
    !apart && !offcut()
}

/// Whether a run of at least `minimum` pointers is at a place.
pub(crate) fn is_table(program: &Program, at: Address, minimum: usize) -> bool {
    let mut seen = 0;
    let run = entries_at(program, at, |_, _| {
        seen += 1;
        seen <= minimum
    });
    run.len() >= minimum
}

/// The run of pointers at a place, as far as each is `good` behind the one before it.
fn entries_at(
    program: &Program,
    at: Address,
    good: impl FnMut(Option<Address>, Address) -> bool,
) -> Vec<Address> {
    let mut entries = Vec::new();
    let _ = read_entries(program, at, good, &mut entries);
    entries
}

/// Reads a run; `None` where the memory ends.
fn read_entries(
    program: &Program,
    at: Address,
    mut good: impl FnMut(Option<Address>, Address) -> bool,
    entries: &mut Vec<Address>,
) -> Option<()> {
    let size = u64::from(program.types.organization().pointer);
    let block = program.memory.block_at(at)?;
    let second = at.checked_add(1)?;
    // A reference into the run ends it, and so does code.
    let referred = program.references.destinations(second, block.end()).next();
    let code = program.listing.instructions.at_or_above(&at).map(|(start, _)| *start);
    let mut place = at;
    while entries.len() < LONGEST {
        let end = place.checked_add(size)?;
        let cut = |limit: Option<Address>| limit.is_some_and(|limit| limit < end);
        if cut(referred) || cut(code) || !is_free(program, place, size) {
            break;
        }
        let target = entry(program, place, size as u32);
        match target.filter(|target| good(entries.last().copied(), *target)) {
            Some(target) => entries.push(target),
            None => break,
        }
        place = end;
    }
    Some(())
}

/// Whether nothing stands there but reserved bytes or a pointer that begins
/// right there. The size of an access speaks against a pointer; a single byte on ARM is none, but what
/// the file marks as the beginning of data.
fn is_free(program: &Program, place: Address, size: u64) -> bool {
    let last = place.wrapping_add(size - 1);
    let reaching = program.listing.data_containing(place);
    let inside = program.listing.data.range(place..=last).map(|(start, unit)| (*start, *unit));
    reaching.into_iter().chain(inside).all(|(start, unit)| {
        let marked = start == place && unit.length == 1 && &*program.info.processor == "ARM";
        let reserved = is_undefined_type(program, unit.data_type)
            && (marked || !program.types.is_undefined(unit.data_type));
        reserved || (start == place && is_pointer(program, unit.data_type))
    })
}

fn is_pointer(program: &Program, data_type: program::TypeId) -> bool {
    use program::data_type::{Builtin, TypeKind};
    program.types.get(program.types.resolve(data_type)).is_some_and(|known| {
        matches!(known.kind, TypeKind::Pointer(_) | TypeKind::Builtin(Builtin::Pointer))
    })
}

fn entry(program: &Program, place: Address, size: u32) -> Option<Address> {
    let offset = program.memory.read_uint(place, size)?;
    let target = Address::new(place.space, offset);
    let possible = offset >= LOWEST
        && program.memory.contains(target)
        && may_hold_pointer(program, place)
        && !collides(program, target);
    possible.then_some(target)
}

/// Whether code at the destination speaks against a pointer to it.
fn collides(program: &Program, target: Address) -> bool {
    let Some((start, _)) = program.listing.instruction_containing(target) else { return false };
    if start != target && !is_mode_bit(program, target) {
        return true;
    }
    if is_fallen_into(program, start) {
        return true;
    }
    let inside = program.functions.containing(start).is_some_and(|f| f.entry != start);
    // A shared end of functions may be pointed to, if that is all that is done.
    inside
        && !program.references.to(target).any(|reference| match reference.info.kind {
            RefType::Flow(flow) => flow.is_jump() && !flow.is_computed(),
            _ => true,
        })
}

/// Whether the address only differs from an instruction's by the bit that
/// chooses a decoding mode.
fn is_mode_bit(program: &Program, target: Address) -> bool {
    let switches = matches!(&*program.info.processor, "ARM" | "MIPS");
    switches
        && target.offset & 1 == 1
        && program.listing.instructions.contains_key(&Address::new(target.space, target.offset - 1))
}

/// Whether the instruction before runs on into the one at `at`.
pub(crate) fn is_fallen_into(program: &Program, at: Address) -> bool {
    let Some(last) = at.checked_sub(1) else { return false };
    program
        .listing
        .instruction_containing(last)
        .is_some_and(|(_, unit)| unit.effective_flow().has_fall_through())
}

/// Whether a pointer may be stored there: in a program that can be moved, only
/// places that are relocated hold any.
pub(crate) fn may_hold_pointer(program: &Program, at: Address) -> bool {
    if !program.info.relocatable || program.relocations.is_empty() {
        return true;
    }
    program.relocations.binary_search_by(|r| r.address.cmp(&at)).is_ok()
}

/// How many entries make a table that is no accident: the more memory a space
/// of that width holds, the more of them. `None` when any number is likely.
fn shortest_table(program: &Program) -> Option<usize> {
    let bits = 8 * program.types.organization().pointer;
    let blocks = program.memory.blocks().iter().filter(|b| !b.is_overlay());
    let bytes: f64 = blocks.map(|b| b.length as f64).sum();
    let density = bytes / f64::from(bits).exp2();
    if density >= 1.0 {
        return None;
    }
    let accident: f64 = (1u64 << 30) as f64;
    let needed = (-accident.ln() / density.max(f64::MIN_POSITIVE).ln()).ceil();
    Some((needed as usize).max(SHORTEST))
}
