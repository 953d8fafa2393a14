//! Pragmas that change layouts: `pack` in all its forms, `ms_struct`, and Windows' headers for it.

use super::{Macro, Preprocessor};
use crate::lexer::{Fault, Kind, LayoutPragma, Lexer, Token};

impl<'a> Preprocessor<'a> {
    /// `#pragma`, its name read. Those that change no layout are skipped.
    pub(super) fn pragma(&mut self, mut line: Lexer<'a>, offset: usize) -> Result<(), Fault> {
        let pragma = match line.token()?.kind {
            Kind::Word("pack") => match &*self.words(line, offset)? {
                // It only prints.
                [Kind::Word("show")] => return Ok(()),
                words => pack(words),
            },
            Kind::Word("ms_struct") => match line.token()?.kind {
                Kind::Word("on") => Some(LayoutPragma::MsStruct(Some(true))),
                Kind::Word("off") => Some(LayoutPragma::MsStruct(Some(false))),
                _ => Some(LayoutPragma::MsStruct(None)),
            },
            Kind::Word(word @ ("options" | "align" | "scalar_storage_order")) => {
                return Err((offset, format!("#pragma {word} is not understood")));
            }
            _ => return Ok(()),
        };
        match pragma {
            Some(pragma) => self.push(Token { kind: Kind::Layout(pragma), offset }),
            None => {
                let message = "write pack(n), pack(push, n), pack(pop) or pack(), n being 1, 2, 4, \
                               8 or 16";
                Err((offset, message.to_owned()))
            }
        }
    }

    /// The words between the parentheses of a pragma, constants expanded.
    fn words(&self, mut line: Lexer<'a>, offset: usize) -> Result<Vec<Kind<'a>>, Fault> {
        let mut words = Vec::new();
        let bad = || (offset, "( is expected after pack, and ) at the end".to_owned());
        if line.token()?.kind != Kind::Sign("(") {
            return Err(bad());
        }
        loop {
            match line.token()?.kind {
                Kind::Sign(")") => return Ok(words),
                Kind::End => return Err(bad()),
                Kind::Word(word) => match self.macros.get(word) {
                    Some(Macro::Tokens(body)) if !body.is_empty() => {
                        words.extend(body.iter().map(|token| token.kind));
                    }
                    _ => words.push(Kind::Word(word)),
                },
                kind => words.push(kind),
            }
            if words.len() > 64 {
                return Err(bad());
            }
        }
    }

    /// `_Pragma("...")` and `__pragma(...)`.
    pub(super) fn pragma_operator(&mut self, at: Token<'a>) -> Result<(), Fault> {
        let bad = |offset| (offset, "( is expected here, and ) at the end".to_owned());
        let open = self.lexer.token()?;
        if open.kind != Kind::Sign("(") {
            return Err(bad(open.offset));
        }
        let start = self.lexer.at;
        let mut depth = 1;
        let mut text = None;
        let end = loop {
            let token = self.lexer.token()?;
            match token.kind {
                Kind::Sign("(") => depth += 1,
                Kind::Sign(")") => depth -= 1,
                Kind::Text(quoted) => text = Some((token.offset, quoted.len())),
                Kind::End => return Err(bad(token.offset)),
                _ => {}
            }
            if depth == 0 {
                break token.offset;
            }
        };
        let (start, end) = match (at.kind, text) {
            (Kind::Word("_Pragma"), Some((from, length))) => (from + 1, from + length - 1),
            _ => (start, end),
        };
        let inner = self.lexer.text.get(..end).unwrap_or(self.lexer.text);
        self.pragma(Lexer { text: inner, at: start, line_start: false }, at.offset)
    }

    /// `#include`: only the headers that set the packing of structures mean something.
    pub(super) fn include(&mut self, line: Lexer<'a>, offset: usize) -> Result<(), Fault> {
        let name = line.rest().trim().trim_matches(['<', '>', '"']).to_ascii_lowercase();
        let name = name.rsplit(['/', '\\']).next().unwrap_or("");
        let pragma = match name {
            "pshpack1.h" => LayoutPragma::Push(None, Some(1)),
            "pshpack2.h" => LayoutPragma::Push(None, Some(2)),
            "pshpack4.h" => LayoutPragma::Push(None, Some(4)),
            "pshpack8.h" => LayoutPragma::Push(None, Some(8)),
            "pshpack16.h" => LayoutPragma::Push(None, Some(16)),
            "poppack.h" => LayoutPragma::Pop(None, None),
            _ => return Ok(()),
        };
        self.push(Token { kind: Kind::Layout(pragma), offset })
    }
}

/// What the words of a `pack` mean; `None` when they mean nothing.
fn pack<'a>(words: &[Kind<'a>]) -> Option<LayoutPragma<'a>> {
    let comma = Kind::Sign(",");
    let number = |kind: &Kind<'a>| match kind {
        Kind::Number(text) => text.parse().ok().filter(|n| [1, 2, 4, 8, 16].contains(n)),
        _ => None,
    };
    let make = |push: bool, name, number| {
        let make = if push { LayoutPragma::Push } else { LayoutPragma::Pop };
        Some(make(name, number))
    };
    match words {
        [] | [Kind::Number("0")] => Some(LayoutPragma::Set(None)),
        [one @ Kind::Number(_)] => Some(LayoutPragma::Set(Some(number(one)?))),
        [Kind::Word(first @ ("push" | "pop")), rest @ ..] => {
            let push = *first == "push";
            match rest {
                [] => make(push, None, None),
                [c, Kind::Word(name)] if *c == comma => make(push, Some(name), None),
                [c, n] if *c == comma => make(push, None, Some(number(n)?)),
                [c, Kind::Word(name), d, n] if *c == comma && *d == comma => {
                    make(push, Some(name), Some(number(n)?))
                }
                _ => None,
            }
        }
        _ => None,
    }
}
