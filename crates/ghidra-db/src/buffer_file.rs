//! The buffer file (`.gbf`): a header block, then blocks of one size, each a flag, an index and a
//! buffer.

use crate::Error;
use crate::bytes::Bytes;

const MAGIC: i64 = 0x2f30_312c_3429_2c2a;
const FORMAT: i32 = 1;
/// Flag and index before each buffer.
const PREFIX: usize = 5;
const EMPTY: u8 = 1;
/// What Ghidra itself takes for the smallest.
const LEAST_BLOCK: usize = 128;

/// A buffer file in memory.
#[derive(Debug, Clone)]
pub struct BufferFile {
    bytes: Vec<u8>,
    block: usize,
    count: usize,
    /// Random number that tells one state of a file from another.
    pub file_id: i64,
    /// Named numbers of the header.
    pub parameters: Vec<(String, i32)>,
    /// Whether the file ends within a block.
    pub truncated: bool,
}

impl BufferFile {
    /// Whether the bytes begin as a buffer file does.
    pub fn is_buffer_file(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC.to_be_bytes())
    }

    /// Takes the bytes of a file and reads its header.
    ///
    /// # Errors
    ///
    /// [`Error::File`] when they are no buffer file, or one of an unknown format.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, Error> {
        if !Self::is_buffer_file(&bytes) {
            return Err(Error::File("the magic number is another".into()));
        }
        let cut = || Error::File("it ends within its header".into());
        let mut header = Bytes::at(&bytes, 8);
        let file_id = header.i64().ok_or_else(cut)?;
        let format = header.i32().ok_or_else(cut)?;
        if format != FORMAT {
            return Err(Error::File(format!("format version {format} is unknown")));
        }
        let size = header.i32().ok_or_else(cut)?;
        let block = usize::try_from(size).ok().filter(|&block| block >= LEAST_BLOCK);
        let block = block.ok_or_else(|| Error::File(format!("blocks of {size} bytes")))?;
        header.i32().ok_or_else(cut)?;
        let parameters = parameters(&mut header).ok_or_else(cut)?;
        let count = (bytes.len() / block).saturating_sub(1);
        let truncated = !bytes.len().is_multiple_of(block);
        Ok(Self { bytes, block, count, file_id, parameters, truncated })
    }

    /// How many buffers there are, free ones among them.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many bytes each buffer has.
    pub fn buffer_size(&self) -> usize {
        self.block - PREFIX
    }

    /// The header's number of that name.
    pub fn parameter(&self, name: &str) -> Option<i32> {
        self.parameters.iter().find(|(known, _)| known == name).map(|&(_, value)| value)
    }

    /// The bytes of a buffer.
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`] when the file has no such buffer, or it is free.
    pub fn buffer(&self, index: i32) -> Result<&[u8], Error> {
        let outside = Error::Buffer { buffer: index, problem: "the file has no such buffer" };
        let Ok(place) = usize::try_from(index) else { return Err(outside) };
        if place >= self.count {
            return Err(outside);
        }
        let start = (place + 1) * self.block;
        let block = &self.bytes[start..start + self.block];
        if block[0] & EMPTY != 0 {
            return Err(Error::Buffer { buffer: index, problem: "it is free" });
        }
        Ok(&block[PREFIX..])
    }
}

fn parameters(header: &mut Bytes<'_>) -> Option<Vec<(String, i32)>> {
    let count = header.i32()?;
    let mut parameters = Vec::new();
    for _ in 0..count {
        let name = header.sized()??;
        parameters.push((String::from_utf8_lossy(name).into_owned(), header.i32()?));
    }
    Some(parameters)
}
