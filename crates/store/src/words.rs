//! The words and numbers by which the file names what the program knows by type.
//! They are part of the format: they stay when names in the code change.

use program::data_type::{Builtin, Charset};
use program::{
    Address, BlockKind, CommentKind, FlowOverride, FlowType, RefType, SourceType, SpaceId,
    SpaceKind, Storage, StoragePiece, SymbolKind,
};

/// A two-way table between the values of an enum and what stands for them. A new
/// value does not compile until it has its own.
macro_rules! words {
    ($module:ident: $from:ident, $to:ty, $word_read:ty { $($value:ident = $word:literal,)+ }) => {
        pub(crate) mod $module {
            use super::$from;

            pub(crate) fn write(value: $from) -> $to {
                match value { $($from::$value => $word,)+ }
            }

            pub(crate) fn read(word: $word_read) -> Option<$from> {
                match word { $($word => Some($from::$value),)+ _ => None }
            }
        }
    };
}

words!(space_kind: SpaceKind, &'static str, &str {
    Ram = "ram", NonLoaded = "non_loaded", External = "external", Stack = "stack",
    Register = "register",
});

words!(block_kind: BlockKind, &'static str, &str {
    Default = "default", BitMapped = "bit_mapped", ByteMapped = "byte_mapped",
});

words!(comment_kind: CommentKind, &'static str, &str {
    Eol = "eol", Plate = "plate", Post = "post", Pre = "pre", Repeatable = "repeatable",
});

words!(symbol_kind: SymbolKind, &'static str, &str {
    Label = "label", Function = "function", Library = "library", Namespace = "namespace",
    Class = "class",
});

words!(source: SourceType, &'static str, &str {
    Default = "default", Analysis = "analysis", Imported = "imported", UserDefined = "user",
});

words!(source_number: SourceType, i64, i64 {
    Default = 0, Analysis = 1, Imported = 2, UserDefined = 3,
});

words!(flow_override: FlowOverride, &'static str, &str {
    None = "none", Branch = "branch", Call = "call", CallReturn = "call_return",
    Return = "return",
});

words!(flow: FlowType, u8, u8 {
    FallThrough = 0,
    UnconditionalJump = 1,
    ConditionalJump = 2,
    UnconditionalCall = 3,
    ConditionalCall = 4,
    Terminator = 5,
    ConditionalTerminator = 6,
    ComputedJump = 7,
    ConditionalComputedJump = 8,
    ComputedCall = 9,
    ConditionalComputedCall = 10,
    CallTerminator = 11,
    ComputedCallTerminator = 12,
    ConditionalCallTerminator = 13,
    JumpTerminator = 14,
    Indirection = 15,
    Invalid = 16,
    Flow = 17,
    CallOverrideUnconditional = 18,
    JumpOverrideUnconditional = 19,
    CallotherOverrideCall = 20,
    CallotherOverrideJump = 21,
});

words!(charset: Charset, &'static str, &str {
    Ascii = "ascii", Utf8 = "utf8", Utf16 = "utf16", Utf32 = "utf32",
});

/// Reference types: those that follow the flow by the flow's number, others from 100 on.
pub(crate) mod reference_type {
    use super::{RefType, flow};

    const OTHERS: [(i64, RefType); 11] = [
        (100, RefType::Data),
        (101, RefType::Param),
        (102, RefType::DataInd),
        (103, RefType::Read),
        (104, RefType::Write),
        (105, RefType::ReadWrite),
        (106, RefType::ReadInd),
        (107, RefType::WriteInd),
        (108, RefType::ReadWriteInd),
        (109, RefType::External),
        (110, RefType::Thunk),
    ];

    pub(crate) fn write(value: RefType) -> i64 {
        match value {
            RefType::Flow(flow) => i64::from(super::flow::write(flow)),
            RefType::Data => 100,
            RefType::Param => 101,
            RefType::DataInd => 102,
            RefType::Read => 103,
            RefType::Write => 104,
            RefType::ReadWrite => 105,
            RefType::ReadInd => 106,
            RefType::WriteInd => 107,
            RefType::ReadWriteInd => 108,
            RefType::External => 109,
            RefType::Thunk => 110,
        }
    }

    pub(crate) fn read(number: i64) -> Option<RefType> {
        if let Ok(number) = u8::try_from(number)
            && let Some(flow) = flow::read(number)
        {
            return Some(RefType::Flow(flow));
        }
        OTHERS.iter().find(|(known, _)| *known == number).map(|(_, kind)| *kind)
    }

    /// Every type with its number.
    pub(crate) fn all() -> impl Iterator<Item = (i64, RefType)> {
        let flows = (0..=u8::MAX).filter_map(|number| {
            flow::read(number).map(|flow| (i64::from(number), RefType::Flow(flow)))
        });
        flows.chain(OTHERS)
    }
}

/// What a built-in data type holds.
pub(crate) mod builtin {
    use super::{Builtin, Charset, charset};

    pub(crate) fn write(value: Builtin) -> String {
        let word = match value {
            Builtin::String(kind) => return format!("string {}", charset::write(kind)),
            Builtin::Void => "void",
            Builtin::Undefined => "undefined",
            Builtin::Bool => "bool",
            Builtin::Char => "char",
            Builtin::WideChar => "wide char",
            Builtin::Unsigned => "unsigned",
            Builtin::Signed => "signed",
            Builtin::Float => "float",
            Builtin::Pointer => "pointer",
            Builtin::ImageBaseOffset => "image base offset",
            Builtin::Alignment => "alignment",
            Builtin::Leb128 { signed: true } => "sleb128",
            Builtin::Leb128 { signed: false } => "uleb128",
        };
        word.to_owned()
    }

    pub(crate) fn read(word: &str) -> Option<Builtin> {
        if let Some(kind) = word.strip_prefix("string ") {
            let kind: Charset = charset::read(kind)?;
            return Some(Builtin::String(kind));
        }
        Some(match word {
            "void" => Builtin::Void,
            "undefined" => Builtin::Undefined,
            "bool" => Builtin::Bool,
            "char" => Builtin::Char,
            "wide char" => Builtin::WideChar,
            "unsigned" => Builtin::Unsigned,
            "signed" => Builtin::Signed,
            "float" => Builtin::Float,
            "pointer" => Builtin::Pointer,
            "image base offset" => Builtin::ImageBaseOffset,
            "alignment" => Builtin::Alignment,
            "sleb128" => Builtin::Leb128 { signed: true },
            "uleb128" => Builtin::Leb128 { signed: false },
            _ => return None,
        })
    }
}

/// Where a value lives: nothing when unknown, `void`, or pieces such as
/// `4:38:8,2:fffffffffffffff0:4` (space, offset and size; the offset is hexadecimal).
pub(crate) mod storage {
    use super::{Address, SpaceId, Storage, StoragePiece};
    use std::fmt::Write;

    pub(crate) fn write(value: &Storage) -> Option<String> {
        let pieces = match value {
            Storage::Unassigned => return None,
            Storage::Void => return Some("void".to_owned()),
            Storage::Pieces(pieces) => pieces,
        };
        let mut text = String::new();
        for piece in pieces {
            let comma = if text.is_empty() { "" } else { "," };
            let StoragePiece { address, size } = piece;
            let _ = write!(text, "{comma}{}:{:x}:{size}", address.space.0, address.offset);
        }
        Some(text)
    }

    pub(crate) fn read(text: Option<&str>) -> Option<Storage> {
        Some(match text {
            None => Storage::Unassigned,
            Some("void") => Storage::Void,
            Some("") => Storage::Pieces(Vec::new()),
            Some(text) => Storage::Pieces(text.split(',').map(piece).collect::<Option<_>>()?),
        })
    }

    fn piece(text: &str) -> Option<StoragePiece> {
        let mut parts = text.split(':');
        let space = SpaceId(parts.next()?.parse().ok()?);
        let offset = u64::from_str_radix(parts.next()?, 16).ok()?;
        let size = parts.next()?.parse().ok()?;
        let address = Address::new(space, offset);
        parts.next().is_none().then_some(StoragePiece { address, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_type_has_one_number() {
        let all: Vec<(i64, RefType)> = reference_type::all().collect();
        assert_eq!(all.len(), 33);
        for (number, kind) in all {
            assert_eq!(reference_type::write(kind), number);
            assert_eq!(reference_type::read(number), Some(kind));
        }
        assert_eq!(reference_type::read(99), None);
        assert_eq!(reference_type::read(-1), None);
    }

    #[test]
    fn storage_is_read_as_it_was_written() {
        let piece = |space, offset, size| StoragePiece {
            address: Address::new(SpaceId(space), offset),
            size,
        };
        for storage in [
            Storage::Unassigned,
            Storage::Void,
            Storage::Pieces(Vec::new()),
            Storage::Pieces(vec![piece(4, 0x38, 8), piece(2, -16i64 as u64, 4)]),
        ] {
            let text = storage::write(&storage);
            assert_eq!(storage::read(text.as_deref()), Some(storage));
        }
        for text in ["4", "4:38", "4:38:8:1", "x:1:1", "4:38:8,"] {
            assert_eq!(storage::read(Some(text)), None, "{text}");
        }
    }

    #[test]
    fn builtins_are_read_as_they_were_written() {
        let types = program::DataTypes::new(program::DataOrganization::default());
        for (_, data_type) in types.iter() {
            if let program::TypeKind::Builtin(kind) = data_type.kind {
                assert_eq!(builtin::read(&builtin::write(kind)), Some(kind));
            }
        }
        assert_eq!(builtin::read("string"), None);
    }
}
