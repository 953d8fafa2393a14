//! Relocations of processors that are built in on demand: those that write whole words, which are
//! all that executables and libraries need. Others are told of as not applied.

use super::{Outcome, Site};
use crate::elf::Loader;
use object::elf as e;

/// Hexagon's numbers.
mod hexagon {
    pub(super) const WORD: u32 = 6;
    pub(super) const HALF: u32 = 7;
    pub(super) const BYTE: u32 = 8;
    pub(super) const GLOB_DAT: u32 = 33;
    pub(super) const JMP_SLOT: u32 = 34;
    pub(super) const RELATIVE: u32 = 35;
}

/// What goes into a word of so many bytes.
enum Word {
    /// Symbol and addend.
    Sum(u8),
    /// The same, counted from the place.
    Distance(u8),
    /// A pointer to the symbol in a table; what stands there is for the dynamic linker.
    Slot,
    /// The addend, moved with the image.
    Moved,
}

pub(super) fn apply(loader: &mut Loader, site: &Site) -> Outcome {
    let Some(word) = word(loader.file.header.machine, site.kind) else {
        return Outcome::Unsupported;
    };
    if site.unresolved && !matches!(word, Word::Moved) {
        return Outcome::Unsupported;
    }
    let pointer = loader.file.word();
    let size = match word {
        Word::Sum(size) | Word::Distance(size) => u32::from(size),
        Word::Slot | Word::Moved => pointer as u32,
    };
    let stated = site.addend.or(matches!(word, Word::Slot).then_some(0));
    let addend = stated.map(|addend| addend as u64);
    let Some(addend) = addend.or_else(|| loader.read_value(site.place, size)) else {
        return Outcome::Unwritable;
    };
    let value = site.symbol.wrapping_add(addend);
    match word {
        Word::Slot => loader.patch_pointer(site, value),
        Word::Sum(size) if usize::from(size) == pointer as usize => {
            loader.patch_pointer(site, value)
        }
        Word::Sum(size) => loader.patch(site, value, size),
        Word::Distance(size) => loader.patch(site, value.wrapping_sub(site.place.offset), size),
        Word::Moved => loader.patch_pointer(site, addend.wrapping_add(loader.delta)),
    }
}

fn word(machine: u16, kind: u32) -> Option<Word> {
    match machine {
        e::EM_68K => m68k(kind),
        e::EM_SPARC | e::EM_SPARC32PLUS | e::EM_SPARCV9 => sparc(kind),
        e::EM_SH => superh(kind),
        e::EM_LOONGARCH => loongarch(kind),
        e::EM_HEXAGON => hexagon(kind),
        e::EM_XTENSA => xtensa(kind),
        e::EM_PARISC => (kind == e::R_PARISC_DIR32).then_some(Word::Sum(4)),
        _ => None,
    }
}

fn m68k(kind: u32) -> Option<Word> {
    Some(match kind {
        e::R_68K_32 => Word::Sum(4),
        e::R_68K_GLOB_DAT | e::R_68K_JMP_SLOT => Word::Slot,
        e::R_68K_16 => Word::Sum(2),
        e::R_68K_8 => Word::Sum(1),
        e::R_68K_PC32 | e::R_68K_PLT32 => Word::Distance(4),
        e::R_68K_PC16 => Word::Distance(2),
        e::R_68K_RELATIVE => Word::Moved,
        _ => return None,
    })
}

/// Slots of the linkage table (`R_SPARC_JMP_SLOT`) are code.
fn sparc(kind: u32) -> Option<Word> {
    Some(match kind {
        e::R_SPARC_64 | e::R_SPARC_UA64 => Word::Sum(8),
        e::R_SPARC_32 | e::R_SPARC_UA32 => Word::Sum(4),
        e::R_SPARC_16 | e::R_SPARC_UA16 => Word::Sum(2),
        e::R_SPARC_8 => Word::Sum(1),
        e::R_SPARC_DISP32 => Word::Distance(4),
        e::R_SPARC_GLOB_DAT => Word::Slot,
        e::R_SPARC_RELATIVE => Word::Moved,
        _ => return None,
    })
}

fn superh(kind: u32) -> Option<Word> {
    Some(match kind {
        e::R_SH_DIR32 => Word::Sum(4),
        e::R_SH_GLOB_DAT | e::R_SH_JMP_SLOT => Word::Slot,
        e::R_SH_REL32 => Word::Distance(4),
        e::R_SH_RELATIVE => Word::Moved,
        _ => return None,
    })
}

fn loongarch(kind: u32) -> Option<Word> {
    Some(match kind {
        e::R_LARCH_64 => Word::Sum(8),
        e::R_LARCH_JUMP_SLOT => Word::Slot,
        e::R_LARCH_32 => Word::Sum(4),
        e::R_LARCH_RELATIVE => Word::Moved,
        _ => return None,
    })
}

fn hexagon(kind: u32) -> Option<Word> {
    Some(match kind {
        hexagon::WORD => Word::Sum(4),
        hexagon::GLOB_DAT | hexagon::JMP_SLOT => Word::Slot,
        hexagon::HALF => Word::Sum(2),
        hexagon::BYTE => Word::Sum(1),
        hexagon::RELATIVE => Word::Moved,
        _ => return None,
    })
}

fn xtensa(kind: u32) -> Option<Word> {
    Some(match kind {
        e::R_XTENSA_32 => Word::Sum(4),
        e::R_XTENSA_GLOB_DAT | e::R_XTENSA_JMP_SLOT => Word::Slot,
        e::R_XTENSA_RELATIVE => Word::Moved,
        _ => return None,
    })
}
