//! Reads `.eh_frame_hdr` and `.eh_frame`: the common entries, the entry of each
//! function, and the data areas they lead to.

use super::encoding::{Encoding, Format, Source};
use super::lsda;
use super::sink::{Shape, Sink};
use super::{CallSite, Frame};
use program::{Address, AddressRange, CommentKind, RefType};
use std::collections::{HashMap, HashSet};

/// Longest augmentation string that is believed.
const AUGMENTATION: u64 = 32;
/// The length that says that the real one follows in eight bytes.
const EXTENDED: u64 = 0xffff_ffff;

/// What the entries of functions need from their common entry.
#[derive(Clone)]
struct Common {
    sized: bool,
    language_data: bool,
    frame_encoding: Encoding,
    language_encoding: Encoding,
    next: Address,
}

/// How reading one entry ended.
enum Entry {
    /// Read; the next one follows at that place.
    Function(Option<Frame>, Option<Address>),
    /// Not a function's entry but a common one.
    Common,
    /// The end of all entries.
    End,
}

/// Reads the sections of one program.
pub(super) struct Reader<'a, S: Sink> {
    source: Source<'a>,
    sink: &'a mut S,
    commons: HashMap<Address, Option<Common>>,
    areas: HashSet<Address>,
    budget: u64,
}

impl<'a, S: Sink> Reader<'a, S> {
    pub fn new(source: Source<'a>, sink: &'a mut S) -> Self {
        let blocks = source.memory.blocks().iter().filter(|b| b.is_initialized());
        let budget = blocks.fold(0u64, |sum, block| sum.saturating_add(block.length));
        Reader { source, sink, commons: HashMap::new(), areas: HashSet::new(), budget }
    }

    /// Everything: the header, then the frames in file order.
    pub fn read(&mut self) -> Vec<Frame> {
        let section = |name: &str| self.source.memory.block_named(name).map(|b| b.range());
        let (header, frames) = (section(".eh_frame_hdr"), section(".eh_frame"));
        if let Some(range) = header {
            self.header(range);
        }
        frames.map(|range| self.frames(range)).unwrap_or_default()
    }

    fn header(&mut self, range: AddressRange) -> Option<()> {
        let start = range.start;
        let [_, frame, count, table] = self.source.memory.read_array::<4>(start)?;
        self.sink.field(start, Shape::Header, 4);
        self.sink.comment(start, CommentKind::Plate, "Exception Handler Frame Header");
        let pointer = self.source.pointer;
        let mut at = start.checked_add(4)?;
        let (frames, length) = self.source.pointer_at(at, Encoding(frame), start)?;
        self.sink.noted(at, Shape::of(Encoding(frame), pointer)?, length, "Encoded eh_frame_ptr");
        self.sink.refer(at, frames, RefType::Data);
        at = at.checked_add(u64::from(length))?;
        let entries = self.source.raw(at, Encoding(count))?;
        let shape = Shape::of(Encoding(count), pointer)?;
        self.sink.noted(at, shape, entries.length, "Encoded FDE count");
        at = at.checked_add(u64::from(entries.length))?;
        if entries.number > 0 {
            self.table(at, Encoding(table), entries.number, range)?;
        }
        Some(())
    }

    fn table(
        &mut self,
        first: Address,
        encoding: Encoding,
        count: u64,
        range: AddressRange,
    ) -> Option<()> {
        let Format::Fixed { size, .. } = encoding.format(self.source.pointer)? else {
            return None;
        };
        let mut at = first;
        for _ in 0..count {
            if at >= range.end || self.sink.ends() {
                break;
            }
            let second = at.checked_add(u64::from(size))?;
            let (code, _) = self.source.pointer_at(at, encoding, range.start)?;
            let (entry, _) = self.source.pointer_at(second, encoding, range.start)?;
            self.sink.field(at, Shape::TableEntry(size), 2 * size);
            let indirection = RefType::Flow(program::FlowType::Indirection);
            self.sink.refer(at, code, indirection);
            self.sink.refer(second, entry, RefType::Data);
            at = second.checked_add(u64::from(size))?;
        }
        self.sink.comment(first, CommentKind::Plate, "Frame Description Entry Table");
        Some(())
    }

    fn frames(&mut self, range: AddressRange) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut next = Some(range.start);
        while let Some(at) = next.filter(|at| *at < range.end && !self.sink.ends()) {
            match self.entry(at, range) {
                Entry::Function(frame, after) => {
                    frames.extend(frame);
                    next = after.filter(|after| *after > at);
                }
                Entry::Common => {
                    let common = self.common(at);
                    next = common.map(|c| c.next).filter(|after| *after > at);
                }
                Entry::End => break,
            }
        }
        frames
    }

    /// Length and end of the entry at `at`, and where its id stands.
    fn extent(&self, at: Address) -> Option<(u64, Address, Address)> {
        let length = self.source.number(at, 4)?;
        let start = at.checked_add(4)?;
        if length != EXTENDED {
            return Some((length, start.checked_add(length)?, start));
        }
        let length = self.source.number(start, 8)?;
        let start = start.checked_add(8)?;
        Some((length, start.checked_add(length)?, start))
    }

    fn entry(&mut self, at: Address, range: AddressRange) -> Entry {
        let Some((length, end, id_at)) = self.extent(at) else { return Entry::End };
        if length == 0 {
            self.sink.noted(at, Shape::Dword, 4, "End of Frame");
            self.sink.comment(at, CommentKind::Plate, "END OF FRAME");
            return Entry::End;
        }
        match self.source.number(id_at, 4) {
            None => return Entry::End,
            Some(0) => return Entry::Common,
            Some(_) => {}
        }
        let frame = self.function(at, end, id_at, range);
        Entry::Function(frame, Some(end))
    }

    /// The common entry at `at`, read once.
    fn common(&mut self, at: Address) -> Option<Common> {
        if let Some(known) = self.commons.get(&at) {
            return known.clone();
        }
        let common = self.read_common(at);
        self.commons.insert(at, common.clone());
        common
    }

    fn read_common(&mut self, start: Address) -> Option<Common> {
        let (length, end, id_at) = self.extent(start)?;
        if length == 0 {
            return None;
        }
        self.sink.noted(start, Shape::Dword, 4, "(CIE) Length");
        self.sink.noted(id_at, Shape::Dword, 4, "(CIE) ID");
        let mut at = id_at.checked_add(4)?;
        let version = self.source.byte(at)?;
        self.sink.noted(at, Shape::Byte, 1, "(CIE) Version");
        at = at.checked_add(1)?;
        let augmentation = self.augmentation(at)?;
        let length = augmentation.len() as u32 + 1;
        self.sink.noted(at, Shape::Text, length, "(CIE) Augmentation String");
        at = at.checked_add(u64::from(length))?;
        if version >= 4 {
            self.sink.noted(at, Shape::Byte, 1, "(CIE) Pointer Size");
            let segment = at.checked_add(1)?;
            self.sink.noted(segment, Shape::Byte, 1, "(CIE) Segment Size");
            at = segment.checked_add(1)?;
        }
        let code = self.source.unsigned_leb128(at)?;
        self.sink.noted(at, Shape::Unsigned, code.length, "(CIE) Code Alignment");
        at = at.checked_add(u64::from(code.length))?;
        let data = self.source.signed_leb128(at)?;
        self.sink.noted(at, Shape::Signed, data.length, "(CIE) Data Alignment");
        at = at.checked_add(u64::from(data.length))?;
        at = self.return_register(at, version)?;
        let mut common = Common {
            sized: augmentation.first() == Some(&b'z'),
            // A letter right after the `z` does not count: there is no
            // personality to read the area.
            language_data: augmentation.iter().position(|c| *c == b'L').is_some_and(|n| n > 1),
            frame_encoding: Encoding(0),
            language_encoding: Encoding(0),
            next: end,
        };
        if common.sized {
            at = self.augmentation_data(at, &augmentation, &mut common)?;
        }
        if at < end {
            let rest = u32::try_from(end.distance_from(at)?).ok()?;
            self.sink.noted(at, Shape::Bytes(rest), rest, "(CIE) Initial Instructions");
        }
        self.sink.label(start, "cie_");
        self.sink.comment(start, CommentKind::Plate, "Common Information Entry");
        Some(common)
    }

    fn augmentation(&self, at: Address) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for i in 0..AUGMENTATION {
            match self.source.byte(at.checked_add(i)?)? {
                0 => return Some(text),
                byte => text.push(byte),
            }
        }
        None
    }

    fn return_register(&mut self, at: Address, version: u8) -> Option<Address> {
        let text = "(CIE) Return Address Register Column";
        if version == 1 {
            self.sink.noted(at, Shape::Byte, 1, text);
            return at.checked_add(1);
        }
        let register = self.source.unsigned_leb128(at)?;
        self.sink.noted(at, Shape::Unsigned, register.length, text);
        at.checked_add(u64::from(register.length))
    }

    fn augmentation_data(
        &mut self,
        start: Address,
        letters: &[u8],
        common: &mut Common,
    ) -> Option<Address> {
        let length = self.source.unsigned_leb128(start)?;
        self.sink.noted(start, Shape::Unsigned, length.length, "(CIE) Augmentation Data Length");
        let mut at = start.checked_add(u64::from(length.length))?;
        let end = at.checked_add(length.number)?;
        for letter in letters.iter().skip(1) {
            if at >= end {
                break;
            }
            let encoding = Encoding(self.source.byte(at)?);
            let text = match letter {
                b'L' => "LSDA Personality Function Pointer Encoding",
                b'R' => "FDE Encoding",
                b'P' => "Personality Function Pointer Encoding",
                _ => continue,
            };
            let text = format!("(CIE Augmentation Data) {text}");
            self.sink.noted(at, Shape::Encoding, 1, &text);
            at = at.checked_add(1)?;
            match letter {
                b'L' => common.language_encoding = encoding,
                b'R' => common.frame_encoding = encoding,
                _ => at = self.personality(at, encoding)?,
            }
        }
        Some(end)
    }

    fn personality(&mut self, at: Address, encoding: Encoding) -> Option<Address> {
        let (target, length) = self.source.pointer_at(at, encoding, at)?;
        let text =
            format!("(CIE Augmentation Data) Personality Function Pointer ({:08x})", target.offset);
        self.sink.noted(at, Shape::of(encoding, self.source.pointer)?, length, &text);
        self.sink.refer(at, target, RefType::Data);
        at.checked_add(u64::from(length))
    }

    fn function(
        &mut self,
        start: Address,
        end: Address,
        id_at: Address,
        range: AddressRange,
    ) -> Option<Frame> {
        self.sink.noted(start, Shape::Dword, 4, "(FDE) Length");
        let back = self.source.number(id_at, 4)?;
        let common_at = id_at.checked_sub(back)?;
        // The blank at the end belongs to the text as Ghidra shows it.
        self.sink.noted(id_at, Shape::Dword, 4, "(FDE) CIE Reference Pointer ");
        self.sink.refer(id_at, common_at, RefType::Data);
        let common = self.common(common_at)?;
        let mut at = id_at.checked_add(4)?;
        let (code, length) = self.source.pointer_at(at, common.frame_encoding, range.start)?;
        let shape = Shape::of(common.frame_encoding, self.source.pointer)?;
        self.sink.noted(at, shape, length, "(FDE) PcBegin");
        if code.offset != 0 {
            self.sink.refer(at, code, RefType::Data);
        }
        at = at.checked_add(u64::from(length))?;
        let plain = Encoding(common.frame_encoding.0 & 0x0f);
        let size = self.source.raw(at, plain)?;
        let body = AddressRange::with_length(code, size.number.max(1))?;
        let sites = self.rest(start, at, end, &common, size.length, body);
        Some(Frame { body, call_sites: sites.unwrap_or_default() })
    }

    /// Reads what follows the first address of an entry.
    fn rest(
        &mut self,
        start: Address,
        size_at: Address,
        end: Address,
        common: &Common,
        size_length: u32,
        body: AddressRange,
    ) -> Option<Vec<CallSite>> {
        let after = size_at.checked_add(u64::from(size_length))?;
        let shown = self.shown_size(size_at)?;
        let shape = if shown == 8 { Shape::Qword } else { Shape::Dword };
        self.sink.noted(size_at, shape, shown, "(FDE) PcRange");
        let mark = size_at.checked_add(u64::from(shown))?;
        let area = self.marked_rest(mark, end, common);
        self.sink.label(start, "fde_");
        self.sink.comment(start, CommentKind::Plate, "Frame Descriptor Entry");
        area?;
        self.language_area(after, common, body)
    }

    /// Ghidra shows the size of a function as eight bytes where pointers have
    /// as many and the upper half happens to be zero, although it is stored in
    /// the form of the entry's pointers; what follows is shown from there on.
    fn shown_size(&self, at: Address) -> Option<u32> {
        if self.source.pointer != 8 {
            return Some(self.source.pointer);
        }
        let upper = self.source.number(at.checked_add(4)?, 4)?;
        Some(if upper == 0 { 8 } else { 4 })
    }

    fn marked_rest(&mut self, start: Address, end: Address, common: &Common) -> Option<()> {
        let mut at = start;
        if at < end && common.sized {
            let length = self.source.unsigned_leb128(at)?;
            let text = "(FDE) Augmentation Data Length";
            self.sink.noted(at, Shape::Unsigned, length.length, text);
            at = at.checked_add(u64::from(length.length))?;
            self.sink.comment(at, CommentKind::Eol, "(FDE) Augmentation Data");
            at = at.checked_add(length.number)?;
        }
        if at < end {
            let rest = u32::try_from(end.distance_from(at)?).ok()?;
            self.sink.noted(at, Shape::Bytes(rest), rest, "(FDE) Call Frame Instructions");
        }
        Some(())
    }

    fn language_area(
        &mut self,
        start: Address,
        common: &Common,
        body: AddressRange,
    ) -> Option<Vec<CallSite>> {
        if !common.sized || !common.language_data {
            return None;
        }
        let length = self.source.unsigned_leb128(start)?;
        if length.number == 0 {
            return None;
        }
        let at = start.checked_add(u64::from(length.length))?;
        let encoding = common.language_encoding;
        let (area, length) = self.source.pointer_at(at, encoding, at)?;
        let shape = Shape::of(encoding, self.source.pointer)?;
        self.sink.noted(at, shape, length, "(FDE Augmentation Data) LSDA Data Pointer");
        // A stored zero means that there is no area.
        if area == at || area.offset == 0 {
            return None;
        }
        self.sink.refer(at, area, RefType::Data);
        if !self.areas.insert(area) {
            return None;
        }
        let (source, sink) = (self.source, &mut *self.sink);
        let mut reader = lsda::Reader { source, sink, budget: &mut self.budget };
        Some(reader.read(area, body))
    }
}
