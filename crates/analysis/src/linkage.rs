//! Procedure linkage tables: sections full of stubs that jump to imported
//! functions.

use crate::code::CodeReader;
use crate::thunks;
use decompiler::Language;
use program::{Address, FlowType, MemoryBlock, Program};

/// Sections that hold stubs and nothing else.
const SECTIONS: [&str; 4] = [".plt", ".plt.got", ".plt.sec", ".iplt"];
/// Stubs are at most this many bytes.
const LONGEST: u64 = 64;

/// Whether a block is a section full of stubs.
pub(crate) fn holds_stubs(block: &MemoryBlock) -> bool {
    SECTIONS.contains(&&*block.name)
}

/// What the tables hold, as offsets in the default space.
#[derive(Debug, Default)]
pub(crate) struct Stubs {
    /// Starts of the stubs, and of a table's common head.
    pub(crate) functions: Vec<u64>,
    /// Starts of code that only stubs jump back to.
    pub(crate) code: Vec<u64>,
}

/// Sweeps the linkage tables. Cost: linear in their bytes.
pub(crate) fn stub_starts(program: &Program, language: &Language) -> Stubs {
    let mut reader = CodeReader::new(language);
    let mut stubs = Stubs::default();
    let habit = Habit::of(language);
    let tables =
        program.memory.blocks().iter().filter(|b| {
            b.permissions.execute && b.is_initialized() && SECTIONS.contains(&&*b.name)
        });
    for table in tables {
        sweep(program, &mut reader, table, habit, &mut stubs);
    }
    stubs
}

/// Which stubs are functions even if nothing calls them.
#[derive(Debug, Clone, Copy)]
struct Habit {
    /// The head of a table: other stubs jump to it (x86), or it begins as functions do (AArch64).
    head: bool,
    /// The entries: they look like nothing else on most processors.
    entries: bool,
    /// Whether what fills the space between stubs is code, though nothing leads there.
    fillers: bool,
}

impl Habit {
    fn of(language: &Language) -> Habit {
        match language.processor() {
            "x86" => Habit { head: true, entries: true, fillers: false },
            "AARCH64" => Habit { head: true, entries: true, fillers: true },
            "ARM" => Habit { head: false, entries: false, fillers: false },
            _ => Habit { head: false, entries: true, fillers: false },
        }
    }
}

fn sweep(
    program: &Program,
    reader: &mut CodeReader,
    table: &MemoryBlock,
    habit: Habit,
    stubs: &mut Stubs,
) {
    let end = table.end();
    let (mut at, mut start) = (table.start, Some(table.start));
    while at <= end {
        if let Some((first, unit)) = program.listing.data_containing(at) {
            // A word that the head of a table reads, marked as data.
            let Some(next) = first.checked_add(u64::from(unit.length).max(4)) else { return };
            (at, start) = (next.max(at), Some(next));
            continue;
        }
        let context = reader.context(program.mode_at(at));
        let Ok(decoded) = reader.decode(program, at, context) else {
            // Padding between stubs; they are aligned to four bytes at least.
            let Some(next) = at.checked_add(4 - at.offset % 4) else { return };
            (at, start) = (next, Some(next));
            continue;
        };
        let first = start.get_or_insert(at);
        let ends = matches!(decoded.flow, FlowType::UnconditionalJump | FlowType::ComputedJump);
        let Some(next) = at.checked_add(u64::from(decoded.length)) else { return };
        if ends {
            let first = *first;
            let near = at.distance_from(first).is_some_and(|n| n < LONGEST);
            let head = habit.head && first == table.start && &*table.name == ".plt";
            let leads_out = near
                && habit.entries
                && thunks::target(program, reader, first).is_some_and(|to| {
                    program.functions.at(to).is_some() && decoded.flow == FlowType::ComputedJump
                });
            if head || leads_out {
                stubs.functions.push(first.offset);
            } else {
                stubs.code.push(first.offset);
            }
            start = None;
        } else if is_filler(program, at, decoded.length) && start == Some(at) {
            if habit.fillers {
                stubs.code.push(at.offset);
            }
            start = None;
        }
        at = next;
    }
}

/// Whether an instruction only fills the space up to the next stub.
fn is_filler(program: &Program, at: Address, length: u8) -> bool {
    let run = program.memory.run(at);
    let bytes = run.get(..usize::from(length)).unwrap_or(&[]);
    // NOP forms of x86 and AArch64.
    matches!(bytes, [0x90] | [0x66, 0x90] | [0x0f, 0x1f, ..] | [0x66, 0x0f, 0x1f, ..])
        || matches!(bytes, [0x66, 0x2e, 0x0f, 0x1f, ..] | [0x1f, 0x20, 0x03, 0xd5])
}
