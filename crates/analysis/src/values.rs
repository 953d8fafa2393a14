//! Values that registers and memory hold while code is followed: constants, and offsets from
//! something unknown.

use std::rc::Rc;

/// What an unknown value is an offset from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Base(u64);

impl Base {
    /// Absolute: the default memory.
    pub(crate) const RAM: Base = Base(0);
    /// The register file.
    pub(crate) const REGISTERS: Base = Base(1);
    /// Temporaries of one instruction.
    pub(crate) const TEMPORARIES: Base = Base(2);
    /// A value of which not even the origin is known.
    pub(crate) const NOWHERE: Base = Base(3);
    const AT_ENTRY: u64 = 1 << 63;

    /// What a register holds at the function's entry.
    pub(crate) fn register(offset: u64, size: u32) -> Base {
        Base(Self::AT_ENTRY | offset << 8 | u64::from(size & 0xff))
    }

    /// What a register holds after the instruction at an address gave it an unknown value.
    pub(crate) fn set(register: u64, at: u64) -> Base {
        // Distinct for every register of one program; the low values are taken.
        let mixed = at.rotate_left(17) ^ register.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Base((mixed & !Self::AT_ENTRY) | 0x100)
    }
}

/// How a value is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// A number.
    Constant,
    /// A number that may well be something else: a flag, a null.
    Suspect,
    /// A register as it was at the function's entry.
    Register,
    /// An offset from something unknown.
    Offset,
    /// A place in another library.
    External,
}

/// One value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) known: Known,
    /// Bytes; 0 when it fits anything.
    pub(crate) size: u8,
    pub(crate) base: Base,
    pub(crate) offset: u64,
}

impl Value {
    pub(crate) fn constant(offset: u64, size: u32) -> Value {
        Value { known: Known::Constant, size: size as u8, base: Base::RAM, offset }
    }

    pub(crate) fn offset(base: Base, offset: u64, size: u32) -> Value {
        Value { known: Known::Offset, size: size as u8, base, offset }
    }

    pub(crate) fn register(offset: u64, size: u32) -> Value {
        let base = Base::register(offset, size);
        Value { known: Known::Register, size: size as u8, base, offset: 0 }
    }

    /// Whether it is a number.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self.known, Known::Constant | Known::Suspect)
    }

    /// The number, if it is one.
    pub(crate) fn number(&self) -> Option<u64> {
        self.is_number().then_some(self.offset)
    }

    /// Whether it is an offset from something unknown.
    pub(crate) fn is_offset(&self) -> bool {
        matches!(self.known, Known::Register | Known::Offset)
    }

    /// The same kind of value elsewhere.
    fn moved(self, offset: u64, size: u8) -> Value {
        let known = if self.known == Known::Register { Known::Offset } else { self.known };
        Value { known, size, offset: offset & mask(u32::from(size)), ..self }
    }
}

/// All bits of a number of some bytes; of all bytes when the size is unknown.
pub(crate) fn mask(size: u32) -> u64 {
    if size == 0 || size >= 8 { u64::MAX } else { (1 << (8 * size)) - 1 }
}

/// A number of some bytes with its sign carried to 64 bits.
pub(crate) fn sign_extend(value: u64, size: u32) -> u64 {
    if size == 0 || size >= 8 {
        return value;
    }
    let shift = 64 - 8 * size;
    (((value << shift) as i64) >> shift) as u64
}

/// Number and other operand, the other first.
fn number_last(a: Value, b: Value) -> (Value, Value) {
    if a.is_number() { (b, a) } else { (a, b) }
}

/// What an operation of an offset or number `a` with a number `b` gives.
fn combined(a: Value, b: Value, result: u64) -> Value {
    let known = match (a.known, b.known) {
        (Known::Constant, Known::Suspect) => Known::Suspect,
        (known, _) => known,
    };
    Value { known, ..a }.moved(result, a.size)
}

pub(crate) fn add(a: Option<Value>, b: Option<Value>) -> Option<Value> {
    let nowhere = Value::offset(Base::NOWHERE, 0, 0);
    let (a, b) = number_last(a.unwrap_or(nowhere), b.unwrap_or(nowhere));
    let amount = b.number()?;
    if a.known == Known::External {
        return None;
    }
    Some(combined(a, b, a.offset.wrapping_add(amount)))
}

pub(crate) fn subtract(a: Option<Value>, b: Option<Value>) -> Option<Value> {
    let (a, b) = (a?, b?);
    if a == b {
        return Some(Value::constant(0, u32::from(a.size.max(1))));
    }
    if a.known == Known::External {
        return None;
    }
    Some(combined(a, b, a.offset.wrapping_sub(b.number()?)))
}

pub(crate) fn and(a: Option<Value>, b: Option<Value>) -> Option<Value> {
    let (a, b) = (a?, b?);
    if a == b {
        return Some(a);
    }
    let (a, b) = number_last(a, b);
    if a.known == Known::External {
        return Some(a);
    }
    let bits = b.number()?;
    // Offsets from the unknown survive an alignment mask, nothing else.
    if a.known == Known::Offset && bits & 3 == 3 {
        return None;
    }
    Some(combined(a, b, a.offset & bits))
}

pub(crate) fn or(a: Option<Value>, b: Option<Value>) -> Option<Value> {
    let (a, b) = (a?, b?);
    if a == b {
        return Some(a);
    }
    let (a, b) = number_last(a, b);
    let bits = b.number()?;
    if bits == 0 && b.known == Known::Constant {
        return Some(a);
    }
    Some(combined(a, b, a.number()? | bits))
}

/// Widens a value to the size of what it goes to.
pub(crate) fn extend(value: Value, from: u32, to: u32, signed: bool) -> Value {
    if value.is_number() && from < to {
        let size = if value.size == 0 { from } else { u32::from(value.size) };
        let offset =
            if signed { sign_extend(value.offset, size) } else { value.offset & mask(size) };
        return Value { offset: offset & mask(to), size: to as u8, ..value };
    }
    if value.known == Known::Register && u32::from(value.size) < to {
        return Value { known: Known::Offset, size: to as u8, ..value };
    }
    value
}

/// One stretch of registers or memory that holds one value.
#[derive(Debug, Clone, Copy)]
struct Cell {
    base: Base,
    offset: u64,
    size: u32,
    /// `None` when something unknown was put there.
    value: Option<Value>,
    /// The instruction that last wrote there.
    set_at: u64,
}

impl Cell {
    /// The last place covered; cells may end with the space.
    fn last(&self) -> u64 {
        last(self.offset, self.size)
    }
}

fn last(offset: u64, size: u32) -> u64 {
    offset.saturating_add(u64::from(size.saturating_sub(1)))
}

/// What reading a place gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Nothing was ever put there, or only parts of it.
    Absent,
    /// Something unknown was put there.
    Unknown,
    /// This.
    Value(Value),
}

/// Cells kept at most; what does not fit is forgotten.
const CELLS: usize = 1 << 10;

/// Registers or memory: disjoint cells in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cells {
    cells: Vec<Cell>,
}

impl Cells {
    pub(crate) fn clear(&mut self) {
        self.cells.clear();
    }

    /// The index of the first cell that ends after a place.
    fn first(&self, base: Base, offset: u64) -> usize {
        let after = self.cells.partition_point(|cell| (cell.base, cell.offset) <= (base, offset));
        match after.checked_sub(1).map(|index| &self.cells[index]) {
            Some(cell) if cell.base == base && offset - cell.offset < u64::from(cell.size) => {
                after - 1
            }
            _ => after,
        }
    }

    /// What stands at a place.
    pub(crate) fn read(&self, base: Base, offset: u64, size: u32, big_endian: bool) -> Reading {
        let index = self.first(base, offset);
        let Some(cell) = self.cells.get(index).filter(|c| c.base == base && c.offset <= offset)
        else {
            return Reading::Absent;
        };
        match cell.value {
            None if last(offset, size) <= cell.last() => Reading::Unknown,
            None => Reading::Absent,
            Some(value) if value.known == Known::Constant => {
                self.number(index, base, offset, size, big_endian)
            }
            Some(value) => {
                let whole = cell.offset == offset && cell.size == size;
                if whole && (value.size == 0 || u32::from(value.size) == size) {
                    Reading::Value(value)
                } else {
                    Reading::Absent
                }
            }
        }
    }

    /// A number put together from the cells that cover it.
    fn number(
        &self,
        mut index: usize,
        base: Base,
        offset: u64,
        size: u32,
        big_endian: bool,
    ) -> Reading {
        if size > 8 || size == 0 {
            return Reading::Absent;
        }
        let mut number = 0u64;
        let mut done = 0;
        while done < size {
            let at = offset.wrapping_add(u64::from(done));
            let Some(cell) = self.cells.get(index).filter(|c| c.base == base && c.offset <= at)
            else {
                return Reading::Absent;
            };
            let Some(value) = cell.value.filter(|value| value.known == Known::Constant) else {
                return Reading::Absent;
            };
            let skip = (at - cell.offset) as u32;
            let Some(count) = cell.size.checked_sub(skip).map(|rest| rest.min(size - done)) else {
                return Reading::Absent;
            };
            if count == 0 {
                return Reading::Absent;
            }
            let low = if big_endian { cell.size - skip - count } else { skip };
            let part = value.offset.checked_shr(8 * low).unwrap_or(0) & mask(count);
            let place = if big_endian { size - done - count } else { done };
            number |= part.checked_shl(8 * place).unwrap_or(0);
            done += count;
            index += 1;
        }
        Reading::Value(Value::constant(number, size))
    }

    /// Puts a value at a place; parts of numbers around it stay.
    pub(crate) fn write(
        &mut self,
        base: Base,
        offset: u64,
        size: u32,
        value: Option<Value>,
        set_at: u64,
        big_endian: bool,
    ) {
        if size == 0 {
            return;
        }
        let from = self.first(base, offset);
        let end = last(offset, size);
        let value = value.map(|value| match value.known {
            Known::Constant => Value::constant(value.offset & mask(size), size),
            _ => value,
        });
        let fresh = Cell { base, offset, size, value, set_at };
        if let Some(cell) = self.cells.get_mut(from)
            && (cell.base, cell.offset, cell.size) == (base, offset, size)
        {
            *cell = fresh;
            return;
        }
        let mut to = from;
        let mut rest: [Option<Cell>; 2] = [None, None];
        while let Some(cell) = self.cells.get(to).filter(|c| c.base == base && c.offset <= end) {
            if cell.offset < offset {
                rest[0] = piece(cell, cell.offset, offset - 1, set_at, big_endian);
            }
            if cell.last() > end {
                rest[1] = piece(cell, end + 1, cell.last(), set_at, big_endian);
            }
            to += 1;
        }
        let keep = (self.cells.len() < CELLS).then_some(fresh);
        let [before, after] = rest;
        self.cells.splice(from..to, before.into_iter().chain(keep).chain(after));
    }

    /// The instruction that last wrote to a place.
    pub(crate) fn set_at(&self, base: Base, offset: u64) -> Option<u64> {
        let cell = self.cells.get(self.first(base, offset))?;
        (cell.base == base && cell.offset <= offset).then_some(cell.set_at)
    }
}

/// The part of a cell from one offset to another (inclusive), if it can be told.
fn piece(cell: &Cell, from: u64, to: u64, set_at: u64, big_endian: bool) -> Option<Cell> {
    let value = cell.value?;
    let size = u32::try_from(to.checked_sub(from)?).ok()?.checked_add(1)?;
    if value.known != Known::Constant || cell.size > 8 {
        return None;
    }
    let low = if big_endian { cell.last() - to } else { from - cell.offset };
    let number = value.offset.checked_shr(8 * low as u32).unwrap_or(0) & mask(size);
    let value = Some(Value::constant(number, size));
    Some(Cell { base: cell.base, offset: from, size, value, set_at })
}

/// All that is known at one point of the code; cheap to keep for later.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    pub(crate) registers: Rc<Cells>,
    pub(crate) memory: Rc<Cells>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(cells: &Cells, offset: u64, size: u32) -> Option<u64> {
        match cells.read(Base::REGISTERS, offset, size, false) {
            Reading::Value(value) => value.number(),
            _ => None,
        }
    }

    #[test]
    fn numbers_are_read_in_parts_and_symbols_only_whole() {
        let mut cells = Cells::default();
        let put = |cells: &mut Cells, offset, size, value| {
            cells.write(Base::REGISTERS, offset, size, value, 0x10, false);
        };
        put(&mut cells, 0, 8, Some(Value::constant(0x1122_3344_5566_7788, 8)));
        put(&mut cells, 1, 1, Some(Value::constant(0xff, 1)));
        assert_eq!(number(&cells, 0, 4), Some(0x5566_ff88));
        assert_eq!(number(&cells, 0, 8), Some(0x1122_3344_5566_ff88));
        put(&mut cells, 4, 4, Some(Value::register(0x20, 4)));
        assert_eq!(number(&cells, 0, 8), None);
        assert_eq!(number(&cells, 0, 4), Some(0x5566_ff88));
        assert_eq!(cells.read(Base::REGISTERS, 4, 2, false), Reading::Absent);
        assert_eq!(cells.read(Base::RAM, 4, 4, false), Reading::Absent);
        assert_eq!(cells.set_at(Base::REGISTERS, 5), Some(0x10));
    }

    #[test]
    fn offsets_survive_sums_and_alignment_only() {
        let stack = Some(Value::register(0x20, 8));
        let down = subtract(stack, Some(Value::constant(0x28, 8)));
        assert_eq!(down.map(|v| v.offset as i64), Some(-0x28));
        let aligned = and(down, Some(Value::constant(!0xf, 8))).unwrap();
        assert_eq!(aligned.offset as i64, -0x30);
        assert!(and(down, Some(Value::constant(0xff, 8))).is_none());
        assert_eq!(add(down, down), None);
        assert_eq!(subtract(down, down), Some(Value::constant(0, 8)));
        let unknown = add(None, Some(Value::constant(0x4000, 8))).unwrap();
        assert_eq!((unknown.base, unknown.offset), (Base::NOWHERE, 0x4000));
    }

    #[test]
    fn cells_at_the_end_of_a_space_stay_in_order() {
        let mut cells = Cells::default();
        let base = Base::register(0x20, 8);
        let put = |cells: &mut Cells, offset: i64, size, value| {
            let value = Some(Value::constant(value, size));
            cells.write(base, offset as u64, size, value, 0, false);
        };
        put(&mut cells, -8, 8, 0x1122_3344_5566_7788);
        put(&mut cells, -4, 4, 0xffff_ffff);
        put(&mut cells, -16, 8, 5);
        let read = |offset: i64, size| cells.read(base, offset as u64, size, false);
        assert_eq!(read(-8, 8), Reading::Value(Value::constant(0xffff_ffff_5566_7788, 8)));
        assert_eq!(read(-16, 8), Reading::Value(Value::constant(5, 8)));
        assert_eq!(cells.cells.len(), 3);
    }

    #[test]
    fn big_endian_numbers_keep_their_order() {
        let mut cells = Cells::default();
        cells.write(Base::RAM, 8, 4, Some(Value::constant(0x1122_3344, 4)), 0, true);
        let read = |offset, size| cells.read(Base::RAM, offset, size, true);
        assert_eq!(read(8, 2), Reading::Value(Value::constant(0x1122, 2)));
        assert_eq!(read(10, 2), Reading::Value(Value::constant(0x3344, 2)));
    }
}
