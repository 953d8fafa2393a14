//! Protections that the header of an ELF, PE or Mach-O file asks for, read from its place in
//! memory. What the header does not say, or where there is none, stays unknown.

use program::{Address, Program};

const MAX_HEADERS: u64 = 256;

/// Whether what is resolved at the start is write-protected after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relro {
    /// Not at all.
    None,
    /// All but the slots of functions.
    Partial,
    /// All of it.
    Full,
}

/// What a file's header asks for; `None` where it says nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Protections {
    /// The stack and data cannot be run.
    pub nx: Option<bool>,
    /// The program may be loaded anywhere.
    pub pie: Option<bool>,
    /// ELF only.
    pub relro: Option<Relro>,
    /// Calls through pointers are checked (PE).
    pub control_flow_guard: Option<bool>,
    /// The file carries a signature (PE, Mach-O); whether it holds is not checked.
    pub signed: Option<bool>,
}

/// The protections of a program.
#[must_use]
pub fn protections(program: &Program) -> Protections {
    let header =
        Header { program, base: program.info.image_base, big: program.memory.big_endian() };
    let found = match header.bytes::<4>(0) {
        Some([0x7f, b'E', b'L', b'F']) => elf(&header),
        Some([b'M', b'Z', ..]) => pe(&header),
        Some([0xcf | 0xce, 0xfa, 0xed, 0xfe] | [0xfe, 0xed, 0xfa, 0xcf | 0xce]) => macho(&header),
        _ => None,
    };
    found.unwrap_or_default()
}

/// A file's header in memory.
struct Header<'a> {
    program: &'a Program,
    base: u64,
    big: bool,
}

impl Header<'_> {
    fn bytes<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        self.program.memory.read_array(Address::ram(self.base.checked_add(at)?))
    }

    /// A number of 2, 4 or 8 bytes.
    fn number(&self, at: u64, size: u32) -> Option<u64> {
        let mut bytes = [0u8; 8];
        for index in 0..size.min(8) {
            let [byte] = self.bytes(at.checked_add(index.into())?)?;
            let place = if self.big { size - 1 - index } else { index };
            bytes[place as usize] = byte;
        }
        Some(u64::from_le_bytes(bytes))
    }
}

fn elf(header: &Header<'_>) -> Option<Protections> {
    const LOAD: u64 = 1;
    const DYNAMIC: u64 = 2;
    const STACK: u64 = 0x6474_e551;
    const RELRO: u64 = 0x6474_e552;
    let wide = header.bytes::<1>(4)? == [2];
    let word = if wide { 8 } else { 4 };
    let kind = header.number(16, 2)?;
    let start = header.number(if wide { 32 } else { 28 }, word)?;
    let size = header.number(if wide { 54 } else { 42 }, 2)?;
    let count = header.number(if wide { 56 } else { 44 }, 2)?.min(MAX_HEADERS);
    let mut found = Protections { pie: Some(kind == 3), ..Protections::default() };
    let (mut first, mut dynamic, mut relro) = (None, None, false);
    for index in 0..count {
        let at = start.checked_add(index.checked_mul(size)?)?;
        let place = header.number(at.checked_add(if wide { 16 } else { 8 })?, word);
        match header.number(at, 4)? {
            LOAD => first = first.or(place),
            DYNAMIC => dynamic = place,
            STACK => {
                let flags = header.number(at.checked_add(if wide { 4 } else { 24 })?, 4)?;
                found.nx = Some(flags & 1 == 0);
            }
            RELRO => relro = true,
            _ => {}
        }
    }
    let dynamic = dynamic.zip(first).and_then(|(place, first)| place.checked_sub(first));
    let now = dynamic.is_some_and(|at| binds_now(header, at, word));
    found.relro = Some(match (relro, now) {
        (false, _) => Relro::None,
        (true, false) => Relro::Partial,
        (true, true) => Relro::Full,
    });
    Some(found)
}

/// Whether a dynamic section asks for everything to be resolved at the start.
fn binds_now(header: &Header<'_>, at: u64, word: u32) -> bool {
    let entry = |index: u64| {
        let place = at.checked_add(index.checked_mul(2 * u64::from(word))?)?;
        let tag = header.number(place, word)?;
        Some((tag, header.number(place.checked_add(word.into())?, word)?))
    };
    let mut entries = (0..MAX_HEADERS).map_while(entry).take_while(|(tag, _)| *tag != 0);
    entries.any(|(tag, value)| match tag {
        24 => true,
        30 => value & 8 != 0,
        0x6fff_fffb => value & 1 != 0,
        _ => false,
    })
}

fn pe(header: &Header<'_>) -> Option<Protections> {
    let header = Header { big: false, ..*header };
    let start = header.number(0x3c, 4)?;
    if header.bytes::<4>(start)? != *b"PE\0\0" {
        return None;
    }
    let optional = start.checked_add(24)?;
    let wide = header.number(optional, 2)? == 0x20b;
    let flags = header.number(optional.checked_add(70)?, 2)?;
    let directories = optional.checked_add(if wide { 112 } else { 96 })?;
    let count = header.number(directories.checked_sub(4)?, 4)?;
    let signature = header.number(directories.checked_add(4 * 8 + 4)?, 4).unwrap_or(0);
    Some(Protections {
        nx: Some(flags & 0x100 != 0),
        pie: Some(flags & 0x40 != 0),
        relro: None,
        control_flow_guard: Some(flags & 0x4000 != 0),
        signed: Some(count > 4 && signature != 0),
    })
}

fn macho(header: &Header<'_>) -> Option<Protections> {
    const SIGNATURE: u64 = 0x1d;
    let wide = matches!(header.bytes::<4>(0)?, [0xcf, ..] | [.., 0xcf]);
    let count = header.number(16, 4)?.min(MAX_HEADERS);
    let flags = header.number(24, 4)?;
    let mut at = if wide { 32 } else { 28 };
    let mut signed = false;
    for _ in 0..count {
        signed |= header.number(at, 4)? == SIGNATURE;
        at = at.checked_add(header.number(at.checked_add(4)?, 4)?)?;
    }
    Some(Protections {
        nx: Some(flags & 0x2_0000 == 0),
        pie: Some(flags & 0x20_0000 != 0),
        signed: Some(signed),
        ..Protections::default()
    })
}
