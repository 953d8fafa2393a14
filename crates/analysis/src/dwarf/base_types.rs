//! Types that processors know: numbers, characters, truth values.

use super::Entry;
use super::registry::numbered;
use super::source::Source;
use gimli::AttributeValue;
use program::data_type::Builtin;
use program::{DataType, Program, TypeId, TypeKind};

/// Types of one name that are told apart.
const ALIKE: usize = 64;
/// Largest type that nothing is known of but its size.
const LARGEST: u64 = 1 << 16;

/// What C compilers call built-in types.
const NAMES: [(&str, &str); 36] = [
    ("void", "void"),
    ("char", "char"),
    ("signed char", "char"),
    ("unsigned char", "uchar"),
    ("short", "short"),
    ("short int", "short"),
    ("signed short int", "short"),
    ("unsigned short int", "ushort"),
    ("short unsigned int", "ushort"),
    ("int", "int"),
    ("signed int", "int"),
    ("unsigned int", "uint"),
    ("long", "long"),
    ("long int", "long"),
    ("signed long int", "long"),
    ("unsigned long int", "ulong"),
    ("long unsigned int", "ulong"),
    ("long long", "longlong"),
    ("long long int", "longlong"),
    ("signed long long int", "longlong"),
    ("unsigned long long int", "ulonglong"),
    ("long long unsigned int", "ulonglong"),
    ("float", "float"),
    ("double", "double"),
    ("long double", "longdouble"),
    ("bool", "bool"),
    ("wchar_t", "wchar_t"),
    ("undefined1", "undefined1"),
    ("int8_t", "int8_t"),
    ("int16_t", "int16_t"),
    ("int32_t", "int32_t"),
    ("int64_t", "int64_t"),
    ("uint8_t", "uint8_t"),
    ("uint16_t", "uint16_t"),
    ("uint32_t", "uint32_t"),
    ("uint64_t", "uint64_t"),
];

/// The built-in type of a name that C compilers give.
pub(super) fn named(name: &str) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, built_in)| *built_in)
}

/// What an entry of a base type says, under the name that it or its typedef has. What is no
/// built-in type of that name becomes a typedef.
pub(super) fn make<'a>(
    program: &mut Program,
    source: &Source<'_, 'a>,
    entry: &Entry<'_, 'a>,
    name: Option<&str>,
) -> TypeId {
    let size = source.number(entry, gimli::DW_AT_byte_size).unwrap_or(0);
    let encoding = match entry.attr_value(gimli::DW_AT_encoding) {
        Ok(Some(AttributeValue::Encoding(encoding))) => encoding,
        _ => gimli::DwAte(0),
    };
    let built_in = name.and_then(named).map(|name| program.types.builtin(name));
    if let Some(id) = built_in.filter(|id| fits(program, *id, encoding, size)) {
        return id;
    }
    let plain = by_encoding(program, encoding, size, name.is_some_and(|n| tells_size(n, size)));
    let Some(name) = name else { return plain };
    let (length, alignment) =
        program.types.get(plain).map_or((None, 1), |t| (t.length, t.alignment));
    let mut made = DataType {
        category: "/DWARF".into(),
        name: name.into(),
        length,
        alignment,
        description: "".into(),
        kind: TypeKind::Typedef(plain),
        used: true,
    };
    for number in 0..ALIKE {
        let known = program.types.at_path(&made.path()).and_then(|id| program.types.get(id));
        if known.is_none_or(|known| known.kind == made.kind) {
            break;
        }
        made.name = numbered(name, number + 1);
    }
    program.types.add(made)
}

fn fits(program: &Program, id: TypeId, encoding: gimli::DwAte, size: u64) -> bool {
    let types = &program.types;
    let other_sign = matches!(
        (encoding, types.as_builtin(id)),
        (gimli::DW_ATE_signed, Some(Builtin::Unsigned | Builtin::Bool))
            | (gimli::DW_ATE_unsigned, Some(Builtin::Signed | Builtin::Char))
    );
    !other_sign && types.length(id).map(u64::from) == Some(size)
}

/// Whether a name such as `int32_t` tells the size, so that it is the same for every compiler.
fn tells_size(name: &str, size: u64) -> bool {
    let Some(start) = name.find(|c: char| c.is_ascii_digit()).filter(|start| *start > 0) else {
        return false;
    };
    let digits: String = name[start..].chars().take_while(char::is_ascii_digit).collect();
    let rest = &name[start + digits.len()..];
    let told = matches!(&*digits, "8" | "16" | "32" | "64" | "128");
    told && !rest.contains(|c: char| c.is_ascii_digit())
        && digits.parse::<u64>().is_ok_and(|bits| bits / 8 == size)
}

/// The built-in type of an encoding and size. Where a name tells the size, it is one of those whose
/// names do so, too.
fn by_encoding(program: &mut Program, encoding: gimli::DwAte, size: u64, sized: bool) -> TypeId {
    let long = u64::from(program.types.organization().long);
    let name = match (encoding, size) {
        (gimli::DW_ATE_address, _) => "void",
        (gimli::DW_ATE_boolean, 1) => "bool",
        (gimli::DW_ATE_float, 2) => "float2",
        (gimli::DW_ATE_float, 4) => "float",
        (gimli::DW_ATE_float, 8) => "double",
        (gimli::DW_ATE_float, 10) => "float10",
        (gimli::DW_ATE_float, 16) => "float16",
        (gimli::DW_ATE_signed_char, _) => "char",
        (gimli::DW_ATE_unsigned_char, _) => "uchar",
        (gimli::DW_ATE_UTF, 1) => "char",
        (gimli::DW_ATE_UTF, 2) => "wchar16",
        (gimli::DW_ATE_UTF, 4) => "wchar32",
        (gimli::DW_ATE_signed, _) => signed(size, long, sized),
        (gimli::DW_ATE_unsigned, _) => unsigned(size, long, sized),
        _ => "",
    };
    let name = match (name, size) {
        ("", 1) => "byte",
        ("", 2) => "word",
        ("", 4) => "dword",
        ("", 8) => "qword",
        (name, _) => name,
    };
    match (name, size) {
        ("", 0) => program.types.builtin("void"),
        ("", _) => {
            let one = program.types.builtin("undefined");
            program.types.array_of(one, size.min(LARGEST) as u32)
        }
        (name, _) => program.types.builtin(name),
    }
}

fn signed(size: u64, long: u64, sized: bool) -> &'static str {
    match size {
        4 if !sized => "int",
        2 if !sized => "short",
        8 if !sized && long == 8 => "long",
        8 if !sized => "longlong",
        1 => "sbyte",
        2 => "sword",
        3 => "int3",
        4 => "sdword",
        5 => "int5",
        6 => "int6",
        7 => "int7",
        8 => "sqword",
        16 => "int16",
        _ => "",
    }
}

fn unsigned(size: u64, long: u64, sized: bool) -> &'static str {
    match size {
        4 if !sized => "uint",
        2 if !sized => "ushort",
        8 if !sized && long == 8 => "ulong",
        8 if !sized => "ulonglong",
        1 => "byte",
        2 => "word",
        3 => "uint3",
        4 => "dword",
        5 => "uint5",
        6 => "uint6",
        7 => "uint7",
        8 => "qword",
        16 => "uint16",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_tell_sizes_by_one_number_behind_letters() {
        assert!(super::tells_size("uint8_t", 1) && super::tells_size("u128", 16));
        assert!(!super::tells_size("int32_t", 8) && !super::tells_size("8bits", 1));
        assert!(!super::tells_size("vec4x32", 4) && !super::tells_size("size_t", 8));
    }
}
