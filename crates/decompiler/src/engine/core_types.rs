//! The types the engine knows from the start, by Ghidra's names.
//!
//! The names decide how C text reads: variables take their prefixes from them.

use std::fmt::Write as _;

use program::DataOrganization;

use crate::language::Language;

/// Plain `undefined` is left out: with it, unknown bytes would print without their size.
const FIXED: [(&str, u32, &str, &str); 27] = [
    ("bool", 1, "bool", ""),
    ("byte", 1, "uint", ""),
    ("sbyte", 1, "int", ""),
    ("char", 1, "int", "char"),
    ("undefined1", 1, "unknown", ""),
    ("undefined2", 2, "unknown", ""),
    ("undefined3", 3, "unknown", ""),
    ("undefined4", 4, "unknown", ""),
    ("undefined5", 5, "unknown", ""),
    ("undefined6", 6, "unknown", ""),
    ("undefined7", 7, "unknown", ""),
    ("undefined8", 8, "unknown", ""),
    ("short", 2, "int", ""),
    ("ushort", 2, "uint", ""),
    ("int3", 3, "int", ""),
    ("uint3", 3, "uint", ""),
    ("int5", 5, "int", ""),
    ("uint5", 5, "uint", ""),
    ("int6", 6, "int", ""),
    ("uint6", 6, "uint", ""),
    ("int7", 7, "int", ""),
    ("uint7", 7, "uint", ""),
    ("int16", 16, "int", ""),
    ("uint16", 16, "uint", ""),
    ("float2", 2, "float", ""),
    ("float", 4, "float", ""),
    ("double", 8, "float", ""),
];

/// Marks a type that is as long as its value.
const PACKED: &str = "packed";

/// The bytes of a `long double` that are its value. Processors of the x86 family store 10 of them in
/// 12 or 16.
pub(crate) fn long_double_value(language: &Language, organization: &DataOrganization) -> u32 {
    match organization.long_double {
        12 | 16 if language.processor() == "x86" => 10,
        all => all,
    }
}

/// Whether `int` takes 8 bytes: that of Go is as wide as a pointer.
fn has_wide_int(language: &Language, organization: &DataOrganization) -> bool {
    language.compiler_spec_id() == "golang" && organization.pointer == 8
}

/// The engine's description of its core types for a compiler's sizes.
pub(crate) fn describe(language: &Language, organization: &DataOrganization) -> String {
    let mut text = String::from("<coretypes><void/>");
    let mut add = |name: &str, size: u32, kind: &str, mark: &str| {
        let mark = match mark {
            "" => String::new(),
            PACKED => " alignment=\"1\"".to_owned(),
            mark => format!(" {mark}=\"true\""),
        };
        let written = write!(
            text,
            "<type name=\"{name}\" size=\"{size}\" metatype=\"{kind}\"{mark} id=\"0\"/>"
        );
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    };
    for (name, size, kind, mark) in FIXED {
        add(name, size, kind, mark);
    }
    // Only one name for each size and kind: the one the engine gives to what it infers.
    let wide_int = has_wide_int(language, organization);
    let (int, uint) = if wide_int { ("sdword", "dword") } else { ("int", "uint") };
    add(int, 4, "int", "");
    add(uint, 4, "uint", "");
    if wide_int {
        add("int", 8, "int", "");
        add("uint", 8, "uint", "");
    } else if organization.long == 8 {
        add("long", 8, "int", "");
        add("ulong", 8, "uint", "");
    } else {
        add("longlong", 8, "int", "");
        add("ulonglong", 8, "uint", "");
    }
    // A value of the size of `long double` is called so.
    let long_double = long_double_value(language, organization);
    match long_double {
        10 => add("longdouble", 10, "float", ""),
        // Elsewhere it takes just these bytes: conventions pass and return no more of it.
        _ => add("float10", 10, "float", PACKED),
    }
    add(if long_double == 16 { "longdouble" } else { "float16" }, 16, "float", "");
    match organization.wide_char {
        2 => {
            add("wchar_t", 2, "int", "utf");
            add("wchar32", 4, "int", "utf");
        }
        _ => {
            add("wchar_t", 4, "int", "utf");
            add("wchar16", 2, "int", "utf");
        }
    }
    add("code", 1, "code", "");
    text.push_str("</coretypes>");
    text
}
