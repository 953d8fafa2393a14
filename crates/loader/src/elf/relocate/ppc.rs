//! Relocations of PowerPC, 32 and 64 bits.

use super::{Outcome, Site};
use crate::elf::Loader;
use crate::elf::powerpc::{DESCRIPTORS, TOC_BASE};
use crate::fields::field;
use object::elf as e;
use program::{Address, SourceType, SymbolId};

/// What a half-word relocation takes of a value.
#[derive(Debug, Clone, Copy)]
enum Half {
    Low,
    High,
    /// Upper half, rounded for a signed lower one.
    Adjusted,
    Higher,
    HigherAdjusted,
    Highest,
    HighestAdjusted,
    /// Lower half without the two bits that select the instruction.
    Split,
}

/// What code calls the base of the table of pointers.
const TOC_SYMBOL: &str = ".TOC.";
/// Types that only tell a linker what it may do.
const R_PPC64_ENTRY: u32 = 118;
const R_PPC64_PCREL_OPT: u32 = 123;
/// Calls that keep no base of the table of pointers.
const R_PPC64_REL24_NOTOC: u32 = 116;
const R_PPC_EMB_SDA21: u32 = 109;

/// Sections of small data: the names, the base's symbol, and the register that holds the base.
const SMALL_DATA: [(&[&str], &str, u32); 2] =
    [(&[".sdata", ".sbss"], "_SDA_BASE_", 13), (&[".sdata2", ".sbss2"], "_SDA2_BASE_", 2)];
/// Small data that is found from address zero.
const ZERO_DATA: [&str; 2] = [".PPC.EMB.sdata0", ".PPC.EMB.sbss0"];

pub(super) fn apply(loader: &mut Loader, site: &Site) -> Outcome {
    let wide = loader.file.header.is_64;
    if wide && matches!(site.kind, R_PPC64_ENTRY | R_PPC64_PCREL_OPT) {
        return Outcome::Applied(0);
    }
    if site.unresolved && site.kind != e::R_PPC_RELATIVE {
        return Outcome::Unsupported;
    }
    // The addend of such a call is that of the caller's table, not of its target.
    let with_addend = wide || site.kind != e::R_PPC_PLTREL24;
    let addend = site.addend.filter(|_| with_addend).unwrap_or(0) as u64;
    let symbol = match wide && &*site.name == TOC_SYMBOL {
        true => toc_base(loader),
        false => Some(site.symbol),
    };
    let Some(symbol) = symbol else { return Outcome::Unsupported };
    let value = symbol.wrapping_add(addend);
    let relative = value.wrapping_sub(site.place.offset);
    match site.kind {
        // Both widths number these alike.
        e::R_PPC_ADDR32 if wide => loader.patch(site, value, 4),
        e::R_PPC_ADDR32 | e::R_PPC_UADDR32 => loader.patch_pointer(site, value),
        e::R_PPC_GLOB_DAT => loader.patch_pointer(site, value),
        e::R_PPC_JMP_SLOT if wide => match descriptor(loader, site.symbol) {
            Some(descriptor) => copy(loader, site, &descriptor),
            None => loader.patch_pointer(site, value),
        },
        e::R_PPC_JMP_SLOT => loader.patch_pointer(site, value),
        e::R_PPC_RELATIVE => loader.patch_pointer(site, addend.wrapping_add(loader.delta)),
        e::R_PPC_REL32 => loader.patch(site, relative, 4),
        e::R_PPC64_ADDR64 | e::R_PPC64_UADDR64 if wide => loader.patch_pointer(site, value),
        e::R_PPC64_REL64 if wide => loader.patch(site, relative, 8),
        e::R_PPC64_TOC if wide => {
            let Some(base) = toc_base(loader) else { return Outcome::Unsupported };
            loader.patch(site, base, 8)
        }
        e::R_PPC_IRELATIVE => loader.patch_pointer(site, addend.wrapping_add(loader.delta)),
        _ => instruction(loader, site, value, relative),
    }
}

fn instruction(loader: &mut Loader, site: &Site, value: u64, relative: u64) -> Outcome {
    if let Some((half, base)) = half(site.kind, loader.file.header.is_64) {
        let value = match base {
            Base::Nothing => value,
            Base::Place => relative,
            Base::Toc => {
                let Some(base) = toc_base(loader) else { return Outcome::Unsupported };
                value.wrapping_sub(base)
            }
        };
        return half_word(loader, site, half, value);
    }
    let Some(old) = loader.read_value(site.place, 4).map(|w| w as u32) else {
        return Outcome::Unwritable;
    };
    let new = match site.kind {
        R_PPC_EMB_SDA21 if !loader.file.header.is_64 => return small_data(loader, site, value),
        // A call of a function whose name is its descriptor's.
        e::R_PPC_REL24 | R_PPC64_REL24_NOTOC if loader.file.header.is_64 => {
            let code = descriptor(loader, site.symbol).and_then(|d| d.first_chunk::<8>().copied());
            let big = loader.file.header.big_endian;
            let code =
                code.map(|c| if big { u64::from_be_bytes(c) } else { u64::from_le_bytes(c) });
            let moved = code.map_or(0, |code| code.wrapping_sub(site.symbol));
            field(old, relative.wrapping_add(moved) >> 2, 2, 24)
        }
        e::R_PPC_ADDR24 => field(old, value >> 2, 2, 24),
        e::R_PPC_REL24 | e::R_PPC_PLTREL24 | e::R_PPC_LOCAL24PC => field(old, relative >> 2, 2, 24),
        e::R_PPC_ADDR14 | e::R_PPC_ADDR14_BRTAKEN | e::R_PPC_ADDR14_BRNTAKEN => {
            field(old, value >> 2, 2, 14)
        }
        e::R_PPC_REL14 | e::R_PPC_REL14_BRTAKEN | e::R_PPC_REL14_BRNTAKEN => {
            field(old, relative >> 2, 2, 14)
        }
        _ => return Outcome::Unsupported,
    };
    loader.patch(site, u64::from(new), 4)
}

/// The base of the table of pointers.
fn toc_base(loader: &Loader) -> Option<u64> {
    let (_, symbol) = loader.program.symbols.named(TOC_BASE).next()?;
    Some(symbol.address.offset)
}

/// The descriptor of a function, if there is one at an address.
fn descriptor(loader: &Loader, symbol: u64) -> Option<[u8; 24]> {
    let place = Address::ram(symbol);
    let block = loader.program.memory.block_at(place)?;
    let described = !loader.has_local_entries() && &*block.name == DESCRIPTORS;
    loader.program.memory.read_array::<24>(place).filter(|_| described)
}

fn copy(loader: &mut Loader, site: &Site, bytes: &[u8]) -> Outcome {
    match loader.program.memory.write(site.place, bytes) {
        Ok(()) => Outcome::Applied(bytes.len() as u8),
        Err(_) => Outcome::Unwritable,
    }
}

/// An access of small data: the register of its section and the distance from its base. The place
/// may be that of the half with both or of the whole instruction.
fn small_data(loader: &mut Loader, site: &Site, value: u64) -> Outcome {
    let place = Address::new(site.place.space, site.place.offset & !3);
    let block = loader.program.memory.block_at(Address::ram(site.symbol));
    let name = block.map(|block| &*block.name).unwrap_or_default();
    let known = SMALL_DATA.into_iter().find(|(names, ..)| names.contains(&name));
    let (register, base) = match known {
        Some((names, symbol, register)) => (register, small_base(loader, names, symbol)),
        None if ZERO_DATA.contains(&name) => (0, Some(0)),
        None => return Outcome::Unsupported,
    };
    let (Some(base), Some(old)) = (base, loader.read_value(place, 4)) else {
        return Outcome::Unsupported;
    };
    let code = field(field(old as u32, value.wrapping_sub(base), 0, 16), register.into(), 16, 5);
    match loader.write_value(place, u64::from(code), 4) {
        true => Outcome::Applied(4),
        false => Outcome::Unwritable,
    }
}

/// The base of small data: its symbol, or one made amid the sections.
fn small_base(loader: &mut Loader, names: &[&str], symbol: &str) -> Option<u64> {
    if let Some((_, known)) = loader.program.symbols.named(symbol).next() {
        return Some(known.address.offset);
    }
    let blocks = names.iter().filter_map(|name| loader.program.memory.block_named(name));
    let spans: Vec<(u64, u64)> = blocks.map(|b| (b.start.offset, b.end().offset)).collect();
    let start = spans.iter().map(|(start, _)| *start).min()?;
    let end = spans.iter().map(|(_, end)| *end).max()?;
    let length = (end - start).saturating_add(1);
    let within = if length > 0x7fff { (length / 2) & !0xf } else { 0 };
    let base = start.wrapping_add(within);
    let global = SymbolId::GLOBAL;
    loader.program.add_label(Address::ram(base), symbol, global, SourceType::Analysis);
    Some(base)
}

/// What a half-word value counts from.
#[derive(Debug, Clone, Copy)]
enum Base {
    Nothing,
    Place,
    Toc,
}

fn half(kind: u32, wide: bool) -> Option<(Half, Base)> {
    Some(match kind {
        e::R_PPC_ADDR16 | e::R_PPC_ADDR16_LO => (Half::Low, Base::Nothing),
        e::R_PPC_ADDR16_HI => (Half::High, Base::Nothing),
        e::R_PPC_ADDR16_HA => (Half::Adjusted, Base::Nothing),
        e::R_PPC_REL16 | e::R_PPC_REL16_LO => (Half::Low, Base::Place),
        e::R_PPC_REL16_HI => (Half::High, Base::Place),
        e::R_PPC_REL16_HA => (Half::Adjusted, Base::Place),
        _ if !wide => return None,
        e::R_PPC64_ADDR16_HIGHER => (Half::Higher, Base::Nothing),
        e::R_PPC64_ADDR16_HIGHERA => (Half::HigherAdjusted, Base::Nothing),
        e::R_PPC64_ADDR16_HIGHEST => (Half::Highest, Base::Nothing),
        e::R_PPC64_ADDR16_HIGHESTA => (Half::HighestAdjusted, Base::Nothing),
        e::R_PPC64_ADDR16_DS | e::R_PPC64_ADDR16_LO_DS => (Half::Split, Base::Nothing),
        e::R_PPC64_TOC16 | e::R_PPC64_TOC16_LO => (Half::Low, Base::Toc),
        e::R_PPC64_TOC16_HI => (Half::High, Base::Toc),
        e::R_PPC64_TOC16_HA => (Half::Adjusted, Base::Toc),
        e::R_PPC64_TOC16_DS | e::R_PPC64_TOC16_LO_DS => (Half::Split, Base::Toc),
        _ => return None,
    })
}

fn half_word(loader: &mut Loader, site: &Site, half: Half, value: u64) -> Outcome {
    let rounded = |at: u32| value.wrapping_add(0x8000) >> at;
    let part = match half {
        Half::Low => value,
        Half::High => value >> 16,
        Half::Adjusted => rounded(16),
        Half::Higher => value >> 32,
        Half::HigherAdjusted => rounded(32),
        Half::Highest => value >> 48,
        Half::HighestAdjusted => rounded(48),
        Half::Split => {
            let old = loader.read_value(site.place, 2).unwrap_or(0);
            (value & !3) | (old & 3)
        }
    };
    loader.patch(site, part, 2)
}
