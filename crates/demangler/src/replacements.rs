//! Abbreviations of the C++ library's templates: `std::basic_string<char, ...>` is `std::string`.

use std::sync::LazyLock;

/// What follows the character type in a template's arguments.
#[derive(Clone, Copy)]
enum Arguments {
    /// Its traits and an allocator.
    Allocated,
    /// Its traits.
    Traits,
    /// The traits of regular expressions.
    Regex,
}

/// Abbreviated templates: the name behind `basic_`, and what its arguments are.
const TEMPLATES: [(&str, Arguments); 21] = {
    use Arguments::{Allocated, Regex, Traits};
    [
        ("string", Allocated),
        ("string_view", Allocated),
        ("stringstream", Allocated),
        ("istringstream", Allocated),
        ("ostringstream", Allocated),
        ("spanbuf", Traits),
        ("ispanstream", Traits),
        ("spanstream", Traits),
        ("syncbuf", Traits),
        ("osyncstream", Traits),
        ("stringbuf", Allocated),
        ("ios", Traits),
        ("istream", Traits),
        ("ostream", Traits),
        ("iostream", Traits),
        ("fstream", Traits),
        ("ifstream", Traits),
        ("ofstream", Traits),
        ("streambuf", Traits),
        ("filebuf", Traits),
        ("regex", Regex),
    ]
};

/// Character types: the letters before an abbreviation, and the type. Streams know the first two.
const CHARACTERS: [(&str, &str); 5] =
    [("", "char"), ("w", "wchar_t"), ("u8", "char8_t"), ("u16", "char16_t"), ("u32", "char32_t")];

/// Namespaces in which the abbreviations are known.
const SPACES: [&str; 3] = ["std::", "std::__cxx11::", "__gnu_cxx::"];

/// Pairs of texts: what is replaced, and by what, in order.
static PAIRS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let mut pairs = Vec::new();
    let mut constructors = Vec::new();
    for (name, arguments) in &TEMPLATES {
        let known = if *name == "string" { CHARACTERS.len() } else { 2 };
        for (letters, character) in CHARACTERS.iter().take(known) {
            let written = match arguments {
                Arguments::Allocated => {
                    format!(
                        "{character}, std::char_traits<{character}>, std::allocator<{character}> "
                    )
                }
                Arguments::Traits => format!("{character}, std::char_traits<{character}> "),
                Arguments::Regex => format!("{character}, std::regex_traits<{character}> "),
            };
            for space in SPACES {
                pairs.push((
                    format!("{space}basic_{name}<{written}>"),
                    format!("{space}{letters}{name}"),
                ));
            }
            if matches!(arguments, Arguments::Regex) {
                continue;
            }
            for (space, tilde) in SPACES.iter().flat_map(|space| [(space, ""), (space, "~")]) {
                let short = format!("{letters}{name}");
                constructors.push((
                    format!("{space}{short}::{tilde}basic_{name}"),
                    format!("{space}{short}::{tilde}{short}"),
                ));
            }
        }
    }
    pairs.append(&mut constructors);
    pairs
});

/// A text with abbreviations, and without the inline namespace of LLVM's library.
pub(crate) fn abbreviated(text: String) -> String {
    let text = if text.contains("::__1") { text.replace("::__1", "") } else { text };
    let text = text.replace("pool_allocator<char>", "std::allocator<char>");
    if !text.contains("basic_") {
        return text;
    }
    PAIRS.iter().fold(
        text,
        |text, (long, short)| {
            if text.contains(long) { text.replace(long, short) } else { text }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(text: &str) -> String {
        abbreviated(text.to_owned())
    }

    #[test]
    fn strings_and_streams_have_their_usual_names() {
        let string =
            "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
        assert_eq!(short(&format!("f({string} const&)")), "f(std::__cxx11::string const&)");
        assert_eq!(short(&format!("{string}::basic_string()")), "std::__cxx11::string::string()");
        assert_eq!(short(&format!("{string}::~basic_string()")), "std::__cxx11::string::~string()");
        let stream = "std::basic_ostream<wchar_t, std::char_traits<wchar_t> >";
        assert_eq!(short(stream), "std::wostream");
        assert_eq!(short("std::basic_regex<char, std::regex_traits<char> >"), "std::regex");
    }

    #[test]
    fn llvms_inline_namespace_is_left_out_and_androids_is_not() {
        let list = "std::__1::basic_stringstream<char, std::__1::char_traits<char>, std::__1::allocator<char> >";
        assert_eq!(short(list), "std::stringstream");
        assert_eq!(short("std::__ndk1::vector<int>"), "std::__ndk1::vector<int>");
        assert_eq!(short("f(basic_block*)"), "f(basic_block*)");
    }
}
