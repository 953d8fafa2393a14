//! Debug information in files of its own: found by build id or by the link in the program, and what
//! several of them share.
//!
//! What is found must fit by its build id or its checksum.

use crate::debug_files::{DebugFiles, Sought};
use object::{Object, ObjectSection};
use program::{Address, Program};

/// Longest build id.
const LONGEST_ID: usize = 64;
/// Longest link.
const LONGEST_LINK: u64 = 4096;

/// A file that was read.
pub(super) struct Separate {
    pub(super) path: String,
    pub(super) content: Vec<u8>,
}

/// The file that fits the program, if there is one; tells of those that do not fit.
pub(super) fn find(
    program: &Program,
    files: &dyn DebugFiles,
    warnings: &mut Vec<String>,
) -> Option<Separate> {
    if let Some(id) = build_id(program) {
        let fits = |content: &[u8]| id_of(content).as_deref() == Some(&*id);
        if let Some(found) = first(files, &Sought::Build { id: &id }, fits, "build id", warnings) {
            return Some(found);
        }
    }
    let (name, checksum) = link(program)?;
    let fits = |content: &[u8]| crc32(content) == checksum;
    let found = first(files, &Sought::Link { name: &name }, fits, "checksum", warnings);
    if found.is_none() {
        warnings.push(format!("DWARF: the file {name:?} with debug information was not found"));
    }
    found
}

/// Where what a program shares with others is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SharedLink {
    name: String,
    id: Vec<u8>,
}

impl SharedLink {
    /// The link that one of the sections holds which may hold one.
    pub(super) fn find(section: impl Fn(&str) -> Option<Vec<u8>>) -> Option<SharedLink> {
        let gnu = section(".gnu_debugaltlink").and_then(|bytes| SharedLink::of_gnu(&bytes));
        gnu.or_else(|| SharedLink::of_standard(&section(".debug_sup")?))
    }

    /// A name, then the id of a build.
    fn of_gnu(section: &[u8]) -> Option<SharedLink> {
        let end = section.iter().position(|byte| *byte == 0)?;
        SharedLink::new(section.get(..end)?, section.get(end + 1..)?)
    }

    /// The same as DWARF 5 has it, unless the file is the one that is shared.
    fn of_standard(section: &[u8]) -> Option<SharedLink> {
        let (is_shared, name, id) = supplement(section)?;
        (!is_shared).then(|| SharedLink::new(name, id))?
    }

    fn new(name: &[u8], id: &[u8]) -> Option<SharedLink> {
        let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?.to_owned();
        let fits = !id.is_empty() && id.len() <= LONGEST_ID;
        fits.then(|| SharedLink { name, id: id.to_vec() })
    }
}

/// What `.debug_sup` says behind its version: whether the file is the shared one, the name of the other
/// one, and the id that both bear.
fn supplement(section: &[u8]) -> Option<(bool, &[u8], &[u8])> {
    let (head, rest) = section.split_first_chunk::<3>()?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    let (length, id) = rest.get(end + 1..)?.split_first()?;
    let id = id.get(..usize::from(*length))?;
    Some((head[2] != 0, rest.get(..end)?, id))
}

/// What a program shares with others, by the link to it.
pub(super) fn find_shared(
    link: &SharedLink,
    from: Option<&str>,
    files: &dyn DebugFiles,
    warnings: &mut Vec<String>,
) -> Option<Separate> {
    let SharedLink { name, id } = link;
    let fits = |content: &[u8]| {
        id_of(content).as_ref() == Some(id) || shared_id(content).as_ref() == Some(id)
    };
    let found = first(files, &Sought::Shared { name, id, from }, fits, "build id", warnings);
    if found.is_none() {
        warnings.push(format!(
            "DWARF: the file {name:?} was not found, which holds types and names that this program \
             shares with others; they are missing. Put it beside the program"
        ));
    }
    found
}

/// The id that a shared file bears.
fn shared_id(content: &[u8]) -> Option<Vec<u8>> {
    let file = object::File::parse(content).ok()?;
    let section = file.section_by_name(".debug_sup")?;
    supplement(section.data().ok()?).map(|(_, _, id)| id.to_vec())
}

/// The first candidate that fits.
fn first(
    files: &dyn DebugFiles,
    sought: &Sought<'_>,
    fits: impl Fn(&[u8]) -> bool,
    by: &str,
    warnings: &mut Vec<String>,
) -> Option<Separate> {
    for path in files.candidates(sought) {
        match files.read(&path) {
            Some(content) if fits(&content) => return Some(Separate { path, content }),
            Some(_) => {
                warnings.push(format!("DWARF: {path} was not read: its {by} is another one"));
            }
            None => warnings.push(format!("DWARF: {path} could not be read, or is too large")),
        }
    }
    None
}

/// The content of a block, up to a size.
fn content(program: &Program, name: &str, most: u64) -> Option<(Address, Vec<u8>)> {
    let block = program.memory.block_named(name)?;
    let mut bytes = vec![0; block.length.min(most) as usize];
    let read = program.memory.read(block.start, &mut bytes).ok()?;
    bytes.truncate(read);
    Some((block.start, bytes))
}

/// The link of a program to what it shares with others.
pub(super) fn shared_link(program: &Program) -> Option<SharedLink> {
    SharedLink::find(|name| content(program, name, LONGEST_LINK).map(|(_, bytes)| bytes))
}

/// The build id out of the program's note.
fn build_id(program: &Program) -> Option<Vec<u8>> {
    let (_, note) = content(program, ".note.gnu.build-id", 256)?;
    let word = |at: usize| -> Option<u32> {
        let bytes: [u8; 4] = note.get(at..at + 4)?.try_into().ok()?;
        let big = program.memory.big_endian();
        Some(if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    let length = word(4)? as usize;
    let is_id = word(0)? == 4 && word(8)? == 3 && note.get(12..16)? == b"GNU\0";
    if !is_id || !(2..=LONGEST_ID).contains(&length) {
        return None;
    }
    Some(note.get(16..16 + length)?.to_vec())
}

fn id_of(bytes: &[u8]) -> Option<Vec<u8>> {
    object::File::parse(bytes).ok()?.build_id().ok()?.map(<[u8]>::to_vec)
}

/// The name and the checksum out of the program's link.
fn link(program: &Program) -> Option<(String, u32)> {
    let (_, bytes) = content(program, ".gnu_debuglink", 4096)?;
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(&bytes[..end]).ok()?;
    // Other folders than the known ones are not looked into.
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\']) {
        return None;
    }
    let at = (end + 4) & !3;
    let checksum: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    let big = program.memory.big_endian();
    let checksum = if big { u32::from_be_bytes(checksum) } else { u32::from_le_bytes(checksum) };
    Some((name.to_owned(), checksum))
}

/// The checksum that links carry.
fn crc32(bytes: &[u8]) -> u32 {
    let table: [u32; 256] = std::array::from_fn(|index| {
        (0..8).fold(index as u32, |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    });
    !bytes
        .iter()
        .fold(!0u32, |crc, byte| table[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8))
}

#[cfg(test)]
mod tests {
    #[test]
    fn checksums_are_those_of_links() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
