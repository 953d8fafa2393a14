//! What each type of relocation of MIPS comes to, and where in the code it goes.

use super::code::{self, Encoding};
use super::{DISTANCE_TO_TABLE, Outcome, Step};
use crate::elf::Loader;
use crate::fields::sign_extend;
use object::elf as e;
use program::Address;

/// A value, and what is written of it.
pub(super) struct Answer {
    pub(super) value: u64,
    pub(super) form: Form,
}

/// What is written of a value.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// All of it, a pointer.
    Pointer,
    Word,
    Long,
    /// Bits of an instruction.
    Field {
        shift: u32,
        at: u32,
        width: u32,
    },
}

impl Form {
    pub(super) fn size(self) -> u8 {
        match self {
            Form::Pointer | Form::Long => 8,
            Form::Word | Form::Field { .. } => 4,
        }
    }
}

const LOW: Form = Form::Field { shift: 0, at: 0, width: 16 };
const HIGH: Form = Form::Field { shift: 16, at: 0, width: 16 };

const R_MIPS_PC21: u32 = 60;
const R_MIPS_PC26: u32 = 61;
const R_MIPS_PC32: u32 = 248;

/// The lower half of a word as a signed number.
pub(super) fn half(word: u32) -> u64 {
    sign_extend(u64::from(word & 0xffff), 16) as u64
}

/// What a type comes to; nothing where it is not known how.
pub(super) fn answer(loader: &mut Loader, step: &Step, old: u32) -> Option<Answer> {
    let wide = loader.file.header.is_64;
    match step.kind {
        e::R_MIPS_32 | e::R_MIPS_REL32 | e::R_MIPS_64 => return words(loader, step, wide),
        e::R_MIPS_JUMP_SLOT | e::R_MIPS_GLOB_DAT => {
            return Some(Answer { value: step.symbol, form: Form::Pointer });
        }
        e::R_MIPS_SUB => {
            let addend = step.addend.unwrap_or(u64::from(old));
            let form = if wide { Form::Long } else { Form::Word };
            return Some(Answer { value: step.symbol.wrapping_sub(addend), form });
        }
        _ => {}
    }
    let (value, form) = match step.kind {
        e::R_MIPS_26 | code::MICRO_JUMP => jump(step, old),
        e::R_MIPS_PC16 => branch(step, old, 16, 2),
        code::MICRO_BRANCH_16 => branch(step, old, 16, 1),
        code::MICRO_BRANCH_10 => branch(step, old, 10, 1),
        code::MICRO_BRANCH_7 => branch(step, old, 7, 1),
        R_MIPS_PC21 => branch(step, old, 21, 2),
        R_MIPS_PC26 => branch(step, old, 26, 2),
        R_MIPS_PC32 => {
            let value = sum(step, u64::from(old)).wrapping_sub(step.site.place.offset);
            (value, Form::Word)
        }
        e::R_MIPS_HI16 => (high(loader, step)?.wrapping_add(0x8000), HIGH),
        e::R_MIPS_LO16 => (low(loader, step, old)?, LOW),
        // Only the addend's lower half counts, as the pieces below carry on their own.
        e::R_MIPS_HIGHER => {
            let form = Form::Field { shift: 32, at: 0, width: 16 };
            (sum(step, half(old)).wrapping_add(0x8000_8000), form)
        }
        e::R_MIPS_HIGHEST => {
            let form = Form::Field { shift: 48, at: 0, width: 16 };
            (sum(step, half(old)).wrapping_add(0x8000_8000_8000), form)
        }
        _ => return of_table(loader, step, old),
    };
    Some(Answer { value, form })
}

/// Types that are about the table of pointers and its base.
fn of_table(loader: &mut Loader, step: &Step, old: u32) -> Option<Answer> {
    let (value, form) = match step.kind {
        e::R_MIPS_GPREL16 | e::R_MIPS_LITERAL => (from_base(loader, step, half(old))?, LOW),
        code::MICRO_LOAD_7 => {
            let stored = u64::from(old & 0x7f) << 2;
            let form = Form::Field { shift: 2, at: 0, width: 7 };
            (from_base(loader, step, stored)?, form)
        }
        e::R_MIPS_GPREL32 => (from_base(loader, step, u64::from(old))?, Form::Word),
        e::R_MIPS_GOT_OFST => {
            let value = sum(step, u64::from(old & 0xffff));
            (value.wrapping_sub(page(value)), LOW)
        }
        e::R_MIPS_GOT_PAGE if step.local => {
            let value = sum(step, u64::from(old & 0xffff));
            (loader.mips_slot(page(value))?, LOW)
        }
        // What is left of the addend is with the offset in the page.
        e::R_MIPS_GOT_PAGE | e::R_MIPS_GOT_DISP => (loader.mips_slot(step.symbol)?, LOW),
        e::R_MIPS_GOT_LO16 => (loader.mips_slot(step.symbol)?, LOW),
        e::R_MIPS_GOT_HI16 => (loader.mips_slot(step.symbol)?.wrapping_add(0x8000), HIGH),
        e::R_MIPS_GOT16 | e::R_MIPS_CALL16 | e::R_MIPS_CALL_LO16 => {
            (loader.mips_slot(sum(step, 0))?, LOW)
        }
        e::R_MIPS_CALL_HI16 => (loader.mips_slot(sum(step, 0))?.wrapping_add(0x8000), HIGH),
        _ => return None,
    };
    Some(Answer { value, form })
}

/// The symbol and the addend, which may be `stored`.
fn sum(step: &Step, stored: u64) -> u64 {
    step.symbol.wrapping_add(step.addend.unwrap_or(stored))
}

/// The start of the piece of memory that a pointer of the table serves, its offset being signed.
fn page(value: u64) -> u64 {
    value.wrapping_add(0x8000) & !0xffff
}

fn words(loader: &Loader, step: &Step, wide: bool) -> Option<Answer> {
    let long = step.kind == e::R_MIPS_64 || step.kind == e::R_MIPS_REL32 && wide;
    let size = if long { 8 } else { 4 };
    let stored = || loader.read_value(step.site.place, size).unwrap_or(0);
    let nameless = step.site.unresolved || step.symbol == 0;
    let symbol = match step.kind {
        e::R_MIPS_REL32 if nameless => loader.delta,
        _ => step.symbol,
    };
    let value = symbol.wrapping_add(step.addend.unwrap_or_else(stored));
    let form = match (long, wide) {
        (true, true) | (false, false) => Form::Pointer,
        (true, false) => Form::Long,
        (false, true) => Form::Word,
    };
    Some(Answer { value, form })
}

fn jump(step: &Step, old: u32) -> (u64, Form) {
    let shift = if step.kind == code::MICRO_JUMP { 1 } else { 2 };
    let stored = u64::from(old & 0x3ff_ffff) << shift;
    let stored = match step.local {
        true => stored,
        false => sign_extend(stored, 26 + shift) as u64,
    };
    (sum(step, stored), Form::Field { shift, at: 0, width: 26 })
}

fn branch(step: &Step, old: u32, width: u32, shift: u32) -> (u64, Form) {
    let mask = (1u32 << width) - 1;
    let stored = sign_extend(u64::from(old & mask) << shift, width + shift) as u64;
    let value = sum(step, stored).wrapping_sub(step.site.place.offset);
    (value, Form::Field { shift, at: 0, width })
}

fn high(loader: &mut Loader, step: &Step) -> Option<u64> {
    let symbol = match &*step.site.name == DISTANCE_TO_TABLE {
        true => {
            let here = code::here(step.site.place, step.encoding, 4);
            loader.mips_base()?.wrapping_sub(here)
        }
        false => step.symbol,
    };
    Some(symbol.wrapping_add(step.addend.unwrap_or(0)))
}

fn low(loader: &mut Loader, step: &Step, old: u32) -> Option<u64> {
    if &*step.site.name != DISTANCE_TO_TABLE {
        return Some(sum(step, half(old)));
    }
    // Counted from the upper half, one instruction before.
    let here = match step.encoding {
        Encoding::Sixteen => code::here(step.site.place, step.encoding, 0),
        _ => step.site.place.offset.wrapping_sub(4),
    };
    let distance = loader.mips_base()?.wrapping_sub(here);
    Some(distance.wrapping_add(step.addend.unwrap_or_else(|| half(old))))
}

/// A distance from the table's base. What the file's own symbols store may count from the base that
/// an earlier linker used.
fn from_base(loader: &mut Loader, step: &Step, stored: u64) -> Option<u64> {
    let value = sum(step, stored).wrapping_sub(loader.mips_base()?);
    let moved = match step.local {
        true => loader.mips_old_base(),
        false => 0,
    };
    // The sum is one of words.
    Some(value.wrapping_add(moved) as u32 as i32 as u64)
}

/// A call through a register whose function is told: what other files have is called directly.
pub(super) fn call(loader: &mut Loader, step: &Step) -> Outcome {
    const CALL: u32 = 0x0320_f809;
    const JUMP: u32 = 0x0320_0008;
    if !step.site.external {
        return Outcome::Applied(0);
    }
    let place = step.site.place;
    let target = Address::ram(step.site.symbol);
    loader.link_function(&step.site.name, target);
    let (operation, shift) = match (step.encoding, code::read(loader, place, step.encoding)) {
        (Encoding::Plain, Some(CALL)) => (0x0c00_0000, 2),
        (Encoding::Plain, Some(JUMP)) => (0x0800_0000, 2),
        _ => return Outcome::Applied(0),
    };
    let near = (target.offset ^ place.offset.wrapping_add(4)) >> 28 == 0;
    if !near || target.offset & 3 != 0 {
        return Outcome::Applied(0);
    }
    let word = operation | (target.offset >> shift) as u32 & 0x3ff_ffff;
    match code::write(loader, place, step.encoding, word) {
        true => Outcome::Applied(4),
        false => Outcome::Unwritable,
    }
}
