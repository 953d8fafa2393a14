//! Text formats of memory images: Intel HEX and Motorola S-records.

use crate::identity::Identity;
use crate::raw::{ANYTHING, empty, given_language, mask};
use crate::{LoadError, LoadOptions};
use program::{Address, BlockSource, MemoryBlock, Program, SourceType, SymbolId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the records say.
#[derive(Debug, Default)]
struct Image {
    /// Addresses and bytes in the order of the records; later ones overwrite earlier ones.
    pieces: Vec<(u64, Vec<u8>)>,
    /// Addresses from which records count: as in Ghidra, a block ends there.
    cuts: BTreeSet<u64>,
    entry: Option<u64>,
    warnings: Vec<String>,
}

impl Image {
    fn warn(&mut self, line: usize, what: &str) {
        if self.warnings.len() < 20 {
            self.warnings.push(format!("line {line}: {what}"));
        }
    }

    /// Puts bytes at an address.
    fn put(&mut self, address: u64, data: &[u8]) {
        if data.is_empty() || address.checked_add(data.len() as u64).is_none() {
            return;
        }
        match self.pieces.last_mut() {
            // Records mostly ascend.
            Some((start, last)) if start.wrapping_add(last.len() as u64) == address => {
                last.extend_from_slice(data);
            }
            _ => self.pieces.push((address, data.to_vec())),
        }
    }

    /// Runs of bytes that do not meet, by address. The cost grows with the bytes, in whatever
    /// order they came.
    fn runs(&self) -> BTreeMap<u64, Vec<u8>> {
        let mut extents: Vec<(u64, u64)> =
            self.pieces.iter().map(|(start, data)| (*start, start + data.len() as u64)).collect();
        extents.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (start, end) in extents {
            match joined.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((start, end)),
            }
        }
        let empty = |(start, end): (u64, u64)| (start, vec![0; (end - start) as usize]);
        let mut runs: BTreeMap<u64, Vec<u8>> = joined.into_iter().map(empty).collect();
        for (address, data) in &self.pieces {
            let Some((start, run)) = runs.range_mut(..=*address).next_back() else { continue };
            let at = (address - start) as usize;
            if let Some(place) = run.get_mut(at..).and_then(|rest| rest.get_mut(..data.len())) {
                place.copy_from_slice(data);
            }
        }
        for cut in &self.cuts {
            let Some((start, run)) = runs.range_mut(..*cut).next_back() else { continue };
            let at = usize::try_from(cut - start).unwrap_or(usize::MAX);
            if at < run.len() {
                let rest = run.split_off(at);
                runs.insert(*cut, rest);
            }
        }
        runs
    }
}

/// The bytes of a line's hex digits.
fn hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |c: u8| (c as char).to_digit(16).map(|d| d as u8);
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let trimmed = bytes.split(|b| *b == b'\n').map(<[u8]>::trim_ascii);
    trimmed.enumerate().map(|(n, line)| (n + 1, line)).filter(|(_, line)| !line.is_empty())
}

fn read_intel(bytes: &[u8]) -> Image {
    let mut image = Image::default();
    let mut base = 0u64;
    for (line, text) in lines(bytes) {
        let record = text.strip_prefix(b":").and_then(hex);
        let Some(record) = record else {
            image.warn(line, "not an Intel HEX record");
            continue;
        };
        if record.iter().fold(0u8, |sum, b| sum.wrapping_add(*b)) != 0 {
            image.warn(line, "the checksum is wrong");
        }
        let [count, high, low, kind, rest @ ..] = record.as_slice() else {
            image.warn(line, "the record is cut short");
            continue;
        };
        let Some(data) = rest.get(..usize::from(*count)) else {
            image.warn(line, "the record is cut short");
            continue;
        };
        let offset = u64::from(*high) << 8 | u64::from(*low);
        match kind {
            0 => image.put(base + offset, data),
            1 => break,
            2 | 4 => {
                let linear = *kind == 4;
                base = if linear {
                    (number(data) & 0xffff) << 16
                } else {
                    number(data) << 4 & 0xf_ffff
                };
                image.cuts.insert(base);
            }
            3 => image.entry = Some(((number(data) >> 16) << 4) + (number(data) & 0xffff)),
            5 => image.entry = Some(number(data) & 0xffff_ffff),
            _ => image.warn(line, "the record type is unknown"),
        }
    }
    image
}

fn read_motorola(bytes: &[u8]) -> Image {
    let mut image = Image::default();
    for (line, text) in lines(bytes) {
        let [b'S', kind, rest @ ..] = text else {
            image.warn(line, "not an S-record");
            continue;
        };
        let Some(record) = hex(rest) else {
            image.warn(line, "not an S-record");
            continue;
        };
        let [count, body @ ..] = record.as_slice() else { continue };
        let Some([data @ .., check]) = body.get(..usize::from(*count)) else {
            image.warn(line, "the record is cut short");
            continue;
        };
        let sum = data.iter().fold(*count, |sum, b| sum.wrapping_add(*b));
        if sum ^ *check != 0xff {
            image.warn(line, "the checksum is wrong");
        }
        let width = match kind {
            b'1' | b'9' => 2,
            b'2' | b'8' => 3,
            b'3' | b'7' => 4,
            _ => continue,
        };
        let Some((address, data)) = data.split_at_checked(width) else {
            image.warn(line, "the record is cut short");
            continue;
        };
        match kind {
            b'1'..=b'3' => image.put(number(address), data),
            _ => image.entry = Some(number(address)),
        }
    }
    image
}

/// Loads an Intel HEX file.
pub(crate) fn load_intel(
    identity: Identity,
    bytes: &[u8],
    options: &LoadOptions,
) -> Result<Program, LoadError> {
    build(identity, read_intel(bytes), options, "Intel Hex")
}

/// Loads a file of Motorola S-records.
pub(crate) fn load_motorola(
    identity: Identity,
    bytes: &[u8],
    options: &LoadOptions,
) -> Result<Program, LoadError> {
    build(identity, read_motorola(bytes), options, "Motorola Hex")
}

fn build(
    identity: Identity,
    image: Image,
    options: &LoadOptions,
    format: &'static str,
) -> Result<Program, LoadError> {
    if image.pieces.is_empty() {
        return Err(LoadError::Malformed { format, what: "it has no data record".into() });
    }
    let language = given_language(options, format)?;
    let mask = mask(&language);
    let base = options.base.unwrap_or(0);
    let mut program = empty(identity, &language, format, base & mask);
    let runs = image.runs();
    image.warnings.into_iter().for_each(|text| program.warn(text));
    let file: Arc<str> = program.info.name.as_str().into();
    for (start, run) in runs {
        let start = start.wrapping_add(base) & mask;
        let bytes: Arc<[u8]> = run.into();
        let length = (bytes.len() as u64).min((mask - start).saturating_add(1));
        let source = BlockSource::Bytes { offset: 0, length: bytes.len(), bytes };
        let mut block = MemoryBlock::new("ram", Address::ram(start), length, source);
        block.permissions = ANYTHING;
        block.source_name = Arc::clone(&file);
        block.comment = format!("Generated by {format}").into();
        if program.memory.add_block(block).is_err() {
            program.warn(format!("the bytes at 0x{start:x} do not fit the memory"));
        }
    }
    if let Some(entry) = image.entry {
        let place = Address::ram(entry.wrapping_add(base) & mask);
        if program.memory.contains(place) {
            let id = program.add_label(place, "entry", SymbolId::GLOBAL, SourceType::Imported);
            program.symbols.edit(id, |s| s.external_entry = true);
            program.entry_points.insert(place, ());
        }
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intel_records_join_and_extend_their_addresses() {
        let text = b":020000040800F2\r\n:0400000001020304F2\r\n:0200040005 06EF\n:020004000506EF\n\
            :04000005080000010EE\n:0400000508000001EE\n:00000001FF\n:0100000099\n";
        let image = read_intel(text);
        assert_eq!(image.runs(), [(0x0800_0000, vec![1, 2, 3, 4, 5, 6])].into());
        assert_eq!(image.entry, Some(0x0800_0001));
        assert_eq!(image.warnings.len(), 2, "{:?}", image.warnings);
    }

    #[test]
    fn blocks_end_where_records_count_anew() {
        // Two bytes up to 64 KiB, then two behind it, which meet them.
        let text = b":02FFFE001122CE\n:020000040001F9\n:02000000334487\n";
        let runs = read_intel(text).runs();
        assert_eq!(runs, [(0xfffe, vec![0x11, 0x22]), (0x1_0000, vec![0x33, 0x44])].into());
    }

    #[test]
    fn s_records_of_all_widths_load() {
        let text = b"S00600004844521B\nS1051000AABB85\nS20510002001C9\nS9031000EC\nS107\n";
        let image = read_motorola(text);
        assert_eq!(image.runs().get(&0x1000), Some(&vec![0xaa, 0xbb]));
        assert_eq!(image.runs().get(&0x10_0020), Some(&vec![0x01]));
        assert_eq!(image.entry, Some(0x1000));
        assert!(image.warnings.iter().any(|w| w.contains("cut short")));
    }

    #[test]
    fn runs_that_meet_become_one() {
        let mut image = Image::default();
        image.put(0x10, &[1, 2]);
        image.put(0x14, &[5, 6]);
        image.put(0x12, &[3, 4]);
        image.put(0x15, &[7, 8]);
        image.put(0x20, &[9]);
        let runs = [(0x10, vec![1, 2, 3, 4, 5, 7, 8]), (0x20, vec![9])];
        assert_eq!(image.runs(), runs.into());
    }

    #[test]
    fn records_in_descending_order_cost_no_more() {
        // Joining each record with all that came before took minutes here.
        let mut image = Image::default();
        for at in (0..1_000_000u64).rev() {
            image.put(8 * at, &at.to_be_bytes());
        }
        let runs = image.runs();
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[&0].get(8 * 999_999..), Some(&999_999u64.to_be_bytes()[..]));
    }
}
