//! The type records of a PDB file, as they stand in its stream of types.
//!
//! They are read here and not by the crate that opens the file: there, lists in lists nest on the
//! stack, and counts are believed before anything is read.

/// Bytes before the records, at least.
const HEADER: usize = 56;
/// Indexes below this one stand for types that need no record.
pub(super) const FIRST: u32 = 0x1000;
/// Lists that continue one another.
const CHAIN: usize = 1 << 12;
/// Members of one type that are kept.
const MEMBERS: usize = 1 << 16;

/// All records of a file.
pub(super) struct Records {
    bytes: Vec<u8>,
    /// Where each record's kind is.
    places: Vec<u32>,
    first: u32,
}

/// What a class, structure, union or enumeration says of itself.
pub(super) struct Tag<'r> {
    pub(super) kind: TagKind,
    properties: u16,
    pub(super) fields: u32,
    /// Bytes; of an enumeration the type below it tells.
    pub(super) size: u64,
    pub(super) name: &'r [u8],
    /// A name that no other type has, if it was given one.
    pub(super) unique: &'r [u8],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TagKind {
    Class,
    Struct,
    Union,
    /// With the type of its values.
    Enum(u32),
}

impl Tag<'_> {
    /// Whether the whole type stands elsewhere.
    pub(super) fn is_forward(&self) -> bool {
        self.properties & 0x80 != 0
    }

    /// What forward references and definitions share.
    pub(super) fn key(&self) -> &[u8] {
        if self.unique.is_empty() { self.name } else { self.unique }
    }
}

/// One record.
pub(super) enum Record<'r> {
    Modifier(u32),
    Pointer {
        to: u32,
        size: u32,
        member: bool,
    },
    Array {
        element: u32,
        size: u64,
    },
    Bits {
        of: u32,
        low: u8,
        width: u8,
    },
    Tag(Tag<'r>),
    /// `this` is 0 where there is none.
    Function {
        returned: u32,
        convention: u8,
        parameters: u32,
        this: u32,
        constructor: bool,
        member: bool,
    },
    TableShape,
}

/// One member of a class, structure, union or enumeration.
pub(super) enum Member<'r> {
    Field { name: &'r [u8], of: u32, offset: u64 },
    Base { of: u32, offset: u64 },
    Table { pointer: u32, offset: u64 },
    Value { name: &'r [u8], value: i64 },
}

impl Records {
    /// Of a stream's content; none when it is damaged at its start.
    pub(super) fn new(bytes: Vec<u8>) -> Records {
        let mut records = Records { bytes, places: Vec::new(), first: FIRST };
        let word = |at: usize| -> Option<u32> {
            Some(u32::from_le_bytes(records.bytes.get(at..at + 4)?.try_into().ok()?))
        };
        let (Some(header), Some(first)) = (word(4), word(8)) else { return records };
        if (header as usize) < HEADER || first < FIRST {
            return records;
        }
        let mut places = Vec::new();
        let mut at = header as usize;
        while let Some(length) = records.bytes.get(at..at + 2) {
            let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
            if length < 2 || records.bytes.len() < at + 2 + length {
                break;
            }
            places.push(at as u32 + 2);
            at += 2 + length;
        }
        (records.places, records.first) = (places, first);
        records
    }

    /// The indexes that have a record, in order.
    pub(super) fn indexes(&self) -> impl Iterator<Item = u32> + use<> {
        let first = self.first;
        (0..self.places.len() as u32).filter_map(move |number| first.checked_add(number))
    }

    fn reader(&self, index: u32) -> Option<(u16, Reader<'_>)> {
        let place = *self.places.get(index.checked_sub(self.first)? as usize)? as usize;
        let length = self.bytes.get(place - 2..place)?;
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        let mut reader = Reader { rest: self.bytes.get(place..place + length)? };
        Some((reader.short()?, reader))
    }

    /// The record of an index, if it is of a kind that is known.
    pub(super) fn get(&self, index: u32) -> Option<Record<'_>> {
        let (kind, mut r) = self.reader(index)?;
        Some(match kind {
            0x1001 => Record::Modifier(r.word()?),
            0x1002 => {
                let (to, attributes) = (r.word()?, r.word()?);
                let member = matches!(attributes >> 5 & 7, 2 | 3);
                // Compilers write a size as well, and not always the right one.
                let size = match attributes & 0x1f {
                    0x0a => 4,
                    0x0c => 8,
                    _ => attributes >> 13 & 0x3f,
                };
                // Pointers to members may be larger.
                let size = if member { attributes >> 13 & 0x3f } else { size };
                Record::Pointer { to, size, member }
            }
            0x1503 => {
                let element = r.word()?;
                r.word()?;
                Record::Array { element, size: r.unsigned()? }
            }
            0x1205 => Record::Bits { of: r.word()?, width: r.byte()?, low: r.byte()? },
            0x1504 | 0x1505 | 0x1519 | 0x1506 | 0x1507 => Record::Tag(tag(kind, r)?),
            0x1008 | 0x1009 => {
                let returned = r.word()?;
                let member = kind == 0x1009;
                let mut this = 0;
                if member {
                    r.word()?;
                    this = r.word()?;
                }
                let (convention, attributes) = (r.byte()?, r.byte()?);
                r.short()?;
                let constructor = attributes & 6 != 0;
                let parameters = r.word()?;
                Record::Function { returned, convention, parameters, this, constructor, member }
            }
            0x000a => Record::TableShape,
            _ => return None,
        })
    }

    /// The types of the parameters that a list names.
    pub(super) fn parameters(&self, index: u32, most: usize) -> Vec<u32> {
        let Some((0x1201, mut r)) = self.reader(index) else { return Vec::new() };
        let count = r.word().unwrap_or(0) as usize;
        (0..count.min(most)).map_while(|_| r.word()).collect()
    }

    /// The members that a list names, and those that continue it.
    pub(super) fn members(&self, index: u32) -> Vec<Member<'_>> {
        let mut members = Vec::new();
        let mut next = Some(index);
        for _ in 0..CHAIN {
            let Some((0x1203, reader)) = next.and_then(|index| self.reader(index)) else { break };
            next = read_members(reader, &mut members);
            if members.len() >= MEMBERS {
                break;
            }
        }
        members
    }
}

fn tag<'r>(kind: u16, mut r: Reader<'r>) -> Option<Tag<'r>> {
    r.short()?;
    let properties = r.short()?;
    let (kind, fields) = match kind {
        0x1507 => {
            let below = r.word()?;
            (TagKind::Enum(below), r.word()?)
        }
        0x1506 => (TagKind::Union, r.word()?),
        _ => {
            let fields = r.word()?;
            r.word()?;
            r.word()?;
            (if kind == 0x1504 { TagKind::Class } else { TagKind::Struct }, fields)
        }
    };
    let size = if matches!(kind, TagKind::Enum(_)) { 0 } else { r.unsigned()? };
    let name = r.name()?;
    let unique = if properties & 0x200 != 0 { r.name().unwrap_or_default() } else { &[] };
    Some(Tag { kind, properties, fields, size, name, unique })
}

/// Reads one list; gives back the one that continues it.
fn read_members<'r>(mut r: Reader<'r>, members: &mut Vec<Member<'r>>) -> Option<u32> {
    let mut next = None;
    while members.len() < MEMBERS {
        while let Some(padding @ 0xf0..) = r.rest.first() {
            r.take(usize::from(padding & 0xf).max(1))?;
        }
        let kind = r.short()?;
        let attributes = r.short()?;
        match kind {
            0x150d => {
                let (of, offset) = (r.word()?, r.unsigned()?);
                members.push(Member::Field { name: r.name()?, of, offset });
            }
            0x1400 | 0x151a => members.push(Member::Base { of: r.word()?, offset: r.unsigned()? }),
            0x1401 | 0x1402 => {
                r.take(8)?;
                r.unsigned()?;
                r.unsigned()?;
            }
            0x1502 => {
                let value = r.number()?;
                members.push(Member::Value { name: r.name()?, value });
            }
            0x150e..=0x1510 => {
                r.word()?;
                r.name()?;
            }
            0x1511 => {
                r.word()?;
                // Only methods that bring a place in the table tell which.
                if matches!(attributes >> 2 & 7, 4 | 6) {
                    r.word()?;
                }
                r.name()?;
            }
            0x1409 => members.push(Member::Table { pointer: r.word()?, offset: 0 }),
            0x140c => {
                let pointer = r.word()?;
                members.push(Member::Table { pointer, offset: u64::from(r.word()?) });
            }
            0x1404 => {
                next = Some(r.word()?);
                if r.rest.is_empty() {
                    break;
                }
            }
            0x140a => drop(r.word()?),
            _ => break,
        }
        if r.rest.is_empty() {
            break;
        }
    }
    next
}

/// Reads a record from front to back.
struct Reader<'r> {
    rest: &'r [u8],
}

impl<'r> Reader<'r> {
    fn take(&mut self, count: usize) -> Option<&'r [u8]> {
        let (now, later) = self.rest.split_at_checked(count)?;
        self.rest = later;
        Some(now)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn short(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn word(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A number of a length that its first half word tells.
    fn number(&mut self) -> Option<i64> {
        Some(match self.short()? {
            small @ ..0x8000 => i64::from(small),
            0x8000 => i64::from(self.byte()? as i8),
            0x8001 => i64::from(self.short()? as i16),
            0x8002 => i64::from(self.short()?),
            0x8003 => i64::from(self.word()? as i32),
            0x8004 => i64::from(self.word()?),
            0x8009 => i64::from_le_bytes(self.array()?),
            0x800a => u64::from_le_bytes(self.array()?) as i64,
            _ => return None,
        })
    }

    fn unsigned(&mut self) -> Option<u64> {
        u64::try_from(self.number()?).ok()
    }

    /// A text up to its zero.
    fn name(&mut self) -> Option<&'r [u8]> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let name = self.take(end)?;
        self.take(1)?;
        Some(name)
    }
}
