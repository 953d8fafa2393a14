//! Conditional groups of the preprocessor: `#if` and its branches, and the expressions that decide.

use super::{Group, MAX_DEPTH, Macro, Preprocessor, expand_into};
use crate::constant::{self, Value};
use crate::lexer::{Fault, Kind, Lexer, Token};
use program::data_type::DataOrganization;

/// What compilers say of the machine or system; a program's types do not tell these.
const MACHINES: [&str; 37] = [
    "__x86_64__",
    "__x86_64",
    "__amd64__",
    "__amd64",
    "__i386__",
    "__i386",
    "i386",
    "__i486__",
    "__i586__",
    "__i686__",
    "__arm__",
    "__arm",
    "__aarch64__",
    "__mips__",
    "__mips",
    "__mips64",
    "__powerpc__",
    "__powerpc64__",
    "__ppc__",
    "__ppc64__",
    "__PPC__",
    "__PPC64__",
    "__riscv",
    "__riscv_xlen",
    "__sparc__",
    "__m68k__",
    "__s390__",
    "__s390x__",
    "__AVR__",
    "_M_IX86",
    "_M_X64",
    "_M_AMD64",
    "_M_ARM",
    "_M_ARM64",
    "__linux__",
    "__APPLE__",
    "__FreeBSD__",
];

impl<'a> Preprocessor<'a> {
    /// `#if`, `#ifdef` or `#ifndef`.
    pub(super) fn open_group(
        &mut self,
        offset: usize,
        name: &str,
        line: Lexer<'a>,
    ) -> Result<(), Fault> {
        if self.groups.len() >= MAX_DEPTH {
            return Err((offset, "conditionals are nested too deeply".to_owned()));
        }
        let outer = self.active();
        let active = outer && self.holds(name, line)?;
        self.groups.push(Group { offset, outer, taken: active, active, last: false });
        Ok(())
    }

    /// `#elif`, `#else` or `#endif`.
    pub(super) fn next_branch(
        &mut self,
        offset: usize,
        name: &str,
        line: Lexer<'a>,
    ) -> Result<(), Fault> {
        let Some(mut group) = self.groups.pop() else {
            return Err((offset, format!("#{name} without #if")));
        };
        if name == "endif" {
            return Ok(());
        }
        if group.last {
            return Err((offset, format!("#{name} after #else")));
        }
        group.last = name == "else";
        let open = group.outer && !group.taken;
        group.active = open && (group.last || self.holds(name, line)?);
        group.taken |= group.active;
        self.groups.push(group);
        Ok(())
    }

    fn holds(&self, name: &str, mut line: Lexer<'a>) -> Result<bool, Fault> {
        if name.ends_with("def") {
            let token = line.token()?;
            let Kind::Word(word) = token.kind else {
                return Err((token.offset, "a name is expected".to_owned()));
            };
            return Ok(self.is_defined(word, token.offset)? != name.ends_with("ndef"));
        }
        let tokens = self.condition(line)?;
        let mut reader = Condition { tokens: &tokens, at: 0, depth: 0, sizes: &self.sizes };
        let value = reader.choice()?;
        match reader.peek() {
            Kind::End => Ok(value.number != 0),
            _ => Err(reader.fault("an operator is expected")),
        }
    }

    fn is_defined(&self, word: &str, offset: usize) -> Result<bool, Fault> {
        if !self.macros.contains_key(word) && MACHINES.contains(&word) {
            let message = format!(
                "whether {word} is defined is not known here; \
                 write #define or #undef for it, or preprocess the text first (gcc -E)"
            );
            return Err((offset, message));
        }
        Ok(self.macros.contains_key(word))
    }

    /// The tokens of a condition: `defined` answered, macros expanded.
    fn condition(&self, mut line: Lexer<'a>) -> Result<Vec<Token<'a>>, Fault> {
        let mut tokens = Vec::new();
        loop {
            let token = line.token()?;
            match token.kind {
                Kind::Word("defined") => {
                    let mut name = line.token()?;
                    let open = name.kind == Kind::Sign("(");
                    if open {
                        name = line.token()?;
                    }
                    let Kind::Word(word) = name.kind else {
                        return Err((name.offset, "a name is expected".to_owned()));
                    };
                    if open && line.token()?.kind != Kind::Sign(")") {
                        return Err((name.offset, ") is expected after the name".to_owned()));
                    }
                    let number = if self.is_defined(word, name.offset)? { "1" } else { "0" };
                    tokens.push(Token { kind: Kind::Number(number), ..token });
                }
                Kind::Word(word @ ("__has_include" | "__has_attribute" | "__has_builtin")) => {
                    let message = format!("{word} is not known here; preprocess the text first");
                    return Err((token.offset, message));
                }
                Kind::Word(word) => {
                    let called = line.rest().trim_start().starts_with('(');
                    if !matches!(self.macros.get(word), Some(Macro::Tokens(_)) | None) && !called {
                        tokens.push(Token { kind: Kind::Number("0"), ..token });
                        continue;
                    }
                    self.is_defined(word, token.offset)?;
                    let open = &mut Vec::new();
                    expand_into(&self.macros, word, token, called, open, &mut tokens)?;
                }
                kind => {
                    tokens.push(token);
                    if kind == Kind::End {
                        return Ok(tokens);
                    }
                }
            }
        }
    }
}

/// Reads an expression of numbers; names that are left stand for 0.
struct Condition<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
    depth: usize,
    sizes: &'t DataOrganization,
}

impl<'a> Condition<'_, 'a> {
    fn peek(&self) -> Kind<'a> {
        self.tokens.get(self.at).map_or(Kind::End, |token| token.kind)
    }

    fn fault(&self, message: &str) -> Fault {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        (token.map_or(0, |token| token.offset), message.to_owned())
    }

    fn accept(&mut self, sign: &'static str) -> bool {
        let found = self.peek() == Kind::Sign(sign);
        self.at += usize::from(found);
        found
    }

    /// `a ? b : c`, or anything that binds tighter.
    fn choice(&mut self) -> Result<Value, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault("this condition is nested too deeply"));
        }
        let mut value = self.operators(0)?;
        if self.accept("?") {
            let yes = self.choice()?;
            if !self.accept(":") {
                return Err(self.fault(": is expected"));
            }
            let no = self.choice()?;
            value = if value.number != 0 { yes } else { no };
        }
        self.depth -= 1;
        Ok(value)
    }

    fn operators(&mut self, least: u8) -> Result<Value, Fault> {
        let mut left = self.operand()?;
        loop {
            let Kind::Sign(sign) = self.peek() else { return Ok(left) };
            let rank = constant::rank(sign);
            if rank <= least {
                return Ok(left);
            }
            self.at += 1;
            let right = self.operators(rank)?;
            // What is not decisive may have no value.
            let decided = sign == "&&" && left.number == 0 || sign == "||" && left.number != 0;
            left = match constant::binary(sign, left, right, self.sizes) {
                Some(value) => value,
                None if decided => left,
                None => return Err(self.fault("this condition has no value")),
            };
        }
    }

    fn operand(&mut self) -> Result<Value, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault("this condition is nested too deeply"));
        }
        let kind = self.peek();
        self.at += 1;
        let value = match kind {
            Kind::Number(text) => constant::literal(text, self.sizes),
            Kind::Character(text) => constant::character(text, self.sizes),
            Kind::Word("true") => Some(Value::int(1, self.sizes)),
            Kind::Word(_) => Some(Value::int(0, self.sizes)),
            Kind::Sign("-") => Some(self.operand()?.negated(self.sizes)),
            Kind::Sign("+") => Some(self.operand()?),
            Kind::Sign("~") => Some(self.operand()?.complement(self.sizes)),
            Kind::Sign("!") => {
                Some(Value::int(i128::from(self.operand()?.number == 0), self.sizes))
            }
            Kind::Sign("(") => {
                let value = self.choice()?;
                self.accept(")").then_some(value)
            }
            _ => None,
        };
        self.depth -= 1;
        // Numbers of the preprocessor are as wide as can be.
        match value {
            Some(value) => Ok(Value::new(value.number, 8, value.signed || value.size < 8)),
            None => {
                self.at = self.at.saturating_sub(1);
                Err(self.fault("a number is expected in this condition"))
            }
        }
    }
}
