//! Predefined macros of the program's compiler, as far as its sizes tell them.

use std::collections::HashMap;
use std::rc::Rc;

use program::RecordRules;
use program::data_type::DataOrganization;

use super::Macro;
use crate::lexer::{Kind, Token};

/// Words of Windows' headers for calling conventions.
const WINDOWS: [(&str, &str); 14] = [
    ("WINAPI", "__stdcall"),
    ("WINAPIV", "__cdecl"),
    ("APIENTRY", "__stdcall"),
    ("CALLBACK", "__stdcall"),
    ("NTAPI", "__stdcall"),
    ("PASCAL", "__stdcall"),
    ("WSAAPI", "__stdcall"),
    ("STDAPICALLTYPE", "__stdcall"),
    ("STDMETHODCALLTYPE", "__stdcall"),
    ("STDAPIVCALLTYPE", "__cdecl"),
    ("APIPRIVATE", "__stdcall"),
    ("CDECL", "__cdecl"),
    ("FASTCALL", "__fastcall"),
    ("RPC_ENTRY", "__stdcall"),
];

/// The macros that are defined before a text begins.
pub(super) fn macros<'a>(sizes: &DataOrganization) -> HashMap<&'a str, Macro<'a>> {
    let compiler = &sizes.compiler;
    let mut macros = HashMap::new();
    let mut number = |name: &'static str, value: &'static str| {
        macros.insert(name, one(Kind::Number(value)));
    };
    number("__STDC__", "1");
    number("__STDC_VERSION__", "201710");
    number("__CHAR_BIT__", "8");
    number("CHAR_BIT", "8");
    for (name, size) in [
        ("__SIZEOF_SHORT__", 2),
        ("__SIZEOF_INT__", compiler.int),
        ("__SIZEOF_LONG__", compiler.long),
        ("__SIZEOF_LONG_LONG__", 8),
        ("__SIZEOF_POINTER__", sizes.pointer),
        ("__SIZEOF_SIZE_T__", sizes.pointer),
        ("__SIZEOF_WCHAR_T__", sizes.wide_char),
        ("__SIZEOF_FLOAT__", 4),
        ("__SIZEOF_DOUBLE__", compiler.double),
        ("__SIZEOF_LONG_DOUBLE__", compiler.long_double),
    ] {
        number(name, digits(size));
    }
    number("__ORDER_LITTLE_ENDIAN__", "1234");
    number("__ORDER_BIG_ENDIAN__", "4321");
    number("__BYTE_ORDER__", if compiler.big_endian { "4321" } else { "1234" });
    if sizes.pointer == 8 && compiler.long == 8 {
        number("__LP64__", "1");
        number("_LP64", "1");
    }
    let windows = compiler.rules.is_windows();
    if windows {
        number("_WIN32", "1");
    }
    if windows && sizes.pointer == 8 {
        number("_WIN64", "1");
    }
    match compiler.rules {
        RecordRules::Microsoft => number("_MSC_VER", "1930"),
        _ => {
            number("__GNUC__", "12");
            number("__GNUC_MINOR__", "2");
        }
    }
    if compiler.rules == RecordRules::MinGw {
        number("__MINGW32__", "1");
    }
    if windows {
        macros.extend(WINDOWS.map(|(name, word)| (name, one(Kind::Word(word)))));
    }
    macros
}

fn one<'a>(kind: Kind<'a>) -> Macro<'a> {
    Macro::Tokens(Rc::new([Token { kind, offset: 0 }]))
}

fn digits(size: u32) -> &'static str {
    match size {
        2 => "2",
        4 => "4",
        8 => "8",
        10 => "10",
        12 => "12",
        _ => "16",
    }
}
