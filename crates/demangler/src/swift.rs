//! The readable part of Swift's mangled names: what they are inside of, the name, and a word
//! for what was made for it. Types of parameters are passed over.

use super::Readable;

/// Most identifiers of one name, and most words that later identifiers may repeat.
const MOST: usize = 26;

/// Takes a name such as `$s4main5ShapeC4areaSdvg` apart.
pub(super) fn demangle(mangled: &str) -> Option<Readable> {
    let plain = mangled.strip_prefix('_').unwrap_or(mangled);
    let rest = plain.strip_prefix("$s").or_else(|| plain.strip_prefix("$S"))?;
    let mut reader = Reader { rest, words: Vec::new() };
    let mut path = reader.context()?;
    let kind = KINDS.iter().find(|(end, _)| reader.rest.ends_with(end)).map(|(_, word)| *word);
    path.extend(kind.map(str::to_owned));
    // A path alone says nothing of what the symbol is.
    (path.len() > 1).then_some(())?;
    let text = path.join(".");
    let name = path.pop()?;
    Some(Readable { path, name, text, in_class: false })
}

/// What the last letters of a name say about it.
const KINDS: &[(&str, &str)] = &[
    ("vg", "getter"),
    ("vs", "setter"),
    ("vM", "modify"),
    ("vau", "unsafeMutableAddressor"),
    ("fC", "init"),
    ("fc", "init"),
    ("fD", "__deallocating_deinit"),
    ("fd", "deinit"),
    ("Ma", "type_metadata_accessor"),
    ("Mn", "nominal_type_descriptor"),
    ("Mp", "protocol_descriptor"),
    ("Mm", "metaclass"),
    ("Mf", "full_type_metadata"),
    ("MF", "reflection_metadata_field_descriptor"),
    ("Wvd", "field_offset"),
    ("WP", "protocol_witness_table"),
    ("Mc", "protocol_conformance_descriptor"),
    ("TW", "protocol_witness"),
    ("Tq", "method_descriptor"),
    ("Tj", "dispatch_thunk"),
    ("CN", "type_metadata"),
    ("VN", "type_metadata"),
    ("ON", "type_metadata"),
];

struct Reader<'a> {
    rest: &'a str,
    /// Words of the identifiers so far.
    words: Vec<String>,
}

impl Reader<'_> {
    /// Modules, types and names up to where a type begins.
    fn context(&mut self) -> Option<Vec<String>> {
        let mut path = Vec::new();
        if let Some(rest) = self.rest.strip_prefix("So") {
            self.rest = rest;
            path.push("__C".to_owned());
        } else if let Some((name, rest)) = standard(self.rest) {
            self.rest = rest;
            path.extend(["Swift".to_owned(), name.to_owned()]);
        } else if let Some(rest) = self.rest.strip_prefix('s').filter(|r| starts_name(r)) {
            self.rest = rest;
            path.push("Swift".to_owned());
        }
        while starts_name(self.rest) && path.len() < MOST {
            path.push(self.identifier()?);
            // The letter after a type's name says what kind of type it is.
            let kind = self.rest.strip_prefix(['C', 'V', 'O', 'P']);
            // What `N` follows names the type's own data.
            self.rest = kind.filter(|rest| *rest != "N").unwrap_or(self.rest);
        }
        (!path.is_empty()).then_some(path)
    }

    fn number(&mut self) -> Option<usize> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.parse().ok()
    }

    /// Lengths and texts. After a zero, words of earlier identifiers stand between them; a
    /// capital is the last one.
    fn identifier(&mut self) -> Option<String> {
        let mut name = String::new();
        let mut words = self.take('0');
        loop {
            while words && self.rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
                let letter = self.rest.chars().next()?;
                self.take(letter);
                let index = usize::from(letter.to_ascii_lowercase() as u8 - b'a');
                name.push_str(self.words.get(index)?);
                words = letter.is_ascii_lowercase();
            }
            if !name.is_empty() && self.take('0') {
                break;
            }
            name.push_str(self.text()?);
            if name.len() > super::LONGEST {
                return None;
            }
            if !words {
                break;
            }
        }
        (!name.is_empty()).then_some(name)
    }

    fn take(&mut self, letter: char) -> bool {
        let rest = self.rest.strip_prefix(letter);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// A length and as much text, whose words later identifiers may repeat.
    fn text(&mut self) -> Option<&str> {
        let length = self.number()?;
        let (text, rest) = (self.rest.get(..length)?, self.rest.get(length..)?);
        self.rest = rest;
        let odd = |c: char| c.is_whitespace() || c.is_control();
        (!text.contains(odd)).then_some(())?;
        self.remember(text);
        Some(text)
    }

    /// Words begin at capitals behind small letters, and behind underscores.
    fn remember(&mut self, text: &str) {
        let mut start = 0;
        let mut before = '_';
        let mut ends: Vec<usize> = Vec::new();
        for (at, c) in text.char_indices() {
            if c.is_uppercase() && !before.is_uppercase() || c == '_' {
                ends.push(at);
            }
            before = c;
        }
        ends.push(text.len());
        for end in ends {
            let word = text.get(start..end).unwrap_or("").trim_start_matches('_');
            if word.len() >= 2 && self.words.len() < MOST {
                self.words.push(word.to_owned());
            }
            start = end;
        }
    }
}

fn starts_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// The types of the standard library that have two letters of their own.
fn standard(text: &str) -> Option<(&'static str, &str)> {
    let names = [
        ("SS", "String"),
        ("Sa", "Array"),
        ("Sb", "Bool"),
        ("SD", "Dictionary"),
        ("Sd", "Double"),
        ("Sf", "Float"),
        ("Sh", "Set"),
        ("Si", "Int"),
        ("Sq", "Optional"),
        ("SJ", "Character"),
        ("Su", "UInt"),
    ];
    let (letters, name) = names.iter().find(|(letters, _)| text.starts_with(letters))?;
    Some((name, text.get(letters.len()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable() {
        let expected = [
            ("$s4main3fooyyF", "main.foo"),
            ("_$s4main5ShapeC4areaSdvg", "main.Shape.area.getter"),
            ("$s4main5ShapeCACycfC", "main.Shape.init"),
            ("$s4main5ShapeCMa", "main.Shape.type_metadata_accessor"),
            ("$s4main5ShapeCN", "main.Shape.type_metadata"),
            ("$sSS6appendyySSF", "Swift.String.append"),
            ("$ss5print_9separator10terminatoryypd_S2StF", "Swift.print"),
            ("$s10FirstThing05OtherB0C3runyyF", "FirstThing.OtherThing.run"),
        ];
        for (mangled, text) in expected {
            assert_eq!(demangle(mangled).map(|r| r.text).as_deref(), Some(text), "{mangled}");
        }
    }

    #[test]
    fn odd_names_stay() {
        let long = format!("$s{}", "1a".repeat(3000));
        for name in ["$s", "$s4mai", "$s99999999999999999999a", "$s0z", "$sSo", "$S0", "$s4main"] {
            assert_eq!(demangle(name), None, "{name}");
        }
        assert!(demangle(&long).is_none_or(|r| r.path.len() <= MOST));
    }
}
