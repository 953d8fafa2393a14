//! C text to tokens. Comments, line splices and preprocessor lines are
//! skipped.

use crate::CError;

/// One token and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) offset: usize,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or keyword.
    Word(String),
    /// An integer or character constant.
    Number(i64),
    /// One of `* ( ) [ ] { } , ; : = + - / % ~ ! < > & | ^ ?`, `<<`, `>>`.
    Sign(&'static str),
    /// `...`.
    Ellipsis,
    /// The end of the text.
    End,
}

const SIGNS: [&str; 26] = [
    "<<", ">>", "::", "*", "(", ")", "[", "]", "{", "}", ",", ";", ":", "=", "+", "-", "/", "%",
    "~", "!", "<", ">", "&", "|", "^", "?",
];

/// Cuts a text into tokens, an [`TokenKind::End`] last.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, CError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut all = Vec::new();
    loop {
        lexer.skip_blank()?;
        let offset = lexer.at;
        let kind = lexer.token()?;
        let end = kind == TokenKind::End;
        all.push(Token { kind, offset });
        if end {
            return Ok(all);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn error(&self, message: impl Into<String>) -> CError {
        CError::new(self.text, self.at, message)
    }

    fn skip_blank(&mut self) -> Result<(), CError> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            if blank > 0 {
                self.at += blank;
            } else if rest.starts_with("//") || rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let Some(end) = rest.find("*/") else {
                    return Err(self.error("this comment has no end"));
                };
                self.at += end + 2;
            } else if rest.starts_with("\\\n") {
                self.at += 2;
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<TokenKind, CError> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(TokenKind::End) };
        if first.is_alphabetic() || first == '_' || first == '$' {
            let part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            let length = rest.find(|c| !part(c)).unwrap_or(rest.len());
            let word = rest[..length].to_owned();
            self.at += length;
            return Ok(TokenKind::Word(word));
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        if first == '\'' {
            return self.character();
        }
        if rest.starts_with("...") {
            self.at += 3;
            return Ok(TokenKind::Ellipsis);
        }
        match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => {
                self.at += sign.len();
                Ok(TokenKind::Sign(sign))
            }
            None => Err(self.error(format!("the character {first:?} cannot stand here"))),
        }
    }

    fn number(&mut self) -> Result<TokenKind, CError> {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let text = rest[..length].to_ascii_lowercase();
        let digits = text.trim_end_matches(['u', 'l']);
        let parsed = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None if digits.len() > 1 && digits.starts_with('0') => {
                u64::from_str_radix(&digits[1..], 8)
            }
            None => digits.parse(),
        };
        let value = parsed.map_err(|_| self.error(format!("{text} is not an integer")))?;
        self.at += length;
        Ok(TokenKind::Number(value as i64))
    }

    fn character(&mut self) -> Result<TokenKind, CError> {
        let mut chars = self.rest().char_indices().skip(1);
        let value = match chars.next() {
            Some((_, '\\')) => match chars.next().map(|(_, c)| c) {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('0') => '\0',
                Some(c @ ('\\' | '\'' | '"')) => c,
                _ => return Err(self.error("unknown escape in this character constant")),
            },
            Some((_, c)) => c,
            None => return Err(self.error("this character constant has no end")),
        };
        match chars.next() {
            Some((end, '\'')) => {
                self.at += end + 1;
                Ok(TokenKind::Number(i64::from(u32::from(value))))
            }
            _ => Err(self.error("this character constant has no end")),
        }
    }
}
