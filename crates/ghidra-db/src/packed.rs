//! The packed file (`.gzf`, `.gdt`): a header that Java serialised, then one deflated zip entry
//! without a central directory.

use std::path::Path;

use crate::Error;
use crate::bytes::Bytes;

/// Java's serialisation stream, version 5.
const STREAM: [u8; 4] = [0xac, 0xed, 0x00, 0x05];
const SHORT_BLOCK: u8 = 0x77;
const LONG_BLOCK: u8 = 0x7a;
const MAGIC: i64 = 0x2e30_2126_34e9_2c20;
const FORMAT: i32 = 1;
const LOCAL_ENTRY: [u8; 4] = *b"PK\x03\x04";
const ENTRY_NAME: &[u8] = b"FOLDER_ITEM";
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// No deflated byte yields more.
const MOST_GROWTH: usize = 1032;

/// A packed file, unpacked.
#[derive(Debug, Clone)]
pub struct Packed {
    /// The item's name in the project that it comes from.
    pub name: String,
    /// What it holds: `Program`, `Archive` ..., empty when it does not say.
    pub content_type: String,
    /// 0 for a database.
    pub file_type: i32,
    /// The buffer file, see [`crate::Database::parse`].
    pub content: Vec<u8>,
}

impl Packed {
    /// Whether the bytes begin as a packed file does.
    pub fn is_packed(bytes: &[u8]) -> bool {
        header(bytes).is_ok()
    }

    /// Reads and unpacks a file.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] and [`Error::Packed`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(&std::fs::read(path).map_err(Error::io(path))?)
    }

    /// Unpacks the bytes of a packed file. Costs memory for what the header says, and never more
    /// than the deflated bytes can yield.
    ///
    /// # Errors
    ///
    /// [`Error::Packed`] when they are none, are cut off, or belong to an unknown format.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let (header, entry) = header(bytes)?;
        let content = unpack(entry, header.length)?;
        let Header { name, content_type, file_type, .. } = header;
        Ok(Self { name, content_type, file_type, content })
    }
}

struct Header {
    name: String,
    content_type: String,
    file_type: i32,
    length: usize,
}

/// The fields before the zip entry, and the bytes from the entry on.
fn header(bytes: &[u8]) -> Result<(Header, &[u8]), Error> {
    let rest = bytes.strip_prefix(&STREAM).ok_or(Error::Packed("the magic number is another"))?;
    let mut rest = Bytes::new(rest);
    let mut fields = Vec::new();
    loop {
        let length = match rest.u8() {
            Some(SHORT_BLOCK) => usize::from(rest.u8().ok_or(CUT)?),
            Some(LONG_BLOCK) => {
                usize::try_from(rest.i32().ok_or(CUT)?).map_err(|_| Error::Packed("bad block"))?
            }
            Some(_) => return Err(Error::Packed("the header is not block data")),
            None => return Err(CUT),
        };
        fields.extend_from_slice(rest.take(length).ok_or(CUT)?);
        match read_header(&fields) {
            Ok(header) => return Ok((header, &bytes[STREAM.len() + rest.position()..])),
            Err(None) => {}
            Err(Some(problem)) => return Err(problem),
        }
    }
}

const CUT: Error = Error::Packed("it ends within its header");

/// The header; `Err(None)` when bytes are missing that another block may bring.
fn read_header(fields: &[u8]) -> Result<Header, Option<Error>> {
    let mut fields = Bytes::new(fields);
    if fields.i64().ok_or(None)? != MAGIC {
        return Err(Some(Error::Packed("the magic number is another")));
    }
    if fields.i32().ok_or(None)? != FORMAT {
        return Err(Some(Error::Packed("the format version is unknown")));
    }
    let mut text = || {
        let length = fields.u16()?;
        Some(java_text(fields.take(usize::from(length))?))
    };
    let (name, content_type) = (text().ok_or(None)?, text().ok_or(None)?);
    let file_type = fields.i32().ok_or(None)?;
    let length = usize::try_from(fields.i64().ok_or(None)?)
        .map_err(|_| Some(Error::Packed("its length is negative")))?;
    Ok(Header { name, content_type, file_type, length })
}

/// Java's own UTF-8: surrogates are encoded one by one, and zero as two bytes.
fn java_text(bytes: &[u8]) -> String {
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().map(|&byte| u16::from(byte));
    while let Some(first) = rest.next() {
        let mut next = || rest.next().unwrap_or(0) & 0x3f;
        units.push(match first >> 4 {
            0..=7 => first,
            12 | 13 => (first & 0x1f) << 6 | next(),
            14 => (first & 0xf) << 12 | next() << 6 | next(),
            _ => 0xfffd,
        });
    }
    String::from_utf16_lossy(&units)
}

fn unpack(entry: &[u8], length: usize) -> Result<Vec<u8>, Error> {
    let (method, packed) = local_entry(entry).ok_or(Error::Packed("its zip entry is malformed"))?;
    let content = match method {
        STORED => packed.get(..length).map(<[u8]>::to_vec),
        DEFLATED => {
            if length / MOST_GROWTH > packed.len() {
                return Err(Error::Packed("it says it holds more than its bytes can yield"));
            }
            miniz_oxide::inflate::decompress_to_vec_with_limit(packed, length).ok()
        }
        _ => return Err(Error::Packed("its compression is unknown")),
    };
    match content {
        Some(content) if content.len() == length => Ok(content),
        _ => Err(Error::Packed("its content is cut off or damaged")),
    }
}

/// Method and content of a zip file's first entry.
fn local_entry(entry: &[u8]) -> Option<(u16, &[u8])> {
    let mut fields = Bytes::new(entry.strip_prefix(&LOCAL_ENTRY)?);
    fields.take(4)?;
    let method = u16::from_le_bytes(fields.take(2)?.try_into().ok()?);
    fields.take(16)?;
    let mut size = || Some(usize::from(u16::from_le_bytes(fields.take(2)?.try_into().ok()?)));
    let (name, extra) = (size()?, size()?);
    if fields.take(name)? != ENTRY_NAME {
        return None;
    }
    fields.take(extra)?;
    Some((method, &entry[LOCAL_ENTRY.len() + fields.position()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(name: &str, content: &[u8], block: usize) -> Vec<u8> {
        let mut fields = Vec::new();
        fields.extend(MAGIC.to_be_bytes());
        fields.extend(FORMAT.to_be_bytes());
        for text in [name, "Program"] {
            fields.extend((text.len() as u16).to_be_bytes());
            fields.extend(text.as_bytes());
        }
        fields.extend(0_i32.to_be_bytes());
        fields.extend((content.len() as i64).to_be_bytes());
        let mut file = STREAM.to_vec();
        for block in fields.chunks(block) {
            file.extend([SHORT_BLOCK, block.len() as u8]);
            file.extend(block);
        }
        file.extend(LOCAL_ENTRY);
        file.extend([20, 0, 8, 8, 8, 0]);
        file.extend([0; 16]);
        file.extend([11, 0, 0, 0]);
        file.extend(ENTRY_NAME);
        file.extend(miniz_oxide::deflate::compress_to_vec(content, 6));
        file.extend(b"PK\x07\x08 and sizes");
        file
    }

    #[test]
    fn content_is_unpacked_without_a_central_directory() {
        let content = b"some content, some content, some content".repeat(9);
        let read = Packed::parse(&packed("a name", &content, 20)).unwrap();
        assert_eq!((&*read.name, &*read.content_type, read.file_type), ("a name", "Program", 0));
        assert_eq!(read.content, content);
    }

    #[test]
    fn every_cut_is_refused() {
        let whole = packed("n", &[7; 300], 20);
        let end = whole.len() - b"PK\x07\x08 and sizes".len();
        for cut in 0..end {
            assert!(Packed::parse(&whole[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn a_length_beyond_what_bytes_can_yield_is_refused() {
        let mut file = packed("n", b"abc", 200);
        let at = file.windows(8).position(|part| part == 3_i64.to_be_bytes()).unwrap();
        file[at..at + 8].copy_from_slice(&i64::MAX.to_be_bytes());
        assert!(Packed::parse(&file).is_err());
    }

    #[test]
    fn names_in_java_utf8_are_read() {
        assert_eq!(java_text(b"a\xc3\xbc\xed\xa0\xbd\xed\xb8\x80"), "a\u{fc}\u{1f600}");
        assert_eq!(java_text(b"\xe2"), "\u{2000}");
    }
}
