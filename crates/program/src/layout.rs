//! Record layout (ABI): where members and bit-fields of structures and unions lie, by the rules
//! of gcc, of gcc for Windows and of Microsoft's compilers.

use std::sync::Arc;

use crate::compiler::RecordRules;
use crate::data_type::{DataTypes, Field, TypeId, TypeKind};

/// Largest size of a type, in bytes.
pub const MAX_LENGTH: u32 = i32::MAX as u32;
/// Deepest chain of types that is followed for a stated alignment.
const MAX_DEPTH: u32 = 32;
/// Size of a structure without members to Microsoft's C compilers.
const EMPTY: u32 = 4;

/// A member as declared, without its place.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name; empty when it has none.
    pub name: Arc<str>,
    /// A note; empty when there is none.
    pub comment: Arc<str>,
    /// Its type.
    pub data_type: TypeId,
    /// Its length where the type has none of its own.
    pub length: Option<u32>,
    /// Width of a bit-field.
    pub bits: Option<u8>,
    /// Alignment in bytes that its declaration states; 0 when it states none.
    pub aligned: u32,
    /// Whether its declaration asks for no filler before it.
    pub packed: bool,
}

impl Member {
    /// A member of a type, with nothing special about it.
    pub fn new(name: &str, data_type: TypeId) -> Member {
        Member {
            name: name.into(),
            comment: "".into(),
            data_type,
            length: None,
            bits: None,
            aligned: 0,
            packed: false,
        }
    }

    /// A member that was laid out before.
    pub(crate) fn of(types: &DataTypes, field: &Field) -> Member {
        Member {
            name: Arc::clone(&field.name),
            comment: Arc::clone(&field.comment),
            length: types.length(field.data_type).is_none().then_some(field.length),
            bits: field.bits.map(|(_, width)| width),
            ..Member::new("", field.data_type)
        }
    }
}

/// The content of a structure or union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The members with their places.
    pub fields: Vec<Field>,
    /// Length in bytes.
    pub length: u32,
    /// Alignment in bytes.
    pub alignment: u32,
    /// Alignment in bytes that declarations state, which Microsoft's compilers keep inside of what
    /// is packed; 1 when none does.
    pub required: u32,
}

/// How members share the room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrangement {
    /// All at the start, in place of one after the other.
    pub union: bool,
    /// Alignment that no member exceeds (`#pragma pack`), in bytes; 0 for none.
    pub pack: u32,
    /// Whether the declaration asks for no filler (`packed`).
    pub packed: bool,
    /// Alignment in bytes that the declaration of the whole states; 0 when it states none.
    pub aligned: u32,
    /// Rules in place of those of the program's compiler.
    pub rules: Option<RecordRules>,
}

impl Arrangement {
    /// A structure as compilers lay it out unless told otherwise.
    pub const STRUCTURE: Arrangement =
        Arrangement { union: false, pack: 0, packed: false, aligned: 0, rules: None };
    /// A structure without filler.
    pub const PACKED: Arrangement = Arrangement { packed: true, ..Arrangement::STRUCTURE };
    /// A union.
    pub const UNION: Arrangement = Arrangement { union: true, ..Arrangement::STRUCTURE };
}

/// Lays out members. `None` when that gets too large or a member has no length.
pub fn lay_out(
    types: &DataTypes,
    members: Vec<Member>,
    arrangement: Arrangement,
) -> Option<Layout> {
    let compiler = types.organization().compiler;
    let rules = arrangement.rules.unwrap_or(compiler.rules);
    let mut record = Record {
        types,
        arrangement,
        rules,
        big_endian: compiler.big_endian,
        fields: Vec::with_capacity(members.len()),
        position: 0,
        widest: 0,
        alignment: 1,
        required: arrangement.aligned.max(1),
        unit: None,
    };
    for member in members {
        record.add(member)?;
    }
    record.finish()
}

/// What is known of a member's type and declaration.
struct Shape {
    /// In bits.
    size: u64,
    /// Of the type, in bytes.
    natural: u32,
    /// Where it may start as a whole, in bytes.
    start: u32,
    /// Declared without filler, by itself or by the record.
    packed: bool,
}

/// The storage unit that Microsoft's rules keep open for bit-fields.
#[derive(Clone, Copy)]
struct Unit {
    /// In bits.
    size: u64,
    /// Bits that are left.
    left: u64,
}

/// A record being laid out.
struct Record<'a> {
    types: &'a DataTypes,
    arrangement: Arrangement,
    rules: RecordRules,
    big_endian: bool,
    fields: Vec<Field>,
    /// Where the next member may start, in bits.
    position: u64,
    /// Longest member of a union, in bits.
    widest: u64,
    alignment: u32,
    /// Alignment that no packing undoes.
    required: u32,
    unit: Option<Unit>,
}

impl Record<'_> {
    fn add(&mut self, member: Member) -> Option<()> {
        let shape = self.shape(&member)?;
        match (member.bits, self.rules) {
            (None, _) => self.whole(member, &shape),
            (Some(width), RecordRules::Gcc { aligned_unnamed }) => {
                self.bits_of_gcc(member, &shape, u64::from(width), aligned_unnamed)
            }
            (Some(width), RecordRules::Untyped { boundary }) => {
                self.bits_without_type(member, &shape, u64::from(width), boundary)
            }
            (Some(width), _) => self.bits_of_microsoft(member, &shape, u64::from(width)),
        }
    }

    fn shape(&mut self, member: &Member) -> Option<Shape> {
        let known = self.types.get(member.data_type)?;
        // What C text declares without members takes no room; what waits for members does.
        let declared = matches!(known.kind, TypeKind::Struct { packed: true, .. });
        let own = if declared { known.length } else { self.types.member_length(member.data_type) };
        let length = member.length.or(own)?;
        let natural = known.alignment.max(1);
        let packed = member.packed || self.arrangement.packed;
        let start = match self.rules {
            RecordRules::Microsoft => {
                let stated = member.aligned.max(stated_alignment(self.types, member.data_type, 0));
                let plain = if packed { 1 } else { self.capped(natural) };
                self.required = self.required.max(if member.bits.is_none() { stated } else { 1 });
                plain.max(stated)
            }
            _ if packed => self.capped(member.aligned.max(1)),
            _ => self.capped(natural.max(member.aligned)),
        };
        Some(Shape { size: u64::from(length) * 8, natural, start, packed })
    }

    /// An alignment, as far as `#pragma pack` lets it.
    fn capped(&self, alignment: u32) -> u32 {
        let pack = self.arrangement.pack;
        let pointer = self.types.organization().pointer;
        let ignored = self.rules == RecordRules::Microsoft && pack > pointer;
        if pack == 0 || ignored { alignment } else { alignment.min(pack) }
    }

    /// A member that is no bit-field.
    fn whole(&mut self, member: Member, shape: &Shape) -> Option<()> {
        self.unit = None;
        self.alignment = self.alignment.max(shape.start);
        let at = self.reserve(u64::from(shape.start) * 8, shape.size)?;
        let length = u32::try_from(shape.size / 8).ok()?;
        self.field(member, u32::try_from(at / 8).ok()?, length, None);
        Some(())
    }

    /// A bit-field lies behind the one before unless it would cross a boundary of its type.
    fn bits_of_gcc(
        &mut self,
        member: Member,
        shape: &Shape,
        width: u64,
        aligned_unnamed: bool,
    ) -> Option<()> {
        let natural = u64::from(shape.natural) * 8;
        let counts = !member.name.is_empty() || aligned_unnamed;
        if width == 0 {
            // No packing touches these.
            let start = shape.natural.max(member.aligned);
            self.reserve(u64::from(start) * 8, 0)?;
            self.alignment = self.alignment.max(if counts { start } else { 1 });
            return Some(());
        }
        let stated = self.capped(member.aligned.max(1));
        let start = if member.aligned > 0 { u64::from(stated) * 8 } else { 1 };
        let mut at = self.position.checked_next_multiple_of(start)?;
        let free = shape.packed || self.arrangement.pack != 0;
        let spans = (at % natural + width).div_ceil(natural) > shape.size / natural;
        if !free && spans {
            at = at.checked_next_multiple_of(natural)?;
        }
        if counts {
            let tight = shape.packed && self.arrangement.pack == 0;
            let own = if tight { 1 } else { self.capped(shape.natural) };
            self.alignment = self.alignment.max(stated).max(own);
        }
        if !self.arrangement.union {
            self.position = at;
        }
        let at = self.reserve(1, width)?;
        self.place_bits(member, at, width)
    }

    /// A bit-field lies behind the one before, whatever its type.
    fn bits_without_type(
        &mut self,
        member: Member,
        shape: &Shape,
        width: u64,
        boundary: u32,
    ) -> Option<()> {
        if width == 0 {
            let start = boundary.max(member.aligned);
            self.reserve(u64::from(start) * 8, 0)?;
            self.alignment = self.alignment.max(start);
            return Some(());
        }
        let stated = self.capped(member.aligned.max(1));
        let start = if member.aligned > 0 { u64::from(stated) * 8 } else { 1 };
        let at = self.reserve(start, width)?;
        // What fills an integer where one may lie is one.
        let integer = match width {
            16 | 32 | 64 if !shape.packed => {
                let bytes = u32::try_from(width / 8).ok()?;
                self.capped(self.types.organization().alignment(bytes))
            }
            _ => 1,
        };
        let fits = at.is_multiple_of(u64::from(integer) * 8);
        self.alignment = self.alignment.max(stated).max(if fits { integer } else { 1 });
        self.place_bits(member, at, width)
    }

    /// A bit-field opens a unit of its type's size; those of the same size that follow share it.
    fn bits_of_microsoft(&mut self, member: Member, shape: &Shape, width: u64) -> Option<()> {
        let aligns = self.rules == RecordRules::MinGw || !self.arrangement.union;
        if width == 0 {
            // It ends an open unit, and means nothing elsewhere.
            if self.unit.take().is_some() {
                self.reserve(u64::from(shape.start) * 8, 0)?;
                self.alignment = self.alignment.max(if aligns { shape.start } else { 1 });
            }
            return Some(());
        }
        if let Some(unit) = self.unit.filter(|unit| unit.size == shape.size && unit.left >= width)
            && !self.arrangement.union
        {
            let at = self.position - unit.left;
            self.unit = Some(Unit { left: unit.left - width, ..unit });
            return self.place_bits(member, at, width);
        }
        let whole = self.rules == RecordRules::Microsoft || !self.arrangement.union;
        let room = if whole { shape.size } else { width };
        let at = self.reserve(u64::from(shape.start) * 8, room)?;
        if aligns {
            self.alignment = self.alignment.max(shape.start);
        }
        self.unit = Some(Unit { size: shape.size, left: shape.size.saturating_sub(width) });
        self.place_bits(member, at, width)
    }

    /// Room at the next multiple of `start`; all in bits.
    fn reserve(&mut self, start: u64, size: u64) -> Option<u64> {
        if self.arrangement.union {
            self.widest = self.widest.max(size);
            return Some(0);
        }
        let at = self.position.checked_next_multiple_of(start.max(1))?;
        self.position = at.checked_add(size).filter(|end| *end / 8 <= u64::from(MAX_LENGTH))?;
        Some(at)
    }

    /// Bits from a place on, in the fewest bytes that hold them; those without a name are filler.
    fn place_bits(&mut self, member: Member, at: u64, width: u64) -> Option<()> {
        if member.name.is_empty() {
            return Some(());
        }
        let first = at % 8;
        let bytes = (first + width).div_ceil(8);
        let low = if self.big_endian { bytes * 8 - first - width } else { first };
        let bits = Some((u8::try_from(low).ok()?, u8::try_from(width).ok()?));
        self.field(member, u32::try_from(at / 8).ok()?, u32::try_from(bytes).ok()?, bits);
        Some(())
    }

    fn field(&mut self, member: Member, offset: u32, length: u32, bits: Option<(u8, u8)>) {
        self.fields.push(Field {
            offset,
            data_type: member.data_type,
            length,
            name: member.name,
            comment: member.comment,
            bits,
        });
    }

    fn finish(self) -> Option<Layout> {
        let size = self.position.max(self.widest).div_ceil(8);
        let mut length = u32::try_from(size).ok()?;
        let alignment = self.alignment.max(self.required);
        if self.rules == RecordRules::Microsoft {
            let rounding = self.capped(alignment).max(self.required);
            length = length.checked_next_multiple_of(rounding)?;
            if length == 0 {
                length = if self.required >= EMPTY { alignment } else { EMPTY };
            }
        } else {
            length = length.checked_next_multiple_of(alignment)?;
        }
        let required = self.required;
        let layout = Layout { fields: self.fields, length, alignment, required };
        (length <= MAX_LENGTH).then_some(layout)
    }
}

/// The alignment that the declaration of a type, or of a part of it, states; 1 when none does.
fn stated_alignment(types: &DataTypes, id: TypeId, depth: u32) -> u32 {
    let Some(known) = types.get(id).filter(|_| depth < MAX_DEPTH) else { return 1 };
    let inner = |id| stated_alignment(types, id, depth + 1);
    let alignment = |id| types.get(id).map_or(1, |part| part.alignment);
    match &known.kind {
        TypeKind::Typedef(base) if known.alignment > alignment(*base) => known.alignment,
        TypeKind::Typedef(base) => inner(*base),
        TypeKind::Array { element, .. } => inner(*element),
        TypeKind::Struct { fields, .. } | TypeKind::Union { fields } => {
            let natural = fields.iter().map(|field| alignment(field.data_type)).max();
            let below = fields.iter().map(|field| inner(field.data_type)).max().unwrap_or(1);
            if known.alignment > natural.unwrap_or(1) { known.alignment } else { below }
        }
        _ => 1,
    }
}

impl DataTypes {
    /// How the members of a composite of that length and alignment were laid out: the first of
    /// the usual ways that gives exactly this layout. `None` when none does.
    pub fn arrangement(
        &self,
        fields: &[Field],
        union: bool,
        length: u32,
        alignment: u32,
    ) -> Option<Arrangement> {
        let base = Arrangement { union, ..Arrangement::STRUCTURE };
        let packs = [8, 4, 2, 1].map(|pack| Arrangement { pack, ..base });
        let packed = Arrangement { packed: true, ..base };
        let all = [base].into_iter().chain(packs).chain([packed]);
        let stated = |way| [way, Arrangement { aligned: alignment, ..way }];
        all.flat_map(stated).find(|way| {
            let members = fields.iter().map(|field| Member::of(self, field)).collect();
            lay_out(self, members, *way).is_some_and(|layout| {
                layout.length == length && layout.alignment == alignment && layout.fields == fields
            })
        })
    }

    /// Length that a type takes as a member: even a structure without members takes a byte.
    pub fn member_length(&self, id: TypeId) -> Option<u32> {
        let known = self.get(id)?;
        let composite = matches!(known.kind, TypeKind::Struct { .. } | TypeKind::Union { .. });
        known.length.map(|length| length.max(u32::from(composite)))
    }
}
