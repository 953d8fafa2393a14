//! Where the regions of a run lie: in the largest part of the address space that the program does
//! not use.

use program::{Program, SpaceId};

use crate::memory::{PAGE, Purpose, Region};

/// Addresses above are not used: processors with 64-bit addresses do not have them all.
const HIGHEST: u64 = 0x7fff_ffff_ffff;
/// Room below the stack that belongs to nobody, so that its end is noticed.
const GUARD: u64 = 1 << 20;
/// Bytes of what the system keeps for a thread.
const THREAD: u64 = 4 * PAGE;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) regions: Vec<Region>,
    /// Where the function called returns to: nothing is there.
    pub(crate) end: u64,
    /// Made-up places of imports begin here: nothing is there either.
    pub(crate) imports: u64,
}

/// Sizes in bytes of the regions of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) stack: u64,
    pub(crate) heap: u64,
    pub(crate) given: u64,
    pub(crate) imports: u64,
}

/// Places the regions; nothing where there is no room. `taken` is what the run uses besides.
pub(crate) fn place(
    program: &Program,
    highest: u64,
    sizes: Sizes,
    taken: &[(u64, u64)],
) -> Option<Layout> {
    let (first, last) = largest_gap(program, highest.min(HIGHEST), taken)?;
    let pages = |bytes: u64| bytes.max(1).div_ceil(PAGE).saturating_mul(PAGE);
    let fixed = pages(sizes.given) + pages(sizes.imports) + THREAD + 2 * PAGE;
    let room = (last - first + 1).checked_sub(fixed)?;
    // In a small address space the stack and the heap share what there is.
    let share = |wanted: u64| pages(wanted).min(room / 4 / PAGE * PAGE);
    let (stack, heap) = (share(sizes.stack), share(sizes.heap));
    if stack == 0 {
        return None;
    }
    let mut next = first + GUARD.min(room / 4 / PAGE * PAGE);
    let mut regions = Vec::new();
    let mut add = |purpose, length: u64| {
        regions.push(Region { start: next, length, purpose });
        next += length;
        regions.last().map_or(0, |region| region.start)
    };
    add(Purpose::Stack, stack);
    add(Purpose::Thread, THREAD);
    add(Purpose::Given, pages(sizes.given));
    add(Purpose::Heap, heap);
    let end = next + PAGE;
    Some(Layout { regions, end, imports: end + 64 })
}

/// The largest run of whole pages that nothing uses, the first page of all left out.
fn largest_gap(program: &Program, highest: u64, taken: &[(u64, u64)]) -> Option<(u64, u64)> {
    let blocks = program.memory.blocks().iter().filter(|b| b.start.space == SpaceId::RAM);
    let mut used: Vec<(u64, u64)> =
        blocks.map(|block| (block.start.offset, block.end().offset)).collect();
    used.extend(
        taken
            .iter()
            .filter(|(_, length)| *length > 0)
            .map(|(start, length)| (*start, start.saturating_add(length - 1))),
    );
    used.sort_unstable();
    let mut best: Option<(u64, u64)> = None;
    let mut consider = |first: u64, end: u64| {
        let (first, end) = (first.next_multiple_of(PAGE), end / PAGE * PAGE);
        if first < end && best.is_none_or(|(from, to)| end - 1 - first > to - from) {
            best = Some((first, end - 1));
        }
    };
    let mut next = PAGE;
    for (start, end) in used {
        if start > highest {
            break;
        }
        consider(next, start);
        next = next.max(end.saturating_add(1).min(highest));
    }
    consider(next, highest);
    best
}
