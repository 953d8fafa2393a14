//! Sections of debug information as they were before they were compressed.
//!
//! What a section claims to expand to is believed only within bounds.

use std::io::Read;

/// Sections larger than this are left alone.
const LARGEST: u64 = 1 << 30;
/// Bytes that compressed sections of one program may expand to.
const TOTAL: u64 = 1 << 30;
/// Sections may grow to this size, whatever their size is in the file.
const SMALL: u64 = 1 << 20;
/// Beyond that, no more than this many times their size in the file.
const RATIO: u64 = 100;

/// What is left to expand to, and what was not expanded.
pub(super) struct Expander {
    big_endian: bool,
    left: u64,
    pub(super) warnings: Vec<String>,
}

/// How a section is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Zlib,
    Zstandard,
}

impl Expander {
    pub(super) fn new(big_endian: bool) -> Expander {
        Expander { big_endian, left: TOTAL, warnings: Vec::new() }
    }

    /// The content of a section; empty, with a warning, if it cannot be had.
    pub(super) fn expand(&mut self, name: &str, stored: Vec<u8>) -> Vec<u8> {
        let Some((method, size, data)) = self.header(name, &stored) else {
            if stored.len() as u64 <= LARGEST {
                return stored;
            }
            self.warnings.push(format!("DWARF: {name} was not read: it is too large"));
            return Vec::new();
        };
        let most = SMALL.max((data.len() as u64).saturating_mul(RATIO)).min(self.left);
        if size > most {
            self.warnings.push(format!(
                "DWARF: {name} was not read: {} compressed bytes claim to be {size}",
                data.len()
            ));
            return Vec::new();
        }
        match inflate(method, data, size) {
            Some(content) => {
                self.left -= size;
                content
            }
            None => {
                self.warnings
                    .push(format!("DWARF: {name} was not read: its compressed bytes are damaged"));
                Vec::new()
            }
        }
    }

    /// What stands before compressed bytes. The numbers of a compression header make no sense
    /// as the beginning of any section that is not compressed.
    fn header<'d>(&self, name: &str, stored: &'d [u8]) -> Option<(Method, u64, &'d [u8])> {
        if let Some(rest) = stored.strip_prefix(b"ZLIB")
            && name.starts_with(".zdebug")
        {
            let (size, data) = rest.split_first_chunk::<8>()?;
            return Some((Method::Zlib, u64::from_be_bytes(*size), data));
        }
        let word = |at: usize| -> Option<u32> {
            let bytes: [u8; 4] = stored.get(at..at + 4)?.try_into().ok()?;
            Some(if self.big_endian {
                u32::from_be_bytes(bytes)
            } else {
                u32::from_le_bytes(bytes)
            })
        };
        let long = |at: usize| -> Option<u64> {
            let (first, second) = (u64::from(word(at)?), u64::from(word(at + 4)?));
            Some(if self.big_endian { first << 32 | second } else { second << 32 | first })
        };
        let method = match word(0)? {
            1 => Method::Zlib,
            2 => Method::Zstandard,
            _ => return None,
        };
        let (size, alignment, data) = match word(4)? {
            0 => (long(8)?, long(16)?, stored.get(24..)?),
            size => (u64::from(size), u64::from(word(8)?), stored.get(12..)?),
        };
        let begins = match method {
            Method::Zlib => data.first()? & 0x0f == 8,
            Method::Zstandard => data.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
        };
        (begins && alignment <= 4096 && (alignment == 0 || alignment.is_power_of_two()))
            .then_some((method, size, data))
    }
}

/// Exactly the size that was claimed, or nothing.
fn inflate(method: Method, data: &[u8], size: u64) -> Option<Vec<u8>> {
    let size = usize::try_from(size).ok()?;
    let content = match method {
        Method::Zlib => miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(data, size).ok()?,
        Method::Zstandard => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(data).ok()?;
            let mut content = Vec::new();
            decoder.take(size as u64 + 1).read_to_end(&mut content).ok()?;
            content
        }
    };
    (content.len() == size).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_header(kind: u32, size: u64, data: &[u8]) -> Vec<u8> {
        let mut section = kind.to_le_bytes().to_vec();
        section.extend([0; 4]);
        section.extend(size.to_le_bytes());
        section.extend(1u64.to_le_bytes());
        section.extend(data);
        section
    }

    #[test]
    fn zlib_in_both_wrappings() {
        let content = b"some content, some content".repeat(9);
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&content, 6);
        let mut expander = Expander::new(false);
        let section = with_header(1, content.len() as u64, &packed);
        assert_eq!(expander.expand(".debug_str", section), content);
        let mut old = b"ZLIB".to_vec();
        old.extend((content.len() as u64).to_be_bytes());
        old.extend(&packed);
        assert_eq!(expander.expand(".zdebug_str", old), content);
        assert!(expander.warnings.is_empty());
    }

    #[test]
    fn bombs_and_damage_are_told_and_not_expanded() {
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&vec![0; 8 << 20], 9);
        let mut expander = Expander::new(false);
        assert!(expander.expand(".debug_info", with_header(1, 8 << 20, &packed)).is_empty());
        assert!(expander.expand(".debug_info", with_header(1, u64::MAX, &packed)).is_empty());
        // More comes out than is claimed.
        assert!(expander.expand(".debug_info", with_header(1, 100, &packed)).is_empty());
        assert!(expander.expand(".debug_info", with_header(1, 100, &packed[..9])).is_empty());
        assert_eq!(expander.warnings.len(), 4);
    }

    #[test]
    fn plain_content_stays() {
        let content = vec![1, 0, 0, 0, 0, 0, 0, 0, 7];
        assert_eq!(Expander::new(false).expand(".debug_str", content.clone()), content);
    }
}
