//! Addresses as text: one grammar for everything people and clients write.
//!
//! Accepted are `space:hex`, `space::hex`, bare hex digits (always hex, with
//! or without `0x`), a symbol's name if it names one place (`main`,
//! `ns::name`, also the synthetic names the listing shows), a memory block's
//! name, and `+` or `-` with hex digits behind any of them. A word of hex
//! digits that is a symbol's name (`add`, `face`) means the symbol where the
//! number is no place in memory, and the number otherwise; a default name
//! (`FUN_00101139`) always means its address. Everything that
//! [`AddressSpaces::print`](crate::AddressSpaces::print) prints reads back as
//! the same address.

use crate::Program;
use crate::address::{Address, AddressSpace, SpaceId};
use crate::symbol::SymbolKind;

/// Most offsets behind one name.
const MAX_OFFSETS: usize = 16;
/// Most candidates named in an error.
const MAX_CANDIDATES: usize = 8;
/// Longest chain of thunks that is followed.
const MAX_THUNKS: usize = 16;

/// Why a text names no address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressTextError {
    /// Nothing but blanks.
    Blank,
    /// No number, symbol or block.
    Unknown,
    /// Several places bear the name.
    Ambiguous(Vec<Address>),
    /// The number is beyond the end of its space.
    OutOfSpace {
        /// The space's name.
        space: String,
        /// Its last offset.
        max: u64,
    },
}

impl Program {
    /// The address that a text names.
    pub fn parse_address(&self, text: &str) -> Result<Address, AddressTextError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(AddressTextError::Blank);
        }
        self.parse_with_offsets(text, MAX_OFFSETS)
    }

    /// As [`Program::parse_address`], for places of code: an odd address whose
    /// even neighbour holds an instruction in another mode (Thumb) means that one.
    pub fn parse_code_address(&self, text: &str) -> Result<Address, AddressTextError> {
        let address = self.parse_address(text)?;
        let even = Address::new(address.space, address.offset & !1);
        let odd = even != address && self.mode_at(even) != 0;
        if odd && self.listing.instructions.contains_key(&even) { Ok(even) } else { Ok(address) }
    }

    fn parse_with_offsets(&self, text: &str, left: usize) -> Result<Address, AddressTextError> {
        // Names may hold a plus or a minus, so the whole text is tried first.
        let whole = self.parse_atom(text);
        if whole.is_ok() || left == 0 {
            return whole;
        }
        let Some(at) = text.rfind(['+', '-']).filter(|at| *at > 0) else { return whole };
        let Some(offset) = hex(text[at + 1..].trim()) else { return whole };
        let base = self.parse_with_offsets(text[..at].trim_end(), left - 1)?;
        let plus = text.as_bytes()[at] == b'+';
        let moved = if plus { base.checked_add(offset) } else { base.checked_sub(offset) };
        let space = self.spaces.get(base.space).ok_or(AddressTextError::Unknown)?;
        moved.filter(|a| fits(space, a.offset)).ok_or_else(|| out_of(space))
    }

    fn parse_atom(&self, text: &str) -> Result<Address, AddressTextError> {
        if let Some(address) = stack_address(text) {
            return Ok(address);
        }
        if let Some((space, digits)) = text.rsplit_once(':')
            && let Some(space) = self.space_named(space)
            && let Some(number) = offset_text(space, digits)
        {
            return in_space(space, number);
        }
        if let (Some(number), Some(space)) = (number(text), self.spaces.get(SpaceId::RAM)) {
            let plain = in_space(space, number);
            let is_place = plain.as_ref().is_ok_and(|at| self.memory.block_at(*at).is_some());
            return if is_place { plain } else { self.symbol_place(text).unwrap_or(plain) };
        }
        if let Some(place) = self.default_place(text) {
            return Ok(place);
        }
        if let Some(found) = self.symbol_place(text) {
            return found;
        }
        if let Some(block) = self.memory.block_named(text) {
            return Ok(block.start);
        }
        self.place_in_foreign_name(text).ok_or(AddressTextError::Unknown)
    }

    /// The place of a default name, if there is something.
    fn default_place(&self, text: &str) -> Option<Address> {
        let place = self.address_in_default_name(text)?;
        let is_shown = || self.label_at(place).as_deref() == Some(text);
        (self.memory.block_at(place).is_some() || is_shown()).then_some(place)
    }

    /// The place of a symbol whose name is a word of hex digits that is read as the address it
    /// spells, because that is a place in memory.
    pub fn namesake(&self, text: &str) -> Option<Address> {
        let text = text.trim();
        let place = Address::ram(number(text)?.ok()?);
        self.memory.block_at(place)?;
        self.symbol_place(text)?.ok().filter(|other| *other != place)
    }

    /// The space before the last colon; a second colon there is tolerated.
    fn space_named(&self, name: &str) -> Option<&AddressSpace> {
        let single = || name.strip_suffix(':').and_then(|name| self.spaces.by_name(name));
        self.spaces.by_name(name).or_else(single)
    }

    /// The one place that a label or function of this name stands for.
    fn symbol_place(&self, text: &str) -> Option<Result<Address, AddressTextError>> {
        let (path, name) = match text.rsplit_once("::") {
            Some((path, name)) => (Some(path), name),
            None => (None, text),
        };
        let mut places = self.places_named(name, path);
        if places.is_empty() && path.is_some() {
            places = self.places_named(text, None);
        }
        if places.is_empty() {
            return None;
        }
        // What can be read or run here wins over what stands for another library.
        if places.iter().any(|place| self.is_real(*place)) {
            places.retain(|place| self.is_real(*place));
        } else if let Some(stub) = self.only_stub_of(&places) {
            return Some(Ok(stub));
        }
        match places.as_slice() {
            [only] => Some(Ok(*only)),
            _ => {
                places.truncate(MAX_CANDIDATES);
                Some(Err(AddressTextError::Ambiguous(places)))
            }
        }
    }

    fn places_named(&self, name: &str, path: Option<&str>) -> Vec<Address> {
        let mut places: Vec<Address> = self
            .symbols
            .named(name)
            .filter(|(_, s)| matches!(s.kind, SymbolKind::Label | SymbolKind::Function))
            .filter(|(_, s)| path.is_none_or(|path| self.symbols.path(s.parent).join("::") == path))
            .map(|(_, s)| s.address)
            .collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Whether a place is part of the file rather than made up for what other files hold.
    fn is_real(&self, place: Address) -> bool {
        let artificial = |block: &crate::MemoryBlock| block.permissions.artificial;
        place.space != SpaceId::EXTERNAL && !self.memory.block_at(place).is_some_and(artificial)
    }

    /// The function of the file that passes on to one of these places, if there is only one.
    fn only_stub_of(&self, places: &[Address]) -> Option<Address> {
        let ends: Vec<Address> = places.iter().map(|place| self.end_of_thunks(*place)).collect();
        let mut stubs = self.functions.iter().filter(|function| {
            function.thunk_of.is_some()
                && self.is_real(function.entry)
                && ends.contains(&self.end_of_thunks(function.entry))
        });
        let first = stubs.next()?.entry;
        stubs.next().is_none().then_some(first)
    }

    /// Where a chain of thunks ends, be there a function or not.
    fn end_of_thunks(&self, place: Address) -> Address {
        let next = |place: &Address| self.functions.at(*place)?.thunk_of;
        std::iter::successors(Some(place), next).take(MAX_THUNKS).last().unwrap_or(place)
    }
}

fn in_space(space: &AddressSpace, number: Result<u64, ()>) -> Result<Address, AddressTextError> {
    match number {
        Ok(offset) if fits(space, offset) => Ok(Address::new(space.id, offset)),
        _ => Err(out_of(space)),
    }
}

/// The byte offset that digits of a space name: they count its units, and
/// behind a dot the byte in the unit.
fn offset_text(space: &AddressSpace, digits: &str) -> Option<Result<u64, ()>> {
    if space.unit == 1 {
        return number(digits);
    }
    let (units, byte) = digits.split_once('.').unwrap_or((digits, "0"));
    let (units, byte) = (number(units)?, number(byte)?);
    let unit = u64::from(space.unit);
    let bytes = |units: u64, byte: u64| {
        Some(byte).filter(|byte| *byte < unit).and_then(|b| units.checked_mul(unit)?.checked_add(b))
    };
    Some(units.and_then(|units| bytes(units, byte?).ok_or(())))
}

fn fits(space: &AddressSpace, offset: u64) -> bool {
    offset <= space.max_offset()
}

fn out_of(space: &AddressSpace) -> AddressTextError {
    let max = space.max_offset() / u64::from(space.unit);
    AddressTextError::OutOfSpace { space: space.name.to_string(), max }
}

/// `Stack[0x8]` and `Stack[-0x14]`, as storage and references print them.
fn stack_address(text: &str) -> Option<Address> {
    let inner = text.strip_prefix("Stack[")?.strip_suffix(']')?;
    let (negative, digits) = match inner.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, inner),
    };
    let size = i64::try_from(hex(digits)?).ok();
    match (negative, size) {
        (false, Some(size)) => Some(Address::stack(size)),
        (true, Some(size)) => Some(Address::stack(-size)),
        // The one value whose magnitude does not fit.
        (true, None) if hex(digits)? == 1 << 63 => Some(Address::stack(i64::MIN)),
        _ => None,
    }
}

/// Hex digits with an optional `0x`; `None` for anything else and beyond 64 bits.
fn hex(text: &str) -> Option<u64> {
    number(text)?.ok()
}

/// Hex digits with an optional `0x`: the number, or an error beyond 64 bits.
fn number(text: &str) -> Option<Result<u64, ()>> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some(Ok(0));
    }
    Some(u64::from_str_radix(significant, 16).map_err(|_| ()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbol::{SourceType, SymbolId};
    use crate::{AddressSet, BlockSource, DataOrganization, MemoryBlock, ProgramInfo};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn program() -> Program {
        let info = ProgramInfo { address_bits: 64, ..ProgramInfo::default() };
        let mut p = Program::new(info, false, DataOrganization::default());
        Arc::make_mut(&mut p.spaces).add_overlay(".comment", SpaceId::OTHER);
        Arc::make_mut(&mut p.spaces).add_overlay("odd:name:", SpaceId::OTHER);
        let block = MemoryBlock::new(".text", Address::ram(0x1000), 0x100, BlockSource::Zero);
        p.memory.add_block(block).expect("nothing is in the way");
        let ns = p.symbols.namespace("ns", SymbolId::GLOBAL, SymbolKind::Namespace);
        let user = SourceType::UserDefined;
        p.add_label(Address::ram(0x1004), "main", SymbolId::GLOBAL, user);
        p.add_label(Address::ram(0x1008), "inner", ns, user);
        p.add_label(Address::ram(0x100c), "twice", SymbolId::GLOBAL, user);
        p.add_label(Address::ram(0x1010), "twice", ns, user);
        p.add_label(Address::ram(0x1014), "operator+", SymbolId::GLOBAL, user);
        p.add_label(Address::ram(0x1018), "beef", SymbolId::GLOBAL, user);
        p.add_label(Address::external(1), "puts", SymbolId::GLOBAL, user);
        p.add_function(Address::ram(0x1020), AddressSet::new());
        p
    }

    #[test]
    fn every_spelling_reads() {
        let p = program();
        let overlay = p.spaces.by_name(".comment").expect("was added").id;
        let cases = [
            ("1000", Address::ram(0x1000)),
            (" 0x1000 ", Address::ram(0x1000)),
            ("ram:1000", Address::ram(0x1000)),
            ("ram::0x1000", Address::ram(0x1000)),
            ("beef", Address::ram(0x1018)),
            ("beef+4", Address::ram(0x101c)),
            ("0xbeef", Address::ram(0xbeef)),
            ("ram:beef", Address::ram(0xbeef)),
            ("dead", Address::ram(0xdead)),
            ("sub_1020", Address::ram(0x1020)),
            ("fcn.00001030", Address::ram(0x1030)),
            ("1030h", Address::ram(0x1030)),
            ("main", Address::ram(0x1004)),
            ("main+10", Address::ram(0x1014)),
            ("main + 0x10 - 4", Address::ram(0x1010)),
            ("ns::inner", Address::ram(0x1008)),
            ("inner", Address::ram(0x1008)),
            ("ns::twice-4", Address::ram(0x100c)),
            ("operator+", Address::ram(0x1014)),
            ("operator++1", Address::ram(0x1015)),
            (".text", Address::ram(0x1000)),
            ("1000-1", Address::ram(0xfff)),
            ("FUN_00001020", Address::ram(0x1020)),
            ("DAT_00001030", Address::ram(0x1030)),
            (".comment:0", Address::new(overlay, 0)),
            (".comment::00000026", Address::new(overlay, 0x26)),
            ("puts", Address::external(1)),
            ("Stack[-0x10]", Address::stack(-0x10)),
        ];
        for (text, wanted) in cases {
            assert_eq!(p.parse_address(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn a_name_of_hex_digits_gives_way_to_a_place_in_memory() {
        let mut p = program();
        let user = SourceType::UserDefined;
        p.add_label(Address::ram(0x1040), "1080", SymbolId::GLOBAL, user);
        p.add_label(Address::ram(0x1044), "dead", SymbolId::GLOBAL, user);
        assert_eq!(p.parse_address("1080"), Ok(Address::ram(0x1080)));
        assert_eq!(p.namesake("1080"), Some(Address::ram(0x1040)), "the name is told too");
        assert_eq!(p.parse_address("dead"), Ok(Address::ram(0x1044)));
        assert_eq!(p.namesake("dead"), None);
        assert_eq!(p.namesake("1084"), None);
        assert_eq!(p.decimal_reading("4160"), Some(Address::ram(0x1040)));
        assert_eq!(p.decimal_reading("1040"), None, "a place as it stands");
        assert_eq!(p.decimal_reading("999999"), None, "no place either way");
    }

    #[test]
    fn a_default_name_means_its_address_whatever_is_called_so() {
        let mut p = program();
        let user = SourceType::UserDefined;
        p.add_label(Address::ram(0x1050), "FUN_00001020", SymbolId::GLOBAL, user);
        p.add_label(Address::ram(0x1054), "DAT_00009000", SymbolId::GLOBAL, user);
        assert_eq!(p.parse_address("FUN_00001020"), Ok(Address::ram(0x1020)));
        assert_eq!(p.parse_address("FUN_00001060"), Ok(Address::ram(0x1060)), "no function yet");
        assert_eq!(p.parse_address("LAB_00001062"), Ok(Address::ram(0x1062)));
        assert_eq!(p.parse_address("DAT_00009000"), Ok(Address::ram(0x1054)), "no memory there");
        assert_eq!(p.address_in_default_name("DAT_00009000"), Some(Address::ram(0x9000)));
        assert_eq!(p.address_in_default_name("my_FUN_00001020"), None);
        assert_eq!(p.address_in_default_name("crc_00001020"), None, "a name like any other");
    }

    #[test]
    fn a_stub_stands_for_its_library_function() {
        let mut p = program();
        p.functions.edit(Address::ram(0x1020), |f| f.thunk_of = Some(Address::external(1)));
        assert_eq!(p.parse_address("puts"), Ok(Address::ram(0x1020)));
        // Loaders may stand a made-up function between the stub and the library.
        let mut block =
            MemoryBlock::new("EXTERNAL", Address::ram(0x5000), 8, BlockSource::Uninitialized);
        block.permissions.artificial = true;
        p.memory.add_block(block).expect("nothing is in the way");
        p.add_label(Address::ram(0x5000), "puts", SymbolId::GLOBAL, SourceType::Imported);
        p.add_function(Address::ram(0x5000), AddressSet::new());
        p.functions.edit(Address::ram(0x5000), |f| f.thunk_of = Some(Address::external(1)));
        p.functions.edit(Address::ram(0x1020), |f| f.thunk_of = Some(Address::ram(0x5000)));
        p.functions.put(crate::Function::new(
            Address::external(1),
            SymbolId::GLOBAL,
            AddressSet::new(),
            crate::TypeId(1),
        ));
        assert_eq!(p.parse_address("puts"), Ok(Address::ram(0x1020)));
    }

    #[test]
    fn refusals_say_why() {
        let p = program();
        assert_eq!(p.parse_address("  "), Err(AddressTextError::Blank));
        assert_eq!(p.parse_address("nowhere"), Err(AddressTextError::Unknown));
        assert_eq!(p.parse_address("main+xyz"), Err(AddressTextError::Unknown));
        let both = vec![Address::ram(0x100c), Address::ram(0x1010)];
        assert_eq!(p.parse_address("twice"), Err(AddressTextError::Ambiguous(both)));
        let beyond = p.parse_address("1ffffffffffffffff");
        assert!(matches!(beyond, Err(AddressTextError::OutOfSpace { .. })));
        assert!(matches!(
            p.parse_address("EXTERNAL:100000000"),
            Err(AddressTextError::OutOfSpace { .. })
        ));
        assert!(matches!(p.parse_address("0-1"), Err(AddressTextError::OutOfSpace { .. })));
        let mut p = p;
        Arc::make_mut(&mut p.spaces).add_memory("ports", 12, 8);
        for text in ["ports:1000", "ports:0.8"] {
            let refused = p.parse_address(text);
            let max = 0xfff;
            assert_eq!(refused, Err(AddressTextError::OutOfSpace { space: "ports".into(), max }));
        }
    }

    proptest! {
        #[test]
        fn every_printed_address_reads_back(space in 0usize..8, offset: u64) {
            let mut p = program();
            Arc::make_mut(&mut p.spaces).add_memory("ports", 12, 8);
            let space = p.spaces.iter().nth(space).expect("eight spaces");
            let offset = if space.id == SpaceId::STACK { offset } else { offset & space.max_offset() };
            let address = Address::new(space.id, offset);
            prop_assert_eq!(p.parse_address(&p.spaces.print(address).to_string()), Ok(address));
        }

        #[test]
        fn nothing_panics(text in ".{0,40}") {
            let _ = program().parse_address(&text);
        }
    }
}
