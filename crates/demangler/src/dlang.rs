//! Names as D's compilers mangle them: identifiers one inside the other, then a type, which is
//! passed over.

use super::Readable;

/// Deepest nesting that is followed.
const DEEPEST: usize = 64;
/// Most steps for one name.
const STEPS: usize = 10_000;

/// Takes a name such as `_D3std5stdio8writeLinFZv` apart, if all of it is understood.
pub(super) fn demangle(mangled: &str) -> Option<Readable> {
    let bytes = mangled.strip_prefix("_D")?.as_bytes();
    let mut reader = Reader { bytes, at: 0, depth: 0, steps: 0 };
    let mut path = reader.qualified()?;
    if reader.rest() != b"Z" {
        reader.modifiers();
        reader.skip_type()?;
        reader.rest().is_empty().then_some(())?;
    }
    let text = path.join(".");
    let name = path.pop()?;
    Some(Readable { path, name, text, in_class: false })
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    steps: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn take(&mut self, text: &[u8]) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn number(&mut self) -> Option<usize> {
        let mut value: Option<usize> = None;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            let shifted = value.unwrap_or(0).checked_mul(10)?;
            value = Some(shifted.checked_add(usize::from(digit - b'0'))?);
            self.at += 1;
        }
        value
    }

    /// One level further in; `None` when it is too deep or takes too long.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.steps += 1;
        if self.depth >= DEEPEST || self.steps > STEPS {
            return None;
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    /// Where a reference to something before leads.
    fn back(&mut self) -> Option<usize> {
        let start = self.at;
        self.take(b"Q").then_some(())?;
        let mut distance = 0usize;
        loop {
            let byte = self.next()?;
            let digit = usize::from(byte.to_ascii_uppercase().checked_sub(b'A')?);
            distance = distance.checked_mul(26)?.checked_add(digit)?;
            match byte {
                b'a'..=b'z' => return start.checked_sub(distance).filter(|at| *at < start),
                b'A'..=b'Z' => {}
                _ => return None,
            }
        }
    }

    /// Identifiers one inside the other. Functions may stand between.
    fn qualified(&mut self) -> Option<Vec<String>> {
        let mut parts = vec![self.identifier()?];
        loop {
            let before = self.at;
            if parts.len() > DEEPEST {
                return None;
            }
            if !self.begins_identifier() {
                // The type of the function that the rest is inside of.
                self.modifiers();
                let inside = self.skip_function().is_some() && self.begins_identifier();
                if !inside {
                    self.at = before;
                    return Some(parts);
                }
            }
            parts.push(self.nested(Self::identifier)?);
        }
    }

    fn begins_identifier(&mut self) -> bool {
        let before = self.at;
        let back = self.peek() == Some(b'Q')
            && self.back().and_then(|to| self.bytes.get(to)).is_some_and(u8::is_ascii_digit);
        self.at = before;
        back || self.rest().starts_with(b"__T")
            || self.rest().starts_with(b"__U")
            || self.peek().is_some_and(|byte| byte.is_ascii_digit())
    }

    fn identifier(&mut self) -> Option<String> {
        if self.peek() == Some(b'Q') {
            let to = self.back()?;
            let mut there = Reader { bytes: self.bytes, at: to, depth: self.depth, steps: 0 };
            return there.plain();
        }
        if self.rest().starts_with(b"__T") || self.rest().starts_with(b"__U") {
            return self.nested(Self::template);
        }
        self.plain()
    }

    fn plain(&mut self) -> Option<String> {
        let length = self.number()?;
        let text = self.rest().get(..length)?;
        if text.starts_with(b"__T") || text.starts_with(b"__U") {
            let bytes = self.bytes.get(..self.at + length)?;
            let mut inner = Reader { bytes, ..*self };
            let name = inner.nested(Self::template)?;
            self.steps = inner.steps;
            self.at += length;
            return Some(name);
        }
        self.at += length;
        let text = std::str::from_utf8(text).ok()?;
        let odd = |c: char| c.is_whitespace() || c.is_control();
        (!text.contains(odd)).then(|| match text {
            "__ctor" => "this".to_owned(),
            "__dtor" => "~this".to_owned(),
            "" => "(anonymous)".to_owned(),
            other => other.to_owned(),
        })
    }

    fn template(&mut self) -> Option<String> {
        self.at += 3;
        let name = self.identifier()?;
        while !self.take(b"Z") {
            self.take(b"H");
            match self.next()? {
                b'T' => self.skip_type()?,
                b'V' => {
                    self.skip_type()?;
                    self.skip_value()?;
                }
                b'S' => drop(self.nested(Self::qualified)?),
                b'X' => {
                    let length = self.number()?;
                    self.rest().get(..length)?;
                    self.at += length;
                }
                _ => return None,
            }
        }
        Some(format!("{name}!(...)"))
    }

    fn skip_value(&mut self) -> Option<()> {
        match self.next()? {
            b'n' => Some(()),
            b'i' | b'N' => self.number().map(drop),
            b'0'..=b'9' => {
                self.number();
                Some(())
            }
            b'a' | b'w' | b'd' => {
                let length = self.number()?.checked_mul(2)?;
                self.take(b"_").then_some(())?;
                self.rest().get(..length)?;
                self.at += length;
                Some(())
            }
            b'A' | b'S' => {
                let count = self.number()?;
                (0..count).try_for_each(|_| self.nested(Self::skip_value))
            }
            _ => None,
        }
    }

    /// What `this` may be.
    fn modifiers(&mut self) {
        self.take(b"M");
        while self.take(b"x") || self.take(b"y") || self.take(b"O") || self.take(b"Ng") {}
    }

    /// A function's type without what it returns.
    fn skip_function(&mut self) -> Option<()> {
        if !matches!(self.next()?, b'F' | b'U' | b'W' | b'V' | b'R' | b'Y') {
            return None;
        }
        // Attributes; `Ng`, `Nh`, `Nk` and `Nn` begin a parameter.
        while self.peek() == Some(b'N') && !matches!(self.rest().get(1)?, b'g' | b'h' | b'k' | b'n')
        {
            self.at += 2;
        }
        loop {
            match self.peek()? {
                b'X' | b'Y' | b'Z' => {
                    self.at += 1;
                    return Some(());
                }
                b'I' | b'J' | b'K' | b'L' | b'M' => self.at += 1,
                b'N' if self.rest().get(1) == Some(&b'k') => self.at += 2,
                _ => self.skip_type()?,
            }
        }
    }

    fn skip_type(&mut self) -> Option<()> {
        self.nested(|reader| {
            let letter = reader.peek()?;
            if letter == b'Q' {
                return reader.back().map(drop);
            }
            if matches!(letter, b'F' | b'U' | b'W' | b'V' | b'R' | b'Y') {
                reader.skip_function()?;
                return reader.skip_type();
            }
            reader.at += 1;
            match letter {
                b'A' | b'P' | b'x' | b'y' | b'O' => reader.skip_type(),
                b'G' => {
                    reader.number()?;
                    reader.skip_type()
                }
                b'H' => {
                    reader.skip_type()?;
                    reader.skip_type()
                }
                b'C' | b'S' | b'E' | b'I' | b'T' => reader.nested(Self::qualified).map(drop),
                b'D' => {
                    reader.modifiers();
                    reader.skip_type()
                }
                b'B' => {
                    let count = reader.number()?;
                    (0..count).try_for_each(|_| reader.skip_type())
                }
                b'N' => match reader.next()? {
                    b'g' | b'h' => reader.skip_type(),
                    b'n' => Some(()),
                    _ => None,
                },
                b'z' => matches!(reader.next()?, b'i' | b'k').then_some(()),
                b'a'..=b'w' => Some(()),
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_what_they_are_inside_of_come_apart() {
        let expected = [
            ("_D8demangle4testFaZv", "demangle.test"),
            ("_D8demangle4testFNaNbNiZv", "demangle.test"),
            ("_D3std5stdio4File6__ctorMFNcNeAyaxAaZSQBkQBjQBg", "std.stdio.File.this"),
            ("_D4test3fooFiZ3barMFPaZAya", "test.foo.bar"),
            ("_D8demangle4test6__initZ", "demangle.test.__init"),
            ("_D4core6memory2GC__T5arrayTiVki3ZQnFNbZAi", "core.memory.GC.array!(...).array"),
            ("_D3std4conv13__T2toTiTAyaZ2toFAyaZi", "std.conv.to!(...).to"),
        ];
        for (mangled, text) in expected {
            assert_eq!(demangle(mangled).expect(mangled).text, text);
        }
    }

    #[test]
    fn what_is_not_understood_stays() {
        let deep = format!("_D1a{}", "F".repeat(3000));
        let loops = format!("_D1a{}", "S1aQa".repeat(600));
        let many = "_D1aB4000000000B4000000000B4000000000i";
        for name in ["_D", "_Dmain", "_D4tes", "_D1aQ", "_D1aQa", "_D1a?", &deep, &loops, many] {
            assert_eq!(demangle(name), None, "{name}");
        }
    }
}
