//! Parts of an ELF file that no header, section or segment claims, such as the signature behind the
//! last section of a kernel module.

use super::file::ElfFile;
use object::elf;

/// Offset and length of the parts that hold more than zeros, in order.
pub(super) fn parts(file: &ElfFile) -> Vec<(u64, u64)> {
    let size = file.bytes.len() as u64;
    let header = &file.header;
    let segments = file.segments.iter().filter(|s| s.kind != elf::PT_NULL);
    let sections = file.sections.iter().filter(|s| s.kind != elf::SHT_NULL && !s.is_nobits());
    let tables = [
        (0, header.size),
        (header.segment_table, file.segments.len() as u64 * header.segment_size),
        (header.section_table, file.sections.len() as u64 * header.section_size),
    ];
    let mut claimed: Vec<(u64, u64)> = segments
        .map(|s| (s.offset, s.file_size))
        .chain(sections.map(|s| (s.offset, s.size)))
        .chain(tables)
        .filter(|(offset, length)| *length > 0 && *offset < size)
        .collect();
    claimed.sort_unstable();
    let mut parts = Vec::new();
    let mut free = 0;
    for (offset, length) in claimed.into_iter().chain([(size, 1)]) {
        if offset > free && holds_something(file, free, offset) {
            parts.push((free, offset - free));
        }
        free = free.max(offset.saturating_add(length));
    }
    parts
}

fn holds_something(file: &ElfFile, from: u64, to: u64) -> bool {
    let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
    let bytes = range.and_then(|(from, to)| file.bytes.get(from..to)).unwrap_or_default();
    bytes.iter().any(|byte| *byte != 0)
}
