//! What a run left behind: registers and memory that differ from what was there before.

use crate::cells::Cell;
use crate::interpreter::Machine;
use crate::memory::{PAGE, Purpose};
use crate::outcome::{MemoryChange, RegisterValue};

/// Equal bytes between two changes that are still told as one.
const JOINED: u64 = 8;

impl Machine<'_> {
    /// Changed memory, the stack and what the system keeps apart; and whether there is more than
    /// so many bytes of it. `given` is where each argument's bytes begin and what they were.
    pub(crate) fn changed_memory(
        &self,
        given: &[Option<(u64, &[u8])>],
        most: usize,
    ) -> (Vec<MemoryChange>, bool) {
        let mut pages: Vec<_> = self.memory.pages().iter().filter(|p| p.is_touched()).collect();
        pages.sort_unstable_by_key(|page| page.number);
        let mut changes: Vec<MemoryChange> = Vec::new();
        let mut left = most;
        for page in pages {
            if matches!(page.purpose, Some(Purpose::Stack | Purpose::Thread)) {
                continue;
            }
            let Some(mut before) = self.memory.copy_page(page.number) else { continue };
            for (start, bytes) in given.iter().flatten() {
                overlay(&mut before.bytes, page.number * PAGE, *start, bytes);
            }
            for (start, bytes) in &self.placed {
                overlay(&mut before.bytes, page.number * PAGE, *start, bytes);
            }
            for offset in 0..PAGE {
                let at = offset as usize;
                if !page.was_written(offset) || page.bytes[at] == before.bytes[at] {
                    continue;
                }
                let place = page.number * PAGE + offset;
                let argument = argument_of(given, place);
                let gap = changes.last().and_then(|last| {
                    let end = last.address + last.bytes.len() as u64;
                    place
                        .checked_sub(end)
                        .filter(|gap| *gap <= JOINED && *gap <= offset && last.argument == argument)
                });
                let cost = gap.unwrap_or(0) as usize + 1;
                if cost > left {
                    return (changes, true);
                }
                left -= cost;
                match (gap, changes.last_mut()) {
                    (Some(gap), Some(last)) => {
                        last.bytes.extend(&page.bytes[at - gap as usize..=at]);
                    }
                    _ => changes.push(MemoryChange {
                        address: place,
                        bytes: vec![page.bytes[at]],
                        argument,
                    }),
                }
            }
        }
        (changes, false)
    }

    /// Registers that differ from how they were, and those asked for. Of registers in one another
    /// the widest that is no wider than 16 bytes.
    pub(crate) fn changed_registers(&self, before: &[u8], watch: &[String]) -> Vec<RegisterValue> {
        let mut all: Vec<(&str, Cell)> = self
            .language
            .registers()
            .filter_map(|(name, place)| {
                let cell = Cell { offset: u32::try_from(place.offset).ok()?, size: place.size };
                (!self.cells.bytes(cell).is_empty()).then_some((name, cell))
            })
            .collect();
        all.sort_unstable_by_key(|(name, cell)| (cell.offset, std::cmp::Reverse(cell.size), *name));
        let asked: Vec<&(&str, Cell)> = all
            .iter()
            .filter(|(name, _)| watch.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)))
            .collect();
        let mut told: Vec<RegisterValue> =
            asked.iter().map(|(name, cell)| self.register_value(name, *cell)).collect();
        let mut end = 0;
        for (name, cell) in &all {
            let range = cell.offset as usize..(cell.offset + cell.size) as usize;
            let is_inner = cell.offset < end;
            if cell.size > 16 || is_inner || before.get(range) == Some(self.cells.bytes(*cell)) {
                continue;
            }
            end = cell.offset + cell.size;
            if !told.iter().any(|value| value.name == *name) {
                told.push(self.register_value(name, *cell));
            }
        }
        told
    }

    fn register_value(&self, name: &str, cell: Cell) -> RegisterValue {
        let mut bytes = self.cells.bytes(cell).to_vec();
        if !self.cells.is_big_endian() {
            bytes.reverse();
        }
        RegisterValue { name: name.to_string(), bytes }
    }
}

fn overlay(page: &mut [u8], start: u64, at: u64, bytes: &[u8]) {
    for (place, byte) in (at..).zip(bytes) {
        let offset = place.checked_sub(start).and_then(|offset| usize::try_from(offset).ok());
        if let Some(there) = offset.and_then(|offset| page.get_mut(offset)) {
            *there = *byte;
        }
    }
}

fn argument_of(given: &[Option<(u64, &[u8])>], place: u64) -> Option<usize> {
    given.iter().position(|argument| {
        argument.is_some_and(|(start, bytes)| {
            place.checked_sub(start).is_some_and(|at| at < (bytes.len() as u64).max(1))
        })
    })
}
