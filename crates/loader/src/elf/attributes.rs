//! Object attributes: what the compiler states in `.gnu.attributes` of the ABI that it followed.

use super::file::ElfFile;
use object::elf::FileHeader32;
use object::endian::Endianness;
use object::read::elf::{AttributesSection, AttributesSubsubsection};

const SHT_GNU_ATTRIBUTES: u32 = 0x6fff_fff5;
const TAG_FILE: u8 = 1;
/// PowerPC: which vector registers pass arguments.
const TAG_POWER_ABI_VECTOR: u64 = 8;
const VECTORS_ALTIVEC: u64 = 2;

/// Whether a PowerPC file states that vectors are passed in AltiVec's registers. False where the
/// attributes are absent or broken.
pub(super) fn states_altivec(file: &ElfFile) -> bool {
    let sections = file.sections.iter().filter(|s| s.kind == SHT_GNU_ATTRIBUTES);
    sections.filter_map(|section| section.bytes(&file.bytes)).any(|bytes| {
        let vectors = gnu_attribute(bytes, file.header.big_endian, TAG_POWER_ABI_VECTOR);
        vectors == Some(VECTORS_ALTIVEC)
    })
}

/// The number that an attribute of the whole file has.
fn gnu_attribute(bytes: &[u8], big_endian: bool, wanted: u64) -> Option<u64> {
    let endian = if big_endian { Endianness::Big } else { Endianness::Little };
    // The form is the same for both sizes of files.
    let section = AttributesSection::<FileHeader32<Endianness>>::new(endian, bytes).ok()?;
    let mut subsections = section.subsections().ok()?;
    while let Ok(Some(subsection)) = subsections.next() {
        let mut parts = subsection.subsubsections();
        while let Ok(Some(part)) = parts.next() {
            if subsection.vendor() == b"gnu" && part.tag() == TAG_FILE {
                return value(&part, wanted);
            }
        }
    }
    None
}

/// Odd tags hold texts, even ones numbers, but for 32, which holds both.
fn value(part: &AttributesSubsubsection<'_>, wanted: u64) -> Option<u64> {
    let mut reader = part.attributes();
    while let Ok(Some(tag)) = reader.read_tag() {
        let number = if tag % 2 == 0 { Some(reader.read_integer().ok()?) } else { None };
        if tag % 2 == 1 || tag == 32 {
            reader.read_string().ok()?;
        }
        if tag == wanted {
            return number;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `A`, then one subsection of `gnu` with one part for the whole file.
    fn section(attributes: &[u8]) -> Vec<u8> {
        let part = 5 + attributes.len() as u32;
        let whole = 4 + 4 + part;
        let mut bytes = vec![b'A'];
        bytes.extend(whole.to_be_bytes());
        bytes.extend(b"gnu\0");
        bytes.push(TAG_FILE);
        bytes.extend(part.to_be_bytes());
        bytes.extend(attributes);
        bytes
    }

    #[test]
    fn the_vector_abi_is_found_behind_other_attributes() {
        let bytes = section(&[4, 1, 5, b'x', 0, 32, 1, b'g', 0, 8, 2]);
        assert_eq!(gnu_attribute(&bytes, true, TAG_POWER_ABI_VECTOR), Some(VECTORS_ALTIVEC));
        assert_eq!(gnu_attribute(&section(&[4, 1]), true, TAG_POWER_ABI_VECTOR), None);
        for cut in 0..bytes.len() {
            assert_ne!(gnu_attribute(&bytes[..cut], true, 8), Some(3), "broken, but read");
        }
    }
}
