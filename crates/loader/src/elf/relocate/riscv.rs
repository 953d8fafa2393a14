//! Relocations of RISC-V.

use super::{Outcome, Site};
use crate::elf::Loader;
use crate::fields::field;
use object::elf as e;

pub(super) fn apply(loader: &mut Loader, site: &Site) -> Outcome {
    let ignored = matches!(site.kind, e::R_RISCV_RELAX | e::R_RISCV_ALIGN);
    if site.unresolved && site.kind != e::R_RISCV_RELATIVE && !ignored {
        return Outcome::Unsupported;
    }
    let addend = site.addend.unwrap_or(0) as u64;
    let value = site.symbol.wrapping_add(addend);
    let relative = value.wrapping_sub(site.place.offset);
    let word = loader.file.word();
    match site.kind {
        e::R_RISCV_64 if word == 8 => loader.patch_pointer(site, value),
        e::R_RISCV_32 if word == 4 => loader.patch_pointer(site, value),
        e::R_RISCV_64 => loader.patch(site, value, 8),
        e::R_RISCV_32 => loader.patch(site, value, 4),
        e::R_RISCV_JUMP_SLOT => loader.patch_pointer(site, site.symbol),
        e::R_RISCV_RELATIVE | e::R_RISCV_IRELATIVE => {
            let value = addend.wrapping_add(loader.delta);
            loader.patch_pointer(site, value)
        }
        e::R_RISCV_32_PCREL => loader.patch(site, relative, 4),
        _ if ignored => Outcome::Applied(0),
        e::R_RISCV_CALL | e::R_RISCV_CALL_PLT => call(loader, site, relative),
        e::R_RISCV_RVC_BRANCH | e::R_RISCV_RVC_JUMP => compressed(loader, site, relative),
        e::R_RISCV_ADD8..=e::R_RISCV_SUB64 | e::R_RISCV_SUB6..=e::R_RISCV_SET32 => {
            arithmetic(loader, site, value)
        }
        _ => instruction(loader, site, value, relative),
    }
}

fn instruction(loader: &mut Loader, site: &Site, value: u64, relative: u64) -> Outcome {
    let Some(bytes) = loader.program.memory.read_array::<4>(site.place) else {
        return Outcome::Unwritable;
    };
    let old = u32::from_le_bytes(bytes);
    let new = match site.kind {
        e::R_RISCV_BRANCH => branch(old, relative),
        e::R_RISCV_JAL => jump(old, relative),
        e::R_RISCV_HI20 => upper(old, value),
        e::R_RISCV_PCREL_HI20 => {
            loader.remember_upper(site.place.offset, relative);
            upper(old, relative)
        }
        e::R_RISCV_GOT_HI20 => {
            let Some(slot) = loader.got_slot(site) else { return Outcome::Unsupported };
            let relative = slot.offset.wrapping_sub(site.place.offset);
            loader.remember_upper(site.place.offset, relative);
            upper(old, relative)
        }
        e::R_RISCV_LO12_I => field(old, value, 20, 12),
        e::R_RISCV_LO12_S => store(old, value),
        // The symbol names the instruction with the upper part.
        e::R_RISCV_PCREL_LO12_I | e::R_RISCV_PCREL_LO12_S => {
            let Some(low) = loader.upper_parts.get(&site.symbol).copied() else {
                return Outcome::Unsupported;
            };
            if site.kind == e::R_RISCV_PCREL_LO12_I {
                field(old, low, 20, 12)
            } else {
                store(old, low)
            }
        }
        _ => return Outcome::Unsupported,
    };
    write_code(loader, site, &new.to_le_bytes())
}

fn write_code(loader: &mut Loader, site: &Site, bytes: &[u8]) -> Outcome {
    match loader.program.memory.write(site.place, bytes) {
        Ok(()) => Outcome::Applied(bytes.len() as u8),
        Err(_) => Outcome::Unwritable,
    }
}

/// `auipc` and `jalr` in a row.
fn call(loader: &mut Loader, site: &Site, relative: u64) -> Outcome {
    let Some(bytes) = loader.program.memory.read_array::<8>(site.place) else {
        return Outcome::Unwritable;
    };
    let both = u64::from_le_bytes(bytes);
    let first = upper(both as u32, relative);
    let second = field((both >> 32) as u32, relative, 20, 12);
    write_code(loader, site, &(u64::from(second) << 32 | u64::from(first)).to_le_bytes())
}

fn compressed(loader: &mut Loader, site: &Site, relative: u64) -> Outcome {
    let Some(bytes) = loader.program.memory.read_array::<2>(site.place) else {
        return Outcome::Unwritable;
    };
    let old = u32::from(u16::from_le_bytes(bytes));
    // Which bit of the distance goes to which bit of the instruction.
    let branch = [(8, 12), (4, 11), (3, 10), (7, 6), (6, 5), (2, 4), (1, 3), (5, 2)];
    let jump = [
        (11, 12),
        (4, 11),
        (9, 10),
        (8, 9),
        (10, 8),
        (6, 7),
        (7, 6),
        (3, 5),
        (2, 4),
        (1, 3),
        (5, 2),
    ];
    let moves: &[(u32, u32)] = if site.kind == e::R_RISCV_RVC_BRANCH { &branch } else { &jump };
    let new = moves.iter().fold(old, |code, (from, to)| field(code, relative >> from, *to, 1));
    write_code(loader, site, &(new as u16).to_le_bytes())
}

/// Sums and differences that the assembler left to the linker.
fn arithmetic(loader: &mut Loader, site: &Site, value: u64) -> Outcome {
    let size: u8 = match site.kind {
        e::R_RISCV_ADD64 | e::R_RISCV_SUB64 => 8,
        e::R_RISCV_ADD32 | e::R_RISCV_SUB32 | e::R_RISCV_SET32 => 4,
        e::R_RISCV_ADD16 | e::R_RISCV_SUB16 | e::R_RISCV_SET16 => 2,
        _ => 1,
    };
    let Some(old) = loader.read_value(site.place, u32::from(size)) else {
        return Outcome::Unwritable;
    };
    let new = match site.kind {
        e::R_RISCV_ADD8..=e::R_RISCV_ADD64 => old.wrapping_add(value),
        e::R_RISCV_SUB8..=e::R_RISCV_SUB64 => old.wrapping_sub(value),
        e::R_RISCV_SUB6 => (old & 0xc0) | (old.wrapping_sub(value) & 0x3f),
        e::R_RISCV_SET6 => (old & 0xc0) | (value & 0x3f),
        _ => value,
    };
    loader.patch(site, new, size)
}

/// The upper twenty bits, rounded for the signed lower twelve.
fn upper(old: u32, value: u64) -> u32 {
    field(old, value.wrapping_add(0x800) >> 12, 12, 20)
}

fn store(old: u32, value: u64) -> u32 {
    field(field(old, value, 7, 5), value >> 5, 25, 7)
}

fn branch(old: u32, value: u64) -> u32 {
    let code = field(field(old, value >> 1, 8, 4), value >> 5, 25, 6);
    field(field(code, value >> 11, 7, 1), value >> 12, 31, 1)
}

fn jump(old: u32, value: u64) -> u32 {
    let code = field(field(old, value >> 1, 21, 10), value >> 11, 20, 1);
    field(field(code, value >> 12, 12, 8), value >> 20, 31, 1)
}

impl Loader {
    /// Distances by the instruction that holds their upper part.
    fn remember_upper(&mut self, place: u64, value: u64) {
        self.upper_parts.insert(place, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_land_in_their_scattered_bits() {
        // beq x0, x0, +8; jal x0, -4; auipc x1, 1 for 0x800
        assert_eq!(branch(0x0000_0063, 8), 0x0000_0463);
        assert_eq!(jump(0x0000_006f, (-4i64) as u64), 0xffdf_f06f);
        assert_eq!(upper(0x0000_0097, 0x800), 0x0000_1097);
        assert_eq!(store(0x0000_0023, 0xfff), 0xfe00_0fa3);
    }
}
