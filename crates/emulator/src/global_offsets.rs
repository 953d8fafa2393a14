//! Entries of a global offset table that only the system's loader fills: on MIPS those of the
//! file's own pages have no relocations, and the one of its first page is stored as zero.

use decompiler::Language;
use program::{Address, Program};

/// Tags of the dynamic section.
const GOT: u64 = 3;
const LOCAL_ENTRIES: u64 = 0x7000_000a;
/// The first entries are the loader's own.
const RESERVED: u64 = 2;
/// Entries of the dynamic section that are looked at.
const MOST: u64 = 256;

/// What stands in the entries that are still zero, by their places.
pub(crate) fn local_entries(program: &Program, language: &Language) -> Vec<(u64, Vec<u8>)> {
    let base = program.info.image_base;
    if language.processor() != "MIPS" || base == 0 || !program.info.relocatable {
        return Vec::new();
    }
    let Some(section) = program.memory.block_named(".dynamic").map(|block| block.start) else {
        return Vec::new();
    };
    let word = language.pointer_size();
    let read = |at: u64| program.memory.read_uint(Address::ram(at), word);
    let value = |wanted: u64| {
        let entries = (0..MOST).map(|index| section.offset + 2 * index * u64::from(word));
        let mut tags = entries.map_while(|at| Some((read(at)?, at)));
        let (_, at) = tags.find(|(tag, _)| *tag == wanted)?;
        read(at + u64::from(word))
    };
    let (Some(table), Some(count)) = (value(GOT), value(LOCAL_ENTRIES)) else {
        return Vec::new();
    };
    // The section may have been moved with the image, or not.
    let table = if table < base { table.wrapping_add(base) } else { table };
    let bytes = if program.memory.big_endian() {
        base.to_be_bytes()[8 - word as usize..].to_vec()
    } else {
        base.to_le_bytes()[..word as usize].to_vec()
    };
    let places = (RESERVED..count.min(0x1_0000)).map(|index| table + index * u64::from(word));
    places.filter(|at| read(*at) == Some(0)).map(|at| (at, bytes.clone())).collect()
}
