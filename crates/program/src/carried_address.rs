//! Names that carry an address: default names (`FUN_00101139`, `s_text_00102004`), which always
//! mean it, and the spellings of other tools (`sub_101139`, `101139h`), which are understood.

use crate::Program;
use crate::address::{Address, SpaceId};

/// Digits of the shortest printed offset.
const PRINTED_DIGITS: usize = 8;

/// Digits of the shortest offset in a name of another tool.
const FOREIGN_DIGITS: usize = 4;

/// What stands before the address in default names whatever lies there.
const PLAIN_HEADS: [&str; 6] = ["FUN", "LAB", "DAT", "SUB", "UNK", "thunk_FUN"];

/// What other tools put before an address, in any case.
const FOREIGN_HEADS: [&str; 24] = [
    "sub", "loc", "locret", "fcn", "fun", "func", "function", "dat", "data", "lab", "label", "off",
    "unk", "byte", "word", "dword", "qword", "stru", "asc", "str", "entry", "j_sub", "ptr", "jpt",
];

impl Program {
    /// The address that a name means by itself: that of a default name, be it shown there now or
    /// not. Nothing else can be called so.
    pub fn address_in_default_name(&self, name: &str) -> Option<Address> {
        let (head, digits) = name.rsplit_once('_')?;
        if digits.len() < PRINTED_DIGITS || head.is_empty() {
            return None;
        }
        let offset = digits_value(digits)?;
        if PLAIN_HEADS.contains(&head) && !self.spaces.several_memories() {
            return Some(Address::ram(offset));
        }
        let is_shown = |address: &Address| {
            self.synthetic_label(*address).as_deref() == Some(name)
                || self.symbols.primary_at(*address).is_none()
                    && self.label_at(*address).as_deref() == Some(name)
                || self.default_function_name(*address) == name
        };
        let ram = Some(Address::ram(offset)).filter(is_shown);
        let elsewhere = || {
            let spaces = self.spaces.iter().filter(|space| space.id != SpaceId::RAM);
            spaces.map(|space| Address::new(space.id, offset)).find(is_shown)
        };
        ram.or_else(elsewhere)
    }

    /// The place that a name of another tool, or digits with an `h` behind them, mean; only
    /// places in memory.
    pub(crate) fn place_in_foreign_name(&self, text: &str) -> Option<Address> {
        let assembler = text.strip_suffix(['h', 'H']);
        let assembler = assembler.filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit()));
        let named = || {
            let (head, digits) = text.rsplit_once(['_', '.'])?;
            let known = FOREIGN_HEADS.iter().any(|known| known.eq_ignore_ascii_case(head));
            (known && digits.len() >= FOREIGN_DIGITS).then_some(digits)
        };
        let place = Address::ram(digits_value(assembler.or_else(named)?)?);
        self.memory.block_at(place).map(|_| place)
    }

    /// The place in memory that bare digits mean when they are read as a decimal number, where
    /// the hexadecimal reading is no place in memory.
    pub fn decimal_reading(&self, text: &str) -> Option<Address> {
        let text = text.trim();
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let in_memory = |place: &Address| self.memory.block_at(*place).is_some();
        let hex = u64::from_str_radix(text, 16).ok().map(Address::ram).filter(in_memory);
        let decimal = text.parse().ok().map(Address::ram).filter(in_memory);
        decimal.filter(|_| hex.is_none())
    }
}

/// Hex digits without anything before them.
fn digits_value(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}
