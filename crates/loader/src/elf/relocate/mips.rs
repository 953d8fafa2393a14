//! Relocations of MIPS. One place may have several, each of which takes the value of the one
//! before it for its addend; 64-bit files pack three types into an entry. Objects without addend
//! fields store the upper half of an address apart from the lower one: the upper waits for its
//! partner.

mod code;
mod formula;
mod table;

use super::{Outcome, Site};
use crate::elf::Loader;
use crate::fields::field;
use code::Encoding;
use formula::{Answer, Form};
use object::elf as e;
use program::Address;
use std::collections::BTreeMap;
pub(in crate::elf) use table::SectionTable;

/// What is known between relocations of one table.
#[derive(Debug, Default)]
pub(in crate::elf) struct State {
    /// What the relocations at a place came to so far; nothing when one of them failed.
    chain: Option<Option<u64>>,
    /// Upper halves whose lower half has not come yet, by their symbols and the kind of code.
    waiting: BTreeMap<(u32, Encoding), Vec<Upper>>,
    pub(in crate::elf) table: SectionTable,
}

/// An upper half whose lower half has not come yet.
#[derive(Debug, Clone, Copy)]
struct Upper {
    place: Address,
    encoding: Encoding,
    /// The type in the words of plain code.
    kind: u32,
    old: u32,
    /// Which of the relocations done so far it is.
    number: usize,
}

/// One type of a relocation with what it works on.
#[derive(Clone, Copy)]
struct Step<'a> {
    site: &'a Site,
    /// The type in the words of plain code.
    kind: u32,
    encoding: Encoding,
    symbol: u64,
    /// Whether the symbol is the file's own, or none.
    local: bool,
    /// Absent when the place holds it.
    addend: Option<u64>,
    /// Whether the value is the addend of what follows, and not written.
    kept: bool,
}

/// Symbols that stand for the base of the pointers' table.
const DISTANCE_TO_TABLE: &str = "_gp_disp";
const TABLE: &str = "__gnu_local_gp";

/// The types that an entry of a 64-bit file packs into one number.
fn packed(kind: u32) -> [u32; 3] {
    [kind & 0xff, kind >> 8 & 0xff, kind >> 16 & 0xff]
}

/// How a number of an entry of a 64-bit file is told.
pub(in crate::elf) fn types(kind: u32) -> String {
    let types = packed(kind).into_iter().take_while(|kind| *kind != 0);
    types.map(|kind| kind.to_string()).collect::<Vec<_>>().join("/")
}

pub(super) fn apply(loader: &mut Loader, site: &Site) -> Outcome {
    let kinds = match loader.file.header.is_64 {
        true => packed(site.kind),
        false => [site.kind & 0xff, 0, 0],
    };
    let count = kinds.iter().take_while(|kind| **kind != 0).count();
    let mut outcome = Outcome::Applied(0);
    for (number, kind) in kinds.into_iter().take(count).enumerate() {
        let kept = number + 1 < count || site.chained;
        outcome = one(loader, site, kind, number, kept);
    }
    outcome
}

/// Does one type of a relocation: the first of an entry has its symbol, the second may name a
/// special one.
fn one(loader: &mut Loader, site: &Site, kind: u32, number: usize, kept: bool) -> Outcome {
    let before = loader.mips.chain.take();
    let addend = match before {
        Some(None) => {
            loader.mips.chain = kept.then_some(None);
            return Outcome::Unsupported;
        }
        Some(Some(value)) => Some(value),
        None => site.addend.map(|addend| addend as u64),
    };
    let (kind, encoding) = code::plain(kind);
    let first = number == 0;
    let symbol = match (first, &*site.name) {
        (true, TABLE) => loader.mips_base(),
        (true, _) => Some(site.symbol),
        (false, _) => special(loader, site, number),
    };
    let needs_symbol = first && !matches!(kind, e::R_MIPS_REL32 | e::R_MIPS_SUB);
    let step = symbol.filter(|_| !(needs_symbol && site.unresolved)).map(|symbol| Step {
        site,
        kind,
        encoding,
        symbol,
        local: !first || site.local,
        addend,
        kept,
    });
    let outcome = match step {
        Some(step) => run(loader, &step),
        None => Outcome::Unsupported,
    };
    if kept && !matches!(outcome, Outcome::Applied(_)) {
        loader.mips.chain = Some(None);
    }
    outcome
}

/// What the second type of an entry of three refers to.
fn special(loader: &mut Loader, site: &Site, number: usize) -> Option<u64> {
    if number != 1 {
        return Some(0);
    }
    match site.kind >> 24 {
        0 => Some(0),
        1 => loader.mips_base(),
        2 => Some(loader.mips_old_base()),
        3 => Some(site.place.offset),
        _ => None,
    }
}

fn run(loader: &mut Loader, step: &Step) -> Outcome {
    match step.kind {
        e::R_MIPS_JALR => return formula::call(loader, step),
        e::R_MIPS_HI16 if step.addend.is_none() => return wait(loader, step),
        e::R_MIPS_GOT16 if step.local => return wait(loader, step),
        _ => {}
    }
    let Some(old) = code::read(loader, step.site.place, step.encoding) else {
        return Outcome::Unwritable;
    };
    if step.kind == e::R_MIPS_LO16 {
        let low = step.addend.unwrap_or_else(|| formula::half(old));
        join(loader, step, low);
    }
    match formula::answer(loader, step, old) {
        Some(answer) => finish(loader, step, old, answer),
        None => Outcome::Unsupported,
    }
}

fn finish(loader: &mut Loader, step: &Step, old: u32, answer: Answer) -> Outcome {
    if step.kept {
        loader.mips.chain = Some(Some(answer.value));
        return Outcome::Applied(answer.form.size());
    }
    let new = match answer.form {
        Form::Pointer => return loader.patch_pointer(step.site, answer.value),
        Form::Word => return loader.patch(step.site, answer.value, 4),
        Form::Long => return loader.patch(step.site, answer.value, 8),
        Form::Field { shift, at, width } => field(old, answer.value >> shift, at, width),
    };
    match code::write(loader, step.site.place, step.encoding, new) {
        true => Outcome::Applied(4),
        false => Outcome::Unwritable,
    }
}

/// Keeps an upper half until its lower one comes.
fn wait(loader: &mut Loader, step: &Step) -> Outcome {
    let place = step.site.place;
    let Some(old) = code::read(loader, place, step.encoding) else {
        return Outcome::Unwritable;
    };
    let number = loader.relocations.len();
    let upper = Upper { place, encoding: step.encoding, kind: step.kind, old, number };
    if let Some(addend) = step.addend {
        // With its addend told, the pair is not needed.
        return match fill(loader, step, &upper, addend) {
            true => Outcome::Applied(4),
            false => Outcome::Unsupported,
        };
    }
    loader.mips.waiting.entry((step.site.index, step.encoding)).or_default().push(upper);
    Outcome::Applied(4)
}

/// Fills the upper halves that waited for this lower one.
fn join(loader: &mut Loader, step: &Step, low: u64) {
    let waiting = loader.mips.waiting.remove(&(step.site.index, step.encoding));
    for upper in waiting.unwrap_or_default() {
        let addend = (u64::from(upper.old & 0xffff) << 16).wrapping_add(low);
        if !fill(loader, step, &upper, addend)
            && let Some(relocation) = loader.relocations.get_mut(upper.number)
        {
            (relocation.applied, relocation.length) = (false, 0);
        }
    }
}

/// Writes an upper half, or the number of the table's pointer to where it would lead.
fn fill(loader: &mut Loader, step: &Step, upper: &Upper, addend: u64) -> bool {
    let distance = &*step.site.name == DISTANCE_TO_TABLE;
    let symbol = match distance {
        true => loader
            .mips_base()
            .map(|base| base.wrapping_sub(code::here(upper.place, upper.encoding, 4))),
        false => Some(step.symbol),
    };
    let Some(value) = symbol.map(|symbol| symbol.wrapping_add(addend)) else { return false };
    let rounded = value.wrapping_add(0x8000);
    let half = match upper.kind {
        e::R_MIPS_HI16 => Some(rounded >> 16),
        _ => loader.mips_slot(rounded & !0xffff),
    };
    let Some(half) = half else { return false };
    code::write(loader, upper.place, upper.encoding, field(upper.old, half, 0, 16))
}

impl Loader {
    /// Gives up the upper halves that still wait when a table of relocations ends.
    pub(super) fn end_mips_table(&mut self) {
        self.mips.chain = None;
        self.mips.table.end();
        for upper in std::mem::take(&mut self.mips.waiting).into_values().flatten() {
            if let Some(relocation) = self.relocations.get_mut(upper.number) {
                (relocation.applied, relocation.length) = (false, 0);
            }
        }
    }
}
