//! Storage of variables as text: pieces such as `register:00000018:4` and `Stack[-0x10]:8`.

use program::{Address, AddressSpaces, SpaceId, Storage, StoragePiece};

/// Where a variable lives; the hash of one that has no place of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) storage: Storage,
    pub(crate) hash: u64,
}

/// Understands Ghidra's text; what is not understood is unassigned.
pub(crate) fn parse(text: Option<&str>, spaces: &AddressSpaces) -> Place {
    let text = text.unwrap_or_default();
    if text == "<VOID>" {
        return Place { storage: Storage::Void, hash: 0 };
    }
    let mut pieces = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let Some((place, size)) = part.rsplit_once(':') else { return Place::default() };
        let Ok(size) = size.parse() else { return Place::default() };
        if let Some(hash) = place.strip_prefix("HASH:") {
            let hash = u64::from_str_radix(hash, 16).unwrap_or(0);
            return Place { storage: Storage::Unassigned, hash };
        }
        let Some(address) = address(place, spaces) else { return Place::default() };
        pieces.push(StoragePiece { address, size });
    }
    let storage = if pieces.is_empty() { Storage::Unassigned } else { Storage::Pieces(pieces) };
    Place { storage, hash: 0 }
}

fn address(text: &str, spaces: &AddressSpaces) -> Option<Address> {
    if let Some(offset) = text.strip_prefix("Stack[").and_then(|rest| rest.strip_suffix(']')) {
        let (negative, digits) = match offset.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, offset),
        };
        let offset = i64::from_str_radix(digits.trim_start_matches("0x"), 16).ok()?;
        return Some(Address::stack(if negative { -offset } else { offset }));
    }
    let (space, offset) = text.rsplit_once(':').unwrap_or(("ram", text));
    let offset = u64::from_str_radix(offset, 16).ok()?;
    let space = match space.trim_end_matches(':') {
        "register" => SpaceId::REGISTER,
        name => spaces.by_name(name)?.id,
    };
    Some(Address::new(space, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_stack_several_pieces_and_hashes_are_understood() {
        let spaces = AddressSpaces::new(64);
        let parse = |text| parse(Some(text), &spaces);
        let register = |offset| Address::new(SpaceId::REGISTER, offset);
        assert_eq!(parse("register:00000018:4").storage, Storage::at(register(0x18), 4));
        assert_eq!(parse("Stack[-0x10]:8").storage, Storage::at(Address::stack(-16), 8));
        assert_eq!(parse("Stack[0x20]:4").storage, Storage::at(Address::stack(32), 4));
        let both = parse("register:00000030:8,register:00000038:8").storage;
        assert_eq!(both.pieces().len(), 2);
        assert_eq!(parse("HASH:7dfe3bfff94:16").hash, 0x7dfe3bfff94);
        assert_eq!(parse("<VOID>").storage, Storage::Void);
        for unknown in ["<UNASSIGNED>", "<BAD>", "nowhere:1:2", "x", ":", "Stack[]:1"] {
            assert_eq!(parse(unknown), Place::default(), "{unknown}");
        }
    }
}
