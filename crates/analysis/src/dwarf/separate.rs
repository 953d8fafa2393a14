//! Debug information in a file of its own, found by build id or by the link in the program.
//!
//! Names come from the program and are not trusted: they lead into known folders only, and what
//! is found there must fit by its build id or its checksum.

use program::{Address, Program};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Files larger than this are left alone.
const LARGEST: u64 = 1 << 30;
/// Where systems keep debug information.
const SYSTEM: &str = "/usr/lib/debug";
/// Longest build id.
const LONGEST_ID: usize = 64;

/// The file that fits the program, if there is one; tells of those that do not fit.
pub(super) fn find(program: &Program, warnings: &mut Vec<String>) -> Option<(PathBuf, Vec<u8>)> {
    let own = Path::new(&program.info.executable_path);
    let folder = own.parent()?;
    if let Some(id) = build_id(program) {
        let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let (first, rest) = hex.split_at(2);
        let name = format!(".build-id/{first}/{rest}.debug");
        for path in [folder.join(&name), Path::new(SYSTEM).join(&name)] {
            match read(&path) {
                Some(bytes) if id_of(&bytes).as_deref() == Some(&*id) => {
                    return Some((path, bytes));
                }
                Some(_) => warnings.push(unfit(&path, "build id")),
                None => {}
            }
        }
    }
    let (name, checksum) = link(program)?;
    let mirrored = folder.strip_prefix("/").ok().map(|f| Path::new(SYSTEM).join(f).join(&name));
    let places = [Some(folder.join(&name)), Some(folder.join(".debug").join(&name)), mirrored];
    for path in places.into_iter().flatten().filter(|path| path != own) {
        match read(&path) {
            Some(bytes) if crc32(&bytes) == checksum => return Some((path, bytes)),
            Some(_) => warnings.push(unfit(&path, "checksum")),
            None => {}
        }
    }
    warnings.push(format!("DWARF: the file {name:?} with debug information was not found"));
    None
}

fn unfit(path: &Path, what: &str) -> String {
    format!("DWARF: {} was not read: its {what} is another one", path.display())
}

/// The whole content of a regular file of bearable size.
pub(super) fn read(path: &Path) -> Option<Vec<u8>> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The content of a block, up to a size.
fn content(program: &Program, name: &str, most: u64) -> Option<(Address, Vec<u8>)> {
    let block = program.memory.block_named(name)?;
    let mut bytes = vec![0; block.length.min(most) as usize];
    let read = program.memory.read(block.start, &mut bytes).ok()?;
    bytes.truncate(read);
    Some((block.start, bytes))
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
    use object::Object;
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
