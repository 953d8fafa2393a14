//! Addresses, address spaces, ranges and sets of ranges.

use std::fmt;

/// Identifies an address space of one program. The small numbers are fixed;
/// overlay spaces follow from [`SpaceId::FIRST_OVERLAY`] in load order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u16);

impl SpaceId {
    /// The default space, where the processor's code and data live (`ram`).
    pub const RAM: SpaceId = SpaceId(0);
    /// Addresses of functions and data in other libraries; has no memory.
    pub const EXTERNAL: SpaceId = SpaceId(1);
    /// Stack frame offsets, as reference destinations only.
    pub const STACK: SpaceId = SpaceId(2);
    /// File parts that no processor sees; base of the loader's overlays.
    pub const OTHER: SpaceId = SpaceId(3);
    /// Processor registers, as reference destinations only.
    pub const REGISTER: SpaceId = SpaceId(4);
    /// The first overlay space.
    pub const FIRST_OVERLAY: SpaceId = SpaceId(16);

    /// Whether this is an overlay space.
    pub fn is_overlay(self) -> bool {
        self >= Self::FIRST_OVERLAY
    }
}

/// One place: a space and a byte offset in it. Sorted by space, then offset.
/// Stack offsets are signed and stored in two's complement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The space.
    pub space: SpaceId,
    /// The byte offset.
    pub offset: u64,
}

impl Address {
    /// The smallest address of all.
    pub const MIN: Address = Address { space: SpaceId(0), offset: 0 };
    /// The greatest address of all.
    pub const MAX: Address = Address { space: SpaceId(u16::MAX), offset: u64::MAX };

    /// An address in the given space.
    pub const fn new(space: SpaceId, offset: u64) -> Self {
        Address { space, offset }
    }

    /// An address in the default space.
    pub const fn ram(offset: u64) -> Self {
        Address { space: SpaceId::RAM, offset }
    }

    /// An address in the space of external locations.
    pub const fn external(offset: u64) -> Self {
        Address { space: SpaceId::EXTERNAL, offset }
    }

    /// A stack frame offset.
    pub const fn stack(offset: i64) -> Self {
        Address { space: SpaceId::STACK, offset: offset as u64 }
    }

    /// The address `n` bytes further, unless that leaves 64 bits.
    pub fn checked_add(self, n: u64) -> Option<Self> {
        Some(Address { space: self.space, offset: self.offset.checked_add(n)? })
    }

    /// The address `n` bytes before, unless that leaves 64 bits.
    pub fn checked_sub(self, n: u64) -> Option<Self> {
        Some(Address { space: self.space, offset: self.offset.checked_sub(n)? })
    }

    /// The address `n` bytes further, wrapping at 64 bits.
    pub fn wrapping_add(self, n: u64) -> Self {
        Address { space: self.space, offset: self.offset.wrapping_add(n) }
    }

    /// Bytes from `start` up to here, when both are in one space and in order.
    pub fn distance_from(self, start: Address) -> Option<u64> {
        if self.space == start.space { self.offset.checked_sub(start.offset) } else { None }
    }
}

/// A run of addresses in one space, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressRange {
    /// The first address.
    pub start: Address,
    /// The last address; same space, not below `start`.
    pub end: Address,
}

impl AddressRange {
    /// A range from both ends; `None` when they do not form one.
    pub fn new(start: Address, end: Address) -> Option<Self> {
        (start.space == end.space && start.offset <= end.offset)
            .then_some(AddressRange { start, end })
    }

    /// The `length` bytes from `start`, cut at the end of the 64-bit space.
    /// `None` for a zero length.
    pub fn with_length(start: Address, length: u64) -> Option<Self> {
        let last = length.checked_sub(1)?;
        let end = Address { space: start.space, offset: start.offset.saturating_add(last) };
        Some(AddressRange { start, end })
    }

    /// Whether the range holds `address`.
    pub fn contains(&self, address: Address) -> bool {
        self.start <= address && address <= self.end
    }

    /// Number of addresses; saturates for the whole 64-bit space.
    pub fn len(&self) -> u64 {
        (self.end.offset - self.start.offset).saturating_add(1)
    }

    /// Never: a range holds at least one address.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Whether both ranges share an address.
    pub fn intersects(&self, other: &AddressRange) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

/// A set of addresses as sorted, disjoint, maximal ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressSet {
    ranges: Vec<AddressRange>,
}

impl AddressSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The ranges in address order.
    pub fn ranges(&self) -> &[AddressRange] {
        &self.ranges
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of addresses; saturates.
    pub fn len(&self) -> u64 {
        self.ranges.iter().fold(0u64, |n, r| n.saturating_add(r.len()))
    }

    /// The smallest address.
    pub fn min(&self) -> Option<Address> {
        self.ranges.first().map(|r| r.start)
    }

    /// The greatest address.
    pub fn max(&self) -> Option<Address> {
        self.ranges.last().map(|r| r.end)
    }

    /// Whether the set holds `address`. O(log ranges).
    pub fn contains(&self, address: Address) -> bool {
        let after = self.ranges.partition_point(|r| r.start <= address);
        after > 0 && self.ranges[after - 1].contains(address)
    }

    /// Whether the set shares an address with `range`.
    pub fn intersects(&self, range: &AddressRange) -> bool {
        let after = self.ranges.partition_point(|r| r.start <= range.end);
        after > 0 && self.ranges[after - 1].end >= range.start
    }

    /// Adds a range, joining it with those it touches.
    pub fn insert(&mut self, range: AddressRange) {
        let touches_below = |r: &AddressRange| {
            r.start.space < range.start.space
                || (r.start.space == range.start.space
                    && r.end.offset.saturating_add(1) < range.start.offset)
        };
        let from = self.ranges.partition_point(touches_below);
        let mut to = from;
        let mut joined = range;
        while let Some(r) = self.ranges.get(to) {
            let apart = r.start.space != joined.end.space
                || r.start.offset > joined.end.offset.saturating_add(1);
            if apart {
                break;
            }
            joined.start = joined.start.min(r.start);
            joined.end = joined.end.max(r.end);
            to += 1;
        }
        self.ranges.splice(from..to, [joined]);
    }

    /// Removes the addresses of a range.
    pub fn remove(&mut self, range: &AddressRange) {
        let from = self.ranges.partition_point(|r| r.end < range.start);
        let to = self.ranges.partition_point(|r| r.start <= range.end);
        if from >= to {
            return;
        }
        let mut rest = Vec::with_capacity(2);
        let (first, last) = (self.ranges[from], self.ranges[to - 1]);
        if first.start < range.start {
            let end = Address { space: range.start.space, offset: range.start.offset - 1 };
            rest.push(AddressRange { start: first.start, end });
        }
        if last.end > range.end {
            let start = Address { space: range.end.space, offset: range.end.offset + 1 };
            rest.push(AddressRange { start, end: last.end });
        }
        self.ranges.splice(from..to, rest);
    }
}

impl FromIterator<AddressRange> for AddressSet {
    fn from_iter<I: IntoIterator<Item = AddressRange>>(ranges: I) -> Self {
        let mut set = AddressSet::new();
        for range in ranges {
            set.insert(range);
        }
        set
    }
}

/// What a space is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceKind {
    /// Memory that the processor addresses.
    Ram,
    /// File parts outside the processor's memory (`OTHER` and its overlays).
    NonLoaded,
    /// External locations.
    External,
    /// Stack frames.
    Stack,
    /// Registers.
    Register,
}

/// One address space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressSpace {
    /// Its id.
    pub id: SpaceId,
    /// Its name as printed before the colon.
    pub name: Box<str>,
    /// What it is for.
    pub kind: SpaceKind,
    /// Width of its addresses in bits.
    pub bits: u32,
    /// Bytes that one address counts; offsets are always in bytes.
    pub unit: u32,
    /// For an overlay, the space it lies over.
    pub overlay_of: Option<SpaceId>,
}

impl AddressSpace {
    /// The greatest offset.
    pub fn max_offset(&self) -> u64 {
        let units = if self.bits >= 64 { u64::MAX } else { (1u64 << self.bits) - 1 };
        let unit = u64::from(self.unit);
        units.checked_mul(unit).and_then(|n| n.checked_add(unit - 1)).unwrap_or(u64::MAX)
    }
}

/// The spaces of one program.
#[derive(Debug, Clone, PartialEq)]
pub struct AddressSpaces {
    spaces: Vec<AddressSpace>,
}

impl AddressSpaces {
    /// The spaces that every program has; `bits` is the width of `ram`.
    pub fn new(bits: u32) -> Self {
        let fixed = [
            (SpaceId::RAM, "ram", SpaceKind::Ram, bits),
            (SpaceId::EXTERNAL, "EXTERNAL", SpaceKind::External, 32),
            (SpaceId::STACK, "stack", SpaceKind::Stack, bits),
            (SpaceId::OTHER, "OTHER", SpaceKind::NonLoaded, 64),
            (SpaceId::REGISTER, "register", SpaceKind::Register, 32),
        ];
        let spaces = fixed
            .into_iter()
            .map(|(id, name, kind, bits)| AddressSpace {
                id,
                name: name.into(),
                kind,
                bits,
                unit: 1,
                overlay_of: None,
            })
            .collect();
        AddressSpaces { spaces }
    }

    /// The spaces of a saved program. `None` unless all that every program has
    /// are there, ids and names are used once, and overlays lie over others.
    pub fn restore(mut spaces: Vec<AddressSpace>) -> Option<Self> {
        spaces.sort_by_key(|space| space.id);
        let distinct = spaces.windows(2).all(|pair| pair[0].id < pair[1].id);
        let mut names: Vec<&str> = spaces.iter().map(|space| &*space.name).collect();
        names.sort_unstable();
        let named_once = names.windows(2).all(|pair| pair[0] != pair[1]);
        let sound = |space: &AddressSpace| space.unit > 0 && space.bits <= 64;
        let known = |id: SpaceId| spaces.binary_search_by_key(&id, |space| space.id).is_ok();
        let over = |space: &AddressSpace| match space.overlay_of {
            Some(base) => space.id.is_overlay() && base < space.id && known(base),
            None => !space.id.is_overlay(),
        };
        let complete = (0..=SpaceId::REGISTER.0).all(|id| known(SpaceId(id)));
        let fine = distinct && named_once && complete && spaces.iter().all(|s| sound(s) && over(s));
        fine.then_some(AddressSpaces { spaces })
    }

    /// Adds a space of memory beside `ram`, whose addresses count `unit` bytes
    /// each. The one of that name if there is one already; `None` when the
    /// number of such spaces is used up.
    pub fn add_memory(&mut self, name: &str, bits: u32, unit: u32) -> Option<SpaceId> {
        if let Some(space) = self.by_name(name) {
            return Some(space.id);
        }
        let at = self.spaces.partition_point(|space| !space.id.is_overlay());
        let id = SpaceId(u16::try_from(at).ok()?);
        if id.is_overlay() {
            return None;
        }
        let space = AddressSpace {
            id,
            name: name.into(),
            kind: SpaceKind::Ram,
            bits,
            unit: unit.max(1),
            overlay_of: None,
        };
        self.spaces.insert(at, space);
        Some(id)
    }

    /// Adds an overlay over `base` with a name made unique by a suffix.
    /// `None` when the number of spaces is used up.
    pub fn add_overlay(&mut self, name: &str, base: SpaceId) -> Option<SpaceId> {
        let overlays = self.spaces.iter().filter(|s| s.id.is_overlay()).count();
        let id = SpaceId(u16::try_from(SpaceId::FIRST_OVERLAY.0 as usize + overlays).ok()?);
        let (kind, bits, unit) =
            self.get(base).map_or((SpaceKind::NonLoaded, 64, 1), |s| (s.kind, s.bits, s.unit));
        let mut unique = name.to_owned();
        let mut suffix = 0u32;
        while self.by_name(&unique).is_some() {
            suffix += 1;
            unique = format!("{name}.{suffix}");
        }
        self.spaces.push(AddressSpace {
            id,
            name: unique.into(),
            kind,
            bits,
            unit,
            overlay_of: Some(base),
        });
        Some(id)
    }

    /// Whether the processor has more memory than `ram`, so that names have to
    /// tell which one an address is in.
    pub fn several_memories(&self) -> bool {
        let at = self.spaces.partition_point(|space| space.id <= SpaceId::REGISTER);
        self.spaces.get(at).is_some_and(|space| !space.id.is_overlay())
    }

    /// A space by id.
    pub fn get(&self, id: SpaceId) -> Option<&AddressSpace> {
        let at = self.spaces.binary_search_by_key(&id, |space| space.id).ok()?;
        self.spaces.get(at)
    }

    /// A space by its exact name.
    pub fn by_name(&self, name: &str) -> Option<&AddressSpace> {
        self.spaces.iter().find(|s| &*s.name == name)
    }

    /// All spaces, fixed ones first.
    pub fn iter(&self) -> impl Iterator<Item = &AddressSpace> {
        self.spaces.iter()
    }

    /// The one spelling of an address: `space:` and at least eight hex digits,
    /// or as many as a narrower space has; behind a dot the byte in the unit.
    /// Stack offsets print as `Stack[-0x10]`.
    pub fn print(&self, address: Address) -> AddressText<'_> {
        AddressText { space: self.get(address.space), address }
    }
}

/// Prints an address; see [`AddressSpaces::print`].
#[derive(Debug, Clone, Copy)]
pub struct AddressText<'a> {
    space: Option<&'a AddressSpace>,
    address: Address,
}

impl fmt::Display for AddressText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.address.offset;
        if self.address.space == SpaceId::STACK {
            let signed = offset as i64;
            let sign = if signed < 0 { "-" } else { "" };
            return write!(f, "Stack[{sign}0x{:x}]", signed.unsigned_abs());
        }
        let (name, bits, unit) = self.space.map_or(("?", 64, 1), |s| (&*s.name, s.bits, s.unit));
        let width = if bits < 32 { bits.div_ceil(4) as usize } else { 8 };
        let (at, byte) = (offset / u64::from(unit), offset % u64::from(unit));
        write!(f, "{name}:{at:0width$x}")?;
        if byte == 0 { Ok(()) } else { write!(f, ".{byte:x}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> AddressRange {
        AddressRange::new(Address::ram(start), Address::ram(end)).unwrap()
    }

    #[test]
    fn sets_join_touching_ranges_and_split_on_removal() {
        let mut set: AddressSet = [range(0, 3), range(8, 9), range(4, 7)].into_iter().collect();
        assert_eq!(set.ranges(), [range(0, 9)]);
        set.remove(&range(2, 4));
        assert_eq!(set.ranges(), [range(0, 1), range(5, 9)]);
        assert!(set.contains(Address::ram(1)) && !set.contains(Address::ram(2)));
        assert_eq!(set.len(), 7);
        set.insert(AddressRange::with_length(Address::external(10), 2).unwrap());
        assert_eq!(set.ranges().len(), 3);
        assert!(set.intersects(&range(9, 20)) && !set.intersects(&range(10, 20)));
    }

    #[test]
    fn addresses_print_with_their_space_named_once() {
        let mut spaces = AddressSpaces::new(64);
        let overlay = spaces.add_overlay(".comment", SpaceId::OTHER).unwrap();
        let print = |a| spaces.print(a).to_string();
        assert_eq!(print(Address::ram(0x100000)), "ram:00100000");
        assert_eq!(print(Address::ram(0x7fff_ffff_e000)), "ram:7fffffffe000");
        assert_eq!(print(Address::new(overlay, 0x26)), ".comment:00000026");
        assert_eq!(print(Address::external(1)), "EXTERNAL:00000001");
        assert_eq!(print(Address::stack(-0x10)), "Stack[-0x10]");
    }

    #[test]
    fn memory_beside_ram_prints_in_its_own_units() {
        let mut spaces = AddressSpaces::new(64);
        let overlay = spaces.add_overlay(".comment", SpaceId::OTHER).unwrap();
        let ports = spaces.add_memory("ports", 12, 8).unwrap();
        assert_eq!(spaces.add_memory("ports", 12, 8), Some(ports));
        assert_eq!(&*spaces.get(overlay).unwrap().name, ".comment");
        assert_eq!(spaces.get(ports).unwrap().max_offset(), 0x7fff);
        assert_eq!(spaces.print(Address::new(ports, 0x18)).to_string(), "ports:003");
        assert_eq!(spaces.print(Address::new(ports, 0x7fff)).to_string(), "ports:fff.7");
    }

    #[test]
    fn overlays_of_one_name_stay_apart() {
        let mut spaces = AddressSpaces::new(32);
        let first = spaces.add_overlay("x", SpaceId::OTHER).unwrap();
        let second = spaces.add_overlay("x", SpaceId::OTHER).unwrap();
        assert_ne!(first, second);
        assert_eq!(&*spaces.get(second).unwrap().name, "x.1");
    }
}
