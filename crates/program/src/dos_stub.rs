//! The small DOS program at the start of a PE file: the makers of programs differ in it, and both
//! the compiler specification and the descriptions of types to look for follow from the maker.

use memchr::memmem;

/// Where the DOS program begins, and how much of it is looked at.
const CODE: usize = 0x40;
const LOOKED_AT: usize = 0x100;
/// Where the offset of the new header stands.
const HEADER: usize = 0x3c;
/// What the code usually does: print its message and end.
const USUAL: [u8; 14] =
    [0x0e, 0x1f, 0xba, 0x0e, 0x00, 0xb4, 0x09, 0xcd, 0x21, 0xb8, 0x01, 0x4c, 0xcd, 0x21];
/// How Borland's does the same.
const BORLAND: [u8; 16] = [
    0xba, 0x10, 0x00, 0x0e, 0x1f, 0xb4, 0x09, 0xcd, 0x21, 0xb8, 0x01, 0x4c, 0xcd, 0x21, 0x90, 0x90,
];
/// What it says, by gcc and Microsoft, by clang, and by Borland.
const MESSAGE: &[u8] = b"This program cannot be run in DOS mode.\r\r\n$";
const CLANG_MESSAGE: &[u8] = b"This program cannot be run in DOS mode.$";
const BORLAND_MESSAGE: &[u8] = b"This program must be run under Win32\r\n$";
/// Where linkers usually put the new header, and where clang's does.
const USUAL_HEADER: u32 = 0x80;
const CLANG_HEADER: u32 = 0x78;
/// Headers farther away are nobody's.
const FARTHEST_HEADER: u32 = 0x300;
/// Two words that are this apart begin the list of tools that Microsoft's linker leaves behind.
const TOOLS: u32 = 0x536e_6144;

/// What is at the start of a PE file, in front of its new header.
#[derive(Debug, Clone, Copy)]
pub struct DosStub<'a> {
    /// Where the new header is, in bytes from the start of the file.
    pub header: u32,
    bytes: &'a [u8],
}

impl<'a> DosStub<'a> {
    /// Reads it from the first bytes of a file; `None` when they are too few, or the new header
    /// lies farther away than any linker puts it.
    pub fn read(bytes: &'a [u8]) -> Option<DosStub<'a>> {
        let header = word(bytes, HEADER)?;
        (header <= FARTHEST_HEADER).then_some(DosStub { header, bytes })
    }

    /// Whether Microsoft's linker left its list of tools behind it.
    pub fn has_tools(&self) -> bool {
        let at = USUAL_HEADER as usize;
        let tools = word(self.bytes, at).zip(word(self.bytes, at + 4));
        let listed = tools.is_some_and(|(a, b)| a != 0 && b != 0 && a ^ b == TOOLS);
        self.header > USUAL_HEADER && listed
    }

    /// Where Microsoft's linker left its list of tools, if it did: offset and length. The list is
    /// disguised by a number that stands at its end, behind the word `Rich`.
    pub fn tools(&self) -> Option<(u32, u32)> {
        let end = (self.header as usize).min(self.bytes.len());
        let head = self.bytes.get(..end)?;
        let rich = memmem::rfind(head, b"Rich").filter(|at| at % 4 == 0)?;
        let mask = word(head, rich + 4)?;
        let begins = |at: &usize| word(head, *at) == Some(mask ^ TOOLS);
        let start = (CODE..rich).step_by(4).rev().find(begins)?;
        Some((start as u32, (rich + 8 - start) as u32))
    }

    /// Whether the header follows right behind, as linkers usually have it.
    pub fn has_usual_header(&self) -> bool {
        self.header == USUAL_HEADER
    }

    /// Whether clang or its linker made it.
    pub fn is_by_clang(&self) -> bool {
        let placed = self.header == CLANG_HEADER && !self.message().is_empty();
        self.is_usual() && (placed || self.message().starts_with(CLANG_MESSAGE))
    }

    /// Whether code and message are those of gcc and of Microsoft.
    pub fn is_plain(&self) -> bool {
        self.is_usual() && self.message().starts_with(MESSAGE)
    }

    /// Whether the message, or the code with any known message, is Borland's.
    pub fn is_by_borland(&self) -> bool {
        let borland = self.code().starts_with(&BORLAND);
        let known = [MESSAGE, CLANG_MESSAGE].iter().any(|text| self.message().starts_with(text));
        match self.message().starts_with(BORLAND_MESSAGE) {
            true => borland || self.is_usual(),
            false => borland && known,
        }
    }

    /// Whether the message is Borland's, whatever the code.
    pub fn speaks_as_borland(&self) -> bool {
        self.message().starts_with(BORLAND_MESSAGE)
    }

    fn is_usual(&self) -> bool {
        self.code().starts_with(&USUAL)
    }

    fn code(&self) -> &'a [u8] {
        let code = self.bytes.get(CODE..).unwrap_or_default();
        &code[..code.len().min(LOOKED_AT)]
    }

    fn message(&self) -> &'a [u8] {
        let code = self.code();
        memmem::find(code, b"This").map_or(&[][..], |at| &code[at..])
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: u32, code: &[u8], message: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; CODE];
        bytes[HEADER..HEADER + 4].copy_from_slice(&header.to_le_bytes());
        bytes.extend([code, message, &[0; 0x40]].concat());
        bytes
    }

    #[test]
    fn code_message_and_place_of_the_header_tell_the_maker() {
        let makers = |bytes: &[u8]| {
            let stub = DosStub::read(bytes).expect("a header near by");
            [stub.is_plain(), stub.is_by_clang(), stub.is_by_borland()]
        };
        assert_eq!(makers(&file(0x80, &USUAL, MESSAGE)), [true, false, false]);
        assert_eq!(makers(&file(0x80, &USUAL, CLANG_MESSAGE)), [false, true, false]);
        assert_eq!(makers(&file(0x78, &USUAL, MESSAGE)), [true, true, false]);
        assert_eq!(makers(&file(0x78, &[0x90; 14], MESSAGE)), [false, false, false]);
        assert_eq!(makers(&file(0x100, &BORLAND, BORLAND_MESSAGE)), [false, false, true]);
        assert!(DosStub::read(&file(0x301, &USUAL, MESSAGE)).is_none());
        assert!(DosStub::read(&[0; HEADER + 3]).is_none());
    }

    #[test]
    fn a_list_of_tools_begins_with_two_words_that_fit() {
        let mut bytes = file(0x100, &USUAL, MESSAGE);
        bytes.resize(0x100, 0);
        let has_tools = |bytes: &[u8]| DosStub::read(bytes).is_some_and(|stub| stub.has_tools());
        assert!(!has_tools(&bytes));
        bytes[0x80..0x84].copy_from_slice(&0x1234_5678u32.to_le_bytes());
        bytes[0x84..0x88].copy_from_slice(&(0x1234_5678 ^ TOOLS).to_le_bytes());
        assert!(has_tools(&bytes));
    }

    #[test]
    fn a_list_of_tools_ends_with_the_number_that_disguises_it() {
        let mask = 0x1234_5678u32;
        let mut bytes = file(0xc0, &USUAL, MESSAGE);
        bytes.resize(0x80, 0);
        let list = [TOOLS, 0, 0, 0, 0x0103_6b14, 5].map(|word| (word ^ mask).to_le_bytes());
        bytes.extend(list.concat());
        bytes.extend([*b"Rich", mask.to_le_bytes()].concat());
        bytes.resize(0xc0, 0);
        let tools = |bytes: &[u8]| DosStub::read(bytes).and_then(|stub| stub.tools());
        assert_eq!(tools(&bytes), Some((0x80, 32)));
        assert_eq!(tools(&file(0x80, &USUAL, MESSAGE)), None);
        bytes[0x9c] ^= 1;
        assert_eq!(tools(&bytes), None, "another number disguises nothing");
    }
}
