//! Version resources (`VS_VERSIONINFO`): a fixed head, then named texts by language and the list of
//! languages, each with a head of three words.

use super::Loader;
use program::{Address, TypeId};

/// Bytes of the fixed head: three words, the key, and the numbers.
const HEAD: u32 = 92;
/// Bytes of the head of any other part.
const PART: u32 = 6;
/// Parts in one resource at most.
const PARTS: usize = 4096;

/// What a part is: the name of its head's type, and that of the parts in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Texts,
    Table,
    Text,
    Languages,
    Language,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Texts => "StringFileInfo",
            Kind::Table => "StringTable",
            Kind::Text => "StringInfo",
            Kind::Languages => "VarFileInfo",
            Kind::Language => "Var",
        }
    }

    fn inner(self) -> Option<Kind> {
        match self {
            Kind::Texts => Some(Kind::Table),
            Kind::Table => Some(Kind::Text),
            Kind::Languages => Some(Kind::Language),
            Kind::Text | Kind::Language => None,
        }
    }
}

/// Parts of one kind, or of either kind at the top, in a stretch of offsets.
struct Stretch {
    kind: Option<Kind>,
    at: u32,
    end: u32,
}

impl Loader {
    /// Lays out a version resource of so many bytes.
    pub(super) fn mark_version(&mut self, place: Address, size: u32) {
        let Some([length]) = self.halves::<1>(place) else { return };
        let end = u32::from(length).min(size);
        let head = self.version_type();
        if end < HEAD || !self.program.define_data(place, head, HEAD) {
            return;
        }
        let mut left = PARTS;
        let mut open = vec![Stretch { kind: None, at: HEAD, end }];
        while let Some(mut stretch) = open.pop() {
            let Some(next) = self.mark_part(place, &stretch).filter(|_| left > 0) else { continue };
            left -= 1;
            let (after, inner) = next;
            stretch.at = after;
            open.push(stretch);
            open.extend(inner);
        }
    }

    /// Lays out the part at the start of a stretch; where the next one is, and what is in this.
    fn mark_part(&mut self, base: Address, stretch: &Stretch) -> Option<(u32, Option<Stretch>)> {
        let at = stretch.at;
        let head = base.checked_add(u64::from(at))?;
        if at.checked_add(PART)? > stretch.end {
            return None;
        }
        let [length, value_length, _] = self.halves::<3>(head)?;
        let end = at.checked_add(u32::from(length)).filter(|end| *end <= stretch.end)?;
        let (key_length, key) = self.text_at(base, at + PART, end)?;
        let kind = match (stretch.kind, key.as_str()) {
            (Some(kind), _) => kind,
            (None, "StringFileInfo") => Kind::Texts,
            (None, "VarFileInfo") => Kind::Languages,
            (None, _) => return None,
        };
        let data_type = self.part_type(kind.name());
        if !self.program.define_data(head, data_type, PART) {
            return None;
        }
        self.mark_unicode(base, at + PART, key_length);
        let value = (at + PART + key_length).next_multiple_of(4);
        match kind {
            Kind::Text if value_length > 0 => {
                if let Some((length, _)) = self.text_at(base, value, end) {
                    self.mark_unicode(base, value, length);
                }
            }
            Kind::Language => {
                let word = self.program.types.builtin("dword");
                for number in 0..u32::from(value_length) / 4 {
                    let place = base.checked_add(u64::from(value + 4 * number));
                    if let Some(place) = place.filter(|_| value + 4 * number + 4 <= end) {
                        self.program.define_data(place, word, 4);
                    }
                }
            }
            _ => {}
        }
        let inner = kind.inner().map(|inner| Stretch { kind: Some(inner), at: value, end });
        // A part without a length would come again and again.
        (end > at).then_some((end.next_multiple_of(4), inner))
    }

    /// Bytes and characters of the text that ends in a zero before an offset.
    fn text_at(&self, base: Address, at: u32, end: u32) -> Option<(u32, String)> {
        let mut units = Vec::new();
        let mut next = at;
        while next.checked_add(2)? <= end {
            let place = base.checked_add(u64::from(next))?;
            let unit = self.program.memory.read_uint(place, 2)? as u16;
            next += 2;
            if unit == 0 {
                return Some((next - at, String::from_utf16_lossy(&units)));
            }
            units.push(unit);
        }
        None
    }

    fn mark_unicode(&mut self, base: Address, at: u32, length: u32) {
        let text = self.program.types.builtin("TerminatedUnicode");
        if let Some(place) = base.checked_add(u64::from(at)) {
            self.program.define_data(place, text, length);
        }
    }

    fn halves<const N: usize>(&self, place: Address) -> Option<[u16; N]> {
        let mut all = [0; N];
        for (index, half) in all.iter_mut().enumerate() {
            let at = place.checked_add(2 * index as u64)?;
            *half = self.program.memory.read_uint(at, 2)? as u16;
        }
        Some(all)
    }

    fn part_type(&mut self, name: &str) -> TypeId {
        let word = self.program.types.builtin("word");
        let members = ["wLength", "wValueLength", "wType"].map(|name| (word, 2, name, ""));
        self.structure("/PE", name, &members)
    }

    fn version_type(&mut self) -> TypeId {
        let types = &mut self.program.types;
        let (word, dword) = (types.builtin("word"), types.builtin("dword"));
        let character = types.builtin("wchar16");
        let (key, version) = (types.array_of(character, 17), types.array_of(word, 4));
        let members = [
            (word, 2, "wLength", ""),
            (word, 2, "wValueLength", ""),
            (word, 2, "wType", ""),
            (key, 34, "szKey", ""),
            (dword, 4, "dwSignature", ""),
            (dword, 4, "dwStrucVersion", ""),
            (version, 8, "dwFileVersion", ""),
            (version, 8, "dwProductVersion", ""),
            (dword, 4, "dwFileFlagsMask", ""),
            (dword, 4, "dwFileFlags", ""),
            (dword, 4, "dwFileOS", ""),
            (dword, 4, "dwFileType", ""),
            (dword, 4, "dwFileSubtype", ""),
            (dword, 4, "dwFileDateMS", ""),
            (dword, 4, "dwFileDateLS", ""),
        ];
        self.structure("/PE", "VS_VERSION_INFO", &members)
    }
}
