//! Lexical analysis (scanner): C text to preprocessing tokens, comments and line splices skipped.

/// One token and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind<'a>,
    /// In bytes.
    pub(crate) offset: usize,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    /// A name or keyword.
    Word(&'a str),
    /// A number as it is written.
    Number(&'a str),
    /// A character constant with its quotes.
    Character(&'a str),
    /// A text with its quotes.
    Text(&'a str),
    /// A punctuator.
    Sign(&'static str),
    /// A sign that C does not know.
    Other(char),
    /// `#pragma pack` or another that changes layouts.
    Layout(LayoutPragma<'a>),
    /// The end of the text.
    End,
}

/// A pragma that changes how what follows is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayoutPragma<'a> {
    /// `pack(n)`; `None` for `pack()`.
    Set(Option<u32>),
    /// `pack(push[, name][, n])`.
    Push(Option<&'a str>, Option<u32>),
    /// `pack(pop[, name][, n])`.
    Pop(Option<&'a str>, Option<u32>),
    /// `ms_struct`: on, off or as usual.
    MsStruct(Option<bool>),
}

/// Longer signs before those they begin with.
const SIGNS: [&str; 49] = [
    "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=",
    "-=", "*=", "/=", "%=", "&=", "^=", "|=", "##", "::", "*", "(", ")", "[", "]", "{", "}", ",",
    ";", ":", "=", "+", "-", "/", "%", "~", "!", "<", ">", "&", "|", "^", "?", ".", "#",
];

/// What is wrong, and where.
pub(crate) type Fault = (usize, String);

/// Cuts a text into tokens from a place on.
#[derive(Clone, Copy)]
pub(crate) struct Lexer<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    /// Whether only blanks and comments came before on this line.
    pub(crate) line_start: bool,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0, line_start: true }
    }

    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Skips blanks, comments and line splices.
    pub(crate) fn skip_blank(&mut self) -> Result<(), Fault> {
        loop {
            let rest = self.rest().as_bytes();
            match rest {
                [b'\n', ..] => {
                    self.line_start = true;
                    self.at += 1;
                }
                [b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c', ..] => self.at += 1,
                [b'\\', b'\n', ..] => self.at += 2,
                [b'\\', b'\r', b'\n', ..] => self.at += 3,
                [b'/', b'/', ..] => self.at += line_length(self.rest()),
                [b'/', b'*', ..] => {
                    let end = self.rest().get(2..).and_then(|inner| inner.find("*/"));
                    let Some(end) = end else {
                        return Err((self.at, "this comment has no end".to_owned()));
                    };
                    self.at += end + 4;
                }
                [0x80..=0xff, ..] => match self.rest().chars().next() {
                    Some(blank) if blank.is_whitespace() || blank == '\u{feff}' => {
                        self.at += blank.len_utf8();
                    }
                    _ => return Ok(()),
                },
                _ => return Ok(()),
            }
        }
    }

    /// The next token, blanks before it skipped.
    pub(crate) fn token(&mut self) -> Result<Token<'a>, Fault> {
        self.skip_blank()?;
        let offset = self.at;
        let kind = self.kind()?;
        self.line_start = false;
        Ok(Token { kind, offset })
    }

    fn kind(&mut self) -> Result<Kind<'a>, Fault> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(Kind::End) };
        let second = rest.as_bytes().get(1).copied().unwrap_or(0);
        if first.is_alphabetic() || first == '_' || first == '$' {
            let part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            let length = rest.find(|c| !part(c)).unwrap_or(rest.len());
            let prefix = matches!(&rest[..length], "L" | "u" | "U" | "u8");
            if let (true, Some(quote @ (b'\'' | b'"'))) = (prefix, rest.as_bytes().get(length)) {
                return self.quoted(length, *quote);
            }
            self.at += length;
            return Ok(Kind::Word(&rest[..length]));
        }
        if first.is_ascii_digit() || (first == '.' && second.is_ascii_digit()) {
            let length = number_length(rest);
            self.at += length;
            return Ok(Kind::Number(&rest[..length]));
        }
        if first == '\'' || first == '"' {
            return self.quoted(0, first as u8);
        }
        match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => {
                self.at += sign.len();
                Ok(Kind::Sign(sign))
            }
            None => {
                self.at += first.len_utf8();
                Ok(Kind::Other(first))
            }
        }
    }

    /// A character constant or a text, `prefix` bytes of encoding before it.
    fn quoted(&mut self, prefix: usize, quote: u8) -> Result<Kind<'a>, Fault> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut at = prefix + 1;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\\' => at += 1,
                b'\n' => break,
                _ if *byte == quote => {
                    let whole = rest.get(..=at).unwrap_or(rest);
                    self.at += whole.len();
                    let character = quote == b'\'';
                    return Ok(if character { Kind::Character(whole) } else { Kind::Text(whole) });
                }
                _ => {}
            }
            at += 1;
        }
        let what = if quote == b'\'' { "this character constant" } else { "this text" };
        Err((self.at, format!("{what} has no end")))
    }
}

/// The length of a number as the preprocessor sees it.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = text.starts_with("0x") || text.starts_with("0X");
        let exponent = if hex { b"pP" } else { b"eE" };
        match byte {
            b'+' | b'-' if at > 0 && exponent.contains(&bytes[at - 1]) => {}
            b'\'' if bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric) => {}
            b'.' | b'_' => {}
            _ if byte.is_ascii_alphanumeric() => {}
            _ => break,
        }
        at += 1;
    }
    at
}

/// Bytes before the end of the line, splices followed.
pub(crate) fn line_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut from = 0;
    loop {
        let Some(end) = text.get(from..).and_then(|rest| rest.find('\n')) else {
            return text.len();
        };
        let end = from + end;
        let before = bytes.get(..end).unwrap_or_default();
        let before = before.strip_suffix(b"\r").unwrap_or(before);
        if !before.ends_with(b"\\") {
            return end;
        }
        from = end + 1;
    }
}
